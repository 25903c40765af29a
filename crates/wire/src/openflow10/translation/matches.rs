//! Matches of version 1.0 in the words of 1.3, and back.
//!
//! OF10 section 3.4, figure 4: which fields a match looks at depends on the
//! EtherType and the protocol that it names. The others are dropped here, so
//! that two matches that mean the same are the same.

use super::super::{AddressPrefix, Match10, PortNumber};
use crate::ethernet::{EtherType, MacAddress};
use crate::openflow::oxm::{Masked, VlanMatch};
use crate::openflow::{Fields, MatchField};

/// Which bits of the type of service are the code point.
const DSCP_SHIFT: u32 = 2;
const PROTO_ICMP: u8 = 1;
const PROTO_TCP: u8 = 6;
const PROTO_UDP: u8 = 17;

impl Match10 {
    /// Returns the fields of version 1.3 that match the same frames.
    #[must_use]
    pub fn to_of13(&self) -> Vec<MatchField> {
        let mut fields = Vec::new();
        fields.extend(self.in_port.map(|it| MatchField::InPort(it.to_of13())));
        fields.extend(self.dl_dst.map(|it| MatchField::EthDst(it.into())));
        fields.extend(self.dl_src.map(|it| MatchField::EthSrc(it.into())));
        fields.extend(self.dl_type.map(MatchField::EthType));
        widen_vlan(self, &mut fields);
        match self.dl_type {
            Some(EtherType::IPV4) => widen_ipv4(self, &mut fields),
            Some(EtherType::ARP) => widen_arp(self, &mut fields),
            Some(_) | None => {}
        }
        fields
    }

    /// Returns what version 1.0 can say of a match. A field or a part of a mask
    /// that it cannot is left out, so that the match looks wider than it is.
    #[must_use]
    pub fn from_of13(wide: &Fields<'_>) -> Self {
        let mut narrow = Self::ANY;
        for field in wide.iter() {
            let Ok(field) = field else { break };
            narrow_field(&mut narrow, field);
        }
        narrow
    }

    /// Returns the match that takes the same frames, if version 1.0 has one.
    #[must_use]
    pub fn exactly_from_of13(wide: &Fields<'_>) -> Option<Self> {
        let narrow = Self::from_of13(wide);
        let by_kind = |field: &MatchField| field.kind().number();
        let mut said = narrow.to_of13();
        let mut meant: Vec<MatchField> = wide.iter().collect::<Result<_, _>>().ok()?;
        said.sort_by_key(by_kind);
        meant.sort_by_key(by_kind);
        (said == meant).then_some(narrow)
    }
}

fn widen_vlan(narrow: &Match10, fields: &mut Vec<MatchField>) {
    let vlan = match (narrow.dl_vlan, narrow.dl_vlan_pcp) {
        (Some(Match10::NO_VLAN), _) => {
            fields.push(MatchField::VlanVid(VlanMatch::UNTAGGED.into()));
            return;
        }
        (Some(id), _) => Masked::exact(VlanMatch::tagged(id)),
        // A priority alone: any tag.
        (None, Some(_)) => Masked::under(VlanMatch::PRESENT, VlanMatch::PRESENT),
        (None, None) => return,
    };
    fields.push(MatchField::VlanVid(vlan));
    fields.extend(narrow.dl_vlan_pcp.map(|it| MatchField::VlanPcp(it & 7)));
}

fn widen_ipv4(narrow: &Match10, fields: &mut Vec<MatchField>) {
    fields.extend(narrow.nw_tos.map(|it| MatchField::IpDscp(it >> DSCP_SHIFT)));
    fields.extend(narrow.nw_proto.map(MatchField::IpProto));
    fields.extend(masked(narrow.nw_src).map(MatchField::Ipv4Src));
    fields.extend(masked(narrow.nw_dst).map(MatchField::Ipv4Dst));
    let (src, dst) = (narrow.tp_src, narrow.tp_dst);
    match narrow.nw_proto {
        Some(PROTO_TCP) => {
            fields.extend(src.map(MatchField::TcpSrc));
            fields.extend(dst.map(MatchField::TcpDst));
        }
        Some(PROTO_UDP) => {
            fields.extend(src.map(MatchField::UdpSrc));
            fields.extend(dst.map(MatchField::UdpDst));
        }
        Some(PROTO_ICMP) => {
            fields.extend(src.map(|it| MatchField::Icmpv4Type(low_byte(it))));
            fields.extend(dst.map(|it| MatchField::Icmpv4Code(low_byte(it))));
        }
        Some(_) | None => {}
    }
}

