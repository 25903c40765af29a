//! When a flow sends: as much and as early as its token buckets allow, in one of
//! a few patterns.
//!
//! Buckets are kept in exact whole numbers and a packet waits until the first
//! femtosecond at which it conforms, so what is sent never exceeds
//! `burst + rate * t` in any interval.

use calculus::analysis::TokenBucket;

use super::random::Random;

/// Femtoseconds in a second: the scale of a bucket's level.
const FS_PER_SECOND: u128 = 1_000_000_000_000_000;
const UBITS_IN_A_BIT: u64 = 1_000_000;
/// A rest of a burst below this share of a packet is not worth one.
const SMALLEST_REST: u64 = 8;

/// A source sends no more packets than these in a run.
const PACKETS_MAX: usize = 300;

/// One packet of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emission {
    /// When it is sent, all at once.
    pub at_fs: u64,
    pub ubits: u64,
}

/// How a source spends its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The burst, then at the rate.
    Greedy,
    Burst,
    /// The burst, then silence until the next whole burst.
    Bursts,
    /// A few packets at the rate, then what is left of the burst, then at the
    /// rate again.
    PacedFirst {
        /// How many packets precede the burst.
        packets: u32,
    },
}

/// How large its packets are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// As large as possible; the rest of a burst is one smaller packet.
    Largest,
    Quarter,
    Mixed {
        seed: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub phase_fs: u64,
    pub shape: Shape,
    pub sizes: Sizes,
}

/// Returns the packets that a flow with these buckets sends until some time, none
/// above `largest_ubits`.
#[must_use]
pub fn emissions(
    buckets: &[TokenBucket],
    largest_ubits: u64,
    pattern: &Pattern,
    until_fs: u64,
) -> Vec<Emission> {
    let mut source = Source {
        tokens: Tokens::full(buckets),
        largest_ubits,
        sizes: pattern.sizes,
        random: Random::new(match pattern.sizes {
            Sizes::Mixed { seed } => seed,
            Sizes::Largest | Sizes::Quarter => 0,
        }),
        sent: Vec::new(),
        until_fs,
    };
    match pattern.shape {
        Shape::Greedy => source.spend(pattern.phase_fs),
        Shape::Burst => {
            source.burst(pattern.phase_fs);
        }
        Shape::Bursts => source.bursts(pattern.phase_fs),
        Shape::PacedFirst { packets } => {
            source.pace(pattern.phase_fs, packets);
            source.spend(pattern.phase_fs);
        }
    }
    source.sent
}

struct Source {
    tokens: Tokens,
    largest_ubits: u64,
    sizes: Sizes,
    random: Random,
    sent: Vec<Emission>,
    until_fs: u64,
}

impl Source {
    /// Sends whatever the buckets hold at once, and returns when they allow more.
    fn burst(&mut self, at_fs: u64) -> Option<u64> {
        while self.goes_on(at_fs) {
            let ubits = self.size();
            let earliest = self.tokens.earliest(ubits, at_fs)?;
            if earliest > at_fs {
                let rest = whole_bits(self.tokens.held(at_fs).min(self.largest_ubits));
                if rest >= self.largest_ubits.div_ceil(SMALLEST_REST) {
                    self.send(at_fs, rest);
                }
                return Some(earliest);
            }
            self.send(at_fs, ubits);
        }
        None
    }

    /// Sends as early as possible, from a time on.
    fn spend(&mut self, from_fs: u64) {
        let mut now = from_fs.max(self.tokens.at_fs);
        self.burst(now);
        while self.goes_on(now) {
            let ubits = self.size();
            let Some(at) = self.tokens.earliest(ubits, now) else {
                return;
            };
            self.send(at, ubits);
            now = at;
        }
    }

    fn bursts(&mut self, from_fs: u64) {
        let mut now = from_fs;
        while self.burst(now).is_some() {
            let Some(full) = self.tokens.full_at() else {
                return;
            };
            now = full;
        }
    }

    /// Sends packets at the rate so that the last comes just before `until_fs`.
    fn pace(&mut self, until_fs: u64, packets: u32) {
        let gap = self.tokens.time_for(self.largest_ubits);
        let Some(gap) = gap.filter(|gap| *gap <= until_fs / u64::from(packets + 1)) else {
            return;
        };
        for before in (1..=u64::from(packets)).rev() {
            self.send(until_fs - before * gap, self.largest_ubits);
        }
    }

    fn goes_on(&self, now: u64) -> bool {
        now <= self.until_fs && self.sent.len() < PACKETS_MAX
    }

    fn size(&mut self) -> u64 {
        let ubits = match self.sizes {
            Sizes::Largest => self.largest_ubits,
            Sizes::Quarter => self.largest_ubits.div_ceil(4),
            Sizes::Mixed { .. } => self
                .random
                .between(self.largest_ubits.div_ceil(8), self.largest_ubits),
        };
        whole_bits(ubits)
    }

    fn send(&mut self, at_fs: u64, ubits: u64) {
        self.tokens.take(ubits, at_fs);
        self.sent.push(Emission { at_fs, ubits });
    }
}

/// The levels of all buckets of a flow, in millionths of a bit times
/// femtoseconds a second.
struct Tokens {
    buckets: Vec<Level>,
    at_fs: u64,
}

struct Level {
    rate_ubps: u128,
    depth: u128,
    level: u128,
}

impl Tokens {
    fn full(buckets: &[TokenBucket]) -> Self {
        let level = |bucket: &TokenBucket| {
            let depth = u128::from(bucket.burst.as_ubits()) * FS_PER_SECOND;
            Level {
                rate_ubps: u128::from(bucket.rate.as_ubps()),
                depth,
                level: depth,
            }
        };
        Self {
            buckets: buckets.iter().map(level).collect(),
            at_fs: 0,
        }
    }

