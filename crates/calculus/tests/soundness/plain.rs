//! A plain total flow analysis, apart from the admission that is held against it.
//!
//! It shares with the crate the description of stages and flows and the formulas of the
//! textbook (NC section 1.3), in floating point, microseconds and bits: greedy bursts
//! that grow with the delay before, one frame of a lower class in the way, nothing known
//! of links or peaks, iterated until nothing changes. A flow with other ways is on all of
//! them after a failure, as late as the later one where they meet; of one with two copies
//! each is a flow, and behind the switch that drops one of them the later one.

use std::collections::{BTreeMap, BTreeSet};

use calculus::admission::{CLASSES, FailureId, Request, Stage, Tree};

/// How often delays are grown before it is called hopeless.
const ROUNDS: u32 = 5_000;
/// Delays that change by less do not change.
const GRAIN_US: f64 = 1e-6;
/// What is in time by less than this is left to rounding.
const ROUNDING_US: f64 = 0.1;

/// How long frames of each class are at each stage, in microseconds.
type Delays = Vec<[f64; CLASSES]>;

/// A copy of a flow at a stage: how late its frames come there at most, by failure; where
/// nothing stands for a failure it is as while nothing is broken.
#[derive(Default)]
struct Comings {
    always: Vec<(usize, f64)>,
    after: BTreeMap<FailureId, Vec<(usize, f64)>>,
    /// The latest at a receiver, on any way.
    latest: f64,
}

/// Returns whether all flows are proven to be in time, each by its deadline.
pub fn proves(stages: &[Stage], flows: &[&Request]) -> bool {
    let failures: BTreeSet<FailureId> = flows
        .iter()
        .flat_map(|flow| flow.alternatives.iter().map(|(failure, _)| *failure))
        .collect();
    let cases: Vec<_> = std::iter::once(None)
        .chain(failures.into_iter().map(Some))
        .collect();
    let mut delays: Delays = vec![[0.0; CLASSES]; stages.len()];
    for _ in 0..ROUNDS {
        let comings: Vec<_> = flows
            .iter()
            .map(|flow| comings(stages, &delays, flow))
            .collect();
        let late = |(flow, coming): (&&Request, &Comings)| {
            coming.latest > us(flow.deadline.as_ps()) - ROUNDING_US
        };
        if flows.iter().zip(&comings).any(late) {
            return false;
        }
        let mut next = delays.clone();
        for case in &cases {
            let Some(met) = met(stages, flows, &comings, *case) else {
                return false;
            };
            let met = met.iter().flatten();
            for (delay, met) in next.iter_mut().flatten().zip(met) {
                *delay = delay.max(*met);
            }
        }
        let moved = |(old, new): (&f64, &f64)| new - old > GRAIN_US;
        if !delays
            .iter()
            .flatten()
            .zip(next.iter().flatten())
            .any(moved)
        {
            return true;
        }
        delays = next;
    }
    false
}

/// Returns how many of `flows` are proven, taken in turn as long as those taken are, and
/// which.
pub fn taken_in_turn<'a>(stages: &[Stage], flows: &'a [Request]) -> Vec<&'a Request> {
    let mut taken: Vec<&Request> = Vec::new();
    for flow in flows {
        taken.push(flow);
        if !proves(stages, &taken) {
            taken.pop();
        }
    }
    taken
}

fn us(ps: u64) -> f64 {
    ps as f64 / 1e6
}

fn index(stage: u32) -> usize {
    usize::try_from(stage).expect("a stage number fits an address")
}

/// How late frames come to the hops of a tree, and to its receivers.
fn lateness(
    stages: &[Stage],
    delays: &Delays,
    flow: &Request,
    tree: &Tree,
    join: impl Fn(usize, f64) -> f64,
) -> (Vec<(usize, f64)>, f64) {
    let behind = |(stage, late): (usize, f64)| {
        let delay = delays[stage][usize::from(flow.class)];
        late + delay + us(stages[stage].propagation().as_ps())
    };
    let mut late: Vec<(usize, f64)> = Vec::new();
    for hop in &tree.hops {
        let stage = index(hop.stage.0);
        let before = hop
            .parent
            .map_or(us(flow.initial.as_ps()), |at| behind(late[at]));
        late.push((stage, join(stage, before)));
    }
    let latest = late.iter().map(|at| behind(*at)).fold(0.0, f64::max);
    (late, latest)
}

