//! `fig2`: a controller changes the mode of one switch by 30 entries, MC-SDN Fig. 2 and
//! Table I; and the same switch changes it by itself.
//!
//! # Differs from the paper
//!
//! How long the controller takes is put in: the paper's mean and deviation. What frames
//! out of mode add happens in the simulation.

use measure::document::picture::{Curve, CurveChart};
use measure::reproduction::{Picture, Row};
use sim::modes::deployment::Strategy;
use sim::modes::stage::ObservedChange;
use units::Duration;

use super::lab::{self, Played};
use super::networks::{MeasurementCase, Others, TopologyShape};
use super::switches::SwitchKind;
use crate::side_by_side::side_by_side;
use crate::{ExperimentOutcome, ExperimentSettings, Progress, Thoroughness, World};

const RULES: usize = 30;
const TRIALS: u64 = 100;
const QUICK_TRIALS: u64 = 10;
/// Changes with real frames, one after the other in one network, three a second.
const REAL_TRIALS: u32 = 100;
const QUICK_REAL_TRIALS: u32 = 10;

pub fn run(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let trials = match settings.effort {
        Thoroughness::Full => TRIALS,
        Thoroughness::Quick => QUICK_TRIALS,
    };
    let strategies = [Strategy::StdSdn, Strategy::Taktos];
    let cases: Vec<_> = strategies
        .into_iter()
        .flat_map(|strategy| (0..trials).map(move |trial| case(SwitchKind::Paper, strategy, trial)))
        .collect();
    let seen = side_by_side(&cases, progress, |case| case.stage(settings.seed).play());
    let of = |strategy: Strategy| -> Vec<&ObservedChange> {
        let all = cases.iter().zip(&seen);
        let these = all.filter(|(case, _)| case.strategy == strategy);
        these.map(|(_, seen)| seen).collect()
    };
    let (standard, taktos) = (of(Strategy::StdSdn), of(Strategy::Taktos));
    let mut outcome = ExperimentOutcome::default();
    outcome.rows.extend(rows_of(BY_CONTROLLER, &standard));
    outcome.rows.extend(rows_of(BY_SWITCH, &taktos));
    let ours = times(&taktos, ObservedChange::mode_change);
    if standard.len() != times(&standard, ObservedChange::mode_change).len()
        || ours.len() != taktos.len()
    {
        let broken = "a change of mode did not come to its end";
        outcome.broken.push(broken.to_owned());
    }
    outcome.pictures.push(distribution(
        "fig2",
        &standard,
        &taktos,
        ObservedChange::mode_change,
    ));
    outcome.remarks.push(
        "Reaction and update of the controller are drawn from the mean and the deviation that the \
         paper prints; out-of-mode frames are those of two flows of 490 kB every 100 ms (section \
         VII-A), since the paper does not say which flows it had here."
            .to_owned(),
    );
    outcome
}

/// Does it with real frames.
pub fn run_in_lab(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let trials = match settings.effort {
        Thoroughness::Full => REAL_TRIALS,
        Thoroughness::Quick => QUICK_REAL_TRIALS,
    };
    let mut outcome = ExperimentOutcome {
        world: World::Lab,
        remarks: vec![lab::about()],
        ..ExperimentOutcome::default()
    };
    let mut by_strategy: Vec<Vec<Played>> = Vec::new();
    for (done, strategy) in (0..).zip([Strategy::StdSdn, Strategy::Taktos]) {
        progress(done, 2);
        let stage = case(SwitchKind::Real, strategy, 0).stage(settings.seed);
        let played = lab::play(&stage, trials).unwrap_or_else(|reason| {
            let reason = format!("{} was left out: {reason}.", strategy.name());
            outcome.remarks.push(reason);
            Vec::new()
        });
        by_strategy.push(played);
    }
    progress(2, 2);
    let seen = |of: usize| -> Vec<&ObservedChange> {
        by_strategy[of].iter().map(|one| &one.seen).collect()
    };
    let (standard, taktos) = (seen(0), seen(1));
    outcome.rows.extend(rows_of(BY_CONTROLLER, &standard));
    outcome.rows.extend(rows_of(BY_SWITCH, &taktos));
    let missed = by_strategy[1]
        .iter()
        .filter(|one| one.seen.changed.is_none() && !one.is_stalled);
    let missed = missed.count();
    if missed > 0 {
        let broken = format!("{missed} changes of mode did not come to their end");
        outcome.broken.push(broken);
    }
    outcome.pictures.push(distribution(
        "fig2-lab",
        &standard,
        &taktos,
        lab::until_changed,
    ));
    outcome.remarks.push(
        "Where the kernel forwards, frames of the flows that are given up leave its queues after \
         either kind of change, behind the flow that matters, whose queue they never enter: how \
         long they do is the queue's length and says nothing of who changed the mode. What \
         compares is the time until it has changed. The switches of the paper drop what waits."
            .to_owned(),
    );
    outcome
}

