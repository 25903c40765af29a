//! Several requests at once.
//!
//! They are decided in the order in which they stand, so the same batch always
//! gives the same answers. Whether *all* fit does not depend on the order: sums do
//! not, and less is never harder to admit.

use thiserror::Error;
use units::Delay;

use super::fit::Chosen;
use super::ledger::{Admitted, Ledger};
use super::refusal::Refusal;
use super::request::Request;

/// Why a batch was refused as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("request {request} of the batch: {refusal}")]
pub struct BatchRefusal {
    /// The place in the batch of the first request that does not fit beside those
    /// before it.
    pub request: usize,
    /// Why it does not.
    #[source]
    pub refusal: Refusal,
}

/// What a batch would get: for each request the guarantee, or why it would be
/// refused beside those before it that would not.
pub type WhatIf = Vec<Result<Delay, Refusal>>;

impl Ledger {
    /// Promises all of `requests` what they ask for, or none.
    ///
    /// # Errors
    ///
    /// The first that does not fit, and why. Nothing has changed then.
    pub fn admit_all(&mut self, requests: Vec<Request>) -> Result<Vec<Admitted>, BatchRefusal> {
        let (next, chosen) = (self.next, self.chosen());
        let mut admitted = Vec::with_capacity(requests.len());
        for (at, request) in requests.into_iter().enumerate() {
            match self.admit(request) {
                Ok(promise) => admitted.push(promise),
                Err(refusal) => {
                    self.take_back(&admitted, next, &chosen);
                    let request = at;
                    return Err(BatchRefusal { request, refusal });
                }
            }
        }
        Ok(admitted)
    }

    /// Promises each of `requests` what it asks for if that fits beside those
    /// before it, and says of each whether it does.
    pub fn admit_each(&mut self, requests: Vec<Request>) -> Vec<Result<Admitted, Refusal>> {
        let requests = requests.into_iter();
        requests.map(|request| self.admit(request)).collect()
    }

    /// Returns what [`admit_each`](Self::admit_each) would say, and promises
    /// nothing.
    pub fn what_if(&mut self, requests: &[Request]) -> WhatIf {
        let (next, chosen) = (self.next, self.chosen());
        let decisions = self.admit_each(requests.to_vec());
        let admitted: Vec<_> = decisions.iter().flatten().cloned().collect();
        self.take_back(&admitted, next, &chosen);
        let guarantees = decisions.into_iter();
        guarantees
            .map(|decision| decision.map(|admitted| admitted.guarantee))
            .collect()
    }

    /// Takes promises back that nobody has heard of, their numbers and the budgets that
    /// were chosen for them.
    fn take_back(&mut self, admitted: &[Admitted], next: u64, chosen: &Chosen) {
        for promise in admitted {
            self.withdraw(promise.id);
        }
        self.choose_again(chosen);
        self.next = next;
    }
}
