//! What a frame of a method is, from as many of its bytes as there are.
//!
//! Captures may keep the beginning of a frame only, and packets may be split: the
//! parts of one are known by its number. Checksums are not looked at, for the
//! question is which frame this is and not whether it is whole.

use std::net::Ipv4Addr;

use wire::ethernet::{EtherType, Header};
use wire::icmp::Echo;
use wire::ipv4::{self, Part};
use wire::message_shim::MessageShim;
use wire::{tcp, udp};

use crate::traffic::Addresses;

/// A frame with an IPv4 packet or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSummary {
    pub source: Ipv4Addr,
    /// Who is to receive it.
    pub destination: Ipv4Addr,
    /// The number of its protocol.
    pub protocol: u8,
    /// Which part of its packet it is.
    pub part: Part,
    pub content: Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Datagram {
        source_port: u16,
        destination_port: u16,
        /// The message header of S2-2, or whatever stands in its place.
        shim: Option<MessageShim>,
    },
    /// An echo or its reply.
    Echo(Echo),
    Segment(tcp::Header),
    /// What follows the beginning of a packet that was split.
    Continuation,
    Other,
}

impl FrameSummary {
    /// Reads a frame, or returns nothing if it has no IPv4 packet.
    #[must_use]
    pub fn of(frame: &[u8]) -> Option<Self> {
        let (header, packet) = Header::parse(frame).ok()?;
        if header.ether_type != EtherType::IPV4 {
            return None;
        }
        let (ip, part, payload) = Part::parse(packet).ok()?;
        let content = match (part.begin, ip.protocol) {
            (1.., _) => Content::Continuation,
            (0, ipv4::PROTOCOL_UDP) => datagram(payload).unwrap_or(Content::Other),
            (0, ipv4::PROTOCOL_ICMP) => {
                Echo::parse_begin(payload).map_or(Content::Other, |(echo, _)| Content::Echo(echo))
            }
            (0, ipv4::PROTOCOL_TCP) => tcp::Header::parse(payload)
                .map_or(Content::Other, |(segment, _)| Content::Segment(segment)),
            (0, _) => Content::Other,
        };
        Some(Self {
            source: ip.source,
            destination: ip.destination,
            protocol: ip.protocol,
            part,
            content,
        })
    }

    /// Tells whether it goes from the source to the destination of `addresses`.
    #[must_use]
    pub fn goes(&self, addresses: &Addresses) -> bool {
        self.source == addresses.source && self.destination == addresses.destination
    }

    /// Returns the message header of a datagram between these addresses and ports.
    #[must_use]
    pub fn shim_between(&self, addresses: &Addresses) -> Option<MessageShim> {
        match self.content {
            Content::Datagram {
                destination_port,
                shim,
                ..
            } if self.goes(addresses) && destination_port == addresses.destination_port => shim,
            Content::Datagram { .. }
            | Content::Echo(_)
            | Content::Segment(_)
            | Content::Continuation
            | Content::Other => None,
        }
    }
}

fn datagram(bytes: &[u8]) -> Option<Content> {
    let (source_port, rest) = bytes.split_first_chunk::<2>()?;
    let (destination_port, _) = rest.split_first_chunk::<2>()?;
    let payload = bytes.get(udp::HEADER_LENGTH..)?;
    Some(Content::Datagram {
        source_port: u16::from_be_bytes(*source_port),
        destination_port: u16::from_be_bytes(*destination_port),
        shim: MessageShim::parse(payload).ok().map(|(shim, _)| shim),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::method::tests::known_device::addresses;
    use crate::traffic::datagram::Datagram;

    #[test]
    fn the_beginning_of_a_frame_is_enough() {
        let datagram = Datagram::new(&addresses(), 1000);
        let mut frame = Vec::new();
        datagram.fill(datagram.message_of_one(42), &mut frame);

        let glimpse = FrameSummary::of(&frame[..64]).unwrap();

        assert_eq!(glimpse.shim_between(&addresses()).unwrap().sequence, 42);
        assert_eq!(glimpse.part.length, 1000 - 14 - 20);
        assert_eq!(FrameSummary::of(&frame[..20]), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..120), ip: bool) {
            if let (true, Some(head)) = (ip, bytes.get_mut(12..15)) {
                head.copy_from_slice(&[8, 0, 0x45]);
            }
            let _ = FrameSummary::of(&bytes);
        }
    }
}
