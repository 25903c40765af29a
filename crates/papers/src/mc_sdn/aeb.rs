//! `aeb`: autonomous emergency braking, MC-SDN section VIII, Table IV and Fig. 10.
//!
//! A car drives towards a wall. On a clear road its camera sends an image every 200 ms,
//! behind a film for the passengers; when it sees the wall, every 22 ms. Without modes
//! the car either looks slowly at all times, or never shows a film.
//!
//! # Differs from the paper
//!
//! The car is a model ([`car`]): the paper says neither how strongly its car brakes nor
//! how long its computer looks at an image, and prints its results as a drawing, so
//! that there are no figures to put beside ours. Two systems are added: the camera
//! that quickens while nobody changes the mode, and while a controller does.

mod car;
mod drives;

use measure::document::picture::{Lane, RoadMap};
use measure::reproduction::{Picture, Row};
use sim::servers::random::Random;
use units::Duration;

use self::car::{Car, Stop};
use self::drives::{Drive, ObservedDrive, System};
use super::lab;
use super::switches::SwitchKind;
use crate::amounts::real;
use crate::side_by_side::side_by_side;
use crate::{ExperimentOutcome, ExperimentSettings, Progress, Thoroughness, World};

const TRIALS: u64 = 30;
const QUICK_TRIALS: u64 = 3;
/// With real frames each drive takes some 6 s.
const REAL_TRIALS: u64 = 10;
const QUICK_REAL_TRIALS: u64 = 1;
const CAR: Car = Car::PAPER;
/// How far before the place from where the wall is seen the drawing begins, in metres.
const BEFORE: f64 = 0.25;

/// A drive and how it ended.
#[derive(Clone, Copy, Debug)]
struct DriveTrial {
    stop: Stop,
    noticed_early: bool,
    change: Option<Duration>,
}

impl DriveTrial {
    fn of(watched: &ObservedDrive) -> Self {
        Self {
            stop: CAR.drive(watched.images.iter().copied()),
            noticed_early: watched.noticed_early,
            change: watched.change,
        }
    }
}

pub fn run(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let trials = match settings.effort {
        Thoroughness::Full => TRIALS,
        Thoroughness::Quick => QUICK_TRIALS,
    };
    let drives: Vec<Drive> = SwitchKind::ALL
        .into_iter()
        .flat_map(|kind| System::ALL.into_iter().map(move |system| (kind, system)))
        .flat_map(|(kind, system)| {
            (0..trials).map(move |trial| Drive {
                kind,
                system,
                trial,
            })
        })
        .collect();
    let watched = side_by_side(&drives, progress, |drive| {
        // The same chances for every system.
        let seed = settings
            .seed
            .wrapping_mul(1_000_003)
            .wrapping_add(drive.trial);
        drive.watch(&CAR, &mut Random::new(seed))
    });
    let stops: Vec<DriveTrial> = watched.iter().map(DriveTrial::of).collect();
    let mut outcome = ExperimentOutcome::default();
    let per_kind = stops.chunks(System::ALL.len() * usize::try_from(trials).expect("a few"));
    for (kind, stops) in SwitchKind::ALL.into_iter().zip(per_kind) {
        let per_system = stops.chunks(usize::try_from(trials).expect("a few"));
        let systems: Vec<_> = System::ALL.into_iter().zip(per_system).collect();
        for (system, stops) in &systems {
            sum_up(kind, *system, stops, &mut outcome);
        }
        outcome.pictures.push(picture(kind, &systems));
    }
    outcome.remarks.extend(remarks());
    outcome
}

/// Drives with what real frames take.
pub fn run_in_lab(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let trials = match settings.effort {
        Thoroughness::Full => REAL_TRIALS,
        Thoroughness::Quick => QUICK_REAL_TRIALS,
    };
    let mut outcome = ExperimentOutcome {
        world: World::Lab,
        remarks: vec![
            lab::about(),
            format!("{trials} drives of each system, not the paper's 30."),
        ],
        ..ExperimentOutcome::default()
    };
    let steps = trials * System::ALL.len() as u64;
    let mut by_system: Vec<(System, Vec<DriveTrial>)> = Vec::new();
    for (place, system) in (0..).zip(System::ALL) {
        let mut driven = Vec::new();
        for trial in 0..trials {
            progress(place * trials + trial, steps);
            let seed = settings.seed.wrapping_mul(1_000_003).wrapping_add(trial);
            let kind = SwitchKind::Real;
            let drive = Drive {
                kind,
                system,
                trial,
            };
            match drive.watch_in_lab(&CAR, &mut Random::new(seed)) {
                Ok(watched) => driven.push(DriveTrial::of(&watched)),
                Err(reason) => outcome
                    .remarks
                    .push(format!("A drive was left out: {reason}.")),
            }
        }
        by_system.push((system, driven));
    }
    progress(steps, steps);
    let systems: Vec<_> = by_system
        .iter()
        .map(|(system, all)| (*system, &all[..]))
        .collect();
    for (system, stops) in &systems {
        sum_up(SwitchKind::Real, *system, stops, &mut outcome);
    }
    outcome.pictures.push(picture(SwitchKind::Real, &systems));
    outcome.remarks.extend(remarks());
    outcome
}

/// A part of how far the car drives, in metres.
type DistancePart = fn(&Stop) -> f64;

