//! IPv4 headers, as far as measurement traffic needs them.
//!
//! Source: RFC 791 section 3.1.
//!
//! # Left out
//!
//! Options are skipped on reading and never written; fragments are reported as
//! such and not put together.

use std::net::Ipv4Addr;

use thiserror::Error;

use crate::internet_checksum::Checksum;
use crate::reader::{Reader, Truncated};
use crate::writer::Writer;

/// The length of a header without options.
pub const HEADER_LENGTH: usize = 20;
/// The protocol number of UDP.
pub const PROTOCOL_UDP: u8 = 17;
/// The protocol number of TCP.
pub const PROTOCOL_TCP: u8 = 6;

const VERSION: u8 = 4;
const DONT_FRAGMENT: u16 = 0x4000;
/// The flag for more fragments, and the offset.
const FRAGMENT: u16 = 0x3fff;
const CHECKSUM_OFFSET: usize = 10;

/// Bytes are no IPv4 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes end within the packet.
    #[error("packet ends early")]
    Truncated,
    /// Another version of IP.
    #[error("packet of IP version {version}")]
    Version {
        /// The version.
        version: u8,
    },
    /// A length contradicts the content.
    #[error("a length in the IP header contradicts the content")]
    Length,
    /// The header was damaged.
    #[error("wrong checksum of the IP header")]
    Checksum,
    /// A part of a packet.
    #[error("fragment of a packet")]
    Fragment,
}

impl From<Truncated> for Error {
    fn from(Truncated: Truncated) -> Self {
        Self::Truncated
    }
}

/// Who sends a packet to whom, and how it is to be treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Where it comes from.
    pub source: Ipv4Addr,
    /// Where it goes.
    pub destination: Ipv4Addr,
    /// What it carries.
    pub protocol: u8,
    /// Differentiated services code point (6 bits) and congestion (2 bits).
    pub traffic_class: u8,
    /// How many more hops it may take.
    pub time_to_live: u8,
}

impl Header {
    /// Returns the header of `packet` and its payload, without what pads the
    /// frame behind it.
    ///
    /// # Errors
    ///
    /// If it is no whole packet, or damaged.
    #[inline]
    pub fn parse(packet: &[u8]) -> Result<(Self, &[u8]), Error> {
        let mut reader = Reader::new(packet);
        let first = reader.u8()?;
        let traffic_class = reader.u8()?;
        let total_length = usize::from(reader.u16()?);
        reader.skip(2)?;
        let fragment = reader.u16()?;
        let time_to_live = reader.u8()?;
        let protocol = reader.u8()?;
        reader.skip(2)?;
        let source = Ipv4Addr::from(reader.array()?);
        let destination = Ipv4Addr::from(reader.array()?);

        let (version, header_length) = (first >> 4, usize::from(first & 0xf) * 4);
        if version != VERSION {
            return Err(Error::Version { version });
        }
        if header_length < HEADER_LENGTH || total_length < header_length {
            return Err(Error::Length);
        }
        let whole = packet.get(..total_length).ok_or(Error::Truncated)?;
        let (header, payload) = whole.split_at(header_length);
        if Checksum::default().add(header).finish() != 0 {
            return Err(Error::Checksum);
        }
        if fragment & FRAGMENT != 0 {
            return Err(Error::Fragment);
        }
        let header = Self {
            source,
            destination,
            protocol,
            traffic_class,
            time_to_live,
        };
        Ok((header, payload))
    }

    /// Appends the header of a packet with `payload_length` bytes of payload to
    /// `out`. The packet must not be fragmented, so that its number means
    /// nothing (RFC 6864 section 4.1) and is zero.
    ///
    /// # Panics
    ///
    /// If the packet would be longer than 65535 bytes.
    pub fn emit(&self, payload_length: usize, out: &mut Vec<u8>) {
        let total_length =
            u16::try_from(HEADER_LENGTH + payload_length).expect("we build no packet above 64 KiB");
        let start = out.len();
        let mut writer = Writer::new(out);
        writer.u8(VERSION << 4 | 5).u8(self.traffic_class);
        writer.u16(total_length).u16(0).u16(DONT_FRAGMENT);
        writer.u8(self.time_to_live).u8(self.protocol).u16(0);
        writer.bytes(&self.source.octets());
        writer.bytes(&self.destination.octets());
        let checksum = Checksum::default().add(&out[start..]).finish();
        Writer::at(out, start).patch_u16(CHECKSUM_OFFSET, checksum);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header() -> Header {
        Header {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 0, 2),
            protocol: PROTOCOL_UDP,
            traffic_class: 46 << 2,
            time_to_live: 64,
        }
    }

    fn packet() -> Vec<u8> {
        let mut out = Vec::new();
        header().emit(3, &mut out);
        out.extend([1, 2, 3]);
        out
    }

    #[test]
    fn padding_of_the_frame_is_no_payload() {
        let mut padded = packet();
        padded.resize(46, 0);

        assert_eq!(Header::parse(&padded), Ok((header(), &[1, 2, 3][..])));
    }

    #[test]
    fn a_damaged_header_is_noticed() {
        let mut damaged = packet();
        damaged[15] ^= 1;

        assert_eq!(Header::parse(&damaged), Err(Error::Checksum));
    }

    #[test]
    fn a_packet_that_ends_early_is_noticed() {
        assert_eq!(Header::parse(&packet()[..22]), Err(Error::Truncated));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Header::parse(&bytes);
            if let Some(first) = bytes.first_mut() {
                *first = 0x45;
            }
            let _ = Header::parse(&bytes);
        }

        #[test]
        fn a_header_is_read_as_it_was_written(
            source: u32,
            destination: u32,
            protocol: u8,
            traffic_class: u8,
            time_to_live: u8,
            payload in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let header = Header {
                source: source.into(),
                destination: destination.into(),
                protocol,
                traffic_class,
                time_to_live,
            };
            let mut out = Vec::new();

            header.emit(payload.len(), &mut out);
            out.extend_from_slice(&payload);

            prop_assert_eq!(Header::parse(&out), Ok((header, &payload[..])));
        }
    }
}
