//! What the program finds out, as documents: for programs in the same process, such as the
//! package for Python. They are those that the commands print with `--json`.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use certificate::{Certificate, Unreadable};
use measure::report::ShownFlows;
use run::experiment::{
    self, Audience, Experiment, ExperimentError, SimEngine, WorldChoice, certificate,
};
use scenario::Scenario;

use crate::cli;

pub use crate::cli::analyze::AnalysisWish;
pub use crate::cli::scenario_file::{LoadError, load as read_scenario};

/// Gives flows of which nobody has named the class other queues, where more of them fit
/// then, as all commands do.
///
/// # Errors
///
/// As [`Experiment::weigh`].
pub fn settle(scenario: &mut Scenario, stop: &AtomicBool) -> Result<(), ExperimentError> {
    experiment::queues::assign(scenario, stop).map(|_| ())
}

/// Decides on the flows of a scenario.
///
/// # Errors
///
/// As [`Experiment::weigh`].
pub fn check(scenario: &Scenario, stop: &AtomicBool) -> Result<String, ExperimentError> {
    Ok(cli::check::document(scenario, stop)?.to_string())
}

/// Writes down what the promises of a scenario rest on.
///
/// # Errors
///
/// As [`Experiment::promises`].
pub fn certify(scenario: &Scenario, stop: &AtomicBool) -> Result<String, ExperimentError> {
    let (_, promises) = Experiment::deciding(scenario, stop).promises()?;
    Ok(certificate(scenario, &promises).write())
}

/// Calculates again whether a certificate proves its promises.
///
/// # Errors
///
/// What keeps it from being read.
pub fn verify(text: &str) -> Result<String, Unreadable> {
    Certificate::read(text).map(|certificate| cli::verify::document_of(&certificate))
}

/// Runs a scenario in virtual time and returns its report. The captures that it asks for are
/// written to `captures`.
///
/// # Errors
///
/// As [`Experiment::run`].
pub fn simulate(
    scenario: &Scenario,
    captures: &Path,
    stop: &AtomicBool,
    audience: &mut dyn Audience,
) -> Result<String, ExperimentError> {
    let experiment = Experiment {
        captures: captures.to_owned(),
        ..Experiment::deciding(scenario, stop)
    };
    let report = experiment.run(WorldChoice::Sim(SimEngine::Tables), audience)?;
    Ok(report.to_json(ShownFlows::All))
}
