//! How many flows of a run are shown one by one: of thousands those that matter, the worst
//! first, and of all others what they come to.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use super::{FlowKind, FlowReport, Report, Verdict};
use crate::document::Table;
use crate::document::quantity::time;
use crate::document::table::{Column, left, right};

/// The most flows that the terminal shows where they are not all asked for.
pub const MOST_LINES: usize = 60;
/// How many of more it shows.
pub const LINES_OF_MANY: usize = 40;
/// The most flows of a page and of `report.json` where they are not all asked for.
pub const MOST_SHOWN: usize = 200;

/// Which flows are shown one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShownFlows {
    /// All if there are not many, else the worst.
    #[default]
    Worst,
    /// All, however many there are.
    All,
}

/// What the flows of one kind and queue come to.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct ClassSum {
    kind: FlowKind,
    queue: Option<u8>,
    flows: u64,
    held: u64,
    broken: u64,
    exceeded: u64,
    refused: u64,
    not_judged: u64,
    sent: u64,
    lost: u64,
    late: u64,
    stalled: u64,
    highest_ns: Option<u64>,
}

const COLUMNS: [Column; 13] = [
    left("flows of"),
    right("queue"),
    right("number"),
    right("held"),
    right("broken"),
    right("exceeded"),
    right("refused"),
    right("not judged"),
    right("sent"),
    right("lost"),
    right("late"),
    right("stalled"),
    right("highest"),
];

impl Report {
    /// Returns the flows in the order in which they concern a reader: broken promises, then
    /// bounds that were exceeded, what is not judged, what was refused, and those that held
    /// by their margin.
    pub(super) fn worst_first(&self) -> Vec<&FlowReport> {
        let mut flows: Vec<_> = self.flows.iter().collect();
        flows.sort_by_key(|flow| {
            let rank = match flow.verdict {
                Verdict::Broken => 0,
                Verdict::Exceeded => 1,
                Verdict::NotJudged => 2,
                Verdict::Refused => 3,
                Verdict::Held => 4,
                Verdict::Untried => 5,
                Verdict::BestEffort => 6,
            };
            let share = flow.margin_per_mille();
            (rank, share.is_none(), share, flow.margin_ns())
        });
        flows
    }

    /// Returns the report of as many of its flows as are shown, and how many are left out:
    /// of many the worst remain, the worst first.
    pub(super) fn shown(&self, extent: ShownFlows) -> (Cow<'_, Self>, usize) {
        let left_out = self.flows.len().saturating_sub(MOST_SHOWN);
        if extent == ShownFlows::All || left_out == 0 {
            return (Cow::Borrowed(self), 0);
        }
        let worst = self.worst_first().into_iter().take(MOST_SHOWN);
        let report = Self {
            flows: worst.cloned().collect(),
            ..self.clone()
        };
        (Cow::Owned(report), left_out)
    }

    /// Returns what the flows of each kind and queue come to.
    pub(super) fn sums(&self) -> Vec<ClassSum> {
        let mut sums: BTreeMap<(FlowKind, Option<u8>), ClassSum> = BTreeMap::new();
        for flow in &self.flows {
            let (kind, queue) = (flow.facts.kind, flow.facts.queue);
            let new = || ClassSum {
                kind,
                queue,
                ..ClassSum::default()
            };
            sums.entry((kind, queue)).or_insert_with(new).add(flow);
        }
        sums.into_values().collect()
    }

    pub(super) fn sums_table(&self) -> Table {
        Table::new(COLUMNS).rows(self.sums().iter().map(ClassSum::row))
    }
}

impl ClassSum {
    fn add(&mut self, flow: &FlowReport) {
        let is = |outcome| u64::from(flow.verdict == outcome);
        self.flows += 1;
        self.held += is(Verdict::Held);
        self.broken += is(Verdict::Broken);
        self.exceeded += is(Verdict::Exceeded);
        self.refused += is(Verdict::Refused);
        self.not_judged += is(Verdict::NotJudged);
        self.sent += flow.sent;
        self.lost += flow.lost;
        self.late += flow.late;
        self.stalled += flow.stalled.late + flow.stalled.lost;
        self.highest_ns = self.highest_ns.max(flow.highest_ns);
    }

    fn row(&self) -> [String; 13] {
        [
            self.kind.label().to_owned(),
            self.queue
                .map_or_else(|| "–".to_owned(), |queue| queue.to_string()),
            self.flows.to_string(),
            self.held.to_string(),
            self.broken.to_string(),
            self.exceeded.to_string(),
            self.refused.to_string(),
            self.not_judged.to_string(),
            self.sent.to_string(),
            self.lost.to_string(),
            self.late.to_string(),
            self.stalled.to_string(),
            self.highest_ns.map_or_else(|| "–".to_owned(), time),
        ]
    }
}
