//! The error that remains when a device is emulated by its profile (S3-6): each profile
//! that says how its device behaves is measured from outside by the project's own
//! methods, and what they find stands beside what was put in
//! ([`sim::emulation::fidelity`]).

use measure::measurement::Value;
use measure::method::Effort;
use measure::reproduction::Row;
use scenario::Profile;
use sim::emulation::fidelity::{Fidelity, of_profile};

use crate::{ExperimentOutcome, ExperimentSettings, Progress};

/// The profiles with an emulation that are built in.
const PROFILES: [&str; 5] = [
    "open-vswitch",
    "open-vswitch-sdn4ci",
    "open-vswitch-mininet",
    "hp-aruba-3810m",
    "pica8-p3297",
];

pub fn run(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let mut outcome = ExperimentOutcome::default();
    let steps = PROFILES.len() as u64;
    for (done, name) in (0..).zip(PROFILES) {
        progress(done, steps);
        let profile = Profile::built_in(name).expect("these are built in");
        match of_profile(&profile, Effort::Quick, settings.seed) {
            Ok(found) => {
                let rows = found.iter().filter_map(|likeness| row(name, likeness));
                outcome.rows.extend(rows);
            }
            Err(error) => outcome.remarks.push(format!("{name}: {error}")),
        }
    }
    progress(steps, steps);
    outcome
}

/// Returns the error as a row, in percent of what was put in.
fn row(name: &str, likeness: &Fidelity) -> Option<Row> {
    let error = likeness.error()?;
    let [stated, emulated] = [&likeness.stated, &likeness.emulated].map(Value::shown);
    let row = Row::new(format!("{name}: error of {}", likeness.what), "%");
    let note = format!("the profile has {stated}, measured from outside {emulated}");
    Some(row.ours(error * 100.0).note(note))
}
