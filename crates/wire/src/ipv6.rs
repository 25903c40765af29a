//! IPv6 headers, as far as finding hosts needs them.
//!
//! Source: RFC 8200 section 3.
//!
//! # Left out
//!
//! Extension headers are payload: what they hide is not looked for.

use std::net::Ipv6Addr;

use thiserror::Error;

use crate::internet_checksum::Checksum;
use crate::reader::{Reader, Truncated};
use crate::writer::Writer;

/// The length of a header.
pub const HEADER_LENGTH: usize = 40;
/// The number of ICMPv6 as a next header.
pub const NEXT_HEADER_ICMP: u8 = 58;

const VERSION: u8 = 6;

/// Bytes are no IPv6 packet.
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
}

impl From<Truncated> for Error {
    fn from(Truncated: Truncated) -> Self {
        Self::Truncated
    }
}

/// Who sends a packet to whom, and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Where it comes from.
    pub source: Ipv6Addr,
    /// Where it goes.
    pub destination: Ipv6Addr,
    /// What follows the header.
    pub next_header: u8,
    /// How many more hops it may take.
    pub hop_limit: u8,
}

impl Header {
    /// Returns the header of `packet` and its payload, without what pads the
    /// frame behind it.
    ///
    /// # Errors
    ///
    /// If it is no whole packet of version 6.
    #[inline]
    pub fn parse(packet: &[u8]) -> Result<(Self, &[u8]), Error> {
        let mut reader = Reader::new(packet);
        let version = reader.u8()? >> 4;
        if version != VERSION {
            return Err(Error::Version { version });
        }
        reader.skip(3)?;
        let length = usize::from(reader.u16()?);
        let next_header = reader.u8()?;
        let hop_limit = reader.u8()?;
        let header = Self {
            source: Ipv6Addr::from(reader.array()?),
            destination: Ipv6Addr::from(reader.array()?),
            next_header,
            hop_limit,
        };
        Ok((header, reader.take(length)?))
    }

    /// Appends the header of a packet with `payload_length` bytes of payload to
    /// `out`.
    ///
    /// # Panics
    ///
    /// If the payload is longer than 65535 bytes.
    pub fn emit(&self, payload_length: usize, out: &mut Vec<u8>) {
        let length = u16::try_from(payload_length).expect("we build no packet above 64 KiB");
        let mut writer = Writer::new(out);
        writer.u8(VERSION << 4).zeros::<3>().u16(length);
        writer.u8(self.next_header).u8(self.hop_limit);
        writer.bytes(&self.source.octets());
        writer.bytes(&self.destination.octets());
    }

    /// Returns the sum over the pseudo-header (RFC 8200 section 8.1) and the
    /// payload.
    pub(crate) fn sum(&self, payload: &[u8]) -> Checksum {
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        Checksum::default()
            .with(&self.source.octets())
            .with(&self.destination.octets())
            .with(&length.to_be_bytes())
            .with(&[0, 0, 0, self.next_header])
            .with(payload)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn another_version_is_refused() {
        assert_eq!(
            Header::parse(&[0x45; 60]),
            Err(Error::Version { version: 4 })
        );
    }

    #[test]
    fn a_packet_that_ends_early_is_noticed() {
        let mut packet = vec![0x60; 1];
        packet.resize(HEADER_LENGTH, 0);
        packet[5] = 1;

        assert_eq!(Header::parse(&packet), Err(Error::Truncated));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Header::parse(&bytes);
            if let Some(first) = bytes.first_mut() {
                *first = 0x60;
            }
            let _ = Header::parse(&bytes);
        }

        #[test]
        fn a_header_is_read_as_it_was_written(
            source: u128,
            destination: u128,
            next_header: u8,
            hop_limit: u8,
            payload in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let header = Header {
                source: source.into(),
                destination: destination.into(),
                next_header,
                hop_limit,
            };
            let mut out = Vec::new();

            header.emit(payload.len(), &mut out);
            out.extend_from_slice(&payload);
            let end = out.len();
            out.extend([0; 6]);

            prop_assert_eq!(Header::parse(&out), Ok((header, &out[HEADER_LENGTH..end])));
        }
    }
}
