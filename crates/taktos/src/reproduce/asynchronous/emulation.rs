//! The error that remains when a device is emulated by its profile (S3-6): each profile
//! that says how its device behaves is measured from outside by the project's own
//! methods, and what they find stands beside what was put in.

use measure::reproduction::Row;
use scenario::{Latency, Profile};
use units::{Delay, Duration};

use crate::reproduce::devices::{Device, figures, number, times};
use crate::reproduce::{Outcome, Progress, Settings};

/// The profiles with an emulation that are built in.
const PROFILES: [&str; 5] = [
    "open-vswitch",
    "open-vswitch-sdn4ci",
    "open-vswitch-mininet",
    "hp-aruba-3810m",
    "pica8-p3297",
];
/// How long frames of one setting are sent: 2,500 to 40,000 of them.
const TRIAL: Duration = Duration::from_secs(5);
/// What a latency without a setting of its own is measured at.
const USUAL_FRAME: &str = "60";
const USUAL_INTERVAL: &str = "1ms";

/// Does the experiment.
pub fn run(settings: Settings, progress: &mut Progress) -> Outcome {
    let mut outcome = Outcome::default();
    let steps = PROFILES.len() as u64;
    for (done, name) in (0..).zip(PROFILES) {
        progress(done, steps);
        let profile = Profile::built_in(name).expect("these are built in");
        let device = Device::emulated(name, name);
        recover(&device, &profile, settings, &mut outcome);
    }
    progress(steps, steps);
    outcome
}

fn recover(device: &Device, profile: &Profile, settings: Settings, outcome: &mut Outcome) {
    let Some(emulation) = &profile.emulation else {
        return;
    };
    for latency in &emulation.latency {
        latencies(device, latency, settings, outcome);
    }
    if let Some(setup) = &emulation.flow_setup {
        let how = ("flow-setup", "flow set-up, both directions");
        // Once there and once back.
        let put_in = setup.value.at(500_000) * 2u64;
        single(device, how, &[("probe", "ping")], put_in, settings, outcome);
    }
    if let Some(down) = &emulation.link_down {
        let how = ("failover", "interruption of reception");
        single(device, how, &[], down.value.at(500_000), settings, outcome);
    }
}

/// Compares the quantiles of one setting.
fn latencies(device: &Device, latency: &Latency, settings: Settings, outcome: &mut Outcome) {
    let size = latency
        .frame
        .map_or_else(|| USUAL_FRAME.to_owned(), |it| it.bytes_up().to_string());
    let interval = latency.interval.map_or_else(
        || USUAL_INTERVAL.to_owned(),
        |it| format!("{}ns", it.as_ns()),
    );
    let options = [
        ("window", "none"),
        ("size", size.as_str()),
        ("interval", interval.as_str()),
    ];
    let measurement = match device.measure("latency", &options, Some(TRIAL), settings) {
        Ok(measurement) => measurement,
        Err(reason) => return outcome.remarks.push(reason),
    };
    for figure in figures(&measurement, "one-way latency") {
        let Some(times) = times(figure) else { continue };
        for (per_million, put_in) in latency.spread.value.known() {
            let found = match per_million {
                1_000_000 => times.max(),
                _ => times.quantile(per_million / 1_000),
            };
            if let Some(found) = found {
                let share = f64::from(*per_million) / 10_000.0;
                let what = format!("latency, {share} %, {size} B every {interval}");
                outcome.rows.push(error(device, &what, *put_in, found));
            }
        }
    }
}

/// Compares the median of one quantity.
fn single(
    device: &Device,
    (method, quantity): (&'static str, &str),
    options: &[(&str, &str)],
    put_in: Delay,
    settings: Settings,
    outcome: &mut Outcome,
) {
    match device.measure(method, options, None, settings) {
        Ok(measurement) => {
            for figure in figures(&measurement, quantity) {
                if let Some(found) = times(figure).and_then(|times| times.quantile(500)) {
                    outcome.rows.push(error(device, quantity, put_in, found));
                } else if let Some(number) = number(&figure.value) {
                    let row = Row::new(format!("{}: {quantity}", device.name), "ms");
                    outcome.rows.push(row.ours(number));
                }
            }
        }
        Err(reason) => outcome.remarks.push(reason),
    }
}

/// Returns the error as a row, in percent of what was put in.
fn error(device: &Device, what: &str, put_in: Delay, found: Duration) -> Row {
    let relative = found.as_secs_f64() / put_in.as_secs_f64() - 1.0;
    Row::new(format!("{}: error of {what}", device.name), "%")
        .ours(relative * 100.0)
        .note(format!(
            "the profile has {put_in}, measured from outside {found}"
        ))
}
