//! What a controller decided about flows.

use scenario::flow_table::Remark;
use serde_json::{Value, json};

use super::super::failure;
use super::super::flows::time;
use super::super::sheet::{Head, count, draw, harmless, harmless_document};
use super::WantedFlows;
use crate::web::document::{DecisionDocument, DecisionsDocument, RequirementDocument};

/// How many flows of a conflict are named.
const MOST_NAMED: usize = 6;

/// The decisions on flows, in the order in which they were asked for.
pub struct Decided {
    dry_run: bool,
    decisions: Vec<DecisionDocument>,
}

impl Decided {
    /// Returns those on no flow yet.
    pub const fn new(dry_run: bool) -> Self {
        Self {
            dry_run,
            decisions: Vec::new(),
        }
    }

    pub fn take(&mut self, document: DecisionsDocument) {
        self.decisions.extend(document.decisions);
    }

    /// Returns how many there are.
    pub const fn len(&self) -> usize {
        self.decisions.len()
    }

    /// Tells whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.decisions.is_empty()
    }

    /// Tells whether a flow was refused.
    pub fn any_refused(&self) -> bool {
        self.decisions.iter().any(|it| it.admitted.is_none())
    }

    /// Returns them as one document, with what of a file was not asked for.
    pub fn json(&self, wanted: &WantedFlows) -> String {
        let verdict = match self.any_refused() {
            true => "refused",
            false => "admitted",
        };
        let document = json!({
            "dry_run": self.dry_run,
            "verdict": verdict,
            "decisions": self.decisions,
            "left_out": remarks(&wanted.left_out),
            "assumed": remarks(&wanted.assumed),
        });
        harmless_document(&format!("{document:#}\n"))
    }

    pub fn text(&self, wanted: &[RequirementDocument]) -> String {
        let rows = self.decisions.iter().zip(wanted);
        let rows: Vec<_> = rows
            .map(|(decision, wanted)| row(decision, wanted))
            .collect();
        let heads = [
            Head::Text("flow"),
            Head::Amount("deadline"),
            Head::Amount("guarantee"),
            Head::Amount("slack"),
            Head::Text("path"),
            Head::Text("verdict"),
        ];
        let admitted = self.decisions.iter().filter(|it| it.admitted.is_some());
        let would_be = match (self.dry_run, self.decisions.len()) {
            (true, _) => "would be",
            (false, 1) => "was",
            (false, _) => "were",
        };
        format!(
            "{}{} of {} {would_be} admitted\n",
            draw(heads, &rows),
            admitted.count(),
            count(self.decisions.len(), "flow")
        )
    }
}

fn remarks(remarks: &[Remark]) -> Value {
    let remarks = remarks.iter().map(|remark| {
        json!({
            "line": remark.line,
            "subject": remark.subject,
            "reason": remark.reason,
            "help": remark.help,
        })
    });
    remarks.collect()
}

/// Says what was decided, for whom room was made and who stands in the way.
fn verdict(decision: &DecisionDocument) -> String {
    let refused = decision.refused.as_ref().map(failure::refused);
    let moved = decision.moved.iter().map(|flow| {
        let flow = harmless(flow);
        format!("; {flow} goes another way for it")
    });
    let conflict = decision
        .conflict
        .iter()
        .map(|flows| match flows.as_slice() {
            [] => "; on its usual way it does not fit even alone".to_owned(),
            flows => format!("; on its usual way it does not fit beside {}", named(flows)),
        });
    let decided = refused.unwrap_or_else(|| "admitted".to_owned());
    [decided].into_iter().chain(moved).chain(conflict).collect()
}

/// Names flows, some of many.
fn named(flows: &[String]) -> String {
    let named: Vec<_> = flows
        .iter()
        .take(MOST_NAMED)
        .map(|flow| harmless(flow))
        .collect();
    match flows.len().saturating_sub(MOST_NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn row(decision: &DecisionDocument, wanted: &RequirementDocument) -> [String; 6] {
    let deadline = wanted.deadline_ns;
    let admitted = decision.admitted.as_ref();
    let guarantee = admitted
        .and_then(|it| it.guarantee)
        .map(|it| it.round_up().as_ns());
    let slack = deadline.zip(guarantee);
    let slack = slack.map(|(deadline, guarantee)| time(deadline.saturating_sub(guarantee)));
    [
        decision.name.clone(),
        deadline.map(time).unwrap_or_default(),
        guarantee.map(time).unwrap_or_default(),
        slack.unwrap_or_default(),
        admitted
            .map(|it| it.route.switches.join(" "))
            .unwrap_or_default(),
        verdict(decision),
    ]
}
