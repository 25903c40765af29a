//! Switches beside each other, as in SDN4CI Table I, but by measurements.
//!
//! # Differs from the paper
//!
//! The paper has plus and minus signs. Port density, features and computing resources
//! are left out: nothing that runs here has any of its own. The failover of the
//! emulated switches is that of a group in the switch once it has noticed the cut; the
//! paper's controller adds 2.01 ms.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lab::subject::TaktosEngine;
use lab::switches::Carried;
use measure::comparison::{self, Verdict};
use measure::method::{self, named};
use measure::reproduction::Row;
use units::Duration;

use crate::measuring::target::Target;
use crate::measuring::turns::{Plan, in_turns};
use crate::reproduce::devices::{Device, figures, milliseconds, number, times};
use crate::reproduce::{Effort, Outcome, Progress, Settings, World};

const FAILOVER: &str = "interruption of reception";
/// How often each switch has its turn: the least from which bounds follow, and more.
const ROUNDS: u64 = 3;
const QUICK_ROUNDS: u64 = 2;
/// How long one trial sends; the paper does not say.
const TRIAL: Duration = Duration::from_secs(10);

/// Does the experiment.
pub fn run(settings: Settings, progress: &mut Progress) -> Outcome {
    let mut outcome = Outcome {
        world: World::Lab,
        ..Outcome::default()
    };
    real(settings, progress, &mut outcome);
    emulated(settings, &mut outcome);
    outcome.remarks.push(
        "Forwarding-table size is not measured here: the Taktos switch holds as many entries as it \
         is started with (`--table-size`), and the paper prints no number."
            .to_owned(),
    );
    outcome
}

/// Has the real switches measured in turns.
fn real(settings: Settings, progress: &mut Progress, outcome: &mut Outcome) {
    let targets = [
        Target::Taktos(TaktosEngine::Kernel),
        Target::OpenVswitch(Carried::Xdp),
    ];
    let stop = Arc::new(AtomicBool::new(false));
    let mut steps = Steps(progress);
    let [taktos, other] = targets.each_ref();
    match in_turns([taktos, other], &plan(settings), &stop, &mut steps) {
        Ok([first, second]) => {
            let comparison = comparison::compare(&first, &second);
            outcome.rows.extend(comparison.rows.iter().flat_map(beside));
            outcome.remarks.extend(comparison.remarks);
        }
        Err(error) => {
            let reason = format!("Taktos and Open vSwitch were left out: {error}");
            outcome.remarks.push(reason);
        }
    }
}

fn plan(settings: Settings) -> Plan {
    let chosen: [(&str, &[(&str, &str)]); 4] = [
        ("latency", &[("interval", "125us,1ms"), ("window", "none")]),
        ("jitter", &[]),
        ("throughput", &[("size", "64,1518")]),
        ("failover", &[]),
    ];
    let methods = chosen.map(|(name, options)| {
        let options = options.iter();
        let options = options.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let method = named(name).expect("experiments name methods that there are");
        (method, options.collect::<BTreeMap<_, _>>())
    });
    let (effort, rounds, duration) = match settings.effort {
        Effort::Full => (method::Effort::Full, ROUNDS, Some(TRIAL)),
        Effort::Quick => (method::Effort::Quick, QUICK_ROUNDS, None),
    };
    Plan {
        methods: methods.into(),
        rounds,
        effort,
        seed: settings.seed,
        duration,
    }
}

/// Returns the rows of one quantity: both values, and how they differ.
fn beside(row: &comparison::Row) -> Vec<Row> {
    let setting = row.setting.iter();
    let setting = setting.map(|(name, value)| format!("{name} {value}"));
    let what = format!(
        "{} ({})",
        row.quantity,
        setting.collect::<Vec<_>>().join(", ")
    );
    let unit = match &row.values[0] {
        measure::measurement::Value::Time(_) => "ms",
        measure::measurement::Value::Rate(_) => "Mbit/s",
        _ => "",
    };
    let mut rows: Vec<_> = ["Taktos", "Open vSwitch"]
        .into_iter()
        .zip(&row.values)
        .filter_map(|(name, value)| {
            let value = number(value)?;
            Some(Row::new(format!("{what}: {name}"), unit).ours(value))
        })
        .collect();
    if let Some(effect) = row.effect {
        let bounds = effect.bounds.map_or_else(String::new, |(low, high)| {
            format!("{low:.3} to {high:.3} with 95 % confidence; ")
        });
        let better = match row.verdict {
            Verdict::First => "Taktos is better",
            Verdict::Second => "Open vSwitch is better",
            Verdict::Alike => "no difference was shown",
            Verdict::Open => "nothing follows",
        };
        let ratio = Row::new(format!("{what}: Open vSwitch / Taktos"), "").ours(effect.ratio);
        rows.push(ratio.note(format!("{bounds}{better}")));
    }
    rows
}

/// Has the paper's switches fail over, by their profiles.
fn emulated(settings: Settings, outcome: &mut Outcome) {
    let devices = [
        (
            Device::emulated("Pica8 P-3297, emulated", "pica8-p3297"),
            "467.119",
            Some("797.494"),
        ),
        (
            Device::emulated("Open vSwitch 2.4.1, emulated", "open-vswitch-sdn4ci"),
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
struct Steps<'a, 'b>(&'a mut Progress<'b>);

impl method::Progress for Steps<'_, '_> {
    fn step(&mut self, done: u64, of: u64, _now: &str) {
        (self.0)(done, of);
    }
}
