//! Measures a device: which one, on what machine, and what came of it.
//!
//! The methods are in [`measure::method`], the testers in `lab` and `sim`; here they
//! are put together.
//!
//! | module | knows |
//! |---|---|
//! | [`target`] | what can be measured, and how to get at it |
//! | [`conditions`] | the machine on which it is measured |

pub mod conditions;
pub mod target;

use measure::measurement::{Conditions, Measurement};
use measure::method::{Effort, Method, MethodError, Progress, Settings, Witness};
use measure::trial::{Stamps, Tester};

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
    let setup = tester.setup().clone();
    let mut witness = Witness::new(tester);
    let findings = (method.run)(&mut witness, settings, progress)?;
    let witnessed = witness.finish();
    let real = setup.stamps != Stamps::Virtual;
    let ended = record.finish(real);
    let mut remarks = findings.remarks;
    remarks.extend(witnessed.clock_steps);
    if witnessed.unseen > 0 {
        remarks.push(format!(
            "{} frames went by unseen, as the tester's own buffers were full: losses are too high.",
            witnessed.unseen
        ));
    }
    Ok(Measurement {
        method: method.name.to_owned(),
        device: setup.device,
        quick: settings.effort == Effort::Quick,
        figures: findings.figures,
        remarks,
        conditions: Conditions {
            command: ended.command,
            began_unix_ns: ended.began_unix_ns,
            took: ended.took,
            seed: settings.seed,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            versions: ended.versions,
            machine: ended.machine,
            stamps: setup.stamps,
            bias: setup.bias,
            lateness: witnessed.lateness,
            stalls: witnessed.stalls,
            unseen: witnessed.unseen,
            skipped: witnessed.skipped,
        },
    })
}
