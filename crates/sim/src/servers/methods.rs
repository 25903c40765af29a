//! The methods whose bounds are checked.

use calculus::analysis::{Method, lp, pmoo, sfa, tfa, tfa_dnc, tma};

use super::check::{Analyze, Candidate};

/// The methods that answer at once.
const QUICK: [(Method, Analyze); 5] = [
    (Method::Tfa, tfa::analyze),
    (Method::TfaDnc, tfa_dnc::analyze),
    (Method::Sfa, sfa::analyze),
    (Method::Pmoo, pmoo::analyze),
    (Method::Tma, tma::analyze),
];
/// The linear programs of one network take as long as all else of many.
const PROGRAMS: Candidate = Candidate {
    method: Method::Lp,
    analyze: lp::analyze,
    one_in: 20,
};

/// Returns all methods that there are, each with how often it is asked.
#[must_use]
pub fn all() -> Vec<Candidate> {
    let quick = QUICK.iter().map(|(method, analyze)| Candidate {
        method: *method,
        analyze: *analyze,
        one_in: 1,
    });
    quick.chain([PROGRAMS]).collect()
}
