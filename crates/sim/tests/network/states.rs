//! No promise is said to hold while it does not: whatever fails in which order, frames
//! are not lost for longer than it takes to notice while the controller says so.

use controller::config::Timers;
use controller::northbound::{Cause, Promise, PromiseState, Reply, Request};
use sim::parts::Fault;
use sim::servers::random::Random;
use units::{Duration, Instant};

use crate::blueprint::{BEST_EFFORT, Blueprint, HealedBy};
use crate::run::{Outcome, run_asking};

/// How many networks are drawn.
const RUNS: u64 = 24;
const LENGTH: Duration = Duration::from_secs(24);
/// How often the controller is asked what it knows.
const ASKED_EVERY: Duration = Duration::from_ms(250);

#[test]
fn no_promise_is_said_to_hold_while_frames_are_lost_for_longer_than_it_takes_to_notice() {
    let seeds = super::fixed_seed().map_or(1..=RUNS, |seed| seed..=seed);
    let mut runs_of_losses = 0;
    let mut states = Vec::new();
    for seed in seeds {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        let mut random = Random::new(seed << 7 | 5);
        let mut blueprint = Blueprint::draw(seed);
        blueprint.wishes.truncate(5);
        if let Some(wish) = blueprint
            .wishes
            .iter_mut()
            .find(|it| it.class != BEST_EFFORT)
        {
            wish.healed_by = HealedBy::Copies;
        }
        let faults = draw(&mut random, &blueprint);

        let outcome = run_asking(&blueprint, &faults, &questions(), LENGTH);

        runs_of_losses += check(&outcome, &faults);
        states.extend(said(&outcome).map(|(_, _, state)| state));
    }
    assert!(runs_of_losses > 0, "nothing was lost for long");
    for state in [
        PromiseState::Holds,
        PromiseState::Unknown,
        PromiseState::Disturbed,
        PromiseState::NotCovered,
    ] {
        assert!(states.contains(&state), "{state:?} was never said");
    }
}

/// Two links are cut at once, and one of them in silence: the flow is in no time said to
/// have a promise that holds, nor to be broken.
#[test]
fn what_no_promise_covers_is_said_so() {
    let blueprint = Blueprint::two_ways();
    let cut = Duration::from_secs(2);
    let faults = [(cut, Fault::Cut { link: 0 }), (cut, Fault::silence(2))];

    let outcome = run_asking(&blueprint, &faults, &questions(), Duration::from_secs(12));

    let noticed = outcome.start + cut + Timers::default().silent_detection();
    let late = said(&outcome).filter(|(at, _, _)| *at > noticed);
    let late: Vec<_> = late.map(|(_, _, state)| state).collect();
    assert!(!late.is_empty());
    assert!(
        late.iter().all(|state| *state == PromiseState::NotCovered),
        "{late:?}"
    );
}

/// Two ways carry a flow, and one is cut and healed: nothing is lost, so its promise is said
/// to hold all the time, and while it is broken by one way alone. When the other one is cut
/// as well, it is not said to hold any more.
#[test]
fn a_flow_that_two_ways_carry_is_said_to_hold_by_one_of_them_and_not_by_none() {
    let mut blueprint = Blueprint::two_ways();
    blueprint.wishes[0].healed_by = HealedBy::Copies;
    let length = Duration::from_secs(12);
    let [cut, healed, both] = [2, 5, 8].map(Duration::from_secs);
    let one = [
        (cut, Fault::Cut { link: 0 }),
        (healed, Fault::Heal { link: 0 }),
    ];
    let two = [
        (cut, Fault::Cut { link: 0 }),
        (both, Fault::Cut { link: 2 }),
    ];
    // How long it takes until a cut is seen, and until a link that is back is trusted.
    let settling = Duration::from_secs(1);

    let alone = run_asking(&blueprint, &one, &questions(), length);
    let neither = run_asking(&blueprint, &two, &questions(), length);

    assert_eq!(alone.flows[0].record.receivers[0].lost, 0);
    for (outcome, until) in [(&alone, length), (&neither, both)] {
        let promises: Vec<_> = promises(outcome).collect();
        let during = |from: Duration, until: Duration| {
            let (from, until) = (outcome.start + from, outcome.start + until);
            let all = promises.iter();
            all.filter(move |(at, _)| (from..until).contains(at))
                .map(|(_, promise)| promise)
        };
        let is_held = |promise: &&Promise| promise.state == PromiseState::Holds;
        assert_eq!(during(Duration::ZERO, until).find(|it| !is_held(it)), None);
        let by_one = during(cut + settling, until.min(healed));
        let causes: Vec<_> = by_one.map(|it| it.cause.clone()).collect();
        assert!(causes.len() > 5, "{causes:?}");
        let is_by_one = |cause: &Option<Cause>| matches!(cause, Some(Cause::OneWayLeft(_)));
        assert!(causes.iter().all(is_by_one), "{causes:?}");
    }
    let late = promises(&neither).filter(|(at, _)| *at > neither.start + both + settling);
    let late: Vec<_> = late.map(|(_, promise)| promise.state).collect();
    assert!(!late.is_empty() && !late.contains(&PromiseState::Holds));
    let last = promises(&alone).last().map(|(_, promise)| promise.cause);
    assert_eq!(last, Some(None), "both ways carry it again");
}

