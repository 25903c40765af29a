//! What entries look at: some of the fields of a template, some of them in part.

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::oxm::{Masked, VlanMatch};
use wire::openflow::{MatchField, PortNumber};

use crate::modes;
use crate::pools::{IPV4_MASKS, IPV6_MASKS, MAC_MASKS, METADATA, VLAN_MASKS};
use crate::random::Random;
use crate::template::{Arp, Ipv4, Ipv6, Network, Template, Transport};

/// What an entry looks at, and what that says about its frames.
#[derive(Clone, Debug, Default)]
pub struct Matching {
    pub fields: Vec<MatchField>,
    pub tags: u8,
    pub ether_type: Option<u16>,
    pub protocol: Option<u8>,
    pub kind: Option<u16>,
}

impl Matching {
    pub fn draw(random: &mut Random, template: &Template, ports: u8, table: u8) -> Self {
        let mut matching = Self::default();
        if random.percent(8) {
            return matching;
        }
        matching.link(random, template, ports, table);
        if random.percent(60) {
            matching.vlan(random, template);
        }
        if random.percent(75) {
            matching.network(random, &template.network);
        }
        matching
    }

    fn link(&mut self, random: &mut Random, template: &Template, ports: u8, table: u8) {
        if random.percent(25) {
            let port = random.between(1, usize::from(ports));
            let port = PortNumber(u32::try_from(port).unwrap());
            self.fields.push(MatchField::InPort(port));
        }
        if random.percent(if table > 0 { 20 } else { 2 }) {
            let value = random.pick(&METADATA);
            self.fields.push(MatchField::Metadata(
                match random.pick(&[0, 1, 0xff, 0xffff_0000_0000_0000]) {
                    0 => Masked::exact(value),
                    mask => Masked::under(value & mask, mask),
                },
            ));
        }
        if random.percent(2) {
            let value = Masked::exact(random.pick(&[0, 7]));
            self.fields.push(MatchField::TunnelId(value));
        }
        if random.percent(8) {
            self.fields.push(modes::matched(random));
        }
        if random.percent(30) {
            self.fields
                .push(MatchField::EthDst(mac(random, template.dst)));
        }
        if random.percent(20) {
            self.fields
                .push(MatchField::EthSrc(mac(random, template.src)));
        }
    }

    fn vlan(&mut self, random: &mut Random, template: &Template) {
        let Some((_, control)) = template.tags.first() else {
            self.fields
                .push(MatchField::VlanVid(Masked::exact(VlanMatch::UNTAGGED)));
            return;
        };
        let tagged = VlanMatch::tagged(*control);
        let vlan = match random.below(4) {
            0 => Masked::under(VlanMatch::PRESENT, VlanMatch::PRESENT),
            1 => {
                let mask = random.pick(&VLAN_MASKS);
                Masked::under(VlanMatch(tagged.0 & mask), VlanMatch(mask))
            }
            _ => Masked::exact(tagged),
        };
        self.fields.push(MatchField::VlanVid(vlan));
        if vlan.value.0 & 0x1000 != 0 {
            self.tags = 1;
            if random.percent(30) {
                let priority = u8::try_from(control >> 13).unwrap();
                self.fields.push(MatchField::VlanPcp(priority));
            }
        }
    }

    fn network(&mut self, random: &mut Random, network: &Network) {
        let ether_type = match network {
            Network::Other(kind) | Network::Mpls(kind, _) => *kind,
            Network::Length(None) => 0x05ff,
            Network::Length(Some(kind)) => *kind,
            Network::Arp(_) => 0x0806,
            Network::Ipv4(_) => 0x0800,
            Network::Ipv6(_) => 0x86dd,
            Network::Backbone(_) => 0x88e7,
        };
        self.ether_type = Some(ether_type);
        self.fields.push(MatchField::EthType(EtherType(ether_type)));
        match network {
            Network::Arp(it) => self.arp(random, *it),
            Network::Ipv4(it) => self.ipv4(random, *it),
            Network::Ipv6(it) => self.ipv6(random, it),
            Network::Mpls(_, header) => self.mpls(random, *header),
            Network::Backbone(service) => {
                let [_, high, middle, low] = service.to_be_bytes();
                if random.percent(50) {
                    let value = Masked::exact([high, middle, low]);
                    self.fields.push(MatchField::PbbIsid(value));
                }
            }
            Network::Other(_) | Network::Length(_) => {}
        }
    }

