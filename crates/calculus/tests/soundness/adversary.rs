//! Restored messages, second copies and failures, with frames in flight on both trees,
//! and an adversary who steers the phases of senders and the moments of changes towards
//! the bounds.
//!
//! First everything is drawn. Then a port that several flows reach is the target, and
//! again and again each source that reaches it is shifted so that the first of its frames
//! comes there when the others' do, or a phase, a kind of frames, or the moment of a
//! change is drawn anew. What comes nearer to the bound of the port is kept.
//! `cargo xtask promises` asks more of it; `TAKTOS_SEED=… cargo test` shows one again.

use std::ops::Range;

use calculus::admission::{
    Admitted, Background, FailureScope, Headroom, Ledger, Request, Stage, suggest_budgets,
};
use units::Delay;

use super::modes;
use super::simulation::{self, Conditions, Observation};
use super::wiring::{Shape, Wiring};
use super::{Prng, SENDING_PS, Sending, conditions, detours, emissions_of, hold_guarantee, id};

/// Networks in a run of the tests.
const RUNS: u64 = 100;
/// Attempts to come nearer to a bound, in each network.
const ATTEMPTS: u32 = 16;
/// How the switches of a network are wired.
pub const SHAPES: [Shape; 5] = [
    Shape::Ring,
    Shape::Tandem,
    Shape::Tree,
    Shape::Mesh,
    Shape::Torus,
];

/// What was found in networks.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    networks: u64,
    /// Those with frames in flight on a base tree and an alternative, and with copies.
    with_detours: u64,
    with_copies: u64,
    /// The nearest to the bound of a target, in thousandths.
    nearest: u64,
    /// How near it was before it was steered, and after, in thousandths; of all
    /// networks together.
    drawn: u64,
    steered: u64,
}

#[test]
fn no_frame_is_later_than_promised_while_flows_move() {
    let found = attack(seeds(RUNS));

    println!("{found:?}");
    // Bounds that nothing comes near would pass as well, and so would a search that
    // finds nothing.
    assert!(found.networks > RUNS / 2, "{found:?}");
    assert!(found.with_detours > RUNS / 8, "{found:?}");
    assert!(found.with_copies > RUNS / 8, "{found:?}");
    assert!(found.nearest >= 900, "{found:?}");
    assert!(found.steered > found.drawn + found.drawn / 10, "{found:?}");
}

/// The same for as long as somebody wants to wait.
#[test]
#[ignore = "takes long: cargo xtask promises"]
#[expect(clippy::disallowed_methods, reason = "is told how much to do")]
fn of_many_networks_none_breaks_a_promise() {
    let number = |name| std::env::var(name).map_or(0, |it| it.parse().expect("a number"));
    let (first, networks) = (number("TAKTOS_FIRST"), number("TAKTOS_NETWORKS"));
    let half = first + networks / 2;
    let attack = |seeds: Range<u64>| {
        let changed = seeds.clone().filter_map(modes::change_modes).count();
        (attack(seeds), changed)
    };
    let found = std::thread::scope(|scope| {
        let other = scope.spawn(|| attack(half..first + networks));
        let found = attack(first..half);
        [found, other.join().expect("no promise broken")]
    });
    for (found, changed) in found {
        println!("{found:?}, and {changed} networks whose mode changed");
    }
}

#[expect(clippy::disallowed_methods, reason = "replays one seed")]
pub fn seeds(runs: u64) -> Range<u64> {
    match std::env::var("TAKTOS_SEED") {
        Ok(seed) => {
            let seed = seed.parse().expect("a number");
            seed..seed + 1
        }
        Err(_) => 0..runs,
    }
}

fn attack(seeds: Range<u64>) -> Found {
    let mut found = Found::default();
    for seed in seeds {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        let mut random = Prng::new(seed);
        let shape = SHAPES[random.index_below(5)];
        let wiring = Wiring::draw(shape, &mut random);
        let stages = wiring.stages(&mut random);
        let flows: Vec<_> = (0..2 + random.below(12))
            .map(|_| match random.below(3) {
                0 => wiring.flow(&mut random),
                _ => wiring.messages(&mut random),
            })
            .collect();
        attack_network(&stages, &flows, &mut random, &mut found);
    }
    found
}

/// What the adversary chooses.
#[derive(Clone)]
struct Attack {
    sendings: Vec<Sending>,
    conditions: Conditions,
    /// What frames of mixed sizes follow from.
    seed: u64,
}

/// What is attacked.
struct Target<'a> {
    stages: &'a [Stage],
    flows: &'a [Request],
    admitted: Vec<Admitted>,
    unbroken: Now,
    any_failure: Now,
    /// The port to whose bound frames shall come near.
    port: usize,
}

/// What is met with these flows.
struct Now {
    at_stages: Background,
    /// What each flow meets.
    met: Vec<Delay>,
}

impl Now {
    fn of(ledger: &Ledger, network: FailureScope) -> Self {
        let at_stages = Background::of(ledger, network);
        let met = ledger
            .ids()
            .map(|flow| at_stages.of_flow(ledger, flow).unwrap().delay);
        Self {
            met: met.collect(),
            at_stages,
        }
    }
}

