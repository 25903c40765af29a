//! Whether what clients saw can have come of one after the other (Herlihy and Wing 1990,
//! checked as by Lowe 2017: "Testing for linearizability", just-in-time).

use std::collections::BTreeSet;
use std::time::Instant;

/// The flows that are promised, of which so many fit.
pub type Flows = BTreeSet<u32>;

/// What a client asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    Admit(u32),
    Withdraw(u32),
    List,
}

/// What it was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Admitted, or withdrawn.
    Done,
    /// There is no room, or no such flow.
    Refused,
    Listed(Flows),
    /// It may have been done, then or later.
    Unknown,
}

/// A request with its answer, and when both were.
#[derive(Clone, Debug)]
pub struct Operation {
    pub asked: Instant,
    pub answered: Instant,
    pub request: Request,
    pub answer: Answer,
}

/// What may be so: which flows there are, and which of the requests that are under way have
/// been done.
type Possibility = (Flows, BTreeSet<usize>);

/// Looks for an order in which the operations can have been done, each between request and
/// answer, where `capacity` flows fit.
///
/// # Errors
///
/// The first answer that no order explains.
pub fn check(operations: &[Operation], capacity: usize) -> Result<(), &Operation> {
    let mut moments: Vec<(Instant, bool, usize)> = Vec::new();
    let was_seen = seen(operations);
    for (number, operation) in operations.iter().enumerate() {
        let is_unknown = operation.answer == Answer::Unknown;
        // If nobody ever saw it, all is explained as well by what was never done.
        if is_unknown
            && matches!(&operation.request, Request::Admit(name) if !was_seen.contains(name))
        {
            continue;
        }
        moments.push((operation.asked, false, number));
        if operation.answer != Answer::Unknown {
            moments.push((operation.answered, true, number));
        }
    }
    moments.sort_unstable();
    let mut under_way = BTreeSet::new();
    let mut possible = BTreeSet::from([(Flows::new(), BTreeSet::new())]);
    for (_, is_answer, number) in moments {
        if !is_answer {
            under_way.insert(number);
            continue;
        }
        close(&mut possible, &under_way, (operations, capacity));
        under_way.remove(&number);
        let explained = possible.into_iter().filter_map(|(flows, mut done)| {
            let is_done = done.remove(&number);
            is_done.then_some((flows, done))
        });
        possible = explained.collect();
        if possible.is_empty() {
            return Err(&operations[number]);
        }
    }
    Ok(())
}

/// Returns the flows that an answer has shown to be there.
fn seen(operations: &[Operation]) -> Flows {
    let names = operations
        .iter()
        .flat_map(|it| match (&it.request, &it.answer) {
            (Request::Withdraw(name), Answer::Done) => Flows::from([*name]),
            (_, Answer::Listed(flows)) => flows.clone(),
            _ => Flows::new(),
        });
    names.collect()
}

/// Adds all that may be so once more of the requests under way are done.
fn close(
    possible: &mut BTreeSet<Possibility>,
    under_way: &BTreeSet<usize>,
    (operations, capacity): (&[Operation], usize),
) {
    let mut left: Vec<Possibility> = possible.iter().cloned().collect();
    while let Some((flows, done)) = left.pop() {
        for number in under_way.difference(&done) {
            let Some(after) = apply(&flows, &operations[*number], capacity) else {
                continue;
            };
            let mut done = done.clone();
            done.insert(*number);
            let next = (after, done);
            if possible.insert(next.clone()) {
                left.push(next);
            }
        }
    }
}

/// Returns the flows after an operation, if its answer can have come of it then. What is not
/// known was done: if it was not, nobody needs to say when.
fn apply(flows: &Flows, operation: &Operation, capacity: usize) -> Option<Flows> {
    let mut after = flows.clone();
    let is_done = match operation.request {
        Request::Admit(name) => flows.len() < capacity && after.insert(name),
        Request::Withdraw(name) => after.remove(&name),
        Request::List => {
            return (operation.answer == Answer::Listed(after.clone())).then_some(after);
        }
    };
    match (&operation.answer, is_done) {
        (Answer::Done | Answer::Unknown, true) | (Answer::Refused, false) => Some(after),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Operations that are asked and answered at these moments.
    fn history(operations: &[(u64, u64, Request, Answer)]) -> Vec<Operation> {
        let origin = Instant::now();
        let at = |moment| origin + Duration::from_secs(moment);
        let operations = operations.iter().cloned();
        operations
            .map(|(asked, answered, request, answer)| Operation {
                asked: at(asked),
                answered: at(answered),
                request,
                answer,
            })
            .collect()
    }

    fn listed(names: &[u32]) -> Answer {
        Answer::Listed(names.iter().copied().collect())
    }

    #[test]
    fn what_goes_on_at_the_same_time_may_be_done_in_either_order() {
        let seen = history(&[
            (0, 9, Request::Admit(1), Answer::Done),
            (1, 2, Request::List, listed(&[])),
            (3, 4, Request::List, listed(&[1])),
            (5, 6, Request::Admit(2), Answer::Refused),
            (10, 11, Request::Withdraw(1), Answer::Unknown),
            (12, 13, Request::List, listed(&[1])),
            (14, 15, Request::Admit(3), Answer::Done),
            (16, 17, Request::List, listed(&[3])),
        ]);

        assert!(check(&seen, 1).is_ok());
    }

    #[test]
    fn what_cannot_be_is_found() {
        let lost = history(&[
            (0, 1, Request::Admit(1), Answer::Done),
            (2, 3, Request::List, listed(&[])),
        ]);
        let too_many = history(&[
            (0, 5, Request::Admit(1), Answer::Done),
            (0, 5, Request::Admit(2), Answer::Done),
        ]);
        let stale = history(&[
            (0, 1, Request::Admit(1), Answer::Done),
            (2, 3, Request::Withdraw(1), Answer::Done),
            (4, 5, Request::List, listed(&[1])),
        ]);
        let back = history(&[
            (0, 9, Request::Admit(1), Answer::Done),
            (1, 2, Request::List, listed(&[1])),
            (3, 4, Request::List, listed(&[])),
        ]);

        for (what, seen) in [
            ("lost", lost),
            ("too many", too_many),
            ("stale", stale),
            ("back", back),
        ] {
            assert!(check(&seen, 1).is_err(), "{what}");
        }
    }
}
