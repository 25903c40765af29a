//! Whatever faults a user may write, in whichever network: no frame goes round and round,
//! none is delivered to its one receiver twice, none is lost but by a fault and within its
//! time, and none that arrives is late on a way that is reserved (S0-3, S0-4, S0-5).

use std::num::NonZeroU32;

use scenario::{Direction, Impairment};
use sim::parts::Fault;
use sim::servers::random::Random;
use units::{Duration, Instant};

use crate::blueprint::{BEST_EFFORT, Blueprint, HealedBy, INTERRUPTION};
use crate::run::{Flow, Outcome, run};
use crate::{second_ways, told_number};

/// How many networks are drawn in every run, for one fault each and for several.
const RUNS: u64 = 120;
const LENGTH: Duration = Duration::from_ms(900);
/// Faults begin and end before this; what is sent later is judged as if nothing had been.
const QUIET_FROM: Duration = Duration::from_ms(250);
/// How long flows may have no way after several faults have ended: links that are back wait
/// before they are used, and what was moved is confirmed.
const SETTLING: Duration = Duration::from_ms(600);

/// A fault that begins and ends.
#[derive(Clone, Debug)]
struct Drawn {
    steps: Vec<(Duration, Fault)>,
    kind: Kind,
    link: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Cut,
    Flap,
    Loss,
    Corruption,
    Isolation,
    Crash,
}

#[test]
fn whatever_one_fault_does_is_within_its_time_and_nothing_else_is_lost() {
    one_fault_each(super::seeds_of(RUNS));
}

#[test]
fn several_faults_at_once_make_no_loop_and_double_nothing() {
    several_each(super::seeds_of(RUNS));
}

/// `cargo xtask faults`
#[test]
#[ignore = "takes minutes"]
fn of_many_networks_faults_do_no_more_than_they_may() {
    let first = told_number("TAKTOS_FIRST", 0);
    let seeds = first..=first + told_number("TAKTOS_NETWORKS", 1_000) - 1;
    one_fault_each(seeds.clone());
    several_each(seeds.clone());
    second_ways::two_cuts_each(seeds);
}

fn one_fault_each(seeds: std::ops::RangeInclusive<u64>) {
    let (mut kinds, mut lost) = (Vec::new(), 0);
    for seed in seeds {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        let mut random = Random::new(seed ^ 0xfa17);
        let blueprint = drawn_blueprint(seed, &mut random);
        let fault = draw(&mut random, &blueprint);
        kinds.push(fault.kind);

        let outcome = run(&blueprint, &fault.steps, LENGTH);

        assert_no_loop(&blueprint, &outcome);
        for flow in promised(&outcome) {
            lost += flow.record.lost;
            assert_one(&blueprint, &outcome, flow, &fault);
        }
    }
    if super::fixed_seed().is_none() {
        assert!(lost > 0, "nothing was lost");
        for kind in [
            Kind::Cut,
            Kind::Flap,
            Kind::Loss,
            Kind::Corruption,
            Kind::Isolation,
        ] {
            assert!(kinds.contains(&kind), "{kind:?} was never drawn");
        }
    }
}

fn several_each(seeds: std::ops::RangeInclusive<u64>) {
    for seed in seeds {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        let mut random = Random::new(seed ^ 0x5e7e);
        let blueprint = drawn_blueprint(seed, &mut random);
        let faults: Vec<_> = (0..2 + random.index(2))
            .map(|_| draw(&mut random, &blueprint))
            .collect();
        let mut steps: Vec<_> = faults.iter().flat_map(|it| it.steps.clone()).collect();
        steps.sort_by_key(|(at, _)| *at);

        let outcome = run(&blueprint, &steps, LENGTH);

        assert_no_loop(&blueprint, &outcome);
        let begin = outcome.start + steps[0].0;
        let corrupts = faults.iter().any(|it| it.kind == Kind::Corruption);
        let crashes = faults.iter().any(|it| it.kind == Kind::Crash);
        for flow in promised(&outcome) {
            let guarantee = flow.accepted.guarantee.expect("a promise").round_up();
            assert!(corrupts || !is_doubled(flow), "{:?}: {faults:?}", flow.wish);
            let end = match crashes {
                true => outcome.start + LENGTH,
                false => outcome.start + QUIET_FROM + SETTLING,
            };
            assert_losses_within(flow, begin, end, guarantee, &format!("{faults:?}"));
        }
    }
}

fn promised(outcome: &Outcome) -> impl Iterator<Item = &Flow> {
    outcome
        .flows
        .iter()
        .filter(|it| it.wish.class != BEST_EFFORT)
}

/// Draws a network some of whose flows two ways carry at the same time.
fn drawn_blueprint(seed: u64, random: &mut Random) -> Blueprint {
    let mut blueprint = Blueprint::draw(seed);
    blueprint.wishes.truncate(10);
    for wish in &mut blueprint.wishes {
        if wish.receivers.len() == 1 && wish.class != BEST_EFFORT && random.index(3) == 0 {
            wish.healed_by = HealedBy::Copies;
        }
    }
    blueprint
}

