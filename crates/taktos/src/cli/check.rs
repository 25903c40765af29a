//! `taktos check`: admission alone.

mod room;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use calculus::admission::{Background, FailureScope, Slowdown, Spare, Stage, StageId};
use comfy_table::{CellAlignment, Table, TableStyle};
use controller::northbound::{Accepted, Cover, FlowId, Promises};
use scenario::Scenario;
use serde_json::{Value, json};
use units::Delay;

use super::exit::Exit;
use super::run::explain;
use super::screen::{self, say};
use super::{Check, Fit, explanation, profile, scenario_file};
use room::SpareRoom;
use run::experiment::explanation::Explainer;
use run::experiment::{Admission, Experiment, ExperimentError, SimEngine, WorldChoice};

/// Reads the scenario, with profiles and queues as they are meant.
fn read(arguments: &Check, stop: &AtomicBool) -> Result<Scenario, Exit> {
    let mut scenario = scenario_file::read(&arguments.file)?;
    let (place, choice) = (
        WorldChoice::Sim(SimEngine::Tables),
        arguments.profile.as_ref(),
    );
    profile::settle(&mut scenario, place, choice, stop)?;
    scenario_file::settle_queues(&mut scenario, stop)?;
    Ok(scenario)
}

/// Says which flows of a scenario would be admitted.
pub(super) fn check(arguments: &Check) -> Exit {
    let stop = AtomicBool::new(false);
    let scenario = match read(arguments, &stop) {
        Ok(scenario) => scenario,
        Err(exit) => return exit,
    };
    if let Some(unknown) = unknown_flow(&scenario, &arguments.explain) {
        say(format_args!("taktos: {unknown}"));
        return Exit::BadInput;
    }
    let spare = match arguments.fit {
        Fit::Roomy => Spare::Shared,
        Fit::Tight => Spare::None,
    };
    let weighed = match Weighed::new(&scenario, spare, &stop) {
        Ok(weighed) => weighed,
        Err(error) => return explain(&error),
    };
    let text = match arguments.json {
        true => format!("{:#}\n", weighed.document(&arguments.explain)),
        false => weighed.text(&arguments.explain),
    };
    let admissions = &weighed.admissions;
    if let Err(error) = screen::print(&text) {
        say(format_args!("taktos: cannot show the result: {error}"));
        return Exit::Fault;
    }
    match all_admitted(admissions) {
        true => Exit::Done,
        false => Exit::Broken,
    }
}

/// What was decided on the flows of a scenario.
struct Weighed<'a> {
    scenario: &'a Scenario,
    admissions: Vec<Admission>,
    promises: Promises,
    conflicts: Vec<BTreeSet<usize>>,
}

/// Returns what `taktos check --json` prints.
///
/// # Errors
///
/// As [`Experiment::weigh`].
pub(crate) fn document(scenario: &Scenario, stop: &AtomicBool) -> Result<Value, ExperimentError> {
    Ok(Weighed::new(scenario, Spare::Shared, stop)?.document(&[]))
}

impl<'a> Weighed<'a> {
    fn new(
        scenario: &'a Scenario,
        spare: Spare,
        stop: &'a AtomicBool,
    ) -> Result<Self, ExperimentError> {
        let experiment = Experiment {
            spare,
            ..Experiment::deciding(scenario, stop)
        };
        let (admissions, promises, conflicts) = experiment.weigh()?;
        Ok(Self {
            scenario,
            admissions,
            promises,
            conflicts,
        })
    }

