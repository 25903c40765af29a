//! As many flows as possible, where not all fit together.
//!
//! Less is never harder to admit, so a set fits or holds a *conflict*: flows that do not
//! fit together, though any of them may be left out. The largest set is hard to find. Two
//! ways are gone, and the larger set is taken:
//!
//! - flows are taken in the order in which they stand, as long as they fit;
//! - all are taken, and while they do not fit, the one goes that is late first, or the
//!   last that passes the stage which has not enough. Those that fit after all come back.
//!
//! How far that may be from the best is told by conflicts that have no flow in common:
//! each costs any set one flow. A conflict is found by halving: what does not fit is one
//! half beside what is needed of the other (QuickXplain, Junker 2004).

use super::aggregate::Who;
use super::fit::Slowdown;
use super::ledger::{FlowId, Ledger};
use super::request::Request;

/// With more flows than these, those that stand first are taken, no conflicts are looked
/// for, and classes are not assigned.
pub const MOST_WEIGHED: usize = 500;
/// How often it is tried whether flows fit, to find conflicts.
pub(super) const MOST_TRIALS: usize = 4_000;

/// How many of a set of flows fit together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Largest {
    /// The places of those that are left out, in order.
    pub left_out: Vec<usize>,
    /// The places of flows that do not fit together: each set fits if any one of it is
    /// left out, and none has a place in two. No choice leaves out fewer flows than there
    /// are sets here.
    pub conflicts: Vec<Vec<usize>>,
}

impl Ledger {
    /// Returns promised flows that do not fit together with `request`, though they would
    /// with any one of them left out: nobody, where it does not fit even alone. Nothing is
    /// returned where it fits, budgets are fixed, there are more than [`MOST_WEIGHED`]
    /// flows, or none was found in 4,000 trials. It takes many times as long as an
    /// admission.
    #[must_use]
    pub fn conflict_with(&self, request: &Request) -> Option<Vec<FlowId>> {
        if self.flows() > MOST_WEIGHED {
            return None;
        }
        let (ids, mut requests): (Vec<FlowId>, Vec<Request>) = self
            .requests()
            .map(|(id, promised)| (id, promised.clone()))
            .unzip();
        let promised: Vec<usize> = (0..requests.len()).collect();
        let asked = [requests.len()];
        requests.push(request.clone());
        let mut empty = self.emptied()?;
        if empty.fit_at(&requests, &[&promised[..], &asked].concat()) {
            return None;
        }
        let mut trials = MOST_TRIALS;
        let conflict = empty.conflict(&requests, &asked, true, &promised, &mut trials);
        (trials > 0).then(|| conflict.into_iter().map(|at| ids[at]).collect())
    }

    /// Returns which of `requests` to leave out so that as many as possible fit beside
    /// all that is promised, those that stand first rather than others.
    pub(super) fn largest(&mut self, requests: &[Request]) -> Largest {
        let left_out = self.left_out(requests);
        let conflicts = match left_out.is_empty() || requests.len() > MOST_WEIGHED {
            true => Vec::new(),
            false => self.conflicts(requests),
        };
        Largest {
            left_out,
            conflicts,
        }
    }

    /// Returns the places of those to leave out, in order.
    pub(super) fn left_out(&mut self, requests: &[Request]) -> Vec<usize> {
        let first = first_that_fit(requests.len(), |places| self.fit_at(requests, places));
        if first.is_empty() || requests.len() > MOST_WEIGHED {
            return first;
        }
        let late = self.without_the_late(requests);
        match late.len() < first.len() {
            true => late,
            false => first,
        }
    }

    /// Leaves out who is late first until the others fit, and takes those back that fit
    /// beside them. Returns who is left out.
    fn without_the_late(&mut self, requests: &[Request]) -> Vec<usize> {
        let is_valid = |at: &usize| self.plan.validate(&requests[*at], &self.stages).is_ok();
        let (mut there, mut out): (Vec<usize>, Vec<usize>) =
            (0..requests.len()).partition(is_valid);
        loop {
            let with: Vec<_> = there.iter().map(|at| &requests[*at]).collect();
            let Err(unsolvable) = self.least_with(&with, Slowdown::NONE) else {
                break;
            };
            let late = match unsolvable.who {
                Some(Who::Asked(at)) => Some(at),
                Some(Who::Promised(_)) | None => None,
            };
            let passes = |request: &&Request| {
                let stage = unsolvable.breach.stage;
                stage.is_none_or(|stage| request.stages().any(|passed| passed == stage))
            };
            let last = || with.iter().rposition(passes).or(with.len().checked_sub(1));
            let Some(victim) = late.or_else(last) else {
                break;
            };
            out.push(there.remove(victim));
        }
        out.sort_unstable();
        out.retain(|at| {
            let with: Vec<_> = there.iter().copied().chain([*at]).collect();
            let comes_back = self.fit_at(requests, &with);
            if comes_back {
                there.push(*at);
            }
            !comes_back
        });
        out
    }

    /// Returns conflicts that have no flow in common, as many as are found.
    fn conflicts(&mut self, requests: &[Request]) -> Vec<Vec<usize>> {
        let mut conflicts = Vec::new();
        let mut left: Vec<usize> = (0..requests.len()).collect();
        let mut trials = MOST_TRIALS;
        while trials > 0 && !self.fit_at(requests, &left) {
            let mut conflict = self.conflict(requests, &[], false, &left, &mut trials);
            if trials == 0 {
                break;
            }
            conflict.sort_unstable();
            left.retain(|at| !conflict.contains(at));
            conflicts.push(conflict);
        }
        conflicts
    }

    /// Returns those of `among` that make a conflict beside `given`, where all together do
    /// not fit.
    fn conflict(
        &mut self,
        requests: &[Request],
        given: &[usize],
        is_new: bool,
        among: &[usize],
        trials: &mut usize,
    ) -> Vec<usize> {
        *trials = trials.saturating_sub(1);
        if *trials == 0 || (is_new && !self.fit_at(requests, given)) {
            return Vec::new();
        }
        if among.len() == 1 {
            return among.to_vec();
        }
        let (one, other) = among.split_at(among.len() / 2);
        let of_other = self.conflict(requests, &[given, one].concat(), true, other, trials);
        let beside = [given, &of_other].concat();
        let is_new = !of_other.is_empty();
        let of_one = self.conflict(requests, &beside, is_new, one, trials);
        [of_one, of_other].concat()
    }

    fn fit_at(&mut self, requests: &[Request], places: &[usize]) -> bool {
        let with: Vec<_> = places.iter().map(|at| &requests[*at]).collect();
        self.can_fit(&with)
    }
}

/// Takes `count` places in order, as long as those that are taken `fit`, of which fewer do
/// where more do, and returns those that are left out.
pub(super) fn first_that_fit(count: usize, mut fit: impl FnMut(&[usize]) -> bool) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    let mut left_out = Vec::new();
    let mut next = 0;
    while next < count {
        let taken = chosen.len();
        let (mut fitting, mut beyond) = (0, count - next + 1);
        let mut trial = beyond - 1;
        // Halving finds the first that does not fit.
        while beyond - fitting > 1 {
            chosen.truncate(taken);
            chosen.extend(next..next + trial);
            match fit(&chosen) {
                true => fitting = trial,
                false => beyond = trial,
            }
            trial = fitting + (beyond - fitting) / 2;
        }
        chosen.truncate(taken);
        chosen.extend(next..next + fitting);
        next += fitting;
        if next < count {
            left_out.push(next);
            next += 1;
        }
    }
    left_out
}
