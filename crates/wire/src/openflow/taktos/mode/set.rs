//! Asks a switch for another level.

use super::{ModeFailed, ended, level};
use crate::mode_signal::Level;
use crate::openflow::DecodeError;
use crate::reader::Reader;
use crate::writer::Writer;

numbered! {
    /// In which way the level changes.
    pub enum ModeCommand: u8 {
        /// A new era begins at a lower level, if the flows of the switch were quiet for
        /// the hold time.
        Lower = 0,
        /// A new era begins at this level, whatever flows demand.
        Force = 1,
        /// The level rises as if a flow of the switch demanded it.
        Demand = 2,
    }
}

/// Asks a switch for another level. What it agrees to it passes on to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeSet {
    /// In which way.
    pub command: ModeCommand,
    /// Which.
    pub level: Level,
}

impl ModeSet {
    pub(super) fn parse(mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let command = reader.u8()?;
        let command = ModeCommand::from_number(command).ok_or(DecodeError::Value {
            field: "mode command",
            value: u32::from(command),
            kind: ModeFailed::BadCommand.into_kind(),
        })?;
        let level = level(reader.u8()?)?;
        reader.skip(6)?;
        ended(&reader)?;
        Ok(Self { command, level })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u8(self.command.number());
        writer.u8(self.level.number()).zeros::<6>();
    }
}
