//! Two systems behind one port.

use controller::northbound::{Peer, Reply, Request, RouteChange, RoutePart};
use sim::Engine;
use units::Duration;
use wire::ethernet::MacAddress;

use crate::blueprint::{Blueprint, host_mac};
use crate::peers::{Arrival, Routed, address};

/// The second router behind the port of outside router 3.
const SECOND: MacAddress = MacAddress([2, 0x53, 0, 0, 0, 7]);
const ENTRIES: usize = 1_000;

/// A switch sends nothing out by the port where it came in, unless it is told so by a port of
/// another name.
#[test]
fn a_packet_leaves_by_the_port_where_it_came_in_if_its_route_does() {
    for engine in [Engine::Tables, Engine::Compiled { entries: ENTRIES }] {
        let mut routed = Routed::new(Blueprint::one_flow(), engine, ENTRIES);
        let second = ["192.0.3.7", "2001:db8:3::7"];
        routed.begin(|settings| {
            for second in second {
                settings.peerings[2].peers.push(Peer {
                    address: second.parse().unwrap(),
                    mac: Some(SECOND),
                    autonomous_system: 65_007,
                });
            }
        });
        let of_second = ["10.7.0.0/16", "2001:db8:70::/48"];
        let change = |(prefix, next_hop): (&str, &str)| RouteChange {
            prefix: prefix.parse().unwrap(),
            next_hop: Some(next_hop.parse().unwrap()),
        };
        let changes = of_second.into_iter().zip(second).map(change).collect();
        let part = RoutePart::Increment;
        let reply = routed.ask(Request::ChangeRoutes { changes, part });
        assert!(matches!(reply, Reply::RoutesChanged(it) if it.refused.is_empty()));
        let of_first = ["10.3.0.0/16", "2001:db8:30::/48"];
        let of_first = of_first.map(|prefix| (prefix.parse().unwrap(), Some(3)));
        routed.change(&of_first, part);
        routed.pass(Duration::from_ms(100));

        for (to, mac) in [
            ("10.7.0.1", SECOND),
            ("2001:db8:70::1", SECOND),
            ("10.3.0.1", host_mac(3)),
            ("2001:db8:30::1", host_mac(3)),
        ] {
            let to = to.parse().unwrap();
            for from in [1, 2, 3] {
                let mut expected = Routed::arrival(to)(3);
                expected.header.destination = mac;
                let arrivals: Vec<Arrival> = routed.probe(from, to);
                assert_eq!(arrivals, [expected], "from {from} to {to}");
            }
        }
        let hops = routed.status().next_hops;
        let found: Vec<_> = hops.iter().map(|hop| hop.address).collect();
        for next_hop in [address(3, true), address(3, false)] {
            assert!(found.contains(&next_hop), "{found:?}");
        }
        assert!(hops.iter().all(|hop| hop.is_reachable), "{hops:?}");
    }
}
