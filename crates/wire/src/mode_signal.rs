//! Tells a neighbour which mode a switch is in (S2-4).
//!
//! A signal is flooded when a mode begins, and repeated between neighbours as a
//! heart-beat, so that it may get lost. What it carries is absolute: whoever holds
//! a lesser mode takes over the greater one, whatever came before, twice, or in
//! another order.
//!
//! ```text
//! offset  bytes
//!      0      6  destination, 03-74-6b-00-00-01
//!      6      6  source, the port's address
//!     12      2  EtherType, 0x0f00
//!     14      1  version, 1
//!     15      1  kind: 1 signal, 2 heart-beat
//!     16      1  level, 0 to 7
//!     17      1  zero
//!     18      4  era
//!     22      8  the switch at which this mode began
//!     30      8  the switch that sends this frame
//!     38      4  the port by which it sends it
//!     42      8  zero
//!     50      8  tag: SipHash-2-4 of the bytes from 14 to 49
//! ```
//!
//! The length is that of the paper, 58 bytes; on a cable it becomes 60. The sending
//! switch and port are under the tag, so that a frame that was recorded on one cable
//! counts on no other.
//!
//! # Differs from the paper
//!
//! MC-SDN recognises duplicates by the number of the switch that its frame carries, and trusts
//! whoever sends one. Here a mode has an order, and a frame a tag.

use thiserror::Error;

use crate::ethernet::{self, EtherType, MacAddress};
use crate::openflow::{DatapathId, PortNumber};
use crate::reader::{Reader, Truncated};
use crate::siphash::siphash_2_4;
use crate::writer::Writer;

/// The length of a whole frame, without check sequence.
pub const FRAME_LENGTH: usize = 58;
/// How many levels there can be.
pub const LEVELS: u8 = 8;
/// Where signals go: a group of our own, administered locally.
pub const DESTINATION: MacAddress = MacAddress([0x03, 0x74, 0x6b, 0, 0, 1]);

const VERSION: u8 = 1;
/// What the tag is of: everything behind the Ethernet header but the tag.
const SIGNED: usize = 36;

/// How much the network has to give up for what matters most; 0 is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(u8);

impl Level {
    /// Nothing is given up.
    pub const LOWEST: Self = Self(0);
    /// As much as can be.
    pub const HIGHEST: Self = Self(LEVELS - 1);

    /// Returns a level, or nothing if there is none so high.
    #[must_use]
    pub const fn new(level: u8) -> Option<Self> {
        if level < LEVELS {
            Some(Self(level))
        } else {
            None
        }
    }

    /// Returns its number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns the next higher level, if there is one.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        Self::new(self.0 + 1)
    }

    /// Returns all levels, the lowest first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..LEVELS).map(Self)
    }
}

/// The mode of a network. Of two the one of the later era is greater, within an era
/// that of the higher level: so a level rises within an era, and falls by a new
/// one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mode {
    /// How often the level was lowered.
    pub era: u32,
    /// How much is given up.
    pub level: Level,
}

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A mode begins: to be passed on at once.
    Signal,
    /// It still lasts: to the neighbour alone.
    HeartBeat,
}

/// What a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeSignal {
    /// What it is for.
    pub kind: Kind,
    /// The mode.
    pub mode: Mode,
    /// Where it began.
    pub origin: DatapathId,
    /// Who says so.
    pub sender: DatapathId,
    /// The sender's port by which the frame left.
    pub port: PortNumber,
}

/// Bytes are no signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// They end too soon.
    #[error("frame ends within the signal")]
    Truncated,
    /// Another version.
    #[error("signal of version {version}, known is {VERSION}")]
    Version {
        /// What stands there.
        version: u8,
    },
    /// Neither signal nor heart-beat.
    #[error("signal of kind {kind}")]
    Kind {
        /// What stands there.
        kind: u8,
    },
    /// A level that there is not.
    #[error("level {level}, the highest is {}", LEVELS - 1)]
    Level {
        /// What stands there.
        level: u8,
    },
    /// The tag is not that of the key: somebody forged it, or has another key.
    #[error("the tag is wrong")]
    Tag,
}

impl From<Truncated> for Error {
    fn from(Truncated: Truncated) -> Self {
        Self::Truncated
    }
}

impl ModeSignal {
    /// Returns what the payload of a frame of type
    /// [`MODE_SIGNAL`](EtherType::MODE_SIGNAL) says, if its tag is right.
    ///
    /// # Errors
    ///
    /// If it is too short, of an unknown form, or not under this key. Zeros that
    /// are not zero are none: a later version may use them, and they are under the
    /// tag.
    pub fn parse(payload: &[u8], key: [u8; 16]) -> Result<Self, Error> {
        let mut reader = Reader::new(payload);
        let signed = reader.take(SIGNED)?;
        let tag = reader.u64()?;
        if siphash_2_4(key, signed) != tag {
            return Err(Error::Tag);
        }
        Self::read(&mut Reader::new(signed))
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let version = reader.u8()?;
        if version != VERSION {
            return Err(Error::Version { version });
        }
        let kind = match reader.u8()? {
            1 => Kind::Signal,
            2 => Kind::HeartBeat,
            kind => return Err(Error::Kind { kind }),
        };
        let level = reader.u8()?;
        let level = Level::new(level).ok_or(Error::Level { level })?;
        reader.skip(1)?;
        let era = reader.u32()?;
        Ok(Self {
            kind,
            mode: Mode { era, level },
            origin: DatapathId(reader.u64()?),
            sender: DatapathId(reader.u64()?),
            port: PortNumber(reader.u32()?),
        })
    }

