//! A bound on arrivals: the minimum of token buckets.

use std::cmp::{Ordering, Reverse};

use units::fine::{Data, Rate, Time};

use super::between;

/// In any interval of length `t`, at most `burst + rate * t` arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenBucket {
    /// The rate.
    pub rate: Rate,
    /// The burst.
    pub burst: Data,
}

impl TokenBucket {
    /// Returns what bounds two such flows together, or `None` if it is too large.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        Some(Self {
            rate: self.rate.checked_add(other.rate)?,
            burst: self.burst.checked_add(other.burst)?,
        })
    }
}

/// The minimum of token buckets.
///
/// Kept without those that never are the least, the fastest first: rates fall
/// and bursts rise from piece to piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concave {
    pieces: Vec<TokenBucket>,
}

impl Concave {
    /// Returns a curve that allows nothing at all.
    #[must_use]
    pub fn nothing() -> Self {
        Self::from(TokenBucket::default())
    }

    /// Returns the minimum of `buckets`, or `None` if there is none of them, as
    /// then nothing bounds the arrivals.
    #[must_use]
    pub fn minimum_of(buckets: impl IntoIterator<Item = TokenBucket>) -> Option<Self> {
        let mut buckets: Vec<_> = buckets.into_iter().collect();
        buckets.sort_unstable_by_key(|bucket| (Reverse(bucket.rate), bucket.burst));
        let mut pieces: Vec<TokenBucket> = Vec::with_capacity(buckets.len());
        for bucket in buckets {
            if pieces.last().is_some_and(|last| last.rate == bucket.rate) {
                continue;
            }
            while pieces.last().is_some_and(|last| bucket.burst <= last.burst) {
                pieces.pop();
            }
            while let [.., before, last] = pieces[..] {
                if meeting(before, bucket, before, last) == Ordering::Greater {
                    break;
                }
                pieces.pop();
            }
            pieces.push(bucket);
        }
        (!pieces.is_empty()).then_some(Self { pieces })
    }

    /// Returns the buckets whose minimum this is, the fastest first. There is
    /// one or more.
    #[must_use]
    pub fn pieces(&self) -> &[TokenBucket] {
        &self.pieces
    }

    /// Returns the rate in the long run.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.pieces[self.pieces.len() - 1].rate
    }

    /// Returns the most that arrives at once.
    #[must_use]
    pub fn burst(&self) -> Data {
        self.pieces[0].burst
    }

    /// Returns the most that arrives within `time`, rounded up, or `None` if it
    /// is too much.
    #[must_use]
    pub fn most_in(&self, time: Time) -> Option<Data> {
        let each = self.pieces.iter();
        each.filter_map(|piece| piece.burst.checked_add(piece.rate.most_in(time)?))
            .min()
    }

    /// Returns what bounds two such flows together, exactly, or `None` if it is
    /// too large.
    #[must_use]
    pub fn checked_add(&self, other: &Self) -> Option<Self> {
        let mut sum = CurveSum::default();
        sum.add(self)?;
        sum.add(other)?;
        sum.curve()
    }

    /// Returns the minimum of both. It is their convolution too, as both allow
    /// nothing in no time.
    #[must_use]
    pub fn minimum(&self, other: &Self) -> Self {
        let both = self.pieces.iter().chain(&other.pieces).copied();
        Self::minimum_of(both).expect("each has a piece")
    }

    /// Returns what bounds the flow behind something that delays it by up to
    /// `spread`, rounded up, or `None` if that is too large: what comes within
    /// `t` there came within `t + spread` here.
    #[must_use]
    pub fn spread_by(&self, spread: Time) -> Option<Self> {
        Self::minimum_of(self.pieces.iter().filter_map(|piece| {
            let burst = piece.burst.checked_add(piece.rate.most_in(spread)?)?;
            Some(TokenBucket { burst, ..*piece })
        }))
    }

    /// Returns the flow as whole packets of at most `largest` make it: a packet
    /// counts when its last bit has come. `None` if that is too large.
    #[must_use]
    pub fn by_whole_packets(&self, largest: Data) -> Option<Self> {
        let each = self.pieces.iter();
        let pieces = each.map(|piece| {
            let burst = piece.burst.checked_add(largest)?;
            Some(TokenBucket { burst, ..*piece })
        });
        let pieces = pieces.collect::<Option<Vec<_>>>()?;
        Some(Self { pieces })
    }

    /// Returns the most by which arrivals ever exceed a steady `rate`, rounded
    /// up, or `None` if it has no bound.
    #[must_use]
    pub fn excess_over(&self, rate: Rate) -> Option<Data> {
        let at = self.pieces.partition_point(|piece| piece.rate > rate);
        let slow = self.pieces.get(at)?;
        if at == 0 || slow.rate == rate {
            return Some(slow.burst);
        }
        let fast = self.pieces[at - 1];
        let share = fast.rate.checked_sub(rate)?;
        let whole = fast.rate.checked_sub(slow.rate)?;
        Some(between(fast.burst, slow.burst, share, whole))
    }
}

