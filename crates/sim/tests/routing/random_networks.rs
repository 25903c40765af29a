//! Networks, routes, faults and flows that are drawn.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use controller::northbound::{IpPrefix, Reply, Request, RoutePart, RuleOwner, RuleSummary};
use sim::Engine;
use sim::parts::Fault;
use sim::servers::random::Random;
use units::Duration;

use crate::blueprint::{BEST_EFFORT, Blueprint, datapath};
use crate::peers::Routed;
use crate::run::{admit, load};

/// How many networks are drawn unless `TAKTOS_RUNS` says otherwise.
const RUNS: u64 = 36;
/// The claim: after so long no packet is lost, whatever happened.
pub const SETTLED: Duration = Duration::from_ms(50);
/// The same where a switch began anew.
const RESTARTED: Duration = Duration::from_secs(3);
const EVENTS: usize = 12;
pub const ENTRIES: usize = 4_096;

#[expect(
    clippy::disallowed_methods,
    reason = "the test is told which runs are to be repeated"
)]
fn told_number(name: &str) -> Option<u64> {
    let told = std::env::var(name).ok();
    told.map(|text| text.parse().unwrap())
}

pub fn seeds() -> std::ops::RangeInclusive<u64> {
    match told_number("TAKTOS_SEED") {
        Some(seed) => seed..=seed,
        None => 1..=told_number("TAKTOS_RUNS").unwrap_or(RUNS),
    }
}

/// What is broken.
#[derive(Default)]
struct Broken {
    link: Option<usize>,
    peer: Option<usize>,
}

#[test]
fn packets_come_out_where_the_longest_prefix_says_whatever_happens() {
    packets_in_each(seeds());
}

/// `cargo xtask routes`
#[test]
#[ignore = "takes minutes"]
fn of_many_networks_none_leads_a_packet_astray() {
    let first = told_number("TAKTOS_FIRST").unwrap_or(0);
    let networks = told_number("TAKTOS_NETWORKS").unwrap_or(RUNS);
    packets_in_each(first..=first + networks - 1);
}

fn packets_in_each(seeds: std::ops::RangeInclusive<u64>) {
    let (mut networks, mut probes) = (0_u64, 0_u64);
    for seed in seeds {
        networks += 1;
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        let engine = match seed % 3 {
            0 => Engine::Compiled { entries: ENTRIES },
            _ => Engine::Tables,
        };
        let mut random = Random::new(!seed);
        let mut routed = Routed::new(Blueprint::draw(seed), engine, ENTRIES);
        routed.begin(|_| {});
        routed.pass(SETTLED);
        let mut broken = Broken::default();
        for _ in 0..EVENTS {
            let before = routed.routes.clone();
            let wait = happen(&mut routed, &mut random, &mut broken);
            // On the way: it comes out once at most, and where it did or will.
            let (from, to) = drawn(&routed, &mut random);
            let arrivals = routed.probe(from, to);
            let now = routed.expected(to);
            let after = std::mem::replace(&mut routed.routes, before);
            let was = routed.expected(to);
            routed.routes = after;
            assert!(arrivals.len() <= 1, "{arrivals:?}");
            let came = arrivals.first().map(|arrival| arrival.host);
            assert!(came.is_none() || came == now || came == was, "{arrivals:?}");

            routed.pass(wait);
            for _ in 0..6 {
                let (from, to) = drawn(&routed, &mut random);
                let is_cut = |peer| broken.peer == Some(peer);
                let is_dead = is_cut(from) || routed.expected(to).is_some_and(is_cut);
                match is_dead {
                    true => assert_eq!(routed.probe(from, to), []),
                    false => routed.assert_routed(from, to),
                }
                probes += 1;
            }
        }
    }
    println!("{networks} networks, {probes} packets");
}

