//! Criticality modes: what each flow asks for at each level of a network (S2-1, S2-5).
//!
//! A network with modes serves every flow at its lowest level and gives some up at
//! higher ones. What a flow gets at a level is its [`Service`]: the queue in which it
//! travels there, or nothing. It follows from what the flow says of that level, else
//! from what it says of the next lower one, else from its requirement; and a flow that
//! says nothing of a level is served there only if it is critical enough.
//!
//! | strategy | who changes what when a flow demands more |
//! |---|---|
//! | [`Taktos`](Strategy::Taktos) | entries of all levels stand beforehand; switches change the level among themselves |
//! | [`StdSdn`](Strategy::StdSdn) | a switch tells the controller, which writes the entries of all switches anew (S2-9) |
//! | [`McAgnostic`](Strategy::McAgnostic) | nobody: there are no modes |

mod entries;

use std::collections::BTreeMap;

use units::{Delay, Duration};
use wire::mode_signal::{LEVELS, Level};
use wire::openflow::taktos::{Fate, MonitorContract, QueuedFates};

use crate::northbound::Traffic;

pub(crate) use entries::{Variants, monitor_of, signal_entry, variants};

/// How many flows can have something to say about levels.
pub const MAX_MODAL_FLOWS: usize = 4_096;

/// Who changes the level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// The switches, with entries that stand beforehand.
    Taktos,
    /// The controller, by writing entries anew: the baseline of MC-SDN.
    StdSdn,
    /// Nobody: the baseline that knows no modes.
    McAgnostic,
}

/// The modes of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modes {
    /// The names of the levels, the lowest first: 1 to 8.
    pub levels: Vec<String>,
    /// Who changes the level.
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
    /// What flows say of levels, by their names.
    pub flows: BTreeMap<String, ModalFlow>,
}

/// What a flow says of levels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModalFlow {
    /// How critical it is; 0 is the least.
    pub criticality: u8,
    /// Its release jitter.
    pub jitter: Duration,
    /// What it may send at the lowest level; with one, it is watched.
    pub contract: Option<MonitorContract>,
    /// What it gets at levels.
    pub levels: BTreeMap<Level, Treatment>,
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
        /// What it never exceeds.
        traffic: Option<Traffic>,
        /// How late a frame may be; looked at only for flows that have a deadline.
        deadline: Option<Delay>,
        /// What it may send.
        contract: Option<MonitorContract>,
    },
}

/// What becomes of a flow at a level, all said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Its frames are dropped.
    Dropped,
    /// It is served.
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
    Levels {
        /// How many.
        count: usize,
    },
    /// Something names a level that there is not.
    #[error("level {level} is not one of the {count} levels")]
    UnknownLevel {
        /// Which.
        level: u8,
        /// How many there are.
        count: usize,
    },
    /// Too many flows.
    #[error("{count} flows with modes, there can be {MAX_MODAL_FLOWS}")]
    Flows {
        /// How many.
        count: usize,
    },
    /// A higher level grants a flow less than the one below.
    #[error("flow {flow}: level {level} grants less than the level below it")]
    Shrinks {
        /// Which.
        flow: String,
        /// At which level.
        level: u8,
    },
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
        let named = self.flows.values().flat_map(|flow| flow.levels.keys());
        let mut named = named.chain([&self.default]);
        if let Some(level) = named.find(|level| !self.has(**level)) {
            let level = level.number();
            return Err(ModesError::UnknownLevel { level, count });
        }
        for (name, flow) in &self.flows {
            let contracts = flow.contracts(count);
            let shrinks = |pair: &[MonitorContract]| {
                pair[1].period > pair[0].period || pair[1].size_bytes < pair[0].size_bytes
            };
            if let Some(below) = contracts.windows(2).position(shrinks) {
                return Err(ModesError::Shrinks {
                    flow: name.clone(),
                    level: u8::try_from(below + 1).expect("at most eight levels"),
                });
            }
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

    /// Returns the level of a name.
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

    /// Returns what becomes of a flow at a level, whose requirement names this class
    /// and traffic. A flow that says nothing of levels is served at all of them.
    #[must_use]
    pub fn service(&self, name: &str, (class, traffic): (u8, Traffic), level: Level) -> Service {
        let Some(flow) = self.flows.get(name) else {
            return Service::Served { class, traffic };
        };
        if !flow.levels.contains_key(&level) && flow.criticality < self.threshold(level) {
            return Service::Dropped;
        }
        let (mut in_class, mut sends) = (class, traffic);
        for (_, treatment) in flow.levels.range(..=level) {
            if let Treatment::Serve { class, traffic, .. } = treatment {
                in_class = class.unwrap_or(in_class);
                sends = traffic.unwrap_or(sends);
            }
        }
        match flow.levels.get(&level) {
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
    pub fn deadline(&self, name: &str, usual: Delay, level: Level) -> Delay {
        let levels = self.flows.get(name).map(|flow| &flow.levels);
        let below = levels.into_iter().flat_map(|levels| levels.range(..=level));
        let mut said = below.filter_map(|(_, treatment)| match treatment {
            Treatment::Serve { deadline, .. } => *deadline,
            Treatment::Drop => None,
        });
        said.next_back().unwrap_or(usual)
    }

    /// Returns whether a flow is watched: it agreed to something at the lowest level,
    /// and there is a level to go to.
    #[must_use]
    pub fn is_watched(&self, name: &str) -> bool {
        let flow = self.flows.get(name);
        self.levels.len() > 1 && flow.is_some_and(|flow| flow.contract.is_some())
    }

    /// Returns what becomes of a frame of a flow that still waits, at each level: it is
    /// dropped where the flow is, stays where nothing changes, and moves where the flow
    /// travels in another queue. Frames that arrived at `arrived` are meant.
    #[must_use]
    pub fn fates(&self, name: &str, of: (u8, Traffic), arrived: Level) -> QueuedFates {
        let present = self.service(name, of, arrived);
        self.all().fold(QueuedFates::STAY, |fates, level| {
            let fate = match (self.service(name, of, level), present) {
                (Service::Dropped, _) => Fate::Drop,
                (Service::Served { class, .. }, Service::Served { class: now, .. })
                    if class != now =>
                {
                    Fate::Move(class)
                }
                (Service::Served { .. }, _) => Fate::Stay,
            };
            fates.with(level, fate)
        })
    }
}

impl ModalFlow {
    /// Returns what the flow may send at each of the lowest `count` levels; nothing if
    /// it is not watched.
    #[must_use]
    pub fn contracts(&self, count: usize) -> Vec<MonitorContract> {
        let Some(mut contract) = self.contract else {
            return Vec::new();
        };
        let levels = Level::all().take(count);
        let of_level = levels.map(|level| {
            if let Some(Treatment::Serve {
                contract: Some(other),
                ..
            }) = self.levels.get(&level)
            {
                contract = *other;
            }
            contract
        });
        of_level.collect()
    }
}

#[cfg(test)]
mod tests;
