//! Chooses the delay budgets that a scenario leaves open.
//!
//! Budgets have to be fixed before the first promise is given. A scenario knows
//! its flows, so the smallest budgets that admit them all are asked of a
//! controller in virtual time, which admits nothing; the run then begins with
//! these. What the scenario says of budgets itself is a least. Where hosts move,
//! budgets are the usual ones: fitted to the ways before, they leave no room for
//! the ways after.

use controller::Config;
use controller::northbound::{Reply, Request, Saying};
use scenario::{Change, Scenario};
use units::Duration;

use super::plan::{Open, controller_config, requirements};
use super::sim_world::SimWorld;

use super::world::World;
use super::{Experiment, ExperimentError};

/// Fitting takes time that grows with the square of the flows; beyond this many,
/// budgets are the usual ones.
const MOST_FITTED: usize = 2_000;
/// How long the controller may take, in virtual time.
const PATIENCE: Duration = Duration::from_secs(1);

impl Experiment<'_> {
    /// Returns what the controller is told, with all budgets.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), for flows are admitted to find the budgets.
    pub fn config(&self) -> Result<Config, ExperimentError> {
        let scenario = self.scenario;
        let usual = controller_config(scenario, Open::Usual);
        if scenario.flows.len() > MOST_FITTED || hosts_move(scenario) {
            return Ok(usual);
        }
        let least = controller_config(scenario, Open::Least);
        let mut world = SimWorld::new(scenario, least.clone());
        self.discover(&mut world)?;
        let wanted = scenario
            .flows
            .iter()
            .flat_map(|flow| requirements(scenario, flow));
        let mut wanted: Vec<_> = wanted.collect();
        wanted.sort_by_key(|requirement| std::cmp::Reverse(requirement.class));
        let id = world.request(Request::FitBudgets(wanted));
        let until = world.now() + PATIENCE;
        while world.now() < until {
            for said in world.listen(until)? {
                if let Saying::Reply(of, Reply::Budgets(fitted)) = said.what
                    && of == id
                {
                    return Ok(match fitted {
                        Some(fitted) => {
                            let switches = fitted.switches;
                            let mut config = Config { switches, ..least };
                            super::modes::bound_change(scenario, &mut config);
                            config
                        }
                        None => usual,
                    });
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
