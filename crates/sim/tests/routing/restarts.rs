//! A controller that is started anew, and switches that connect anew.

use std::net::IpAddr;

use controller::northbound::{IpPrefix, Reply, Request, RoutePart, SpeakerState};
use sim::Engine;
use sim::parts::Fault;
use units::Duration;

use crate::blueprint::{Blueprint, datapath};
use crate::orders::{OF_ROUTES, Orders};
use crate::peers::Routed;
use crate::run::discover;

const ENTRIES: usize = 1_000;
const SOON: Duration = Duration::from_ms(100);
/// Between two looks at whether all packets arrive.
const BETWEEN: Duration = Duration::from_ms(50);
/// How long routes are kept that nobody tells of.
const STALE_S: u32 = 60;
/// Prefixes that the speaker names again, each with an address within.
const KEPT: [(&str, usize, &str); 4] = [
    ("10.2.0.0/16", 2, "10.2.0.9"),
    ("2001:db8:20::/48", 2, "2001:db8:20::9"),
    ("10.3.0.0/16", 3, "10.3.0.9"),
    ("2001:db8:30::/48", 3, "2001:db8:30::9"),
];
/// Those that it does not: the first have a next hop that others have, the last ones do not.
const GONE: [(&str, usize); 4] = [
    ("10.4.0.0/16", 2),
    ("2001:db8:40::/48", 3),
    ("10.5.0.0/16", 1),
    ("2001:db8:50::/48", 1),
];

const EVERYTHING: RoutePart = RoutePart::Snapshot {
    is_first: true,
    is_last: true,
};

fn kept() -> Vec<(IpPrefix, Option<usize>)> {
    let kept = KEPT.map(|(prefix, peer, _)| (prefix.parse().unwrap(), Some(peer)));
    kept.to_vec()
}

fn routed() -> Routed {
    let mut routed = Routed::new(Blueprint::one_flow(), Engine::Tables, ENTRIES);
    routed.begin(|settings| settings.stale_time_s = STALE_S);
    let gone = GONE.map(|(prefix, peer)| (prefix.parse().unwrap(), Some(peer)));
    let all = [kept(), gone.to_vec()].concat();
    routed.change(&all, EVERYTHING);
    routed.pass(SOON);
    routed
}

fn assert_all_arrive(routed: &mut Routed) {
    for (_, peer, within) in KEPT {
        let within: IpAddr = within.parse().unwrap();
        for from in routed.peers().filter(|from| *from != peer) {
            routed.assert_routed(from, within);
        }
    }
}

fn watch_for(routed: &mut Routed, time: Duration) {
    let end = routed.world.now() + time;
    while routed.world.now() < end {
        assert_all_arrive(routed);
        routed.pass(BETWEEN);
    }
}

/// Returns all entries for routes that switches have, in words.
fn entries(routed: &mut Routed) -> Vec<String> {
    let mut all = Vec::new();
    for switch in 0..routed.blueprint.parts().switches.len() {
        let Reply::Rules(rules) = routed.ask(Request::Rules(datapath(switch))) else {
            panic!("rules were asked for");
        };
        let is_of_routes = |table: u8, priority| table > 0 || OF_ROUTES.contains(&priority);
        let ours = rules
            .iter()
            .filter(|it| is_of_routes(it.table.0, it.priority));
        all.extend(ours.map(|it| format!("switch {switch}: {:?} {it:?}", it.table)));
    }
    all
}

/// Ends the controller and starts another one, which is told the settings.
fn start_anew(routed: &mut Routed, keeps_store: bool) {
    routed.world.kill_controller();
    assert_all_arrive(routed);
    if !keeps_store {
        routed.world.lose_store();
    }
    routed.world.keep_orders();
    let config = routed.blueprint.parts().controller.unwrap();
    routed.world.start_controller(config);
    routed.configure(|settings| settings.stale_time_s = STALE_S);
    let connected = Request::SpeakerState(SpeakerState::Connected);
    assert_eq!(routed.ask(connected), Reply::SpeakerNoted);
}

