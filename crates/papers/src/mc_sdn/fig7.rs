//! `fig7`: how long the message takes that is twice as large as agreed, under modes,
//! under a controller that changes the mode, and without modes, MC-SDN Fig. 7.
//!
//! # Differs from the paper
//!
//! A flow that would fill a link beyond its rate in the usual case is not drawn: no
//! strategy could serve it.

pub mod draw;

use measure::document::picture::{Curve, CurveChart};
use measure::reproduction::{Picture, Row};
use sim::modes::deployment::Strategy;
use units::Duration;

use super::fig2::{longest, mean, with_value};
use super::lab;
use super::switches::SwitchKind;
use crate::amounts::real;
use crate::side_by_side::side_by_side;
use crate::{ExperimentOutcome, ExperimentSettings, Progress, Thoroughness, World};

const CASES: u64 = 300;
const QUICK_CASES: u64 = 6;
/// With real frames each case takes some 15 s.
const REAL_CASES: u64 = 20;
const QUICK_REAL_CASES: u64 = 2;
/// What heart-beats, signals and the times of the boards, drawn anew for every frame,
/// may add to a message.
const ALIKE: Duration = Duration::from_ms(1);
const BASELINES: [(Strategy, &str, &str); 2] = [
    (Strategy::StdSdn, "20", "102"),
    (Strategy::McAgnostic, "46", "211"),
];

/// What the large message took under each strategy, in the order of
/// [`Strategy::ALL`].
type StrategyTimes = [Option<Duration>; 3];

pub fn run(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let count = match settings.effort {
        Thoroughness::Full => CASES,
        Thoroughness::Quick => QUICK_CASES,
    };
    let cases: Vec<(SwitchKind, u64)> = SwitchKind::ALL
        .into_iter()
        .flat_map(|kind| (0..count).map(move |case| (kind, case)))
        .collect();
    let times = side_by_side(&cases, progress, |(kind, case)| {
        let seed = settings.seed.wrapping_mul(1_000_003).wrapping_add(*case);
        Strategy::ALL.map(|strategy| draw::stage(seed, *kind, strategy).play().message)
    });
    let mut outcome = ExperimentOutcome::default();
    for (kind, times) in SwitchKind::ALL
        .into_iter()
        .zip(times.chunks(cases.len() / 2))
    {
        sum_up(kind, times, &mut outcome);
    }
    outcome.remarks.push(format!(
        "A message counts as later if it is so by more than {} ms: signals, heart-beats and the \
         times of the boards, which are drawn anew for each frame, make that much.",
        ALIKE.as_whole_ms()
    ));
    outcome
}

/// Does some of the cases with real frames.
pub fn run_in_lab(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let count = match settings.effort {
        Thoroughness::Full => REAL_CASES,
        Thoroughness::Quick => QUICK_REAL_CASES,
    };
    let mut outcome = ExperimentOutcome {
        world: World::Lab,
        remarks: vec![
            lab::about(),
            format!(
                "{count} cases, not the paper's 300. Flows that find no room on the ways of the \
                 controller are left out, so that these are not the cases of virtual time. A \
                 message counts as later if it is so by more than {} ms.",
                ALIKE.as_whole_ms()
            ),
        ],
        ..ExperimentOutcome::default()
    };
    let mut times: Vec<StrategyTimes> = Vec::new();
    for case in 0..count {
        let seed = settings.seed.wrapping_mul(1_000_003).wrapping_add(case);
        let mut taken: StrategyTimes = [None; 3];
        let mut stalled = None;
        for (place, strategy) in (0..).zip(Strategy::ALL) {
            progress(case * 3 + place, count * 3);
            let stage = draw::stage(seed, SwitchKind::Real, strategy);
            match lab::play_what_fits(&stage) {
                Ok(played) if played.is_stalled => {
                    stalled = Some("the machine stood still".to_owned())
                }
                Ok(played) => {
                    let place = usize::try_from(place).expect("three strategies");
                    taken[place] = played.seen.message;
                }
                Err(reason) => stalled = Some(reason),
            }
        }
        match stalled {
            None => times.push(taken),
            Some(reason) => outcome
                .remarks
                .push(format!("Case {case} was left out: {reason}.")),
        }
    }
    progress(count * 3, count * 3);
    sum_up(SwitchKind::Real, &times, &mut outcome);
    outcome
}

