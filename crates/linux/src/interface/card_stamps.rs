//! What a network card is told to stamp.
//!
//! Source: `linux/net_tstamp.h`, `struct hwtstamp_config`: flags, what is done to frames
//! that are sent, and to which of those that are received. A driver takes what comes
//! closest to the wish, and says what that is.

/// The words of the request and its answer.
pub const WORDS: usize = 3;

/// What a network card stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardStamps {
    flags: u32,
    sent: u32,
    received: u32,
}

impl CardStamps {
    /// Whatever is sent and asks for it, and whatever is received.
    pub const EVERYTHING: Self = Self {
        flags: 0,
        sent: libc::HWTSTAMP_TX_ON,
        received: libc::HWTSTAMP_FILTER_ALL,
    };
    /// Nothing: how a driver begins.
    pub const NOTHING: Self = Self {
        flags: 0,
        sent: 0,
        received: 0,
    };

    /// Tells whether the card stamps every frame, both ways.
    #[must_use]
    pub fn is_everything(self) -> bool {
        (self.sent, self.received) == (Self::EVERYTHING.sent, Self::EVERYTHING.received)
    }

    /// Returns the words that say so.
    pub(super) const fn words(self) -> [u32; WORDS] {
        [self.flags, self.sent, self.received]
    }

    pub(super) const fn of([flags, sent, received]: [u32; WORDS]) -> Self {
        Self {
            flags,
            sent,
            received,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_driver_that_takes_less_than_everything_is_noticed() {
        let ptp_alone = CardStamps::of([0, 1, 12]);
        let received_alone = CardStamps::of([0, 0, 1]);
        let with_flags = CardStamps::of([1, 1, 1]);

        assert!(!ptp_alone.is_everything() && !received_alone.is_everything());
        assert!(!CardStamps::NOTHING.is_everything());
        assert!(CardStamps::EVERYTHING.is_everything() && with_flags.is_everything());
    }

    proptest! {
        #[test]
        fn what_was_found_is_given_back_as_it_was(words: [u32; WORDS]) {
            prop_assert_eq!(CardStamps::of(words).words(), words);
        }
    }
}
