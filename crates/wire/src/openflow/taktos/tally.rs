//! What the switch as a whole did with frames.

use crate::openflow::DecodeError;
use crate::reader::Reader;
use crate::writer::Writer;

/// Counters of a switch, all ports together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchTally {
    /// Frames handed in.
    pub frames: u64,
    /// Frames given up before the first table.
    pub refused: u64,
    /// Frames that a table had no entry for.
    pub missed: u64,
    /// Frames given up half-way.
    pub abandoned: u64,
    /// Frames that a meter dropped.
    pub metered: u64,
    /// Buckets of groups that a frame had no copies left for.
    pub buckets_skipped: u64,
    /// Copies that outputs to ports asked for.
    pub outputs: u64,
    /// Copies whose transmission began.
    pub sent: u64,
    /// Copies dropped at the port.
    pub dropped: u64,
    /// Copies for controllers that are on their way.
    pub punted: u64,
    /// Copies for controllers that were dropped.
    pub punts_dropped: u64,
    /// Messages of controllers that were refused.
    pub bad_messages: u64,
    /// Connections closed for what came over them.
    pub bad_connections: u64,
    /// Frames that wait in queues.
    pub waiting: u64,
    /// Frames more that the switch could hold.
    pub free_buffers: u64,
    /// Of those given up before the first table, the ones that were longer than any that
    /// is carried.
    pub oversized: u64,
    /// Of those, the ones that came faster than they were taken.
    pub overrun: u64,
}

impl SwitchTally {
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            frames: reader.u64()?,
            refused: reader.u64()?,
            missed: reader.u64()?,
            abandoned: reader.u64()?,
            metered: reader.u64()?,
            buckets_skipped: reader.u64()?,
            outputs: reader.u64()?,
            sent: reader.u64()?,
            dropped: reader.u64()?,
            punted: reader.u64()?,
            punts_dropped: reader.u64()?,
            bad_messages: reader.u64()?,
            bad_connections: reader.u64()?,
            waiting: reader.u64()?,
            free_buffers: reader.u64()?,
            oversized: reader.u64()?,
            overrun: reader.u64()?,
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u64(self.frames).u64(self.refused).u64(self.missed);
        writer.u64(self.abandoned).u64(self.metered);
        writer.u64(self.buckets_skipped);
        writer.u64(self.outputs).u64(self.sent);
        writer.u64(self.dropped).u64(self.punted);
        writer.u64(self.punts_dropped).u64(self.bad_messages);
        writer.u64(self.bad_connections).u64(self.waiting);
        writer.u64(self.free_buffers);
        writer.u64(self.oversized).u64(self.overrun);
    }
}
