//! What is left to spare, and how far from the best a choice of flows may be.

use std::collections::{BTreeMap, BTreeSet};

use calculus::admission::{Slowdown, StageId};
use controller::northbound::{FlowId, Promises};
use scenario::Scenario;
use serde_json::{Value, json};

use crate::experiment::explanation::Explainer;
use crate::experiment::plan::keeps_budgets;

/// From so many thousandths of its time on that a processor may have to work, slower
/// switches are no matter of deadlines any more.
const NEARLY_ALL: u64 = 900;
/// How many flows of a conflict are named.
const MOST_NAMED: usize = 6;

/// How much there is to spare.
pub(super) struct Room {
    /// How many times as long as stated processors may take with a flow in time; none
    /// where flows are promised something at levels of criticality.
    slowdowns: BTreeMap<FlowId, Slowdown>,
    processors: Vec<Processor>,
    /// Flows that do not fit together, in sets that have none in common.
    conflicts: Vec<Vec<String>>,
    flows: usize,
}

/// How busy a switch may be, in thousandths of its time.
struct Processor {
    switch: String,
    busy: u64,
    without_promise: u64,
}

impl Room {
    pub(super) fn of(
        scenario: &Scenario,
        promises: &Promises,
        conflicts: &[BTreeSet<usize>],
        explainer: &Explainer<'_>,
    ) -> Self {
        let ledger = &promises.ledger;
        // There the time that a change of level takes is part of a promise, and grows too.
        let slowdowns = match keeps_budgets(scenario) {
            true => BTreeMap::new(),
            false => ledger.slowdowns(),
        };
        let flows = promises.flows.iter();
        let of_flow = flows.filter_map(|flow| Some((flow.id, *slowdowns.get(&flow.reservation)?)));
        let stages = (0..).map(StageId).take(ledger.stages().len());
        let processors = stages.filter_map(|stage| {
            let (busy, without_promise) = ledger.busy(stage)?;
            Some(Processor {
                switch: explainer.place_of(stage),
                busy,
                without_promise,
            })
        });
        let name = |at: &usize| scenario.flows[*at].name.clone();
        Self {
            slowdowns: of_flow.collect(),
            processors: processors.collect(),
            conflicts: conflicts
                .iter()
                .map(|conflict| conflict.iter().map(name).collect())
                .collect(),
            flows: scenario.flows.len(),
        }
    }

    /// Returns how many times as long processors may take with a flow in time.
    pub(super) fn of_flow(&self, flow: FlowId) -> Option<Slowdown> {
        self.slowdowns.get(&flow).copied()
    }

    /// Returns how many times as long processors may take with every flow in time.
    fn least(&self) -> Option<Slowdown> {
        self.slowdowns.values().min().copied()
    }

    /// Says how far the choice of the `admitted` may be from the best, and what there is to
    /// spare: a sentence a line.
    pub(super) fn text(&self, admitted: usize) -> String {
        let mut lines = String::new();
        let most = self.flows - self.conflicts.len();
        if admitted < self.flows && !self.conflicts.is_empty() {
            lines += &match admitted == most {
                true => "No other choice admits more.".to_owned(),
                false => format!("No choice admits more than {most}."),
            };
            let together = self.conflicts.iter().map(|conflict| together(conflict));
            lines += &format!(" {}.\n", together.collect::<Vec<_>>().join("; "));
        }
        if let Some(least) = self.least() {
            lines += &format!(
                "Slower: how many times as long as stated all switches may take with the flow in \
                 time; {} for all flows.\n",
                times(least)
            );
        }
        let busy = self.processors.iter().filter(|it| it.busy >= NEARLY_ALL);
        for processor in busy {
            lines += &format!(
                "Switch {} may have to work {} of its time, {} for traffic without promise: where \
                 that nears all, no factor helps; limit that traffic at the edge.\n",
                processor.switch,
                percent(processor.busy),
                percent(processor.without_promise)
            );
        }
        lines
    }

    /// Adds what programs read.
    pub(super) fn add_to(&self, value: &mut Value) {
        value["slowdown_thousandths"] = self.least().map(Slowdown::thousandths).into();
        value["at_most"] = (self.flows - self.conflicts.len()).into();
        value["conflicts"] = json!(self.conflicts);
        let processors = self.processors.iter().map(|it| {
            json!({
                "switch": it.switch,
                "busy_thousandths": it.busy,
                "without_promise_thousandths": it.without_promise,
            })
        });
        value["processors"] = processors.collect();
    }
}

/// Returns how many times as long switches may take, in words that fit into a column.
pub(super) fn times(slowdown: Slowdown) -> String {
    match slowdown {
        Slowdown::MOST => format!("\u{2265}{slowdown}x"),
        _ => format!("{slowdown}x"),
    }
}

fn together(conflict: &[String]) -> String {
    match conflict {
        [alone] => format!("{alone} does not fit even alone"),
        _ => {
            let named: Vec<_> = conflict.iter().take(MOST_NAMED).cloned().collect();
            let more = match conflict.len().saturating_sub(MOST_NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{}{more} do not all fit together", named.join(", "))
        }
    }
}

fn percent(thousandths: u64) -> String {
    format!("{}.{} %", thousandths / 10, thousandths % 10)
}
