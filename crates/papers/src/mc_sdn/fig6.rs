//! `fig6`: how long a change of mode takes over star, grid and linear networks, with 1,
//! 50 and 100 entries to change and with full queues; by switches and by a controller,
//! MC-SDN Fig. 6.
//!
//! # Differs from the paper
//!
//! Below the queues of a simulated port no driver holds frames: a signal waits for one
//! frame, where the paper reckons with 600.64 us. An entry is not copied: the switches
//! that ship change one word, so that the figures are those of a hop alone.

use calculus::mode_change::mc_sdn::{ChangeExtent, Costs};
use calculus::mode_change::{SIGNALS_AHEAD, SignalHop};
use measure::document::picture::{BoxChart, BoxColumn, BoxSummary, Reference, ReferenceKind};
use measure::reproduction::{Picture, Row};
use sim::modes::deployment::Strategy;
use sim::modes::stage::ObservedChange;
use units::{BitRate, DataSize, Delay};

use super::fig2::{longest, mean, times, with_value};
use super::lab::{self, Played};
use super::networks::{MeasurementCase, Others, TopologyShape};
use super::switches::{RATE_MBPS, SwitchKind};
use crate::amounts::{ms, us};
use crate::side_by_side::side_by_side;
use crate::{ExperimentOutcome, ExperimentSettings, Progress, Thoroughness, World};

const TRIALS: u64 = 20;
const QUICK_TRIALS: u64 = 2;
/// Changes with real frames of each column, one after the other in one network, three a
/// second.
const REAL_TRIALS: u32 = 20;
const QUICK_REAL_TRIALS: u32 = 10;
/// What is on the horizontal axis.
const LOADS: [(&str, usize, Others); 4] = [
    ("1", 1, Others::Nobody),
    ("50", 50, Others::Nobody),
    ("100", 100, Others::Nobody),
    ("100+", 100, Others::TwoLow),
];
/// The bounds as the paper prints them, in microseconds, by network and rules.
const PRINTED_US: [[&str; 3]; 3] = [
    ["1116.06", "1309.61", "1507.11"],
    ["6929.86", "7123.41", "7320.91"],
    ["12743.66", "12937.21", "13134.71"],
];
const QUEUED: u64 = 1_000;
/// The largest frame on the wire.
const FULL_FRAME: DataSize = DataSize::from_bytes(1_538);

/// Measurements of one column of a figure.
struct Measured {
    case: MeasurementCase,
    load: &'static str,
    seen: Vec<ObservedChange>,
}

pub fn run(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let measured = measure(settings, progress);
    let mut outcome = ExperimentOutcome {
        rows: printed_bounds(),
        ..ExperimentOutcome::default()
    };
    for column in &measured {
        outcome.rows.extend(rows(column));
        outcome.broken.extend(broken(column));
    }
    for kind in SwitchKind::ALL {
        for strategy in [Strategy::Taktos, Strategy::StdSdn] {
            outcome.pictures.push(picture(&measured, kind, strategy));
        }
    }
    outcome.remarks.extend(
        [
            "The paper shows its measurements as a plot; of its text: 50 and 100 rules add 0.2 to \
             0.3 ms to MC-SDN and up to 92 ms to Std-SDN, full queues up to 310 us and 24 ms. Rules \
             and full queues add nothing here: a mode is one word, and a frame is judged when its turn \
             comes.",
            "The star is one switch with its hosts, as its N_link of 0 says. Beside the paper's bound \
             stands one of ours, whose hops are analysed (docs/modes.md): detection apart, and with \
             no frame ahead that can still be overtaken.",
        ]
        .map(str::to_owned),
    );
    outcome
}

fn measure(settings: ExperimentSettings, progress: &mut Progress) -> Vec<Measured> {
    let trials = match settings.effort {
        Thoroughness::Full => TRIALS,
        Thoroughness::Quick => QUICK_TRIALS,
    };
    let mut columns = Vec::new();
    for kind in SwitchKind::ALL {
        for strategy in [Strategy::Taktos, Strategy::StdSdn] {
            for shape in TopologyShape::ALL {
                for (load, rules, others) in LOADS {
                    let case = MeasurementCase {
                        shape,
                        kind,
                        strategy,
                        rules,
                        others,
                        trial: 0,
                    };
                    columns.push((case, load));
                }
            }
        }
    }
    let cases: Vec<MeasurementCase> = columns
        .iter()
        .flat_map(|(case, _)| (0..trials).map(|trial| MeasurementCase { trial, ..*case }))
        .collect();
    let mut seen = side_by_side(&cases, progress, |case| case.stage(settings.seed).play());
    let each = usize::try_from(trials).expect("a few");
    let columns = columns.into_iter();
    let measured = columns.map(|(case, load)| Measured {
        case,
        load,
        seen: seen.drain(..each).collect(),
    });
    measured.collect()
}

