//! Compares what an adversary has found in a network with what each method
//! promises.

use std::fmt;

use calculus::analysis::{
    Analysis, FlowBound, FlowId, HopBound, NotApplicable, ServerGraph, ServerId,
};
use units::fine::{Data, Time};

use super::adversary::{self, Effort};
use super::family::{self, Family};
use super::observed::ObservedMaxima;

/// The name of the least of several methods.
pub const BEST: &str = "best";

pub type Analyze = fn(&ServerGraph) -> Result<Analysis, NotApplicable>;

/// A method, and how often it is asked.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub name: &'static str,
    pub analyze: Analyze,
    /// It is asked about one network in so many, since some are slow.
    pub one_in: u64,
    /// Whether `best` has to be as good.
    pub in_best: bool,
}

/// What is compared, and how hard is looked.
#[derive(Clone, Debug)]
pub struct Check {
    pub candidates: Vec<Candidate>,
    /// The effort of the adversary.
    pub effort: Effort,
    /// What share of each bound is compared, in percent: 100, unless the check
    /// itself is checked.
    pub share_percent: u64,
}

/// What came of one network.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The seed of the network.
    pub seed: u64,
    pub family: Family,
    pub network: ServerGraph,
    /// What was seen, unless the network cannot be simulated.
    pub observed: Option<ObservedMaxima>,
    /// What the methods say, those that were asked.
    pub answers: Vec<MethodAnswer>,
    /// Where more was seen than was promised.
    pub violations: Vec<Violation>,
}

/// What a method says of a network.
#[derive(Clone, Debug)]
pub struct MethodAnswer {
    pub candidate: Candidate,
    /// Its bounds, or why it has none.
    pub analysis: Result<Analysis, NotApplicable>,
}

/// Something that a method promised and a run has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The seed of the network.
    pub seed: u64,
    pub method: &'static str,
    pub flow: FlowId,
    pub promise: CheckedPromise,
}

/// A bound, and what exceeds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckedPromise {
    /// The delay of the flow, from end to end.
    Delay { bound: Time, observed: Time },
    /// The delay of the flow at a server.
    HopDelay {
        server: ServerId,
        bound: Time,
        observed: Time,
    },
    /// What the flow has in the network.
    Backlog { bound: Data, observed: Data },
    /// What all flows have at a server.
    ServerBacklog {
        server: ServerId,
        bound: Data,
        observed: Data,
    },
    /// The least of all bounds is not the least.
    Least {
        /// What `best` says.
        best: Option<Time>,
        other: Time,
    },
}

impl Check {
    /// Draws the network of a seed, looks for the worst, and compares.
    #[must_use]
    pub fn run(&self, seed: u64) -> Outcome {
        let drawn = family::draw(seed);
        let observed = adversary::search(&drawn.network, self.effort, seed);
        let asked = self
            .candidates
            .iter()
            .filter(|it| seed.is_multiple_of(it.one_in));
        let answers: Vec<_> = asked
            .map(|it| MethodAnswer {
                candidate: *it,
                analysis: (it.analyze)(&drawn.network),
            })
            .collect();
        let mut violations = Vec::new();
        for answer in &answers {
            let Ok(analysis) = &answer.analysis else {
                continue;
            };
            if let Some(observed) = &observed {
                let mut comparison = Comparison {
                    seed,
                    method: answer.candidate.name,
                    share_percent: self.share_percent,
                    observed,
                    violations: &mut violations,
                };
                comparison.compare(&drawn.network, analysis);
            }
        }
        violations.extend(not_the_least(seed, &answers));
        Outcome {
            seed,
            family: drawn.family,
            network: drawn.network,
            observed,
            answers,
            violations,
        }
    }
}

/// One analysis beside what was seen.
struct Comparison<'a> {
    seed: u64,
    method: &'static str,
    share_percent: u64,
    observed: &'a ObservedMaxima,
    violations: &'a mut Vec<Violation>,
}

