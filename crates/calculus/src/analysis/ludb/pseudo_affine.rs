//! Service curves that stay of one kind when cross traffic is taken off.
//!
//! A [`PseudoAffine`] curve promises nothing before its latency, and from then on
//! the least of several token buckets, its stages:
//!
//! ```text
//! t <= latency:  0
//! t >  latency:  min over the stages of burst + rate * (t - latency)
//! ```
//!
//! A rate-latency curve is one with a single stage without a burst. Two curves
//! in a row are one: the latencies are added, the stages stand side by side. What
//! a FIFO server leaves of one to a part of its traffic is one again, so whole
//! paths are computed with two numbers a server. Source: LUDB.
//!
//! Latencies are rounded up, bursts of stages down.

use std::ops::Range;

use units::fine::{Data, Rate, Time};

use crate::analysis::{RateLatency, TokenBucket};

/// A latency, then the least of several token buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PseudoAffine {
    latency: Time,
    stages: Vec<TokenBucket>,
}

impl PseudoAffine {
    /// Returns what servers in a row promise together, one stage for each.
    pub(super) fn of(servers: &[RateLatency]) -> Option<Self> {
        let mut whole = Self::default();
        for server in servers {
            whole.latency = whole.latency.checked_add(server.latency)?;
            whole.stages.push(TokenBucket {
                rate: server.rate,
                burst: Data::ZERO,
            });
        }
        Some(whole)
    }

    /// Takes off a part of the traffic that crosses some of the stages, in FIFO
    /// order with the rest, and returns whether anything is left.
    ///
    /// The stages must be all that this part crosses, and nothing may have been
    /// taken off that crosses some of them and others too. For every
    /// `theta >= 0` the rest gets at least
    ///
    /// ```text
    /// t <= theta:  0
    /// t >  theta:  max(0, curve(t) - cross(t - theta))
    /// ```
    ///
    /// (NC section 6.2). Here `theta` is the latency of these stages and `wait`,
    /// or the least wait after which no stage owes anything.
    pub(super) fn leave(&mut self, at: Range<usize>, cross: TokenBucket, wait: Time) -> Option<()> {
        let mut wait = wait;
        for stage in &self.stages[at.clone()] {
            if let Some(owed) = cross.burst.checked_sub(stage.burst) {
                wait = wait.max(stage.rate.longest_for(owed)?);
            }
        }
        for stage in &mut self.stages[at] {
            let served = stage.burst.checked_add(stage.rate.least_in(wait));
            let served = served.unwrap_or(Data::from_ubits(u64::MAX));
            stage.burst = served.checked_sub(cross.burst)?;
            stage.rate = stage.rate.checked_sub(cross.rate)?;
        }
        self.latency = self.latency.checked_add(wait)?;
        Some(())
    }

    /// Returns the longest delay of traffic that keeps within all of `buckets`.
    pub(super) fn delay(&self, buckets: &[TokenBucket]) -> Option<Time> {
        let mut delay = self.latency;
        for stage in &self.stages {
            let ahead = most_above(buckets, stage.rate)?;
            if let Some(owed) = ahead.checked_sub(stage.burst) {
                let wait = stage.rate.longest_for(owed)?;
                delay = delay.max(self.latency.checked_add(wait)?);
            }
        }
        Some(delay)
    }

    /// Returns the burst with which traffic within `bucket` leaves, which is also
    /// the most of it that is under way.
    pub(super) fn burst_behind(&self, bucket: TokenBucket) -> Option<Data> {
        let stable = self.stages.iter().all(|stage| stage.rate >= bucket.rate);
        let grown = bucket.rate.most_in(self.latency)?;
        bucket.burst.checked_add(grown).filter(|_| stable)
    }
}

