//! A broken way of a flow that two ways carry is replaced by another one: a second failure
//! takes no frame either, and the way back is hitless (S0-5).

use controller::northbound::{FlowSummary, PromiseState, Route, Travels};
use sim::Engine;
use sim::parts::Fault;
use sim::servers::random::Random;
use units::Duration;

use crate::blueprint::{BEST_EFFORT, Blueprint, HealedBy};
use crate::run::{Flow, Outcome, run_by};

/// How many networks are drawn in every run.
const RUNS: u64 = 160;
/// By then what was cut first has been replaced, and the second cut follows.
const REPLACED: Duration = Duration::from_ms(150);
/// By then both links are back.
const HEALED: Duration = Duration::from_ms(260);
/// By then flows have returned to their usual ways.
const LENGTH: Duration = Duration::from_ms(1_300);

#[test]
fn two_failures_one_after_the_other_take_no_frame_of_a_flow_that_two_ways_carry() {
    two_cuts_each(super::seeds_of(RUNS));
}

pub fn two_cuts_each(seeds: std::ops::RangeInclusive<u64>) {
    let (mut replaced, mut returned) = (0, 0);
    for seed in seeds {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        let mut random = Random::new(seed ^ 0x2a75);
        let blueprint = drawn_blueprint(seed, &mut random);
        let engine = match random.index(4) {
            0 => Engine::Compiled { entries: 1_024 },
            _ => Engine::Tables,
        };
        let Some(first) = draw_link(&mut random, &blueprint, &blueprint_routes(&blueprint)) else {
            continue;
        };
        let at = Duration::from_ms(5) + random.time_below(Duration::from_ms(50));
        let cut = [(at, Fault::Cut { link: first })];
        let once = run_by(engine, &blueprint, &cut, REPLACED);
        let there: Vec<bool> = once.summaries.iter().map(is_replaced(&once)).collect();
        let routes = once
            .summaries
            .iter()
            .zip(&there)
            .filter(|(_, there)| **there);
        let routes: Vec<Route> = routes
            .map(|(it, _)| Route::clone(&it.accepted.route))
            .collect();
        let Some(second) = draw_link(&mut random, &blueprint, &routes) else {
            continue;
        };
        let again = REPLACED + random.time_below(Duration::from_ms(50));
        let faults = [
            cut[0],
            (again, Fault::Cut { link: second }),
            (HEALED, Fault::Heal { link: first }),
            (HEALED, Fault::Heal { link: second }),
        ];

        let outcome = run_by(engine, &blueprint, &faults, LENGTH);

        for ((flow, there), now) in outcome.flows.iter().zip(there).zip(&outcome.summaries) {
            if there {
                replaced += 1;
                returned += usize::from(now.accepted.route == flow.accepted.route);
                assert_whole(flow, now, &outcome);
            }
        }
    }
    if super::fixed_seed().is_none() {
        assert!(replaced > 20, "{replaced} had a way replaced");
        assert!(returned * 10 > replaced * 8, "{returned} of {replaced}");
    }
}

/// Draws a network with links across it, and with flows of which two ways carry most.
fn drawn_blueprint(seed: u64, random: &mut Random) -> Blueprint {
    let mut blueprint = Blueprint::draw(seed);
    blueprint.wishes.truncate(8);
    for _ in 0..2 + random.index(3) {
        let ends = [(); 2].map(|()| blueprint.hosts[random.index(blueprint.hosts.len())]);
        let is_there = |link: &[usize; 2]| ends.iter().all(|end| link.contains(end));
        if ends[0] != ends[1] && !blueprint.links.iter().any(is_there) {
            blueprint.links.push(ends);
        }
    }
    for wish in &mut blueprint.wishes {
        if wish.class != BEST_EFFORT && random.index(4) > 0 {
            wish.healed_by = HealedBy::Copies;
        }
    }
    blueprint
}

/// Returns the ways of the flows that two carry.
fn blueprint_routes(blueprint: &Blueprint) -> Vec<Route> {
    let outcome = run_by(Engine::Tables, blueprint, &[], Duration::from_ms(1));
    let doubled = outcome.flows.iter().filter(|flow| is_copied(flow));
    doubled
        .map(|flow| Route::clone(&flow.accepted.route))
        .collect()
}

fn is_copied(flow: &Flow) -> bool {
    flow.wish.healed_by == HealedBy::Copies
}

/// Draws a link that one of these ways crosses.
fn draw_link(random: &mut Random, blueprint: &Blueprint, routes: &[Route]) -> Option<usize> {
    let crosses = |link: &usize| {
        let ends = blueprint.link_ends(*link);
        routes.iter().any(|route| route.links.contains(&ends))
    };
    let links: Vec<usize> = (0..blueprint.links.len()).filter(crosses).collect();
    (!links.is_empty()).then(|| random.pick(&links))
}

/// Tells whether two ways carry a flow that are not the first ones, and both are whole.
fn is_replaced(outcome: &Outcome) -> impl Fn(&FlowSummary) -> bool {
    |now| {
        let mut flows = outcome.flows.iter();
        let flow = flows.find(|flow| flow.accepted.id == now.accepted.id);
        let is_whole = now.promise.state == PromiseState::Holds && now.promise.cause.is_none();
        flow.is_some_and(|flow| is_copied(flow) && now.accepted.route != flow.accepted.route)
            && is_whole
    }
}

fn assert_whole(flow: &Flow, now: &FlowSummary, outcome: &Outcome) {
    let (name, record) = (&flow.accepted.name, &flow.record);
    assert!(record.sent > 0, "{name} sent nothing");
    let wrong = (
        record.lost,
        record.duplicates(),
        record.missed_deadline,
        record.out_of_contract,
        record.misfits,
    );
    assert_eq!(wrong, (0, 0, 0, 0, 0), "{name}: {:?}", outcome.notices);
    assert_eq!(now.travels, Travels::Base, "{name}");
    assert_eq!(now.promise.state, PromiseState::Holds, "{name}");
    assert_eq!(now.promise.cause, None, "{name}");
}
