//! What can be chosen by a word.

/// Makes an enumeration whose variants have names, by which users choose them.
macro_rules! named {
    (
        $(#[$about:meta])* $vis:vis $name:ident,
        $($(#[$one:meta])* $variant:ident = $word:literal,)+
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        $vis enum $name {
            $($(#[$one])* $variant,)+
        }

        impl $name {
            /// All, in their order.
            $vis const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the word for it.
            #[must_use]
            $vis const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                let mut all = Self::ALL.iter().copied();
                all.find(|it| it.name() == text).ok_or(())
            }
        }
    };
}
