//! What is left of a run: `report.json`, `report.html`, and lines for the
//! terminal.
//!
//! A world fills in a [`Report`]; its JSON and its [`Document`](crate::document::Document)
//! are made of it and of nothing else. The same report gives the same bytes: neither the time of day nor the
//! machine is in it, unless the world puts them into [`Report::machine`], which
//! a simulation leaves out. In JSON durations are nanoseconds and end in `_ns`,
//! rates are bit/s, sizes bytes.

pub mod culprit;
pub mod extent;
pub mod flow;
pub mod modes;
pub mod network;
pub mod platform;
pub mod profile;
mod sections;
pub mod summary;
pub mod text;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::document::json;
pub use crate::verdict::Verdict;
pub use culprit::{CulpritKind, CulpritReport};
use extent::ClassSum;
pub use extent::ShownFlows;
pub use flow::{
    CalculationRow, ExceededReport, FlowFacts, FlowKind, FlowReport, Latency, ReceiverReport,
    Stalled, TimeLine,
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
    /// What somebody who watched changed while it ran, as the audit log has it: with that the
    /// scenario alone does not say what happened.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_hand: Vec<String>,
    /// Who broke promises, the one who broke most first, and then who was not what the
    /// network file says; nothing where hops are not seen.
    pub culprits: Vec<CulpritReport>,
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

/// What `report.json` holds.
#[derive(Serialize)]
struct ReportDocument<'a> {
    verdict: RunVerdict,
    summary: String,
    /// How many flows are not in it one by one.
    flows_left_out: usize,
    /// What all flows come to, by kind and queue.
    classes: Vec<ClassSum>,
    #[serde(flatten)]
    report: &'a Report,
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
    /// Returns the report as JSON, with its verdict, its summary, and as many of its flows
    /// one by one.
    #[must_use]
    pub fn to_json(&self, extent: ShownFlows) -> String {
        let (report, flows_left_out) = self.shown(extent);
        json(&ReportDocument {
            verdict: self.verdict(),
            summary: self.summary(),
            flows_left_out,
            classes: self.sums(),
            report: &report,
        })
    }

    #[must_use]
    pub fn verdict(&self) -> RunVerdict {
        let count = |outcome| {
            let flows = self.flows.iter();
            flows.filter(|flow| flow.verdict == outcome).count()
        };
        let promised = self.flows.iter().filter(|flow| flow.guarantee_ns.is_some());
        if count(Verdict::Broken) > 0 {
            RunVerdict::Broken
        } else if count(Verdict::NotJudged) * 2 > promised.clone().count() {
            RunVerdict::NotJudged
        } else if count(Verdict::Exceeded) > 0 {
            RunVerdict::Exceeded
        } else if count(Verdict::Refused) > 0 && promised.count() == 0 {
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
        flows.sort_by_key(|flow| (flow.verdict != Verdict::Broken, flow.margin_ns()));
        flows
    }
}

#[cfg(test)]
mod tests;
