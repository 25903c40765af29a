//! `taktos check`: admission alone.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use comfy_table::{CellAlignment, Table, TableStyle};
use scenario::Scenario;
use serde_json::{Value, json};
use units::Delay;

use super::exit::Exit;
use super::run::explain;
use super::screen::{self, say};
use super::{Check, scenario_file};
use crate::experiment::{Admission, Experiment};

/// Says which flows of a scenario would be admitted.
pub fn check(arguments: &Check) -> Exit {
    let scenario = match scenario_file::read(&arguments.file) {
        Ok(scenario) => scenario,
        Err(exit) => return exit,
    };
    let stop = AtomicBool::new(false);
    let experiment = Experiment {
        scenario: &scenario,
        stop: &stop,
        store: PathBuf::new(),
        captures: PathBuf::new(),
    };
    let admissions = match experiment.check() {
        Ok(admissions) => admissions,
        Err(error) => return explain(&error),
    };
    let text = match arguments.json {
        true => format!("{:#}\n", as_json(&scenario, &admissions)),
        false => as_text(&scenario, &admissions),
    };
    if let Err(error) = screen::print(&text) {
        say(format_args!("taktos: cannot show the result: {error}"));
        return Exit::Fault;
    }
    match all_admitted(&admissions) {
        true => Exit::Done,
        false => Exit::Broken,
    }
}

fn all_admitted(admissions: &[Admission]) -> bool {
    admissions
        .iter()
        .all(|admission| admission.decision.is_ok())
}

fn as_json(scenario: &Scenario, admissions: &[Admission]) -> Value {
    let flows = admissions.iter().map(|Admission { flow, decision }| {
        let flow = &scenario.flows[*flow];
        let deadline_ns = flow.deadline.map(units::Duration::as_ns);
        match decision {
            Ok(accepted) => {
                let guarantee_ns = accepted.guarantee.map(|delay| delay.round_up().as_ns());
                json!({
                    "name": flow.name,
                    "admitted": true,
                    "reason": null,
                    "deadline_ns": deadline_ns,
                    "guarantee_ns": guarantee_ns,
                    "slack_ns": deadline_ns.zip(guarantee_ns).map(|(d, g)| d.saturating_sub(g)),
                    "path": accepted.route.switches,
                    "alternatives": accepted.alternatives.len(),
                })
            }
            Err(reason) => json!({
                "name": flow.name,
                "admitted": false,
                "reason": reason,
                "deadline_ns": deadline_ns,
                "guarantee_ns": null,
                "slack_ns": null,
                "path": [],
                "alternatives": 0,
            }),
        }
    });
    let verdict = match all_admitted(admissions) {
        true => "admitted",
        false => "refused",
    };
    json!({"scenario": scenario.name, "verdict": verdict, "flows": flows.collect::<Vec<_>>()})
}

fn as_text(scenario: &Scenario, admissions: &[Admission]) -> String {
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    table.set_header(["flow", "deadline", "guarantee", "slack", "path", "verdict"]);
    for column in 1..=3 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for Admission { flow, decision } in admissions {
        let flow = &scenario.flows[*flow];
        let deadline = flow
            .deadline
            .map(|deadline| deadline.to_string())
            .unwrap_or_default();
        let none = String::new;
        table.add_row(match decision {
            Ok(accepted) => {
                let guarantee = accepted.guarantee;
                let slack = guarantee.zip(flow.deadline).map(|(guarantee, deadline)| {
                    Delay::from(deadline).saturating_sub(guarantee).to_string()
                });
                let path = accepted.route.switches.join(" ");
                let guarantee = guarantee.map(|delay| delay.to_string()).unwrap_or_default();
                let slack = slack.unwrap_or_default();
                [
                    flow.name.clone(),
                    deadline,
                    guarantee,
                    slack,
                    path,
                    "admitted".to_owned(),
                ]
            }
            Err(reason) => [
                flow.name.clone(),
                deadline,
                none(),
                none(),
                none(),
                format!("refused: {reason}"),
            ],
        });
    }
    let admitted = admissions
        .iter()
        .filter(|admission| admission.decision.is_ok())
        .count();
    let table = table.trim_fmt();
    let lines = table.lines().map(|line| line.trim_start());
    let table = lines.collect::<Vec<_>>().join("\n");
    format!(
        "{table}\n{admitted} of {} flows would be admitted.\n",
        admissions.len()
    )
}
