//! `fig17`, `fig18` and `fig19`: how much more than promised can be sent until the
//! promise breaks, LOKO section 6.1.

use crate::loko::emulated::experiment::{self, Observation};
use crate::loko::emulated::figures::{self, Sweep, Varied};
use measure::document::picture::{BoxChart, Reference, ReferenceKind, for_plot};
use measure::reproduction::{Picture, Row};

use super::super::super::amounts::{ms, real};
use super::super::super::{ExperimentOutcome, ExperimentSettings, Progress};
use super::column;

/// A part of a figure with what the paper prints of it, in the unit of what is
/// varied.
struct PrintedSweep {
    /// The name of the part.
    part: &'static str,
    guarantee: &'static str,
    /// The values from which on frames are lost, and late.
    losses_from: Option<&'static str>,
    late_from: Option<&'static str>,
    /// The values at which everything has to arrive in time: what is promised.
    promised: std::ops::RangeInclusive<u64>,
    note: &'static str,
    late_note: &'static str,
}

const PRINTED: [PrintedSweep; 6] = [
    PrintedSweep {
        part: "Fig. 17a",
        guarantee: "4.13",
        losses_from: Some("5"),
        late_from: None,
        promised: 0..=100,
        note: "the rate at which frames are lost depends on how steadily hosts send; ours send bursts at random",
        late_note: "",
    },
    PrintedSweep {
        part: "Fig. 17b",
        guarantee: "4.13",
        losses_from: Some("4"),
        late_from: None,
        promised: 0..=100,
        note: "bursts have to meet for it: a matter of chance and of how many are sent",
        late_note: "",
    },
    PrintedSweep {
        part: "Fig. 18a",
        guarantee: "3.72",
        losses_from: Some("1"),
        late_from: Some("1.45"),
        promised: 0..=95,
        note: "at 1 the formula for the throughput is up to 6 % too high, as in the paper",
        late_note: "once frames are lost the buffers are full, and two full buffers take 3.8 ms: more than 2 D, which counts the bursts that are allowed",
    },
    PrintedSweep {
        part: "Fig. 18b",
        guarantee: "3.72",
        losses_from: Some("3"),
        late_from: Some("7"),
        promised: 0..=100,
        note: "bursts have to meet for it: a matter of chance and of how many are sent",
        late_note: "",
    },
    PrintedSweep {
        part: "Fig. 19a",
        guarantee: "3.72",
        losses_from: Some("450"),
        late_from: None,
        promised: 0..=0,
        note: "echo requests that the model leaves out",
        late_note: "as in Fig. 18a: a full buffer takes longer than what is allowed to be in it",
    },
    PrintedSweep {
        part: "Fig. 19b",
        guarantee: "3.72",
        losses_from: None,
        late_from: None,
        promised: 0..=750,
        note: "750 echo requests a second are in the model; the paper prints none lost up to there",
        late_note: "",
    },
];

/// LOKO Fig. 17.
pub fn fig17(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    outcome(figures::fig17, settings, progress)
}

/// LOKO Fig. 18.
pub fn fig18(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    outcome(figures::fig18, settings, progress)
}

/// LOKO Fig. 19.
pub fn fig19(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    outcome(figures::fig19, settings, progress)
}