    /// Returns the first time from `from_fs` on at which all buckets hold a
    /// packet, or nothing if one never will.
    fn earliest(&self, ubits: u64, from_fs: u64) -> Option<u64> {
        let needed = u128::from(ubits) * FS_PER_SECOND;
        let mut earliest = from_fs.max(self.at_fs);
        for bucket in &self.buckets {
            if needed > bucket.depth {
                return None;
            }
            let missing = needed.saturating_sub(bucket.level);
            earliest = earliest.max(self.at_fs + wait(missing, bucket.rate_ubps)?);
        }
        Some(earliest)
    }

    /// Returns how much all buckets hold at a time, rounded down.
    fn held(&self, at_fs: u64) -> u64 {
        let passed = u128::from(at_fs - self.at_fs);
        let held = |bucket: &Level| bucket.at_most(passed) / FS_PER_SECOND;
        let least = self.buckets.iter().map(held).min().unwrap_or_default();
        u64::try_from(least).unwrap_or(u64::MAX)
    }

    /// Returns when all buckets are full, or nothing if one never will be.
    fn full_at(&self) -> Option<u64> {
        let mut at = self.at_fs;
        for bucket in &self.buckets {
            let missing = bucket.depth - bucket.level;
            at = at.max(self.at_fs + wait(missing, bucket.rate_ubps)?);
        }
        Some(at)
    }

    /// Returns how long it takes to earn so much.
    fn time_for(&self, ubits: u64) -> Option<u64> {
        let needed = u128::from(ubits) * FS_PER_SECOND;
        let waits = self.buckets.iter().map(|it| wait(needed, it.rate_ubps));
        waits.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// Takes tokens at a time.
    ///
    /// # Panics
    ///
    /// If a bucket holds less: a source never sends what does not conform.
    fn take(&mut self, ubits: u64, at_fs: u64) {
        assert!(
            at_fs >= self.at_fs,
            "a source sends one packet after the other"
        );
        let passed = u128::from(at_fs - self.at_fs);
        for bucket in &mut self.buckets {
            let held = bucket.at_most(passed);
            let taken = u128::from(ubits) * FS_PER_SECOND;
            assert!(held >= taken, "a source sends what its buckets hold");
            bucket.level = held - taken;
        }
        self.at_fs = at_fs;
    }
}

impl Level {
    fn at_most(&self, passed_fs: u128) -> u128 {
        self.depth.min(self.level + passed_fs * self.rate_ubps)
    }
}

/// Rounds down to whole bits, of which one at least is left: servers then take
/// a whole number of femtoseconds.
fn whole_bits(ubits: u64) -> u64 {
    (ubits / UBITS_IN_A_BIT * UBITS_IN_A_BIT).max(UBITS_IN_A_BIT.min(ubits))
}

/// Returns how long a bucket takes to earn what is missing, rounded up.
fn wait(missing: u128, rate_ubps: u128) -> Option<u64> {
    if missing == 0 {
        return Some(0);
    }
    let fs = (missing + rate_ubps - 1).checked_div(rate_ubps)?;
    u64::try_from(fs).ok()
}

#[cfg(test)]
mod tests {
    use units::fine::{Data, Rate};

    use super::*;

    const KBIT: u64 = 1_000_000_000;

    #[test]
    fn no_interval_holds_more_than_the_buckets_allow() {
        let buckets = [bucket(100_000_000, 12_345), bucket(1_000_000_000, 4_000)];
        for shape in [
            Shape::Greedy,
            Shape::Burst,
            Shape::Bursts,
            Shape::PacedFirst { packets: 3 },
        ] {
            for sizes in [Sizes::Largest, Sizes::Quarter, Sizes::Mixed { seed: 7 }] {
                let phase_fs = 1_000_000_000_000;
                let pattern = Pattern {
                    phase_fs,
                    shape,
                    sizes,
                };

                let sent = emissions(&buckets, 3 * KBIT, &pattern, 2 * phase_fs);

                assert!(!sent.is_empty(), "{pattern:?}");
                assert_conforms(&buckets, &sent);
            }
        }
    }

    #[test]
    fn a_greedy_source_has_its_whole_burst_at_the_phase() {
        let buckets = [bucket(1_000_000, 10_000)];
        let pattern = Pattern {
            phase_fs: 5,
            shape: Shape::Greedy,
            sizes: Sizes::Largest,
        };

        let sent = emissions(&buckets, 3 * KBIT, &pattern, 12_000_000_000_000);

        let at_once = sent.iter().filter(|it| it.at_fs == 5);
        assert_eq!(at_once.map(|it| it.ubits).sum::<u64>(), 10 * KBIT);
        assert_eq!(sent.len(), 8);
        // Three thousand bits at a million a second.
        assert_eq!(sent[4].at_fs, 5 + 3_000_000_000_000);
    }

    fn assert_conforms(buckets: &[TokenBucket], sent: &[Emission]) {
        for (at, first) in sent.iter().enumerate() {
            let mut sum = 0;
            for last in &sent[at..] {
                sum += u128::from(last.ubits);
                let time = u128::from(last.at_fs - first.at_fs);
                for bucket in buckets {
                    let earned = time * u128::from(bucket.rate.as_ubps());
                    let depth = u128::from(bucket.burst.as_ubits()) * FS_PER_SECOND;
                    assert!(sum * FS_PER_SECOND <= depth + earned);
                }
            }
        }
    }

    fn bucket(rate_bps: u64, burst_bits: u64) -> TokenBucket {
        TokenBucket {
            rate: Rate::of_bps(rate_bps).unwrap(),
            burst: Data::of_bits(burst_bits).unwrap(),
        }
    }
}
