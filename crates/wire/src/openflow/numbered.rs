//! Enums and bit sets whose variants the specification numbers.

/// Declares an enum with the numbers that stand for its variants in messages.
macro_rules! numbered {
    (
        $(#[$meta:meta])*
        pub enum $name:ident: $repr:ty {
            $($(#[$variant_meta:meta])* $variant:ident = $number:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr($repr)]
        pub enum $name {
            $($(#[$variant_meta])* $variant = $number,)+
        }

        impl $name {
            /// Every variant, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the variant that `number` stands for, if any does.
            #[must_use]
            pub const fn from_number(number: $repr) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// Returns the number that stands for this variant in messages.
            #[must_use]
            pub const fn number(self) -> $repr {
                self as $repr
            }
        }
    };
}

/// Declares a set of flags, each a bit of an integer. Bits that have no name
/// are kept as they came.
macro_rules! flags {
    (
        $(#[$meta:meta])*
        pub struct $name:ident: $repr:ty {
            $($(#[$flag_meta:meta])* $flag:ident = $bit:expr;)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $repr);

        impl $name {
            /// No flag.
            pub const NONE: Self = Self(0);
            $($(#[$flag_meta])* pub const $flag: Self = Self($bit);)+

            /// Tells whether every flag of `other` is set.
            #[must_use]
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// Returns the flags of both.
            #[must_use]
            pub const fn with(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// Returns these flags without those of `other`.
            #[must_use]
            pub const fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }
        }
    };
}
