//! What the BGP speaker tells of a path, which repeats what some peer sent it: whatever comes,
//! a prefix is one of its family, a next hop is a router's address that is on a link with the
//! peer that told of it, and what is amiss is told in few words.

#![no_main]

use std::net::IpAddr;

use api::{InterfaceAddress, Peer, Peering, SdnIp};
use libfuzzer_sys::fuzz_target;
use taktos::speaker::{PeerLinks, read_message};

/// The longest that is said of a fault, in bytes: what it repeats of a peer's text is cut.
const LONGEST_FAULT: usize = 512;

fuzz_target!(|data: &[u8]| {
    let settings = settings();
    let links = PeerLinks::of(&settings);
    let read = read_message(data, &links);
    assert_eq!(read, read_message(data, &links), "it depends on nothing else");
    match read {
        Ok(reading) => {
            let change = reading.change;
            let (address, length) = (change.prefix.address(), change.prefix.length());
            let bits = if address.is_ipv4() { 32 } else { 128 };
            assert!(length <= bits, "{}", change.prefix);
            let text = change.prefix.to_string();
            assert_eq!(text.parse(), Ok(change.prefix), "host bits are zero");
            if let Some(next_hop) = change.next_hop {
                assert_eq!(next_hop.is_ipv4(), address.is_ipv4());
                assert!(reading.fault.is_none(), "{next_hop} is used and amiss");
                assert!(!next_hop.is_unspecified() && !next_hop.is_loopback());
                assert!(!next_hop.is_multicast());
            }
            if let Some(fault) = reading.fault {
                assert!(fault.to_string().len() <= LONGEST_FAULT, "{fault}");
            }
        }
        Err(fault) => assert!(fault.to_string().len() <= LONGEST_FAULT, "{fault}"),
    }
});

/// Settings with one peer of each family.
fn settings() -> SdnIp {
    let own = |text: &str, length| InterfaceAddress {
        address: address(text),
        length,
    };
    let peer = |text| Peer {
        address: address(text),
        mac: None,
        autonomous_system: 65_001,
    };
    let port = "2:1".parse().expect("a place");
    SdnIp {
        router_mac: "02:00:00:00:06:01".parse().expect("an address"),
        speaker: "1:1".parse().expect("a place"),
        peerings: vec![Peering {
            name: "north".to_owned(),
            port,
            addresses: vec![own("192.0.2.1", 30), own("2001:db8:1::1", 64)],
            peers: vec![peer("192.0.2.2"), peer("2001:db8:1::2")],
        }],
        own_prefixes: Vec::new(),
        accept_default: false,
        max_prefixes: 1_000,
        stale_time_s: 120,
        damping: None,
    }
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}
