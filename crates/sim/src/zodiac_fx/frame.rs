//! A frame inside the emulated switch, and the fields of it that entries match
//! on (OF10 section 3.4).

use std::sync::Arc;

use units::DataSize;
use wire::ethernet::{EtherType, Header, MacAddress, SHORTEST_FRAME};
use wire::openflow10::{Match10, PortNumber};
use wire::{ipv4, udp};

/// The length of the check sequence, which the bytes of a frame leave out.
const CHECK_SEQUENCE: usize = 4;
const DSCP: u8 = 0xfc;

/// A frame on its way. A copy shares the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// From the destination address to the end of the payload.
    pub bytes: Arc<[u8]>,
    /// What whoever sent it wants to recognise it by. Nothing inside looks at
    /// it: it stands for what a capture tells frames apart by.
    pub tag: u64,
}

impl Frame {
    /// Returns what the paper calls the size of a packet: padded and with its
    /// check sequence.
    #[must_use]
    pub fn size(&self) -> DataSize {
        size_of(self.bytes.len())
    }
}

/// Returns the size of a frame of so many bytes.
pub(super) fn size_of(bytes: usize) -> DataSize {
    DataSize::from_bytes((bytes.max(SHORTEST_FRAME) + CHECK_SEQUENCE) as u64)
}

/// The twelve fields of one frame. What it does not have is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    in_port: PortNumber,
    dl_src: MacAddress,
    dl_dst: MacAddress,
    dl_vlan: u16,
    dl_vlan_pcp: u8,
    dl_type: EtherType,
    nw_tos: u8,
    nw_proto: u8,
    nw_src: u32,
    nw_dst: u32,
    tp_src: u16,
    tp_dst: u16,
}

impl Fields {
    /// Reads them, as far as the frame can be read.
    pub(super) fn of(in_port: PortNumber, frame: &[u8]) -> Self {
        let mut fields = Self {
            in_port,
            dl_src: MacAddress([0; 6]),
            dl_dst: MacAddress([0; 6]),
            dl_vlan: Match10::NO_VLAN,
            dl_vlan_pcp: 0,
            dl_type: EtherType(0),
            nw_tos: 0,
            nw_proto: 0,
            nw_src: 0,
            nw_dst: 0,
            tp_src: 0,
            tp_dst: 0,
        };
        if let Ok((header, packet)) = Header::parse(frame) {
            fields.read_ethernet(&header);
            if header.ether_type == EtherType::IPV4 {
                fields.read_ipv4(packet);
            }
        }
        fields
    }

    /// Tells whether an entry with this match takes the frame.
    pub(super) fn agree_with(&self, wanted: &Match10) -> bool {
        let within = |network: wire::openflow10::AddressPrefix, address: u32| {
            address & network.mask().to_bits() == network.address().to_bits()
        };
        wanted.in_port.is_none_or(|it| it == self.in_port)
            && wanted.dl_src.is_none_or(|it| it == self.dl_src)
            && wanted.dl_dst.is_none_or(|it| it == self.dl_dst)
            && wanted.dl_vlan.is_none_or(|it| it == self.dl_vlan)
            && wanted.dl_vlan_pcp.is_none_or(|it| it == self.dl_vlan_pcp)
            && wanted.dl_type.is_none_or(|it| it == self.dl_type)
            && wanted.nw_tos.is_none_or(|it| it & DSCP == self.nw_tos)
            && wanted.nw_proto.is_none_or(|it| it == self.nw_proto)
            && wanted.tp_src.is_none_or(|it| it == self.tp_src)
            && wanted.tp_dst.is_none_or(|it| it == self.tp_dst)
            && within(wanted.nw_src, self.nw_src)
            && within(wanted.nw_dst, self.nw_dst)
    }

    fn read_ethernet(&mut self, header: &Header) {
        self.dl_src = header.source;
        self.dl_dst = header.destination;
        self.dl_type = header.ether_type;
        if let Some(tag) = header.vlan {
            self.dl_vlan = tag.id;
            self.dl_vlan_pcp = tag.priority;
        }
    }

    fn read_ipv4(&mut self, packet: &[u8]) {
        let Ok((header, payload)) = ipv4::Header::parse(packet) else {
            return;
        };
        self.nw_tos = header.traffic_class & DSCP;
        self.nw_proto = header.protocol;
        self.nw_src = header.source.to_bits();
        self.nw_dst = header.destination.to_bits();
        let has_ports = matches!(header.protocol, ipv4::PROTOCOL_UDP | ipv4::PROTOCOL_TCP);
        if let (true, [a, b, c, d, ..]) = (has_ports, payload) {
            self.tp_src = u16::from_be_bytes([*a, *b]);
            self.tp_dst = u16::from_be_bytes([*c, *d]);
        }
    }
}

/// Returns a UDP datagram in a frame of `size` with its check sequence, between
/// these addresses and ports; as short as its headers allow if `size` is less.
#[must_use]
pub fn datagram(
    from: (std::net::Ipv4Addr, u16),
    to: (std::net::Ipv4Addr, u16),
    size: DataSize,
) -> Arc<[u8]> {
    let station = |address: std::net::Ipv4Addr| {
        let [a, b, c, d] = address.octets();
        MacAddress([2, 0, a, b, c, d])
    };
    let ethernet = Header {
        destination: station(to.0),
        source: station(from.0),
        vlan: None,
        ether_type: EtherType::IPV4,
    };
    let ip = ipv4::Header {
        source: from.0,
        destination: to.0,
        protocol: ipv4::PROTOCOL_UDP,
        traffic_class: 0,
        time_to_live: 64,
    };
    let udp = udp::Header {
        source_port: from.1,
        destination_port: to.1,
    };
    let headers = ethernet.length() + ipv4::HEADER_LENGTH + udp::HEADER_LENGTH + CHECK_SEQUENCE;
    let whole = usize::try_from(size.bytes_up()).unwrap_or(usize::MAX);
    let payload = vec![
        0;
        whole
            .min(wire::ethernet::LONGEST_FRAME)
            .saturating_sub(headers)
    ];

    let mut bytes = Vec::new();
    ethernet.emit(&mut bytes);
    udp.emit_packet(&ip, &payload, &mut bytes);
    bytes.into()
}
