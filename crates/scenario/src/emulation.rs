//! How an emulated device behaves: spreads, where the rest of a profile has bounds.
//!
//! Admission needs the longest time, an emulation needs all of them and how often
//! each one is met. A [`Quantiles`] holds what was published or measured of a
//! distribution, from a single value to eight quantiles, and is taken as linear
//! between those that are known: the least assumption, which adds nothing below the
//! lowest and above the highest one. What a quantity depends on stands beside it as
//! its setting: the size of the frame and the time since the one before (SDN4CI
//! Fig. 3 finds a software switch three times slower at seldom frames).

use units::{BitRate, DataSize, Delay, Duration};

use crate::Stated;

/// A million: quantiles are given by how many of a million values they cover.
pub const MILLION: u32 = 1_000_000;

/// What an emulated device does beyond the bounds of its profile. Whatever is absent
/// is as if the device did not have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emulation {
    /// The rate of the ports between which latency was measured: sending the frame
    /// at that rate is in the latency. Without it, no sending is.
    pub link_rate: Option<BitRate>,
    /// The time from the last bit of a frame in to its last bit out, in an idle
    /// device, by setting.
    pub latency: Vec<Latency>,
    /// For how long a frame occupies the stage shared by all ports, by size, in
    /// ascending order.
    pub occupancy: Vec<Occupancy>,
    /// How many of a million frames are lost in an idle device.
    pub loss_ppm: Option<Stated<u64>>,
    /// How much longer than later ones the first frame of a flow takes that the
    /// controller has to decide about, the controller's own time apart.
    pub flow_setup: Option<Stated<Quantiles>>,
    /// The time from the loss of a port's carrier to the device's noticing it.
    pub link_down: Option<Stated<Quantiles>>,
    /// How many entries its flow table holds.
    pub table_entries: Option<Stated<u64>>,
}

/// The latency of one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latency {
    /// The size of the frame, without check sequence; any if there is none.
    pub frame: Option<DataSize>,
    /// The time since the frame before; any if there is none.
    pub interval: Option<Duration>,
    pub spread: Stated<Quantiles>,
}

/// How long a frame of one size occupies the shared stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// The size of the frame, without check sequence; any if there is none.
    pub frame: Option<DataSize>,
    pub per_frame: Stated<Delay>,
}

/// What is known of a distribution: some of its quantiles, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quantiles {
    known: Vec<(u32, Delay)>,
}

impl Quantiles {
    /// The quantiles that a profile may state, by key and by how many of a million
    /// values do not exceed them.
    pub const KEYS: [(&'static str, u32); 8] = [
        ("min", 0),
        ("p1", 10_000),
        ("p25", 250_000),
        ("p50", 500_000),
        ("p75", 750_000),
        ("p99", 990_000),
        ("p999", 999_000),
        ("max", MILLION),
    ];

    /// Returns the distribution with these quantiles, each with how many of a million
    /// values do not exceed it, or nothing if they do not ascend or there are none.
    #[must_use]
    pub fn new(known: Vec<(u32, Delay)>) -> Option<Self> {
        let ascends = known
            .windows(2)
            .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        (ascends && known.last()?.0 <= MILLION).then_some(Self { known })
    }

    /// Returns the distribution whose values are all this one.
    #[must_use]
    pub fn always(value: Delay) -> Self {
        Self {
            known: vec![(MILLION / 2, value)],
        }
    }

    /// Returns the quantiles that are known, ascending.
    #[must_use]
    pub fn known(&self) -> &[(u32, Delay)] {
        &self.known
    }

    /// Returns the value that `per_million` of a million values do not exceed:
    /// linear between the known quantiles, the nearest one beyond them.
    #[must_use]
    pub fn at(&self, per_million: u32) -> Delay {
        let above = self.known.partition_point(|(at, _)| *at < per_million);
        match (
            above.checked_sub(1).map(|at| self.known[at]),
            self.known.get(above),
        ) {
            (Some((low_at, low)), Some((high_at, high))) => {
                let (part, whole) = (per_million - low_at, high_at - low_at);
                let step = u128::from(high.as_ps() - low.as_ps()) * u128::from(part);
                let step = u64::try_from(step / u128::from(whole));
                low + Delay::from_ps(step.expect("a part of a delay is no longer than it"))
            }
            (None, Some((_, only))) => *only,
            (Some((_, only)), None) => only,
            (None, None) => Delay::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const US: fn(u64) -> Delay = Delay::from_us;

    #[test]
    fn between_known_quantiles_the_distribution_is_linear() {
        let spread = Quantiles::new(vec![(500_000, US(10)), (990_000, US(59))]).unwrap();

        assert_eq!(spread.at(0), US(10));
        assert_eq!(spread.at(500_000), US(10));
        assert_eq!(spread.at(510_000), US(11));
        assert_eq!(spread.at(745_000), Delay::from_ns(34_500));
        assert_eq!(spread.at(MILLION), US(59));
    }

    #[test]
    fn quantiles_that_do_not_ascend_are_no_distribution() {
        assert_eq!(Quantiles::new(vec![]), None);
        assert_eq!(Quantiles::new(vec![(1, US(2)), (2, US(1))]), None);
        assert_eq!(Quantiles::new(vec![(2, US(1)), (1, US(2))]), None);
        assert_eq!(Quantiles::new(vec![(MILLION + 1, US(1))]), None);
    }

    proptest! {
        #[test]
        fn a_larger_share_never_has_a_smaller_quantile(
            values in prop::collection::btree_map(0..=MILLION, 0u64..1 << 50, 1..8),
            (less, more) in (0..=MILLION, 0..=MILLION),
        ) {
            let mut times: Vec<_> = values.values().copied().collect();
            times.sort_unstable();
            let known = values.keys().copied().zip(times.into_iter().map(Delay::from_ps));
            let spread = Quantiles::new(known.collect()).unwrap();

            let (less, more) = (less.min(more), less.max(more));

            prop_assert!(spread.at(less) <= spread.at(more));
        }
    }
}
