//! Turns the match of a message into a [`Rule`].
//!
//! OF13 clause 7.2.3. Every field of the specification is looked at. What a
//! single field can do wrong (a mask where none may be, a value that does not
//! fit) is found when it is read; what a list can do wrong (a field twice, or
//! without the one that it depends on) is found here.

use wire::ethernet::MacAddress;
use wire::openflow::oxm::Masked;
use wire::openflow::{ErrorKind, Fields, MatchField};

use crate::flow_table::Rule;
use crate::packet_key::{KeyBits, PacketKey, field};

/// Returns the rule with this match.
///
/// # Errors
///
/// If the match cannot be read or contradicts itself.
pub(crate) fn compile(fields: &Fields<'_>, priority: u16) -> Result<Rule, ErrorKind> {
    fields.check().map_err(|error| error.kind())?;
    let mut rule = Rule {
        value: PacketKey::default(),
        mask: PacketKey::default(),
        priority,
    };
    for field in fields.iter() {
        add(&mut rule, field.map_err(|error| error.kind())?);
    }
    Ok(rule)
}

fn add(rule: &mut Rule, of: MatchField) {
    match of {
        MatchField::InPort(port) => rule.exact(field::IN_PORT, port.0),
        MatchField::InPhysicalPort(port) => rule.exact(field::IN_PHYSICAL_PORT, port.0),
        MatchField::Metadata(metadata) => {
            rule.masked(field::METADATA, metadata.value, metadata.mask);
        }
        MatchField::EthDst(address) => rule.mac(field::ETH_DST, address),
        MatchField::EthSrc(address) => rule.mac(field::ETH_SRC, address),
        MatchField::EthType(ether_type) => rule.exact(field::ETH_TYPE, ether_type.0),
        MatchField::VlanVid(vlan) => {
            let mask = vlan.mask.map(|mask| u64::from(mask.0));
            rule.masked(field::VLAN_VID, u64::from(vlan.value.0), mask);
        }
        MatchField::VlanPcp(priority) => rule.exact(field::VLAN_PCP, priority),
        MatchField::IpDscp(dscp) => rule.exact(field::IP_DSCP, dscp),
        MatchField::IpEcn(ecn) => rule.exact(field::IP_ECN, ecn),
        MatchField::IpProto(proto) => rule.exact(field::IP_PROTO, proto),
        MatchField::Ipv4Src(address) => rule.word(field::IPV4_SRC, address),
        MatchField::Ipv4Dst(address) => rule.word(field::IPV4_DST, address),
        MatchField::TcpSrc(port) | MatchField::UdpSrc(port) | MatchField::SctpSrc(port) => {
            rule.exact(field::L4_SRC, port);
        }
        MatchField::TcpDst(port) | MatchField::UdpDst(port) | MatchField::SctpDst(port) => {
            rule.exact(field::L4_DST, port);
        }
        MatchField::Icmpv4Type(kind) | MatchField::Icmpv6Type(kind) => {
            rule.exact(field::L4_SRC, kind);
        }
        MatchField::Icmpv4Code(code) | MatchField::Icmpv6Code(code) => {
            rule.exact(field::L4_DST, code);
        }
        MatchField::ArpOp(op) => rule.exact(field::ARP_OP, op),
        MatchField::ArpSpa(address) => rule.word(field::ARP_SPA, address),
        MatchField::ArpTpa(address) => rule.word(field::ARP_TPA, address),
        MatchField::ArpSha(address) => rule.mac(field::ARP_SHA, address),
        MatchField::ArpTha(address) => rule.mac(field::ARP_THA, address),
        MatchField::Ipv6Src(address) => rule.wide(field::IPV6_SRC, address),
        MatchField::Ipv6Dst(address) => rule.wide(field::IPV6_DST, address),
        MatchField::Ipv6Flabel(label) => {
            rule.masked(
                field::IPV6_FLOW_LABEL,
                u64::from(label.value),
                label.mask.map(u64::from),
            );
        }
        MatchField::Ipv6NdTarget(address) => rule.wide(field::ND_TARGET, Masked::exact(address)),
        MatchField::Ipv6NdSll(address) | MatchField::Ipv6NdTll(address) => {
            rule.mac(field::ND_LINK_LAYER, Masked::exact(address));
        }
        MatchField::MplsLabel(label) => rule.exact(field::MPLS_LABEL, label),
        MatchField::MplsTc(class) => rule.exact(field::MPLS_TC, class),
        MatchField::MplsBos(bottom) => rule.exact(field::MPLS_BOS, bottom),
        MatchField::PbbIsid(service) => {
            let mask = service.mask.map(bits_of_24);
            rule.masked(field::PBB_ISID, bits_of_24(service.value), mask);
        }
        MatchField::TunnelId(tunnel) => rule.masked(field::TUNNEL_ID, tunnel.value, tunnel.mask),
        MatchField::Ipv6Exthdr(headers) => {
            let mask = headers.mask.map(u64::from);
            rule.masked(field::IPV6_EXTHDR, u64::from(headers.value), mask);
        }
        MatchField::Level(level) => {
            let mask = level.mask.map(u64::from);
            rule.masked(field::LEVEL, u64::from(level.value), mask);
        }
    }
}

impl Rule {
    fn masked(&mut self, place: KeyBits, value: u64, mask: Option<u64>) {
        self.value.put(place, value);
        self.mask.put(place, mask.unwrap_or(place.ones()));
    }

    fn exact(&mut self, place: KeyBits, value: impl Into<u64>) {
        self.masked(place, value.into(), None);
    }

    fn mac(&mut self, place: KeyBits, address: Masked<MacAddress>) {
        self.masked(place, mac_bits(address.value), address.mask.map(mac_bits));
    }

    fn word(&mut self, place: KeyBits, address: Masked<std::net::Ipv4Addr>) {
        let mask = address.mask.map(|mask| u64::from(mask.to_bits()));
        self.masked(place, u64::from(address.value.to_bits()), mask);
    }

    fn wide(&mut self, places: [KeyBits; 2], address: Masked<std::net::Ipv6Addr>) {
        let mask = address.mask.map_or(u128::MAX, |mask| mask.to_bits());
        self.value.put_wide(places, address.value.to_bits());
        self.mask.put_wide(places, mask);
    }

    /// Returns the value that a field must have, if it must have one.
    pub(crate) fn required(&self, place: KeyBits) -> Option<u64> {
        (self.mask.get(place) == place.ones()).then(|| self.value.get(place))
    }
}

/// Returns an address as a number, its first byte highest.
pub(crate) fn mac_bits(address: MacAddress) -> u64 {
    let [a, b, c, d, e, f] = address.0;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

fn bits_of_24([high, middle, low]: [u8; 3]) -> u64 {
    u64::from(u32::from_be_bytes([0, high, middle, low]))
}
