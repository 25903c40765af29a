//! Turns a scenario into an experiment: the same steps in both worlds.
//!
//! 1. The controller discovers the network ([`discovery`]).
//! 2. It decides on each flow ([`admission`]).
//! 3. Hosts send what was admitted, and the scenario's events happen (`traffic`).
//! 4. What was observed is compared with what was promised (`outcome`).

pub mod admission;
mod budgets;
mod calculation;
pub mod capture;
mod certificate;
mod culprits;
pub mod demand;
pub mod discovery;
mod errors;
pub mod explanation;
pub mod export;
pub mod lab_world;
mod load;
pub mod mode_changes;
pub mod modes;
mod outcome;
pub mod places;
pub mod plan;
pub mod profiles;
pub mod queues;
mod readmissions;
mod route;
pub mod sim_world;
pub mod statement;
mod traffic;
pub mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use calculus::admission::Spare;
use controller::Config;
use controller::config::SwitchParameters;
use controller::northbound::Promises;
use controller::northbound::{Said, SwitchMode};
use lab::switches::Forwarding;
use measure::report::{ProfileReport, Report};
use scenario::Scenario;
use thiserror::Error;
use units::{Duration, Instant};
use wire::openflow::DatapathId;

use crate::room::Room;
pub use admission::Admission;
use budgets::Expected;
pub use certificate::certificate;
pub use discovery::Discovered;
pub use readmissions::Readmissions;
use store::EmbeddedStore;
use store::embedded::EmbeddedStoreError;
use world::{Observed, World};
pub use world::{Plug, Wish};

/// Why an experiment could not be carried out.
#[derive(Debug, Error)]
pub enum ExperimentError {
    /// The network did not come up as the scenario describes it.
    #[error("after {waited} the controller knows {found}, not {expected}")]
    Undiscovered {
        /// How long it was waited for.
        waited: Duration,
        found: Discovered,
        expected: Discovered,
    },
    /// The controller did not answer.
    #[error("the controller did not decide within {waited}")]
    Undecided {
        /// How long it was waited for.
        waited: Duration,
    },
    /// A switch did not confirm its entries.
    #[error("{flows} flows were admitted, and after {waited} not all switches have their entries")]
    Uninstalled {
        /// How many flows wait for a switch.
        flows: usize,
        /// How long it was waited for.
        waited: Duration,
    },
    #[error(transparent)]
    Lab(#[from] lab::LabError),
    /// The machine has no descriptors left for whoever watches.
    #[error("cannot be watched: {0}")]
    Unwatched(io::Error),
    /// A flow cannot send frames as small as it says.
    #[error("flow {flow} sends frames of {least} bytes at least, not of {length}")]
    FrameTooShort {
        flow: String,
        /// What it says, in bytes without the check sequence.
        length: usize,
        least: usize,
    },
    /// The store of the controller cannot be opened.
    #[error(transparent)]
    Store(#[from] EmbeddedStoreError),
    /// A capture file cannot be made.
    #[error("cannot write the capture {}: {reason}", path.display())]
    Capture { path: PathBuf, reason: io::Error },
    /// A lab cannot do it.
    #[error("the event at {at} ({what}) cannot be had in this lab: {why}; `--world sim` has it")]
    NotInTheLab {
        /// When it was to happen, after the start of traffic.
        at: Duration,
        what: String,
        why: String,
    },
    /// An engine takes frames where a fault would.
    #[error(
        "the event at {at} ({what}) takes frames where the engine `xdp` takes them: choose \
         `--engine kernel` or `--engine packet`, or `--world sim`"
    )]
    FaultTakesThePlaceOfXdp {
        /// When it was to happen, after the start of traffic.
        at: Duration,
        what: String,
    },
    /// The user stopped it before there was anything to report.
    #[error("stopped")]
    Stopped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorldChoice {
    /// In virtual time, with frames looked up in what it says.
    Sim(SimEngine),
    /// In Linux namespaces, with real packets, forwarded by whom it says.
    Lab(Forwarding),
}

/// In what the switches of a simulated network look frames up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SimEngine {
    /// Their tables.
    #[default]
    Tables,
    /// The compiled form of those, as the kernel does in the lab.
    Compiled,
}

/// Is told how an experiment goes.
pub trait Audience {
    /// A network of real things stands.
    fn built(&mut self, took: Duration);
    /// Whether it watches what happens: virtual time then goes by no faster than the clock.
    fn watches(&self) -> bool {
        false
    }
    /// The world stands, with a controller of this configuration.
    fn stands(&mut self, _world: &mut dyn World, _config: &Config) {}
    fn discovered(&mut self, found: Discovered, took: Duration);
    /// The flows were decided on.
    fn decided(&mut self, admissions: &[Admission]);
    /// Traffic has been running for `elapsed` of `total`.
    fn running(&mut self, elapsed: Duration, total: Duration);
    /// What it wants done to a link now, if anything.
    fn wish(&mut self) -> Option<Wish> {
        None
    }
    /// Something happened to the network, or was done about it.
    fn happened(&mut self, at: Duration, what: &str);
}