/// Checks every long run of losses. Returns how many there were.
fn check(outcome: &Outcome, faults: &[(Duration, Fault)]) -> usize {
    let noticed = Timers::default().silent_detection();
    let mut count = 0;
    for flow in outcome
        .flows
        .iter()
        .filter(|it| it.wish.class != BEST_EFFORT)
    {
        let name = &flow.accepted.name;
        let runs = flow.record.receivers.iter().flat_map(|one| &one.loss_runs);
        for run in runs.filter(|run| run.last_sent > run.first_sent + noticed) {
            count += 1;
            let mut meanwhile = said(outcome).filter(|(at, it, _)| {
                *it == name && *at > run.first_sent + noticed && *at < run.last_sent
            });
            let wrong = meanwhile.find(|(_, _, state)| *state == PromiseState::Holds);
            assert_eq!(
                wrong, None,
                "{name} lost {run:?} since {:?}: {faults:?}, {:?}",
                outcome.start, outcome.notices
            );
        }
    }
    count
}

/// Returns what the controller said when of the promise of the first flow.
fn promises(outcome: &Outcome) -> impl Iterator<Item = (Instant, Promise)> {
    outcome
        .answers
        .iter()
        .filter_map(|(at, reply)| match reply {
            Reply::Flows(flows) => Some((*at, flows.first()?.promise.clone())),
            _ => None,
        })
}

/// Returns what the controller said when of whose promise.
fn said(outcome: &Outcome) -> impl Iterator<Item = (Instant, &str, PromiseState)> {
    outcome.answers.iter().flat_map(|(at, reply)| {
        let flows = match reply {
            Reply::Flows(flows) => &flows[..],
            other => panic!("{other:?}"),
        };
        let states = flows.iter();
        states.map(|flow| (*at, &*flow.accepted.name, flow.promise.state))
    })
}

fn questions() -> Vec<(Duration, Request)> {
    let count = LENGTH.as_ns() / ASKED_EVERY.as_ns();
    (0..count)
        .map(|number| (ASKED_EVERY * number, Request::Flows))
        .collect()
}

/// Draws what goes wrong, and sometimes right again.
fn draw(random: &mut Random, blueprint: &Blueprint) -> Vec<(Duration, Fault)> {
    let switches = blueprint.parts().switches.len();
    let (links, hosts) = (blueprint.links.len(), blueprint.hosts.len());
    let mut faults = Vec::new();
    for _ in 0..1 + random.index(3) {
        let at = Duration::from_secs(1) + random.time_below(Duration::from_secs(10));
        let back = at + random.time_below(Duration::from_secs(12));
        let (switch, link) = (random.index(switches), random.index(links));
        let cable = random.index(links + hosts);
        let (wrong, right) = match random.index(6) {
            0 => (Fault::Cut { link: cable }, Fault::Heal { link: cable }),
            1 => (Fault::silence(link), Fault::end_silence(link)),
            2 => (Fault::Kill { switch }, Fault::Restart { switch }),
            3 => (Fault::Crash { switch }, Fault::Restart { switch }),
            4 => (Fault::Isolate { switch }, Fault::Rejoin { switch }),
            _ => (Fault::Empty { switch }, Fault::Empty { switch }),
        };
        faults.push((at, wrong));
        if random.index(2) == 0 {
            faults.push((back, right));
        }
    }
    faults.sort_by_key(|(at, _)| *at);
    faults
}
