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

#[cfg(test)]
mod tests {
    use units::Instant;

    use super::*;
    use crate::method::Silent;
    use crate::method::tests::known_device::{figure, number, settings};
    use crate::stalls::Stalls;
    use crate::trial::{Conduct, Setup, Stamps};

    /// A machine that stands still for so long at the beginning of each trial.
    struct Standing(Setup, Duration);

    impl Tester for Standing {
        fn setup(&self) -> &Setup {
            &self.0
        }

        fn run(&mut self, trial: Trial, _: &mut dyn Watcher) -> Result<Conduct, TrialError> {
            let mut stalls = Stalls::new(Duration::from_us(100));
            let end = Instant::ZERO + trial.length;
            stalls.look("tester", Instant::ZERO, Instant::ZERO + self.1);
            stalls.look(
                "tester",
                Instant::ZERO + self.1,
                end.min(Instant::ZERO + self.1 * 2u64),
            );
            Ok(Conduct {
                lateness: Distribution::default(),
                calm_lateness: Distribution::default(),
                sent: 0,
                skipped: 0,
                unseen: 0,
                unstamped: 0,
                strays: 0,
                stalls,
                clock_steps: Vec::new(),
            })
        }
    }

    #[test]
    fn what_a_machine_is_known_to_stand_still_is_found() {
        let setup = Setup {
            device: "none".to_owned(),
            ports: Vec::new(),
            rate: None,
            one_clock: true,
            clocks_apart: Duration::ZERO,
            stamps: Stamps::Virtual,
            bias: None,
            agent: false,
        };
        for (still, count) in [(50, 0), (700, 10)] {
            let mut machine = Standing(setup.clone(), Duration::from_us(still));

            let found = run(&mut machine, &settings(&[]), &mut Silent).unwrap();

            // Twice in each of five trials.
            assert_eq!(number(&found, "stalls", ""), count);
            let Value::Time(lost) = figure(&found, "time lost to stalls", "") else {
                panic!("{found:#?}")
            };
            assert_eq!(*lost, Duration::from_us(still) * count);
        }
    }
}
