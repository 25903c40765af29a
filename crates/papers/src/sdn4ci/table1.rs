//! Switches beside each other, as in SDN4CI Table I, but by measurements.
//!
//! # Differs from the paper
//!
//! The paper has plus and minus signs. Port density, features and computing resources
//! are left out: nothing that runs here has any of its own. A forwarding table holds what
//! its switch was started with; each entry that it took is looked up. The failover of the
//! emulated switches is that of a group in the switch once it has noticed the cut; the
//! paper's controller adds 2.01 ms.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lab::device_under_test::TaktosEngine;
use lab::switches::Carried;
use measure::comparison::{self, Verdict};
use measure::measurement::Value;
use measure::method::{self, named};
use measure::reproduction::Row;
use units::Duration;

use crate::devices::{NamedDevice, figures, milliseconds, number, times, unit};
use crate::{ExperimentOutcome, ExperimentSettings, Progress, Thoroughness, World};
use run::measuring::target::Target;
use run::measuring::turns::{Plan, Turns, in_turns};

const FAILOVER: &str = "interruption of reception";
/// How often each switch has its turn: the least from which bounds follow, and more.
const ROUNDS: u64 = 3;
const QUICK_ROUNDS: u64 = 3;
/// How long one trial sends; the paper does not say.
const TRIAL: Duration = Duration::from_secs(10);

pub fn run(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let mut outcome = ExperimentOutcome {
        world: World::Lab,
        ..ExperimentOutcome::default()
    };
    real(settings, progress, &mut outcome);
    emulated(settings, &mut outcome);
    outcome.remarks.push(
        "A Taktos switch takes as many entries a table as it is started with (`--table-size`, \
         here 200,000); the paper prints no number."
            .to_owned(),
    );
    outcome
}

/// Has the real switches measured in turns.
fn real(settings: ExperimentSettings, progress: &mut Progress, outcome: &mut ExperimentOutcome) {
    let devices = [
        NamedDevice {
            name: "Taktos",
            target: Target::Taktos(TaktosEngine::Kernel),
        },
        NamedDevice {
            name: "Open vSwitch",
            target: Target::OpenVswitch(Carried::Xdp),
        },
    ];
    measure(&devices, &plan(settings), progress, outcome);
}

/// Has two devices measured in turns.
fn measure(
    devices: &[NamedDevice; 2],
    plan: &Plan,
    progress: &mut Progress,
    outcome: &mut ExperimentOutcome,
) {
    let stop = Arc::new(AtomicBool::new(false));
    let mut steps = TurnProgress(progress);
    let targets = devices.each_ref().map(|device| &device.target);
    let names = devices.each_ref().map(|device| device.name);
    let mut turns = Turns::default();
    match in_turns(targets, plan, &stop, &mut steps, &mut turns) {
        Ok(()) => {
            let [first, second] = turns.found;
            let comparison = comparison::compare(&first, &second);
            let wanted = comparison.rows.iter().filter(|row| is_in_table(row));
            let rows = wanted.flat_map(|row| beside(row, names));
            outcome.rows.extend(rows);
            outcome.remarks.extend(comparison.remarks);
        }
        Err(error) => {
            let reason = format!("{} and {} were left out: {error}", names[0], names[1]);
            outcome.remarks.push(reason);
        }
    }
}

/// What of the methods' figures is a row of Table I: forwarding latency and jitter,
/// failover delay, throughput, forwarding-table size.
const TABLE: [(&str, &str); 5] = [
    ("latency", "one-way latency"),
    ("latency", "delay variation"),
    ("throughput", "throughput"),
    ("failover", FAILOVER),
    ("table-size", "entries taken"),
];

fn is_in_table(row: &comparison::Row) -> bool {
    let mut wanted = TABLE.iter();
    wanted.any(|(method, quantity)| row.method == *method && row.quantity.starts_with(quantity))
}

fn plan(settings: ExperimentSettings) -> Plan {
    let chosen: [(&str, &[(&str, &str)]); 4] = [
        ("latency", &[("interval", "125us,1ms"), ("window", "none")]),
        ("throughput", &[("size", "64,1518")]),
        ("failover", &[]),
        ("table-size", &[]),
    ];
    let methods = chosen.map(|(name, options)| {
        let options = options.iter();
        let options = options.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let method = named(name).expect("experiments name methods that there are");
        (method, options.collect::<BTreeMap<_, _>>())
    });
    let (effort, rounds, duration) = match settings.effort {
        Thoroughness::Full => (method::Effort::Full, ROUNDS, Some(TRIAL)),
        Thoroughness::Quick => (method::Effort::Quick, QUICK_ROUNDS, None),
    };
    Plan {
        methods: methods.into(),
        rounds,
        effort,
        seed: settings.seed,
        duration,
    }
}

