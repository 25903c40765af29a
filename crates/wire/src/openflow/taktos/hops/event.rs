//! What a switch says unasked when frames stay longer than they may.

use units::{Duration, Instant};

use crate::openflow::taktos::mode::ended;
use crate::openflow::{Cookie, DecodeError, PortNumber, QueueId, TableId};
use crate::reader::Reader;
use crate::writer::Writer;

/// Says that frames that left on behalf of an entry stayed longer than the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopEvent {
    /// The table of the entry.
    pub table: TableId,
    /// Its priority.
    pub priority: u16,
    /// How many more records have something to say that the switch holds back, since it
    /// says no more than so much a second.
    pub unsaid: u32,
    /// The cookie of the entry.
    pub cookie: Cookie,
    /// The port by which the frames left.
    pub port: PortNumber,
    /// The queue through which they did.
    pub queue: QueueId,
    /// How long they may stay.
    pub budget: Duration,
    /// The longest stay above it since the last such message about this record.
    pub longest: Duration,
    /// How many frames stayed longer since then: 1 or more.
    pub frames: u64,
    /// When the switch noticed, by its clock.
    pub at: Instant,
}

impl HopEvent {
    pub(super) fn parse(mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let table = TableId(reader.u8()?);
        reader.skip(1)?;
        let event = Self {
            table,
            priority: reader.u16()?,
            unsaid: reader.u32()?,
            cookie: Cookie(reader.u64()?),
            port: PortNumber(reader.u32()?),
            queue: QueueId(reader.u32()?),
            budget: Duration::from_ns(reader.u64()?),
            longest: Duration::from_ns(reader.u64()?),
            frames: reader.u64()?,
            at: Instant::from_ns(reader.u64()?),
        };
        ended(&reader)?;
        Ok(event)
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u8(self.table.0).zeros::<1>().u16(self.priority);
        writer.u32(self.unsaid).u64(self.cookie.0);
        writer.u32(self.port.0).u32(self.queue.0);
        writer.u64(self.budget.as_ns()).u64(self.longest.as_ns());
        writer.u64(self.frames).u64(self.at.as_ns());
    }
}
