//! What is left of a run: `report.json`, `report.html`, and lines for the
//! terminal.
//!
//! A world fills in a [`Report`]; the three forms are made of it and of nothing
//! else. The same report gives the same bytes: neither the time of day nor the
//! machine is in it, unless the world puts them into [`Report::machine`], which
//! a simulation leaves out. In JSON durations are nanoseconds and end in `_ns`,
//! rates are bit/s, sizes bytes.

pub mod extent;
pub mod flow;
pub mod html;
pub mod json;
pub mod modes;
pub mod network;
pub mod platform;
pub mod profile;
pub mod summary;
pub mod text;

use std::collections::BTreeMap;

use serde::Serialize;

pub use extent::Extent;
pub use flow::{
    CalculationRow, ExceededReport, FlowFacts, FlowKind, FlowReport, Latency, Outcome,
    ReceiverReport, Stalled, TimeLine,
};
pub use modes::{
    EnteredReport, LevelReport, ModeChangeReport, ModesReport, RefusedSignals, SignalsReport,
    ViolationReport,
};
pub use network::{
    Discovery, EventKind, EventReport, LinkReport, NodeKind, NodeReport, Restoration, Topology,
};
pub use platform::{InterruptionFigures, InterruptionReport, PlatformReport, StallFigures};
pub use profile::{MeasuredHere, ProfileOrigin, ProfileReport, Statistical};

/// Everything that is said of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The name of the scenario.
    pub scenario: String,
    /// What the scenario calls itself, for people.
    pub title: String,
    /// In which world it ran: `lab` or `sim`.
    pub world: String,
    /// The seed of everything that is random.
    pub seed: u64,
    pub duration_ns: u64,
    /// Whether the run came to its end.
    pub completion: Completion,
    /// The network as it was built.
    pub topology: Topology,
    /// What its switches were taken to be.
    pub profiles: Vec<ProfileReport>,
    /// What the controller found out by itself.
    pub discovery: Option<Discovery>,
    /// The flows, in the order of the scenario.
    pub flows: Vec<FlowReport>,
    /// What happened to the network, in order of time.
    pub events: Vec<EventReport>,
    /// What the levels of the network did, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes: Option<ModesReport>,
    /// What it ran on, as far as it matters.
    pub platform: PlatformReport,
    /// What the guarantees rest on, a sentence each.
    pub assumptions: Vec<String>,
    /// What deadlines leave to spare, a sentence each.
    pub room: Vec<String>,
    /// The versions of what took part.
    pub versions: BTreeMap<String, String>,
    /// The machine, the command, the time: whatever differs from run to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<BTreeMap<String, String>>,
}

/// Whether a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Completion {
    /// It ran as long as the scenario says.
    Complete,
    /// It was interrupted, and the report covers what came before.
    Partial,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunVerdict {
    /// Every promise that was given held.
    Held,
    /// Every promise held, and frames were later than calculated.
    Exceeded,
    /// At least one promise did not hold.
    Broken,
    Refused,
    /// For most of the promises nothing can be said: what was to be sent was not sent,
    /// or not seen.
    NotJudged,
}

impl Report {
    #[must_use]
    pub fn verdict(&self) -> RunVerdict {
        let count = |outcome| {
            let flows = self.flows.iter();
            flows.filter(|flow| flow.verdict == outcome).count()
        };
        let promised = self.flows.iter().filter(|flow| flow.guarantee_ns.is_some());
        if count(Outcome::Broken) > 0 {
            RunVerdict::Broken
        } else if count(Outcome::NotJudged) * 2 > promised.clone().count() {
            RunVerdict::NotJudged
        } else if count(Outcome::Exceeded) > 0 {
            RunVerdict::Exceeded
        } else if count(Outcome::Refused) > 0 && promised.count() == 0 {
            RunVerdict::Refused
        } else {
            RunVerdict::Held
        }
    }

    /// Returns the flows with a promise, the one with the smallest margin first;
    /// broken promises come before all others.
    #[must_use]
    pub fn by_margin(&self) -> Vec<&FlowReport> {
        let mut flows: Vec<_> = self
            .flows
            .iter()
            .filter(|flow| flow.margin_ns().is_some())
            .collect();
        flows.sort_by_key(|flow| (flow.verdict != Outcome::Broken, flow.margin_ns()));
        flows
    }
}

#[cfg(test)]
pub(crate) mod example;
#[cfg(test)]
mod tests;
