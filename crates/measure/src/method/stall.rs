//! How the machine itself stands still: a trial that sends nothing.

use units::Duration;

use super::{Findings, Method, MethodError, Progress, Settings};
use crate::measurement::{Figure, Value};
use crate::statistics::Distribution;
use crate::trial::{Tester, Trial, TrialError, Watcher};

/// `taktos measure stall`.
pub const METHOD: Method = Method {
    name: "stall",
    finds: "how often and how long the machine itself stands still",
    options: &[],
    run,
};

/// How long is looked, in trials of [`PART`].
const FULL: Duration = Duration::from_secs(60);
const QUICK: Duration = Duration::from_secs(5);
const PART: Duration = Duration::from_secs(1);

/// Nobody watches frames.
struct Nobody;

impl Watcher for Nobody {
    fn see(&mut self, _sighting: &crate::trial::Sighting<'_>) {}
}

fn run(
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Findings, MethodError> {
    let parts = settings.length(FULL, QUICK).as_ns().div_ceil(PART.as_ns());
    let mut looks = Distribution::default();
    let mut lengths = Distribution::default();
    let (mut total, mut threshold) = (Duration::ZERO, Duration::ZERO);
    for part in 0..parts {
        progress.step(part, parts, "looking at the clock");
        let stalls = look(tester)?;
        looks.merge(stalls.looks());
        for stall in stalls.kept() {
            lengths.record(stall.length);
        }
        total += stalls.total();
        threshold = stalls.threshold();
    }
    let count = lengths.count();
    Ok(Findings {
        figures: vec![
            figure("stalls", Value::Count(count)),
            figure("length of a stall", Value::Times(lengths)),
            figure("time lost to stalls", Value::Time(total)),
            figure("time between two looks at the clock", Value::Times(looks)),
        ],
        remarks: vec![format!(
            "Two looks at the clock further apart than {threshold} are a stall."
        )],
    })
}

fn look(tester: &mut dyn Tester) -> Result<crate::stalls::Stalls, TrialError> {
    let trial = Trial {
        length: PART,
        ..Trial::default()
    };
    Ok(tester.run(trial, &mut Nobody)?.stalls)
}

fn figure(quantity: &str, value: Value) -> Figure {
    Figure {
        quantity: quantity.to_owned(),
        source: "S0-2, the machine in the way".to_owned(),
        setting: Vec::new(),
        value,
    }
}
