//! Settings for tests.

use wire::ethernet::MacAddress;

use crate::northbound::{InterfaceAddress, Peer, Peering, SdnIp};

/// Returns a router with one peering.
pub fn settings(addresses: &[&str], peers: &[(&str, Option<MacAddress>)]) -> SdnIp {
    let address = |text: &&str| InterfaceAddress::try_from((*text).to_owned()).unwrap();
    let peer = |(address, mac): &(&str, Option<MacAddress>)| Peer {
        address: address.parse().unwrap(),
        mac: *mac,
        autonomous_system: 65_001,
    };
    SdnIp {
        router_mac: MacAddress([2, 0, 0, 0, 0, 1]),
        speaker: "1:9".parse().unwrap(),
        peerings: vec![Peering {
            name: "north".to_owned(),
            port: "2:3".parse().unwrap(),
            addresses: addresses.iter().map(address).collect(),
            peers: peers.iter().map(peer).collect(),
        }],
        own_prefixes: vec!["10.9.0.0/16".parse().unwrap()],
        accept_default: false,
        max_prefixes: 1_000,
        stale_time_s: 120,
        damping: None,
    }
}
