//! Who can stamp the frames of an interface: the card, or the kernel at the driver.
//!
//! Source: `linux/ethtool.h`, `ETHTOOL_GET_TS_INFO`; `linux/net_tstamp.h`. That a card
//! can stamp what is received counts only if it stamps every frame: many do so for
//! messages of the Precision Time Protocol alone.

use std::fmt;

/// The words of the request and its answer: the command, the abilities, the number of
/// the clock, what can be done to frames that are sent, three of no use, what to those
/// that are received, and three of no use.
pub const WORDS: usize = 11;
const GET_TS_INFO: u32 = 0x41;

const SENT_BY_CARD: u32 = 1;
const SENT_BY_DRIVER: u32 = 1 << 1;
const RECEIVED_BY_CARD: u32 = 1 << 2;
const RECEIVED_BY_KERNEL: u32 = 1 << 3;
/// Stamps of the card are handed over by its own clock.
const BY_OWN_CLOCK: u32 = 1 << 6;
/// All that is sent, if the socket asks for it (`HWTSTAMP_TX_ON`).
const ALL_SENT: u32 = 1 << 1;
/// All that is received (`HWTSTAMP_FILTER_ALL`).
const ALL_RECEIVED: u32 = 1 << 1;

/// Which way frames go that are stamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    Neither,
    Sent,
    Received,
    Both,
}

impl Ways {
    fn of(sent: bool, received: bool) -> Self {
        match (sent, received) {
            (false, false) => Self::Neither,
            (true, false) => Self::Sent,
            (false, true) => Self::Received,
            (true, true) => Self::Both,
        }
    }
}

impl fmt::Display for Ways {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Neither => "neither way",
            Self::Sent => "what is sent",
            Self::Received => "what is received",
            Self::Both => "both ways",
        })
    }
}

/// What an interface says of stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamping {
    /// Which frames its card can stamp, every one of them.
    pub by_card: Ways,
    /// Which frames its driver and the kernel stamp.
    pub by_driver: Ways,
    /// The number of the card's clock, as in `/dev/ptp0`, if it has one.
    pub clock: Option<u32>,
}

impl Stamping {
    pub(super) const fn request() -> [u32; WORDS] {
        let mut words = [0; WORDS];
        words[0] = GET_TS_INFO;
        words
    }

    pub(super) fn of(words: &[u32; WORDS]) -> Self {
        let [_, abilities, clock, sent, _, _, _, received, ..] = *words;
        let has = |bit| abilities & bit != 0;
        let own = has(BY_OWN_CLOCK);
        Self {
            by_card: Ways::of(
                own && has(SENT_BY_CARD) && sent & ALL_SENT != 0,
                own && has(RECEIVED_BY_CARD) && received & ALL_RECEIVED != 0,
            ),
            by_driver: Ways::of(has(SENT_BY_DRIVER), has(RECEIVED_BY_KERNEL)),
            // Who has no clock says -1.
            clock: u32::try_from(clock.cast_signed()).ok(),
        }
    }
}

impl fmt::Display for Stamping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "its card can stamp {}", self.by_card)?;
        if let Some(clock) = self.clock {
            write!(f, " (clock {clock})")?;
        }
        write!(f, ", its driver {}", self.by_driver)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NO_CLOCK: u32 = u32::MAX;

    fn answer(abilities: u32, clock: u32, sent: u32, received: u32) -> [u32; WORDS] {
        let mut words = Stamping::request();
        (words[1], words[2], words[3], words[7]) = (abilities, clock, sent, received);
        words
    }

    #[test]
    fn a_card_that_stamps_everything_by_its_clock_is_told_from_one_for_ptp_alone() {
        let everything = Stamping::of(&answer(0x5f, 0, 0b11, 0b11));
        let ptp_alone = Stamping::of(&answer(0x5f, 1, 0b11, 1 << 12));
        let veth = Stamping::of(&answer(0x1a, NO_CLOCK, 0, 0));

        assert_eq!(
            everything.to_string(),
            "its card can stamp both ways (clock 0), its driver both ways"
        );
        assert_eq!((ptp_alone.by_card, ptp_alone.clock), (Ways::Sent, Some(1)));
        assert_eq!(
            veth.to_string(),
            "its card can stamp neither way, its driver both ways"
        );
    }

    proptest! {
        #[test]
        fn whatever_a_driver_says_a_card_needs_a_clock_of_its_own(words: [u32; WORDS]) {
            let stamping = Stamping::of(&words);

            if words[1] & BY_OWN_CLOCK == 0 {
                prop_assert_eq!(stamping.by_card, Ways::Neither);
            }
            prop_assert!(stamping.to_string().starts_with("its card"));
        }
    }
}
