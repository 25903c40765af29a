//! Routes that come and go are not used for a while (RFC 2439).
//!
//! Each prefix that was withdrawn or changed has a penalty that halves in every half-life,
//! RFC 2439 section 4.2. Above one threshold its route is suppressed, below another one it is
//! used again. The penalty has a ceiling, so that no route is suppressed for longer than
//! `LONGEST_HALF_LIVES` half-lives (RFC 2439 section 4.2, the maximum hold-down).
//!
//! # Differs from the RFC
//!
//! Decay is computed in whole numbers, linear within a half-life, rounded up: never less
//! than the exponential.

use std::collections::{BTreeMap, BTreeSet};

use units::{Duration, Instant};

use crate::northbound::{Damping, IpPrefix};

/// What a withdrawal costs.
const WITHDRAWAL: u32 = 1_000;
/// What another next hop costs.
const CHANGE: u32 = 500;
/// For how many half-lives a route is suppressed at most.
const LONGEST_HALF_LIVES: u32 = 4;
/// The most prefixes of which a penalty is kept; of others nothing is remembered.
pub const MAX_PENALTIES: usize = 1 << 16;

/// What happened to a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flap {
    Withdrawn,
    Changed,
    /// It is announced after it was not there.
    Announced,
}

#[derive(Clone, Copy, Debug)]
struct Penalty {
    value: u32,
    at: Instant,
    is_suppressed: bool,
    /// When it is looked at again.
    due: Instant,
}

/// The penalties of all prefixes.
#[derive(Debug, Default)]
pub struct Penalties {
    all: BTreeMap<IpPrefix, Penalty>,
    due: BTreeSet<(Instant, IpPrefix)>,
}

impl Penalties {
    /// Returns when the next penalty is to be looked at.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes in what happened to a route. Returns whether it is suppressed.
    pub fn flapped(
        &mut self,
        now: Instant,
        settings: &Damping,
        prefix: IpPrefix,
        flap: Flap,
    ) -> bool {
        let cost = match flap {
            Flap::Withdrawn => WITHDRAWAL,
            Flap::Changed => CHANGE,
            Flap::Announced => 0,
        };
        let known = self.all.get(&prefix).copied();
        let Some(before) = known.or_else(|| self.begin(now, cost)) else {
            return false;
        };
        let decayed = decayed(before.value, now.saturating_since(before.at), settings);
        let value = (decayed + cost).min(ceiling(settings));
        let is_suppressed = match before.is_suppressed {
            true => value > settings.reuse,
            false => value > settings.suppress,
        };
        self.due.remove(&(before.due, prefix));
        let due = now + until(value, settings);
        let at = now;
        self.all.insert(
            prefix,
            Penalty {
                value,
                at,
                is_suppressed,
                due,
            },
        );
        self.due.insert((due, prefix));
        is_suppressed
    }

    /// Returns a penalty of nothing, if there is room for one.
    fn begin(&self, now: Instant, cost: u32) -> Option<Penalty> {
        (cost > 0 && self.all.len() < MAX_PENALTIES).then_some(Penalty {
            value: 0,
            at: now,
            is_suppressed: false,
            due: now,
        })
    }

    /// Takes a prefix whose penalty is small enough to be forgotten. Its route may be used.
    pub fn take_due(&mut self, now: Instant) -> Option<IpPrefix> {
        let (at, prefix) = self.due.first().copied()?;
        if at > now {
            return None;
        }
        self.due.pop_first();
        self.all.remove(&prefix);
        Some(prefix)
    }
}

/// Returns the most that a penalty can be.
fn ceiling(settings: &Damping) -> u32 {
    let longest = settings.reuse.saturating_mul(1 << LONGEST_HALF_LIVES);
    longest.max(settings.suppress.saturating_add(1))
}

/// Returns what is left of a penalty after a time, rounded up.
fn decayed(value: u32, passed: Duration, settings: &Damping) -> u32 {
    let half_life_ns = half_life(settings).as_ns();
    let halvings = passed.as_ns() / half_life_ns;
    let rest_ns = passed.as_ns() % half_life_ns;
    let Ok(halvings) = u32::try_from(halvings) else {
        return 0;
    };
    let begun = u64::from(value).checked_shr(halvings).unwrap_or(0);
    let lost = u128::from(begun) * u128::from(rest_ns) / (2 * u128::from(half_life_ns));
    let left = u128::from(begun) - lost;
    u32::try_from(left).unwrap_or(value)
}

/// Returns after which time a penalty is below the threshold of reuse.
fn until(value: u32, settings: &Damping) -> Duration {
    let mut whole = 0;
    let mut left = value;
    while left / 2 >= settings.reuse {
        left /= 2;
        whole += 1;
    }
    let half_life_ns = half_life(settings).as_ns();
    // left * (1 - t / (2 h)) < reuse
    let above = u128::from(left.saturating_sub(settings.reuse)) + 1;
    let part_ns = (2 * u128::from(half_life_ns) * above).div_ceil(u128::from(left.max(1)));
    let part_ns = u64::try_from(part_ns)
        .unwrap_or(half_life_ns)
        .min(half_life_ns);
    Duration::from_ns(half_life_ns * whole + part_ns)
}

fn half_life(settings: &Damping) -> Duration {
    Duration::from_secs(u64::from(settings.half_life_s.max(1)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prefix() -> IpPrefix {
        "10.0.0.0/8".parse().unwrap()
    }

    #[test]
    fn a_route_that_is_withdrawn_once_is_used_and_one_that_flaps_is_not() {
        let (settings, mut penalties) = (Damping::default(), Penalties::default());
        let mut flap = |second, flap| {
            let now = Instant::ZERO + Duration::from_secs(second);
            penalties.flapped(now, &settings, prefix(), flap)
        };

        assert!(!flap(0, Flap::Withdrawn));
        assert!(!flap(1, Flap::Announced));
        assert!(!flap(2, Flap::Withdrawn));
        assert!(!flap(3, Flap::Withdrawn));
        assert!(flap(4, Flap::Withdrawn));
        assert!(flap(5, Flap::Announced));
    }

    proptest! {
        /// A route that stays as it is is used again: not at once, and not later than the
        /// longest time.
        #[test]
        fn a_suppressed_route_is_used_again(
            half_life_s in 1_u32..3_600, suppress in 1_000_u32..20_000, part in 2_u32..20, more in 1_usize..20,
        ) {
            let settings = Damping { half_life_s, suppress, reuse: suppress / part };
            let mut penalties = Penalties::default();
            let now = Instant::ZERO;
            while !penalties.flapped(now, &settings, prefix(), Flap::Withdrawn) {}
            for _ in 0..more {
                penalties.flapped(now, &settings, prefix(), Flap::Withdrawn);
            }
            let due = penalties.deadline().unwrap();

            prop_assert_eq!(penalties.take_due(now), None);
            prop_assert_eq!(penalties.take_due(due), Some(prefix()));
            let longest = half_life(&settings) * (LONGEST_HALF_LIVES + 1);
            prop_assert!(due > now && (due <= now + longest || suppress >= ceiling(&settings) - 1));
            prop_assert_eq!(penalties.deadline(), None);
        }
    }
}
