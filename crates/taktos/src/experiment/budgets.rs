//! Chooses the delay budgets that a scenario leaves open.
//!
//! A scenario knows its flows, so the controller is told to expect them before it decides
//! on the first: then it chooses budgets once, for all. What the scenario says of budgets
//! itself is a least. Where flows are promised something at levels of criticality, budgets
//! are fixed before the controller starts, since the bound of a change, which is part of
//! every promise, contains them: the least that admit the flows are asked of a controller
//! in virtual time.

use std::cmp::Reverse;

use calculus::admission::Spare;
use controller::Config;
use controller::budgets::Fitted;
use controller::northbound::{Reply, Request, Saying};
use scenario::{Change, Scenario};
use units::Duration;

use super::plan::{Open, controller_config, keeps_budgets, requirements};
use super::sim_world::SimWorld;
use super::world::World;
use super::{Experiment, ExperimentError};

/// How long the controller may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the controller is told to expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// The flows of the scenario.
    Flows,
    /// No flow that it does not know: budgets stay as they are.
    NothingMore,
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
        let switches = self.prepare(&mut world, Expected::Flows)?;
        let mut config = Config { switches, ..least };
        super::modes::bound_change(scenario, &mut config);
        Ok(config)
    }

    /// Tells the controller what to expect, and returns the switches with the budgets that
    /// there are then.
    pub(super) fn prepare(
        &self,
        world: &mut dyn World,
        expected: Expected,
    ) -> Result<Fitted, ExperimentError> {
        let flows = match expected {
            Expected::Flows => self.scenario.flows.as_slice(),
            Expected::NothingMore => &[],
        };
        let flows = flows.iter();
        let mut expected: Vec<_> = flows
            .flat_map(|flow| requirements(self.scenario, flow))
            .collect();
        expected.sort_by_key(|requirement| Reverse(requirement.class));
        let id = world.request(Request::Prepare(expected));
        let until = world.now() + PATIENCE;
        while world.now() < until {
            self.go_on()?;
            for said in world.listen(until)? {
                match said.what {
                    Saying::Reply(of, Reply::Budgets(fitted)) if of == id => return Ok(fitted),
                    Saying::Reply(..) | Saying::Notice(_) => {}
                }
            }
        }
        Err(ExperimentError::Undecided { waited: PATIENCE })
    }
}

fn hosts_move(scenario: &Scenario) -> bool {
    let mut changes = scenario.events.iter().map(|event| event.change);
    changes.any(|change| matches!(change, Change::HostMoves { .. }))
}
