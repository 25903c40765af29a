//! What a switch holds of the mode, and what came of it.

use units::Duration;

use super::{LevelSet, ModeFlags, level, or_never, unless_never};
use crate::mode_signal::{Level, Mode};
use crate::openflow::{DatapathId, DecodeError, Element, PortNumber, Sequence};
use crate::reader::Reader;
use crate::writer::Writer;

/// What a switch holds of the mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeStatus<'a> {
    /// The mode that is agreed on, as far as the switch knows.
    pub mode: Mode,
    /// Where it began.
    pub origin: DatapathId,
    /// The level that is served.
    pub served: Level,
    /// The levels whose entries are all there.
    pub complete: LevelSet,
    /// What is served while the level in force is not complete.
    pub default: Level,
    /// What is done about violations.
    pub flags: ModeFlags,
    /// How long ago a flow of the switch last demanded more than the lowest level, if
    /// one did.
    pub quiet: Option<Duration>,
    /// Frames that wait in queues now.
    pub waiting: u64,
    /// What happened so far.
    pub counters: ModeCounters,
    /// The ports over which signals come and go.
    pub trunks: Sequence<'a, TrunkStatus>,
}

/// What happened so far at a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModeCounters {
    /// Modes entered.
    pub entered: u64,
    /// Demands of own flows for more than the lowest level.
    pub demanded: u64,
    /// Demands that a lock kept from having their effect.
    pub disregarded: u64,
    /// Signals sent.
    pub sent: u64,
    /// Heart-beats sent.
    pub beats_sent: u64,
    /// Signals that counted.
    pub received: u64,
    /// Heart-beats that counted.
    pub beats_received: u64,
    /// Signals of the mode that was held already.
    pub duplicate: u64,
    /// Signals of a lesser mode.
    pub stale: u64,
    /// Signals whose tag was wrong.
    pub forged: u64,
    /// Signals by ports that are no trunk.
    pub misplaced: u64,
    /// Signals that were not from the other end of the cable.
    pub replayed: u64,
    /// Signals cut short or of an unknown form.
    pub malformed: u64,
    /// Frames that a change of mode dropped from queues.
    pub queued_dropped: u64,
    /// Frames that a change of mode moved to another queue.
    pub queued_moved: u64,
}

/// A port over which signals come and go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrunkStatus {
    /// Which.
    pub port: PortNumber,
    /// How long ago the other end was last heard of, if it was.
    pub heard: Option<Duration>,
    /// The mode that it held then.
    pub mode: Mode,
}

impl<'a> ModeStatus<'a> {
    pub(in crate::openflow::taktos) fn parse(data: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(data);
        let era = reader.u32()?;
        let (agreed, served) = (level(reader.u8()?)?, level(reader.u8()?)?);
        let complete = LevelSet(reader.u8()?);
        let default = level(reader.u8()?)?;
        let origin = DatapathId(reader.u64()?);
        let flags = ModeFlags(reader.u8()?);
        reader.skip(7)?;
        Ok(Self {
            mode: Mode { era, level: agreed },
            origin,
            served,
            complete,
            default,
            flags,
            quiet: unless_never(reader.u64()?),
            waiting: reader.u64()?,
            counters: ModeCounters::parse(&mut reader)?,
            trunks: Sequence::from_bytes(reader.rest()),
        })
    }

    pub(in crate::openflow::taktos) fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u32(self.mode.era).u8(self.mode.level.number());
        writer.u8(self.served.number()).u8(self.complete.0);
        writer.u8(self.default.number()).u64(self.origin.0);
        writer.u8(self.flags.0).zeros::<7>();
        writer.u64(or_never(self.quiet)).u64(self.waiting);
        self.counters.write(&mut writer);
        writer.with(|out| self.trunks.emit(out));
    }
}

impl ModeCounters {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            entered: reader.u64()?,
            demanded: reader.u64()?,
            disregarded: reader.u64()?,
            sent: reader.u64()?,
            beats_sent: reader.u64()?,
            received: reader.u64()?,
            beats_received: reader.u64()?,
            duplicate: reader.u64()?,
            stale: reader.u64()?,
            forged: reader.u64()?,
            misplaced: reader.u64()?,
            replayed: reader.u64()?,
            malformed: reader.u64()?,
            queued_dropped: reader.u64()?,
            queued_moved: reader.u64()?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.u64(self.entered).u64(self.demanded);
        writer.u64(self.disregarded).u64(self.sent);
        writer.u64(self.beats_sent).u64(self.received);
        writer.u64(self.beats_received).u64(self.duplicate);
        writer.u64(self.stale).u64(self.forged);
        writer.u64(self.misplaced).u64(self.replayed);
        writer.u64(self.malformed).u64(self.queued_dropped);
        writer.u64(self.queued_moved);
    }
}

impl<'a> Element<'a> for TrunkStatus {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let port = PortNumber(reader.u32()?);
        let era = reader.u32()?;
        let heard = unless_never(reader.u64()?);
        let level = level(reader.u8()?)?;
        reader.skip(7)?;
        let mode = Mode { era, level };
        Ok((Self { port, heard, mode }, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u32(self.port.0).u32(self.mode.era);
        writer.u64(or_never(self.heard));
        writer.u8(self.mode.level.number()).zeros::<7>();
    }
}
