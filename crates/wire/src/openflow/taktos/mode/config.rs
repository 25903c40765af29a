//! How a switch takes part in agreeing on a mode.

use std::fmt;

use units::Duration;

use super::{LevelSet, ModeFailed, level, or_never, unless_never};
use crate::mode_signal::Level;
use crate::openflow::{DatapathId, DecodeError, Element, PortNumber, Sequence};
use crate::reader::Reader;
use crate::writer::Writer;

/// The longest hold time that ends.
pub const HOLD_MAX: Duration = Duration::from_secs(86_400);
/// The shortest interval between heart-beats.
pub const HEART_BEAT_MIN: Duration = Duration::from_us(100);
/// The longest interval between heart-beats.
pub const HEART_BEAT_MAX: Duration = Duration::from_secs(60);

flags! {
    /// What a switch does about violations.
    pub struct ModeFlags: u8 {
        /// They are counted and told, and do not raise the level.
        LOCKED = 1 << 0;
        /// They are told, and nothing else: the controller decides.
        ASK = 1 << 1;
    }
}

/// What signals are tagged with. Printed, it says nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ModeKey(pub [u8; 16]);

impl fmt::Debug for ModeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ModeKey(..)")
    }
}

/// Says how the switch takes part. It replaces what was said before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeConfig<'a> {
    /// How long the flows of the switch have to be quiet before the level may be
    /// lowered; nothing if it may not.
    pub hold: Option<Duration>,
    /// How often the switch repeats to its neighbours what it holds; nothing if it does
    /// not.
    pub heart_beat: Option<Duration>,
    /// What signals are tagged with.
    pub key: ModeKey,
    /// The levels whose entries are all there.
    pub complete: LevelSet,
    /// What is served while the level in force is not complete.
    pub default: Level,
    /// What is done about violations.
    pub flags: ModeFlags,
    /// The ports over which signals come and go.
    pub trunks: Sequence<'a, Trunk>,
}

/// A port that leads to another switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trunk {
    /// The port.
    pub port: PortNumber,
    /// The port at the other end, from which signals come.
    pub far_port: PortNumber,
    /// The switch at the other end.
    pub far_switch: DatapathId,
}

impl<'a> ModeConfig<'a> {
    pub(super) fn parse(mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        let hold = unless_never(reader.u64()?);
        let heart_beat = Duration::from_ns(reader.u64()?);
        let heart_beat = (heart_beat != Duration::default()).then_some(heart_beat);
        let bounded = |value: Duration| value >= HEART_BEAT_MIN && value <= HEART_BEAT_MAX;
        if !heart_beat.is_none_or(bounded) || hold.is_some_and(|hold| hold > HOLD_MAX) {
            return Err(DecodeError::Value {
                field: "hold time or interval of heart-beats",
                value: 0,
                kind: ModeFailed::BadTime.into_kind(),
            });
        }
        let key = ModeKey(reader.array()?);
        let complete = LevelSet(reader.u8()?);
        let default = level(reader.u8()?)?;
        let flags = ModeFlags(reader.u8()?);
        reader.skip(5)?;
        Ok(Self {
            hold,
            heart_beat,
            key,
            complete,
            default,
            flags,
            trunks: Sequence::from_bytes(reader.rest()),
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u64(or_never(self.hold));
        writer.u64(self.heart_beat.unwrap_or_default().as_ns());
        writer.bytes(&self.key.0).u8(self.complete.0);
        writer.u8(self.default.number()).u8(self.flags.0);
        writer.zeros::<5>().with(|out| self.trunks.emit(out));
    }
}

impl<'a> Element<'a> for Trunk {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let trunk = Self {
            port: PortNumber(reader.u32()?),
            far_port: PortNumber(reader.u32()?),
            far_switch: DatapathId(reader.u64()?),
        };
        Ok((trunk, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u32(self.port.0).u32(self.far_port.0);
        writer.u64(self.far_switch.0);
    }
}