/// Does it with real frames.
pub fn run_in_lab(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let (trials, loads) = match settings.effort {
        Thoroughness::Full => (REAL_TRIALS, &LOADS[..]),
        Thoroughness::Quick => (QUICK_REAL_TRIALS, &LOADS[3..]),
    };
    let mut outcome = ExperimentOutcome {
        world: World::Lab,
        remarks: vec![
            lab::about(),
            format!(
                "{trials} changes of each column, from when a switch noticed to when the last one \
                 had changed; by a controller, to when the last one had confirmed. The entries \
                 stand on the way of the flows: five switches of the grid. Of the notes, the \
                 first is the same in virtual time, mean of {QUICK_TRIALS}."
            ),
        ],
        ..ExperimentOutcome::default()
    };
    let steps = loads.len() as u64 * 6;
    let mut measured = Vec::new();
    for strategy in [Strategy::Taktos, Strategy::StdSdn] {
        for shape in TopologyShape::ALL {
            for (load, rules, others) in loads.iter().copied() {
                progress(measured.len() as u64, steps);
                let case = MeasurementCase {
                    shape,
                    kind: SwitchKind::Real,
                    strategy,
                    rules,
                    others,
                    trial: 0,
                };
                let played = lab::play(&case.stage(settings.seed), trials);
                let played = played.unwrap_or_else(|reason| {
                    outcome
                        .remarks
                        .push(format!("A network was left out: {reason}."));
                    Vec::new()
                });
                enter(
                    (case, load),
                    played,
                    settings.seed,
                    &mut outcome,
                    &mut measured,
                );
            }
        }
    }
    progress(steps, steps);
    for strategy in [Strategy::Taktos, Strategy::StdSdn] {
        outcome
            .pictures
            .push(picture(&measured, SwitchKind::Real, strategy));
    }
    outcome
}

