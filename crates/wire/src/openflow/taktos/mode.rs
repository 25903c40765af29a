//! Messages about criticality modes: what a controller tells a switch of them, and
//! what a switch says unasked (S2-5, S2-6, S2-11).
//!
//! All of them are experimenter messages (OF13 clause 7.5.4) under
//! [`EXPERIMENTER`]. What a switch refuses it answers with an experimenter error and
//! a [`ModeFailed`].

mod config;
mod event;
mod failed;
mod level_set;
mod monitor;
mod queued_frame_actions;
mod set;
mod shadow;
mod status;

pub use config::{HEART_BEAT_MAX, HEART_BEAT_MIN, HOLD_MAX, ModeConfig, ModeFlags, ModeKey, Trunk};
pub use event::{Demanded, ModeEvent, ModeEventKind, SignalFault};
pub use failed::ModeFailed;
pub use level_set::LevelSet;
pub use monitor::{MonitorCommand, MonitorContract, MonitorId, MonitorMod, MonitorReport};
pub use queued_frame_actions::{QueuedFrameAction, QueuedFrameActions};
pub use set::{ModeCommand, ModeSet};
pub use shadow::ShadowMod;
pub use status::{ModeCounters, ModeStatus, TrunkStatus};

use units::Duration;

use super::EXPERIMENTER;
use crate::mode_signal::Level;
use crate::openflow::header::{begin, finish};
use crate::openflow::{DecodeError, MessageType, TransactionId};
use crate::reader::Reader;
use crate::writer::Writer;

const SHADOW_MOD: u32 = 1;
const MONITOR_MOD: u32 = 2;
const MODE_CONFIG: u32 = 3;
const MODE_SET: u32 = 4;
const MODE_EVENT: u32 = 5;

/// What stands for a time that never comes or never was.
const NEVER: u64 = u64::MAX;

/// A message about modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeMessage<'a> {
    /// Changes entries that are in force at some levels.
    ShadowMod(ShadowMod<'a>),
    /// Adds or deletes a monitor.
    MonitorMod(MonitorMod<'a>),
    /// Says how the switch takes part.
    Config(ModeConfig<'a>),
    /// Asks for another level.
    Set(ModeSet),
    /// Says that something happened.
    Event(ModeEvent),
}

impl<'a> ModeMessage<'a> {
    /// Takes apart what follows the experimenter and the type; none if the type is
    /// not one of ours.
    pub(in crate::openflow) fn parse(
        kind: u32,
        data: &'a [u8],
    ) -> Result<Option<Self>, DecodeError> {
        let reader = Reader::new(data);
        Ok(Some(match kind {
            SHADOW_MOD => Self::ShadowMod(ShadowMod::parse(reader)?),
            MONITOR_MOD => Self::MonitorMod(MonitorMod::parse(reader)?),
            MODE_CONFIG => Self::Config(ModeConfig::parse(reader)?),
            MODE_SET => Self::Set(ModeSet::parse(reader)?),
            MODE_EVENT => Self::Event(ModeEvent::parse(reader)?),
            _ => return Ok(None),
        }))
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::Experimenter, transaction, out);
        message.u32(EXPERIMENTER).u32(self.number());
        match self {
            Self::ShadowMod(shadow) => shadow.write(&mut message),
            Self::MonitorMod(monitor) => monitor.write(&mut message),
            Self::Config(config) => config.write(&mut message),
            Self::Set(set) => set.write(&mut message),
            Self::Event(event) => event.write(&mut message),
        }
        finish(&mut message);
    }

    const fn number(&self) -> u32 {
        match self {
            Self::ShadowMod(_) => SHADOW_MOD,
            Self::MonitorMod(_) => MONITOR_MOD,
            Self::Config(_) => MODE_CONFIG,
            Self::Set(_) => MODE_SET,
            Self::Event(_) => MODE_EVENT,
        }
    }
}

/// Returns the level that a byte stands for.
fn level(byte: u8) -> Result<Level, DecodeError> {
    Level::new(byte).ok_or(DecodeError::Value {
        field: "level",
        value: u32::from(byte),
        kind: ModeFailed::BadLevel.into_kind(),
    })
}

/// Returns a length of time, or nothing if it never ends.
pub(super) fn unless_never(ns: u64) -> Option<Duration> {
    (ns != NEVER).then(|| Duration::from_ns(ns))
}

/// Returns what stands for a length of time that may never end.
pub(super) const fn or_never(duration: Option<Duration>) -> u64 {
    match duration {
        Some(duration) => duration.as_ns(),
        None => NEVER,
    }
}

/// Refuses bytes behind the end.
pub(super) fn ended(reader: &Reader<'_>) -> Result<(), DecodeError> {
    match reader.is_empty() {
        true => Ok(()),
        false => Err(DecodeError::Length),
    }
}

/// Writes what a number of the message stands for.
fn write_demanded(demanded: Option<Demanded>, writer: &mut Writer<'_>) {
    writer.u8(demanded.map_or(u8::MAX, Demanded::number));
}

#[cfg(test)]
mod tests;
