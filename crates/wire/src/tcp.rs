//! TCP segments over IPv4: the header without options.
//!
//! Source: RFC 9293 section 3.1.
//!
//! # Left out
//!
//! Options are skipped on reading and never written.

use thiserror::Error;

use crate::internet_checksum::Checksum;
use crate::ipv4;
use crate::reader::{Reader, Truncated};
use crate::writer::Writer;

/// The length of a header without options.
pub const HEADER_LENGTH: usize = 20;

const CHECKSUM_OFFSET: usize = 16;
/// The length of the header in words of four bytes, in the upper half of a byte.
const PLAIN_LENGTH: u8 = 5 << 4;

/// Bytes are no TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes end within the header.
    #[error("segment ends early")]
    Truncated,
    /// The header claims to be shorter than one can be.
    #[error("segment claims a header of {length} bytes")]
    Length {
        /// What it claims.
        length: usize,
    },
    /// The segment was damaged.
    #[error("wrong checksum of a segment")]
    Checksum,
}

impl From<Truncated> for Error {
    fn from(Truncated: Truncated) -> Self {
        Self::Truncated
    }
}

/// The control bits of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronize sequence numbers: the first segment each way.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// What was sent is to be handed over at once; with an acknowledgement.
    pub const PSH_ACK: Self = Self(0x18);
    /// The acknowledgement number counts.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer counts.
    pub const URG: Self = Self(0x20);
    /// The second segment of the handshake.
    pub const SYN_ACK: Self = Self(0x12);

    /// Tells whether all bits of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// The number of the first byte of the payload; that of a SYN counts one.
    pub sequence: u32,
    /// The number that is expected next, if [`Flags::ACK`] is set.
    pub acknowledgement: u32,
    /// The control bits.
    pub flags: Flags,
    /// How many bytes the sender is ready to take.
    pub window: u16,
}

impl Header {
    /// Returns the header of `segment` and its payload. The checksum is not
    /// looked at, see [`verify`].
    ///
    /// # Errors
    ///
    /// If the bytes end within the header.
    #[inline]
    pub fn parse(segment: &[u8]) -> Result<(Self, &[u8]), Error> {
        let mut reader = Reader::new(segment);
        let (source_port, destination_port) = (reader.u16()?, reader.u16()?);
        let (sequence, acknowledgement) = (reader.u32()?, reader.u32()?);
        let length = usize::from(reader.u8()? >> 4) * 4;
        let flags = Flags(reader.u8()?);
        let window = reader.u16()?;
        reader.skip(4)?;
        let options = length
            .checked_sub(HEADER_LENGTH)
            .ok_or(Error::Length { length })?;
        reader.skip(options)?;
        let header = Self {
            source_port,
            destination_port,
            sequence,
            acknowledgement,
            flags,
            window,
        };
        Ok((header, reader.rest()))
    }

    /// Appends a segment to `out`, to travel in a packet with header `ip`.
    ///
    /// # Panics
    ///
    /// If the segment would be longer than 65535 bytes.
    pub fn emit(&self, ip: &ipv4::Header, payload: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let mut writer = Writer::new(out);
        writer.u16(self.source_port).u16(self.destination_port);
        writer.u32(self.sequence).u32(self.acknowledgement);
        writer.u8(PLAIN_LENGTH).u8(self.flags.0).u16(self.window);
        writer.zeros::<4>().bytes(payload);
        let checksum = sum(ip, &out[start..]).finish();
        Writer::at(out, start).patch_u16(CHECKSUM_OFFSET, checksum);
    }
}

/// Checks that `segment`, which came in a packet with header `ip`, is undamaged.
///
/// # Errors
///
/// If it is no whole segment, or damaged.
pub fn verify(ip: &ipv4::Header, segment: &[u8]) -> Result<(), Error> {
    Header::parse(segment)?;
    match sum(ip, segment).finish() {
        0 => Ok(()),
        _ => Err(Error::Checksum),
    }
}

/// Returns the sum over a segment and what it borrows from the packet.
fn sum(ip: &ipv4::Header, segment: &[u8]) -> Checksum {
    let length = u16::try_from(segment.len()).unwrap_or(u16::MAX);
    Checksum::default()
        .with(&ip.source.octets())
        .with(&ip.destination.octets())
        .with(&[0, ipv4::PROTOCOL_TCP])
        .with(&length.to_be_bytes())
        .with(segment)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_damaged_segment_is_noticed() {
        let mut out = Vec::new();
        header().emit(&ip(), b"takt", &mut out);
        out[21] ^= 1;

        assert_eq!(verify(&ip(), &out), Err(Error::Checksum));
    }

    #[test]
    fn options_are_no_payload() {
        let mut out = Vec::new();
        header().emit(&ip(), &[2, 4, 5, 180, 9, 9], &mut out);
        out[12] = 6 << 4;

        assert_eq!(Header::parse(&out), Ok((header(), &[9, 9][..])));
    }

    #[test]
    fn a_header_shorter_than_itself_is_refused() {
        let mut out = Vec::new();
        header().emit(&ip(), &[], &mut out);
        out[12] = 4 << 4;

        assert_eq!(Header::parse(&out), Err(Error::Length { length: 16 }));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Header::parse(&bytes);
            let _ = verify(&ip(), &bytes);
        }

        #[test]
        fn a_segment_is_read_as_it_was_written(
            sequence: u32, acknowledgement: u32, flags: u8, window: u16,
            payload in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let header = Header {
                sequence, acknowledgement, flags: Flags(flags), window, ..header()
            };
            let mut out = Vec::new();

            header.emit(&ip(), &payload, &mut out);

            prop_assert_eq!(verify(&ip(), &out), Ok(()));
            prop_assert_eq!(Header::parse(&out), Ok((header, &payload[..])));
        }
    }

    fn ip() -> ipv4::Header {
        ipv4::Header {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 0, 2),
            protocol: ipv4::PROTOCOL_TCP,
            traffic_class: 0,
            time_to_live: 64,
        }
    }

    fn header() -> Header {
        Header {
            source_port: 40_000,
            destination_port: 102,
            sequence: 1,
            acknowledgement: 2,
            flags: Flags::SYN_ACK,
            window: 4096,
        }
    }
}
