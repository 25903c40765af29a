//! Which fields make sense only behind others (OF13 clause 7.2.3.6).

use super::{FieldKind, MatchError, MatchField, VlanMatch};
use crate::ethernet::EtherType;

const IP_PROTO_ICMP: u8 = 1;
const IP_PROTO_TCP: u8 = 6;
const IP_PROTO_UDP: u8 = 17;
const IP_PROTO_ICMPV6: u8 = 58;
const IP_PROTO_SCTP: u8 = 132;

const NEIGHBOUR_SOLICITATION: u8 = 135;
const NEIGHBOUR_ADVERTISEMENT: u8 = 136;

/// What the fields so far said.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// Bit n is set if field n was there.
    fields: u64,
    eth_type: Option<EtherType>,
    vlan: Option<VlanMatch>,
    ip_proto: Option<u8>,
    icmpv6_type: Option<u8>,
}

impl Seen {
    /// Takes the next field.
    pub(super) fn add(&mut self, field: MatchField) -> Result<(), MatchError> {
        let kind = field.kind();
        let bit = 1 << kind.number();
        if self.fields & bit != 0 {
            return Err(MatchError::Duplicate { field: kind });
        }
        if !self.allows(kind) {
            return Err(MatchError::Prerequisite { field: kind });
        }
        self.fields |= bit;
        if let MatchField::EthType(eth_type) = field {
            self.eth_type = Some(eth_type);
        } else if let MatchField::VlanVid(vlan) = field {
            self.vlan = Some(vlan.value);
        } else if let MatchField::IpProto(ip_proto) = field {
            self.ip_proto = Some(ip_proto);
        } else if let MatchField::Icmpv6Type(icmpv6_type) = field {
            self.icmpv6_type = Some(icmpv6_type);
        }
        Ok(())
    }

    fn allows(&self, kind: FieldKind) -> bool {
        match kind {
            FieldKind::InPort
            | FieldKind::Metadata
            | FieldKind::EthDst
            | FieldKind::EthSrc
            | FieldKind::EthType
            | FieldKind::VlanVid
            | FieldKind::TunnelId
            | FieldKind::Level => true,
            FieldKind::InPhysicalPort => self.fields & 1 << FieldKind::InPort.number() != 0,
            FieldKind::VlanPcp => self.vlan.is_some_and(|vlan| vlan != VlanMatch::UNTAGGED),
            FieldKind::IpDscp | FieldKind::IpEcn | FieldKind::IpProto => {
                self.is_type(&[EtherType::IPV4, EtherType::IPV6])
            }
            FieldKind::Ipv4Src | FieldKind::Ipv4Dst => self.is_type(&[EtherType::IPV4]),
            FieldKind::TcpSrc | FieldKind::TcpDst => self.is_proto(IP_PROTO_TCP),
            FieldKind::UdpSrc | FieldKind::UdpDst => self.is_proto(IP_PROTO_UDP),
            FieldKind::SctpSrc | FieldKind::SctpDst => self.is_proto(IP_PROTO_SCTP),
            FieldKind::Icmpv4Type | FieldKind::Icmpv4Code => self.is_proto(IP_PROTO_ICMP),
            FieldKind::ArpOp
            | FieldKind::ArpSpa
            | FieldKind::ArpTpa
            | FieldKind::ArpSha
            | FieldKind::ArpTha => self.is_type(&[EtherType::ARP]),
            FieldKind::Ipv6Src
            | FieldKind::Ipv6Dst
            | FieldKind::Ipv6Flabel
            | FieldKind::Ipv6Exthdr => self.is_type(&[EtherType::IPV6]),
            FieldKind::Icmpv6Type | FieldKind::Icmpv6Code => self.is_proto(IP_PROTO_ICMPV6),
            FieldKind::Ipv6NdTarget => {
                self.is_neighbour(&[NEIGHBOUR_SOLICITATION, NEIGHBOUR_ADVERTISEMENT])
            }
            FieldKind::Ipv6NdSll => self.is_neighbour(&[NEIGHBOUR_SOLICITATION]),
            FieldKind::Ipv6NdTll => self.is_neighbour(&[NEIGHBOUR_ADVERTISEMENT]),
            FieldKind::MplsLabel | FieldKind::MplsTc | FieldKind::MplsBos => {
                self.is_type(&[EtherType::MPLS, EtherType::MPLS_UPSTREAM])
            }
            FieldKind::PbbIsid => self.is_type(&[EtherType::PROVIDER_BACKBONE]),
        }
    }

    fn is_type(&self, allowed: &[EtherType]) -> bool {
        self.eth_type.is_some_and(|it| allowed.contains(&it))
    }

    fn is_proto(&self, needed: u8) -> bool {
        self.ip_proto == Some(needed)
    }

    fn is_neighbour(&self, allowed: &[u8]) -> bool {
        self.icmpv6_type.is_some_and(|it| allowed.contains(&it))
    }
}
