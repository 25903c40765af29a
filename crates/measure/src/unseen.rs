//! Frames that went by while the instrument had no room for them.
//!
//! Whatever takes frames down can be too slow, and knows then how many it has missed and
//! about when, but not which. A frame that did not arrive may be one of those: only what
//! goes beyond their number has been lost.

use units::Instant;

/// The most gaps of one observer that are kept one by one; further ones make the last
/// one longer.
pub const MOST_GAPS: usize = 1024;

/// A time in which an observer missed frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The last frame before it.
    pub from: Instant,
    /// When it was over for certain.
    pub to: Instant,
    /// How many frames were missed.
    pub frames: u64,
}

/// What one observer missed, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    gaps: Vec<Gap>,
}

impl Unseen {
    /// Takes down that frames were missed, after all that was taken down before.
    pub fn add(&mut self, gap: Gap) {
        if gap.frames == 0 {
            return;
        }
        let is_full = self.gaps.len() >= MOST_GAPS;
        match self.gaps.last_mut() {
            Some(last) if is_full => {
                last.to = last.to.max(gap.to);
                last.frames += gap.frames;
            }
            Some(_) | None => self.gaps.push(gap),
        }
    }

    /// Adds what another observer of the same receiver missed.
    pub fn append(&mut self, other: Self) {
        other.gaps.into_iter().for_each(|gap| self.add(gap));
    }

    /// Returns how many frames were missed.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.gaps.iter().map(|gap| gap.frames).sum()
    }

    /// Tells whether frames were missed between two moments.
    #[must_use]
    pub fn touches(&self, from: Instant, to: Instant) -> bool {
        self.gaps.iter().any(|gap| gap.from <= to && gap.to >= from)
    }

    /// Takes up to `wanted` of the frames that were missed between two moments for
    /// those that somebody looks for, and returns how many there were. They are not
    /// found a second time.
    pub fn take(&mut self, from: Instant, to: Instant, wanted: u64) -> u64 {
        let mut found = 0;
        let gaps = self.gaps.iter_mut();
        for gap in gaps.filter(|gap| gap.from <= to && gap.to >= from) {
            let here = gap.frames.min(wanted - found);
            gap.frames -= here;
            found += here;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    fn gap(from: u64, to: u64, frames: u64) -> Gap {
        Gap {
            from: at(from),
            to: at(to),
            frames,
        }
    }

    #[test]
    fn what_was_missed_is_found_once_and_only_where_it_was() {
        let mut unseen = Unseen::default();
        unseen.add(gap(10, 20, 5));
        unseen.add(gap(30, 40, 3));

        assert_eq!(unseen.take(at(21), at(29), 9), 0);
        assert_eq!(unseen.take(at(15), at(16), 4), 4);
        assert_eq!(unseen.take(at(0), at(100), 9), 4);
        assert_eq!(unseen.frames(), 0);
    }

    #[test]
    fn gaps_beyond_the_limit_are_one() {
        let mut unseen = Unseen::default();
        let many = MOST_GAPS as u64 + 7;
        for n in 0..many {
            unseen.add(gap(10 * n, 10 * n + 1, 1));
        }

        assert_eq!(unseen.gaps.len(), MOST_GAPS);
        assert_eq!(unseen.frames(), many);
        assert!(unseen.touches(at(10 * many - 10), at(10 * many)));
    }
}
