//! Links that carry nothing any more while both ends see a carrier: switches that ask their
//! neighbours notice by themselves, within the detection time, and never without a cause.

use std::num::NonZeroU32;

use controller::Event;
use controller::northbound::{Cover, Travels};
use scenario::{Direction, Impairment};
use sim::Engine;
use sim::parts::Fault;
use sim::servers::random::Random;
use units::{BitRate, Duration};

use super::{assert_no_loss_after, fixed_seed};
use crate::blueprint::{Blueprint, HEART_BEAT, INTERRUPTION, Kind};
use crate::run::{Outcome, run_by};

/// How many faults are drawn where the environment does not say (`TAKTOS_RUNS`).
const RUNS: u64 = 50;
/// Sessions come up within a second or two, after switches were told of them.
const ASKING: Duration = Duration::from_ms(1_600);
/// Three intervals, of which an interruption has five.
const DETECTION: Duration = Duration::from_ns(INTERRUPTION.as_ns() / 5 * 3);

#[test]
fn a_silent_link_is_made_up_for_within_the_detection_time_by_its_switches_alone() {
    for seed in seeds() {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        let mut random = Random::new(seed);
        let blueprint = Blueprint::one_flow_healed_whatever_fails();
        let link = random.index(blueprint.links.len());
        let silent_after = ASKING + random.time_below(Duration::from_ms(50));
        let mut faults = vec![(silent_after, Fault::silence(link))];
        if random.index(2) == 0 {
            // Nobody is asked.
            let isolated = (0..4).map(|switch| (ASKING, Fault::Isolate { switch }));
            faults.extend(isolated);
            faults.sort_by_key(|(after, _)| *after);
        }
        let engine = match random.index(2) {
            0 => Engine::Tables,
            _ => Engine::Compiled { entries: 1_024 },
        };

        let outcome = run_by(
            engine,
            &blueprint,
            &faults,
            silent_after + Duration::from_ms(60),
        );

        let [flow] = &outcome.flows[..] else {
            panic!("one flow was asked for");
        };
        assert_eq!(flow.accepted.cover, Some(Cover::Any));
        assert_eq!(flow.record.late, 0, "{:?}", flow.record.latency.max());
        // What was on its way when the link fell silent was sent before.
        let guarantee = flow.accepted.guarantee.unwrap().round_up();
        let silent = outcome.start + silent_after;
        let mut losses = flow.record.receivers[0].loss_runs.iter();
        assert!(losses.all(|run| run.first_sent + guarantee >= silent));
        assert_no_loss_after(&outcome, flow, silent_after + DETECTION);
        assert_eq!(false_alarms(&outcome, silent_after), 0);
    }
}

#[test]
fn a_link_that_carries_again_is_taken_again() {
    let blueprint = Blueprint::one_flow_healed_whatever_fails();
    for link in 0..blueprint.links.len() {
        let faults = [
            (ASKING, Fault::silence(link)),
            (ASKING + Duration::from_secs(1), Fault::end_silence(link)),
        ];

        let outcome = run_by(Engine::Tables, &blueprint, &faults, Duration::from_secs(8));

        let [flow] = &outcome.flows[..] else {
            panic!("one flow was asked for");
        };
        assert_no_loss_after(&outcome, flow, ASKING + DETECTION);
        assert_eq!(outcome.summaries[0].travels, Travels::Base);
        let is_hit = flow
            .accepted
            .route
            .links
            .contains(&blueprint.link_ends(link));
        let is_back = |event: &Event| matches!(event, Event::LinkFound { .. });
        assert!(!is_hit || outcome.heard(is_back), "{:?}", outcome.notices);
    }
}

/// Whoever forwards nothing answers nothing.
#[test]
fn a_switch_whose_process_died_is_passed_by_within_the_detection_time() {
    let blueprint = Blueprint::one_flow_healed_whatever_fails();
    let quiet = run_by(Engine::Tables, &blueprint, &[], Duration::from_ms(10));
    let middle = quiet.flows[0].accepted.route.links[0].both();
    let middle = middle
        .into_iter()
        .map(|end| end.datapath.0 - 1)
        .max()
        .unwrap();
    let switch = usize::try_from(middle).unwrap();

    let outcome = run_by(
        Engine::Tables,
        &blueprint,
        &[(ASKING, Fault::Kill { switch })],
        ASKING + Duration::from_ms(200),
    );

    let [flow] = &outcome.flows[..] else {
        panic!("one flow was asked for");
    };
    assert!(flow.record.lost > 0, "it went through the switch");
    assert_no_loss_after(&outcome, flow, ASKING + DETECTION);
}

