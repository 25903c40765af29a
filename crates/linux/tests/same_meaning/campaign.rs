//! Many cases, one after the other, until one of them shows a difference.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use crate::case::Case;
use crate::comparison::{Difference, compare};
use crate::generator;
use crate::random::Random;
use crate::shrinking::shrink;
use crate::subject::Engine;

const FRAMES: usize = 96;
/// After so many pairs it is said how far the campaign is.
const PAIRS_BETWEEN_WORDS: usize = 100_000;

/// How many pairs of outcomes are compared, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Campaign {
    pub pairs: usize,
    pub seed: u64,
}

impl Campaign {
    /// Returns what the environment asks for (`TAKTOS_PAIRS`, `TAKTOS_SEED`), or a
    /// short one.
    pub fn asked_for(short: usize) -> Self {
        let number = |name| {
            std::env::var(name)
                .ok()
                .map(|it| it.parse::<u64>().unwrap())
        };
        let pairs = number("TAKTOS_PAIRS").map(|pairs| usize::try_from(pairs).unwrap());
        Self {
            pairs: pairs.unwrap_or(short),
            seed: number("TAKTOS_SEED").unwrap_or(1),
        }
    }

    /// Compares an engine with the core alone.
    ///
    /// # Panics
    ///
    /// If they differ: with the smallest case that shows it.
    pub fn run(self, engine: &mut dyn Engine) {
        let begin = Instant::now();
        let mut seeds = Random::new(self.seed);
        let (mut pairs, mut said) = (0, 0);
        while pairs < self.pairs {
            let seed = seeds.number();
            let case = generator::draw(seed, FRAMES);
            if difference(&case, engine).is_some() {
                refute(&case, seed, engine);
            }
            pairs += case.frames();
            if pairs / PAIRS_BETWEEN_WORDS > said {
                said = pairs / PAIRS_BETWEEN_WORDS;
                tell(pairs, begin);
            }
        }
        tell(pairs, begin);
    }
}

/// Fails with the smallest case that shows the difference.
fn refute(case: &Case, seed: u64, engine: &mut dyn Engine) -> ! {
    let small = shrink(case, |case| difference(case, engine).is_some());
    match difference(&small, engine) {
        Some(difference) => panic!(
            "they differ with seed {seed}\n--- a case for a file ---\n{small}--- step {} ---\n{}",
            difference.step, difference.text
        ),
        None => panic!("they differ with seed {seed}, but not each time:\n{case}"),
    }
}

/// Returns where they differ; a panic is a difference, too.
fn difference(case: &Case, engine: &mut dyn Engine) -> Option<Difference> {
    let outcome = catch_unwind(AssertUnwindSafe(|| compare(case, engine)));
    outcome.unwrap_or_else(|_| {
        let (step, text) = (0, "a panic".to_owned());
        Some(Difference { step, text })
    })
}

fn tell(pairs: usize, begin: Instant) {
    let seconds = begin.elapsed().as_secs_f64();
    let rate = f64::from(u32::try_from(pairs).unwrap()) / seconds;
    // Not `eprintln!`: the test harness would swallow it.
    let _ = writeln!(io::stderr(), "{pairs} pairs alike, {rate:.0} a second");
}