/// Promised flows have the same entries and lose nothing while routes come and go.
#[test]
fn flows_do_not_notice_routes() {
    let mut promised = 0;
    for seed in seeds().take(12) {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        let mut random = Random::new(!seed);
        let mut routed = Routed::new(Blueprint::draw(seed), Engine::Tables, ENTRIES);
        let admitted = admit(&routed.blueprint, &mut routed.world);
        let before = entries_of_flows(&mut routed);
        let start = routed.world.now() + Duration::from_ms(10);
        let end = start + Duration::from_ms(400);
        let traffic = load(&routed.blueprint, &admitted, start, end);
        routed.world.begin(traffic);

        routed.begin(|_| {});
        while routed.world.now() < end {
            let changes: Vec<_> = (0..200).map(|_| change(&routed, &mut random)).collect();
            routed.change(&changes, RoutePart::Increment);
            routed.pass(Duration::from_ms(2));
        }
        routed.pass(Duration::from_ms(60));

        assert_eq!(entries_of_flows(&mut routed), before);
        let records = routed.world.finish().flows;
        for ((flow, accepted), record) in admitted.iter().zip(records) {
            if routed.blueprint.wishes[*flow].class != BEST_EFFORT {
                assert!(record.sent > 0, "{} sent nothing", accepted.name);
                assert_eq!((record.lost, record.late), (0, 0), "{}", accepted.name);
                promised += 1;
            }
        }
    }
    assert!(promised > 0, "everything was refused");
}

fn entries_of_flows(routed: &mut Routed) -> Vec<RuleSummary> {
    let switches = routed.blueprint.parts().switches.len();
    let mut all = Vec::new();
    for switch in 0..switches {
        let Reply::Rules(rules) = routed.ask(Request::Rules(datapath(switch))) else {
            panic!("rules were asked for");
        };
        let is_of_flow = |rule: &RuleSummary| matches!(rule.owner, RuleOwner::Flow { .. });
        all.extend(rules.into_iter().filter(is_of_flow));
    }
    all
}

/// Lets something happen. Returns how long it may take until all is as it should be.
fn happen(routed: &mut Routed, random: &mut Random, broken: &mut Broken) -> Duration {
    match random.index(8) {
        0..4 => {
            let count = 1 + random.index(30);
            let changes: Vec<_> = (0..count).map(|_| change(routed, random)).collect();
            routed.change(&changes, RoutePart::Increment);
            SETTLED
        }
        4 | 5 => {
            match broken.link.take() {
                Some(link) => routed.fault(Fault::Heal { link }),
                None => {
                    let link = random.index(routed.blueprint.links.len());
                    routed.fault(Fault::Cut { link });
                    broken.link = Some(link);
                }
            }
            SETTLED
        }
        6 => {
            match broken.peer.take() {
                Some(peer) => {
                    let link = routed.cable(peer);
                    routed.fault(Fault::Heal { link });
                }
                None => {
                    let peer = 1 + random.index(routed.peers().len());
                    let link = routed.cable(peer);
                    routed.fault(Fault::Cut { link });
                    broken.peer = Some(peer);
                }
            }
            SETTLED
        }
        _ if broken.link.is_some() || broken.peer.is_some() => SETTLED,
        _ => {
            let switch = random.index(routed.blueprint.parts().switches.len());
            routed.fault(Fault::Crash { switch });
            routed.pass(Duration::from_ms(20));
            routed.fault(Fault::Restart { switch });
            RESTARTED
        }
    }
}

pub fn change(routed: &Routed, random: &mut Random) -> (IpPrefix, Option<usize>) {
    let peers = routed.peers().len();
    let peer = random.index(peers + 1);
    (prefix(random), (peer > 0).then_some(peer))
}

/// Prefixes of few addresses: they cover each other often. They have 60 lengths, as a table
/// has room for 64 masks.
fn prefix(random: &mut Random) -> IpPrefix {
    let address = any_address(random);
    let (shortest, step, lengths) = match address {
        IpAddr::V4(_) => (8, 1, 25),
        IpAddr::V6(_) => (32, 3, 33),
    };
    let length = match random.index(30) {
        0 => 0,
        _ => shortest + step * u8::try_from(random.index(lengths)).unwrap(),
    };
    IpPrefix::of(address, length).unwrap()
}

pub fn any_address(random: &mut Random) -> IpAddr {
    let mut byte = || u8::try_from(random.index(3)).unwrap();
    let [a, b, c, d] = [byte(), byte(), byte(), byte()];
    match a % 2 == 0 {
        true => Ipv4Addr::new(10, b << 6, c << 5, d).into(),
        false => {
            let low = u16::from(d);
            Ipv6Addr::new(
                0x2001,
                0xdb8,
                0x100 | u16::from(b),
                u16::from(c) << 8,
                0,
                0,
                0,
                low,
            )
            .into()
        }
    }
}

/// Draws who sends, and to which address.
pub fn drawn(routed: &Routed, random: &mut Random) -> (usize, IpAddr) {
    (1 + random.index(routed.peers().len()), any_address(random))
}