/// Returns the rows of one quantity: the values of two devices, and how they differ.
fn beside(row: &comparison::Row, names: [&str; 2]) -> Vec<Row> {
    let setting = row.setting.iter();
    let setting = setting.map(|(name, value)| format!("{name} {value}"));
    let what = format!(
        "{} ({})",
        row.quantity,
        setting.collect::<Vec<_>>().join(", ")
    );
    let unit = unit(&row.values[0]);
    let mut rows: Vec<_> = names
        .into_iter()
        .zip(&row.values)
        .filter_map(|(name, value)| {
            let mine = Row::new(format!("{what}: {name}"), unit).ours(number(value)?);
            Some(match value {
                Value::RateAtLeast(_) | Value::CountAtLeast(_) => {
                    mine.note("at least: no more was offered")
                }
                Value::Times(_)
                | Value::Time(_)
                | Value::Rate(_)
                | Value::Size(_)
                | Value::Count(_)
                | Value::Share(_)
                | Value::Series(_)
                | Value::Unknown(_) => mine,
            })
        })
        .collect();
    if let Some(effect) = row.effect {
        let bounds = effect.bounds.map_or_else(String::new, |(low, high)| {
            format!("{low:.3} to {high:.3} with 95 % confidence; ")
        });
        let better = match row.verdict {
            Verdict::First => format!("{} is better", names[0]),
            Verdict::Second => format!("{} is better", names[1]),
            Verdict::Alike => "no difference was shown".to_owned(),
            Verdict::Open => "nothing follows".to_owned(),
        };
        let ratio = format!("{what}: {} / {}", names[1], names[0]);
        let ratio = Row::new(ratio, "").ours(effect.ratio);
        rows.push(ratio.note(format!("{bounds}{better}")));
    }
    rows
}

/// Has the paper's switches fail over, by their profiles.
fn emulated(settings: ExperimentSettings, outcome: &mut ExperimentOutcome) {
    let devices = [
        (
            NamedDevice::emulated("Pica8 P-3297, emulated", "pica8-p3297"),
            "467.119",
            Some("797.494"),
        ),
        (
            NamedDevice::emulated("Open vSwitch 2.4.1, emulated", "open-vswitch-sdn4ci"),
            "346.024",
            None,
        ),
    ];
    let note = "without the controller's 2.01 ms; the profile has the rest of what is printed";
    for (device, mean, longest) in devices {
        let measurement = match device.measure("failover", &[], None, settings) {
            Ok(measurement) => measurement,
            Err(reason) => {
                outcome.remarks.push(reason);
                continue;
            }
        };
        for figure in figures(&measurement, FAILOVER) {
            let Some(summary) = times(figure).and_then(|times| times.summary()) else {
                continue;
            };
            let row = |what: &str| Row::new(format!("{}: failover, {what}", device.name), "ms");
            let of_mean = row("mean").printed(mean).ours(milliseconds(summary.mean));
            outcome.rows.push(of_mean.note(note));
            let of_longest = row("longest").ours(milliseconds(summary.max));
            outcome.rows.push(match longest {
                Some(text) => of_longest.printed(text).note(note),
                None => of_longest,
            });
        }
    }
}

/// Tells the experiment's progress of the turns.
struct TurnProgress<'a, 'b>(&'a mut Progress<'b>);

impl method::Progress for TurnProgress<'_, '_> {
    fn step(&mut self, done: u64, of: u64, _now: &str) {
        (self.0)(done, of);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: ExperimentSettings = ExperimentSettings {
        seed: 1,
        effort: Thoroughness::Quick,
    };

    #[test]
    fn every_column_of_the_table_is_measured() {
        let plan = plan(QUICK);

        for (method, quantity) in TABLE {
            let measured = plan.methods.iter().any(|(it, _)| it.name == method);
            assert!(measured, "{quantity}");
        }
    }

    /// The two switches of the paper by their profiles, whose latencies are known: 5.785
    /// and 34.295 us (SDN4CI section IV-B).
    #[test]
    fn two_devices_stand_beside_each_other_with_what_follows() {
        let devices = [
            NamedDevice::emulated("Pica8", "pica8-p3297"),
            NamedDevice::emulated("OVS", "open-vswitch-sdn4ci"),
        ];
        let interval = ("interval".to_owned(), "125us".to_owned());
        let window = ("window".to_owned(), "none".to_owned());
        let latency = named("latency").unwrap();
        let plan = Plan {
            methods: vec![(latency, BTreeMap::from([interval, window]))],
            duration: Some(Duration::from_ms(50)),
            ..plan(QUICK)
        };
        let mut outcome = ExperimentOutcome::default();

        measure(&devices, &plan, &mut |_, _| (), &mut outcome);

        let row = |end: &str| {
            let mut rows = outcome.rows.iter();
            let of_median = |it: &&Row| {
                it.quantity.starts_with("one-way latency, median") && it.quantity.ends_with(end)
            };
            rows.find(of_median)
                .unwrap_or_else(|| panic!("{end}: {outcome:?}"))
        };
        let near = |end: &str, expected: f64| {
            let found = row(end).taktos.unwrap();
            assert!((found / expected - 1.0).abs() < 0.02, "{end}: {found}");
        };
        near(": Pica8", 0.005_785);
        near(": OVS", 0.034_295);
        near(": OVS / Pica8", 34.295 / 5.785);
        assert!(row(": OVS / Pica8").note.contains("Pica8 is better"));
    }

    #[test]
    fn the_papers_switches_fail_over_as_it_prints() {
        let mut outcome = ExperimentOutcome::default();

        emulated(QUICK, &mut outcome);

        let of_paper: Vec<_> = outcome
            .rows
            .iter()
            .filter(|it| it.paper.is_some())
            .collect();
        let means = of_paper.iter().filter(|it| it.quantity.ends_with("mean"));
        let means: Vec<_> = means.map(|it| it.taktos.unwrap()).collect();
        assert_eq!((of_paper.len(), means.len()), (3, 2), "{outcome:?}");
        for (ours, printed) in means.iter().zip([467.119, 346.024]) {
            assert!(
                (ours / printed - 1.0).abs() < 0.02,
                "{ours} of {printed} ms"
            );
        }
    }
}
