//! Monitors: what a flow may send, and what it sent (S2-3).

use units::Duration;

use super::{Demanded, ModeFailed, or_never, unless_never, write_demanded};
use crate::openflow::{DecodeError, Element, Sequence};
use crate::reader::Reader;
use crate::writer::Writer;

/// Names a monitor of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonitorId(pub u32);

impl MonitorId {
    /// No monitor.
    pub const NONE: Self = Self(u32::MAX);
}

numbered! {
    /// What is to be done with a monitor.
    pub enum MonitorCommand: u8 {
        /// Adds it. One of the same number is replaced; if its contracts are the same,
        /// nothing happens.
        Add = 0,
        /// Deletes it.
        Delete = 1,
    }
}

/// Adds or deletes a monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonitorMod<'a> {
    /// What.
    pub command: MonitorCommand,
    /// Which.
    pub monitor: MonitorId,
    /// The release jitter of the flow.
    pub jitter: Duration,
    /// What the flow may send, level by level from the lowest; nothing if the monitor
    /// is deleted.
    pub contracts: Sequence<'a, MonitorContract>,
}

/// What a flow may send at one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonitorContract {
    /// The least time between two messages.
    pub period: Duration,
    /// The most bytes of a message.
    pub size_bytes: u32,
}

impl<'a> MonitorMod<'a> {
    pub(super) fn parse(mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        let command = reader.u8()?;
        let command = MonitorCommand::from_number(command).ok_or(DecodeError::Value {
            field: "monitor command",
            value: u32::from(command),
            kind: ModeFailed::BadCommand.into_kind(),
        })?;
        reader.skip(3)?;
        Ok(Self {
            command,
            monitor: MonitorId(reader.u32()?),
            jitter: Duration::from_ns(reader.u64()?),
            contracts: Sequence::from_bytes(reader.rest()),
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u8(self.command.number()).zeros::<3>();
        writer.u32(self.monitor.0).u64(self.jitter.as_ns());
        writer.with(|out| self.contracts.emit(out));
    }
}

impl<'a> Element<'a> for MonitorContract {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let contract = Self {
            period: Duration::from_ns(reader.u64()?),
            size_bytes: reader.u32()?,
        };
        reader.skip(4)?;
        Ok((contract, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u64(self.period.as_ns());
        writer.u32(self.size_bytes).zeros::<4>();
    }
}

/// What a monitor has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonitorReport {
    /// Which.
    pub monitor: MonitorId,
    /// What the last message demanded, if there was one.
    pub demanded: Option<Demanded>,
    /// How long ago a message last demanded more than the lowest level, if one did.
    pub quiet: Option<Duration>,
    /// Packets.
    pub packets: u64,
    /// Messages, those included of which packets are missing.
    pub messages: u64,
    /// Messages that demanded more than the lowest level.
    pub violations: u64,
    /// Of those, the ones that kept no contract.
    pub beyond: u64,
    /// Numbers of packets that were left out, at the first look.
    pub missing: u64,
    /// Packets that were seen before.
    pub duplicates: u64,
    /// Packets that came after ones with higher numbers.
    pub reordered: u64,
    /// Frames that bear no header of a message.
    pub unreadable: u64,
}

impl<'a> Element<'a> for MonitorReport {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let monitor = MonitorId(reader.u32()?);
        let demanded = Demanded::from_number(reader.u8()?)?;
        reader.skip(3)?;
        let report = Self {
            monitor,
            demanded,
            quiet: unless_never(reader.u64()?),
            packets: reader.u64()?,
            messages: reader.u64()?,
            violations: reader.u64()?,
            beyond: reader.u64()?,
            missing: reader.u64()?,
            duplicates: reader.u64()?,
            reordered: reader.u64()?,
            unreadable: reader.u64()?,
        };
        Ok((report, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u32(self.monitor.0);
        write_demanded(self.demanded, &mut writer);
        writer.zeros::<3>().u64(or_never(self.quiet));
        writer.u64(self.packets).u64(self.messages);
        writer.u64(self.violations).u64(self.beyond);
        writer.u64(self.missing).u64(self.duplicates);
        writer.u64(self.reordered).u64(self.unreadable);
    }
}
