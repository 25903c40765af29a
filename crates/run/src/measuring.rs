//! Measures a device: which one, on what machine, and what came of it.
//!
//! The methods are in [`measure::method`], the testers in `lab` and `sim`; here they
//! are put together.
//!
//! | module | knows |
//! |---|---|
//! | [`target`] | what can be measured, and how to get at it |
//! | [`captures`] | what others captured, and how to have it analysed |
//! | [`conditions`] | the machine on which it is measured |
//! | [`emulated_relay`] | a device of a profile between namespaces |
//! | [`invocation`] | how this program was started, and is started again |
//! | [`own_profile`] | what a Taktos switch does on this machine, kept from run to run |
//! | [`recordings`] | traffic that is to be sent again |
//! | [`resumed`] | a plan that goes on where it was interrupted |
//! | [`under_load`] | how long frames take while the machine carries as much as a scenario |
//! | [`turns`] | two devices that are measured in turns |

pub mod captures;
pub mod conditions;
pub mod emulated_relay;
pub mod invocation;
pub mod own_profile;
pub mod recordings;
pub mod resumed;
pub mod target;
pub mod turns;
pub mod under_load;

use std::path::PathBuf;

use measure::capture::analysis::{Assumptions, Question};
use measure::measurement::{Conditions, Measurement};
use measure::method::trial_log::TrialLog;
use measure::method::{Effort, Log, Method, MethodError, Progress, Settings, TrialLogger};
use measure::statistics::Distribution;
use measure::trial::{Setup, Stamps, Tester};
use units::Duration;

use captures::CaptureError;
use conditions::Record;

/// Makes a measurement, and keeps the conditions beside it.
///
/// # Errors
///
/// What the method says.
pub fn measure(
    method: &Method,
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
    record: Record,
) -> Result<Measurement, MethodError> {
    let mut measurement =
        measure_by_log(method, tester, settings, progress, (record, Log::default()))?;
    remark_unseen(&mut measurement);
    Ok(measurement)
}

/// Makes a measurement whose conditions are those that nobody has taken out of the log
/// meanwhile.
fn measure_by_log(
    method: &Method,
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
    (record, log): (Record, Log),
) -> Result<Measurement, MethodError> {
    let setup = tester.setup().clone();
    let mut witness = TrialLogger::new(tester, log.clone());
    let findings = (method.run)(&mut witness, settings, progress)?;
    // How far the clocks of cards were apart is known by now.
    let setup = Setup {
        clocks_apart: witness.setup().clocks_apart,
        ..setup
    };
    let witnessed = log.take();
    let mut remarks = findings.remarks;
    remarks.extend(witnessed.clock_steps.iter().cloned());
    Ok(Measurement {
        method: method.name.to_owned(),
        device: setup.device.clone(),
        quick: settings.effort == Effort::Quick,
        figures: findings.figures,
        remarks,
        conditions: conditions_of(record, &setup, settings.seed, witnessed),
        earlier: Vec::new(),
    })
}

/// Says what frames that went by unseen mean for the figures.
fn remark_unseen(measurement: &mut Measurement) {
    let unseen = measurement.conditions.unseen;
    if unseen > 0 {
        measurement.remarks.push(format!(
            "{unseen} frames went by unseen, as the tester's own buffers were full: losses are too high, \
             but for searches, which left such trials out."
        ));
    }
    let strays = measurement.conditions.strays;
    if strays > 0 {
        measurement.remarks.push(format!(
            "{strays} frames arrived when another trial than theirs was under way, of this \
             measurement or of one before. They count in none: where a trial of this one sent them, \
             it has them as lost, and they are late."
        ));
    }
    let unstamped = measurement.conditions.unstamped;
    if unstamped > 0 {
        measurement.remarks.push(format!(
            "{unstamped} frames passed without a stamp of the network card that could be believed: \
             cards stamp only so many frames a second that they send. They count as sent and \
             received and are in no figure of time; `acceptance` leaves them out."
        ));
    }
}

fn conditions_of(record: Record, setup: &Setup, seed: u64, witnessed: TrialLog) -> Conditions {
    let ended = record.finish(setup.stamps != Stamps::Virtual, &setup.device);
    Conditions {
        command: ended.command,
        began_unix_ns: ended.began_unix_ns,
        took: ended.took,
        seed,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        versions: ended.versions,
        machine: ended.machine,
        stamps: setup.stamps,
        bias: setup.bias,
        clocks_apart: setup.clocks_apart,
        lateness: witnessed.lateness,
        stalls: witnessed.stalls,
        unseen: witnessed.unseen,
        unstamped: witnessed.unstamped,
        strays: witnessed.strays,
        skipped: witnessed.skipped,
    }
}

/// Analyses captures of one place or two, and keeps the conditions beside what was
/// found.
///
/// # Errors
///
/// If a capture cannot be read.
pub fn analyze(
    paths: &[PathBuf],
    question: Question,
    assumptions: Assumptions,
    progress: &mut dyn Progress,
    record: Record,
) -> Result<Measurement, CaptureError> {
    let findings = captures::analyze(paths, question, assumptions, progress)?;
    let ended = record.finish(true, "");
    let names: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    Ok(Measurement {
        method: question.method().to_owned(),
        device: format!("captures {}", names.join(", ")),
        quick: false,
        figures: findings.figures,
        remarks: findings.remarks,
        conditions: Conditions {
            command: ended.command,
            began_unix_ns: ended.began_unix_ns,
            took: ended.took,
            seed: 0,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            versions: Vec::new(),
            machine: ended.machine,
            stamps: Stamps::File,
            bias: None,
            clocks_apart: Duration::ZERO,
            lateness: Distribution::default(),
            stalls: Distribution::default(),
            unseen: 0,
            unstamped: 0,
            strays: 0,
            skipped: 0,
        },
        earlier: Vec::new(),
    })
}