/// Packets that are lost now and then are no silence: with one in a thousand lost, three in a
/// row are seldom, and each that is taken for silence costs nothing but the way.
#[test]
fn losses_are_seldom_taken_for_silence() {
    let blueprint = Blueprint::one_flow_healed_whatever_fails();
    let losing = (0..blueprint.links.len()).map(|link| {
        let fault = Fault::Impair {
            link,
            direction: Direction::Both,
            impairment: Impairment::Loss,
            one_in: NonZeroU32::new(1_000),
        };
        (Duration::ZERO, fault)
    });
    let losing: Vec<_> = losing.collect();

    let outcome = run_by(Engine::Tables, &blueprint, &losing, Duration::from_secs(10));

    assert_eq!(false_alarms(&outcome, Duration::from_secs(10)), 0);
}

/// What is sent is missed after three periods at most, and what that end says is a packet
/// that takes no longer than a frame.
const BEATS_MISSED: Duration = Duration::from_us(3 * HEART_BEAT.as_ns() / 1_000 + 250);

#[test]
fn frames_that_come_all_the_time_are_missed_within_some_of_them() {
    for seed in seeds() {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        let mut random = Random::new(seed);
        let blueprint = Blueprint::one_flow_with_heart_beats();
        let link = random.index(blueprint.links.len());
        let silent_after = ASKING + random.time_below(Duration::from_ms(50));
        let direction = [Direction::From(0), Direction::From(1)];
        let lose = Fault::Impair {
            link,
            direction: direction[random.index(2)],
            impairment: Impairment::Loss,
            one_in: NonZeroU32::new(1),
        };
        let engine = match random.index(2) {
            0 => Engine::Tables,
            _ => Engine::Compiled { entries: 1_024 },
        };
        let faults = [(silent_after, lose)];

        let outcome = run_by(
            engine,
            &blueprint,
            &faults,
            silent_after + Duration::from_ms(60),
        );

        let [flow] = &outcome.flows[..] else {
            panic!("one flow was asked for");
        };
        assert_eq!(flow.accepted.cover, Some(Cover::OneWay));
        assert_eq!(flow.record.late, 0, "{:?}", flow.record.latency.max());
        assert_no_loss_after(&outcome, flow, silent_after + BEATS_MISSED);
        assert!(flow.record.lost <= 6, "{} samples", flow.record.lost);
        assert_eq!(false_alarms(&outcome, silent_after), 0);
    }
}

/// A source that pauses is no broken link, and neither is one that sends less often than it
/// has said.
#[test]
fn silence_of_the_source_is_not_taken_for_that_of_a_link() {
    let mut blueprint = Blueprint::one_flow_with_heart_beats();
    blueprint.wishes[0].kind = Kind::Greedy;
    for bps in [100_000, 500_000, 2_000_000, 5_000_000] {
        blueprint.wishes[0].rate = BitRate::from_bps(bps);
        let outcome = run_by(Engine::Tables, &blueprint, &[], Duration::from_secs(6));

        assert_eq!(outcome.flows[0].record.lost, 0, "{bps}");
        assert_eq!(false_alarms(&outcome, Duration::from_secs(6)), 0, "{bps}");
    }
}

/// Returns how often a link was lost before anything happened to it.
fn false_alarms(outcome: &Outcome, until: Duration) -> usize {
    let before = outcome.notices.iter();
    let before = before.filter(|(at, _)| *at < outcome.start + until);
    before
        .filter(|(_, event)| matches!(event, Event::LinkLost { .. }))
        .count()
}

#[expect(clippy::disallowed_methods, reason = "who wants more says how many")]
fn seeds() -> std::ops::RangeInclusive<u64> {
    if let Some(seed) = fixed_seed() {
        return seed..=seed;
    }
    let runs = std::env::var("TAKTOS_RUNS").ok();
    1..=runs.map_or(RUNS, |runs| runs.parse().expect("a number"))
}
