//! Whole networks in virtual time: does the whole keep its promises under any
//! fault?
//!
//! Networks, flows and faults are drawn from a seed. Replay one failure with
//! `TAKTOS_SEED=… cargo test -p sim --test network`.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod blueprint;
mod excess;
mod faults;
mod half_deployed;
mod instances;
mod intents;
mod intruders;
mod masters;
mod moves;
mod neighbours;
mod profiles;
mod run;
mod second_ways;
mod silence;
mod states;
mod stays;
mod supervision;
mod tampering;

use std::num::NonZeroU32;
use std::ops::RangeInclusive;

use controller::northbound::{Event, Travels};
use scenario::{Direction, Impairment};
use sim::Engine;
use sim::parts::Fault;
use sim::servers::random::Random;
use units::Duration;

use blueprint::{BEST_EFFORT, Blueprint, CARRIER_DETECTION, HealedBy, INTERRUPTION, datapath};
use run::{Flow, Outcome, run, run_by};

/// How many networks are drawn.
const RUNS: u64 = 200;
/// How long traffic runs; flows have returned to their own way by then.
const DURATION: Duration = Duration::from_ms(900);

#[test]
fn promises_hold_whichever_link_is_cut_whenever() {
    let mut admitted = 0;
    for seed in seeds() {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        let mut random = Random::new(!seed);
        let blueprint = Blueprint::draw(seed);
        let link = random.index(blueprint.links.len());
        let cut_after = random.time_below(Duration::from_ms(100));
        let heal_after =
            cut_after + Duration::from_ms(20) + random.time_below(Duration::from_ms(100));
        let faults = [
            (cut_after, Fault::Cut { link }),
            (heal_after, Fault::Heal { link }),
        ];

        let outcome = run(&blueprint, &faults, DURATION);

        admitted += outcome.flows.len();
        for flow in &outcome.flows {
            assert_promise_held(&blueprint, &outcome, flow, (link, cut_after));
        }
        let traveller = outcome
            .summaries
            .iter()
            .find(|flow| flow.travels != Travels::Base);
        assert_eq!(traveller, None, "every flow is back on its own way");
    }
    assert!(admitted > 0, "everything was refused");
}

/// What the kernel walks on real wires does what the tables do.
#[test]
fn the_compiled_form_of_the_tables_gives_the_same_run_as_the_tables() {
    let engines = [Engine::Tables, Engine::Compiled { entries: 1_024 }];
    for seed in 0..20 {
        let runs = engines.map(|engine| {
            let cut = (Duration::from_ms(30), Fault::Cut { link: 0 });
            let outcome = run_by(
                engine,
                &Blueprint::draw(seed),
                &[cut],
                Duration::from_ms(200),
            );
            let records: Vec<_> = outcome.flows.into_iter().map(|flow| flow.record).collect();
            format!("{records:?} {:?} {:?}", outcome.notices, outcome.counts)
        });

        assert_eq!(runs[0], runs[1], "seed {seed}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let [first, second, other] = [7, 7, 8].map(|seed| {
        let cut = (Duration::from_ms(30), Fault::Cut { link: 0 });
        let outcome = run(&Blueprint::draw(seed), &[cut], Duration::from_ms(200));
        let records: Vec<_> = outcome.flows.into_iter().map(|flow| flow.record).collect();
        format!("{records:?} {:?} {:?}", outcome.notices, outcome.counts)
    });

    assert_eq!(first, second);
    assert_ne!(first, other);
}