fn outcome(
    figure: fn(experiment::Repetitions, u64, &mut Progress<'_>) -> Vec<Sweep>,
    settings: ExperimentSettings,
    progress: &mut Progress,
) -> ExperimentOutcome {
    let effort = experiment::Repetitions::from(settings.effort);
    let sweeps = figure(effort, settings.seed, progress);
    let mut outcome = ExperimentOutcome {
        remarks: vec![format!(
            "Two emulated switches; {} runs of {} a point. The guarantee of 2 D leaves out the cables.",
            effort.runs, effort.length
        )],
        ..ExperimentOutcome::default()
    };
    for sweep in &sweeps {
        let Some(printed) = PRINTED.iter().find(|printed| printed.part == sweep.name) else {
            continue;
        };
        outcome.rows.extend(rows(sweep, printed));
        outcome.broken.extend(broken(sweep, printed));
        outcome.pictures.push(picture(sweep));
    }
    outcome
}

/// What a value of a sweep is, and by what it is divided for print.
fn scale(varied: Varied) -> (&'static str, f64) {
    match varied {
        Varied::Rate => ("m_r", 100.0),
        Varied::Burst => ("m_b", 100.0),
        Varied::EchoesUnknown | Varied::EchoesKnown => ("echo requests a second", 1.0),
    }
}

fn rows(sweep: &Sweep, printed: &PrintedSweep) -> Vec<Row> {
    let name = sweep.name;
    let (varied, whole) = scale(sweep.varied);
    let first = |is_so: fn(&Observation) -> bool| {
        let mut points = sweep.points.iter();
        let point = points.find(|(_, observed)| is_so(observed));
        point.map(|(value, _)| real(*value) / whole)
    };
    let from = |what: &str, printed: Option<&'static str>, ours: Option<f64>, note: &str| {
        let row = Row::new(
            format!("{name}: {varied} from which on frames are {what}"),
            "",
        );
        let note = match (ours, note) {
            (None, "") => "none".to_owned(),
            (None, note) => format!("none; {note}"),
            (Some(_), note) => note.to_owned(),
        };
        Row {
            paper: printed.map(measure::reproduction::Printed::new),
            taktos: ours,
            ..row.note(note)
        }
    };
    let promised = sweep
        .points
        .iter()
        .filter(|(value, _)| printed.promised.contains(value));
    let clean = promised
        .clone()
        .filter(|(_, observed)| observed.is_clean())
        .count();
    let mut rows = vec![
        Row::new(format!("{name}: guarantee"), "ms")
            .printed(printed.guarantee)
            .ours(ms(sweep.guarantee)),
        Row::new(
            format!("{name}: points within the promise with frames lost or late"),
            "",
        )
        .printed("0")
        .ours(real(
            u64::try_from(promised.count() - clean).unwrap_or(u64::MAX),
        )),
        from(
            "lost",
            printed.losses_from,
            first(|observed| observed.lost > 0),
            printed.note,
        ),
        from(
            "late",
            printed.late_from,
            first(|observed| observed.late > 0),
            printed.late_note,
        ),
    ];
    rows.extend(sweep.points.last().map(|(value, observed)| {
        let at = real(*value) / whole;
        let row =
            Row::new(format!("{name}: lost at {varied} = {at}"), "%").ours(observed.lost_percent());
        match name {
            "Fig. 17a" => row.printed("60").note("\"around 60 %\""),
            _ => row,
        }
    }));
    rows
}

fn picture(sweep: &Sweep) -> Picture {
    let (varied, whole) = scale(sweep.varied);
    let columns = sweep.points.iter();
    let columns =
        columns.map(|(value, observed)| column((real(*value) / whole).to_string(), observed));
    let reference = |label: &str, value, kind| Reference {
        label: label.to_owned(),
        value: for_plot(ms(value)),
        kind,
    };
    Picture::Boxes(BoxChart {
        name: sweep.name.replace("Fig. ", "fig"),
        title: sweep.name.to_owned(),
        x_label: varied.to_owned(),
        y_label: "delay, ms".to_owned(),
        columns: columns.collect(),
        references: vec![
            reference("guarantee", sweep.guarantee, ReferenceKind::Guarantee),
            reference("least", sweep.least, ReferenceKind::Least),
        ],
    })
}

/// Says where a promise did not hold.
fn broken(sweep: &Sweep, printed: &PrintedSweep) -> Vec<String> {
    let (varied, whole) = scale(sweep.varied);
    let points = sweep.points.iter();
    let broken =
        points.filter(|(value, observed)| printed.promised.contains(value) && !observed.is_clean());
    let say = |(value, observed): &(u64, Observation)| {
        let at = real(*value) / whole;
        format!(
            "{}, {varied} = {at}: {} of {} frames lost, {} late",
            sweep.name, observed.lost, observed.sent, observed.late
        )
    };
    broken.map(say).collect()
}
