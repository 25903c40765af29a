//! The few values that entries and frames share, so that they meet.

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::ethernet::MacAddress;

pub const MACS: [MacAddress; 6] = [
    MacAddress([2, 0, 0, 0, 0, 1]),
    MacAddress([2, 0, 0, 0, 0, 2]),
    MacAddress([2, 0, 0, 0, 7, 1]),
    MacAddress([0x01, 0x0c, 0xcd, 0x01, 0, 1]),
    MacAddress([0xff; 6]),
    MacAddress([0; 6]),
];

pub const MAC_MASKS: [MacAddress; 5] = [
    MacAddress([0xff, 0xff, 0xff, 0, 0, 0]),
    MacAddress([1, 0, 0, 0, 0, 0]),
    MacAddress([0, 0, 0, 0, 0, 0xff]),
    MacAddress([0xff, 0xff, 0xff, 0xff, 0xff, 0xfe]),
    MacAddress([0x0f, 0xf0, 0, 0, 3, 0]),
];

pub const IPV4: [Ipv4Addr; 5] = [
    Ipv4Addr::new(10, 0, 0, 1),
    Ipv4Addr::new(10, 0, 0, 2),
    Ipv4Addr::new(10, 0, 1, 1),
    Ipv4Addr::new(192, 168, 7, 9),
    Ipv4Addr::new(224, 0, 0, 1),
];

pub const IPV4_MASKS: [Ipv4Addr; 5] = [
    Ipv4Addr::new(255, 255, 255, 0),
    Ipv4Addr::new(255, 0, 0, 0),
    Ipv4Addr::new(0, 0, 0, 255),
    Ipv4Addr::new(255, 255, 255, 252),
    Ipv4Addr::new(0x55, 0xaa, 0, 1),
];

pub const IPV6: [Ipv6Addr; 4] = [
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2),
    Ipv6Addr::new(0x2001, 0xdb8, 1, 2, 3, 4, 5, 6),
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 1),
];

pub const IPV6_MASKS: [Ipv6Addr; 4] = [
    Ipv6Addr::new(0xffff, 0xffff, 0xffff, 0xffff, 0, 0, 0, 0),
    Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0),
    Ipv6Addr::new(0, 0, 0, 0, 0, 0, 0, 0xffff),
    Ipv6Addr::new(0, 0, 0, 0xff, 0xff00, 0, 0, 0),
];

pub const VLANS: [u16; 5] = [0, 1, 2, 100, 4095];
pub const VLAN_MASKS: [u16; 4] = [0x1001, 0x0003, 0x1ffe, 0x0fff];
pub const TAG_TYPES: [u16; 3] = [0x8100, 0x88a8, 0x8100];
pub const PORTS: [u16; 5] = [0, 1, 80, 4791, 0xffff];
pub const DSCPS: [u8; 8] = [0, 10, 12, 14, 28, 34, 46, 63];
pub const LABELS: [u32; 3] = [0, 5, 0xf_ffff];
pub const OPERATIONS: [u16; 3] = [1, 2, 0xffff];
pub const METADATA: [u64; 5] = [0, 1, 0xff00, 0xffff_0000_0000_0001, u64::MAX];
/// Numbers of frames in their streams: many are near each other.
pub const NUMBERS: [u16; 12] = [0, 1, 2, 3, 4, 5, 6, 65_534, 65_535, 40, 70, 32_768];
/// Types that nobody looks into.
pub const OTHER_TYPES: [u16; 7] = [0x88b8, 0x88ba, 0x88b5, 0x88cc, 0x0600, 0x9100, 0xf1c1];
