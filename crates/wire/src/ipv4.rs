//! IPv4 headers, as far as measurement traffic needs them.
//!
//! Source: RFC 791 section 3.1.
//!
//! # Left out
//!
//! Options are skipped on reading and never written; fragments are written and
//! told apart ([`Part`]), but not put together.

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
/// The protocol number of ICMP.
pub const PROTOCOL_ICMP: u8 = 1;
/// Fragments begin at multiples of so many bytes.
pub const FRAGMENT_UNIT: usize = 8;

const VERSION: u8 = 4;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET_MASK: u16 = 0x1fff;
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
        if Checksum::default().with(header).finish() != 0 {
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
        self.emit_with((0, DONT_FRAGMENT), payload_length, out);
    }

    /// Appends the header of a part of a packet to `out`.
    ///
    /// # Panics
    ///
    /// If the part would be longer than 65535 bytes, or begins where none can.
    pub fn emit_part(&self, part: Part, out: &mut Vec<u8>) {
        assert!(
            part.begin.is_multiple_of(FRAGMENT_UNIT),
            "fragments begin at multiples of {FRAGMENT_UNIT} bytes"
        );
        let offset = u16::try_from(part.begin / FRAGMENT_UNIT)
            .ok()
            .filter(|offset| *offset <= OFFSET_MASK)
            .expect("no packet is longer than 64 KiB");
        let more = match part.is_last {
            true => 0,
            false => MORE_FRAGMENTS,
        };
        self.emit_with((part.packet, more | offset), part.length, out);
    }

    fn emit_with(&self, (packet, part): (u16, u16), payload_length: usize, out: &mut Vec<u8>) {
        let total_length =
            u16::try_from(HEADER_LENGTH + payload_length).expect("we build no packet above 64 KiB");
        let start = out.len();
        let mut writer = Writer::new(out);
        writer.u8(VERSION << 4 | 5).u8(self.traffic_class);
        writer.u16(total_length).u16(packet).u16(part);
        writer.u8(self.time_to_live).u8(self.protocol).u16(0);
        writer.bytes(&self.source.octets());
        writer.bytes(&self.destination.octets());
        let checksum = Checksum::default().with(&out[start..]).finish();
        Writer::at(out, start).patch_u16(CHECKSUM_OFFSET, checksum);
    }
}

/// Which part of a packet the bytes behind a header are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// The number of the packet, the same in all its parts.
    pub packet: u16,
    /// Where in the payload of the packet this part begins, in bytes.
    pub begin: usize,
    /// How many bytes of it this part has.
    pub length: usize,
    /// Whether nothing follows it.
    pub is_last: bool,
}

impl Part {
    /// Returns the header of `bytes`, which part of its packet they are, and as much
    /// of it as is there: the end may be cut off. A packet that is not split is its
    /// own only part. The checksum is not looked at.
    ///
    /// # Errors
    ///
    /// If the bytes end within the header, or a length contradicts the content.
    pub fn parse(bytes: &[u8]) -> Result<(Header, Self, &[u8]), Error> {
        let mut reader = Reader::new(bytes);
        let first = reader.u8()?;
        let traffic_class = reader.u8()?;
        let total_length = usize::from(reader.u16()?);
        let packet = reader.u16()?;
        let place = reader.u16()?;
        let (time_to_live, protocol) = (reader.u8()?, reader.u8()?);
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
        let end = total_length.min(bytes.len());
        let payload = bytes.get(header_length..end).ok_or(Error::Truncated)?;
        let header = Header {
            source,
            destination,
            protocol,
            traffic_class,
            time_to_live,
        };
        let part = Self {
            packet,
            begin: usize::from(place & OFFSET_MASK) * FRAGMENT_UNIT,
            length: total_length - header_length,
            is_last: place & MORE_FRAGMENTS == 0,
        };
        Ok((header, part, payload))
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

    #[test]
    fn a_packet_that_is_not_split_is_its_own_only_part() {
        let whole = Part {
            packet: 0,
            begin: 0,
            length: 3,
            is_last: true,
        };

        assert_eq!(
            Part::parse(&packet()),
            Ok((header(), whole, &[1, 2, 3][..]))
        );
        assert_eq!(
            Part::parse(&packet()[..21]),
            Ok((header(), whole, &[1][..]))
        );
        assert_eq!(Part::parse(&packet()[..19]), Err(Error::Truncated));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Header::parse(&bytes);
            if let Some(first) = bytes.first_mut() {
                *first = 0x45;
            }
            let _ = Header::parse(&bytes);
            let _ = Part::parse(&bytes);
        }

        #[test]
        fn a_part_is_read_as_it_was_written(number: u16, unit in 0usize..8000, is_last: bool) {
            let part = Part { packet: number, begin: unit * FRAGMENT_UNIT, length: 5, is_last };
            let mut out = Vec::new();

            header().emit_part(part, &mut out);
            out.extend([1, 2, 3, 4, 5]);

            prop_assert_eq!(Part::parse(&out), Ok((header(), part, &[1, 2, 3, 4, 5][..])));
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
