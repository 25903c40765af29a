//! Latency as QJump promises it, QJUMP as restated in LOKO section 2.3 (S4-7).
//!
//! If each of `n` hosts sends at most one frame of `P` in that time, no frame
//! takes longer than
//!
//! ```text
//! 2 n P / R + e
//! ```
//!
//! where `R` is the rate of the links and `e` the processing on the way.
//!
//! # Differs from the paper
//!
//! LOKO section 2.3 takes `e = 2 p = 257 us` for two switches, but `p` alone is
//! 257 us in LOKO section 6: two switches take 514 us. The caller says `e`.
//!
//! # Left out
//!
//! That frames wait for each other while they are processed: `e` is the time of
//! one frame in an idle switch, which is why this promise breaks on a switch that
//! forwards with one processor.

use units::{BitRate, DataSize, Delay};

/// A network as QJump sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QJump {
    /// The number of hosts, `n`.
    pub hosts: u64,
    /// The largest frame, `P`.
    pub frame: DataSize,
    /// The rate of every link, `R`.
    pub link: BitRate,
    /// The processing on the way, all switches together, `e`.
    pub processing: Delay,
}

impl QJump {
    /// Returns the promised delay, which is also the *epoch* in which each host
    /// may send one frame, rounded up. LOKO section 2.3.
    #[must_use]
    pub fn guarantee(&self) -> Delay {
        self.link.time_to_send(self.frame * (2 * self.hosts)) + self.processing
    }

    /// Returns the rate of one frame an epoch, rounded down, or nothing if that is
    /// less than a bit a second. LOKO section 2.3.
    #[must_use]
    pub fn host_rate(&self) -> Option<BitRate> {
        let bit_ps = u128::from(self.frame.as_bits()) * PS_PER_SECOND;
        let bps = bit_ps.checked_div(u128::from(self.guarantee().as_ps()))?;
        BitRate::new(u64::try_from(bps).ok()?)
    }
}

const PS_PER_SECOND: u128 = 1_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// LOKO section 2.3 prints the processing times and not what follows: the
    /// figures are computed by hand from its formula.
    #[test]
    fn guarantees_of_loko_section_2_3() {
        for (device, link_mbps, processing_us, guarantee_ns, rate_kbps) in [
            ("Banana Pi R1", 1_000, 4, 23_584, 103_799),
            ("Zodiac FX as printed", 100, 257, 452_840, 5_405),
            ("Zodiac FX, two switches", 100, 514, 709_840, 3_448),
        ] {
            let network = QJump {
                hosts: 4,
                frame: DataSize::from_bytes(306),
                link: BitRate::from_mbps(link_mbps),
                processing: Delay::from_us(processing_us),
            };

            assert_eq!(
                network.guarantee(),
                Delay::from_ns(guarantee_ns),
                "{device}"
            );
            let rate = network.host_rate().unwrap();
            assert_eq!(rate.as_bps() / 1_000, rate_kbps, "{device}");
        }
    }

    #[test]
    fn a_frame_of_nothing_has_no_rate() {
        let network = QJump {
            hosts: 4,
            frame: DataSize::ZERO,
            link: BitRate::from_mbps(100),
            processing: Delay::ZERO,
        };

        assert_eq!(network.host_rate(), None);
    }
}
