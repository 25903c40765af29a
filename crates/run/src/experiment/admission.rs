//! Asks the controller to admit the flows of a scenario.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use controller::northbound::{
    Accepted, Decision, FlowId, Promises, Reply, Request, Requirement, Traffic,
};
use controller::refusal::{Refusal, Shortage};
use scenario::{Flow, Scenario};
use units::{BitRate, Delay, Duration};

use super::plan::{SMALLEST_FRAME, cover, requirements};

use super::world::World;
use super::{Experiment, ExperimentError, Reserving};

/// How long switches may take to confirm their entries.
const ENTRY_PATIENCE: Duration = Duration::from_secs(20);
/// How often they are asked for.
const POLL_INTERVAL: Duration = Duration::from_ms(20);

/// The decision on one flow of the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The place of the flow in the scenario.
    pub flow: usize,
    /// What was promised, or why nothing was.
    pub decision: Result<Accepted, String>,
    /// What the network has not enough of, if that is why.
    pub shortage: Option<Box<Shortage>>,
}

/// What is reserved for a flow where nothing is: a small frame now and then, in time
/// for anybody.
const LITTLE: Traffic = Traffic {
    rate: BitRate::from_bps(1_000),
    burst: SMALLEST_FRAME,
    largest_frame: SMALLEST_FRAME,
    smallest_frame: SMALLEST_FRAME,
    frames: None,
};
const AT_ANY_TIME: Delay = Delay::from_us(10_000_000);

/// Returns what is asked of the controller for a flow.
fn asked(scenario: &Scenario, flow: &Flow, reserving: Reserving) -> Vec<Requirement> {
    let asked = requirements(scenario, flow);
    match reserving {
        Reserving::AsAsked => asked,
        Reserving::Nothing => {
            let little = asked.into_iter().map(|requirement| Requirement {
                traffic: LITTLE,
                deadline: Some(AT_ANY_TIME),
                ..requirement
            });
            little.collect()
        }
    }
}

/// Returns what was accepted with what the machine may add once.
fn covered(scenario: &Scenario, accepted: Accepted) -> Accepted {
    Accepted {
        guarantee: accepted.guarantee.map(|it| it + cover(scenario)),
        ..accepted
    }
}

impl Experiment<'_> {
    /// Returns the decision on each flow, in the order of the scenario. The most urgent are
    /// decided first, and those of these places `last`: budgets were chosen for the others.
    pub(super) fn admit(
        &self,
        world: &mut dyn World,
        reserving: Reserving,
        last: &BTreeSet<usize>,
    ) -> Result<Vec<Admission>, ExperimentError> {
        let flows = &self.scenario.flows;
        let asked: Vec<_> = flows
            .iter()
            .map(|flow| asked(self.scenario, flow, reserving))
            .collect();
        let placed = asked.iter().enumerate();
        let all: Vec<_> = placed
            .flat_map(|(flow, asked)| asked.iter().map(move |it| (last.contains(&flow), it)))
            .map(|(is_last, requirement)| (is_last, requirement.clone()))
            .collect();
        let mut decisions = self.decide_in_turn(world, all)?.into_iter();

        let admissions = asked.iter().enumerate().map(|(flow, asked)| {
            let mut decided = decisions
                .by_ref()
                .take(asked.len())
                .map(|decision| match decision {
                    Decision::Accepted(accepted) => Ok(covered(self.scenario, accepted)),
                    Decision::Refused { reason, .. } => Err(reason),
                });
            let first = decided.next().expect("a decision for each requirement");
            // What comes back must be admitted as well.
            let decision = decided.fold(first, |first, further| {
                first.and_then(|first| further.map(|_| first))
            });
            let (decision, shortage) = match decision {
                Ok(accepted) => (Ok(accepted), None),
                Err(Refusal::Shortage(short)) => (Err(short.to_string()), Some(short)),
                Err(reason) => (Err(reason.to_string()), None),
            };
            Admission {
                flow,
                decision,
                shortage,
            }
        });
        Ok(admissions.collect())
    }

    /// Waits until every switch has the entries of the flows it carries.
    pub(super) fn wait_for_entries(
        &self,
        world: &mut dyn World,
        admissions: &[Admission],
    ) -> Result<(), ExperimentError> {
        let begun = world.now();
        let accepted = admissions
            .iter()
            .filter_map(|admission| admission.decision.as_ref().ok());
        let wanted: Vec<FlowId> = accepted.map(|accepted| accepted.id).collect();
        loop {
            let until = world.now() + POLL_INTERVAL;
            let flows = self.ask(world, Request::Flows, POLL_INTERVAL, |reply| match reply {
                Reply::Flows(flows) => Some(flows),
                _ => None,
            })?;
            let flows = flows.iter().flatten().filter(|flow| flow.installed);
            let there = flows.filter(|flow| wanted.contains(&flow.accepted.id));
            let missing = wanted.len() - there.count();
            if missing == 0 {
                return Ok(());
            }
            if world.now() >= begun + ENTRY_PATIENCE {
                let waited = ENTRY_PATIENCE;
                return Err(ExperimentError::Uninstalled {
                    flows: missing,
                    waited,
                });
            }
            while world.now() < until {
                world.listen(until)?;
            }
        }
    }

    /// Asks the controller what all promises rest on.
    pub(super) fn what_promises_rest_on(
        &self,
        world: &mut dyn World,
    ) -> Result<Promises, ExperimentError> {
        self.have_decided(world, Request::Promises, |reply| match reply {
            Reply::Promises(promises) => Some(*promises),
            _ => None,
        })
    }

    /// Returns the decisions on requirements in their order, with those that are last
    /// decided last.
    fn decide_in_turn(
        &self,
        world: &mut dyn World,
        requirements: Vec<(bool, Requirement)>,
    ) -> Result<Vec<Decision>, ExperimentError> {
        let mut placed: Vec<_> = requirements.into_iter().enumerate().collect();
        placed.sort_by_key(|(_, (is_last, requirement))| (*is_last, Reverse(requirement.class)));
        let placed = placed
            .into_iter()
            .map(|(place, (_, requirement))| (place, requirement));
        let (places, requirements): (Vec<_>, Vec<_>) = placed.unzip();
        let admit = Request::Admit(requirements);
        let decisions = self.have_decided(world, admit, |reply| match reply {
            Reply::Decisions(decisions) => Some(decisions),
            _ => None,
        })?;
        let decided: BTreeMap<_, _> = places.into_iter().zip(decisions).collect();
        Ok(decided.into_values().collect())
    }
}
