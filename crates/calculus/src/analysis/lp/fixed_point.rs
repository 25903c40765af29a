//! Finds the facts of a cycle, where each depends on the others.
//!
//! Let `x` be the facts of a cycle and `F(x)` what claims make of them. Watch the
//! network until any time: what has been seen of delays and bursts until then is
//! finite, and as claims speak of the past alone, `x <= F(x)`. Every reason `g`
//! for the claims is an increasing affine function, and `F <= g`: a program's
//! bound for any multipliers is a sum of right-hand sides, with weights. So
//!
//! ```text
//! x <= g(x) = c + M x,  and if some y > 0 has  g(y) < y  in all facts, then  x <= y:
//! M y < y makes the powers of M vanish, (I - M) has an inverse without negative
//! entries, and (I - M) x <= c <= (I - M) y.
//! ```
//!
//! The time does not matter, so `y` holds for ever. Such a `y` is searched by
//! Newton's method: reasons are found for some facts, then facts for these
//! reasons. From below the first step lands above the least solution, as `F` is
//! concave, and each further one between the last and the least. What counts is
//! only that `g(y) < y` has been seen, in whole numbers.

use super::claim::{FactClaim, Reason};
use super::facts::{FactMap, Facts};
use crate::analysis::budget::Budget;

/// How often reasons are searched at most.
const ROUNDS: usize = 40;

/// How often facts are computed from the same reasons at most.
const SWEEPS: usize = 3_000;

/// Facts are raised by one part in `1 << PADDING_BITS`, so that what follows from
/// them is strictly less.
const PADDING_BITS: u32 = 33;

/// When a further round gains less than one part in this many, it is the last.
const WORTHWHILE: u64 = 100_000_000;

/// Facts above this are on their way to infinity.
const CEILING: u64 = 1 << 62;

/// Finds facts of which less follows than they say, or nothing if none are
/// found or the budget is spent. `others` are the facts that no claim is about.
pub(super) fn solve(
    map: &FactMap,
    claims: &[FactClaim],
    others: &Facts,
    budget: &Budget,
) -> Option<Facts> {
    let mut facts = others.clone();
    for claim in claims {
        facts.learn(claim.fact, Some(0));
    }
    let mut best: Option<Facts> = None;
    for _ in 0..ROUNDS {
        let Some(found) = reasons(map, claims, &facts, budget) else {
            return best;
        };
        let Some(next) = settle(claims, &found.reasons, &facts) else {
            if best.is_some() {
                return best;
            }
            // The reasons only hold up a cycle with less on it.
            facts = found.facts;
            continue;
        };
        let gained = best.as_ref().is_none_or(|best| gains(claims, best, &next));
        if !gained {
            return best;
        }
        facts = next.clone();
        best = Some(next);
    }
    best
}

/// Reasons, and the facts that they show.
struct ReasonedFacts {
    reasons: Vec<Reason>,
    facts: Facts,
}

/// The reasons of the least values, for each claim.
fn reasons(
    map: &FactMap,
    claims: &[FactClaim],
    facts: &Facts,
    budget: &Budget,
) -> Option<ReasonedFacts> {
    let mut shown = facts.clone();
    let mut reasons = Vec::with_capacity(claims.len());
    for claim in claims {
        if !budget.spend(0) {
            return None;
        }
        let (value, reason) = claim.prove(map, facts, budget)?;
        shown.learn(claim.fact, Some(value));
        reasons.push(reason);
    }
    Some(ReasonedFacts {
        reasons,
        facts: shown,
    })
}

/// Finds facts from which strictly less follows, by the same reasons.
fn settle(claims: &[FactClaim], reasons: &[Reason], others: &Facts) -> Option<Facts> {
    let mut facts = others.clone();
    for claim in claims {
        facts.learn(claim.fact, Some(0));
    }
    for _ in 0..SWEEPS {
        let mut holds = true;
        for (claim, reason) in claims.iter().zip(reasons) {
            let value = claim
                .value(reason, &facts)
                .filter(|value| *value < CEILING)?;
            let padding = (value >> PADDING_BITS) + 2;
            if facts
                .value(claim.fact)
                .is_none_or(|fact| value + padding / 2 > fact)
            {
                facts.learn(claim.fact, Some(value + padding));
                holds = false;
            }
        }
        if holds {
            return holds_strictly(claims, reasons, &facts).then_some(facts);
        }
    }
    None
}

/// Whether less follows from the facts than they say, for each of them.
fn holds_strictly(claims: &[FactClaim], reasons: &[Reason], facts: &Facts) -> bool {
    claims.iter().zip(reasons).all(|(claim, reason)| {
        let (value, fact) = (claim.value(reason, facts), facts.value(claim.fact));
        value.zip(fact).is_some_and(|(value, fact)| value < fact)
    })
}

/// Whether any fact has become less by a part that is worth another round.
fn gains(claims: &[FactClaim], before: &Facts, after: &Facts) -> bool {
    claims.iter().any(|claim| {
        let (before, after) = (before.value(claim.fact), after.value(claim.fact));
        let gained = before
            .zip(after)
            .map(|(before, after)| before.saturating_sub(after));
        gained > before.map(|before| before / WORTHWHILE)
    })
}
