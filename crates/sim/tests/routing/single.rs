//! One thing at a time.

use controller::Asker;
use controller::northbound::{
    Damping, Reply, Request, RouteChange, RoutePart, RouteRefusal, RouteState, RoutedPrefix,
    Saying, SpeakerState,
};
use sim::Engine;
use sim::parts::Fault;
use units::Duration;

use crate::blueprint::{Blueprint, host_mac};
use crate::peers::{Routed, address};

/// How long switches, the controller and outside routers may take for anything.
const SOON: Duration = Duration::from_ms(100);
const ENTRIES: usize = 1_000;
const PREFIX: &str = "10.1.0.0/16";
const WITHIN: &str = "10.1.2.3";

/// A ring of four, with an outside router at each switch but the first.
fn routed() -> Routed {
    let mut routed = Routed::new(Blueprint::one_flow(), Engine::Tables, ENTRIES);
    routed.begin(|_| {});
    routed.pass(SOON);
    routed
}

fn announced() -> Routed {
    let mut routed = routed();
    let everything = RoutePart::Snapshot {
        is_first: true,
        is_last: true,
    };
    let prefix = PREFIX.parse().unwrap();
    routed.change(
        &[
            (prefix, Some(3)),
            ("2001:db8:77::/48".parse().unwrap(), Some(3)),
        ],
        everything,
    );
    routed.pass(SOON);
    routed
}