/// An experiment and whoever may stop it.
#[derive(Debug)]
pub struct Experiment<'a> {
    pub scenario: &'a Scenario,
    /// Set to stop the experiment at the next occasion.
    pub stop: &'a AtomicBool,
    /// The file in which the controller of a lab keeps its decisions; without a name
    /// they are kept in memory.
    pub store: PathBuf,
    /// The folder of the captures that the scenario asks for.
    pub captures: PathBuf,
    /// What the switches are taken to be, for the report.
    pub profiles: Vec<ProfileReport>,
    /// Whether the machine carries what the flows send together.
    pub carrying: Carrying,
    /// Whether budgets leave room for slower switches.
    pub spare: Spare,
}

/// Whether a machine carries what all flows send together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrying {
    /// It does, for all that is known.
    Whole,
    /// It does not: what goes wrong says nothing of the network.
    Part,
}

impl<'a> Experiment<'a> {
    /// Returns an experiment that decides, and writes no file.
    #[must_use]
    pub fn deciding(scenario: &'a Scenario, stop: &'a AtomicBool) -> Self {
        Self {
            scenario,
            stop,
            store: PathBuf::new(),
            captures: PathBuf::new(),
            profiles: profiles::as_written(scenario),
            carrying: Carrying::Whole,
            spare: Spare::default(),
        }
    }
}

