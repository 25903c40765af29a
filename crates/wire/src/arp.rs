//! Address resolution: which station has an IPv4 address?
//!
//! Source: RFC 826; RFC 5227 for probes and announcements.
//!
//! # Left out
//!
//! Hardware other than Ethernet and protocols other than IPv4.

use std::net::Ipv4Addr;

use thiserror::Error;

use crate::ethernet::{EtherType, MacAddress};
use crate::reader::{Reader, Truncated};
use crate::writer::Writer;

const HARDWARE_ETHERNET: u16 = 1;
const LENGTHS: u16 = 0x0604;
const OPERATION_REQUEST: u16 = 1;
const OPERATION_REPLY: u16 = 2;

/// Bytes are no ARP packet of IPv4 over Ethernet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes end within the packet.
    #[error("packet ends early")]
    Truncated,
    /// It is about other hardware or another protocol.
    #[error("not about IPv4 over Ethernet")]
    Kind,
    /// It neither asks nor answers.
    #[error("operation {operation} is neither request nor reply")]
    Operation {
        /// The operation.
        operation: u16,
    },
}

impl From<Truncated> for Error {
    fn from(Truncated: Truncated) -> Self {
        Self::Truncated
    }
}

/// Whether a packet asks or answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Who has the target's address?
    Request,
    /// The sender has the sender's address.
    Reply,
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arp {
    /// Whether it asks or answers.
    pub operation: Operation,
    /// The sender.
    pub sender_mac: MacAddress,
    /// The sender's address; unspecified in a probe, which only asks whether an
    /// address is free (RFC 5227 section 2.1.1).
    pub sender: Ipv4Addr,
    /// The station that is asked or told; it says nothing in a request.
    pub target_mac: MacAddress,
    /// The address that is asked for.
    pub target: Ipv4Addr,
}

impl Arp {
    /// Reads what stands behind the Ethernet header.
    ///
    /// # Errors
    ///
    /// If it is no request and no reply about IPv4 over Ethernet.
    pub fn parse(packet: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(packet);
        let (hardware, protocol, lengths) = (reader.u16()?, reader.u16()?, reader.u16()?);
        if (hardware, protocol, lengths) != (HARDWARE_ETHERNET, EtherType::IPV4.0, LENGTHS) {
            return Err(Error::Kind);
        }
        let operation = match reader.u16()? {
            OPERATION_REQUEST => Operation::Request,
            OPERATION_REPLY => Operation::Reply,
            operation => return Err(Error::Operation { operation }),
        };
        Ok(Self {
            operation,
            sender_mac: MacAddress(reader.array()?),
            sender: Ipv4Addr::from(reader.array()?),
            target_mac: MacAddress(reader.array()?),
            target: Ipv4Addr::from(reader.array()?),
        })
    }

    /// Appends the packet to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u16(HARDWARE_ETHERNET).u16(EtherType::IPV4.0);
        writer.u16(LENGTHS).u16(match self.operation {
            Operation::Request => OPERATION_REQUEST,
            Operation::Reply => OPERATION_REPLY,
        });
        writer
            .bytes(&self.sender_mac.0)
            .bytes(&self.sender.octets());
        writer
            .bytes(&self.target_mac.0)
            .bytes(&self.target.octets());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn other_hardware_is_refused() {
        let mut packet = Vec::new();
        request().emit(&mut packet);
        packet[1] = 6;

        assert_eq!(Arp::parse(&packet), Err(Error::Kind));
    }

    #[test]
    fn an_operation_of_another_protocol_is_refused() {
        let mut packet = Vec::new();
        request().emit(&mut packet);
        packet[7] = 3;

        assert_eq!(Arp::parse(&packet), Err(Error::Operation { operation: 3 }));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Arp::parse(&bytes);
            let mut packet = vec![0, 1, 8, 0, 6, 4, 0, 1];
            packet.extend(&bytes);
            let _ = Arp::parse(&packet);
        }

        #[test]
        fn a_packet_is_read_as_it_was_written(
            is_reply: bool,
            macs: [[u8; 6]; 2],
            addresses: [u32; 2],
            padding in 0..20usize,
        ) {
            let arp = Arp {
                operation: if is_reply { Operation::Reply } else { Operation::Request },
                sender_mac: MacAddress(macs[0]),
                sender: addresses[0].into(),
                target_mac: MacAddress(macs[1]),
                target: addresses[1].into(),
            };
            let mut out = Vec::new();

            arp.emit(&mut out);
            out.resize(out.len() + padding, 0);

            prop_assert_eq!(Arp::parse(&out), Ok(arp));
        }
    }

    fn request() -> Arp {
        Arp {
            operation: Operation::Request,
            sender_mac: MacAddress([2, 0, 0, 0, 0, 1]),
            sender: Ipv4Addr::new(10, 0, 0, 1),
            target_mac: MacAddress::ZERO,
            target: Ipv4Addr::new(10, 0, 0, 2),
        }
    }
}
