//! A source whose clock runs fast for a while, so that it sends more than it agreed to.
//!
//! Nothing of the source itself changes: it is asked as if it were later than it is.

use units::{Duration, Instant};

use super::{Emitted, Source};

const THOUSAND: u128 = 1_000;

/// When a clock runs fast, and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Haste {
    pub from: Instant,
    pub until: Instant,
    /// How many thousandths of its usual pace it has meanwhile, at least 1,000.
    pub thousandths: u32,
}

impl Haste {
    /// Returns what time the clock shows at `now`, rounded down.
    #[must_use]
    pub fn shown(self, now: Instant) -> Instant {
        let hurried = now.min(self.until).saturating_since(self.from);
        let faster = u128::from(self.thousandths).saturating_sub(THOUSAND);
        now + length(u128::from(hurried.as_ns()) * faster / THOUSAND)
    }

    /// Returns the first moment at which the clock shows `shown`.
    #[must_use]
    pub fn moment(self, shown: Instant) -> Instant {
        let behind = u128::from(shown.saturating_since(self.from).as_ns());
        let real = length((behind * THOUSAND).div_ceil(u128::from(self.thousandths)));
        match shown <= self.from {
            true => shown,
            false if real <= self.until.saturating_since(self.from) => self.from + real,
            false => shown - (self.shown(self.until) - self.until),
        }
    }
}

fn length(ns: u128) -> Duration {
    Duration::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// A source in haste.
#[derive(Debug)]
pub struct Hasty {
    pub source: Source,
    pub haste: Haste,
}

impl Hasty {
    /// Returns when the next frame is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.source.next_due().map(|due| self.haste.moment(due))
    }

    /// Puts the next frame into `frame`, if one is due.
    pub fn emit(&mut self, now: Instant, frame: &mut Vec<u8>) -> Option<Emitted> {
        let emitted = self.source.emit(self.haste.shown(now), frame)?;
        let due = self.haste.moment(emitted.due);
        Some(Emitted { due, ..emitted })
    }

    /// Takes a frame that arrived at the sending host.
    pub fn received(&mut self, now: Instant, frame: &[u8]) {
        self.source.received(self.haste.shown(now), frame);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Sound and tight: what is due at a time of the clock is due when the clock first
        /// shows it.
        #[test]
        fn a_moment_is_the_first_that_shows_the_time(
            from in 0u64..1_000_000,
            length in 1u64..1_000_000,
            thousandths in 1_000u32..1_000_000,
            shown in 0u64..100_000_000,
        ) {
            let from = Instant::from_ns(from);
            let haste = Haste { from, until: from + Duration::from_ns(length), thousandths };
            let shown = Instant::from_ns(shown);

            let moment = haste.moment(shown);

            prop_assert!(haste.shown(moment) >= shown);
            if moment > Instant::ZERO {
                prop_assert!(haste.shown(moment - Duration::from_ns(1)) < shown);
            }
        }
    }
}