#[test]
fn a_switch_that_restarts_gets_its_entries_back() {
    let blueprint = Blueprint::one_flow();
    // The flow leads over either of its neighbours, so it leads through the
    // switch of its receiver whatever happens.
    let switch = 2;
    let restart_after = Duration::from_ms(400);
    let faults = [
        (Duration::from_ms(100), Fault::Crash { switch }),
        (restart_after, Fault::Restart { switch }),
    ];

    let outcome = run(&blueprint, &faults, Duration::from_secs(4));

    let synchronised = |event: &Event| matches!(event, Event::Synchronised { datapath: it, .. } if *it == datapath(switch));
    assert!(outcome.heard(synchronised), "{:?}", outcome.notices);
    let [flow] = &outcome.flows[..] else {
        panic!("one flow was asked for");
    };
    assert!(flow.record.lost > 0, "nobody received it meanwhile");
    assert_no_loss_after(&outcome, flow, restart_after + Duration::from_secs(2));
    assert_eq!(outcome.summaries[0].travels, Travels::Base);
}

/// Groups and entries stand in the switches: nobody is asked when a link breaks.
#[test]
fn switches_make_up_for_a_broken_link_without_a_controller() {
    let blueprint = Blueprint::one_flow_healed_by_switches();
    for link in 0..blueprint.links.len() {
        let (cut_after, heal_after) = (Duration::from_ms(200), Duration::from_ms(300));
        let isolated = (0..4).map(|switch| (Duration::from_ms(100), Fault::Isolate { switch }));
        let cut = [
            (cut_after, Fault::Cut { link }),
            (heal_after, Fault::Heal { link }),
        ];
        let faults: Vec<_> = isolated.chain(cut).collect();

        let outcome = run(&blueprint, &faults, Duration::from_ms(500));

        assert_eq!(outcome.flows.len(), 1);
        assert_promise_held(&blueprint, &outcome, &outcome.flows[0], (link, cut_after));
        assert_no_loss_after(&outcome, &outcome.flows[0], cut_after + CARRIER_DETECTION);
    }
}

#[test]
fn a_switch_that_restarts_gets_its_groups_back() {
    let blueprint = Blueprint::one_flow_healed_by_switches();
    let cut_after = Duration::from_ms(3_500);
    for switch in 0..4 {
        for link in 0..blueprint.links.len() {
            let faults = [
                (Duration::from_ms(100), Fault::Crash { switch }),
                (Duration::from_ms(200), Fault::Restart { switch }),
                (cut_after, Fault::Cut { link }),
            ];

            let outcome = run(&blueprint, &faults, Duration::from_ms(3_700));

            let [flow] = &outcome.flows[..] else {
                panic!("one flow was asked for");
            };
            assert_no_loss_after(&outcome, flow, cut_after + CARRIER_DETECTION);
            // Nothing is lost because it is back, unless nobody else could carry it.
            let is_passed_by = ![0, 2].contains(&switch);
            let back = outcome.start + Duration::from_ms(200);
            let cut = outcome.start + cut_after;
            let losses = flow.record.receivers[0].loss_runs.iter();
            let in_vain = losses.filter(|run| (back..cut).contains(&run.last_sent));
            assert!(!is_passed_by || in_vain.count() == 0, "switch {switch}");
        }
    }
}

#[test]
fn flows_follow_a_host_that_moves() {
    let blueprint = Blueprint::one_flow();
    let to = blueprint.spare(1);
    let move_after = Duration::from_ms(100);
    let faults = [(move_after, Fault::HostMoves { host: 0, to })];

    let outcome = run(&blueprint, &faults, Duration::from_secs(2));

    let moved =
        |event: &Event| matches!(event, Event::HostMoved { to, .. } if to.datapath == datapath(1));
    assert!(outcome.heard(moved), "{:?}", outcome.notices);
    let [flow] = &outcome.flows[..] else {
        panic!("one flow was asked for");
    };
    let losses = &flow.record.receivers[0].loss_runs;
    let first = losses.first().map(|run| run.first_sent);
    assert!(first.is_none_or(|first| first >= outcome.start + move_after));
    assert_no_loss_after(&outcome, flow, move_after + Duration::from_ms(500));
}