fn routes(routed: &mut Routed) -> Vec<RoutedPrefix> {
    let request = Request::RoutesAfter {
        after: None,
        most: 100,
    };
    match routed.ask(request) {
        Reply::Routes(routes) => routes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_packet_gets_from_one_outside_router_to_another_and_not_where_no_route_leads() {
    let mut routed = announced();

    for from in [1, 2] {
        routed.assert_routed(from, WITHIN.parse().unwrap());
        routed.assert_routed(from, "2001:db8:77::9".parse().unwrap());
        routed.assert_routed(from, "10.2.0.1".parse().unwrap());
    }
    // It leaves where it came in.
    routed.assert_routed(3, WITHIN.parse().unwrap());
    let shown = routes(&mut routed);
    assert_eq!(shown.len(), 2);
    for route in shown {
        assert_eq!(route.state, RouteState::Installed, "{route:?}");
        assert_eq!((route.confirmed, route.ingresses), (3, 3));
    }
}

/// A router has one interface for IPv4 and IPv6, and one address of that.
#[test]
fn both_addresses_of_one_interface_are_reachable_and_stay_so_when_one_has_no_routes() {
    let mut routed = announced();
    let reachable = |routed: &mut Routed| {
        let next_hops = routed.status().next_hops.into_iter();
        let seen = next_hops.map(|hop| (hop.address, hop.mac, hop.is_reachable));
        seen.collect::<Vec<_>>()
    };
    let mac = Some(host_mac(3));
    let both = [false, true].map(|is_v4| (address(3, is_v4), mac, true));
    let mut seen = reachable(&mut routed);
    seen.sort_by_key(|it| it.0.is_ipv4());
    assert_eq!(seen, both);

    let (v4, v6) = (PREFIX, "2001:db8:77::/48");
    for (gone, left, within) in [(v4, v6, "2001:db8:77::9"), (v6, v4, WITHIN)] {
        let (gone, left) = (gone.parse().unwrap(), left.parse().unwrap());
        routed.change(&[(left, Some(3)), (gone, None)], RoutePart::Increment);
        routed.pass(SOON);
        assert_eq!(
            reachable(&mut routed),
            [(address(3, left.address().is_ipv4()), mac, true)]
        );
        routed.assert_routed(1, within.parse().unwrap());
    }
}

#[test]
fn packets_go_on_when_a_link_is_cut_and_no_prefix_is_told() {
    let mut routed = announced();
    let before = routed.status();

    for link in 0..4 {
        routed.fault(Fault::Cut { link });
        routed.pass(Duration::from_ms(10));
        for from in [1, 2] {
            routed.assert_routed(from, WITHIN.parse().unwrap());
        }
        routed.fault(Fault::Heal { link });
        routed.pass(SOON);
        routed.assert_routed(1, WITHIN.parse().unwrap());
    }

    let after = routed.status();
    assert_eq!(
        after.ingresses, before.ingresses,
        "no entry of a prefix is touched"
    );
}

#[test]
fn outside_routers_and_the_speaker_hear_each_other_also_after_a_cut() {
    let mut routed = routed();
    for link in 0..4 {
        for peer in [1, 2, 3] {
            assert_eq!(routed.converse(peer, 0), [0], "{peer} to the speaker");
            assert_eq!(routed.converse(0, peer), [peer], "the speaker to {peer}");
        }
        routed.fault(Fault::Cut { link });
        routed.pass(SOON);
        for peer in [1, 2, 3] {
            assert_eq!(routed.converse(peer, 0), [0], "{peer} to the speaker");
            assert_eq!(routed.converse(0, peer), [peer], "the speaker to {peer}");
        }
        routed.fault(Fault::Heal { link });
        routed.pass(SOON);
    }
}

#[test]
fn routes_are_kept_while_the_speaker_is_gone_and_not_for_ever() {
    let mut routed = announced();
    let lost = Request::SpeakerState(SpeakerState::Lost);
    assert_eq!(routed.ask(lost), Reply::SpeakerNoted);

    routed.pass(Duration::from_secs(4));
    routed.assert_routed(1, WITHIN.parse().unwrap());
    assert!(routes(&mut routed).iter().all(|route| route.is_stale));
    routed.pass(Duration::from_secs(2));

    routed.routes.clear();
    routed.assert_routed(1, WITHIN.parse().unwrap());
    assert_eq!(routes(&mut routed), []);
}

#[test]
fn a_speaker_that_is_back_tells_all_and_what_it_does_not_name_is_withdrawn() {
    let mut routed = announced();
    routed.ask(Request::SpeakerState(SpeakerState::Lost));
    routed.pass(Duration::from_secs(1));
    routed.ask(Request::SpeakerState(SpeakerState::Connected));
    let part = |is_first, is_last| RoutePart::Snapshot { is_first, is_last };
    let other = "10.3.0.0/16".parse().unwrap();

    routed.change(&[(other, Some(2))], part(true, false));
    routed.assert_routed(1, WITHIN.parse().unwrap());
    routed.change(&[], part(false, true));
    routed.routes.retain(|prefix, _| *prefix == other);
    routed.pass(Duration::from_secs(6));

    routed.assert_routed(1, WITHIN.parse().unwrap());
    routed.assert_routed(1, "10.3.0.1".parse().unwrap());
    assert_eq!(routes(&mut routed).len(), 1);
}

#[test]
fn an_outside_router_that_is_unplugged_is_not_sent_to_and_one_that_is_back_is() {
    for peer in [2, 3] {
        let mut routed = routed();
        let prefix = PREFIX.parse().unwrap();
        routed.change(&[(prefix, Some(peer))], RoutePart::Increment);
        routed.pass(SOON);
        let link = routed.cable(peer);

        routed.fault(Fault::Cut { link });
        routed.pass(Duration::from_secs(8));
        assert_eq!(routed.probe(1, WITHIN.parse().unwrap()), []);
        assert_eq!(routes(&mut routed)[0].state, RouteState::Unresolved);
        routed.fault(Fault::Heal { link });
        routed.pass(SOON);

        routed.assert_routed(1, WITHIN.parse().unwrap());
    }
}

#[test]
fn a_switch_that_begins_anew_is_given_all_and_one_that_was_meddled_with_is_mended() {
    let mut routed = announced();
    let (at, fault) = (Duration::from_secs(3), Fault::Empty { switch: 1 });
    routed.fault(Fault::Crash { switch: 1 });
    routed.pass(SOON);
    routed.fault(Fault::Restart { switch: 1 });
    routed.pass(at);
    routed.assert_routed(1, WITHIN.parse().unwrap());

    routed.fault(fault);
    routed.pass(Duration::from_secs(15));

    routed.assert_routed(1, WITHIN.parse().unwrap());
}

#[test]
fn what_cannot_be_is_refused_and_withdraws_what_was() {
    let mut routed = announced();
    let change = |prefix: &str, next_hop: &str| RouteChange {
        prefix: prefix.parse().unwrap(),
        next_hop: Some(next_hop.parse().unwrap()),
    };
    let request = Request::ChangeRoutes {
        changes: vec![
            change(PREFIX, "203.0.113.1"),
            change("10.255.1.0/24", "192.0.3.2"),
            change("127.0.0.0/8", "192.0.3.2"),
            change("10.7.0.0/16", "192.0.3.1"),
        ],
        part: RoutePart::Increment,
    };

    let Reply::RoutesChanged(changed) = routed.ask(request) else {
        panic!("routes were changed");
    };
    routed.pass(SOON);

    let reasons: Vec<_> = changed.refused.iter().map(|it| it.reason).collect();
    let next_hop = "203.0.113.1".parse().unwrap();
    let own = "10.255.0.0/16".parse().unwrap();
    assert_eq!(
        reasons,
        [
            RouteRefusal::NextHopOutside { next_hop },
            RouteRefusal::Own { own },
            RouteRefusal::Martian,
            RouteRefusal::NextHopOwn {
                next_hop: "192.0.3.1".parse().unwrap()
            },
        ]
    );
    routed.routes.remove(&PREFIX.parse().unwrap());
    routed.assert_routed(1, WITHIN.parse().unwrap());
}

#[test]
fn there_is_room_for_as_many_prefixes_as_tables_hold_and_the_next_one_is_refused() {
    let mut routed = routed();
    let changes = (0..=ENTRIES).map(|number| {
        let [.., a, b] = u32::try_from(number).unwrap().to_be_bytes();
        RouteChange {
            prefix: format!("10.{a}.{b}.0/24").parse().unwrap(),
            next_hop: Some(address(3, true)),
        }
    });
    let request = Request::ChangeRoutes {
        changes: changes.collect(),
        part: RoutePart::Increment,
    };

    let Reply::RoutesChanged(changed) = routed.ask(request) else {
        panic!("routes were changed");
    };
    routed.pass(SOON);

    let limit = u32::try_from(ENTRIES).unwrap();
    assert_eq!(changed.accepted, ENTRIES);
    assert_eq!(changed.refused[0].reason, RouteRefusal::TooMany { limit });
    let status = routed.status();
    assert_eq!(
        (status.prefixes, status.max_prefixes, status.refused),
        (limit, limit, 0)
    );
}

#[test]
fn a_route_that_flaps_is_not_used_for_a_while() {
    let mut routed = Routed::new(Blueprint::one_flow(), Engine::Tables, ENTRIES);
    routed.begin(|settings| {
        settings.damping = Some(Damping {
            half_life_s: 2,
            ..Damping::default()
        });
    });
    let prefix = PREFIX.parse().unwrap();
    for _ in 0..4 {
        routed.change(&[(prefix, Some(3))], RoutePart::Increment);
        routed.change(&[(prefix, None)], RoutePart::Increment);
    }
    routed.change(&[(prefix, Some(3))], RoutePart::Increment);
    routed.pass(SOON);

    assert_eq!(routed.probe(1, WITHIN.parse().unwrap()), []);
    assert_eq!(routes(&mut routed)[0].state, RouteState::Damped);
    routed.pass(Duration::from_secs(10));

    routed.assert_routed(1, WITHIN.parse().unwrap());
}

#[test]
fn an_application_that_is_unloaded_takes_all_with_it_and_one_without_permission_changes_nothing() {
    let mut routed = announced();
    let id = controller::RequestId(u64::MAX);
    let by = Asker::Application("proactive-routes".into());
    let request = Request::SpeakerState(SpeakerState::Lost);
    routed.world.request_as(id, by, request);
    let denied = routed.world.said();
    let is_denied = |what: &Saying| matches!(what, Saying::Reply(_, Reply::Denied { .. }));
    assert!(denied.iter().any(|said| is_denied(&said.what)));

    assert_eq!(
        routed.ask(Request::Unload("sdn-ip".into())),
        Reply::Unloaded
    );
    routed.pass(SOON);

    assert_eq!(routed.ask(Request::RoutingStatus), Reply::NotRouting);
    assert_eq!(routed.probe(1, WITHIN.parse().unwrap()), []);
    for switch in 0..4 {
        let datapath = crate::blueprint::datapath(switch);
        let Reply::Rules(rules) = routed.ask(Request::Rules(datapath)) else {
            panic!("rules were asked for");
        };
        let left: Vec<_> = rules
            .iter()
            .filter(|rule| rule.table.0 > 0 || [250, 260].contains(&rule.priority))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
