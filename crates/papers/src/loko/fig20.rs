//! `fig20`: how many flows a ring of 31 switches admits over the length of their
//! paths, LOKO section 6.2 and LOKO Fig. 20 (S4-9).
//!
//! All variants are asked for the same flows. Loko's own admission comes in three:
//! with the buffer of the switch, and with ten times as much, where the delay of a
//! switch is either left as it was, as the paper has it, or follows from the larger
//! burst. The former promises too little time: ten times the burst takes ten times
//! as long to serve.

mod experience;
mod figures;
mod ring;
mod rows;
mod traffic;
mod variant;

use super::super::side_by_side::side_by_side;
use super::super::{ExperimentOutcome, ExperimentSettings, Progress, Thoroughness, World};
use experience::Experience;
use ring::LENGTHS;
use variant::Variant;

/// How often each path length is tried.
const RUNS: u64 = 1_000;
const QUICK_RUNS: u64 = 50;

/// A variant with what it met, by path length.
struct Tried {
    variant: &'static Variant,
    lengths: Vec<Experience>,
}

pub fn run(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let runs = match settings.effort {
        Thoroughness::Full => RUNS,
        Thoroughness::Quick => QUICK_RUNS,
    };
    let cases: Vec<_> = variant::ALL
        .iter()
        .flat_map(|variant| LENGTHS.map(move |length| (variant, length)))
        .collect();
    let mut experiences = side_by_side(&cases, progress, |(variant, length)| {
        ring::simulate(variant, *length, variant.runs_of(runs), settings.seed)
    });
    let mut tried = Vec::new();
    for variant in &variant::ALL {
        let later = experiences.split_off(LENGTHS.count());
        let lengths = std::mem::replace(&mut experiences, later);
        tried.push(Tried { variant, lengths });
    }
    ExperimentOutcome {
        world: World::Sim,
        rows: rows::rows(&tried),
        pictures: figures::pictures(&tried),
        remarks: rows::remarks(runs),
        broken: rows::broken(&tried),
    }
}