fn widen_arp(narrow: &Match10, fields: &mut Vec<MatchField>) {
    fields.extend(narrow.nw_proto.map(|it| MatchField::ArpOp(it.into())));
    fields.extend(masked(narrow.nw_src).map(MatchField::ArpSpa));
    fields.extend(masked(narrow.nw_dst).map(MatchField::ArpTpa));
}

/// Of the type and the code of ICMP only the lower byte counts, OF10 table 3.
fn low_byte(of: u16) -> u8 {
    of.to_be_bytes()[1]
}

fn masked(network: AddressPrefix) -> Option<Masked<std::net::Ipv4Addr>> {
    match network.prefix_length() {
        0 => None,
        32 => Some(network.address().into()),
        _ => Some(Masked::under(network.address(), network.mask())),
    }
}

fn narrow_field(narrow: &mut Match10, field: MatchField) {
    match field {
        MatchField::InPort(port) => narrow.in_port = PortNumber::from_of13(port),
        MatchField::EthDst(address) => narrow.dl_dst = exact(address),
        MatchField::EthSrc(address) => narrow.dl_src = exact(address),
        MatchField::EthType(kind) => narrow.dl_type = Some(kind),
        MatchField::VlanVid(vlan) => {
            if vlan.mask.is_none() {
                narrow.dl_vlan = Some(vlan.value.id().unwrap_or(Match10::NO_VLAN));
            }
        }
        MatchField::VlanPcp(priority) => narrow.dl_vlan_pcp = Some(priority),
        MatchField::IpDscp(dscp) => narrow.nw_tos = Some(dscp << DSCP_SHIFT),
        MatchField::IpProto(protocol) => narrow.nw_proto = Some(protocol),
        MatchField::ArpOp(operation) => narrow.nw_proto = u8::try_from(operation).ok(),
        MatchField::Ipv4Src(address) | MatchField::ArpSpa(address) => {
            narrow.nw_src = network(address);
        }
        MatchField::Ipv4Dst(address) | MatchField::ArpTpa(address) => {
            narrow.nw_dst = network(address);
        }
        MatchField::TcpSrc(port) | MatchField::UdpSrc(port) | MatchField::SctpSrc(port) => {
            narrow.tp_src = Some(port);
        }
        MatchField::TcpDst(port) | MatchField::UdpDst(port) | MatchField::SctpDst(port) => {
            narrow.tp_dst = Some(port);
        }
        MatchField::Icmpv4Type(kind) => narrow.tp_src = Some(kind.into()),
        MatchField::Icmpv4Code(code) => narrow.tp_dst = Some(code.into()),
        MatchField::InPhysicalPort(_)
        | MatchField::Metadata(_)
        | MatchField::IpEcn(_)
        | MatchField::ArpSha(_)
        | MatchField::ArpTha(_)
        | MatchField::Ipv6Src(_)
        | MatchField::Ipv6Dst(_)
        | MatchField::Ipv6Flabel(_)
        | MatchField::Icmpv6Type(_)
        | MatchField::Icmpv6Code(_)
        | MatchField::Ipv6NdTarget(_)
        | MatchField::Ipv6NdSll(_)
        | MatchField::Ipv6NdTll(_)
        | MatchField::MplsLabel(_)
        | MatchField::MplsTc(_)
        | MatchField::MplsBos(_)
        | MatchField::PbbIsid(_)
        | MatchField::TunnelId(_)
        | MatchField::Ipv6Exthdr(_)
        | MatchField::Level(_) => {}
    }
}

