//! A run made up for the tests: a substation whose ring is cut.
//!
//! Everything goes through the recorder and the verdict, so that the report
//! shows what they really say.

mod modal;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{BitRate, DataSize, Duration, Instant};

use super::super::*;
use crate::interruptions::{Interruption, Interruptions};
use crate::recorder::{Recorder, Settings};
use crate::stalls::Stalls;
use crate::verdict::{Bound, Circumstances, Disturbance, Effect, assess};
use crate::{Contract, FlowPlan, Promise, ReceiverIndex};

pub(crate) use modal::with_levels;

const LENGTH: Duration = Duration::from_secs(30);
const CUT_AT: Instant = Instant::from_ns(12_000_000_000);
const HEALED_AT: Instant = Instant::from_ns(21_000_000_000);
const STALL: (Instant, Duration) = (Instant::from_ns(17_300_000_000), Duration::from_us(1_900));

struct Recipe {
    name: &'static str,
    kind: FlowKind,
    route: &'static [&'static str],
    detour: &'static [&'static str],
    period_us: u64,
    deadline_us: u64,
    guarantee_us: u64,
    fastest_us: u64,
    outage_us: u64,
}

const RECIPES: [Recipe; 8] = [
    recipe(
        "sv-mu1",
        FlowKind::SampledValues,
        &["mu1", "s1", "s2", "relay1"],
        250,
        (2_000, 812, 92),
        3_100,
    ),
    recipe(
        "sv-mu2",
        FlowKind::SampledValues,
        &["mu2", "s2", "s3", "relay2"],
        250,
        (2_000, 812, 95),
        0,
    ),
    recipe(
        "sv-mu3",
        FlowKind::SampledValues,
        &["mu3", "s3", "s4", "relay3"],
        250,
        (2_000, 1_130, 101),
        0,
    ),
    recipe(
        "trip-b3",
        FlowKind::Goose,
        &["relay3", "s4", "s1", "relay1"],
        40_000,
        (600, 550, 78),
        0,
    ),
    recipe(
        "trip-b1",
        FlowKind::Goose,
        &["relay1", "s1", "s2", "relay2"],
        40_000,
        (600, 421, 80),
        0,
    ),
    recipe(
        "mms",
        FlowKind::Udp,
        &["relay2", "s3", "s4", "scada"],
        5_000,
        (10_000, 4_200, 260),
        0,
    ),
    recipe(
        "waves",
        FlowKind::Message,
        &["mu1", "s1", "s4", "scada"],
        20_000,
        (50_000, 21_300, 3_400),
        0,
    ),
    recipe(
        "flood",
        FlowKind::BestEffort,
        &["mu2", "s2", "s1", "s4", "scada"],
        1_500,
        (0, 0, 9_000),
        0,
    ),
];

const fn recipe(
    name: &'static str,
    kind: FlowKind,
    route: &'static [&'static str],
    period_us: u64,
    (deadline_us, guarantee_us, fastest_us): (u64, u64, u64),
    outage_us: u64,
) -> Recipe {
    Recipe {
        name,
        kind,
        route,
        detour: &["mu1", "s1", "s4", "s3", "s2", "relay1"],
        period_us,
        deadline_us,
        guarantee_us,
        fastest_us,
        outage_us,
    }
}

/// Returns a report of a run in which every promise held.
pub(crate) fn substation() -> Report {
    report_of(&RECIPES)
}

/// Returns the report of a run in which two promises were broken.
pub(crate) fn broken() -> Report {
    let mut recipes = RECIPES;
    recipes[0].outage_us = 14_000;
    (recipes[3].guarantee_us, recipes[3].deadline_us) = (130, 140);
    report_of(&recipes)
}

/// Returns the report of a run in which a bound did not hold, and every promise did.
pub(crate) fn exceeded() -> Report {
    let mut recipes = RECIPES;
    recipes[3].guarantee_us = 130;
    report_of(&recipes)
}