fn case(kind: SwitchKind, strategy: Strategy, trial: u64) -> MeasurementCase {
    MeasurementCase {
        shape: TopologyShape::Star,
        kind,
        strategy,
        rules: RULES,
        others: Others::TwoLow,
        trial,
    }
}

/// Who changes the mode, and what the paper prints of it: of all, until it has changed,
/// and of frames out of mode after that; each the mean, the deviation and the longest.
type PrintedSide = (&'static str, [Option<[&'static str; 3]>; 3]);

const BY_CONTROLLER: PrintedSide = (
    "Std-SDN",
    [
        Some(["50.65", "17.94", "86"]),
        None,
        Some(["9.12", "8.06", "27"]),
    ],
);
const BY_SWITCH: PrintedSide = ("the same switch with modes", [None; 3]);
const PRINTED_PARTS: &str =
    "the paper: 31.83 and 12.06 ms on average, of which 2.35 ms overlap: 41.54 ms";

/// Returns the parts of a change, the same of either side.
fn rows_of((name, printed): PrintedSide, seen: &[&ObservedChange]) -> Vec<Row> {
    let parts = [
        ("overall", times(seen, ObservedChange::mode_change)),
        ("until it has changed", times(seen, lab::until_changed)),
        ("frames out of mode after that", times(seen, after_change)),
    ];
    let parts = parts.into_iter().zip(printed);
    let rows = parts
        .enumerate()
        .flat_map(|(part, ((what, times), printed))| {
            let figures = [
                ("mean", mean(&times)),
                ("deviation", deviation(&times)),
                ("longest", longest(&times)),
            ];
            figures
                .into_iter()
                .enumerate()
                .map(move |(place, (figure, value))| {
                    let row =
                        with_value(Row::new(format!("{name}: {what}, {figure}"), "ms"), value);
                    match printed {
                        Some(printed) => row.printed(printed[place]),
                        None if name == BY_CONTROLLER.0 && (part, place) == (1, 0) => {
                            row.note(PRINTED_PARTS)
                        }
                        None => row,
                    }
                })
        });
    rows.collect()
}

/// Returns from when the last switch had changed to when the last frame arrived that it
/// drops.
fn after_change(seen: &ObservedChange) -> Option<Duration> {
    Some(seen.out_of_mode?.saturating_since(seen.changed?))
}

/// How many of a hundred changes are done after how long.
fn distribution(
    name: &str,
    standard: &[&ObservedChange],
    taktos: &[&ObservedChange],
    took: fn(&ObservedChange) -> Option<Duration>,
) -> Picture {
    let percents: Vec<usize> = (0..=20).map(|step| step * 5).collect();
    let curve = |label: &str, seen: &[&ObservedChange]| {
        let mut sorted = times(seen, took);
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        let at = |percent: &usize| sorted.get(last * percent / 100).copied().unwrap_or(0.0);
        Curve {
            label: label.to_owned(),
            values: percents.iter().map(at).collect(),
        }
    };
    Picture::Curves(CurveChart {
        name: name.to_owned(),
        title: "Changing the mode of one switch with 30 entries".to_owned(),
        x_label: "percent of the changes".to_owned(),
        y_label: "done within, ms".to_owned(),
        x: (0..=20u32).map(|step| f64::from(step * 5)).collect(),
        curves: vec![
            curve("by the controller", standard),
            curve("by the switch", taktos),
        ],
    })
}

/// Returns what was seen, in milliseconds, where it was.
pub fn times(
    seen: &[&ObservedChange],
    what: impl Fn(&ObservedChange) -> Option<Duration>,
) -> Vec<f64> {
    let seen = seen.iter().filter_map(|seen| what(seen));
    seen.map(|time| time.as_secs_f64() * 1e3).collect()
}

/// Returns the mean, if there is anything.
pub fn mean(values: &[f64]) -> Option<f64> {
    let count = u32::try_from(values.len())
        .ok()
        .filter(|count| *count > 0)?;
    Some(values.iter().sum::<f64>() / f64::from(count))
}

/// Returns the greatest, if there is anything.
pub fn longest(values: &[f64]) -> Option<f64> {
    values.iter().copied().max_by(f64::total_cmp)
}

fn deviation(values: &[f64]) -> Option<f64> {
    let mean_value = mean(values)?;
    let squares: Vec<f64> = values.iter().map(|it| (it - mean_value).powi(2)).collect();
    mean(&squares).map(f64::sqrt)
}

/// Adds our figure to a row, if there is one.
pub fn with_value(row: Row, value: Option<f64>) -> Row {
    match value {
        Some(value) => row.ours(value),
        None => row.note("not seen"),
    }
}
