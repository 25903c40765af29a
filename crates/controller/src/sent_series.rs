//! What a source was seen to send, by counters that are read from time to time, and which
//! contracts that keeps.
//!
//! Between two readings nobody knows when frames came. So of any rate two bursts follow: one
//! with less than which some of what came surely exceeds it, and one with which all of it
//! surely keeps it. For the second it helps that a policer lets no more pass than its contract
//! in any time: what came in a time `t` between readings is the least of what was counted and
//! `B + R * t` then. With both known nothing is said that the counters do not support.

use std::collections::VecDeque;

use units::{BitRate, DataSize, Delay, Duration, Instant};

/// The most readings that are kept; of more every second one is left out.
pub const MAX_READINGS: usize = 64;
/// What a frame occupies on the wire beside its bytes: check sequence, preamble, delimiter and
/// gap.
const WIRE_OVERHEAD_BYTES: u64 = 24;
/// Longer than any series is looked at.
const LONGEST_SEEN: Duration = Duration::from_secs(100 * 24 * 3_600);

/// What was counted when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentReading {
    /// When the switch was asked, before which it did not read its counters.
    pub asked: Instant,
    /// When the answer was there.
    pub answered: Instant,
    pub frames: u64,
    /// Their bytes, without check sequence.
    pub bytes: u64,
    /// Those of the frames that were dropped.
    pub exceeded: u64,
}

impl SentReading {
    /// Returns all that came until it was read, as it occupied the wire.
    fn sent(&self) -> u128 {
        let overhead = u128::from(self.frames) * u128::from(WIRE_OVERHEAD_BYTES);
        (u128::from(self.bytes) + overhead) * 8
    }
}

/// What was counted of one flow, reading by reading.
#[derive(Clone, Debug, Default)]
pub struct SentSeries {
    readings: VecDeque<SentReading>,
}

impl SentSeries {
    /// Takes a reading. Counters that are less than before begin anew.
    pub fn take(&mut self, reading: SentReading) {
        let falls = |last: &SentReading| {
            reading.frames < last.frames
                || reading.bytes < last.bytes
                || reading.exceeded < last.exceeded
                || reading.asked < last.asked
        };
        if self.readings.back().is_some_and(falls) {
            self.readings.clear();
        }
        let first = self.readings.front().map_or(reading.asked, |it| it.asked);
        if reading.answered.saturating_since(first) > LONGEST_SEEN {
            self.readings.clear();
        }
        if self.readings.len() == MAX_READINGS {
            let mut place = 0;
            self.readings.retain(|_| {
                place += 1;
                place % 2 == 1
            });
        }
        self.readings.push_back(reading);
    }

    fn ends(&self) -> Option<(&SentReading, &SentReading)> {
        let ends = self.readings.front().zip(self.readings.back())?;
        (self.readings.len() > 1).then_some(ends)
    }

    /// Returns from when to when it was looked at.
    #[must_use]
    pub fn seen(&self) -> Duration {
        let ends = self.ends();
        ends.map_or(Duration::ZERO, |(first, last)| {
            last.answered.saturating_since(first.asked)
        })
    }

    /// Returns how many frames came meanwhile, and how many of them exceeded the contract.
    #[must_use]
    pub fn frames(&self) -> (u64, u64) {
        let ends = self.ends();
        ends.map_or((0, 0), |(first, last)| {
            (last.frames - first.frames, last.exceeded - first.exceeded)
        })
    }

    /// Returns the lowest rate at which what came may have come, rounded up; nothing if
    /// nothing came.
    #[must_use]
    pub fn mean_rate(&self) -> Option<BitRate> {
        let (first, last) = self.ends()?;
        let ns = last.answered.saturating_since(first.asked).as_ns().max(1);
        let bits = (last.sent() - first.sent()) * 1_000_000_000;
        let bps = u64::try_from(bits.div_ceil(u128::from(ns))).ok()?;
        BitRate::new(bps)
    }

    /// Returns a burst with less than which some of what came surely exceeds a contract of
    /// this rate.
    #[must_use]
    pub fn least_burst(&self, rate: BitRate) -> DataSize {
        let readings = self.readings.iter().enumerate();
        let excess = readings.flat_map(|(at, from)| {
            self.readings.iter().skip(at + 1).map(move |until| {
                let longest = until.answered.saturating_since(from.asked);
                let came = until.sent() - from.sent();
                came.saturating_sub(bits(rate.most_in(Delay::from(longest))))
            })
        });
        size(excess.max().unwrap_or(0))
    }

    /// Returns a burst with which all that came surely keeps a contract of this rate, if
    /// what came was let through by a policer of `policed`, or anyhow if that is nothing.
    #[must_use]
    pub fn sure_burst(&self, rate: BitRate, policed: Option<(BitRate, DataSize)>) -> DataSize {
        let count = self.readings.len();
        let mut most = 0;
        for (from, until) in (0..count).flat_map(|from| (from + 1..count).map(move |to| (from, to)))
        {
            let came = self.readings[until].sent() - self.readings[from].sent();
            let shortest = match until - from {
                1 => Duration::ZERO,
                _ => {
                    let last = self.readings[until - 1].asked;
                    last.saturating_since(self.readings[from + 1].answered)
                }
            };
            most = most.max(most_beyond(rate, came, shortest, policed));
        }
        size(most)
    }
}

