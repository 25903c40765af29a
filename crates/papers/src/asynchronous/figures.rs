//! ASYNC Figs. 3 to 6.
//!
//! # Differs from the paper
//!
//! Its figures are plots; what its text prints are ratios and the set-up of flows.
//! Those are beside ours. The profiles of its switches know neither throughput nor
//! jitter nor loss: what Figs. 5 and 6 show is what links of 1 Gbit/s and the load
//! make of them. Trials of throughput are shorter than its 120 s: virtual time has no
//! bad seconds. Ports of 1 Gbit/s all, also of switches that were measured between
//! namespaces.

use measure::reproduction::Row;
use units::Duration;

use crate::devices::{NamedDevice, figures, number, rows};
use crate::{ExperimentOutcome, ExperimentSettings, Progress, Thoroughness};

const LATENCY_WINDOWS: &str = "1500,10000,65000";
const WINDOWS: &str = "1500,10000,65000,150000";
/// ASYNC section IV-B: two hosts send 0, 250 or 375 Mbit/s each.
const LOADS: &str = "none,500Mbit/s,750Mbit/s";
const TECHNIQUES: [&str; 3] = [
    "two-way latency, ping",
    "two-way latency, datagrams",
    "two-way latency, SYN-ACK/ACK",
];
const TRIAL: Duration = Duration::from_ms(500);
const QUICK_TRIAL: Duration = Duration::from_ms(50);

/// The paper's two switches first.
fn devices() -> [NamedDevice; 4] {
    [
        NamedDevice::emulated("HP Aruba 3810M, emulated", "hp-aruba-3810m"),
        NamedDevice::emulated("Open vSwitch in Mininet, emulated", "open-vswitch-mininet"),
        NamedDevice::emulated("Open vSwitch 3.1.0, emulated", "open-vswitch"),
        NamedDevice::emulated("Taktos, kernel, emulated", "taktos-kernel"),
    ]
}

/// ASYNC Fig. 3: two-way latency.
pub fn fig3(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let options = [
        ("interval", "none"),
        ("window", LATENCY_WINDOWS),
        ("load", LOADS),
        ("rounds", "20"),
    ];
    let mut outcome = measured(settings, progress, ("latency", &options, None), &TECHNIQUES);
    let ratios = [("1500", "10"), ("10000", "4"), ("65000", "2")];
    for (window, printed) in ratios {
        let of = |device: usize| {
            let name = devices()[device].name;
            let found = outcome.rows.iter().find(|row| {
                row.quantity
                    .starts_with(&format!("{name}: {}", TECHNIQUES[1]))
                    && row.quantity.contains(&format!("window {window} bytes"))
                    && row.quantity.contains("load none")
            });
            found.and_then(|row| row.taktos)
        };
        let row = Row::new(
            format!("HP Aruba / Open vSwitch in Mininet, {window} bytes, no load"),
            "",
        );
        let row = row.printed(printed).note(
            "the profiles have one time a frame each, from the first two ratios: the third is \
             what follows",
        );
        outcome.rows.push(match of(0).zip(of(1)) {
            Some((first, second)) => row.ours(first / second),
            None => row,
        });
    }
    outcome
}

/// ASYNC Fig. 4: the set-up of flows.
pub fn fig4(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let mut outcome = ExperimentOutcome::default();
    let printed = [
        [
            ("280", ""),
            (
                "400",
                "with what its hosts take to answer, which ours do not",
            ),
        ],
        [
            ("3", ""),
            (
                "3.5",
                "with what its hosts take to answer, which ours do not",
            ),
        ],
    ];
    let quantities = ["flow set-up, both directions", "flow set-up by ping alone"];
    let devices = devices();
    let steps = devices.len() as u64;
    let mut both = Vec::new();
    for (place, device) in devices.iter().enumerate() {
        progress(place as u64, steps);
        let options = [("probe", "ping")];
        let measurement = match device.measure("flow-setup", &options, None, settings) {
            Ok(measurement) => measurement,
            Err(reason) => {
                outcome.remarks.push(reason);
                continue;
            }
        };
        for (technique, quantity) in quantities.into_iter().enumerate() {
            for figure in figures(&measurement, quantity) {
                let row = Row::new(format!("{}: {quantity}", device.name), "ms");
                let row = match number(&figure.value) {
                    Some(value) => row.ours(value),
                    None => row,
                };
                if technique == 0 {
                    both.push(row.taktos);
                }
                outcome.rows.push(match printed.get(place) {
                    Some(texts) => {
                        let (text, note) = texts[technique];
                        row.printed(text).note(note)
                    }
                    None => row,
                });
            }
        }
    }
    if let [Some(first), Some(second), ..] = both[..] {
        let row = Row::new("HP Aruba / Open vSwitch in Mininet, both directions", "");
        let note = "the paper says 100 to 40 times, and prints 280 and 3 ms: 93 times";
        outcome
            .rows
            .push(row.printed("93").ours(first / second).note(note));
    }
    progress(steps, steps);
    outcome
}

/// ASYNC Fig. 5: throughput.
pub fn fig5(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let options = [("test", "udp,tcp"), ("window", WINDOWS), ("load", LOADS)];
    let wanted = ["UDP throughput", "TCP throughput"];
    let how = ("throughput", &options[..], Some(trial(settings)));
    measured(settings, progress, how, &wanted)
}

/// ASYNC Fig. 6: jitter and loss.
pub fn fig6(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let options = [("window", WINDOWS), ("load", LOADS)];
    let length = Some(trial(settings));
    let mut outcome = measured(
        settings,
        progress,
        ("jitter", &options, length),
        &["jitter"],
    );
    let loss = measured(
        settings,
        progress,
        ("loss", &options, length),
        &["loss ratio"],
    );
    outcome.rows.extend(loss.rows);
    outcome.remarks.extend(loss.remarks);
    outcome
}

fn trial(settings: ExperimentSettings) -> Duration {
    match settings.effort {
        Thoroughness::Full => TRIAL,
        Thoroughness::Quick => QUICK_TRIAL,
    }
}

type How<'a> = (&'static str, &'a [(&'a str, &'a str)], Option<Duration>);

/// Measures every device by one method, and returns rows of the quantities.
fn measured(
    settings: ExperimentSettings,
    progress: &mut Progress,
    (method, options, duration): How<'_>,
    quantities: &[&str],
) -> ExperimentOutcome {
    let mut outcome = ExperimentOutcome::default();
    let devices = devices();
    let steps = devices.len() as u64;
    for (done, device) in (0..).zip(&devices) {
        progress(done, steps);
        match device.measure(method, options, duration, settings) {
            Ok(measurement) => {
                for quantity in quantities {
                    outcome
                        .rows
                        .extend(rows(device.name, &measurement, quantity));
                }
                for remark in measurement.remarks {
                    let said = format!("{}: {remark}", device.name);
                    if !outcome.remarks.contains(&said) {
                        outcome.remarks.push(said);
                    }
                }
            }
            Err(reason) => outcome.remarks.push(reason),
        }
    }
    progress(steps, steps);
    outcome
}