impl Comparison<'_> {
    fn compare(&mut self, network: &ServerGraph, analysis: &Analysis) {
        assert_eq!(
            analysis.flows.len(),
            network.flows().len(),
            "seed {}: {} bounds each flow",
            self.seed,
            self.method,
        );
        for (flow, bound) in network.flows().zip(&analysis.flows) {
            self.compare_flow(flow, bound);
            for hop in &bound.hops {
                self.compare_hop(network, flow, hop);
            }
        }
    }

    fn compare_flow(&mut self, flow: FlowId, promised: &FlowBound) {
        let observed = self.observed.delays[flow.index()];
        if let Some(bound) = promised.delay.map(|it| self.share_of_time(it))
            && observed > bound
        {
            self.note(flow, CheckedPromise::Delay { bound, observed });
        }
        let observed = self.observed.backlogs[flow.index()];
        if let Some(bound) = promised.backlog.map(|it| self.share_of_data(it))
            && observed > bound
        {
            self.note(flow, CheckedPromise::Backlog { bound, observed });
        }
    }

    fn compare_hop(&mut self, network: &ServerGraph, flow: FlowId, promised: &HopBound) {
        let server = promised.server;
        let path = network.path(flow);
        let hop = path.iter().position(|it| *it == server);
        let hop = hop.expect("a bound of a hop is of a server on the path");
        let observed = self.observed.hop_delays[flow.index()][hop];
        if let Some(bound) = promised.delay.map(|it| self.share_of_time(it))
            && observed > bound
        {
            self.note(
                flow,
                CheckedPromise::HopDelay {
                    server,
                    bound,
                    observed,
                },
            );
        }
        let observed = self.observed.server_backlogs[server.index()];
        if let Some(bound) = promised.backlog.map(|it| self.share_of_data(it))
            && observed > bound
        {
            self.note(
                flow,
                CheckedPromise::ServerBacklog {
                    server,
                    bound,
                    observed,
                },
            );
        }
    }

    fn note(&mut self, flow: FlowId, promise: CheckedPromise) {
        self.violations.push(Violation {
            seed: self.seed,
            method: self.method,
            flow,
            promise,
        });
    }

    fn share_of_time(&self, bound: Time) -> Time {
        Time::from_fs(share(bound.as_fs(), self.share_percent))
    }

    fn share_of_data(&self, bound: Data) -> Data {
        Data::from_ubits(share(bound.as_ubits(), self.share_percent))
    }
}

fn share(bound: u64, percent: u64) -> u64 {
    let share = u128::from(bound) * u128::from(percent) / 100;
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// Returns the flows for which a method has less than `best`.
fn not_the_least(seed: u64, answers: &[MethodAnswer]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let best = answers.iter().find(|it| it.candidate.name == BEST);
    let Some(Ok(best)) = best.map(|it| &it.analysis) else {
        return violations;
    };
    let others = answers.iter().filter(|it| it.candidate.in_best);
    for analysis in others.filter_map(|it| it.analysis.as_ref().ok()) {
        for (at, (best, other)) in (0..).zip(best.flows.iter().zip(&analysis.flows)) {
            let Some(other) = other.delay else { continue };
            if best.delay.is_none_or(|best| best > other) {
                violations.push(Violation {
                    seed,
                    method: BEST,
                    flow: FlowId(at),
                    promise: CheckedPromise::Least {
                        best: best.delay,
                        other,
                    },
                });
            }
        }
    }
    violations
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, flow, .. } = self;
        let (method, flow) = (self.method, flow.0);
        write!(f, "seed {seed}: `{method}` promises flow {flow} ")?;
        match self.promise {
            CheckedPromise::Delay { bound, observed } => write!(
                f,
                "a delay of {} fs, and {} fs were seen",
                bound.as_fs(),
                observed.as_fs()
            ),
            CheckedPromise::HopDelay {
                server,
                bound,
                observed,
            } => write!(
                f,
                "a delay of {} fs at server {}, and {} fs were seen",
                bound.as_fs(),
                server.0,
                observed.as_fs()
            ),
            CheckedPromise::Backlog { bound, observed } => write!(
                f,
                "a backlog of {} ubit, and {} ubit were seen",
                bound.as_ubits(),
                observed.as_ubits()
            ),
            CheckedPromise::ServerBacklog {
                server,
                bound,
                observed,
            } => write!(
                f,
                "that server {} holds {} ubit, and {} ubit were seen",
                server.0,
                bound.as_ubits(),
                observed.as_ubits()
            ),
            CheckedPromise::Least { best, other } => write!(
                f,
                "the least delay of all, {:?} fs, and another method has {} fs",
                best.map(Time::as_fs),
                other.as_fs()
            ),
        }
    }
}
