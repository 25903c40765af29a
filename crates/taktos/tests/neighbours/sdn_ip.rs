//! Two autonomous systems, FRRouting's and BIRD's, that reach each other through a network of
//! ours which speaks BGP by GoBGP (S1-10).

mod internet;
mod many;

use rustix::process::Signal;
use serde_json::Value;

use internet::{Internet, PREFIXES, docs, documented};
use lab::veth::Power;

/// What FRR announces beside what it has: everything, what is ours, what lies behind a router
/// that is not there, and what lies behind one at another port.
const GARBAGE: &str = "\
ip prefix-list outside seq 5 permit 10.66.0.0/16
ip prefix-list elsewhere seq 5 permit 10.77.0.0/16
!
route-map garbage permit 10
 match ip address prefix-list outside
 set ip next-hop 203.0.113.9
!
route-map garbage permit 20
 match ip address prefix-list elsewhere
 set ip next-hop 198.51.100.2
!
route-map garbage permit 30
!
router bgp 65001
 address-family ipv4 unicast
  network 0.0.0.0/0
  network 10.9.0.0/16
  network 10.66.0.0/16
  network 10.77.0.0/16
  neighbor 192.0.2.1 route-map garbage out
 exit-address-family
!
";

#[test]
fn two_systems_reach_each_other_through_the_network_and_around_a_cut_inside() {
    let test = "two_systems_reach_each_other_through_the_network_and_around_a_cut_inside";
    let Some(internet) = Internet::as_documented(test) else {
        return;
    };
    for prefix in PREFIXES {
        internet.await_route(prefix);
    }
    internet.await_traffic();
    let route = internet.route("10.2.0.0/16");
    assert_eq!(route["next_hop"], "198.51.100.2", "{route}");

    internet.bench.power("s2-s3", Power::Off);
    internet.bench.await_network(3, 2);
    internet.await_traffic();
    internet.bench.power("s2-s3", Power::On);
    internet.bench.await_network(3, 3);

    internet.await_traffic();
    let status = internet.routes(&["--status"]);
    let sessions = status["speaker"]["sessions"].as_array().unwrap();
    let established = |session: &&Value| session["state"] == "established";
    assert_eq!(sessions.iter().filter(established).count(), 4, "{status}");
}

#[test]
fn what_a_peer_had_is_withdrawn_when_it_goes_and_there_again_when_it_comes_back() {
    let test = "what_a_peer_had_is_withdrawn_when_it_goes_and_there_again_when_it_comes_back";
    let Some(mut internet) = Internet::as_documented(test) else {
        return;
    };
    internet.await_traffic();

    internet.end(internet.birdd);
    internet.await_withdrawal("10.2.0.0/16");
    internet.await_withdrawal("2001:db8:a2::/48");

    assert_eq!(internet.route("10.1.0.0/16")["state"], "installed");
    internet.restart_bird();
    internet.await_traffic();
}

#[test]
fn traffic_goes_on_while_the_speaker_is_dead_and_nothing_is_withdrawn_when_it_comes_back() {
    let test =
        "traffic_goes_on_while_the_speaker_is_dead_and_nothing_is_withdrawn_when_it_comes_back";
    let Some(mut internet) = Internet::as_documented(test) else {
        return;
    };
    internet.await_traffic();

    internet.bench.signal(internet.gobgpd, Signal::KILL);
    internet.bench.until("loss of the speaker", || {
        internet.routes(&["--status"])["speaker"]["is_connected"] == false
    });
    for _ in 0..5 {
        assert!(internet.crosses(), "{}", internet.routes(&[]));
    }
    internet.restart_speaker();
    internet.bench.until("speaker that knows all again", || {
        assert!(internet.crosses(), "{}", internet.routes(&[]));
        let status = internet.routes(&["--status"]);
        let connected = &status["speaker"]["is_connected"];
        (connected == true)
            && PREFIXES
                .iter()
                .all(|prefix| is_fresh(&internet.route(prefix)))
    });

    internet.await_traffic();
}

fn is_fresh(route: &Value) -> bool {
    route["state"] == "installed" && route["is_stale"] != true
}

#[test]
fn what_cannot_be_is_refused_and_the_reason_told_while_the_rest_is_routed() {
    let test = "what_cannot_be_is_refused_and_the_reason_told_while_the_rest_is_routed";
    let bgpd = format!("{}{GARBAGE}", documented("bgpd.conf"));
    let Some(internet) = Internet::or_skip(test, &bgpd, &documented("bird.conf")) else {
        return;
    };
    internet.await_traffic();

    let count = |name: &str| {
        let status = internet.routes(&["--status"]);
        status["speaker"]["counts"][name]
            .as_u64()
            .unwrap_or_default()
    };
    internet.bench.until("refusals", || {
        count("refused_routes") >= 3 && count("unusable_next_hops") >= 1
    });
    let log = internet.bench.log("controller");
    let is_told = log.contains("is refused: ") || log.contains("taken for withdrawn: ");
    assert!(is_told, "{log}");
    for prefix in ["0.0.0.0/0", "10.9.0.0/16", "10.66.0.0/16", "10.77.0.0/16"] {
        let routes = internet.routes(&["--prefix", prefix]);
        assert_eq!(routes["routes"], serde_json::json!([]), "{prefix}");
    }
    internet.await_traffic();
}

#[test]
fn the_files_that_are_used_here_are_those_that_the_documentation_shows() {
    let text = std::fs::read_to_string(docs().join("sdn-ip.md")).unwrap();

    for name in ["sdn-ip.toml", "gobgpd.conf", "bgpd.conf", "bird.conf"] {
        assert!(text.contains(&format!("(sdn-ip/{name})")), "{name}");
    }
    assert!(text.contains(&documented("sdn-ip.toml")));
}