fn exact(address: Masked<MacAddress>) -> Option<MacAddress> {
    address.mask.is_none().then_some(address.value)
}

/// Returns the network of an address under a mask, of which only the ones at
/// the front can be said.
fn network(address: Masked<std::net::Ipv4Addr>) -> AddressPrefix {
    let ones = address
        .mask
        .map_or(32, |mask| mask.to_bits().leading_ones());
    let prefix_length = u8::try_from(ones).expect("32 at most");
    AddressPrefix::new(address.value, prefix_length)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HOST: Ipv4Addr = Ipv4Addr::new(10, 1, 2, 3);

    /// OF10 section 3.4, figure 4.
    #[test]
    fn a_match_with_all_its_fields_says_the_same_in_both_versions() {
        let ethernet = Match10 {
            in_port: Some(PortNumber::LOCAL),
            dl_src: Some(MacAddress([2, 0, 0, 0, 0, 1])),
            dl_dst: Some(MacAddress([2, 0, 0, 0, 0, 2])),
            dl_vlan: Some(7),
            dl_vlan_pcp: Some(5),
            ..Match10::ANY
        };
        let ip = Match10 {
            dl_type: Some(EtherType::IPV4),
            nw_tos: Some(0xb8),
            nw_src: AddressPrefix::new(HOST, 8),
            nw_dst: AddressPrefix::host(HOST),
            ..ethernet
        };
        let ports = |protocol| Match10 {
            nw_proto: Some(protocol),
            tp_src: Some(3),
            tp_dst: Some(1),
            ..ip
        };
        let arp = Match10 {
            dl_type: Some(EtherType::ARP),
            nw_proto: Some(2),
            nw_tos: None,
            ..ip
        };
        let untagged = Match10 {
            dl_vlan: Some(Match10::NO_VLAN),
            ..Match10::ANY
        };
        for narrow in [ethernet, ip, ports(1), ports(6), ports(17), arp, untagged] {
            let wide = narrow.to_of13();

            assert!(Fields::of(&wide).check().is_ok(), "{wide:?}");
            assert_eq!(Match10::from_of13(&Fields::of(&wide)), narrow);
        }
    }

    #[test]
    fn fields_that_a_frame_does_not_have_do_not_count() {
        let everything = |dl_type, nw_proto| Match10 {
            dl_type: Some(dl_type),
            nw_proto: Some(nw_proto),
            nw_tos: Some(4),
            nw_src: AddressPrefix::host(HOST),
            tp_src: Some(9),
            dl_vlan: Some(Match10::NO_VLAN),
            dl_vlan_pcp: Some(1),
            ..Match10::ANY
        };
        for (narrow, fields) in [
            (everything(EtherType::LLDP, 0), 2),
            (everything(EtherType::ARP, 1), 4),
            (everything(EtherType::IPV4, 47), 5),
            (everything(EtherType::IPV4, 17), 6),
        ] {
            assert_eq!(narrow.to_of13().len(), fields, "{narrow:?}");
        }
    }

    #[test]
    fn what_version_1_0_cannot_say_is_left_out() {
        let wide = [
            MatchField::Metadata(Masked::exact(1)),
            MatchField::EthDst(Masked::under(MacAddress([1; 6]), MacAddress([1; 6]))),
            MatchField::EthType(EtherType::IPV4),
            MatchField::IpEcn(1),
            MatchField::Ipv4Src(Masked::under(
                Ipv4Addr::new(10, 0, 0, 1),
                Ipv4Addr::new(255, 0, 0, 255),
            )),
        ];

        let narrow = Match10::from_of13(&Fields::of(&wide));

        let expected = Match10 {
            dl_type: Some(EtherType::IPV4),
            nw_src: AddressPrefix::new(Ipv4Addr::new(10, 0, 0, 0), 8),
            ..Match10::ANY
        };
        assert_eq!(narrow, expected);
    }
}