fn sum_up(kind: SwitchKind, times: &[StrategyTimes], outcome: &mut ExperimentOutcome) {
    let name = kind.name();
    let mut whole: Vec<[Duration; 3]> = times
        .iter()
        .filter_map(|[ours, standard, agnostic]| Some([(*ours)?, (*standard)?, (*agnostic)?]))
        .collect();
    let missing = times.len() - whole.len();
    if missing > 0 {
        outcome
            .broken
            .push(format!("{name}: {missing} messages did not arrive whole"));
    }
    whole.sort();
    for (strategy, mean_printed, worst_printed) in BASELINES {
        rows_beside(
            kind,
            strategy,
            (mean_printed, worst_printed),
            &whole,
            outcome,
        );
    }
    let identical = whole
        .iter()
        .filter(|[ours, standard, agnostic]| alike(*ours, *standard) && alike(*ours, *agnostic));
    let row = Row::new(format!("{name}: the same under all three"), "cases");
    let row = row.ours(real(identical.count() as u64));
    outcome.rows.push(match kind {
        SwitchKind::Paper => row.printed("34"),
        SwitchKind::Taktos | SwitchKind::Real => row,
    });
    outcome.pictures.push(picture(kind, &whole));
}

fn rows_beside(
    kind: SwitchKind,
    strategy: Strategy,
    (mean_printed, worst_printed): (&'static str, &'static str),
    whole: &[[Duration; 3]],
    outcome: &mut ExperimentOutcome,
) {
    let name = kind.name();
    let place = Strategy::ALL.iter().position(|it| *it == strategy);
    let place = place.expect("all of them are there");
    let gains: Vec<f64> = whole
        .iter()
        .map(|times| (times[place].as_secs_f64() - times[0].as_secs_f64()) * 1e3)
        .collect();
    let row = |what: &str| Row::new(format!("{name}: {} {what}", strategy.name()), "ms");
    let rows = [
        with_value(row("later by, mean"), mean(&gains)),
        with_value(row("later by, at most"), longest(&gains)),
    ];
    let printed = [mean_printed, worst_printed];
    outcome
        .rows
        .extend(rows.into_iter().zip(printed).map(|(row, text)| match kind {
            SwitchKind::Paper | SwitchKind::Real => row.printed(text),
            SwitchKind::Taktos => row,
        }));
    let worse = whole
        .iter()
        .filter(|times| times[0] > times[place] + ALIKE)
        .count();
    let least = gains.iter().copied().min_by(f64::total_cmp);
    let row = Row::new(
        format!("{name}: cases in which {} is earlier", strategy.name()),
        "cases",
    );
    let row = match least {
        Some(least) => row
            .ours(real(worse as u64))
            .note(format!("least gain {least:.3} ms")),
        None => row.note("no case was seen"),
    };
    let row = row.printed("0");
    outcome.rows.push(row);
    if worse > 0 {
        let strategy = strategy.name();
        outcome
            .broken
            .push(format!("{name}: {strategy} is earlier in {worse} cases"));
    }
}

fn alike(one: Duration, other: Duration) -> bool {
    one <= other + ALIKE && other <= one + ALIKE
}

fn picture(kind: SwitchKind, whole: &[[Duration; 3]]) -> Picture {
    let curves = Strategy::ALL.iter().enumerate();
    let curves = curves.map(|(place, strategy)| Curve {
        label: strategy.name().to_owned(),
        values: whole
            .iter()
            .map(|times| times[place].as_secs_f64() * 1e3)
            .collect(),
    });
    Picture::Curves(CurveChart {
        name: match kind {
            SwitchKind::Paper => "fig7".to_owned(),
            SwitchKind::Taktos => "fig7-ours".to_owned(),
            SwitchKind::Real => "fig7-lab".to_owned(),
        },
        title: format!("The message that is twice as large, {}", kind.name()),
        x_label: "cases, in the order of Taktos".to_owned(),
        y_label: "until it has arrived, ms".to_owned(),
        x: (0..whole.len()).map(|at| real(at as u64)).collect(),
        curves: curves.collect(),
    })
}