impl Experiment<'_> {
    /// Carries the experiment out, from discovery to the report.
    ///
    /// # Errors
    ///
    /// If the network does not come up or the world breaks down. A broken
    /// promise is no error: the report says so.
    pub fn run(
        &self,
        place: WorldChoice,
        to: &mut dyn Audience,
    ) -> Result<Report, ExperimentError> {
        load::verify(self.scenario)?;
        let config = self.config()?;
        let mut world = match place {
            WorldChoice::Sim(engine) if to.watches() => {
                let config = config.clone();
                let world = sim_world::SimWorld::watched(self.scenario, config, engine);
                Box::new(world.map_err(ExperimentError::Unwatched)?)
            }
            WorldChoice::Sim(_) | WorldChoice::Lab(_) => self.world(place, config.clone())?,
        };
        if let Some(building) = world.building() {
            to.built(building);
        }
        to.stands(world.as_mut(), &config);
        self.run_in(world, place, &config, to)
    }

    /// Carries the experiment out in a world that stands already, under a
    /// controller of this configuration.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_in(
        &self,
        mut world: Box<dyn World + '_>,
        place: WorldChoice,
        config: &Config,
        to: &mut dyn Audience,
    ) -> Result<Report, ExperimentError> {
        let ran = self.carry_out(world.as_mut(), place, Reserving::AsAsked, to)?;
        let observed = world.finish()?;
        let config = Config {
            switches: ran.switches,
            ..config.clone()
        };
        Ok(outcome::report(&outcome::Facts {
            scenario: self.scenario,
            profiles: &self.profiles,
            carrying: self.carrying,
            place,
            config: &config,
            found: ran.found,
            took: ran.took,
            admissions: &ran.admissions,
            run: &ran.run,
            observed: &observed,
            room: &Room::of(&ran.promises, |datapath| {
                plan::name_of(self.scenario, datapath)
            }),
        }))
    }

    /// Carries the experiment out with nothing reserved for flows, so that none is
    /// refused, and returns what was said and observed: there is no promise to judge.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn observe(
        &self,
        place: WorldChoice,
        to: &mut dyn Audience,
    ) -> Result<(Run, Observed), ExperimentError> {
        load::verify(self.scenario)?;
        let mut world = self.world(place, self.unreserved_config())?;
        let ran = self.carry_out(world.as_mut(), place, Reserving::Nothing, to)?;
        Ok((ran.run, world.finish()?))
    }

    /// Discovers and decides with nothing reserved, in virtual time: the ways of flows.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn ways(&self) -> Result<Vec<Admission>, ExperimentError> {
        load::verify(self.scenario)?;
        let mut world = self.world(
            WorldChoice::Sim(SimEngine::Tables),
            self.unreserved_config(),
        )?;
        self.discover(world.as_mut())?;
        self.admit(world.as_mut(), Reserving::Nothing, &BTreeSet::new())
    }

    fn unreserved_config(&self) -> Config {
        let mut config = plan::controller_config(self.scenario, plan::Open::Usual);
        modes::reserve_nothing(&mut config);
        // What is asked for is next to nothing, and not what is sent.
        config.policing = None;
        config
    }

    fn carry_out(
        &self,
        world: &mut dyn World,
        place: WorldChoice,
        reserving: Reserving,
        to: &mut dyn Audience,
    ) -> Result<Ran, ExperimentError> {
        let origin = world.unix_origin_ns();
        let captures = capture::open(self.scenario, place, origin, &self.captures)?;
        let begun = world.now();
        let found = self.discover(world)?;
        let took = world.now() - begun;
        to.discovered(found, took);
        let admissions = self.decided(world, reserving)?.0;
        let switches = self.prepare(world, Expected::NothingMore)?.switches;
        let promises = self.what_promises_rest_on(world)?;
        to.decided(&admissions);
        self.wait_for_entries(world, &admissions)?;
        let mut run = self.send(world, &admissions, captures, to)?;
        run.switch_modes = self.count_signals(world, run.start + run.duration)?;
        Ok(Ran {
            found,
            took,
            switches,
            admissions,
            promises,
            run,
        })
    }

    /// Discovers and decides, without sending anything. Virtual time will do:
    /// decisions do not depend on the world.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn check(&self) -> Result<Vec<Admission>, ExperimentError> {
        load::verify(self.scenario)?;
        let mut world = self.world(WorldChoice::Sim(SimEngine::Tables), self.config()?)?;
        self.discover(world.as_mut())?;
        Ok(self.decided(world.as_mut(), Reserving::AsAsked)?.0)
    }

    /// Decides as [`check`](Self::check) does, and returns what the promises rest on
    /// as well.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn promises(&self) -> Result<(Vec<Admission>, Promises), ExperimentError> {
        let (admissions, promises, _) = self.weigh()?;
        Ok((admissions, promises))
    }

    /// Decides as [`promises`](Self::promises) does, and returns sets of flows that do not
    /// fit together as well, by their places in the scenario. No flow is in two of them,
    /// so no choice of flows that fits leaves out fewer than there are sets.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn weigh(&self) -> Result<Weighed, ExperimentError> {
        load::verify(self.scenario)?;
        let mut world = self.world(WorldChoice::Sim(SimEngine::Tables), self.config()?)?;
        self.discover(world.as_mut())?;
        let (admissions, conflicts) = self.decided(world.as_mut(), Reserving::AsAsked)?;
        let promises = self.what_promises_rest_on(world.as_mut())?;
        Ok((admissions, promises, conflicts))
    }

    /// Has the controller expect the flows and decide on them.
    fn decided(
        &self,
        world: &mut dyn World,
        reserving: Reserving,
    ) -> Result<(Vec<Admission>, Vec<BTreeSet<usize>>), ExperimentError> {
        let prepared = self.prepare(world, Expected::Flows)?;
        let admissions = self.admit(world, reserving, &prepared.left_out)?;
        Ok((admissions, prepared.conflicts))
    }

    fn world(&self, place: WorldChoice, config: Config) -> Result<Box<dyn World>, ExperimentError> {
        let config = Config {
            interrupted: matches!(place, WorldChoice::Lab(_)),
            ..config
        };
        if let WorldChoice::Lab(forwarding) = place {
            errors::in_the_lab(self.scenario, forwarding)?;
        }
        match place {
            WorldChoice::Sim(engine) => {
                let world = sim_world::SimWorld::with_engine(self.scenario, config, engine);
                Ok(Box::new(world))
            }
            WorldChoice::Lab(forwarding) if self.store.as_os_str().is_empty() => {
                let store = controller::store::MemoryStore::default();
                let world = lab_world::LabWorld::new(self.scenario, config, store, forwarding)?;
                Ok(Box::new(world))
            }
            WorldChoice::Lab(forwarding) => {
                let store = EmbeddedStore::open(&self.store)?;
                let world = lab_world::LabWorld::new(self.scenario, config, store, forwarding)?;
                Ok(Box::new(world))
            }
        }
    }

    /// Returns an error once the user wants to stop.
    fn go_on(&self) -> Result<(), ExperimentError> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(ExperimentError::Stopped),
            false => Ok(()),
        }
    }
}

/// What is reserved for flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reserving {
    AsAsked,
    /// As good as nothing: flows travel in their classes and levels as if promised.
    Nothing,
}

/// The decisions, what the promises rest on, and flows that do not fit together.
pub type Weighed = (Vec<Admission>, Promises, Vec<BTreeSet<usize>>);

/// What came of the steps of an experiment.
struct Ran {
    found: Discovered,
    took: Duration,
    /// With the budgets that there were when the flows were decided on.
    switches: BTreeMap<DatapathId, SwitchParameters>,
    admissions: Vec<Admission>,
    /// What the controller has promised.
    promises: Promises,
    run: Run,
}

/// The moments of a run that the report refers to.
#[derive(Clone, Debug)]
pub struct Run {
    pub start: Instant,
    /// For how long it ran.
    pub duration: Duration,
    /// Whether it ran for as long as the scenario says.
    pub complete: bool,
    /// What the controller said meanwhile.
    pub said: Vec<Said>,
    /// What the instrument knows of each admitted flow.
    pub plans: Vec<measure::FlowPlan>,
    /// What was promised meanwhile.
    pub readmissions: Readmissions,
    /// What switches had counted of modes in the end, if the network has any.
    pub switch_modes: Vec<SwitchMode>,
}
