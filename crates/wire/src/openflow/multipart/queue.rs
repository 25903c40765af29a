//! What queues carried (OF13 clause 7.3.5.8).

use units::Duration;

use super::{emit_duration, parse_duration};
use crate::openflow::{DecodeError, Element, PortNumber, QueueId};
use crate::reader::Reader;
use crate::writer::Writer;

/// What a queue carried (`ofp_queue_stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStatistics {
    /// Its port.
    pub port: PortNumber,
    /// Which queue of the port.
    pub queue: QueueId,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Frames sent.
    pub sent_packets: u64,
    /// Frames dropped because the queue was full.
    pub sent_errors: u64,
    /// How long the queue has been there.
    pub age: Duration,
}

impl<'a> Element<'a> for QueueStatistics {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let statistics = Self {
            port: PortNumber(reader.u32()?),
            queue: QueueId(reader.u32()?),
            sent_bytes: reader.u64()?,
            sent_packets: reader.u64()?,
            sent_errors: reader.u64()?,
            age: parse_duration(&mut reader)?,
        };
        Ok((statistics, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u32(self.port.0).u32(self.queue.0);
        writer.u64(self.sent_bytes).u64(self.sent_packets);
        writer.u64(self.sent_errors);
        emit_duration(&mut writer, self.age);
    }
}