    fn found(&self, unbroken: &Background) -> CheckedFlows<'_> {
        let any_failure = Background::of(&self.promises.ledger, FailureScope::AnyFailure);
        CheckedFlows {
            scenario: self.scenario,
            admissions: &self.admissions,
            now: met(&self.promises, unbroken),
            now_any_failure: met(&self.promises, &any_failure),
            room: SpareRoom::of(self.scenario, &self.promises, &self.conflicts),
        }
    }

    fn unbroken(&self) -> Background {
        Background::of(&self.promises.ledger, FailureScope::Unbroken)
    }

    /// Returns the decision on each flow that is to be explained.
    fn chosen<'n>(&self, names: &'n [String]) -> impl Iterator<Item = (&'n str, &Admission)> {
        names.iter().filter_map(|name| {
            let flow = |it: &&Admission| self.scenario.flows[it.flow].name == *name;
            Some((name.as_str(), self.admissions.iter().find(flow)?))
        })
    }

    fn document(&self, explain: &[String]) -> Value {
        let unbroken = self.unbroken();
        let explainer = Explainer::new(self.scenario, &self.promises, &unbroken);
        let found = self.found(&unbroken);
        let mut value = as_json(&found);
        found.room.add_to(&mut value);
        value["stages"] = stages(&explainer, &self.promises, &unbroken);
        let explained = self.chosen(explain).map(|(name, admission)| {
            explanation::json::value(name, &explainer.explain(admission), &explainer)
        });
        value["explanations"] = explained.collect();
        value
    }

    fn text(&self, explain: &[String]) -> String {
        let unbroken = self.unbroken();
        let explainer = Explainer::new(self.scenario, &self.promises, &unbroken);
        let explained = self.chosen(explain).map(|(name, admission)| {
            explanation::text(name, &explainer.explain(admission), &explainer)
        });
        let explained: Vec<_> = explained.collect();
        match explained.is_empty() {
            true => as_text(&self.found(&unbroken)),
            false => explained.join("\n"),
        }
    }
}

/// What was found out about the flows of a scenario.
struct CheckedFlows<'a> {
    scenario: &'a Scenario,
    admissions: &'a [Admission],
    /// What flows meet while nothing is broken.
    now: BTreeMap<FlowId, Delay>,
    /// What they meet under any failure that is provided for.
    now_any_failure: BTreeMap<FlowId, Delay>,
    room: SpareRoom,
}

fn met(promises: &Promises, background: &Background) -> BTreeMap<FlowId, Delay> {
    let flows = promises.flows.iter();
    let met = flows.filter_map(|flow| {
        let met = background.of_flow(&promises.ledger, flow.reservation)?;
        Some((flow.id, met.delay))
    });
    met.collect()
}

/// Says which of the names is that of no flow, and which one may be meant.
fn unknown_flow(scenario: &Scenario, names: &[String]) -> Option<String> {
    let flows = || scenario.flows.iter().map(|flow| flow.name.as_str());
    let unknown = names
        .iter()
        .find(|name| flows().all(|flow| flow != *name))?;
    let distance = |flow: &&str| strsim::damerau_levenshtein(unknown, flow);
    let Some(nearest) = flows().min_by_key(distance) else {
        return Some(format!(
            "no flow is named `{unknown}`: the scenario has none"
        ));
    };
    let guess = match distance(&nearest) <= nearest.len() / 2 {
        true => format!("did you mean `{nearest}`?"),
        false => format!("`taktos check` lists all flows, the first is `{nearest}`"),
    };
    Some(format!("no flow is named `{unknown}`: {guess}"))
}

fn all_admitted(admissions: &[Admission]) -> bool {
    admissions
        .iter()
        .all(|admission| admission.decision.is_ok())
}

/// Returns the budgets of all stages that are in use, and how much of them is.
fn stages(explainer: &Explainer<'_>, promises: &Promises, unbroken: &Background) -> Value {
    let ns = |delay: Delay| delay.round_up().as_ns();
    let mut rows = Vec::new();
    for (stage, id) in promises.ledger.stages().iter().zip((0..).map(StageId)) {
        let classes = match stage {
            Stage::Processing { .. } => 0..=0,
            Stage::Port { .. } => 1..=7,
        };
        for class in classes {
            let Some((budget, needed)) = stage.budget(class).zip(promises.ledger.bound(id, class))
            else {
                continue;
            };
            if needed > Delay::ZERO {
                rows.push(json!({
                    "stage": explainer.place_of(id),
                    "class": class,
                    "budget_ns": ns(budget),
                    "needed_ns": ns(needed),
                    "now_ns": ns(unbroken.at(id, class)),
                }));
            }
        }
    }
    rows.into()
}

