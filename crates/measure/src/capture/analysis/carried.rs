//! What one sender put on a link, as one capture has it: how much, how fast, and how
//! far apart.

use units::{BitRate, Duration};

use crate::statistics::Distribution;

/// Preamble, check sequence and gap between frames, in bytes.
const AROUND_A_FRAME: u64 = 24;
/// The highest rate is that of a stretch of this length.
pub(super) const STRETCH: Duration = Duration::from_ms(100);
const BITS: u128 = 8;
const NS_PER_SECOND: u128 = 1_000_000_000;

/// Frames of one sender in one capture.
#[derive(Debug, Default)]
pub(super) struct CarriedFrames {
    bytes: u64,
    first: Option<u64>,
    last: u64,
    /// The bytes of the last frame, which took its time after its stamp.
    last_bytes: u64,
    /// The stretch of time under way, by its number, and the bytes in it.
    stretch: (u64, u64),
    most_of_a_stretch: u64,
    /// The times between frames, and the longest of them: since when.
    pub(super) gaps: Distribution,
    pub(super) longest_gap: (u64, u64),
}

impl CarriedFrames {
    /// Adds a frame of `length` bytes without check sequence.
    pub(super) fn add(&mut self, at: u64, length: usize) {
        let bytes = u64::try_from(length).unwrap_or(u64::MAX);
        let bytes = bytes.saturating_add(AROUND_A_FRAME);
        self.bytes = self.bytes.saturating_add(bytes);
        let number = at / STRETCH.as_ns();
        match number == self.stretch.0 {
            true => self.stretch.1 = self.stretch.1.saturating_add(bytes),
            false => self.stretch = (number, bytes),
        }
        self.most_of_a_stretch = self.most_of_a_stretch.max(self.stretch.1);
        // A frame that was recorded out of order ends no gap.
        if let Some(gap) = at.checked_sub(self.last)
            && self.first.is_some()
        {
            self.gaps.record(Duration::from_ns(gap));
            if gap > self.longest_gap.1 {
                self.longest_gap = (self.last, gap);
            }
        }
        if at >= self.last {
            (self.last, self.last_bytes) = (at, bytes);
        }
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
    }

    /// Returns the rate from the first frame to the last, all bits on the wire
    /// counted, or nothing if there was no time between them.
    pub(super) fn rate(&self) -> Option<BitRate> {
        let span = self.last.checked_sub(self.first?)?;
        rate(self.bytes - self.last_bytes.min(self.bytes), span)
    }

    /// Returns the highest rate of a [`STRETCH`].
    pub(super) fn highest_rate(&self) -> Option<BitRate> {
        rate(self.most_of_a_stretch, STRETCH.as_ns())
    }
}

fn rate(bytes: u64, ns: u64) -> Option<BitRate> {
    let bit_ns = u128::from(bytes) * BITS * NS_PER_SECOND;
    let bps = bit_ns.checked_div(u128::from(ns))?;
    BitRate::new(u64::try_from(bps).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_counts_what_stands_around_frames_and_not_the_time_after_the_last() {
        let mut carried = CarriedFrames::default();
        for number in 0..=1_000 {
            carried.add(number * 1_000_000, 1_226);
        }

        assert_eq!(carried.rate(), Some(BitRate::from_mbps(10)));
        assert_eq!(carried.highest_rate(), Some(BitRate::from_mbps(10)));
        assert_eq!(carried.gaps.max(), Some(Duration::from_ms(1)));
    }

    #[test]
    fn stamps_out_of_order_make_no_rate_of_their_own() {
        let mut carried = CarriedFrames::default();
        carried.add(5, 60);
        assert_eq!(carried.rate(), None);
        carried.add(3, usize::MAX);
        carried.add(u64::MAX, usize::MAX);

        assert!(carried.highest_rate().is_some());
        assert_eq!(carried.gaps.count(), 1);
    }
}