#[test]
fn what_a_bad_link_loses_is_counted_as_lost_and_nothing_else_is() {
    let blueprint = Blueprint::one_flow();
    let bad = (0..blueprint.links.len()).map(|link| Fault::Impair {
        link,
        direction: Direction::Both,
        impairment: Impairment::Loss,
        one_in: NonZeroU32::new(20),
    });
    let bad: Vec<_> = bad.map(|fault| (Duration::ZERO, fault)).collect();

    let outcome = run(&blueprint, &bad, Duration::from_secs(2));

    let [flow] = &outcome.flows[..] else {
        panic!("one flow was asked for");
    };
    let record = &flow.record;
    assert!(record.lost > 0 && record.received() > 0, "{record:?}");
    assert_eq!(record.received(), record.latency.count());
    // Probes are lost as well.
    assert!(record.lost <= outcome.counts.lost_on_cables);
    assert_eq!(
        (record.late, record.misfits, record.duplicates()),
        (0, 0, 0)
    );
}

/// Asserts the three parts of a promise: no frame later than the guarantee, no
/// frame lost while nothing is broken, no interruption longer than allowed.
fn assert_promise_held(
    blueprint: &Blueprint,
    outcome: &Outcome,
    flow: &Flow,
    (link, cut_after): (usize, Duration),
) {
    let Flow {
        wish,
        accepted,
        record,
    } = flow;
    let name = &accepted.name;
    assert!(record.sent > 0, "{name} sent nothing");
    if wish.class == BEST_EFFORT {
        return;
    }
    assert_eq!(record.out_of_contract, 0, "{name} sent too much");
    let highest = record.latency.max();
    assert_eq!(
        record.late, 0,
        "{name}: {highest:?} of {:?}",
        accepted.guarantee
    );
    assert_eq!(record.misfits, 0, "{name} got strange frames");

    let is_hit = accepted.route.links.contains(&blueprint.link_ends(link));
    if !is_hit {
        let losses = &record.receivers;
        assert_eq!(record.lost, 0, "{name} did not use the link: {losses:?}");
    }
    // A frame that was on its way when the link broke was sent before.
    let cut = outcome.start + cut_after;
    let guarantee = accepted.guarantee.expect("there is a promise").round_up();
    // No switch waits for the controller: nothing is lost that is sent once it sees the cut.
    let lost_for = match wish.healed_by {
        HealedBy::Controller => INTERRUPTION,
        HealedBy::Switches | HealedBy::SwitchesWhateverFails | HealedBy::HeartBeats => {
            CARRIER_DETECTION
        }
        HealedBy::Copies => Duration::ZERO,
    };
    for run in record.receivers.iter().flat_map(|one| &one.loss_runs) {
        assert!(
            run.first_sent + guarantee >= cut && run.last_sent <= cut + lost_for,
            "{name} lost {run:?}, the link was cut at {cut:?}"
        );
    }
}

#[track_caller]
fn assert_no_loss_after(outcome: &Outcome, flow: &Flow, after: Duration) {
    let from = outcome.start + after;
    let record = &flow.record;
    assert!(record.last_sent.is_some_and(|last| last > from));
    let losses = &record.receivers[0].loss_runs;
    let late = losses.iter().find(|run| run.last_sent >= from);
    assert_eq!(late, None, "{:?}", outcome.notices);
}

fn seeds() -> RangeInclusive<u64> {
    seeds_of(RUNS)
}

fn seeds_of(runs: u64) -> RangeInclusive<u64> {
    match fixed_seed() {
        Some(seed) => seed..=seed,
        None => 1..=runs,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "who replays a failure says which"
)]
fn fixed_seed() -> Option<u64> {
    let seed = std::env::var("TAKTOS_SEED").ok()?;
    Some(seed.parse().expect("a number"))
}

/// Returns a number that whoever asks for many has told, or the usual one.
fn told_number(name: &str, usual: u64) -> u64 {
    #[expect(clippy::disallowed_methods, reason = "who asks for many says how many")]
    let told = std::env::var(name).ok();
    told.map_or(usual, |told| told.parse().expect("a number"))
}
