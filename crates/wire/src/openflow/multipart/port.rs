//! What ports carried (OF13 clause 7.3.5.6).

use units::Duration;

use super::{emit_duration, parse_duration};
use crate::openflow::{DecodeError, Element, PortNumber};
use crate::reader::Reader;
use crate::writer::Writer;

/// What a port carried (`ofp_port_stats`). A counter that a switch does not
/// keep has all bits set.
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
    /// Frames dropped on arrival.
    pub received_dropped: u64,
    /// Frames dropped before they left.
    pub sent_dropped: u64,
    /// Frames received with an error.
    pub received_errors: u64,
    /// Frames sent with an error.
    pub sent_errors: u64,
    /// Frames with an alignment error.
    pub frame_errors: u64,
    /// Frames that overran the receiver.
    pub overrun_errors: u64,
    /// Frames with a bad check sequence.
    pub crc_errors: u64,
    /// Collisions.
    pub collisions: u64,
    /// How long the port has been there.
    pub age: Duration,
}

impl<'a> Element<'a> for PortStatistics {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let port = PortNumber(reader.u32()?);
        reader.skip(4)?;
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
            age: parse_duration(&mut reader)?,
        };
        Ok((statistics, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u32(self.port.0).zeros::<4>();
        writer.u64(self.received_packets).u64(self.sent_packets);
        writer.u64(self.received_bytes).u64(self.sent_bytes);
        writer.u64(self.received_dropped).u64(self.sent_dropped);
        writer.u64(self.received_errors).u64(self.sent_errors);
        writer.u64(self.frame_errors).u64(self.overrun_errors);
        writer.u64(self.crc_errors).u64(self.collisions);
        emit_duration(&mut writer, self.age);
    }
}
