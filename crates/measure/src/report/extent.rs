//! How many flows of a run are shown one by one: of thousands those that matter, the worst
//! first, and of all others what they come to.

use std::collections::BTreeMap;

use super::html::quantity::time;
use super::{FlowKind, FlowReport, Outcome, Report};

/// The most flows that the terminal shows where they are not all asked for.
pub const MOST_LINES: usize = 60;
/// How many of more it shows.
pub const LINES_OF_MANY: usize = 40;
/// The most flows of a page where they are not all asked for.
pub const MOST_ON_PAGE: usize = 200;

/// Which flows are shown one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// All if there are not many, else the worst.
    #[default]
    Worst,
    /// All, however many there are.
    All,
}

/// What the flows of one kind and queue come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    flows: u64,
    held: u64,
    broken: u64,
    exceeded: u64,
    refused: u64,
    not_judged: u64,
    sent: u64,
    lost: u64,
    late: u64,
    set_apart: u64,
    highest_ns: Option<u64>,
}

pub(super) const SUM_HEADS: [&str; 13] = [
    "flows of",
    "queue",
    "number",
    "held",
    "broken",
    "exceeded",
    "refused",
    "not judged",
    "sent",
    "lost",
    "late",
    "stalled",
    "highest",
];

impl Report {
    /// Returns the flows in the order in which they concern a reader: broken promises, then
    /// bounds that were exceeded, what is not judged, what was refused, and those that held
    /// by their margin.
    pub(super) fn worst_first(&self) -> Vec<&FlowReport> {
        let mut flows: Vec<_> = self.flows.iter().collect();
        flows.sort_by_key(|flow| {
            let rank = match flow.verdict {
                Outcome::Broken => 0,
                Outcome::Exceeded => 1,
                Outcome::NotJudged => 2,
                Outcome::Refused => 3,
                Outcome::Held => 4,
                Outcome::Untried => 5,
                Outcome::BestEffort => 6,
            };
            let share = flow.margin_per_mille();
            (rank, share.is_none(), share, flow.margin_ns())
        });
        flows
    }

    /// Returns the report of the worst of these flows alone, and how many are left out, if
    /// there are too many to be shown.
    pub(super) fn of_the_worst(&self, most: usize) -> Option<(Self, usize)> {
        let left_out = self.flows.len().checked_sub(most).filter(|it| *it > 0)?;
        let worst = self.worst_first().into_iter().take(most);
        let flows = worst.cloned().collect();
        let report = Self {
            flows,
            scenario: self.scenario.clone(),
            title: self.title.clone(),
            world: self.world.clone(),
            seed: self.seed,
            duration_ns: self.duration_ns,
            completion: self.completion,
            topology: self.topology.clone(),
            profiles: self.profiles.clone(),
            discovery: self.discovery,
            events: self.events.clone(),
            modes: self.modes.clone(),
            platform: self.platform.clone(),
            assumptions: self.assumptions.clone(),
            room: self.room.clone(),
            versions: self.versions.clone(),
            machine: self.machine.clone(),
        };
        Some((report, left_out))
    }

    /// Returns what the flows of each kind and queue come to, as rows of text.
    pub(super) fn sums(&self) -> Vec<[String; SUM_HEADS.len()]> {
        let mut sums: BTreeMap<(FlowKind, Option<u8>), Sum> = BTreeMap::new();
        for flow in &self.flows {
            let sum = sums.entry((flow.facts.kind, flow.facts.queue)).or_default();
            sum.add(flow);
        }
        let rows = sums.into_iter().map(|((kind, queue), sum)| {
            let queue = queue.map_or_else(|| "–".to_owned(), |queue| queue.to_string());
            let counts = [
                sum.flows,
                sum.held,
                sum.broken,
                sum.exceeded,
                sum.refused,
                sum.not_judged,
                sum.sent,
                sum.lost,
                sum.late,
                sum.set_apart,
            ];
            let counts = counts.into_iter().map(|count| count.to_string());
            let highest = sum.highest_ns.map_or_else(|| "–".to_owned(), time);
            let cells = [kind.label().to_owned(), queue].into_iter().chain(counts);
            let mut cells = cells.chain([highest]);
            std::array::from_fn(|_| cells.next().unwrap_or_default())
        });
        rows.collect()
    }
}

impl Sum {
    fn add(&mut self, flow: &FlowReport) {
        let is = |outcome| u64::from(flow.verdict == outcome);
        self.flows += 1;
        self.held += is(Outcome::Held);
        self.broken += is(Outcome::Broken);
        self.exceeded += is(Outcome::Exceeded);
        self.refused += is(Outcome::Refused);
        self.not_judged += is(Outcome::NotJudged);
        self.sent += flow.sent;
        self.lost += flow.lost;
        self.late += flow.late;
        self.set_apart += flow.stalled.late + flow.stalled.lost;
        self.highest_ns = self.highest_ns.max(flow.highest_ns);
    }
}
