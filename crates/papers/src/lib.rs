//! The experiments of the papers that Taktos builds on, done again.
//!
//! An experiment is data: a name, what it shows, and a function that returns its
//! rows. A paper is a name and a list of experiments. To add one, write its
//! function and enter it in the list; the command line, the JSON and the page know
//! nothing else of it.

mod amounts;
mod asynchronous;
mod curves;
mod devices;
mod loko;
mod mc_sdn;
mod onos;
mod sdn4ci;
mod side_by_side;

use measure::reproduction::{Picture, Reproduction, Row};

/// The papers whose experiments can be done again.
pub const PAPERS: [Paper; 5] = [
    sdn4ci::PAPER,
    onos::PAPER,
    asynchronous::PAPER,
    loko::PAPER,
    mc_sdn::PAPER,
];

#[derive(Debug)]
pub struct Paper {
    /// Its name, as the command line has it.
    pub name: &'static str,
    /// Its title and where it appeared.
    pub title: &'static str,
    /// What its experiments need of the machine.
    pub place: MachineRequirement,
    /// What can be done again.
    pub experiments: &'static [Experiment],
    /// Which of them can be done with real frames as well, by their names.
    pub in_lab: &'static [(&'static str, ExperimentFn)],
}

pub type ExperimentFn = fn(ExperimentSettings, &mut Progress) -> ExperimentOutcome;

/// What experiments need of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineRequirement {
    Anywhere,
    Namespaces,
}

/// An experiment of a paper.
#[derive(Debug)]
pub struct Experiment {
    /// Its name, as the command line has it.
    pub name: &'static str,
    /// What it shows, in a sentence without its full stop.
    pub shows: &'static str,
    pub run: ExperimentFn,
}

/// How an experiment is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExperimentSettings {
    /// Everything random follows from it.
    pub seed: u64,
    pub effort: Thoroughness,
}

/// How much of an experiment is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thoroughness {
    /// As much as the paper did.
    Full,
    /// Enough to see that it works.
    Quick,
}

/// Is told how many of how many steps are done.
pub type Progress<'a> = dyn FnMut(u64, u64) + 'a;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum World {
    #[default]
    Sim,
    /// In this process, by the clock on the wall.
    Process,
    /// In namespaces, with real frames; emulated devices in virtual time beside them.
    Lab,
}

impl World {
    const fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Process => "process",
            Self::Lab => "lab",
        }
    }
}

/// What came out of an experiment.
#[derive(Clone, Debug, Default)]
pub struct ExperimentOutcome {
    pub world: World,
    pub rows: Vec<Row>,
    pub pictures: Vec<Picture>,
    /// What is to be known about them.
    pub remarks: Vec<String>,
    /// Promises of ours that did not hold.
    pub broken: Vec<String>,
}

impl Paper {
    /// Returns what does an experiment of this paper with real frames, if anything does.
    #[must_use]
    pub fn real(&self, experiment: &Experiment) -> Option<ExperimentFn> {
        let known = self
            .in_lab
            .iter()
            .find(|(name, _)| *name == experiment.name);
        let own = (self.place == MachineRequirement::Namespaces).then_some(experiment.run);
        known.map(|(_, run)| *run).or(own)
    }

    /// Does `experiment` of this paper, in one of the ways in which it can be done.
    #[must_use]
    pub fn reproduce(
        &self,
        (experiment, run): (&Experiment, ExperimentFn),
        settings: ExperimentSettings,
        progress: &mut Progress,
    ) -> Reproduction {
        let outcome = run(settings, progress);
        Reproduction {
            paper: self.name.to_owned(),
            experiment: experiment.name.to_owned(),
            title: experiment.shows.to_owned(),
            world: outcome.world.name().to_owned(),
            seed: settings.seed,
            quick: settings.effort == Thoroughness::Quick,
            rows: outcome.rows,
            pictures: outcome.pictures,
            remarks: outcome.remarks,
            broken: outcome.broken,
        }
    }
}

#[cfg(test)]
mod tests;
