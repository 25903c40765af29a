//! Criticality modes: what each flow asks for at each level of a network (S2-1, S2-5).
//!
//! A network with modes serves every flow at its lowest level and gives some up at
//! higher ones. What a flow gets at a level is its [`Service`]: the queue in which it
//! travels there, or nothing. It follows from what the flow says of that level, else
//! from what it says of the next lower one, else from its requirement; and a flow that
//! says nothing of a level is served there only if it is critical enough.
//!
//! A requirement says so itself ([`Requirement::modes`]); for those that do not, the
//! configuration may, by the name of the flow.
//!
//! | strategy | who changes what when a flow demands more |
//! |---|---|
//! | [`Taktos`](Strategy::Taktos) | entries of all levels stand beforehand; switches change the level among themselves |
//! | [`StdSdn`](Strategy::StdSdn) | a switch tells the controller, which writes the entries of all switches anew (S2-9) |
//! | [`McAgnostic`](Strategy::McAgnostic) | nobody: there are no modes |

mod entries;
mod flow;

use std::collections::BTreeMap;

use units::{Delay, Duration};
use wire::mode_signal::{LEVELS, Level};
use wire::openflow::taktos::{QueuedFrameAction, QueuedFrameActions};

use crate::northbound::{Requirement, Traffic};

pub use flow::{ModalFlow, ModalFlowError, Treatment};

pub(crate) use entries::{Variants, monitor_of, signal_entry, variants};

/// How many flows can have something to say about levels.
pub const MAX_MODAL_FLOWS: usize = 4_096;

pub use api::Strategy;

/// The modes of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modes {
    /// The names of the levels, the lowest first: 1 to 8.
    pub levels: Vec<String>,
    pub strategy: Strategy,
    /// How long all monitors have to be quiet before the level falls; nothing if it
    /// does not by itself.
    pub hold: Option<Duration>,
    /// How often switches repeat to their neighbours what they hold; nothing if they
    /// do not.
    pub heart_beat: Option<Duration>,
    /// What a switch serves while the level agreed on is not complete there.
    pub default: Level,
    /// The least criticality that is served at each level. Levels without one serve
    /// what is as critical as their number.
    pub serve: Vec<u8>,
    /// How late a change of mode can make a frame: what is taken from the deadlines of
    /// flows that are served above the lowest level.
    pub change_bound: Delay,
    /// What flows say of levels whose requirements do not, by their names.
    pub flows: BTreeMap<String, ModalFlow>,
}

/// What becomes of a flow at a level, all said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    Dropped,
    Served {
        /// The queue in which it travels.
        class: u8,
        /// What it never exceeds there.
        traffic: Traffic,
    },
}

/// The modes make no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModesError {
    /// No level, or more than there can be.
    #[error("{count} levels, there have to be 1 to {LEVELS}")]
    Levels { count: usize },
    /// Something names a level that there is not.
    #[error("level {level} is not one of the {count} levels")]
    UnknownLevel { level: u8, count: usize },
    #[error("{count} flows with modes, there can be {MAX_MODAL_FLOWS}")]
    Flows { count: usize },
    /// What a flow says of levels cannot be.
    #[error("flow {flow}: {error}")]
    Flow { flow: String, error: ModalFlowError },
}

impl Modes {
    /// Checks that levels exist and that contracts do not shrink.
    ///
    /// # Errors
    ///
    /// What is wrong first.
    pub fn check(&self) -> Result<(), ModesError> {
        let count = self.levels.len();
        if count == 0 || count > usize::from(LEVELS) {
            return Err(ModesError::Levels { count });
        }
        if self.flows.len() > MAX_MODAL_FLOWS {
            let count = self.flows.len();
            return Err(ModesError::Flows { count });
        }
        if !self.has(self.default) {
            let level = self.default.number();
            return Err(ModesError::UnknownLevel { level, count });
        }
        for (name, flow) in &self.flows {
            self.check_levels(flow).map_err(|error| ModesError::Flow {
                flow: name.clone(),
                error,
            })?;
        }
        Ok(())
    }

