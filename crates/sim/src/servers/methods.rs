//! The methods whose bounds are checked.

use calculus::analysis::{Method, tfa};

use super::check::{Analyze, Candidate};

/// The methods that answer at once.
const QUICK: [(Method, Analyze); 1] = [(Method::Tfa, tfa::analyze)];

/// Returns all methods that there are, each with how often it is asked.
#[must_use]
pub fn all() -> Vec<Candidate> {
    let quick = QUICK.iter().map(|(method, analyze)| Candidate {
        method: *method,
        analyze: *analyze,
        one_in: 1,
    });
    quick.collect()
}