fn report_of(recipes: &[Recipe]) -> Report {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut recorder = Recorder::new(Instant::ZERO, Settings::default());
    let plans: Vec<FlowPlan> = recipes.iter().map(plan).collect();
    for (recipe, plan) in recipes.iter().zip(&plans) {
        let flow = recorder.add(plan.clone());
        send(&mut recorder, flow, recipe, &mut random);
    }
    let (stalls, interruptions, mut flows) = (stalls(), interruptions(), Vec::new());
    let mut outages = [BTreeMap::new(), BTreeMap::new()];
    for ((recipe, plan), record) in recipes.iter().zip(&plans).zip(recorder.finish()) {
        let amid = Circumstances {
            disturbances: &disturbances(recipe),
            interruptions: &interruptions,
            unseen: &[],
            unseen_at_sender: 0,
            given_up: &[],
            later_guarantees: &[],
            fault_spells: &[],
            bound: Bound::OfProfile,
            overloaded: false,
        };
        let assessment = assess(plan, &record, amid);
        for (outages, outage) in outages.iter_mut().zip(&assessment.outages) {
            if *outage > Duration::ZERO && plan.promise.is_some() {
                outages.insert(recipe.name.to_owned(), outage.as_ns());
            }
        }
        flows.push(FlowReport::observed(
            facts(recipe),
            plan,
            &record,
            &assessment,
        ));
    }
    flows.push(refused());
    Report {
        scenario: "substation".to_owned(),
        title: "Substation bay 1".to_owned(),
        world: "lab".to_owned(),
        seed: 1,
        duration_ns: LENGTH.as_ns(),
        completion: Completion::Complete,
        topology: topology(),
        profiles: Vec::new(),
        discovery: Some(Discovery {
            switches: 4,
            links: 4,
            hosts: 7,
            took_ns: 412_000_000,
        }),
        flows,
        events: events(outages),
        by_hand: Vec::new(),
        platform: platform(&stalls, &interruptions),
        culprits: Vec::new(),
        modes: None,
        room: vec![
            "Every deadline holds if switches take up to 1.4 times as long as stated, latency \
             and frames alike; with more trip may be late first."
                .to_owned(),
        ],
        assumptions: vec![
            "Every sender keeps its token bucket as its frames leave the host.".to_owned(),
            "A switch needs at most 30 µs a frame and handles them one at a time.".to_owned(),
        ],
        versions: BTreeMap::from([("taktos".to_owned(), "0.1.0".to_owned())]),
        machine: None,
    }
}

fn platform(stalls: &Stalls, interruptions: &Interruptions) -> PlatformReport {
    let stamps = "kernel software stamps";
    let mut platform = PlatformReport::watched(stamps, Instant::ZERO, stalls, interruptions);
    let note = "The packet loop spins at nice −20.".to_owned();
    platform.notes.push(note);
    platform
}

fn plan(recipe: &Recipe) -> FlowPlan {
    let promise = Promise {
        guarantee: Duration::from_us(recipe.guarantee_us),
        deadline: Duration::from_us(recipe.deadline_us),
        interruption: Some(Duration::from_ms(10)),
    };
    let regular = recipe.kind == FlowKind::SampledValues;
    FlowPlan {
        receivers: 1,
        promise: (recipe.kind != FlowKind::BestEffort).then_some(promise),
        contract: Some(Contract {
            rate: BitRate::from_mbps(10),
            burst: DataSize::from_bytes(3_000),
        }),
        period: regular.then_some(Duration::from_us(recipe.period_us)),
    }
}

fn send(
    recorder: &mut Recorder,
    flow: crate::FlowIndex,
    recipe: &Recipe,
    random: &mut Xoshiro256PlusPlus,
) {
    let period = Duration::from_us(recipe.period_us);
    let outage = CUT_AT..CUT_AT + Duration::from_us(recipe.outage_us);
    let stalled = STALL.0..STALL.0 + STALL.1;
    for slot in 0..LENGTH / period {
        let sent_at = Instant::ZERO + period * slot;
        recorder.sent(flow, slot, DataSize::from_bytes(144), sent_at);
        let flooded = recipe.kind == FlowKind::BestEffort && random.next_u64().is_multiple_of(60);
        if outage.contains(&sent_at) || flooded {
            continue;
        }
        let mut latency = Duration::from_us(recipe.fastest_us) + jitter(recipe, random);
        if stalled.contains(&sent_at) {
            latency += stalled.end - sent_at;
        }
        recorder.received(flow, ReceiverIndex(0), slot, sent_at + latency);
    }
}

/// Returns what comes on top of the fastest way: often little, seldom much, and
/// less than a half of the guarantee.
fn jitter(recipe: &Recipe, random: &mut Xoshiro256PlusPlus) -> Duration {
    let most_ns = match recipe.guarantee_us {
        0 => 12_000_000,
        _ => RECIPES[0].guarantee_us.min(recipe.guarantee_us.max(400)) * 420,
    };
    let draws = [(); 3].map(|()| random.next_u64() % most_ns);
    Duration::from_ns(draws.into_iter().min().unwrap_or(0))
}

fn disturbances(recipe: &Recipe) -> [Disturbance; 2] {
    let cut = match recipe.outage_us {
        0 => Effect::Harmless,
        _ => Effect::Failure,
    };
    [(CUT_AT, cut), (HEALED_AT, Effect::Harmless)].map(|(at, effect)| Disturbance { at, effect })
}

fn stalls() -> Stalls {
    let mut stalls = Stalls::new(Duration::from_us(200));
    for look in 0..10_000u64 {
        let at = Instant::ZERO + Duration::from_ms(3) * look;
        stalls.look("packet loop", at, at + Duration::from_us(50 + look % 7));
    }
    for taken in interruptions().iter() {
        stalls.look("packet loop", taken.from, taken.to);
    }
    stalls
}