    fn arp(&mut self, random: &mut Random, it: Arp) {
        if random.percent(40) {
            self.fields.push(MatchField::ArpOp(it.op));
        }
        if random.percent(30) {
            self.fields.push(MatchField::ArpSpa(ipv4(random, it.spa)));
        }
        if random.percent(30) {
            self.fields.push(MatchField::ArpTpa(ipv4(random, it.tpa)));
        }
        if random.percent(20) {
            self.fields.push(MatchField::ArpSha(mac(random, it.sha)));
        }
        if random.percent(20) {
            self.fields.push(MatchField::ArpTha(mac(random, it.tha)));
        }
    }

    fn ipv4(&mut self, random: &mut Random, it: Ipv4) {
        self.class(random, it.tos);
        if random.percent(40) {
            self.fields.push(MatchField::Ipv4Src(ipv4(random, it.src)));
        }
        if random.percent(40) {
            self.fields.push(MatchField::Ipv4Dst(ipv4(random, it.dst)));
        }
        self.transport(random, it.transport);
    }

    fn ipv6(&mut self, random: &mut Random, it: &Ipv6) {
        self.class(random, it.class);
        if random.percent(40) {
            self.fields.push(MatchField::Ipv6Src(ipv6(random, it.src)));
        }
        if random.percent(40) {
            self.fields.push(MatchField::Ipv6Dst(ipv6(random, it.dst)));
        }
        if random.percent(15) {
            let label = match random.once_in(2) {
                true => Masked::exact(it.label),
                false => Masked::under(it.label & 0xff, 0xff),
            };
            self.fields.push(MatchField::Ipv6Flabel(label));
        }
        if random.percent(4) {
            let bits = random.pick(&[0, 1 << 4, 1 << 6, 1 << 3]);
            let value = Masked::under(bits, bits.max(1 << 5));
            self.fields.push(MatchField::Ipv6Exthdr(value));
        }
        self.transport(random, it.transport);
    }

    fn class(&mut self, random: &mut Random, tos: u8) {
        if random.percent(20) {
            self.fields.push(MatchField::IpDscp(tos >> 2));
        }
        if random.percent(10) {
            self.fields.push(MatchField::IpEcn(tos & 3));
        }
    }

    fn transport(&mut self, random: &mut Random, it: Transport) {
        if random.percent(40) {
            return;
        }
        self.protocol = Some(it.protocol);
        self.fields.push(MatchField::IpProto(it.protocol));
        let (kind, code) = (it.src.to_be_bytes()[1], it.dst.to_be_bytes()[1]);
        let v6 = self.ether_type == Some(0x86dd);
        let both = match it.protocol {
            6 => [MatchField::TcpSrc(it.src), MatchField::TcpDst(it.dst)],
            17 => [MatchField::UdpSrc(it.src), MatchField::UdpDst(it.dst)],
            132 => [MatchField::SctpSrc(it.src), MatchField::SctpDst(it.dst)],
            1 if !v6 => [MatchField::Icmpv4Type(kind), MatchField::Icmpv4Code(code)],
            58 if v6 => [MatchField::Icmpv6Type(kind), MatchField::Icmpv6Code(code)],
            _ => return,
        };
        if random.percent(40) {
            self.kind = Some(it.src);
            self.fields.push(both[0]);
        }
        if random.percent(50) {
            self.fields.push(both[1]);
        }
        if let (58, Some(135)) = (it.protocol, self.kind)
            && random.percent(30)
        {
            let source = random.pick(&crate::pools::MACS);
            self.fields.push(MatchField::Ipv6NdSll(source));
        }
    }

    fn mpls(&mut self, random: &mut Random, header: u32) {
        if random.percent(50) {
            self.fields.push(MatchField::MplsLabel(header >> 12));
        }
        if random.percent(30) {
            let bottom = u8::try_from(header >> 8 & 1).unwrap();
            self.fields.push(MatchField::MplsBos(bottom));
        }
    }
}

fn mac(random: &mut Random, value: MacAddress) -> Masked<MacAddress> {
    if random.percent(65) {
        return Masked::exact(value);
    }
    let mask = random.pick(&MAC_MASKS);
    let value = std::array::from_fn(|at| value.0[at] & mask.0[at]);
    Masked::under(MacAddress(value), mask)
}

fn ipv4(random: &mut Random, value: Ipv4Addr) -> Masked<Ipv4Addr> {
    if random.percent(60) {
        return Masked::exact(value);
    }
    let mask = random.pick(&IPV4_MASKS);
    Masked::under(value & mask, mask)
}

fn ipv6(random: &mut Random, value: Ipv6Addr) -> Masked<Ipv6Addr> {
    if random.percent(60) {
        return Masked::exact(value);
    }
    let mask = random.pick(&IPV6_MASKS);
    Masked::under(value & mask, mask)
}
