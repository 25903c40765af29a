//! What a port carried.

use crate::openflow::{DecodeError, Element};
use crate::openflow10::PortNumber;
use crate::reader::Reader;
use crate::writer::Writer;

/// What a port carried (`ofp_port_stats`). What a switch does not count is
/// `u64::MAX`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStatistics {
    /// Which port.
    pub port: PortNumber,
    /// Frames received.
    pub received_packets: u64,
    /// Frames sent.
    pub sent_packets: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Received frames that were dropped.
    pub received_dropped: u64,
    /// Frames that were to be sent and were dropped.
    pub sent_dropped: u64,
    /// Errors while receiving.
    pub received_errors: u64,
    /// Errors while sending.
    pub sent_errors: u64,
    /// Alignment errors.
    pub frame_errors: u64,
    /// Frames that found no room.
    pub overrun_errors: u64,
    /// Checksum errors.
    pub crc_errors: u64,
    /// Collisions.
    pub collisions: u64,
}

impl<'a> Element<'a> for PortStatistics {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let port = PortNumber(reader.u16()?);
        reader.skip(6)?;
        let statistics = Self {
            port,
            received_packets: reader.u64()?,
            sent_packets: reader.u64()?,
            received_bytes: reader.u64()?,
            sent_bytes: reader.u64()?,
            received_dropped: reader.u64()?,
            sent_dropped: reader.u64()?,
            received_errors: reader.u64()?,
            sent_errors: reader.u64()?,
            frame_errors: reader.u64()?,
            overrun_errors: reader.u64()?,
            crc_errors: reader.u64()?,
            collisions: reader.u64()?,
        };
        Ok((statistics, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u16(self.port.0).zeros::<6>();
        writer.u64(self.received_packets).u64(self.sent_packets);
        writer.u64(self.received_bytes).u64(self.sent_bytes);
        writer.u64(self.received_dropped).u64(self.sent_dropped);
        writer.u64(self.received_errors).u64(self.sent_errors);
        writer.u64(self.frame_errors).u64(self.overrun_errors);
        writer.u64(self.crc_errors).u64(self.collisions);
    }
}
