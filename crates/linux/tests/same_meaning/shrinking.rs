//! Makes a case that shows a difference as small as it goes.

use crate::case::{Case, Step};

/// How often a case is tried while it is made smaller.
const TRIES: usize = 3_000;

/// Returns a smaller case of which `differs` still says that it shows a
/// difference.
pub fn shrink(case: &Case, mut differs: impl FnMut(&Case) -> bool) -> Case {
    let mut tries = 0;
    let mut best = case.clone();
    let mut try_out = |smaller: Case, best: &mut Case| {
        tries += 1;
        let better = tries <= TRIES && differs(&smaller);
        if better {
            *best = smaller;
        }
        better
    };
    loop {
        let before = best.clone();
        remove_steps(&mut best, &mut try_out);
        shorten_frames(&mut best, &mut try_out);
        if best == before {
            return best;
        }
    }
}

/// Leaves steps out: first many at once, then one after the other.
fn remove_steps(best: &mut Case, try_out: &mut impl FnMut(Case, &mut Case) -> bool) {
    let mut chunk = best.steps.len().div_ceil(2);
    while chunk > 0 {
        let mut end = best.steps.len();
        while end > 0 {
            let begin = end.saturating_sub(chunk);
            let mut smaller = best.clone();
            smaller.steps.drain(begin..end);
            try_out(smaller, best);
            end = begin;
        }
        chunk /= 2;
    }
}

/// Cuts frames off, and overwrites their bytes with zeros.
fn shorten_frames(best: &mut Case, try_out: &mut impl FnMut(Case, &mut Case) -> bool) {
    for at in 0..best.steps.len() {
        for keep in [14, 34, 60] {
            let mut smaller = best.clone();
            if let Step::Frame(_, frame) = &mut smaller.steps[at]
                && frame.len() > keep
            {
                frame.truncate(keep);
                try_out(smaller, best);
            }
        }
        let Step::Frame(_, frame) = &best.steps[at] else {
            continue;
        };
        for byte in 14..frame.len().min(120) {
            let mut smaller = best.clone();
            if let Step::Frame(_, frame) = &mut smaller.steps[at]
                && frame.get(byte).is_some_and(|byte| *byte != 0)
            {
                frame[byte] = 0;
                try_out(smaller, best);
            }
        }
    }
}