fn interruptions() -> Interruptions {
    let others = [(4_100, 400), (25_900, 750)];
    let others = others.map(|(at_ms, us)| (ms(at_ms), Duration::from_us(us)));
    let all = others.into_iter().chain([STALL]);
    Interruptions::of(all.map(|(from, taken)| Interruption {
        from,
        to: from + taken,
        taken,
    }))
}

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

fn facts(recipe: &Recipe) -> FlowFacts {
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|&name| name.to_owned())
            .collect::<Vec<_>>()
    };
    let (Some((source, rest)), Some(sink)) = (recipe.route.split_first(), recipe.route.last())
    else {
        unreachable!("every recipe has a route")
    };
    FlowFacts {
        name: recipe.name.to_owned(),
        kind: recipe.kind,
        source: (*source).to_owned(),
        destinations: names(&[sink]),
        queue: Some(6),
        protection: "restore".to_owned(),
        path: names(&rest[..rest.len() - 1]),
        routes: vec![names(recipe.route)],
        alternatives: match recipe.outage_us {
            0 => Vec::new(),
            _ => vec![names(recipe.detour)],
        },
        calculation: match recipe.guarantee_us {
            0 => Vec::new(),
            guarantee_us => calculation(recipe.route, guarantee_us * 1_000),
        },
    }
}

fn calculation(route: &[&str], guarantee_ns: u64) -> Vec<CalculationRow> {
    let row = |at: String, term: &str, formula: &str, delay_ns| CalculationRow {
        at,
        term: term.to_owned(),
        formula: formula.to_owned(),
        delay_ns,
    };
    let first = row(
        format!("{} → {}", route[0], route[1]),
        "first link",
        "1152 bit / 100 Mbit/s",
        11_520,
    );
    let rest = guarantee_ns - 11_520;
    vec![
        first,
        row(
            route[1].to_owned(),
            "processing",
            "30 µs + 12 frames · 2.5 µs",
            rest / 4,
        ),
        row(
            format!("{} → {}", route[1], route[2]),
            "port, queue 6",
            "(Σ bursts + largest lower frame) / 100 Mbit/s",
            rest - rest / 4,
        ),
    ]
}

fn refused() -> FlowReport {
    let facts = FlowFacts {
        name: "archive".to_owned(),
        kind: FlowKind::Udp,
        source: "relay3".to_owned(),
        destinations: vec!["scada".to_owned()],
        queue: Some(3),
        protection: "none".to_owned(),
        path: Vec::new(),
        routes: Vec::new(),
        alternatives: Vec::new(),
        calculation: Vec::new(),
    };
    let reason = "link s2-s3 has 8.2 of the 20 Mbit/s left for its class; 8.2 would fit";
    FlowReport::refused(facts, reason.to_owned(), Some(Duration::from_ms(50)))
}

fn topology() -> Topology {
    let node = |kind| {
        move |name: &&str| NodeReport {
            name: (*name).to_owned(),
            kind,
            position: None,
        }
    };
    let switches = ["s1", "s2", "s3", "s4"];
    let hosts = ["mu1", "relay1", "mu2", "relay2", "mu3", "relay3", "scada"];
    let links = [
        ("s1", "s2"),
        ("s2", "s3"),
        ("s3", "s4"),
        ("s4", "s1"),
        ("mu1", "s1"),
        ("relay1", "s1"),
        ("mu2", "s2"),
        ("relay2", "s2"),
        ("mu3", "s3"),
        ("relay3", "s4"),
        ("scada", "s4"),
    ];
    let nodes = switches.iter().map(node(NodeKind::Switch));
    Topology {
        nodes: nodes
            .chain(hosts.iter().map(node(NodeKind::Host)))
            .collect(),
        links: links
            .iter()
            .map(|(a, b)| LinkReport {
                name: format!("{a}-{b}"),
                a: (*a).to_owned(),
                b: (*b).to_owned(),
                rate_bps: 100_000_000,
            })
            .collect(),
    }
}

fn events([cut, healed]: [BTreeMap<String, u64>; 2]) -> Vec<EventReport> {
    let event = |at: Instant, kind, outage_ns, restoration| EventReport {
        at_ns: at.as_ns(),
        kind,
        target: "s1-s2".to_owned(),
        outage_ns,
        restoration,
        is_by_hand: false,
    };
    let restoration = Restoration {
        detection_ns: 1_720_000,
        controller_ns: 96_000,
        programming_ns: 480_000,
        flows: 3,
        flow_mods: 7,
    };
    vec![
        event(CUT_AT, EventKind::Cut, cut, Some(restoration)),
        event(HEALED_AT, EventKind::Heal, healed, None),
    ]
}
