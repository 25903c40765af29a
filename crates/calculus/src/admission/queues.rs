//! Queues by deadline, for flows to which it does not matter in which they travel.
//!
//! Audsley's priority assignment (AUDSLEY), with as many priorities as there are
//! classes: the least urgent class takes every flow whose deadline holds there with all
//! that have no class yet above it, the latest deadlines first; then the next one does, and
//! the most urgent takes who is left. Whether a deadline holds depends on who is more
//! urgent, and a little on their order among themselves, as that shapes when they come to
//! the stages behind: so unlike on one processor the assignment may miss one that exists.
//! What it finds is a set that fits.

use std::cmp::Reverse;

use super::fit::Slowdown;
use super::ledger::Ledger;
use super::request::{MAX_DELAY, Request};

/// With more flows than these, queues stay as they are.
const MOST_ASSIGNED: usize = 500;

impl Ledger {
    /// Returns a class for each of `requests`: its own, or where not all fit, for those
    /// that are `free` another of `classes`, with which more fit, where one was found.
    /// Nothing is promised.
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
        let mut assigned: Vec<u8> = requests.iter().map(|request| request.class).collect();
        let is_searched = self.fit.is_some() && free.contains(&true) && !classes.is_empty();
        if !is_searched || requests.len() > MOST_ASSIGNED {
            return assigned;
        }
        let left_out = self.largest(requests).left_out;
        let is_left_out = |at: &usize| left_out.binary_search(at).is_ok();
        let mut there: Vec<usize> = (0..requests.len()).filter(|at| !is_left_out(at)).collect();
        let mut classes = classes.to_vec();
        classes.sort_unstable();
        for at in left_out {
            there.push(at);
            let among: Vec<_> = there.iter().map(|at| (&requests[*at], free[*at])).collect();
            match self.by_deadline(&among, &classes) {
                Some(found) => {
                    for (at, class) in there.iter().zip(found) {
                        assigned[*at] = class;
                    }
                }
                None => {
                    there.pop();
                }
            }
        }
        assigned
    }

    /// Returns classes with which all of `among` fit, where they are found.
    fn by_deadline(&mut self, among: &[(&Request, bool)], classes: &[u8]) -> Option<Vec<u8>> {
        let (most_urgent, others) = classes.split_last()?;
        let mut trial: Vec<Request> = among
            .iter()
            .map(|(request, is_free)| Request {
                class: if *is_free {
                    *most_urgent
                } else {
                    request.class
                },
                deadline: MAX_DELAY,
                ..(*request).clone()
            })
            .collect();
        let mut open: Vec<usize> = (0..among.len()).filter(|at| among[*at].1).collect();
        open.sort_by_key(|at| Reverse(among[*at].0.deadline));
        for class in others {
            open.retain(|at| {
                (trial[*at].class, trial[*at].deadline) = (*class, among[*at].0.deadline);
                let stays = self.holds(&trial);
                if !stays {
                    (trial[*at].class, trial[*at].deadline) = (*most_urgent, MAX_DELAY);
                }
                !stays
            });
        }
        for (trial, (request, _)) in trial.iter_mut().zip(among) {
            trial.deadline = request.deadline;
        }
        self.holds(&trial)
            .then(|| trial.iter().map(|trial| trial.class).collect())
    }

    fn holds(&mut self, requests: &[Request]) -> bool {
        let is_valid = |request: &Request| self.plan.validate(request, &self.stages).is_ok();
        let all: Vec<_> = requests.iter().collect();
        requests.iter().all(is_valid) && self.least_with(&all, Slowdown::NONE).is_ok()
    }
}
