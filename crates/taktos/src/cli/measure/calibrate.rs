//! `taktos measure calibrate`: how far the tester is from the truth.
//!
//! Relays whose delay is known by their own ports stand between the tester's: one in
//! the kernel, and two that hold every frame for a while. What the tester says of
//! each frame is held against what the relay did to it.

use std::fmt::Write;
use std::sync::Arc;

use lab::device_under_test::{DeviceUnderTest, RelayPlan};
use lab::privilege;
use lab::tester::known_delay::{
    ACCURACY, DelayComparison, FrameSchedule, KnownDelay, KnownDelayError,
};
use measure::statistics::Distribution;
use measure::trial::TrialError;
use serde_json::{Value as Json, json};
use units::Duration;

use super::super::exit::Exit;
use super::super::run::stop_on_signals;
use super::super::screen::{Steps, say};
use super::{Failure, Measure, print};

/// Its name on the command line.
pub const NAME: &str = "calibrate";
pub const FINDS: &str = "how far the tester is from the truth, by relays of known delay";

/// The relays: at once, and after so long.
const DELAYS: [Option<Duration>; 3] = [
    None,
    Some(Duration::from_us(100)),
    Some(Duration::from_ms(1)),
];
const INTERVAL: Duration = Duration::from_us(500);
const FRAMES: u32 = 2_000;
const TRIALS: u32 = 20;
const QUICK_TRIALS: u32 = 2;

/// Calibrates, and says whether the tester keeps its accuracy.
pub fn calibrate(arguments: &Measure) -> Exit {
    match all(arguments) {
        Ok(found) => {
            let text = match arguments.json {
                true => format!("{:#}\n", as_json(&found)),
                false => as_text(&found),
            };
            match print(&text) {
                Exit::Done if !found.iter().all(|(_, held)| held.is_accurate()) => Exit::Broken,
                exit => exit,
            }
        }
        Err(failure) => {
            say(format_args!("taktos: {failure}"));
            failure.exit()
        }
    }
}

type CalibrationResults = Vec<(String, DelayComparison)>;

fn all(arguments: &Measure) -> Result<CalibrationResults, Failure> {
    if arguments.pcapng.is_some() {
        let mistake = "`calibrate` keeps no frames: leave `--pcapng` out";
        return Err(Failure::Mistake(mistake.to_owned()));
    }
    privilege::acquire()?;
    let stop = stop_on_signals()
        .map_err(|error| Failure::Fault(format!("cannot catch Ctrl-C: {error}")))?;
    let trials = match arguments.quick {
        true => QUICK_TRIALS,
        false => TRIALS,
    };
    let mut steps = Steps::new("calibrate".to_owned());
    let of = u64::from(trials) * DELAYS.len() as u64;
    let mut done = 0;
    let mut found = Vec::new();
    for delay in DELAYS {
        let relay = RelayPlan {
            delay,
            ..RelayPlan::default()
        };
        let mut known = KnownDelay::with(relay, Arc::clone(&stop))?;
        for _ in 0..trials {
            steps.show(done, of);
            known.trial(FrameSchedule {
                interval: INTERVAL,
                frames: FRAMES,
            })?;
            done += 1;
        }
        found.push((DeviceUnderTest::Relay(relay).to_string(), known.finish()));
    }
    steps.close();
    Ok(found)
}

impl From<KnownDelayError> for Failure {
    fn from(error: KnownDelayError) -> Self {
        match error {
            KnownDelayError::Tester(error) => error.into(),
            KnownDelayError::Trial(TrialError::Interrupted) => Self::Interrupted,
            KnownDelayError::Trial(_) => Self::Fault(error.to_string()),
            _ => Self::Lacking(error.to_string()),
        }
    }
}

fn as_text(found: &CalibrationResults) -> String {
    let mut text = format!("The error of the tester, which is to be {ACCURACY} at p99 at most.\n");
    for (name, held) in found {
        let verdict = match held.is_accurate() {
            true => "held",
            false => "NOT held",
        };
        let _ = writeln!(
            text,
            "{name}: {verdict}\n  error: {}\n  truth: {}\n  measured: {}\n  bias taken off {} · sent {} · \
             lost {} · set apart, as the machine stood still, {} · below the truth {}\n  lateness: {}\n  stalls: {}",
            spread(&held.error),
            spread(&held.truth),
            spread(&held.measured),
            held.bias,
            held.sent,
            held.lost,
            held.disturbed,
            held.too_short,
            spread(&held.witnessed.lateness),
            spread(&held.witnessed.stalls),
        );
    }
    text
}

fn as_json(found: &CalibrationResults) -> Json {
    let relays = found.iter().map(|(name, held)| {
        json!({
            "relay": name,
            "accurate": held.is_accurate(),
            "bias_ns": held.bias.as_ns(),
            "error_ns": spread_as_json(&held.error),
            "truth_ns": spread_as_json(&held.truth),
            "measured_ns": spread_as_json(&held.measured),
            "sent": held.sent,
            "lost": held.lost,
            "set_apart": held.disturbed,
            "below_the_truth": held.too_short,
            "lateness_ns": spread_as_json(&held.witnessed.lateness),
            "stalls_ns": spread_as_json(&held.witnessed.stalls),
        })
    });
    json!({
        "method": "calibrate",
        "accuracy_ns": ACCURACY.as_ns(),
        "relays": relays.collect::<Vec<_>>(),
    })
}

fn spread(distribution: &Distribution) -> String {
    match distribution.summary() {
        Some(it) => format!(
            "median {}, min {}, p99 {}, p99.9 {}, max {}, {} values",
            it.p50, it.min, it.p99, it.p999, it.max, it.count
        ),
        None => "none".to_owned(),
    }
}

fn spread_as_json(distribution: &Distribution) -> Json {
    match distribution.summary() {
        Some(it) => json!({
            "count": it.count,
            "min": it.min.as_ns(),
            "mean": it.mean.as_ns(),
            "p50": it.p50.as_ns(),
            "p99": it.p99.as_ns(),
            "p999": it.p999.as_ns(),
            "max": it.max.as_ns(),
        }),
        None => json!({"count": 0}),
    }
}