    /// Appends a whole frame, from a port with this address.
    pub fn emit_frame(&self, source: MacAddress, key: [u8; 16], out: &mut Vec<u8>) {
        let header = ethernet::Header {
            destination: DESTINATION,
            source,
            vlan: None,
            ether_type: EtherType::MODE_SIGNAL,
        };
        header.emit(out);
        let start = out.len();
        let kind = match self.kind {
            Kind::Signal => 1,
            Kind::HeartBeat => 2,
        };
        let mut writer = Writer::new(out);
        writer.u8(VERSION).u8(kind);
        writer.u8(self.mode.level.number()).zeros::<1>();
        writer.u32(self.mode.era).u64(self.origin.0);
        writer.u64(self.sender.0).u32(self.port.0).zeros::<8>();
        let tag = siphash_2_4(key, &out[start..]);
        Writer::new(out).u64(tag);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ethernet::Header;

    const KEY: [u8; 16] = *b"0123456789abcdef";

    fn signal() -> ModeSignal {
        ModeSignal {
            kind: Kind::Signal,
            mode: Mode {
                era: 3,
                level: Level::new(1).unwrap(),
            },
            origin: DatapathId(7),
            sender: DatapathId(8),
            port: PortNumber(2),
        }
    }

    fn emitted(signal: &ModeSignal) -> Vec<u8> {
        let mut frame = Vec::new();
        signal.emit_frame(MacAddress([2, 0, 0, 0, 0, 1]), KEY, &mut frame);
        frame
    }

    fn payload(frame: &[u8]) -> &[u8] {
        Header::parse(frame).unwrap().1
    }

    #[test]
    fn a_frame_is_as_long_as_that_of_the_paper() {
        let frame = emitted(&signal());

        assert_eq!(frame.len(), FRAME_LENGTH);
        assert_eq!(frame[12..14], [0x0f, 0x00]);
        assert_eq!(frame[18..22], [0, 0, 0, 3]);
    }

    #[test]
    fn a_later_era_outdoes_every_level_of_an_earlier_one() {
        let raised = Mode {
            era: 3,
            level: Level::HIGHEST,
        };
        let lowered = Mode {
            era: 4,
            level: Level::LOWEST,
        };

        assert!(lowered > raised);
        assert!(
            raised
                > Mode {
                    era: 3,
                    level: Level::LOWEST
                }
        );
    }

    #[test]
    fn another_key_makes_another_tag() {
        let frame = emitted(&signal());

        assert_eq!(ModeSignal::parse(payload(&frame), [0; 16]), Err(Error::Tag));
    }

    #[test]
    fn padding_behind_the_signal_is_nothing() {
        let mut frame = emitted(&signal());
        frame.extend([0; 2]);

        assert_eq!(ModeSignal::parse(payload(&frame), KEY), Ok(signal()));
    }

    prop_compose! {
        fn any_signal()(
            beat: bool, era: u32, level in 0..LEVELS, origin: u64, sender: u64, port: u32,
        ) -> ModeSignal {
            ModeSignal {
                kind: if beat { Kind::HeartBeat } else { Kind::Signal },
                mode: Mode { era, level: Level::new(level).unwrap() },
                origin: DatapathId(origin),
                sender: DatapathId(sender),
                port: PortNumber(port),
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(signal in any_signal()) {
            let frame = emitted(&signal);

            prop_assert_eq!(ModeSignal::parse(payload(&frame), KEY), Ok(signal));
        }

        #[test]
        fn any_bytes_are_a_signal_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = ModeSignal::parse(&bytes, KEY);
        }

        #[test]
        fn one_changed_bit_is_noticed(
            signal in any_signal(), place in 14..FRAME_LENGTH, bit in 0u8..8,
        ) {
            let mut frame = emitted(&signal);
            frame[place] ^= 1 << bit;

            prop_assert_eq!(ModeSignal::parse(payload(&frame), KEY), Err(Error::Tag));
        }

        #[test]
        fn a_frame_cut_anywhere_is_none(signal in any_signal(), length in 14..FRAME_LENGTH) {
            let frame = emitted(&signal);

            prop_assert_eq!(
                ModeSignal::parse(payload(&frame[..length]), KEY),
                Err(Error::Truncated)
            );
        }
    }
}
