//! Flows that come and go while frames are under way, with budgets that follow them.
//!
//! Flows are asked for, refitted around and stopped at drawn moments, and what a stopped
//! flow had reserved is given back when the ledger says that nothing of it plays a role
//! any more. Then their sources send, each while it is promised something, and every frame
//! is held against the budgets at the moment at which it leaves a stage, and against the
//! guarantee of its flow when it arrives.

use calculus::admission::{FlowId, Ledger, Request, Spare, Stage};
use units::Delay;

use super::adversary::{SHAPES, seeds};
use super::one_truth::{admit, open};
use super::simulation::{self, Conditions, Emission, Observation};
use super::wiring::Wiring;
use super::{Prng, conditions, emissions_over, percent_of};

/// Networks in a run of the tests.
const RUNS: u64 = 150;
/// For how long flows come and go.
const COMING_PS: u64 = 60_000_000_000;
/// Moments at which something is asked for or stopped.
const MOMENTS: u64 = 24;

/// What held from a moment on.
struct Epoch {
    from_ps: u64,
    stages: Vec<Stage>,
    /// The guarantee of each flow that has reserved something, by its place.
    guarantees: Vec<Option<Delay>>,
}

/// Flows that came and went.
struct History {
    flows: Vec<Request>,
    /// From when to when each sends.
    sending: Vec<(u64, u64)>,
    epochs: Vec<Epoch>,
    found: Found,
}

/// What was found.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    flows: usize,
    given_back: usize,
    /// Changes by which a budget became smaller, or larger, with frames under way.
    smaller: usize,
    larger: usize,
    frames: usize,
    nearest_percent: u64,
}

/// When what a stopped flow has reserved is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Back {
    /// When nothing of it plays a role.
    WhenQuiet,
    /// As soon as it has stopped: too early.
    AtOnce,
}

#[test]
fn no_frame_is_above_a_guarantee_while_budgets_change() {
    let mut found = Found::default();
    for seed in seeds(RUNS) {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        let history = History::draw(seed, Back::WhenQuiet);
        if let Some(excess) = history.run(seed, &mut found) {
            panic!("{excess}");
        }
    }
    println!("{found:?}");
    let runs = usize::try_from(RUNS).unwrap();
    assert!(
        found.flows > 5 * runs && found.given_back > runs / 4,
        "{found:?}"
    );
    assert!(found.smaller > runs && found.larger > 2 * runs, "{found:?}");
    assert!(found.nearest_percent >= 90, "{found:?}");
}

/// Fails where nobody waits: otherwise the test above would say nothing of the wait.
#[test]
fn a_room_given_back_at_once_breaks_a_promise() {
    let mut found = Found::default();
    let mut excesses = (0..RUNS).filter_map(|seed| {
        let history = History::draw(seed, Back::AtOnce);
        history.run(seed, &mut found)
    });
    assert!(excesses.next().is_some());
}

impl History {
    fn draw(seed: u64, back: Back) -> Self {
        let mut random = Prng::new(seed);
        let wiring = Wiring::draw(SHAPES[random.index_below(5)], &mut random);
        let mut stages = wiring.stages(&mut random);
        for stage in &mut stages {
            open(stage, None);
            if let Stage::Processing { latency, .. } = stage {
                *latency = (*latency).min(Delay::from_us(50));
            }
        }
        let spare = [Spare::None, Spare::None, Spare::Shared][random.index_below(3)];
        let mut coming = Coming {
            ledger: Ledger::fitted(stages, spare),
            ids: Vec::new(),
            leaving: Vec::new(),
            back,
            history: Self {
                flows: Vec::new(),
                sending: Vec::new(),
                epochs: Vec::new(),
                found: Found::default(),
            },
        };
        for moment in 0..MOMENTS {
            let now = moment * COMING_PS / MOMENTS + random.below(COMING_PS / MOMENTS);
            coming.give_back(now);
            match random.below(3) {
                0 => coming.stop_one(now, &mut random),
                _ => coming.ask(now, &wiring, &mut random),
            }
        }
        coming.give_back(COMING_PS);
        coming.history
    }

