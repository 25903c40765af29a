//! Queues by deadline, for flows to which it does not matter in which they travel.
//!
//! Audsley's priority assignment (AUDSLEY), with as many priorities as there are
//! classes: the least urgent class takes every flow whose deadline holds there with all
//! that have no class yet above it, the latest deadlines first; then the next one does, and
//! the most urgent takes who is left. Whether a deadline holds depends on who is more
//! urgent, and a little on their order among themselves, as that shapes when they come to
//! the stages behind: so unlike on one processor the assignment may miss one that exists.
//! What it finds is a set that fits.
//!
//! Where a set is overloaded nobody holds below those who have no class yet. So the sooner
//! deadlines are tried in the more urgent classes first, as they are shared out evenly, and
//! who does not fit then is added to those who do: all at once, and where they do not fit
//! either, by halving. Flows are given to a class in the same way.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::fit::Slowdown;
use super::largest::{MOST_WEIGHED, first_that_fit};
use super::ledger::Ledger;
use super::request::{MAX_DELAY, Request};

/// How many flows are looked at in all, to try whether flows fit.
const MOST_LOOKED_AT: usize = 100_000;

/// Flows that are given classes.
struct Assignment<'a> {
    ledger: &'a mut Ledger,
    requests: &'a [Request],
    free: &'a [bool],
    /// From the least urgent on, without the most urgent.
    classes: &'a [u8],
    most_urgent: u8,
    /// How often it may still be tried whether flows fit.
    trials: usize,
}

impl Ledger {
    /// Returns a class for each of `requests`: its own, or where not all fit, for those
    /// that are `free` another of `classes`, with which more fit, where one was found.
    /// Nothing is promised. With more than [`MOST_WEIGHED`] requests all keep theirs, and
    /// those do for which none is found within a bounded number of trials: of 100 requests
    /// it is tried 1,000 times whether some fit.
    ///
    /// # Panics
    ///
    /// If it is not said of each request whether it is free.
    pub fn assign_classes(
        &mut self,
        requests: &[Request],
        free: &[bool],
        classes: &[u8],
    ) -> Vec<u8> {
        assert_eq!(requests.len(), free.len(), "it is said of each");
        let is_searched = self.fit.is_some() && free.contains(&true);
        let mut classes = classes.to_vec();
        classes.sort_unstable();
        let (true, [others @ .., most_urgent]) = (is_searched, &classes[..]) else {
            return of_each(requests);
        };
        if requests.len() > MOST_WEIGHED {
            return of_each(requests);
        }
        let (mut best, mut left_out) = (requests.to_vec(), self.left_out(requests));
        if left_out.is_empty() {
            return of_each(requests);
        }
        let usual = left_out.len();
        let shared_out = shared_out(requests, free, &classes);
        let fewer = self.left_out(&shared_out);
        if fewer.len() < usual {
            (best, left_out) = (shared_out, fewer);
            for at in &left_out {
                best[*at].class = requests[*at].class;
            }
        }
        let is_left_out = |at: &usize| left_out.binary_search(at).is_ok();
        let there: Vec<usize> = (0..requests.len()).filter(|at| !is_left_out(at)).collect();
        let mut assignment = Assignment {
            ledger: self,
            requests,
            free,
            classes: others,
            most_urgent: *most_urgent,
            trials: MOST_LOOKED_AT / requests.len(),
        };
        first_that_fit(left_out.len(), |more| {
            let more = more.iter().map(|at| left_out[*at]);
            let among: Vec<usize> = there.iter().copied().chain(more).collect();
            let found = assignment.by_deadline(&among);
            for (at, class) in among.iter().zip(found.iter().flatten()) {
                best[*at].class = *class;
            }
            found.is_some()
        });
        match self.left_out(&best).len() < usual {
            true => of_each(&best),
            false => of_each(requests),
        }
    }
}

fn of_each(requests: &[Request]) -> Vec<u8> {
    requests.iter().map(|request| request.class).collect()
}

/// Returns `requests` with `classes`, which are in order, for those that are `free`: as many
/// different deadlines in each, the latest in the least urgent.
fn shared_out(requests: &[Request], free: &[bool], classes: &[u8]) -> Vec<Request> {
    let mut given = requests.to_vec();
    let free = || free.iter().enumerate().filter(|(_, is_free)| **is_free);
    let deadlines = free().map(|(at, _)| Reverse(requests[at].deadline));
    let deadlines: Vec<_> = BTreeSet::from_iter(deadlines).into_iter().collect();
    for (at, _) in free() {
        let later = deadlines.binary_search(&Reverse(requests[at].deadline));
        let later = later.expect("it is one of them");
        given[at].class = classes[later * classes.len() / deadlines.len()];
    }
    given
}

impl Assignment<'_> {
    /// Returns classes with which all `among` the requests fit, where they are found.
    fn by_deadline(&mut self, among: &[usize]) -> Option<Vec<u8>> {
        if self.trials == 0 {
            return None;
        }
        let requests: Vec<&Request> = among.iter().map(|at| &self.requests[*at]).collect();
        let mut open: Vec<usize> = (0..among.len()).collect();
        open.retain(|at| self.free[among[*at]]);
        open.sort_by_key(|at| Reverse(requests[*at].deadline));
        let mut trial: Vec<Request> = requests.iter().map(|it| (*it).clone()).collect();
        for above in &mut trial {
            above.deadline = MAX_DELAY;
        }
        for at in &open {
            trial[*at].class = self.most_urgent;
        }
        let give = |trial: &mut [Request], at: usize, class: u8| {
            (trial[at].class, trial[at].deadline) = (class, requests[at].deadline);
        };
        for class in self.classes {
            let above = first_that_fit(open.len(), |given| {
                if self.trials == 0 {
                    return false;
                }
                let mut with = trial.clone();
                for place in given {
                    give(&mut with, open[*place], *class);
                }
                self.holds(&with)
            });
            let is_above = |place: &usize| above.binary_search(place).is_ok();
            for place in (0..open.len()).filter(|place| !is_above(place)) {
                give(&mut trial, open[place], *class);
            }
            open = above.into_iter().map(|place| open[place]).collect();
        }
        for (trial, request) in trial.iter_mut().zip(&requests) {
            trial.deadline = request.deadline;
        }
        self.holds(&trial)
            .then(|| trial.iter().map(|trial| trial.class).collect())
    }

    /// Returns whether it was found that `requests` fit.
    fn holds(&mut self, requests: &[Request]) -> bool {
        self.trials = self.trials.saturating_sub(1);
        let ledger = &mut *self.ledger;
        let is_valid = |request: &Request| ledger.plan.validate(request, &ledger.stages).is_ok();
        let all: Vec<_> = requests.iter().collect();
        requests.iter().all(is_valid) && ledger.least_with(&all, Slowdown::NONE).is_ok()
    }
}