/// Enters what was seen in one network. A change while the machine stood still says
/// nothing of the switches: it is counted, and breaks no bound.
fn enter(
    (case, load): (MeasurementCase, &'static str),
    played: Vec<Played>,
    seed: u64,
    outcome: &mut ExperimentOutcome,
    measured: &mut Vec<Measured>,
) {
    let (stalled, played): (Vec<_>, Vec<_>) = played.into_iter().partition(|one| one.is_stalled);
    let column = Measured {
        case,
        load,
        seen: played.into_iter().map(|one| one.seen).collect(),
    };
    let virtually = virtual_mean(&case, seed);
    let mut rows = rows(&column);
    if let (Some(first), Some(mean)) = (rows.first_mut(), virtually) {
        let stalled = match stalled.len() {
            0 => String::new(),
            count => format!("; {count} changes left out: the machine stood still"),
        };
        let note = format!("in virtual time {mean:.3} ms{stalled}");
        *first = first.clone().note(note);
    }
    outcome.rows.extend(rows);
    outcome.broken.extend(broken(&column));
    measured.push(column);
}

/// Returns how long the same takes in virtual time, in milliseconds.
fn virtual_mean(case: &MeasurementCase, seed: u64) -> Option<f64> {
    let seen: Vec<ObservedChange> = (0..QUICK_TRIALS)
        .map(|trial| {
            let kind = SwitchKind::Taktos;
            MeasurementCase {
                kind,
                trial,
                ..*case
            }
            .stage(seed)
            .play()
        })
        .collect();
    let seen: Vec<&ObservedChange> = seen.iter().collect();
    mean(&times(&seen, lab::until_changed))
}

fn printed_bounds() -> Vec<Row> {
    let mut rows = Vec::new();
    for (shape, printed) in TopologyShape::ALL.into_iter().zip(PRINTED_US) {
        for ((load, rules, _), printed) in LOADS.into_iter().zip(printed) {
            let row = Row::new(
                format!("{}, {load} rules: bound of the paper", shape.name()),
                "us",
            );
            rows.push(row.printed(printed).ours(us(paper_bound(shape, rules))));
        }
    }
    rows
}

/// MC-SDN Eq. (1) with the paper's figures.
fn paper_bound(shape: TopologyShape, rules: usize) -> Delay {
    Costs::PAPER.mode_change(ChangeExtent {
        links: shape.links(),
        rules: rules as u64,
        packets: QUEUED,
    })
}

/// Our own: the hops of the longest of the shortest ways.
fn analysed_bound(case: &MeasurementCase) -> Option<Delay> {
    let hop = SignalHop {
        rate: BitRate::from_mbps(RATE_MBPS),
        propagation: Delay::from_ns(530),
        blocking: FULL_FRAME,
        equal: DataSize::ZERO,
        signals_ahead: SIGNALS_AHEAD,
        processing: case.kind.processing_bound(),
    };
    Some(hop.bound()? * case.shape.links())
}

fn changes(column: &Measured) -> Vec<f64> {
    let seen: Vec<&ObservedChange> = column.seen.iter().collect();
    match column.case.kind {
        SwitchKind::Paper | SwitchKind::Taktos => times(&seen, ObservedChange::mode_change),
        SwitchKind::Real => times(&seen, lab::until_changed),
    }
}

fn name(column: &Measured) -> String {
    let MeasurementCase {
        shape,
        kind,
        strategy,
        ..
    } = column.case;
    let load = column.load;
    format!(
        "{}, {}, {load} rules, {}",
        shape.name(),
        strategy.name(),
        kind.name()
    )
}

fn rows(column: &Measured) -> Vec<Row> {
    let changes = changes(column);
    let row = |what: &str| Row::new(format!("{}: {what}", name(column)), "ms");
    let mut worst = with_value(row("longest"), longest(&changes));
    if column.case.strategy == Strategy::Taktos
        && let Some(bound) = analysed_bound(&column.case)
    {
        worst = worst.note(format!("bound of ours {bound}"));
    }
    vec![with_value(row("mean"), mean(&changes)), worst]
}

/// Every change of ours comes to an end, and within its bound. Where no signal travels
/// the bound is nothing, and the time is that between two readings of a clock.
fn broken(column: &Measured) -> Option<String> {
    let changes = changes(column);
    if changes.len() < column.seen.len() {
        return Some(format!(
            "{}: a change did not come to its end",
            name(column)
        ));
    }
    let bound = match column.case.strategy {
        Strategy::Taktos => analysed_bound(&column.case)?,
        Strategy::StdSdn | Strategy::McAgnostic => return None,
    };
    let worst = longest(&changes)?;
    let travels = column.case.shape.links() > 0;
    (travels && worst > ms(bound)).then(|| format!("{}: {worst} ms, bound {bound}", name(column)))
}

fn picture(measured: &[Measured], kind: SwitchKind, strategy: Strategy) -> Picture {
    let here = |column: &&Measured| column.case.kind == kind && column.case.strategy == strategy;
    let columns = measured.iter().filter(here);
    let columns = columns.map(|column| BoxColumn {
        label: format!("{} {}", column.case.shape.name(), column.load),
        summary: BoxSummary::of(&mut changes(column)),
        lost_percent: None,
    });
    let bounds = TopologyShape::ALL
        .into_iter()
        .filter(|_| strategy == Strategy::Taktos);
    let references = bounds.filter_map(|shape| {
        let (label, value) = match kind {
            SwitchKind::Paper => ("the paper's bound, 100 rules", paper_bound(shape, 100)),
            SwitchKind::Taktos | SwitchKind::Real => {
                let case = measured
                    .iter()
                    .find(|column| column.case.kind == kind && column.case.shape == shape)?;
                ("bound", analysed_bound(&case.case)?)
            }
        };
        Some(Reference {
            label: format!("{}: {label}", shape.name()),
            value: ms(value),
            kind: ReferenceKind::Guarantee,
        })
    });
    let (file, by) = match (kind, strategy) {
        (SwitchKind::Paper, Strategy::Taktos) => ("fig6b", "by the switches"),
        (SwitchKind::Paper, Strategy::StdSdn | Strategy::McAgnostic) => {
            ("fig6a", "by a controller")
        }
        (SwitchKind::Taktos, Strategy::Taktos) => ("fig6b-ours", "by the switches"),
        (SwitchKind::Taktos, Strategy::StdSdn | Strategy::McAgnostic) => {
            ("fig6a-ours", "by a controller")
        }
        (SwitchKind::Real, Strategy::Taktos) => ("fig6b-lab", "by the switches"),
        (SwitchKind::Real, Strategy::StdSdn | Strategy::McAgnostic) => {
            ("fig6a-lab", "by a controller")
        }
    };
    Picture::Boxes(BoxChart {
        name: file.to_owned(),
        title: format!("Change of mode {by}, {}", kind.name()),
        x_label: "network and rules to change".to_owned(),
        y_label: "until the last switch, ms".to_owned(),
        columns: columns.collect(),
        references: references.collect(),
    })
}