/// A sum of curves while it is made.
///
/// The slope of a sum falls where that of a part does: all these places in their
/// order are the sum, whatever the number of parts.
#[derive(Clone, Debug, Default)]
pub struct CurveSum {
    first: TokenBucket,
    falls: Vec<Fall>,
}

/// Where a slope falls: at `rise / fall`.
#[derive(Clone, Copy, Debug)]
struct Fall {
    /// By how much the burst rises there.
    rise: u64,
    /// By how much the rate falls.
    fall: u64,
}

impl Fall {
    fn between(fast: TokenBucket, slow: TokenBucket) -> Self {
        Self {
            rise: slow.burst.as_ubits() - fast.burst.as_ubits(),
            fall: fast.rate.as_ubps() - slow.rate.as_ubps(),
        }
    }

    fn earlier(&self, other: &Self) -> Ordering {
        let product = |one: u64, other: u64| u128::from(one) * u128::from(other);
        product(self.rise, other.fall).cmp(&product(other.rise, self.fall))
    }
}

impl CurveSum {
    /// Goes back to nothing, and keeps the room.
    pub fn clear(&mut self) {
        self.first = TokenBucket::default();
        self.falls.clear();
    }

    /// Adds a curve; nothing comes back if the sum is too large.
    #[must_use]
    pub fn add(&mut self, part: &Concave) -> Option<()> {
        let pairs = part.pieces.windows(2);
        self.falls
            .extend(pairs.map(|pair| Fall::between(pair[0], pair[1])));
        self.add_first(part.pieces[0])
    }

    /// Adds a bucket; nothing comes back if the sum is too large.
    #[must_use]
    pub fn add_bucket(&mut self, bucket: TokenBucket) -> Option<()> {
        self.add_first(bucket)
    }

    /// Adds the minimum of two buckets; nothing comes back if the sum is too large.
    #[must_use]
    pub fn add_minimum(&mut self, one: TokenBucket, other: TokenBucket) -> Option<()> {
        let (first, then) = match (one.burst, one.rate) < (other.burst, other.rate) {
            true => (one, other),
            false => (other, one),
        };
        if then.rate < first.rate {
            self.falls.push(Fall::between(first, then));
        }
        self.add_first(first)
    }

    /// Returns the sum, exactly, or `None` if it is too large.
    #[must_use]
    pub fn curve(&mut self) -> Option<Concave> {
        self.falls.sort_unstable_by(Fall::earlier);
        let mut pieces = vec![self.first];
        for together in self.falls.chunk_by(|one, other| one.earlier(other).is_eq()) {
            let mut piece = pieces[pieces.len() - 1];
            for fall in together {
                piece.burst = piece.burst.checked_add(Data::from_ubits(fall.rise))?;
                piece.rate = piece.rate.checked_sub(Rate::from_ubps(fall.fall))?;
            }
            pieces.push(piece);
        }
        Some(Concave { pieces })
    }

    /// Returns the most by which the sum ever exceeds a steady `rate`, as
    /// [`Concave::excess_over`]: where the slope falls to the rate, the distance is
    /// the largest.
    #[must_use]
    pub fn excess_over(&mut self, rate: Rate) -> Option<Data> {
        let (mut slope, mut burst) = (self.first.rate, self.first.burst);
        if slope <= rate {
            return Some(burst);
        }
        self.falls.sort_unstable_by(Fall::earlier);
        let mut falls = self.falls.iter();
        while let Some(over) = slope.checked_sub(rate).filter(|over| *over > Rate::ZERO) {
            let fall = falls.next()?;
            let whole = Rate::from_ubps(fall.fall);
            let rise = Data::from_ubits(fall.rise);
            let part = match over < whole {
                true => between(Data::ZERO, rise, over, whole),
                false => rise,
            };
            burst = burst.checked_add(part)?;
            slope = slope.checked_sub(whole).unwrap_or_default();
        }
        Some(burst)
    }

    fn add_first(&mut self, first: TokenBucket) -> Option<()> {
        self.first = self.first.checked_add(first)?;
        Some(())
    }
}

impl From<TokenBucket> for Concave {
    fn from(bucket: TokenBucket) -> Self {
        Self {
            pieces: vec![bucket],
        }
    }
}

/// Which of two pairs meets first. In each pair the first has the higher rate
/// and the smaller burst.
fn meeting(
    fast: TokenBucket,
    slow: TokenBucket,
    quick: TokenBucket,
    lazy: TokenBucket,
) -> Ordering {
    let (rise, fall) = differences(fast, slow);
    let (other_rise, other_fall) = differences(quick, lazy);
    (rise * other_fall).cmp(&(other_rise * fall))
}

fn differences(fast: TokenBucket, slow: TokenBucket) -> (u128, u128) {
    let rise = slow.burst.as_ubits() - fast.burst.as_ubits();
    let fall = fast.rate.as_ubps() - slow.rate.as_ubps();
    (u128::from(rise), u128::from(fall))
}
