//! UDP datagrams over IPv4.
//!
//! Source: RFC 768.

use thiserror::Error;

use crate::internet_checksum::Checksum;
use crate::ipv4;
use crate::reader::{Reader, Truncated};
use crate::writer::Writer;

/// The length of a header.
pub const HEADER_LENGTH: usize = 8;

const CHECKSUM_OFFSET: usize = 6;

/// Bytes are no UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes end within the datagram.
    #[error("datagram ends early")]
    Truncated,
    /// The length is shorter than a header.
    #[error("datagram claims a length of {length} bytes")]
    Length {
        /// What it claims.
        length: u16,
    },
    /// The datagram was damaged.
    #[error("wrong checksum of a datagram")]
    Checksum,
}

impl From<Truncated> for Error {
    fn from(Truncated: Truncated) -> Self {
        Self::Truncated
    }
}

/// Between which ports a datagram travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
}

impl Header {
    /// Returns the header of `datagram` and its payload. The checksum is not
    /// looked at, see [`verify`].
    ///
    /// # Errors
    ///
    /// If it is no whole datagram.
    #[inline]
    pub fn parse(datagram: &[u8]) -> Result<(Self, &[u8]), Error> {
        let mut reader = Reader::new(datagram);
        let header = Self {
            source_port: reader.u16()?,
            destination_port: reader.u16()?,
        };
        let length = reader.u16()?;
        reader.skip(2)?;
        let payload = usize::from(length)
            .checked_sub(HEADER_LENGTH)
            .ok_or(Error::Length { length })?;
        Ok((header, reader.take(payload)?))
    }

    /// Appends a datagram to `out`, to travel in a packet with header `ip`.
    ///
    /// # Panics
    ///
    /// If the datagram would be longer than 65535 bytes.
    pub fn emit(&self, ip: &ipv4::Header, payload: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let mut writer = Writer::new(out);
        writer.u16(self.source_port).u16(self.destination_port);
        writer.zeros::<4>().bytes(payload).length_at(4);
        let checksum = match sum(ip, &out[start..]).finish() {
            // Zero would say that there is no checksum.
            0 => u16::MAX,
            checksum => checksum,
        };
        Writer::at(out, start).patch_u16(CHECKSUM_OFFSET, checksum);
    }

    /// Appends a whole packet to `out`: the header `ip` and a datagram.
    ///
    /// # Panics
    ///
    /// If the packet would be longer than 65535 bytes.
    pub fn emit_packet(&self, ip: &ipv4::Header, payload: &[u8], out: &mut Vec<u8>) {
        ip.emit(HEADER_LENGTH + payload.len(), out);
        self.emit(ip, payload, out);
    }
}

/// Checks that `datagram`, which came in a packet with header `ip`, is
/// undamaged, as far as its sender allows to tell.
///
/// # Errors
///
/// If it is no whole datagram, or damaged.
pub fn verify(ip: &ipv4::Header, datagram: &[u8]) -> Result<(), Error> {
    let (_, payload) = Header::parse(datagram)?;
    let whole = &datagram[..HEADER_LENGTH + payload.len()];
    let unsummed = whole[CHECKSUM_OFFSET..HEADER_LENGTH] == [0, 0];
    if unsummed || sum(ip, whole).finish() == 0 {
        Ok(())
    } else {
        Err(Error::Checksum)
    }
}

/// Returns the sum over a datagram and what it borrows from the packet.
fn sum(ip: &ipv4::Header, datagram: &[u8]) -> Checksum {
    let length = u16::try_from(datagram.len()).expect("a datagram's length has 16 bits");
    Checksum::default()
        .with(&ip.source.octets())
        .with(&ip.destination.octets())
        .with(&[0, ipv4::PROTOCOL_UDP])
        .with(&length.to_be_bytes())
        .with(datagram)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    fn ip() -> ipv4::Header {
        ipv4::Header {
            source: Ipv4Addr::new(192, 168, 0, 1),
            destination: Ipv4Addr::new(192, 168, 0, 2),
            protocol: ipv4::PROTOCOL_UDP,
            traffic_class: 0,
            time_to_live: 64,
        }
    }

    const PORTS: Header = Header {
        source_port: 1000,
        destination_port: 2000,
    };

    #[test]
    fn a_damaged_datagram_is_noticed() {
        let mut out = Vec::new();
        PORTS.emit(&ip(), b"takt", &mut out);
        out[9] ^= 0x10;

        assert_eq!(verify(&ip(), &out), Err(Error::Checksum));
    }

    #[test]
    fn a_datagram_without_a_checksum_is_believed() {
        let mut out = Vec::new();
        PORTS.emit(&ip(), b"takt", &mut out);
        out[CHECKSUM_OFFSET..HEADER_LENGTH].fill(0);

        assert_eq!(verify(&ip(), &out), Ok(()));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Header::parse(&bytes);
            let _ = verify(&ip(), &bytes);
        }

        #[test]
        fn a_packet_is_read_as_it_was_written(
            source_port: u16,
            destination_port: u16,
            payload in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let ports = Header { source_port, destination_port };
            let mut out = Vec::new();

            ports.emit_packet(&ip(), &payload, &mut out);

            let (header, datagram) = ipv4::Header::parse(&out).unwrap();
            prop_assert_eq!(header, ip());
            prop_assert_eq!(verify(&header, datagram), Ok(()));
            prop_assert_eq!(Header::parse(datagram), Ok((ports, &payload[..])));
        }
    }
}
