//! The bound of the MC-SDN paper, with its figures (S2-8).
//!
//! ```text
//! D_mc      = D_arrange + D_update + D_q                                 Eq. (1)
//! D_arrange = (d_trans + d_prop + d_queue + d_proc + d_flood) * N_link   Eq. (2)
//! D_update  = d_copy * N_rule + d_u-misc                                 Eq. (3)
//! D_q       = d_q * N_packet + d_q-misc                                  Eq. (4)
//! ```
//!
//! `d_trans`, `d_prop` and `d_queue` follow from the link and from the buffers below
//! its queue. The others were measured, and stand for their mean plus
//! `2.576 s / sqrt(n)` (MC-SDN section VI-B), see [`Sample::interval_end`]: the end of a confidence
//! interval *of the mean*, which a single sample exceeds almost every other time.
//! [`Sample::tolerance_bound`] makes of the same samples a bound that all but one in
//! a million stay below, with a confidence of 99.5 %, if they are normally distributed
//! as the paper assumes.

use units::Delay;

/// 99 % of a normal distribution are within this many deviations, 99.5 % below; in
/// thousandths.
const CONFIDENCE: u128 = 2_576;
/// All but one in a million of a normal distribution are below this many deviations;
/// in thousandths, rounded up.
const COVERAGE: u128 = 4_754;

/// The longest times of one hop of a signal, MC-SDN Table II.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopTimes {
    /// `d_prop`.
    pub propagation: Delay,
    /// `d_trans`.
    pub transmission: Delay,
    /// `d_queue`.
    pub queueing: Delay,
    /// `d_proc`.
    pub processing: Delay,
    /// `d_flood`.
    pub flooding: Delay,
}

impl HopTimes {
    /// Returns their sum, the bracket of MC-SDN Eq. (2).
    #[must_use]
    pub fn total(&self) -> Delay {
        self.propagation + self.transmission + self.queueing + self.processing + self.flooding
    }
}

/// What a change of mode costs in a network of like switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// A hop of a signal.
    pub hop: HopTimes,
    /// `d_copy`.
    pub copy: Delay,
    /// `d_u-misc`.
    pub update_overhead: Delay,
    /// `d_q`.
    pub handling: Delay,
    /// `d_q-misc`.
    pub handling_overhead: Delay,
}

/// How much there is to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeExtent {
    /// `N_link`: the most links between two switches.
    pub links: u64,
    /// `N_rule`: the most rules of a switch that change.
    pub rules: u64,
    /// `N_packet`: the most frames in the queues of a switch.
    pub packets: u64,
}

impl Costs {
    /// The paper's switches: Odroid-XU4 boards with USB Ethernet at 100 Mbit/s, MC-SDN
    /// Tables II and III.
    pub const PAPER: Self = Self {
        hop: HopTimes {
            propagation: Delay::from_ns(530),
            transmission: Delay::from_ns(4_600),
            queueing: Delay::from_ns(600_640),
            processing: Delay::from_ns(766_900),
            flooding: Delay::from_ns(80_780),
        },
        copy: Delay::from_ns(3_950),
        update_overhead: Delay::from_ns(50_040),
        handling: Delay::from_ns(1_060),
        handling_overhead: Delay::from_ns(2_070),
    };

    /// Returns `D_arrange`, MC-SDN Eq. (2).
    #[must_use]
    pub fn arrangement(&self, extent: ChangeExtent) -> Delay {
        self.hop.total() * extent.links
    }

    /// Returns `D_update`, MC-SDN Eq. (3).
    #[must_use]
    pub fn update(&self, extent: ChangeExtent) -> Delay {
        self.copy * extent.rules + self.update_overhead
    }

    /// Returns `D_q`, MC-SDN Eq. (4).
    #[must_use]
    pub fn out_of_mode(&self, extent: ChangeExtent) -> Delay {
        self.handling * extent.packets + self.handling_overhead
    }

    /// Returns `D_mc`, MC-SDN Eq. (1).
    #[must_use]
    pub fn mode_change(&self, extent: ChangeExtent) -> Delay {
        self.arrangement(extent) + self.update(extent) + self.out_of_mode(extent)
    }
}

/// What was printed of a series of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The mean.
    pub mean: Delay,
    /// The standard deviation.
    pub deviation: Delay,
    /// How many there were; 20 at least for a tolerance bound.
    pub count: u32,
}

impl Sample {
    /// `d_proc`, MC-SDN Table II.
    pub const PROCESSING: Self = Self::of_ns(764_000, 41_000, 1300);
    /// `d_flood`, MC-SDN Table II.
    pub const FLOODING: Self = Self::of_ns(80_020, 1_610, 30);
    /// `d_copy`, MC-SDN Table III.
    pub const COPY: Self = Self::of_ns(3_800, 940, 280);
    /// `d_u-misc`, MC-SDN Table III.
    pub const UPDATE_OVERHEAD: Self = Self::of_ns(49_720, 680, 30);
    /// `d_q`, MC-SDN Table III.
    pub const HANDLING: Self = Self::of_ns(1_040, 440, 5200);
    /// `d_q-misc`, MC-SDN Table III.
    pub const HANDLING_OVERHEAD: Self = Self::of_ns(1_920, 320, 30);

    const fn of_ns(mean: u64, deviation: u64, count: u32) -> Self {
        Self {
            mean: Delay::from_ns(mean),
            deviation: Delay::from_ns(deviation),
            count,
        }
    }

