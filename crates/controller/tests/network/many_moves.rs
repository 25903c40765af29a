//! Hundreds of flows move at once, and whatever else happens meanwhile, every
//! frame of theirs arrives.
#![expect(clippy::unwrap_used, reason = "only tests use this")]

use std::collections::BTreeSet;

use controller::Request;
use controller::northbound::Travels;
use controller::{Event, Reply};
use proptest::prelude::*;
use units::{BitRate, Delay, Duration};

use crate::fake::{Network, PROMISED, group, requirement};

/// A ring with a chord: every flow has two ways and most have three.
const LINKS: [(u64, u64); 7] = [(1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (1, 6), (2, 5)];
const FLOWS: u8 = 240;
/// The time after which flows return, and a little.
const RETURN: Duration = Duration::from_ms(600);
/// By then, flows are back and their other ways gone.
const SETTLED: Duration = Duration::from_secs(4);

/// What happens in the middle of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meanwhile {
    Nothing,
    /// A switch is compared with what it should have.
    Reconciliation,
    /// The connection of a switch goes and comes back.
    Reconnection(u64),
    Withdrawals,
    Admissions,
    /// The link to which flows return breaks again.
    TheSameBreak,
}

#[test]
fn hundreds_of_flows_that_return_lose_nothing_whatever_happens_meanwhile() {
    let happenings = [
        Meanwhile::Nothing,
        Meanwhile::Reconciliation,
        Meanwhile::Reconnection(1),
        Meanwhile::Reconnection(3),
        Meanwhile::Withdrawals,
        Meanwhile::Admissions,
        Meanwhile::TheSameBreak,
    ];
    for meanwhile in happenings {
        for step in 0..4 {
            println!("{meanwhile:?} after {step} steps");
            returns_without_loss(meanwhile, step);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Two links that break and return in any order while barriers are answered
    /// late: nothing loops, and in the end every flow is where it belongs.
    #[test]
    fn another_break_in_the_middle_ends_well(
        first in 0..LINKS.len(),
        second in 0..LINKS.len(),
        step in 0..5usize,
    ) {
        let mut network = full_network();
        let (one, other) = (LINKS[first], LINKS[second]);
        network.cut(one.0, one.1);
        network.heal(one.0, one.1);
        network.barriers_work = false;
        network.pass(RETURN);
        for _ in 0..step {
            network.release();
        }

        network.cut(other.0, other.1);
        network.barriers_work = true;
        network.release();
        for flow in 0..FLOWS {
            let reached = trace(&mut network, flow);
            prop_assert!(reached, "flow {flow} does not arrive after the break");
        }
        network.heal(other.0, other.1);
        network.pass(SETTLED);

        prop_assert!(is_all_well(&mut network));
    }
}

fn returns_without_loss(meanwhile: Meanwhile, step: usize) {
    let mut network = full_network();
    network.cut(1, 2);
    let moved = displaced(&mut network);
    assert!(moved >= 40, "only {moved} flows were moved");
    network.heal(1, 2);
    network.barriers_work = false;
    network.pass(RETURN);
    let mut gone = BTreeSet::new();

    for at in 0..20 {
        if at == step {
            happens(&mut network, meanwhile, &mut gone);
        }
        for flow in (0..FLOWS).filter(|flow| !gone.contains(flow)) {
            let arrives = trace(&mut network, flow);
            assert!(arrives, "flow {flow} is lost at step {at}");
        }
        network.release();
    }
    network.barriers_work = true;
    network.release();
    if meanwhile == Meanwhile::TheSameBreak {
        network.heal(1, 2);
    }
    network.pass(SETTLED);

    assert!(is_all_well(&mut network), "{meanwhile:?} after {step}");
    assert_nothing_left(&mut network, meanwhile);
}

fn happens(network: &mut Network, meanwhile: Meanwhile, gone: &mut BTreeSet<u8>) {
    match meanwhile {
        Meanwhile::Nothing => {}
        Meanwhile::Reconciliation => {
            network.request(Request::Reconcile(None));
        }
        Meanwhile::Reconnection(switch) => {
            network.disconnect(switch);
            network.connect(switch);
        }
        Meanwhile::Withdrawals => {
            for flow in (0..FLOWS).step_by(3) {
                network.request(Request::Withdraw(name(flow)));
                gone.insert(flow);
            }
        }
        Meanwhile::Admissions => {
            for number in FLOWS..FLOWS + 10 {
                network.admit(wish(number)).unwrap();
            }
        }
        Meanwhile::TheSameBreak => network.cut(1, 2),
    }
}

/// Every switch has what it should have and no more.
fn assert_nothing_left(network: &mut Network, meanwhile: Meanwhile) {
    network.events.clear();
    network.request(Request::Reconcile(None));
    network.pass(Duration::from_ms(1));
    let mended = network
        .events
        .iter()
        .find(|event| matches!(event, Event::Mended { .. }));
    assert_eq!(mended, None, "{meanwhile:?}");
}

fn full_network() -> Network {
    let mut network = Network::with(6, &LINKS, |config| {
        for switch in config.switches.values_mut() {
            let ample = Some(Delay::from_us(20_000));
            switch.processing.as_mut().unwrap().budget = Delay::from_us(20_000);
            for port in switch.ports.values_mut() {
                port.budgets[usize::from(PROMISED)] = ample;
            }
        }
    });
    network.connect_all();
    for flow in 0..FLOWS {
        network.admit(wish(flow)).unwrap();
    }
    network
}

fn wish(flow: u8) -> controller::Requirement {
    let (from, to) = ends(flow);
    let mut wish = requirement(&name(flow), from, &[to], group(flow));
    wish.traffic.rate = BitRate::from_bps(10_000);
    wish.deadline = Some(Delay::from_us(1_000_000));
    wish
}

fn name(flow: u8) -> String {
    format!("flow{flow}")
}

fn ends(flow: u8) -> (u64, u64) {
    let from = u64::from(flow % 6);
    let to = (from + 1 + u64::from(flow / 6 % 5)) % 6;
    (from + 1, to + 1)
}

/// Returns whether a frame of a flow arrives where it should.
fn trace(network: &mut Network, flow: u8) -> bool {
    let (from, to) = ends(flow);
    let reached = network.trace(from, group(flow)).0;
    reached.contains_key(&to) && reached.len() == 1
}

fn displaced(network: &mut Network) -> usize {
    match &network.request(Request::Flows)[..] {
        [Reply::Flows(flows)] => {
            let flows = flows.iter();
            flows.filter(|flow| flow.travels != Travels::Base).count()
        }
        other => panic!("{other:?}"),
    }
}

fn is_all_well(network: &mut Network) -> bool {
    match &network.request(Request::Flows)[..] {
        [Reply::Flows(flows)] => flows
            .iter()
            .all(|flow| flow.installed && flow.travels == Travels::Base),
        other => panic!("{other:?}"),
    }
}
