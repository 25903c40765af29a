//! UDP datagrams with the message header, prepared once and patched per frame.
//!
//! The checksum of UDP is left out, as RFC 768 allows: the payload changes with
//! every frame. The message header (S2-2) counts frames by `sequence`.

use std::net::Ipv4Addr;

use wire::ethernet::{EtherType, Header, MacAddress, VlanTag};
use wire::message_shim::{self, MessageShim};
use wire::{ipv4, udp};

/// The largest IPv4 datagram that an Ethernet frame carries.
pub const MTU: usize = 1500;

const HOPS: u8 = 64;
const DSCP_SHIFT: u8 = 2;
/// The checksum is the last field of the header.
const UDP_CHECKSUM_LENGTH: usize = 2;

/// Between whom a datagram travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    pub source_mac: MacAddress,
    pub destination_mac: MacAddress,
    /// The tag, if frames carry one.
    pub vlan: Option<VlanTag>,
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    pub source_port: u16,
    pub destination_port: u16,
    /// The six bits of the differentiated services field (RFC 2474).
    pub dscp: u8,
}

impl Addresses {
    /// Returns the addresses of an answer.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            source_mac: self.destination_mac,
            destination_mac: self.source_mac,
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            ..self
        }
    }

    /// Returns the length of everything before the message header.
    #[must_use]
    pub fn header_length(&self) -> usize {
        self.ethernet().length() + ipv4::HEADER_LENGTH + udp::HEADER_LENGTH
    }

    /// Returns the length of the shortest frame: one without payload.
    #[must_use]
    pub fn shortest_frame(&self) -> usize {
        self.header_length() + message_shim::LENGTH
    }

    /// Returns the length of the longest frame that needs no fragments.
    #[must_use]
    pub fn longest_frame(&self) -> usize {
        self.ethernet().length() + MTU
    }

    fn ethernet(&self) -> Header {
        Header {
            destination: self.destination_mac,
            source: self.source_mac,
            vlan: self.vlan,
            ether_type: EtherType::IPV4,
        }
    }
}

/// A frame of fixed length whose message header alone changes.
#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    frame: Vec<u8>,
    shim_at: usize,
}

impl Datagram {
    /// Prepares a frame of `length` bytes.
    ///
    /// # Panics
    ///
    /// If the headers do not fit in, or the frame is longer than an Ethernet
    /// frame may be.
    pub(crate) fn new(addresses: &Addresses, length: usize) -> Self {
        assert!(
            (addresses.shortest_frame()..=addresses.longest_frame()).contains(&length),
            "a frame of {length} bytes holds its headers and stays below the MTU"
        );
        let ip = ipv4::Header {
            source: addresses.source,
            destination: addresses.destination,
            protocol: ipv4::PROTOCOL_UDP,
            traffic_class: addresses.dscp << DSCP_SHIFT,
            time_to_live: HOPS,
        };
        let udp = udp::Header {
            source_port: addresses.source_port,
            destination_port: addresses.destination_port,
        };
        let shim_at = addresses.header_length();
        let mut frame = Vec::with_capacity(length);
        addresses.ethernet().emit(&mut frame);
        udp.emit_packet(&ip, &vec![0; length - shim_at], &mut frame);
        frame[shim_at - UDP_CHECKSUM_LENGTH..shim_at].fill(0);
        Self { frame, shim_at }
    }

    /// Puts the frame with this message header into `out`.
    pub(crate) fn fill(&self, shim: MessageShim, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.frame[..self.shim_at]);
        shim.emit(out);
        out.extend_from_slice(&self.frame[out.len()..]);
    }

    /// Returns the length of the frame.
    pub(crate) fn length(&self) -> usize {
        self.frame.len()
    }

    /// Returns where in the frame the payload behind the message header begins.
    pub(crate) fn payload_at(&self) -> usize {
        self.shim_at + message_shim::LENGTH
    }

    /// Returns the message header of a message that is this one frame.
    pub(crate) fn message_of_one(&self, sequence: u32) -> MessageShim {
        let size = self.frame.len() - self.payload_at();
        MessageShim {
            message: sequence,
            size_bytes: u32::try_from(size).expect("below the MTU"),
            sequence,
        }
    }
}

/// What a datagram says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DatagramView<'a> {
    pub(crate) source: Ipv4Addr,
    pub(crate) destination: Ipv4Addr,
    pub(crate) destination_port: u16,
    pub(crate) shim: MessageShim,
    /// What follows the message header.
    pub(crate) payload: &'a [u8],
}

impl<'a> DatagramView<'a> {
    /// Reads what follows an Ethernet header of type IPv4, if it is a datagram
    /// with a message header.
    pub(crate) fn parse(packet: &'a [u8]) -> Option<Self> {
        let (ip, datagram) = ipv4::Header::parse(packet).ok()?;
        if ip.protocol != ipv4::PROTOCOL_UDP {
            return None;
        }
        let (udp, payload) = udp::Header::parse(datagram).ok()?;
        let (shim, payload) = MessageShim::parse(payload).ok()?;
        Some(Self {
            source: ip.source,
            destination: ip.destination,
            destination_port: udp.destination_port,
            shim,
            payload,
        })
    }
}
