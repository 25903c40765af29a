//! A set of levels.

use std::fmt;

use crate::mode_signal::Level;

/// Some levels of eight: bit n stands for level n.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LevelSet(pub u8);

impl LevelSet {
    /// No level.
    pub const NONE: Self = Self(0);
    /// Every level.
    pub const ALL: Self = Self(u8::MAX);

    /// Returns this with one more level.
    #[must_use]
    pub const fn with(self, level: Level) -> Self {
        Self(self.0 | 1 << level.number())
    }

    /// Tells whether a level is among them.
    #[must_use]
    pub const fn contains(self, level: Level) -> bool {
        self.0 & 1 << level.number() != 0
    }

    /// Returns them, the lowest first.
    pub fn levels(self) -> impl Iterator<Item = Level> {
        Level::all().filter(move |level| self.contains(*level))
    }
}

impl FromIterator<Level> for LevelSet {
    fn from_iter<I: IntoIterator<Item = Level>>(levels: I) -> Self {
        levels.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Debug for LevelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels = self.levels().map(Level::number);
        f.debug_set().entries(levels).finish()
    }
}