/// Returns by how much at most `came` exceeds a rate in some time that is no shorter than
/// `shortest`.
fn most_beyond(
    rate: BitRate,
    came: u128,
    shortest: Duration,
    policed: Option<(BitRate, DataSize)>,
) -> u128 {
    let beyond = |came: u128, time: Duration| {
        came.saturating_sub(u128::from(rate.as_bps()) * u128::from(time.as_ns()) / 1_000_000_000)
    };
    let Some((most, burst)) = policed.filter(|(most, _)| *most >= rate) else {
        return beyond(came, shortest);
    };
    // As long as the policer bounds what came, the longer the more is beyond; after that the
    // less.
    let over = came.saturating_sub(bits(burst)) * 1_000_000_000;
    let turn = u64::try_from(over / u128::from(most.as_bps())).unwrap_or(u64::MAX);
    let turn = Duration::from_ns(turn).max(shortest);
    let passed = u128::from(most.as_bps()) * (u128::from(turn.as_ns()) + 1);
    beyond(came.min(bits(burst) + passed.div_ceil(1_000_000_000)), turn)
}

fn bits(size: DataSize) -> u128 {
    u128::from(size.as_bits())
}

fn size(bits: u128) -> DataSize {
    DataSize::from_bits(u64::try_from(bits).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BYTES: u64 = 126;
    const BITS: u64 = (BYTES + WIRE_OVERHEAD_BYTES) * 8;

    /// Returns the readings of frames that came at these times, at every `every_ms`.
    fn read(frames_ms: &[u64], every_ms: u64) -> SentSeries {
        let mut series = SentSeries::default();
        let end = frames_ms.iter().max().copied().unwrap_or(0) + every_ms;
        for at in (0..=end).step_by(usize::try_from(every_ms).unwrap()) {
            let frames = frames_ms.iter().filter(|it| **it < at).count() as u64;
            let at = Instant::ZERO + Duration::from_ms(at);
            series.take(SentReading {
                asked: at,
                answered: at,
                frames,
                bytes: frames * BYTES,
                exceeded: 0,
            });
        }
        series
    }

    /// Returns the least burst that these frames need at a rate: a bucket that is full at the
    /// beginning (RFC 2697).
    fn needed(frames_ms: &[u64], rate: BitRate) -> u128 {
        let (mut level, mut then, mut most) = (0u128, 0, 0);
        for at in frames_ms {
            // In thousandths of a bit: whole ones would be rounded with each frame.
            let drained = u128::from(rate.as_bps()) * u128::from(at - then);
            level = level.saturating_sub(drained) + 1_000 * u128::from(BITS);
            (then, most) = (*at, most.max(level));
        }
        most.div_ceil(1_000)
    }

    proptest! {
        /// The burst that is needed lies between the two, whatever came and however seldom
        /// counters are read.
        #[test]
        fn no_frame_exceeds_the_sure_burst_and_some_the_least(
            mut frames_ms in prop::collection::vec(0u64..4_000, 1..200),
            every_ms in 20u64..1_500,
            rate_bps in 1_000u64..400_000,
            more_bps in 0u64..400_000,
            is_policed: bool,
        ) {
            frames_ms.sort_unstable();
            let series = read(&frames_ms, every_ms);
            let rate = BitRate::from_bps(rate_bps);
            let kept = BitRate::from_bps(rate_bps + more_bps);
            let policed = is_policed.then(|| (kept, size(needed(&frames_ms, kept))));

            let needed = needed(&frames_ms, rate);

            let sure = bits(series.sure_burst(rate, policed));
            let least = bits(series.least_burst(rate));
            prop_assert!(least <= needed, "{least} {needed}");
            prop_assert!(needed <= sure + 1, "{needed} {sure}");
        }

        #[test]
        fn any_counters_can_be_read(
            said in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>()), 0..100),
        ) {
            let mut series = SentSeries::default();
            for (at, frames, bytes, exceeded) in said {
                let at = Instant::from_ns(at);
                series.take(SentReading { asked: at, answered: at, frames, bytes, exceeded });
                let rate = BitRate::from_mbps(1);
                prop_assert!(series.readings.len() <= MAX_READINGS);
                prop_assert!(series.least_burst(rate) <= series.sure_burst(rate, None));
                prop_assert!(series.frames().0 == 0 || series.seen() <= LONGEST_SEEN);
            }
        }
    }

    #[test]
    fn a_policer_bounds_what_came_between_two_readings() {
        // A frame each 10 ms, of which nothing but a count a second is known.
        let frames: Vec<u64> = (0..400).map(|number| number * 10).collect();
        let series = read(&frames, 1_000);
        let rate = BitRate::from_bps(BITS * 100);

        let alone = series.sure_burst(rate, None);
        let policed = series.sure_burst(rate, Some((rate, DataSize::from_bits(BITS * 2))));

        // All of two seconds may have come at once, when it was read in between.
        assert_eq!(alone, DataSize::from_bits(BITS * 200));
        assert_eq!(policed, DataSize::from_bits(BITS * 2));
        assert_eq!(series.mean_rate(), BitRate::new(BITS * 100));
    }

    #[test]
    fn counters_that_go_back_begin_anew() {
        let mut series = read(&[10, 20], 100);
        assert_eq!(series.frames().0, 2);
        let last = *series.readings.back().unwrap();

        series.take(SentReading {
            frames: 1,
            bytes: BYTES,
            ..last
        });

        assert_eq!((series.frames(), series.seen()), ((0, 0), Duration::ZERO));
    }
}
