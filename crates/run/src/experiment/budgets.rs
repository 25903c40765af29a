//! Chooses the delay budgets that a scenario leaves open.
//!
//! A scenario knows its flows, so the controller is told to expect them before it decides
//! on the first: then it chooses budgets once, for as many as possible. What the scenario says of budgets
//! itself is a least. Where flows are promised something at levels of criticality, budgets
//! are fixed before the controller starts, since the bound of a change, which is part of
//! every promise, contains them: the least that admit the flows are asked of a controller
//! in virtual time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use calculus::admission::Spare;
use controller::Config;
use controller::config::SwitchParameters;
use controller::northbound::{Reply, Request, Requirement};
use scenario::{Change, Scenario};
use wire::openflow::DatapathId;

use super::plan::{Open, controller_config, keeps_budgets, requirements};
use super::sim_world::SimWorld;
use super::world::World;
use super::{Experiment, ExperimentError};

/// What the controller is told to expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// The flows of the scenario.
    Flows,
    /// No flow that it does not know: budgets stay as they are.
    NothingMore,
}

/// What a controller that expects flows has made of it.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The switches with the budgets that there are.
    pub(super) switches: BTreeMap<DatapathId, SwitchParameters>,
    /// The places of the flows for which there are none beside the others.
    pub(super) left_out: BTreeSet<usize>,
    /// The places of flows that do not fit together, in sets that have none in common.
    pub(super) conflicts: Vec<BTreeSet<usize>>,
}

impl Experiment<'_> {
    /// Returns what the controller is told.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), for flows may be decided on to find budgets.
    pub fn config(&self) -> Result<Config, ExperimentError> {
        let scenario = self.scenario;
        let least = controller_config(scenario, Open::Least);
        if !keeps_budgets(scenario) {
            let fit = Some(self.spare);
            return Ok(Config { fit, ..least });
        }
        if hosts_move(scenario) {
            // Fitted to the ways before, budgets leave no room for the ways after.
            return Ok(controller_config(scenario, Open::Usual));
        }
        let expecting = Config {
            fit: Some(Spare::None),
            modes: None,
            ..least.clone()
        };
        let mut world = SimWorld::new(scenario, expecting);
        self.discover(&mut world)?;
        let switches = self.prepare(&mut world, Expected::Flows)?.switches;
        let mut config = Config { switches, ..least };
        super::modes::bound_change(scenario, &mut config);
        Ok(config)
    }

    /// Tells the controller what to expect, and returns the budgets that there are then.
    pub(super) fn prepare(
        &self,
        world: &mut dyn World,
        expected: Expected,
    ) -> Result<Prepared, ExperimentError> {
        let flows = match expected {
            Expected::Flows => self.scenario.flows.as_slice(),
            Expected::NothingMore => &[],
        };
        let of_flow = |(place, flow)| {
            let required = requirements(self.scenario, flow).into_iter();
            required.map(move |requirement| (place, requirement))
        };
        let mut expected: Vec<(usize, Requirement)> =
            flows.iter().enumerate().flat_map(of_flow).collect();
        expected.sort_by_key(|(_, requirement)| Reverse(requirement.class));
        let (places, expected): (Vec<_>, Vec<_>) = expected.into_iter().unzip();
        let expect = Request::Prepare(expected);
        let fitted = self.have_decided(world, expect, |reply| match reply {
            Reply::Budgets(fitted) => Some(*fitted),
            _ => None,
        })?;
        let placed =
            |among: &[usize]| -> BTreeSet<usize> { among.iter().map(|at| places[*at]).collect() };
        let mut conflicts: Vec<BTreeSet<usize>> = Vec::new();
        for conflict in fitted.conflicts.iter().map(|conflict| placed(conflict)) {
            // Requirements of one flow may be in two.
            if conflicts.iter().all(|known| known.is_disjoint(&conflict)) {
                conflicts.push(conflict);
            }
        }
        Ok(Prepared {
            left_out: placed(&fitted.left_out),
            switches: fitted.switches,
            conflicts,
        })
    }
}

fn hosts_move(scenario: &Scenario) -> bool {
    let mut changes = scenario.events.iter().map(|event| event.change);
    changes.any(|change| matches!(change, Change::HostMoves { .. }))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use units::Delay;

    use super::*;

    /// The substation with switches of this latency, which take 1.6 us a frame: what is refused, and how many flows
    /// any choice can have at most.
    fn decided(latency_us: u64) -> (Vec<(String, String)>, usize) {
        let text = include_str!("../../../../scenarios/substation.toml");
        let mut scenario =
            Scenario::parse("substation.toml", text, &mut |_| unreachable!()).unwrap();
        for profile in &mut scenario.profiles {
            profile.latency.value = Delay::from_us(latency_us);
            profile.per_frame.value = Delay::from_ns(1_600);
        }
        let stop = AtomicBool::new(false);
        let (admissions, _, conflicts) = Experiment::deciding(&scenario, &stop).weigh().unwrap();
        let refused = admissions.into_iter().filter_map(|admission| {
            let name = scenario.flows[admission.flow].name.clone();
            Some((name, admission.decision.err()?))
        });
        (refused.collect(), scenario.flows.len() - conflicts.len())
    }

    /// With the least budgets for one class after the other, and a usual one for the last,
    /// it was 13, 13, 5, 3 and 9 of the 14.
    #[test]
    fn slower_switches_never_let_more_of_the_substation_be_admitted() {
        let decisions = [14, 28, 56, 112, 224].map(|latency_us| (latency_us, decided(latency_us)));

        let counts = decisions
            .iter()
            .map(|(latency_us, (refused, most))| (*latency_us, 14 - refused.len(), *most));
        let expected = [
            (14, 13, 13),
            (28, 13, 13),
            (56, 13, 13),
            (112, 10, 11),
            (224, 9, 9),
        ];
        assert_eq!(counts.collect::<Vec<_>>(), expected);
        for (latency_us, (refused, _)) in decisions {
            for (name, reason) in refused {
                // MMS has 20 ms: no switch is that slow.
                assert!(
                    !name.starts_with("mms"),
                    "{latency_us} us, {name}: {reason}"
                );
                assert!(
                    !reason.contains("budget"),
                    "{latency_us} us, {name}: {reason}"
                );
            }
        }
    }
}
