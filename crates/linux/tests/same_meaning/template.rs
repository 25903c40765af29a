//! What the frames of a case look like, most of them: both the frames and the
//! entries are made from a few of these.

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::ethernet::MacAddress;

use crate::pools::{
    DSCPS, IPV4, IPV6, LABELS, MACS, OPERATIONS, OTHER_TYPES, PORTS, TAG_TYPES, VLANS,
};
use crate::random::Random;

/// The headers of a frame.
#[derive(Clone, Debug)]
pub struct Template {
    pub dst: MacAddress,
    pub src: MacAddress,
    /// Types and control information of VLAN tags, the outermost first.
    pub tags: Vec<(u16, u16)>,
    pub network: Network,
}

/// What stands behind the tags.
#[derive(Clone, Debug)]
pub enum Network {
    /// A type that nobody looks into.
    Other(u16),
    /// A length, and then SNAP with a type or not.
    Length(Option<u16>),
    Arp(Arp),
    Ipv4(Ipv4),
    Ipv6(Ipv6),
    /// Type, and label, class and bottom.
    Mpls(u16, u32),
    Backbone(u32),
}

#[derive(Clone, Copy, Debug)]
pub struct Arp {
    pub op: u16,
    pub sha: MacAddress,
    pub spa: Ipv4Addr,
    pub tha: MacAddress,
    pub tpa: Ipv4Addr,
}

#[derive(Clone, Copy, Debug)]
pub struct Ipv4 {
    pub tos: u8,
    pub src: Ipv4Addr,
    pub dst: Ipv4Addr,
    pub options: u8,
    pub fragment: u16,
    pub transport: Transport,
}

#[derive(Clone, Debug)]
pub struct Ipv6 {
    pub class: u8,
    pub label: u32,
    pub src: Ipv6Addr,
    pub dst: Ipv6Addr,
    /// The numbers of extension headers.
    pub extensions: Vec<u8>,
    pub transport: Transport,
}

#[derive(Clone, Copy, Debug)]
pub struct Transport {
    pub protocol: u8,
    pub src: u16,
    pub dst: u16,
}

impl Template {
    pub fn draw(random: &mut Random) -> Self {
        let tags = match random.below(20) {
            0..=8 => 0,
            9..=15 => 1,
            16 | 17 => 2,
            18 => 3,
            _ => random.between(4, 6),
        };
        Self {
            dst: random.pick(&MACS),
            src: random.pick(&MACS[..3]),
            tags: (0..tags).map(|_| draw_tag(random)).collect(),
            network: Network::draw(random),
        }
    }

    /// Changes one thing, so that entries for the template may fail to match.
    pub fn vary(&mut self, random: &mut Random) {
        let other = Self::draw(random);
        match random.below(6) {
            0 => self.dst = other.dst,
            1 => self.src = other.src,
            2 => self.tags = other.tags,
            3 => self.network = other.network,
            _ => self.network.vary(random),
        }
    }
}

impl Network {
    fn draw(random: &mut Random) -> Self {
        match random.below(40) {
            0..=3 => Self::Other(random.pick(&OTHER_TYPES)),
            4 => Self::Length(None),
            5 => Self::Length(Some(0x88b5)),
            6..=10 => Self::Arp(Arp::draw(random)),
            11..=26 => Self::Ipv4(Ipv4::draw(random)),
            27..=37 => Self::Ipv6(Ipv6::draw(random)),
            38 => Self::Mpls(
                random.pick(&[0x8847, 0x8848]),
                random.pick(&LABELS) << 12 | u32::from(random.pick(&[0u16, 0x1ff, 0x100])),
            ),
            _ => Self::Backbone(random.pick(&LABELS)),
        }
    }

    fn vary(&mut self, random: &mut Random) {
        match self {
            Self::Ipv4(it) => {
                let other = Ipv4::draw(random);
                match random.below(5) {
                    0 => it.src = other.src,
                    1 => it.dst = other.dst,
                    2 => it.tos = other.tos,
                    3 => it.fragment = other.fragment,
                    _ => it.transport = other.transport,
                }
            }
            Self::Ipv6(it) => {
                let other = Ipv6::draw(random);
                match random.below(5) {
                    0 => it.src = other.src,
                    1 => it.dst = other.dst,
                    2 => it.class = other.class,
                    3 => it.extensions = other.extensions,
                    _ => it.transport = other.transport,
                }
            }
            Self::Arp(it) => it.op = random.pick(&OPERATIONS),
            Self::Other(_) | Self::Length(_) | Self::Mpls(..) | Self::Backbone(_) => {
                *self = Self::draw(random);
            }
        }
    }
}

impl Arp {
    fn draw(random: &mut Random) -> Self {
        Self {
            op: random.pick(&OPERATIONS),
            sha: random.pick(&MACS),
            spa: random.pick(&IPV4),
            tha: random.pick(&MACS),
            tpa: random.pick(&IPV4),
        }
    }
}

impl Ipv4 {
    fn draw(random: &mut Random) -> Self {
        Self {
            tos: draw_tos(random),
            src: random.pick(&IPV4),
            dst: random.pick(&IPV4),
            options: match random.percent(12) {
                true => u8::try_from(random.between(1, 10)).unwrap(),
                false => 0,
            },
            fragment: match random.percent(15) {
                true => random.pick(&[0x2000, 0x4000, 0x0001, 0x2010, 0x1fff, 0x8000]),
                false => 0,
            },
            transport: Transport::draw(random, 1),
        }
    }
}

impl Ipv6 {
    fn draw(random: &mut Random) -> Self {
        let extensions = match random.percent(20) {
            true => random.between(1, 4),
            false => 0,
        };
        Self {
            class: draw_tos(random),
            label: random.pick(&LABELS),
            src: random.pick(&IPV6),
            dst: random.pick(&IPV6),
            extensions: (0..extensions)
                .map(|_| random.pick(&[0, 43, 44, 51, 60, 60, 50, 59]))
                .collect(),
            transport: Transport::draw(random, 58),
        }
    }
}

impl Transport {
    fn draw(random: &mut Random, control: u8) -> Self {
        let protocol = random.pick(&[6, 6, 6, 17, 17, 17, control, control, 132, 47, 4, 41, 1, 58]);
        let small = matches!(protocol, 1 | 58);
        Self {
            protocol,
            src: match small {
                true => random.pick(&[0, 8, 128, 135, 135, 136]),
                false => random.pick(&PORTS),
            },
            dst: match small {
                true => random.pick(&[0, 1]),
                false => random.pick(&PORTS),
            },
        }
    }
}

fn draw_tag(random: &mut Random) -> (u16, u16) {
    let priority = random.pick(&[0u16, 3, 7]);
    let eligible = random.pick(&[0u16, 0, 1]);
    let control = priority << 13 | eligible << 12 | random.pick(&VLANS);
    (random.pick(&TAG_TYPES), control)
}

fn draw_tos(random: &mut Random) -> u8 {
    random.pick(&DSCPS) << 2 | random.pick(&[0, 1, 3])
}