/// Returns when a flow comes where.
fn comings(stages: &[Stage], delays: &Delays, flow: &Request) -> Comings {
    let on = |tree, join: &dyn Fn(usize, f64) -> f64| lateness(stages, delays, flow, tree, join);
    let alone = |_, late| late;
    let (base, mut latest) = on(&flow.base, &alone);
    let later = |known: &[(usize, f64)]| {
        let known: BTreeMap<usize, f64> = known.iter().copied().collect();
        move |stage, late: f64| known.get(&stage).map_or(late, |other| late.max(*other))
    };
    let mut after = BTreeMap::new();
    for (failure, tree) in &flow.alternatives {
        let (other, latest_there) = on(tree, &later(&base));
        let (mut all, latest_here) = on(&flow.base, &later(&other));
        latest = latest.max(latest_there).max(latest_here);
        let of_base: BTreeSet<usize> = all.iter().map(|(stage, _)| *stage).collect();
        all.extend(other.iter().filter(|(stage, _)| !of_base.contains(stage)));
        after.insert(*failure, all);
    }
    let mut always = base;
    if let Some(redundant) = &flow.redundant {
        let eliminator = redundant.eliminator.map(|at| index(at.0));
        let (second, _) = on(&redundant.tree, &alone);
        let at_eliminator = |of: &[(usize, f64)]| {
            let found = of.iter().find(|(stage, _)| Some(*stage) == eliminator);
            found.map_or(0.0, |(_, late)| *late)
        };
        let both = at_eliminator(&always).max(at_eliminator(&second)) + us(redundant.hold.as_ps());
        let join = |stage, late| match Some(stage) == eliminator {
            true => both,
            false => late,
        };
        let (joined, latest_first) = on(&flow.base, &join);
        let (_, latest_second) = on(&redundant.tree, &join);
        latest = latest_first.max(latest_second);
        // Before it is doubled and behind the eliminator a frame is one.
        let trees = (&flow.base, &redundant.tree);
        let single = single(trees, eliminator);
        always = joined;
        let copies = second.iter().filter(|(stage, _)| !single.contains(stage));
        always.extend(copies);
    }
    Comings {
        always,
        after,
        latest,
    }
}

/// Returns the stages that a frame of two copies passes once.
fn single((one, other): (&Tree, &Tree), eliminator: Option<usize>) -> BTreeSet<usize> {
    let stages = |tree: &Tree| tree.hops.iter().map(|hop| index(hop.stage.0)).collect();
    let (one, other): (Vec<usize>, Vec<usize>) = (stages(one), stages(other));
    let together = one
        .iter()
        .zip(&other)
        .take_while(|(one, other)| one == other);
    let mut single: BTreeSet<usize> = together.map(|(stage, _)| *stage).collect();
    if let Some(at) = one.iter().position(|stage| Some(*stage) == eliminator) {
        single.extend(&one[at + 1..]);
    }
    single
}

/// Returns how long frames are at each stage in one case; nothing if there is no bound.
fn met(
    stages: &[Stage],
    flows: &[&Request],
    comings: &[Comings],
    case: Option<FailureId>,
) -> Option<Delays> {
    let mut bits = vec![[(0.0, 0.0, 0.0f64); CLASSES]; stages.len()];
    let mut frames = vec![(0.0, 0.0); stages.len()];
    for (flow, coming) in flows.iter().zip(comings) {
        let (rate, burst) = (flow.rate.as_bps() as f64 / 1e6, flow.burst.as_bits() as f64);
        let smallest = flow.smallest_frame.as_bits() as f64;
        let (frame_rate, frame_burst) = match flow.frames {
            Some(it) => (it.rate_per_second as f64 / 1e12, it.burst as f64 / 1e6),
            None => (rate / smallest, burst / smallest),
        };
        let after = case.and_then(|failure| coming.after.get(&failure));
        for (stage, late) in after.unwrap_or(&coming.always) {
            let class = &mut bits[*stage][usize::from(flow.class)];
            let largest = class.2.max(flow.largest_frame.as_bits() as f64);
            *class = (class.0 + rate, class.1 + burst + rate * late, largest);
            let of_stage = &mut frames[*stage];
            of_stage.0 += frame_rate;
            of_stage.1 += frame_burst + frame_rate * late;
        }
    }
    let delays = stages.iter().zip(bits.iter().zip(&frames));
    delays
        .map(|(stage, (bits, frames))| match stage {
            Stage::Processing {
                latency, per_frame, ..
            } => {
                let (latency, per_frame) = (us(latency.as_ps()), us(per_frame.as_ps()));
                let keeps_up = frames.0 * per_frame <= 1.0;
                keeps_up.then_some([latency + frames.1 * per_frame; CLASSES])
            }
            Stage::Port {
                rate,
                largest_frame,
                ..
            } => {
                let link = rate.as_bps() as f64 / 1e6;
                of_port(link, largest_frame.as_bits() as f64, bits)
            }
        })
        .collect()
}

/// Returns how long frames of each class are at a port.
fn of_port(
    link: f64,
    unpromised: f64,
    bits: &[(f64, f64, f64); CLASSES],
) -> Option<[f64; CLASSES]> {
    let mut delays = [0.0; CLASSES];
    for class in (0..CLASSES).filter(|class| bits[*class].0 > 0.0) {
        let above: f64 = bits[class + 1..].iter().map(|it| it.0).sum();
        if above + bits[class].0 > link {
            return None;
        }
        let burst: f64 = bits[class..].iter().map(|it| it.1).sum();
        let blocking = bits[..class]
            .iter()
            .map(|it| it.2)
            .fold(unpromised, f64::max);
        delays[class] = (burst + blocking) / (link - above);
    }
    Some(delays)
}
