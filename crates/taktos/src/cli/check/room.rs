//! What is left to spare, and how far from the best a choice of flows may be.

use std::collections::BTreeSet;

use calculus::admission::Slowdown;
use controller::northbound::{FlowId, Promises};
use scenario::Scenario;
use serde_json::{Value, json};

use run::experiment::plan::name_of;
use run::room;

/// How many flows of a conflict are named.
const MOST_NAMED: usize = 6;

/// How much there is to spare.
pub(super) struct SpareRoom {
    spare: room::Room,
    /// Flows that do not fit together, in sets that have none in common.
    conflicts: Vec<Vec<String>>,
    flows: usize,
}

impl SpareRoom {
    pub(super) fn of(
        scenario: &Scenario,
        promises: &Promises,
        conflicts: &[BTreeSet<usize>],
    ) -> Self {
        let name = |at: &usize| scenario.flows[*at].name.clone();
        Self {
            spare: room::Room::of(promises, |datapath| name_of(scenario, datapath)),
            conflicts: conflicts
                .iter()
                .map(|conflict| conflict.iter().map(name).collect())
                .collect(),
            flows: scenario.flows.len(),
        }
    }

    /// Returns how many times as long processors may take with a flow in time.
    pub(super) fn of_flow(&self, flow: FlowId) -> Option<Slowdown> {
        self.spare.of_flow(flow)
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
        if let Some(least) = self.spare.least() {
            lines += &format!(
                "Slower: how many times as long as stated all switches may take with the flow in \
                 time; {} for all flows.\n",
                times(least)
            );
        }
        for warning in self.spare.warnings() {
            lines += &warning;
            lines += "\n";
        }
        lines
    }

    pub(super) fn add_to(&self, value: &mut Value) {
        value["slowdown_thousandths"] = self.spare.least().map(Slowdown::thousandths).into();
        value["at_most"] = (self.flows - self.conflicts.len()).into();
        value["conflicts"] = json!(self.conflicts);
        let processors = self.spare.processors.iter().map(|it| {
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
