//! `taktos run`: the main job.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lab::privilege::Privilege;
use measure::report::{Completion, Outcome, Report, RunVerdict};
use scenario::Scenario;

use super::exit::Exit;
use super::screen::Screen;
use super::{Run, WorldName, scenario_file};
use crate::experiment::{Experiment, ExperimentError, Place};

/// Runs a scenario and writes its report.
pub fn run(arguments: &Run) -> Exit {
    let mut scenario = match scenario_file::read(&arguments.file) {
        Ok(scenario) => scenario,
        Err(exit) => return exit,
    };
    scenario.seed = arguments.seed.unwrap_or(scenario.seed);
    scenario.duration = arguments.duration.unwrap_or(scenario.duration);
    let folder = arguments.report.clone();
    let folder = folder.unwrap_or_else(|| Path::new("out").join(&scenario.name));

    let place = match choose(arguments.world) {
        Ok(place) => place,
        Err(exit) => return exit,
    };
    introduce(&scenario, place);
    let stop = match stop_on_signals() {
        Ok(stop) => stop,
        Err(error) => {
            eprintln!("taktos: cannot catch Ctrl-C: {error}");
            return Exit::Fault;
        }
    };
    let names = scenario
        .flows
        .iter()
        .map(|flow| flow.name.clone())
        .collect();
    let mut screen = Screen::new(names);
    let store = folder.join("controller.redb");
    if let Err(error) = fs::remove_file(&store)
        && error.kind() != io::ErrorKind::NotFound
    {
        eprintln!(
            "taktos: cannot begin with an empty store {}: {error}",
            store.display()
        );
        return Exit::BadInput;
    }
    let experiment = Experiment {
        scenario: &scenario,
        stop: &stop,
        store,
    };
    let outcome = experiment.run(place, &mut screen);
    screen.close();
    match outcome {
        Ok(report) => conclude(arguments, &folder, &report),
        Err(error) => explain(&error),
    }
}

/// Takes the privileges that the lab needs, while this is the only thread.
fn choose(world: Option<WorldName>) -> Result<Place, Exit> {
    if world == Some(WorldName::Sim) {
        return Ok(Place::Sim);
    }
    match lab::privilege::acquire() {
        Ok(Privilege::Administrator) => Ok(Place::Lab),
        Ok(Privilege::OwnUserNamespace) => {
            eprintln!("without root: in a user namespace of our own");
            Ok(Place::Lab)
        }
        Err(lack) if world == Some(WorldName::Lab) => {
            eprintln!("taktos: {lack}");
            Err(Exit::Lacking)
        }
        Err(lack) => {
            eprintln!("{lack}; so in virtual time (--world sim)");
            Ok(Place::Sim)
        }
    }
}

fn introduce(scenario: &Scenario, place: Place) {
    let world = match place {
        Place::Sim => "sim",
        Place::Lab => "lab",
    };
    eprintln!(
        "{} · {world} · {} switches, {} hosts, {} flows · seed {}",
        scenario.title,
        scenario.switches.len(),
        scenario.hosts.len(),
        scenario.flows.len(),
        scenario.seed
    );
}

/// Returns a flag that is set on Ctrl-C and on SIGTERM. A second one ends the
/// program at once; even then nothing is left behind.
fn stop_on_signals() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

fn conclude(arguments: &Run, folder: &Path, report: &Report) -> Exit {
    let written = write(folder, report);
    let shown = match arguments.json {
        true => writeln!(io::stdout(), "{}", report.to_json()),
        false => show(report, written.as_deref().ok()),
    };
    if let Err(error) = &written {
        eprintln!(
            "taktos: cannot write the report to {}: {error}",
            folder.display()
        );
    }
    // Nobody listens any more: the report on disk stands.
    drop(shown);
    match (report.completion, report.verdict(), written) {
        (_, _, Err(_)) => Exit::Fault,
        (Completion::Partial, ..) => Exit::Interrupted,
        (Completion::Complete, RunVerdict::Broken | RunVerdict::Refused, _) => Exit::Broken,
        (Completion::Complete, RunVerdict::Held, _) => Exit::Done,
    }
}

/// Writes both forms of the report, and returns where people find theirs.
fn write(folder: &Path, report: &Report) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("report.json"), report.to_json())?;
    let page = folder.join("report.html");
    fs::write(&page, report.to_html())?;
    Ok(page)
}

fn show(report: &Report, page: Option<&Path>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let colours = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    writeln!(out)?;
    for line in report.to_text().lines() {
        writeln!(
            out,
            "{}",
            if colours {
                coloured(line, report)
            } else {
                line.to_owned()
            }
        )?;
    }
    if let Some(page) = page {
        writeln!(out, "report: {}", page.display())?;
    }
    Ok(())
}

/// Colours the line of a flow by its outcome.
fn coloured(line: &str, report: &Report) -> String {
    let name = line.split_whitespace().next().unwrap_or_default();
    let flow = report.flows.iter().find(|flow| flow.facts.name == name);
    let colour = flow.and_then(|flow| match flow.verdict {
        Outcome::Held => Some(32),
        Outcome::Broken => Some(31),
        Outcome::Refused | Outcome::Untried => Some(33),
        Outcome::BestEffort => None,
    });
    match colour {
        Some(colour) => format!("\x1b[{colour}m{line}\x1b[0m"),
        None => line.to_owned(),
    }
}

/// Says why there is no report.
pub fn explain(error: &ExperimentError) -> Exit {
    eprintln!("taktos: {error}");
    match error {
        ExperimentError::Stopped => Exit::Interrupted,
        ExperimentError::Lab(_) => Exit::Lacking,
        ExperimentError::Store(_) | ExperimentError::FrameTooShort { .. } => Exit::BadInput,
        ExperimentError::Undiscovered { .. }
        | ExperimentError::Undecided { .. }
        | ExperimentError::Uninstalled { .. } => Exit::Fault,
    }
}
