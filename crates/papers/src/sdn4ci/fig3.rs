//! Forwarding latency at the spacings of SDN4CI Fig. 3.
//!
//! # Differs from the paper
//!
//! One minute for each spacing, as in the paper. The emulated devices have the means
//! that the paper prints; its distributions are plots, so theirs are points.

use lab::device_under_test::TaktosEngine;
use lab::switches::Carried;
use measure::measurement::Measurement;
use measure::reproduction::Row;

use crate::curves::{self, Drawing};
use crate::devices::{NamedDevice, figures, microseconds, setting, times};
use crate::{ExperimentOutcome, ExperimentSettings, Progress, World};
use run::measuring::target::Target;

const QUANTITY: &str = "one-way latency";
/// Another machine, another version, another decade.
const OTHER_MACHINE: &str = "printed of Open vSwitch 2.4.1 with Gigabit cards: context, no target";

/// Means that the paper prints (SDN4CI section IV-B), by spacing.
const BARE_METAL: [(&str, &str); 3] = [("125 us", "5.785"), ("500 us", "6.475"), ("2 ms", "1.366")];
const VIRTUAL: [(&str, &str); 2] = [("125 us", "34.295"), ("2 ms", "113.290")];

pub fn run(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let mut outcome = ExperimentOutcome {
        world: World::Lab,
        ..ExperimentOutcome::default()
    };
    let devices = devices();
    let labels: Vec<_> = devices.iter().map(|(device, ..)| device.name).collect();
    let steps = devices.len() as u64;
    for (done, (device, printed, note)) in (0..).zip(devices) {
        progress(done, steps);
        match device.measure("latency", &[("window", "none")], None, settings) {
            Ok(measurement) => {
                let rows = rows(device.name, &measurement, printed, note);
                outcome.rows.extend(rows);
                let remarks = measurement.remarks.into_iter();
                let remarks = remarks.map(|remark| format!("{}: {remark}", device.name));
                outcome.remarks.extend(remarks);
            }
            Err(reason) => outcome.remarks.push(reason),
        }
    }
    progress(steps, steps);
    for (name, title) in DRAWN {
        let drawing = Drawing {
            name: &format!("fig3-{name}"),
            title,
            x_label: "time between two frames, us",
            y_label: "one-way latency, us",
        };
        let row =
            |label: &str, place: usize| format!("{label}: {name} every {}", SPACINGS[place].0);
        let x = SPACINGS.map(|(_, us)| us);
        let drawn = curves::of_rows(drawing, &x, &labels, &outcome.rows, row);
        outcome.pictures.extend(drawn);
    }
    outcome
        .remarks
        .push("Differences below 1 us between devices in namespaces are no claims.".to_owned());
    outcome
}

/// The spacings of SDN4CI section IV-B, in words and in microseconds.
const SPACINGS: [(&str, f64); 5] = [
    ("125 us", 125.0),
    ("250 us", 250.0),
    ("500 us", 500.0),
    ("1 ms", 1_000.0),
    ("2 ms", 2_000.0),
];
/// What is drawn of the distributions.
const DRAWN: [(&str, &str); 2] = [
    ("mean", "Mean latency, as in SDN4CI Fig. 3"),
    ("p99", "What 99 % of the frames do not exceed"),
];

type PrintedValues = &'static [(&'static str, &'static str)];

fn devices() -> Vec<(NamedDevice, PrintedValues, &'static str)> {
    let real = |name, target| NamedDevice { name, target };
    vec![
        (
            real("Taktos, kernel", Target::Taktos(TaktosEngine::Kernel)),
            &[],
            "",
        ),
        (
            real("Open vSwitch, AF_XDP", Target::OpenVswitch(Carried::Xdp)),
            &VIRTUAL,
            OTHER_MACHINE,
        ),
        (
            real(
                "Open vSwitch, AF_PACKET",
                Target::OpenVswitch(Carried::Packet),
            ),
            &VIRTUAL,
            OTHER_MACHINE,
        ),
        (
            NamedDevice::emulated("Pica8 P-3297, emulated", "pica8-p3297"),
            &BARE_METAL,
            "the profile has what the paper prints: this shows that the emulation keeps it",
        ),
        (
            NamedDevice::emulated("Open vSwitch 2.4.1, emulated", "open-vswitch-sdn4ci"),
            &VIRTUAL,
            "the profile has what the paper prints: this shows that the emulation keeps it",
        ),
    ]
}

fn rows(
    device: &str,
    measurement: &Measurement,
    printed: PrintedValues,
    note: &'static str,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for figure in figures(measurement, QUANTITY) {
        let spacing = setting(figure, "interval");
        let Some(summary) = times(figure).and_then(measure::statistics::Distribution::summary)
        else {
            rows.push(Row::new(format!("{device}: every {spacing}"), "us").note("nothing arrived"));
            continue;
        };
        for (name, time) in [
            ("mean", summary.mean),
            ("median", summary.p50),
            ("p99", summary.p99),
            ("p99.9", summary.p999),
            ("maximum", summary.max),
        ] {
            let row = Row::new(format!("{device}: {name} every {spacing}"), "us")
                .ours(microseconds(time));
            let known = printed
                .iter()
                .find(|(at, _)| *at == spacing && name == "mean");
            rows.push(match known {
                Some((_, text)) => row.printed(text).note(note),
                None => row,
            });
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Thoroughness;

    /// Half of the last digit that SDN4CI prints, but for the first frame of a trial,
    /// which comes after a rest.
    #[test]
    fn emulated_switches_keep_the_means_that_the_paper_prints() {
        let settings = ExperimentSettings {
            seed: 1,
            effort: Thoroughness::Quick,
        };
        let emulated = devices().into_iter().skip(3);
        for (device, printed, note) in emulated {
            let measurement = device
                .measure("latency", &[("window", "none")], None, settings)
                .unwrap();

            let rows = rows(device.name, &measurement, printed, note);

            let compared = rows.iter().filter(|row| row.paper.is_some());
            assert_eq!(compared.clone().count(), printed.len());
            for row in compared {
                let (ours, paper) = (row.taktos.unwrap(), row.paper.unwrap());
                let paper: f64 = paper.text().parse().unwrap();
                assert!((ours / paper - 1.0).abs() < 0.01, "{row:?}");
            }
        }
    }
}
