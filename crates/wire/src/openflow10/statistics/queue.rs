//! What a queue carried.

use crate::openflow::{DecodeError, Element, QueueId};
use crate::openflow10::PortNumber;
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
    /// Frames dropped since the queue was full.
    pub sent_errors: u64,
}

impl<'a> Element<'a> for QueueStatistics {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let port = PortNumber(reader.u16()?);
        reader.skip(2)?;
        let statistics = Self {
            port,
            queue: QueueId(reader.u32()?),
            sent_bytes: reader.u64()?,
            sent_packets: reader.u64()?,
            sent_errors: reader.u64()?,
        };
        Ok((statistics, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u16(self.port.0).zeros::<2>().u32(self.queue.0);
        writer.u64(self.sent_bytes).u64(self.sent_packets);
        writer.u64(self.sent_errors);
    }
}