fn as_json(found: &CheckedFlows<'_>) -> Value {
    let (scenario, admissions) = (found.scenario, found.admissions);
    let flows = admissions.iter().map(|Admission { flow, decision, .. }| {
        let flow = &scenario.flows[*flow];
        let deadline_ns = flow.deadline.map(units::Duration::as_ns);
        match decision {
            Ok(accepted) => {
                let ns = |delay: &Delay| delay.round_up().as_ns();
                let guarantee_ns = accepted.guarantee.as_ref().map(ns);
                json!({
                    "name": flow.name,
                    "admitted": true,
                    "reason": null,
                    "deadline_ns": deadline_ns,
                    "guarantee_ns": guarantee_ns,
                    "slack_ns": deadline_ns.zip(guarantee_ns).map(|(d, g)| d.saturating_sub(g)),
                    "now_ns": found.now.get(&accepted.id).map(ns),
                    "now_any_failure_ns": found.now_any_failure.get(&accepted.id).map(ns),
                    "slowdown_thousandths": found.room.of_flow(accepted.id).map(Slowdown::thousandths),
                    "path": accepted.route.switches,
                    "alternatives": accepted.alternatives.len(),
                    "cover": accepted.cover.map(Cover::name),
                })
            }
            Err(reason) => json!({
                "name": flow.name,
                "admitted": false,
                "reason": reason,
                "deadline_ns": deadline_ns,
                "guarantee_ns": null,
                "slack_ns": null,
                "now_ns": null,
                "now_any_failure_ns": null,
                "slowdown_thousandths": null,
                "path": [],
                "alternatives": 0,
                "cover": null,
            }),
        }
    });
    let verdict = match all_admitted(admissions) {
        true => "admitted",
        false => "refused",
    };
    json!({"scenario": scenario.name, "verdict": verdict, "flows": flows.collect::<Vec<_>>()})
}

/// Says that a flow is admitted, and which failures its interruption covers.
fn admitted(accepted: &Accepted) -> String {
    match accepted.cover {
        None => "admitted".to_owned(),
        Some(cover) => format!("admitted, {cover}"),
    }
}

fn as_text(found: &CheckedFlows<'_>) -> String {
    let (scenario, admissions) = (found.scenario, found.admissions);
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    table.set_header([
        "flow",
        "deadline",
        "guarantee",
        "now",
        "slower",
        "path",
        "verdict",
    ]);
    for column in 1..=4 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for Admission { flow, decision, .. } in admissions {
        let flow = &scenario.flows[*flow];
        let deadline = flow
            .deadline
            .map(|deadline| deadline.to_string())
            .unwrap_or_default();
        let none = String::new;
        table.add_row(match decision {
            Ok(accepted) => {
                let guarantee = accepted.guarantee;
                let path = accepted.route.switches.join(" ");
                let guarantee = guarantee.map(|delay| delay.to_string()).unwrap_or_default();
                let now = found.now.get(&accepted.id).map(Delay::to_string);
                let slower = found.room.of_flow(accepted.id).map(room::times);
                [
                    flow.name.clone(),
                    deadline,
                    guarantee,
                    now.unwrap_or_default(),
                    slower.unwrap_or_default(),
                    path,
                    admitted(accepted),
                ]
            }
            Err(reason) => [
                flow.name.clone(),
                deadline,
                none(),
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
        "{table}\n{admitted} of {} flows would be admitted. Now: with these flows, while nothing is broken.\n{}",
        admissions.len(),
        found.room.text(admitted)
    )
}