#[test]
fn packets_go_on_while_a_controller_is_started_anew_and_entries_are_taken_over() {
    for (keeps_store, told_after) in [
        (true, Duration::from_secs(1)),
        (false, Duration::from_secs(1)),
        (false, Duration::from_ms(2_300)),
        // Long after the network was found, and switches were compared again and again.
        (false, Duration::from_secs(25)),
        (true, Duration::from_secs(25)),
    ] {
        let case = format!("store kept: {keeps_store}, told after {told_after}");
        println!("{case}"); // Shown only if the test fails.
        let mut routed = routed();
        assert_all_arrive(&mut routed);
        let before = entries(&mut routed);

        start_anew(&mut routed, keeps_store);
        watch_for(&mut routed, told_after);
        let mut meanwhile = Orders::take(&mut routed);
        // No outside router is at the first switch: it has no prefixes, and is to have none.
        meanwhile
            .deleted
            .retain(|it| !it.starts_with("switch 0") || !it.contains("command: Delete,"));
        assert_eq!(meanwhile.deleted, [""; 0], "{case}");
        routed.routes.clear();
        routed.change(&kept(), EVERYTHING);
        watch_for(&mut routed, Duration::from_secs(12));

        let mut orders = Orders::take(&mut routed);
        orders.added.extend(meanwhile.added);
        assert_eq!(orders.added, [""; 0], "{case}");
        // Of each prefix and of both next hops of the first router at three switches, and
        // at its own two more for what comes back.
        let left = entries(&mut routed);
        let gone = before.len() - left.len();
        assert_eq!(orders.deleted.len(), gone, "{case}: {:?}", orders.deleted);
        assert!(gone >= 3 * GONE.len() + 3 * 2 + 2, "{gone}");
        for (prefix, _) in GONE {
            let prefix: IpPrefix = prefix.parse().unwrap();
            assert_eq!(routed.expected(prefix.address()), None);
            routed.assert_routed(2, prefix.address());
        }
        assert!(routed.status().next_hops.iter().all(|it| it.is_reachable));
        assert!(routed.status().is_complete);
        discover(&routed.blueprint, &mut routed.world);
    }
}

#[test]
fn what_was_left_goes_in_the_end_if_the_speaker_never_tells() {
    let mut routed = routed();
    start_anew(&mut routed, false);
    watch_for(&mut routed, Duration::from_secs(u64::from(STALE_S) - 5));
    routed.pass(Duration::from_secs(20));

    routed.routes.clear();
    for (_, _, within) in KEPT {
        routed.assert_routed(1, within.parse().unwrap());
    }
    let of_prefixes = |entry: &String| !entry.contains("TableId(0)");
    assert_eq!(entries(&mut routed).into_iter().find(of_prefixes), None);
}

#[test]
fn a_switch_that_connects_anew_is_compared_once_and_sent_the_difference() {
    const SWITCH: usize = 2;
    let mut routed = routed();
    routed.pass(Duration::from_secs(5));
    routed.world.keep_orders();
    routed.fault(Fault::Isolate { switch: SWITCH });
    routed.pass(Duration::from_secs(7));
    let [first, second] = [0, 2].map(|place| KEPT[place].0.parse().unwrap());
    let changes = [(first, Some(3)), (second, None)];
    routed.change(&changes, RoutePart::Increment);
    routed.pass(SOON);
    Orders::take(&mut routed);

    routed.fault(Fault::Rejoin { switch: SWITCH });
    routed.pass(Duration::from_secs(6));

    let orders = Orders::take(&mut routed);
    let mut asked = vec![0; orders.questions.len()];
    asked[SWITCH] = 1;
    assert_eq!(orders.questions, asked);
    let of_prefixes = |what: &&String| what.contains("table: TableId(1)");
    let sent = orders.added.iter().filter(of_prefixes).count();
    assert_eq!((sent, orders.deleted.len()), (1, 1), "{orders:?}");
    for (_, _, within) in KEPT {
        for from in routed.peers() {
            routed.assert_routed(from, within.parse().unwrap());
        }
    }
}