/// Returns the most by which traffic within all of `buckets` can be ahead of a
/// constant `rate`, rounded **up**; nothing if that has no bound.
///
/// A bucket no faster than `rate` is ahead by its burst at most. Two buckets, one
/// faster and one slower, hold for every average of them; the average with just
/// `rate` is ahead by its burst. The least of all these is exact.
pub(super) fn most_above(buckets: &[TokenBucket], rate: Rate) -> Option<Data> {
    let slow = || buckets.iter().filter(|bucket| bucket.rate <= rate);
    let mut most = slow().map(|bucket| bucket.burst).min()?;
    for fast in buckets.iter().filter(|bucket| bucket.rate > rate) {
        for slow in slow().filter(|slow| slow.burst > fast.burst) {
            most = most.min(average_burst(*slow, *fast, rate));
        }
    }
    Some(most)
}

/// Returns the burst of the average of two buckets that has a given rate between
/// theirs, rounded **up**.
fn average_burst(slow: TokenBucket, fast: TokenBucket, rate: Rate) -> Data {
    let gain = slow.burst.as_ubits() - fast.burst.as_ubits();
    let above_slow = rate.as_ubps() - slow.rate.as_ubps();
    let between = fast.rate.as_ubps() - slow.rate.as_ubps();
    let gain = u128::from(gain) * u128::from(above_slow) / u128::from(between);
    let gain = u64::try_from(gain).expect("a part of what fits");
    Data::from_ubits(slow.burst.as_ubits() - gain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FS_PER_MS: u64 = 1_000_000_000_000;
    const FS_PER_SECOND: f64 = 1e15;

    #[test]
    fn what_no_wait_can_serve_leaves_nothing() {
        let mut curve = PseudoAffine::of(&[server(0, 0)]).unwrap();
        assert_eq!(curve.leave(0..1, bucket(0, 1), Time::ZERO), None);

        let mut curve = PseudoAffine::of(&[server(10, 0)]).unwrap();
        assert_eq!(curve.leave(0..1, bucket(11, 1), Time::ZERO), None);
    }

    #[test]
    fn traffic_faster_than_a_stage_has_no_bound() {
        let curve = PseudoAffine::of(&[server(10, 0), server(5, 0)]).unwrap();

        assert_eq!(curve.delay(&[bucket(6, 0)]), None);
        assert_eq!(curve.burst_behind(bucket(6, 0)), None);
        assert_eq!(curve.delay(&[bucket(5, 0)]), Some(Time::ZERO));
    }

    proptest! {
        /// Sound and tight: what is left is what NC section 6.2 says, at
        /// every time, and less only by what rounding takes.
        #[test]
        fn what_is_left_is_service_less_what_others_may_have_sent(
            servers in prop::collection::vec((50u64..100, 0u64..5), 1..4),
            (rate, burst, wait_ms, at_ms) in (0u64..50, 0u64..200, 0u64..5_000, 0u64..20_000),
        ) {
            let servers: Vec<_> = servers.iter().map(|&(rate, ms)| server(rate, ms)).collect();
            let whole = PseudoAffine::of(&servers).unwrap();
            let mut left = whole.clone();
            let cross = bucket(rate, burst);
            let at = Time::from_fs(at_ms * FS_PER_MS);

            left.leave(0..servers.len(), cross, Time::from_fs(wait_ms * FS_PER_MS)).unwrap();

            let theta = left.latency;
            let sent = at.checked_sub(theta).map_or(0.0, |since| ubits(cross.burst) + most(cross.rate, since));
            let definition = if at <= theta { 0.0 } else { (promised(&whole, at) - sent).max(0.0) };
            prop_assert!(theta >= Time::from_fs(wait_ms * FS_PER_MS));
            prop_assert!(promised(&left, at) <= definition + 0.01);
            prop_assert!(promised(&left, at) >= definition - 2.0);
        }

        /// Sound: two curves in a row promise no more than any split of the
        /// time between them can deliver.
        #[test]
        fn a_row_promises_no_more_than_any_split(
            (first, second) in (left_over(), left_over()),
            (early_ms, late_ms) in (0u64..10_000, 0u64..10_000),
        ) {
            let (early, late) = (Time::from_fs(early_ms * FS_PER_MS), Time::from_fs(late_ms * FS_PER_MS));
            let mut row = PseudoAffine::of(&[first.0, second.0]).unwrap();
            row.leave(0..1, first.1, first.2).unwrap();
            row.leave(1..2, second.1, second.2).unwrap();

            let alone = |part: Left, time| {
                let mut curve = PseudoAffine::of(&[part.0]).unwrap();
                curve.leave(0..1, part.1, part.2).unwrap();
                promised(&curve, time)
            };
            let delivered = alone(first, early) + alone(second, late);
            prop_assert!(promised(&row, early.checked_add(late).unwrap()) <= delivered + 0.01);
        }

        /// Sound and tight: at the bound of the delay all that can have come is
        /// served, whenever it came; a millionth earlier some is not.
        #[test]
        fn the_delay_is_just_long_enough(
            part in left_over(),
            buckets in prop::collection::vec((0u64..80, 1u64..100), 1..4),
            slow in 1u64..20,
        ) {
            let mut curve = PseudoAffine::of(&[part.0]).unwrap();
            curve.leave(0..1, part.1, part.2).unwrap();
            let mut buckets: Vec<_> = buckets.iter().map(|&(rate, burst)| bucket(rate, burst)).collect();
            buckets.push(bucket(slow, 200));

            let delay = curve.delay(&buckets).unwrap();

            let shorter = Time::from_fs(delay.as_fs() - delay.as_fs() / 1_000_000 - 1);
            let behind = |delay: Time| moments(&buckets).into_iter().any(|at| {
                let sent = |bucket: &TokenBucket| ubits(bucket.burst) + most(bucket.rate, at);
                let sent = buckets.iter().map(sent).fold(f64::INFINITY, f64::min);
                sent > promised(&curve, at.checked_add(delay).unwrap()) + 0.01
            });
            prop_assert!(!behind(delay));
            prop_assert!(behind(shorter) || shorter < curve.latency);
        }
    }

    type Left = (RateLatency, TokenBucket, Time);

    /// A server, what is taken off it, and a wait.
    fn left_over() -> impl Strategy<Value = Left> {
        (50u64..100, 0u64..5, 0u64..30, 0u64..200, 0u64..5_000).prop_map(
            |(rate, latency, cross, burst, wait)| {
                let wait = Time::from_fs(wait * FS_PER_MS);
                (server(rate, latency), bucket(cross, burst), wait)
            },
        )
    }

    /// Returns just after the beginning and the times at which two buckets cross.
    fn moments(buckets: &[TokenBucket]) -> Vec<Time> {
        let mut moments = vec![Time::from_fs(1)];
        for left in buckets {
            for right in buckets {
                let (Some(gap), Some(speed)) = (
                    left.burst.checked_sub(right.burst),
                    right.rate.checked_sub(left.rate),
                ) else {
                    continue;
                };
                let at = speed.longest_for(gap).unwrap_or_default();
                moments.push(at.max(Time::from_fs(1)));
            }
        }
        moments
    }

    fn promised(curve: &PseudoAffine, at: Time) -> f64 {
        let Some(since) = at
            .checked_sub(curve.latency)
            .filter(|since| *since > Time::ZERO)
        else {
            return 0.0;
        };
        let stages = curve.stages.iter();
        let promised = stages.map(|stage| ubits(stage.burst) + most(stage.rate, since));
        promised.fold(f64::INFINITY, f64::min)
    }

    fn most(rate: Rate, time: Time) -> f64 {
        rate.as_ubps() as f64 * time.as_fs() as f64 / FS_PER_SECOND
    }

    fn ubits(data: Data) -> f64 {
        data.as_ubits() as f64
    }

    fn server(bps: u64, latency_ms: u64) -> RateLatency {
        RateLatency {
            rate: Rate::of_bps(bps).unwrap(),
            latency: Time::from_fs(latency_ms * FS_PER_MS),
        }
    }

    fn bucket(bps: u64, bits: u64) -> TokenBucket {
        TokenBucket {
            rate: Rate::of_bps(bps).unwrap(),
            burst: Data::of_bits(bits).unwrap(),
        }
    }
}