fn draw(random: &mut Random, blueprint: &Blueprint) -> Drawn {
    let at = Duration::from_ms(5) + random.time_below(Duration::from_ms(100));
    let until = at + Duration::from_ms(2) + random.time_below(Duration::from_ms(140));
    let link = random.index(blueprint.links.len());
    let switch = random.index(blueprint.parts().switches.len());
    let direction = random.pick(&[Direction::Both, Direction::From(0), Direction::From(1)]);
    let one_in = random.pick(&[1, 1, 2, 10, 100]);
    let impair = |impairment| {
        [NonZeroU32::new(one_in), None].map(|one_in| Fault::Impair {
            link,
            direction,
            impairment,
            one_in,
        })
    };
    let (cut, heal) = (Fault::Cut { link }, Fault::Heal { link });
    let kind = random.pick(&[
        Kind::Cut,
        Kind::Flap,
        Kind::Loss,
        Kind::Loss,
        Kind::Corruption,
        Kind::Isolation,
        Kind::Crash,
    ]);
    let [begins, ends] = match kind {
        Kind::Cut | Kind::Flap => [cut, heal],
        Kind::Loss => impair(Impairment::Loss),
        Kind::Corruption => impair(Impairment::Corruption),
        Kind::Isolation => [Fault::Isolate { switch }, Fault::Rejoin { switch }],
        Kind::Crash => [Fault::Crash { switch }, Fault::Restart { switch }],
    };
    let steps = match kind {
        Kind::Flap => {
            let half = Duration::from_us(500) + random.time_below(Duration::from_ms(15));
            let flips = (until - at)
                .as_ns()
                .div_ceil(half.as_ns())
                .next_multiple_of(2);
            let step = |flip| (at + half * flip, if flip % 2 == 0 { cut } else { heal });
            (0..flips)
                .map(step)
                .filter(|(at, _)| *at < QUIET_FROM)
                .chain([(QUIET_FROM, heal)])
                .collect()
        }
        _ => vec![(at, begins), (until, ends)],
    };
    Drawn { steps, kind, link }
}

/// A frame that goes round in a loop is put on a cable every dozen microseconds.
fn assert_no_loop(blueprint: &Blueprint, outcome: &Outcome) {
    let sent: u64 = outcome.flows.iter().map(|it| it.record.sent).sum();
    let switches = blueprint.parts().switches.len() as u64;
    let cables = blueprint.links.len() as u64 + blueprint.hosts.len() as u64;
    // There and back over each switch, for up to two receivers or copies, and some hundred
    // probes of each end of a cable.
    let most = sent * 4 * (switches + 2) + 200 * cables;
    assert!(
        outcome.counts.hops <= most,
        "{} of {most}",
        outcome.counts.hops
    );
}

fn assert_one(blueprint: &Blueprint, outcome: &Outcome, flow: &Flow, fault: &Drawn) {
    let record = &flow.record;
    let name = &flow.accepted.name;
    let guarantee = flow.accepted.guarantee.expect("a promise").round_up();
    let corrupts = fault.kind == Kind::Corruption;
    assert!(corrupts || !is_doubled(flow), "{name}: {fault:?}");
    // A flipped bit may make a frame one that was lost long ago.
    assert!(corrupts || record.late == 0, "{name}: {fault:?}");
    assert_eq!(record.out_of_contract, 0, "{name}: {fault:?}");
    let begin = outcome.start + fault.steps[0].0;
    let end = outcome.start + fault.steps[fault.steps.len() - 1].0;
    let is_hit = flow
        .accepted
        .route
        .links
        .contains(&blueprint.link_ends(fault.link));
    let lossless = match fault.kind {
        Kind::Isolation => true,
        Kind::Corruption => !is_hit && flow.wish.healed_by != HealedBy::Copies,
        Kind::Cut | Kind::Flap | Kind::Loss => !is_hit || flow.wish.healed_by == HealedBy::Copies,
        Kind::Crash => false,
    };
    let losses = &record.receivers;
    assert!(
        !lossless || record.lost == 0,
        "{name} lost {losses:?}: {fault:?}"
    );
    let last = match fault.kind {
        Kind::Cut => begin + INTERRUPTION,
        Kind::Flap | Kind::Loss | Kind::Corruption => end + INTERRUPTION,
        // Its entries come back one by one.
        Kind::Isolation | Kind::Crash => outcome.start + LENGTH,
    };
    assert_losses_within(flow, begin, last, guarantee, &format!("{fault:?}"));
}

/// Tells whether a frame was delivered twice. While the tree to several receivers is led
/// elsewhere, a frame may come by both.
fn is_doubled(flow: &Flow) -> bool {
    flow.wish.receivers.len() == 1 && flow.record.duplicates() > 0
}

fn assert_losses_within(
    flow: &Flow,
    begin: Instant,
    end: Instant,
    guarantee: Duration,
    faults: &str,
) {
    for run in flow.record.receivers.iter().flat_map(|one| &one.loss_runs) {
        assert!(
            run.first_sent + guarantee >= begin && run.last_sent <= end,
            "{} lost {run:?}, from {begin:?} to {end:?}: {faults}",
            flow.accepted.name
        );
    }
}
