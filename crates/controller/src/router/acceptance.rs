//! Which routes are taken.
//!
//! Prefixes that no packet from outside may go to are those of RFC 6890 (tables 1 to 18) that
//! are neither forwardable nor of use in a private network: this host, loopback, link-local and
//! multicast. Private addresses are taken: plants route them.

use std::net::IpAddr;

use crate::northbound::{IpPrefix, Peering, RouteChange, RouteRefusal, SdnIp};
use crate::place::PortId;

/// Where a next hop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    pub port: PortId,
    /// The speaker's address there.
    pub own: IpAddr,
}

/// Returns where the next hop of a change is; nothing if it is a withdrawal.
///
/// # Errors
///
/// Why the route is not taken.
pub fn check(settings: &SdnIp, change: RouteChange) -> Result<Option<Whereabouts>, RouteRefusal> {
    let RouteChange { prefix, next_hop } = change;
    let Some(next_hop) = next_hop else {
        return Ok(None);
    };
    if prefix.is_default() && !settings.accept_default {
        return Err(RouteRefusal::Default);
    }
    if is_martian(prefix) {
        return Err(RouteRefusal::Martian);
    }
    let mut own = settings.own_prefixes.iter();
    if let Some(own) = own.find(|own| own.covers(prefix)) {
        return Err(RouteRefusal::Own { own: *own });
    }
    if next_hop.is_ipv4() != prefix.address().is_ipv4() {
        return Err(RouteRefusal::OtherFamily { next_hop });
    }
    whereabouts(settings, next_hop).map(Some)
}

/// Returns where a next hop is.
fn whereabouts(settings: &SdnIp, next_hop: IpAddr) -> Result<Whereabouts, RouteRefusal> {
    let links = settings.peerings.iter().flat_map(|peering: &Peering| {
        let addresses = peering.addresses.iter();
        addresses.map(|address| (peering.port, *address))
    });
    let mut found = None;
    for (port, address) in links {
        if address.address == next_hop {
            return Err(RouteRefusal::NextHopOwn { next_hop });
        }
        if address.reaches(next_hop) && found.is_none() {
            let own = address.address;
            found = Some(Whereabouts { port, own });
        }
    }
    found.ok_or(RouteRefusal::NextHopOutside { next_hop })
}

/// Returns whether addresses of a prefix are never routed.
fn is_martian(prefix: IpPrefix) -> bool {
    if prefix.is_default() {
        return false;
    }
    let martian = match prefix.address() {
        IpAddr::V4(_) => &[
            ([0, 0, 0, 0].into(), 8),
            ([127, 0, 0, 0].into(), 8),
            ([169, 254, 0, 0].into(), 16),
            ([224, 0, 0, 0].into(), 3),
        ][..],
        IpAddr::V6(_) => &[
            ([0_u16; 8].into(), 8),
            ([0xfe80, 0, 0, 0, 0, 0, 0, 0].into(), 10),
            ([0xff00, 0, 0, 0, 0, 0, 0, 0].into(), 8),
        ][..],
    };
    let mut martian = martian
        .iter()
        .filter_map(|(address, length): &(IpAddr, u8)| IpPrefix::of(*address, *length).ok());
    martian.any(|martian| martian.covers(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> SdnIp {
        crate::router::fixture::settings(
            &["192.0.2.1/30", "2001:db8::1/64"],
            &[("192.0.2.2", None)],
        )
    }

    fn judged(prefix: &str, next_hop: &str) -> Result<Option<Whereabouts>, RouteRefusal> {
        let change = RouteChange {
            prefix: prefix.parse().unwrap(),
            next_hop: Some(next_hop.parse().unwrap()),
        };
        check(&settings(), change)
    }

    #[test]
    fn a_route_to_a_peer_is_taken() {
        let port = "2:3".parse().unwrap();
        let own = "192.0.2.1".parse().unwrap();
        let there = Ok(Some(Whereabouts { port, own }));

        assert_eq!(judged("10.1.0.0/16", "192.0.2.2"), there);
        assert!(judged("2001:db8:1::/48", "2001:db8::2").is_ok());
        // One that covers an own prefix leads elsewhere only what is not the network's own.
        assert_eq!(judged("10.0.0.0/8", "192.0.2.2"), there);
    }

    #[test]
    fn what_cannot_be_is_refused_and_said_why() {
        let next_hop = "192.0.2.2";
        for martian in [
            "127.0.0.0/8",
            "127.1.2.0/24",
            "169.254.0.0/16",
            "224.0.0.0/4",
            "255.0.0.0/8",
        ] {
            assert_eq!(
                judged(martian, next_hop),
                Err(RouteRefusal::Martian),
                "{martian}"
            );
        }
        for martian in ["::1/128", "fe80::/64", "ff02::/16"] {
            assert_eq!(
                judged(martian, "2001:db8::2"),
                Err(RouteRefusal::Martian),
                "{martian}"
            );
        }
        let own = "10.9.0.0/16".parse().unwrap();
        assert_eq!(
            judged("10.9.1.0/24", next_hop),
            Err(RouteRefusal::Own { own })
        );
        assert_eq!(judged("0.0.0.0/0", next_hop), Err(RouteRefusal::Default));
        let outside = "203.0.113.7".parse().unwrap();
        let refused = RouteRefusal::NextHopOutside { next_hop: outside };
        assert_eq!(judged("10.1.0.0/16", "203.0.113.7"), Err(refused));
        let own = RouteRefusal::NextHopOwn {
            next_hop: "192.0.2.1".parse().unwrap(),
        };
        assert_eq!(judged("10.1.0.0/16", "192.0.2.1"), Err(own));
        let other = RouteRefusal::OtherFamily {
            next_hop: "2001:db8::2".parse().unwrap(),
        };
        assert_eq!(judged("10.1.0.0/16", "2001:db8::2"), Err(other));
    }
}