    /// Returns whether there is such a level.
    #[must_use]
    pub fn has(&self, level: Level) -> bool {
        usize::from(level.number()) < self.levels.len()
    }

    /// Returns the levels, the lowest first.
    pub fn all(&self) -> impl Iterator<Item = Level> + '_ {
        Level::all().filter(|level| self.has(*level))
    }

    #[must_use]
    pub fn named(&self, name: &str) -> Option<Level> {
        let at = self.levels.iter().position(|level| level == name)?;
        Level::new(u8::try_from(at).ok()?)
    }

    /// Returns the name of a level, or its number if it has none.
    #[must_use]
    pub fn name(&self, level: Level) -> String {
        let name = self.levels.get(usize::from(level.number()));
        name.cloned().unwrap_or_else(|| level.number().to_string())
    }

    /// Returns the least criticality that is served at a level.
    fn threshold(&self, level: Level) -> u8 {
        let given = self.serve.get(usize::from(level.number()));
        given.copied().unwrap_or_else(|| level.number())
    }

    /// Returns what a flow says of levels, if it does.
    #[must_use]
    pub fn said<'a>(&'a self, requirement: &'a Requirement) -> Option<&'a ModalFlow> {
        let own = requirement.modes.as_deref();
        own.or_else(|| self.flows.get(&requirement.name))
    }

    /// Returns what becomes of a flow at a level. One that says nothing of levels is
    /// served at all of them.
    #[must_use]
    pub fn service(&self, requirement: &Requirement, level: Level) -> Service {
        let (mut in_class, mut sends) = (requirement.class, requirement.traffic);
        let Some(flow) = self.said(requirement) else {
            return Service::Served {
                class: in_class,
                traffic: sends,
            };
        };
        let treatment = self.treatment(flow, level);
        if treatment.is_none() && flow.criticality < self.threshold(level) {
            return Service::Dropped;
        }
        for (_, treatment) in self.treatments(flow, level) {
            if let Treatment::Serve { class, traffic, .. } = treatment {
                in_class = class.unwrap_or(in_class);
                sends = traffic.unwrap_or(sends);
            }
        }
        match treatment {
            Some(Treatment::Drop) => Service::Dropped,
            Some(Treatment::Serve { .. }) | None => Service::Served {
                class: in_class,
                traffic: sends,
            },
        }
    }

    /// Returns how late a frame of a flow may be at a level, which may be as late as this
    /// where nothing else is said.
    #[must_use]
    pub fn deadline(&self, requirement: &Requirement, usual: Delay, level: Level) -> Delay {
        let flow = self.said(requirement).into_iter();
        let below = flow.flat_map(|flow| self.treatments(flow, level));
        let said = below.filter_map(|(_, treatment)| match treatment {
            Treatment::Serve { deadline, .. } => *deadline,
            Treatment::Drop => None,
        });
        said.last().unwrap_or(usual)
    }

    /// Returns whether a flow is watched: it agreed to something at the lowest level,
    /// and there is a level to go to.
    #[must_use]
    pub fn is_watched(&self, requirement: &Requirement) -> bool {
        let flow = self.said(requirement);
        self.levels.len() > 1 && flow.is_some_and(|flow| flow.contract.is_some())
    }

    /// Returns what becomes of a frame of a flow that still waits, at each level: it is
    /// dropped where the flow is, stays where nothing changes, and moves where the flow
    /// travels in another queue. Frames that arrived at `arrived` are meant.
    #[must_use]
    pub fn fates(&self, requirement: &Requirement, arrived: Level) -> QueuedFrameActions {
        let present = self.service(requirement, arrived);
        self.all().fold(QueuedFrameActions::STAY, |fates, level| {
            let fate = match (self.service(requirement, level), present) {
                (Service::Dropped, _) => QueuedFrameAction::Drop,
                (Service::Served { class, .. }, Service::Served { class: now, .. })
                    if class != now =>
                {
                    QueuedFrameAction::Move(class)
                }
                (Service::Served { .. }, _) => QueuedFrameAction::Stay,
            };
            fates.with(level, fate)
        })
    }
}

#[cfg(test)]
mod tests;
