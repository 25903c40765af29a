//! The methods whose bounds are checked.

use calculus::analysis::ludb::{self, Effort};
use calculus::analysis::{Method, analyze};

use super::check::{Analyze, BEST, Candidate};

/// What takes much longer than a search for the worst is asked about one network
/// in so many.
const SLOW_ONE_IN: u64 = 10;

/// The methods that answer at once.
const QUICK: [(&str, Analyze); 6] = [
    ("tfa", |network| analyze(network, Method::Tfa)),
    ("tfa-dnc", |network| analyze(network, Method::TfaDnc)),
    ("sfa", |network| analyze(network, Method::Sfa)),
    ("pmoo", |network| analyze(network, Method::Pmoo)),
    ("tma", |network| analyze(network, Method::Tma)),
    ("ludb", |network| analyze(network, Method::Ludb)),
];
const SLOW: [(&str, Analyze); 2] = [
    ("ludb, thorough", |network| {
        ludb::analyze_with(network, Effort::Thorough)
    }),
    ("lp", |network| analyze(network, Method::Lp)),
];

/// Returns all methods that there are, each with how often it is asked.
#[must_use]
pub fn all() -> Vec<Candidate> {
    let quick = QUICK.map(|method| candidate(method, 1, true));
    let slow = SLOW.map(|method| candidate(method, SLOW_ONE_IN, false));
    let least: Analyze = |network| analyze(network, Method::Best);
    let best = candidate((BEST, least), 1, false);
    quick.into_iter().chain(slow).chain([best]).collect()
}

fn candidate((name, analyze): (&'static str, Analyze), one_in: u64, in_best: bool) -> Candidate {
    Candidate {
        name,
        analyze,
        one_in,
        in_best,
    }
}
