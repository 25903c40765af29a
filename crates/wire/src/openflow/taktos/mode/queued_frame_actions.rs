//! What becomes of a frame that still waits in a queue when another level comes into
//! force (S2-7).

use crate::mode_signal::{LEVELS, Level};

const BITS: u32 = 4;
const MASK: u32 = 0xf;
const DROP: u32 = 8;
const STAY: u32 = 15;

/// What becomes of a waiting frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueuedFrameAction {
    /// It goes to the tail of this queue of its port, 0 to 7.
    Move(u8),
    /// It is dropped.
    Drop,
    /// It stays where it is.
    Stay,
}

impl QueuedFrameAction {
    const fn number(self) -> u32 {
        match self {
            Self::Move(queue) => queue as u32 & 7,
            Self::Drop => DROP,
            Self::Stay => STAY,
        }
    }

    const fn from_number(number: u32) -> Option<Self> {
        match number {
            0..DROP => Some(Self::Move(number.to_le_bytes()[0])),
            DROP => Some(Self::Drop),
            STAY => Some(Self::Stay),
            _ => None,
        }
    }
}

/// What becomes of a waiting frame at each level: four bits a level, the lowest
/// level in the lowest bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueuedFrameActions(u32);

impl QueuedFrameActions {
    /// The frame stays, whatever the level.
    pub const STAY: Self = Self(u32::MAX);

    /// Returns this with another fate at a level. Of a queue only the lowest three
    /// bits count.
    #[must_use]
    pub const fn with(self, level: Level, fate: QueuedFrameAction) -> Self {
        let shift = BITS * level.number() as u32;
        Self(self.0 & !(MASK << shift) | fate.number() << shift)
    }

    /// Returns what becomes of the frame at a level.
    ///
    /// # Panics
    ///
    /// Never: all eight are checked when they are read.
    #[must_use]
    pub const fn at(self, level: Level) -> QueuedFrameAction {
        let number = self.0 >> (BITS * level.number() as u32) & MASK;
        match QueuedFrameAction::from_number(number) {
            Some(fate) => fate,
            None => panic!("every fate was checked"),
        }
    }

    /// Returns what eight times four bits stand for, if all of them mean something.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        let known =
            |level: u8| QueuedFrameAction::from_number(number >> (BITS * u32::from(level)) & MASK);
        (0..LEVELS)
            .all(|level| known(level).is_some())
            .then_some(Self(number))
    }

    /// Returns the number that stands for it in messages.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}
