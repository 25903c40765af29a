//! What a switch tells its controllers of modes, unasked.

use serde::{Deserialize, Serialize};

use units::Instant;

use super::{MonitorId, ended, level};
use crate::mode_signal::{Level, Mode};
use crate::openflow::{BadRequest, DatapathId, DecodeError, ErrorKind, PortNumber};
use crate::reader::Reader;
use crate::writer::Writer;

const ENTERED: u8 = 0;
const VIOLATION: u8 = 1;
const SIGNALS_REFUSED: u8 = 2;
const INCOMPLETE: u8 = 3;

const BEYOND: u8 = 1 << 7;
const NOTHING_DEMANDED: u8 = u8::MAX;

/// What a message of a flow demands of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demanded {
    /// The lowest level whose contract it keeps.
    Level(Level),
    /// It keeps none. The highest level for which there is a contract.
    Beyond(Level),
}

impl Demanded {
    /// Returns the level that it asks for.
    #[must_use]
    pub const fn level(self) -> Level {
        match self {
            Self::Level(level) | Self::Beyond(level) => level,
        }
    }

    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Level(level) => level.number(),
            Self::Beyond(level) => BEYOND | level.number(),
        }
    }

    pub(super) fn from_number(number: u8) -> Result<Option<Self>, DecodeError> {
        Ok(match number {
            NOTHING_DEMANDED => None,
            BEYOND.. => Some(Self::Beyond(level(number & !BEYOND)?)),
            _ => Some(Self::Level(level(number)?)),
        })
    }
}

numbered! {
    /// Why a signal does not count.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum SignalFault: u8 {
        /// Its tag is wrong.
        Forged = 0,
        /// It came by a port that is no trunk.
        Misplaced = 1,
        /// It is not from the other end of the cable.
        Replayed = 2,
        /// It is cut short, or of a form that this switch does not know.
        Malformed = 3,
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeEventKind {
    /// Another mode is agreed on.
    Entered,
    /// A flow demanded more than the lowest level.
    Violation(Demanded),
    /// Signals did not count.
    SignalsRefused(SignalFault),
    /// The level agreed on is not served, since its entries are not complete.
    Incomplete,
}

/// Says that something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeEvent {
    /// What.
    pub kind: ModeEventKind,
    /// The mode that is agreed on.
    pub mode: Mode,
    /// The level that is served.
    pub served: Level,
    /// Where the mode began.
    pub origin: DatapathId,
    /// The monitor that saw a violation, or [`MonitorId::NONE`].
    pub monitor: MonitorId,
    /// The port by which the frame came, or [`PortNumber::ANY`].
    pub port: PortNumber,
    /// When it was noticed: for a mode entered, when the frame came that caused it. By
    /// the clock of the switch.
    pub detected: Instant,
    /// When the level changed by it, or the same. By the clock of the switch.
    pub changed: Instant,
    /// How often this has happened since the last such message: 1 or more.
    pub count: u64,
}

impl ModeEvent {
    pub(super) fn parse(mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let kind = reader.u8()?;
        let (agreed, served) = (level(reader.u8()?)?, level(reader.u8()?)?);
        let kind = ModeEventKind::from_numbers(kind, reader.u8()?)?;
        let event = Self {
            kind,
            mode: Mode {
                era: reader.u32()?,
                level: agreed,
            },
            served,
            origin: DatapathId(reader.u64()?),
            monitor: MonitorId(reader.u32()?),
            port: PortNumber(reader.u32()?),
            detected: Instant::from_ns(reader.u64()?),
            changed: Instant::from_ns(reader.u64()?),
            count: reader.u64()?,
        };
        ended(&reader)?;
        Ok(event)
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let (kind, detail) = self.kind.numbers();
        writer.u8(kind).u8(self.mode.level.number());
        writer.u8(self.served.number()).u8(detail);
        writer.u32(self.mode.era).u64(self.origin.0);
        writer.u32(self.monitor.0).u32(self.port.0);
        writer.u64(self.detected.as_ns()).u64(self.changed.as_ns());
        writer.u64(self.count);
    }
}

impl ModeEventKind {
    const fn numbers(self) -> (u8, u8) {
        match self {
            Self::Entered => (ENTERED, 0),
            Self::Violation(demanded) => (VIOLATION, demanded.number()),
            Self::SignalsRefused(fault) => (SIGNALS_REFUSED, fault.number()),
            Self::Incomplete => (INCOMPLETE, 0),
        }
    }

    fn from_numbers(kind: u8, detail: u8) -> Result<Self, DecodeError> {
        let known = match kind {
            ENTERED => Some(Self::Entered),
            VIOLATION => Demanded::from_number(detail)?.map(Self::Violation),
            SIGNALS_REFUSED => SignalFault::from_number(detail).map(Self::SignalsRefused),
            INCOMPLETE => Some(Self::Incomplete),
            _ => None,
        };
        known.ok_or(DecodeError::Value {
            field: "kind of a mode event",
            value: u32::from(kind),
            kind: ErrorKind::BadRequest(BadRequest::BadType),
        })
    }
}
