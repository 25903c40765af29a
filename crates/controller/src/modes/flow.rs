//! What a flow says of levels, and whether that can be.
//!
//! It names levels, so that it means the same whatever else the network has. A level
//! that it says nothing of is as the one below, as far as the flow is served there.

use std::collections::BTreeMap;

use units::{Delay, Duration};
use wire::mode_signal::Level;
use wire::openflow::taktos::MonitorContract;

use crate::flows::BEST_EFFORT;
use crate::northbound::{Requirement, Traffic};

use super::Modes;

/// What a flow says of levels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModalFlow {
    /// How critical it is; 0 is the least.
    pub criticality: u8,
    pub jitter: Duration,
    /// What it may send at the lowest level; with one, it is watched.
    pub contract: Option<MonitorContract>,
    /// What it gets at levels, by their names.
    pub levels: BTreeMap<String, Treatment>,
}

/// What a flow gets at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// Nothing: its frames are dropped.
    Drop,
    /// It is served; what is left out is as at the level below.
    Serve {
        /// The queue in which it travels.
        class: Option<u8>,
        traffic: Option<Traffic>,
        /// How late a frame may be; looked at only for flows that have a deadline.
        deadline: Option<Delay>,
        contract: Option<MonitorContract>,
    },
}

/// What a flow says of levels cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModalFlowError {
    /// It names a level that there is not.
    #[error("there is no level {level}, but {}", levels.join(", "))]
    UnknownLevel {
        level: String,
        /// Those that there are, the lowest first.
        levels: Vec<String>,
    },
    /// A higher level grants less than the one below: a message that the lower one
    /// grants would be a violation at the higher one.
    #[error("level {level} grants less than the level below it")]
    Shrinks { level: String },
    /// What is sent at a level is promised only to whoever is watched, and nothing is
    /// agreed on at the lowest level.
    #[error("level {level} has a contract, and the lowest level has none")]
    Unwatched { level: String },
    /// The class at a level is not for such a flow.
    #[error("class {class} at level {level} is for flows {expected}")]
    Class {
        level: String,
        class: u8,
        /// Which flows it is for.
        expected: &'static str,
    },
}

impl Modes {
    /// Checks what a requirement says of levels.
    ///
    /// # Errors
    ///
    /// What is wrong first.
    pub(crate) fn check_flow(&self, requirement: &Requirement) -> Result<(), ModalFlowError> {
        let Some(flow) = requirement.modes.as_deref() else {
            return Ok(());
        };
        self.check_levels(flow)?;
        let mut below = requirement.traffic;
        for (level, treatment) in self.treatments(flow, Level::HIGHEST) {
            let Treatment::Serve { class, traffic, .. } = treatment else {
                continue;
            };
            let level = || self.name(level);
            if flow.contract.is_none() && treatment.contract().is_some() {
                return Err(ModalFlowError::Unwatched { level: level() });
            }
            if let Some((class, expected)) = class.and_then(|it| unfit(it, requirement)) {
                return Err(ModalFlowError::Class {
                    level: level(),
                    class,
                    expected,
                });
            }
            if let Some(traffic) = traffic {
                if !traffic.grants(&below) {
                    return Err(ModalFlowError::Shrinks { level: level() });
                }
                below = *traffic;
            }
        }
        Ok(())
    }

    /// Checks that levels exist and that contracts do not shrink.
    pub(super) fn check_levels(&self, flow: &ModalFlow) -> Result<(), ModalFlowError> {
        let unknown = |level: &&String| !self.levels.contains(level);
        if let Some(level) = flow.levels.keys().find(unknown) {
            return Err(ModalFlowError::UnknownLevel {
                level: level.clone(),
                levels: self.levels.clone(),
            });
        }
        let Some(mut below) = flow.contract else {
            return Ok(());
        };
        for (level, treatment) in self.treatments(flow, Level::HIGHEST) {
            let Some(contract) = treatment.contract() else {
                continue;
            };
            if contract.period > below.period || contract.size_bytes < below.size_bytes {
                let level = self.name(level);
                return Err(ModalFlowError::Shrinks { level });
            }
            below = contract;
        }
        Ok(())
    }

    pub(super) fn treatment<'a>(&self, flow: &'a ModalFlow, level: Level) -> Option<&'a Treatment> {
        let name = self.levels.get(usize::from(level.number()))?;
        flow.levels.get(name)
    }

    /// Returns what a flow says of levels up to one, the lowest first.
    pub(super) fn treatments<'a>(
        &'a self,
        flow: &'a ModalFlow,
        up_to: Level,
    ) -> impl Iterator<Item = (Level, &'a Treatment)> {
        let levels = self.all().take_while(move |level| *level <= up_to);
        levels.filter_map(|level| Some((level, self.treatment(flow, level)?)))
    }

    /// Returns what a flow may send at each level; nothing if it is not watched.
    #[must_use]
    pub fn contracts(&self, flow: &ModalFlow) -> Vec<MonitorContract> {
        let Some(mut contract) = flow.contract else {
            return Vec::new();
        };
        let of_level = self.all().map(|level| {
            let said = self.treatment(flow, level).and_then(Treatment::contract);
            contract = said.unwrap_or(contract);
            contract
        });
        of_level.collect()
    }
}

impl Treatment {
    /// Returns what the flow may send, if that is said.
    const fn contract(&self) -> Option<MonitorContract> {
        match self {
            Self::Serve { contract, .. } => *contract,
            Self::Drop => None,
        }
    }
}

/// Returns a class that is not for a flow, with whom it is for.
const fn unfit(class: u8, requirement: &Requirement) -> Option<(u8, &'static str)> {
    match (class, requirement.deadline) {
        (BEST_EFFORT, Some(_)) => Some((class, "without a deadline")),
        (1.., None) => Some((class, "with a deadline")),
        (BEST_EFFORT, None) | (1.., Some(_)) => None,
    }
}