    /// Returns the upper end of the confidence interval of the mean, rounded up: what
    /// the paper calls a bound, MC-SDN section VI-B.
    ///
    /// # Panics
    ///
    /// If nothing was measured.
    #[must_use]
    pub fn interval_end(&self) -> Delay {
        assert!(self.count > 0, "an interval needs a sample");
        let spread = CONFIDENCE * u128::from(self.deviation.as_ps());
        let of_mean = root_up((spread * spread).div_ceil(u128::from(self.count)));
        self.mean + picoseconds(of_mean.div_ceil(1_000))
    }

    /// Returns what all but one in a million further samples stay below, with a
    /// confidence of 99.5 %, if they are normally distributed; rounded up.
    ///
    /// The one-sided tolerance limit `mean + k s` of NIST section 7.2.6.3, with
    ///
    /// ```text
    /// a = 1 - z_c^2 / (2 (n - 1))     b = z_p^2 - z_c^2 / n
    /// k = (z_p + sqrt(z_p^2 - a b)) / a
    /// ```
    ///
    /// # Panics
    ///
    /// If there were fewer than 20 samples.
    #[must_use]
    pub fn tolerance_bound(&self) -> Delay {
        assert!(self.count >= 20, "too few samples for a tolerance bound");
        let n = u128::from(self.count);
        // In millionths, so that squares of thousandths are whole. Smaller a and b make
        // k larger.
        let a = 1_000_000 - (CONFIDENCE * CONFIDENCE).div_ceil(2 * (n - 1));
        let b = COVERAGE * COVERAGE - (CONFIDENCE * CONFIDENCE).div_ceil(n);
        let under_root = COVERAGE * COVERAGE - a * b / 1_000_000;
        let k = ((COVERAGE + root_up(under_root)) * 1_000_000).div_ceil(a);
        let above = (k * u128::from(self.deviation.as_ps())).div_ceil(1_000);
        self.mean + picoseconds(above)
    }
}

fn root_up(square: u128) -> u128 {
    let root = square.isqrt();
    root + u128::from(root * root < square)
}

fn picoseconds(ps: u128) -> Delay {
    Delay::from_ps(u64::try_from(ps).expect("a deviation of days is none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MC-SDN section VI-B, Fig. 6: 9 switches, 1000 packets.
    #[test]
    fn the_bounds_of_the_papers_topologies_are_as_printed() {
        for (topology, links, printed_ns) in [
            ("star", 0, [1_116_060, 1_309_610, 1_507_110]),
            ("grid", 4, [6_929_860, 7_123_410, 7_320_910]),
            ("linear", 8, [12_743_660, 12_937_210, 13_134_710]),
        ] {
            for (rules, printed_ns) in [1, 50, 100].into_iter().zip(printed_ns) {
                let packets = 1_000;
                let extent = ChangeExtent {
                    links,
                    rules,
                    packets,
                };

                let ours = Costs::PAPER.mode_change(extent);

                assert_eq!(ours, Delay::from_ns(printed_ns), "{topology}, {rules}");
            }
        }
    }

    #[test]
    fn a_hop_of_the_paper_is_as_printed() {
        assert_eq!(Costs::PAPER.hop.total(), Delay::from_ns(1_453_450));
    }

    /// Tolerance: what rounding of the printed mean and deviation leaves open.
    #[test]
    fn the_papers_bounds_are_ends_of_intervals_of_the_mean() {
        let paper = Costs::PAPER;
        for (sample, printed, open_ns) in [
            (Sample::PROCESSING, paper.hop.processing, 540),
            (Sample::FLOODING, paper.hop.flooding, 10),
            (Sample::COPY, paper.copy, 10),
            (Sample::UPDATE_OVERHEAD, paper.update_overhead, 10),
            (Sample::HANDLING, paper.handling, 10),
            (Sample::HANDLING_OVERHEAD, paper.handling_overhead, 10),
        ] {
            let ours = sample.interval_end();

            let gap_ps = ours.as_ps().abs_diff(printed.as_ps());
            assert!(gap_ps <= open_ns * 1_000, "{ours} instead of {printed}");
        }
    }

    /// k for the same n, coverage and confidence by floating point.
    #[test]
    fn a_tolerance_bound_is_mean_and_k_deviations() {
        for sample in [Sample::PROCESSING, Sample::FLOODING, Sample::HANDLING] {
            let n = f64::from(sample.count);
            let (z_p, z_c) = (4.753_424_f64, 2.575_829_f64);
            let a = 1.0 - z_c * z_c / (2.0 * (n - 1.0));
            let b = z_p * z_p - z_c * z_c / n;
            let k = (z_p + (z_p * z_p - a * b).sqrt()) / a;
            let exact = sample.mean.as_secs_f64() + k * sample.deviation.as_secs_f64();

            let ours = sample.tolerance_bound().as_secs_f64();

            assert!(
                ours >= exact && ours < exact * 1.001,
                "{ours} instead of {exact}"
            );
        }
    }

    #[test]
    fn a_tolerance_bound_is_far_above_the_end_of_an_interval() {
        let sample = Sample::PROCESSING;

        let above = sample.tolerance_bound() - sample.interval_end();

        assert!(above > Delay::from_us(190), "{above}");
    }
}