fn sum_up(
    kind: SwitchKind,
    system: System,
    trials: &[DriveTrial],
    outcome: &mut ExperimentOutcome,
) {
    let name = format!("{}, {}", kind.name(), system.name());
    let distances: [(&str, DistancePart); 3] = [
        ("perception and reaction", |stop| stop.perception),
        ("braking", |stop| stop.braking),
        ("total stopping distance", Stop::total),
    ];
    for (distance, of) in distances {
        let values: Vec<f64> = trials.iter().map(|it| of(&it.stop)).collect();
        let row = Row::new(format!("{name}: {distance}, mean"), "m");
        let row = row.ours(mean(&values)).note(format!(
            "deviation {:.3}, worst {:.3}",
            deviation(&values),
            values.iter().copied().fold(0.0, f64::max)
        ));
        outcome.rows.push(row);
    }
    let hits = trials.iter().filter(|it| it.stop.impact > 0.0).count();
    let row = Row::new(format!("{name}: into the wall"), "of the drives");
    let row = row.ours(real(hits as u64));
    let fastest = trials.iter().map(|it| it.stop.impact).fold(0.0, f64::max);
    outcome.rows.push(match hits {
        0 => row,
        _ => row.note(format!("at up to {fastest:.2} m/s")),
    });
    if hits > 0 && system == System::Modes {
        let broken = format!("{name}: {hits} drives ended at the wall");
        outcome.broken.push(broken);
    }
    changes(&name, trials, outcome);
}

/// What is to be said of the changes of mode, if there were any.
fn changes(name: &str, trials: &[DriveTrial], outcome: &mut ExperimentOutcome) {
    let early = trials.iter().filter(|it| it.noticed_early).count();
    if early > 0 {
        let broken = format!("{name}: {early} times the mode changed before the wall was in sight");
        outcome.broken.push(broken);
    }
    let changes: Vec<f64> = trials
        .iter()
        .filter_map(|it| Some(it.change?.as_secs_f64() * 1e3))
        .collect();
    if !changes.is_empty() {
        let row = Row::new(format!("{name}: change of the mode, mean"), "ms");
        let worst = changes.iter().copied().fold(0.0, f64::max);
        let row = row.ours(mean(&changes)).note(format!("worst {worst:.3}"));
        outcome.rows.push(row);
    }
}

fn picture(kind: SwitchKind, systems: &[(System, &[DriveTrial])]) -> Picture {
    let seen = CAR.sees_wall_from();
    let lanes = systems.iter().map(|(system, stops)| Lane {
        label: system.name().to_owned(),
        braked_m: stops.iter().map(|it| seen + it.stop.perception).collect(),
        stopped_m: stops
            .iter()
            .map(|it| (seen + it.stop.total()).min(CAR.wall))
            .collect(),
    });
    Picture::Road(RoadMap {
        name: match kind {
            SwitchKind::Paper => "aeb".to_owned(),
            SwitchKind::Taktos => "aeb-ours".to_owned(),
            SwitchKind::Real => "aeb-lab".to_owned(),
        },
        title: format!("Where the car brakes and stops, {}", kind.name()),
        from_m: seen - BEFORE,
        seen_m: seen,
        wall_m: CAR.wall,
        lanes: lanes.collect(),
    })
}

fn remarks() -> [String; 3] {
    [
        "The paper shows its distances as a drawing (MC-SDN Fig. 10c) and prints none. What it says \
         of them is that LO Only results in a long stopping distance, HI Only in a short one, and \
         that modes come close to HI Only while they show the film until the wall is in sight."
            .to_owned(),
        format!(
            "The car brakes with {} m/s² and looks at an image for {} ms, which the paper does not \
             say: braking is the same for all systems, what differs is perception.",
            CAR.deceleration,
            CAR.reaction.as_whole_ms()
        ),
        "With all headers the flows of MC-SDN Table IV come to 100.2 Mbit/s at the lower level, so \
         that images wait longer from period to period while the film is shown."
            .to_owned(),
    ]
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / real(values.len().max(1) as u64)
}

/// Returns the standard deviation of a sample.
fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / real(values.len().saturating_sub(1).max(1) as u64)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the paper says of its drawing, MC-SDN section VIII.
    #[test]
    fn modes_stop_the_car_about_as_early_as_a_network_without_a_film() {
        for kind in SwitchKind::ALL {
            let worst = |system| {
                let drives = (0..3).map(|trial| {
                    let drive = Drive {
                        kind,
                        system,
                        trial,
                    };
                    let watched = drive.watch(&CAR, &mut Random::new(trial));
                    assert!(!watched.noticed_early, "{kind:?}, {system:?}, {trial}");
                    DriveTrial::of(&watched).stop.total()
                });
                drives.fold(0.0, f64::max)
            };

            let [slow, quick, modes] = [System::LoOnly, System::HiOnly, System::Modes].map(worst);

            assert!(modes < quick + 0.1, "{modes} m after {quick} m");
            assert!(modes + 0.2 < slow, "{modes} m after {slow} m");
        }
    }

    #[test]
    fn a_deviation_is_that_of_a_sample() {
        assert!((deviation(&[1.0, 2.0, 3.0]) - 1.0).abs() < 1e-12);
        assert!(deviation(&[5.0]).abs() < 1e-12);
    }
}