    /// Has the sources send, and returns what was above a guarantee, if anything was.
    fn run(self, seed: u64, found: &mut Found) -> Option<String> {
        let mut random = Prng::new(seed + 1_000_000);
        let first = self.epochs.first()?;
        let emissions: Vec<Emission> = emissions_over(&self.flows, &self.sending, &mut random);
        let conditions = Conditions {
            detours: Vec::new(),
            outage: None,
            ..conditions(&first.stages, &self.flows, &mut random)
        };
        found.flows += self.flows.len();
        found.given_back += self.found.given_back;
        found.smaller += self.found.smaller;
        found.larger += self.found.larger;
        found.frames += emissions.len();
        let mut excess = None;
        let observe = |now, observation| {
            let (what, took, allowed) = match observation {
                Observation::Came { .. } => return,
                Observation::Left {
                    flow,
                    stage,
                    sojourn,
                } => {
                    let stages = &self.at(now).stages;
                    let budget = stages[stage].budget(self.flows[flow].class);
                    (format!("at stage {stage}"), sojourn, budget)
                }
                Observation::Received { flow, latency, .. } => {
                    let guarantee = self.at(now).guarantees[flow];
                    (format!("of flow {flow}"), latency, guarantee)
                }
            };
            let allowed = allowed.unwrap_or_default();
            if took > allowed && excess.is_none() {
                excess = Some(format!("{took} {what} at {now} ps, where {allowed} holds"));
            }
            let percent = percent_of(took, allowed.max(Delay::from_ps(1)));
            found.nearest_percent = found.nearest_percent.max(percent.min(100));
        };
        let stages = &first.stages;
        simulation::run_timed(stages, &self.flows, &emissions, &conditions, observe);
        excess
    }

    /// Returns what holds at a time.
    fn at(&self, now: u64) -> &Epoch {
        let after = self.epochs.partition_point(|epoch| epoch.from_ps <= now);
        &self.epochs[after.saturating_sub(1)]
    }
}

/// A ledger, and what has come and gone.
struct Coming {
    ledger: Ledger,
    /// The flows that have reserved something, by their places.
    ids: Vec<Option<FlowId>>,
    /// Flows that have stopped, and when.
    leaving: Vec<(usize, u64)>,
    back: Back,
    history: History,
}

impl Coming {
    fn ask(&mut self, now: u64, wiring: &Wiring, random: &mut Prng) {
        let mut flow = match random.below(3) {
            0 => wiring.flow(random),
            _ => wiring.messages(random),
        };
        flow.deadline = Delay::from_us(2_000 + random.below(30_000));
        let Some(admitted) = admit(&mut self.ledger, &flow) else {
            return;
        };
        self.ids.push(Some(admitted));
        self.history.flows.push(flow);
        self.history.sending.push((now, COMING_PS));
        self.begin(now);
    }

    fn stop_one(&mut self, now: u64, random: &mut Prng) {
        let sends = |at: &usize| self.history.sending[*at].1 == COMING_PS;
        let sending: Vec<usize> = (0..self.ids.len()).filter(sends).collect();
        if sending.is_empty() {
            return;
        }
        let at = sending[random.index_below(sending.len().try_into().unwrap())];
        self.history.sending[at].1 = now;
        self.leaving.push((at, now));
        self.give_back(now);
    }

    /// Gives back what nothing needs any more, and has budgets chosen without it.
    fn give_back(&mut self, now: u64) {
        let leaving = std::mem::take(&mut self.leaving);
        for (at, since) in leaving {
            let id = self.ids[at].expect("it has reserved something");
            let quiet = match self.back {
                Back::WhenQuiet => self.ledger.quiet_after(&[id]),
                Back::AtOnce => Some(Delay::ZERO),
            };
            if quiet.is_none_or(|quiet| since + quiet.as_ps() > now) {
                self.leaving.push((at, since));
                continue;
            }
            self.ledger.withdraw(id);
            self.ids[at] = None;
            self.history.found.given_back += 1;
            self.ledger.prepare(&[]);
            self.begin(now);
        }
    }

    /// Notes what holds from now on.
    fn begin(&mut self, from_ps: u64) {
        let guarantees = self.ids.iter();
        let guarantees = guarantees.map(|id| id.and_then(|id| self.ledger.guarantee_of(id)));
        let epoch = Epoch {
            from_ps,
            guarantees: guarantees.collect(),
            stages: self.ledger.stages().to_vec(),
        };
        let Found {
            smaller, larger, ..
        } = &mut self.history.found;
        if let Some(before) = self.history.epochs.last() {
            let (mut less, mut more) = (false, false);
            for (old, new) in before.stages.iter().zip(&epoch.stages) {
                less |= (1..8).any(|class| new.budget(class) < old.budget(class));
                more |= (1..8).any(|class| new.budget(class) > old.budget(class));
            }
            *smaller += usize::from(less);
            *larger += usize::from(more);
        }
        self.history.epochs.push(epoch);
    }
}