fn attack_network(stages: &[Stage], flows: &[Request], random: &mut Prng, found: &mut Found) {
    let percent = u32::try_from(random.below(2) * 10).unwrap();
    let Some(stages) = suggest_budgets(stages, &[], flows, Headroom { percent }) else {
        return;
    };
    let mut ledger = Ledger::new(stages.clone());
    let admitted = flows
        .iter()
        .map(|flow| ledger.admit(flow.clone()).unwrap())
        .collect();
    let target = Target {
        unbroken: Now::of(&ledger, FailureScope::Unbroken),
        any_failure: Now::of(&ledger, FailureScope::AnyFailure),
        port: shared_port(&stages, flows, random),
        stages: &stages,
        flows,
        admitted,
    };
    let mut best = Attack::draw(&target, random);
    let (mut nearest, mut arrivals) = best.carry_out(&target);
    found.networks += 1;
    found.with_detours += u64::from(best.conditions.detours.iter().any(Option::is_some));
    found.with_copies += u64::from(flows.iter().any(|flow| flow.redundant.is_some()));
    found.drawn += nearest;
    for _ in 0..ATTEMPTS {
        let mut attack = best.clone();
        match random.below(3) {
            0 => attack.align(&arrivals, target.port, random),
            _ => attack.change_something(&target, random),
        }
        let (reached, took) = attack.carry_out(&target);
        if reached >= nearest {
            (best, nearest, arrivals) = (attack, reached, took);
        }
    }
    found.nearest = found.nearest.max(nearest);
    found.steered += nearest;
}

/// Returns one of the ports that several flows may reach, or the first port.
fn shared_port(stages: &[Stage], flows: &[Request], random: &mut Prng) -> usize {
    let reaches = |flow: &Request, port: usize| {
        let others = flow.alternatives.iter().map(|(_, tree)| tree);
        let copies = flow.redundant.iter().map(|redundant| &redundant.tree);
        let mut trees = std::iter::once(&flow.base).chain(others).chain(copies);
        trees.any(|tree| {
            tree.hops
                .iter()
                .any(|hop| hop.stage == id(port.try_into().unwrap()))
        })
    };
    let is_port = |at: &usize| matches!(stages[*at], Stage::Port { .. });
    let ports = (0..stages.len()).filter(is_port);
    let shared: Vec<usize> = ports
        .clone()
        .filter(|port| flows.iter().filter(|flow| reaches(flow, *port)).count() > 1)
        .collect();
    match u64::try_from(shared.len()).unwrap() {
        0 => ports.clone().next().unwrap(),
        several => shared[random.index_below(several)],
    }
}

/// How long the first frame of each flow took to each stage, if it came there.
type Arrivals = Vec<Vec<Option<u64>>>;

impl Attack {
    fn draw(target: &Target<'_>, random: &mut Prng) -> Self {
        let phase_most = [1, 50_000_000, 2_000_000_000][random.index_below(3)];
        let mut conditions = conditions(target.stages, target.flows, random);
        if random.below(2) == 0 {
            conditions.detours = detours(target.flows, random.below(SENDING_PS / 4), random);
        }
        Self {
            sendings: target
                .flows
                .iter()
                .map(|_| Sending::draw(phase_most, random))
                .collect(),
            conditions,
            seed: random.below(u64::MAX),
        }
    }

    /// Has the first frames of all flows that reach a stage come there together.
    fn align(&mut self, arrivals: &Arrivals, stage: usize, random: &mut Prng) {
        let of_stage = || arrivals.iter().map(|of_flow| of_flow[stage]);
        let latest = of_stage().flatten().max().unwrap_or_default();
        let later = random.below(1_000_000_000);
        for (sending, took) in self.sendings.iter_mut().zip(of_stage()) {
            if let Some(took) = took {
                sending.phase_ps = latest - took + later;
            }
        }
    }

    fn change_something(&mut self, target: &Target<'_>, random: &mut Prng) {
        let flow = random.index_below(target.flows.len().try_into().unwrap());
        match random.below(6) {
            0 => self.sendings[flow] = Sending::draw(2_000_000_000, random),
            1 => self.sendings[flow].phase_ps += random.below(100_000_000),
            2 => self.conditions.processors_hesitate ^= true,
            3 => {
                let drawn = conditions(target.stages, target.flows, random);
                self.conditions.flood_phase_ps = drawn.flood_phase_ps;
            }
            _ => {
                // Soon after a burst began, so that its frames are under way.
                let begun = self.sendings[flow].phase_ps;
                let from_ps = begun + random.below(4_000_000_000);
                self.conditions.detours = detours(target.flows, from_ps, random);
            }
        }
    }

    /// Runs it, holds all that is observed against what was promised, and returns how
    /// near a frame came to the bound of the target, in thousandths.
    fn carry_out(&self, target: &Target<'_>) -> (u64, Arrivals) {
        let Target { stages, flows, .. } = *target;
        let mut random = Prng::new(self.seed);
        let emissions = emissions_of(flows, &self.sendings, &mut random);
        let now = match self.conditions.detours.iter().any(Option::is_some) {
            true => &target.any_failure,
            false => &target.unbroken,
        };
        let mut nearest = 0;
        let mut arrivals: Arrivals = vec![vec![None; stages.len()]; flows.len()];
        let observe = |observation| match observation {
            Observation::Came {
                flow, stage, after, ..
            } => {
                arrivals[flow][stage].get_or_insert(after.as_ps());
            }
            Observation::Left {
                flow,
                stage,
                sojourn,
            } => {
                let class = flows[flow].class;
                let budget = stages[stage].budget(class).unwrap();
                assert!(sojourn <= budget, "{sojourn} at {stage}, budget {budget}");
                let now = now.at_stages.at(id(stage.try_into().unwrap()), class);
                assert!(sojourn <= now, "{sojourn} at {stage}, now {now}");
                if stage == target.port {
                    nearest = nearest.max(sojourn.as_ps() * 1_000 / now.as_ps());
                }
            }
            received @ Observation::Received { flow, latency, .. } => {
                hold_guarantee(&received, flows, &target.admitted, &self.conditions.detours);
                let met = now.met[flow];
                assert!(latency <= met, "{latency}, met {met}");
            }
        };
        simulation::run(stages, flows, &emissions, &self.conditions, observe);
        (nearest, arrivals)
    }
}
