//! A bound on service: the maximum of rate-latency curves.

use units::fine::{Data, Rate, Time};

use super::between;

/// A service of `rate` that begins after at most `latency`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateLatency {
    /// The rate.
    pub rate: Rate,
    /// The latency.
    pub latency: Time,
}

/// The maximum of rate-latency curves; of none of them, no service at all.
///
/// Kept without those that never are the most, the slowest first: rates and
/// latencies rise from piece to piece.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Convex {
    pieces: Vec<RateLatency>,
    /// For each piece its rate times its latency, rounded up.
    debts: Vec<Data>,
}

impl Convex {
    /// Returns the maximum of `curves`. A curve whose latency costs more data
    /// than [`Data`] can hold is left out.
    #[must_use]
    pub fn maximum_of(curves: impl IntoIterator<Item = RateLatency>) -> Self {
        let mut curves: Vec<_> = curves.into_iter().collect();
        curves.retain(|curve| curve.rate > Rate::ZERO);
        curves.sort_unstable_by_key(|curve| (curve.rate, curve.latency));
        let mut service = Self::default();
        for curve in curves {
            if let Some(debt) = curve.rate.most_in(curve.latency) {
                service.push(curve, debt);
            }
        }
        service
    }

    /// Returns the curves whose maximum this is, the slowest first.
    #[must_use]
    pub fn pieces(&self) -> &[RateLatency] {
        &self.pieces
    }

    /// Returns the rate in the long run; zero if there is no service.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.pieces.last().map_or(Rate::ZERO, |piece| piece.rate)
    }

    /// Returns the longest time without any service, or `None` if there never
    /// is any.
    #[must_use]
    pub fn latency(&self) -> Option<Time> {
        self.pieces.first().map(|piece| piece.latency)
    }

    /// Returns the least that is served within `time`, rounded down; too much is
    /// cut to the most that there is.
    #[must_use]
    pub fn least_in(&self, time: Time) -> Data {
        let each = self.pieces.iter();
        each.filter_map(|piece| Some(piece.rate.least_in(time.checked_sub(piece.latency)?)))
            .max()
            .unwrap_or_default()
    }

    /// Returns the most by which service ever lags behind a steady `rate`,
    /// rounded up, or `None` if it has no bound.
    #[must_use]
    pub fn lag_behind(&self, rate: Rate) -> Option<Data> {
        if rate == Rate::ZERO {
            return Some(Data::ZERO);
        }
        let at = self.pieces.partition_point(|piece| piece.rate < rate);
        let fast = self.pieces.get(at)?;
        if at == 0 {
            return rate.most_in(fast.latency);
        }
        let slow = self.pieces[at - 1];
        let share = rate.checked_sub(slow.rate)?;
        let whole = fast.rate.checked_sub(slow.rate)?;
        Some(between(self.debts[at - 1], self.debts[at], share, whole))
    }

    /// Returns the maximum of both.
    #[must_use]
    pub fn maximum(&self, other: &Self) -> Self {
        Self::maximum_of(self.pieces.iter().chain(&other.pieces).copied())
    }

    /// Returns what two servers side by side do together, rounded down.
    #[must_use]
    pub fn sum(&self, other: &Self) -> Self {
        let alone = self.pieces.iter().chain(&other.pieces).copied();
        let together = self.lines().flat_map(|(rate, debt)| {
            let pairs = other.lines();
            pairs.filter_map(move |line| {
                through(rate.checked_add(line.0)?, debt.checked_add(line.1)?)
            })
        });
        Self::maximum_of(alone.chain(together))
    }

    /// Returns what two servers do, one behind the other, rounded down: their
    /// convolution, whose lag behind any rate is the sum of both lags.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        let rates = self.pieces.iter().chain(&next.pieces);
        Self::maximum_of(rates.filter_map(|piece| {
            let lag = self.lag_behind(piece.rate)?;
            through(piece.rate, lag.checked_add(next.lag_behind(piece.rate)?)?)
        }))
    }

    /// Returns the service as whole packets of at most `largest` see it: a
    /// packet counts when its last bit has been served.
    #[must_use]
    pub fn by_whole_packets(&self, largest: Data) -> Self {
        let each = self.lines();
        Self::maximum_of(each.filter_map(|(rate, debt)| through(rate, debt.checked_add(largest)?)))
    }

    fn lines(&self) -> impl Iterator<Item = (Rate, Data)> {
        let rates = self.pieces.iter().map(|piece| piece.rate);
        rates.zip(self.debts.iter().copied())
    }

    /// Puts a piece behind those that are no faster.
    fn push(&mut self, curve: RateLatency, debt: Data) {
        if self.rate() == curve.rate {
            return;
        }
        while let Some(last) = self.pieces.last() {
            let useless = curve.latency <= last.latency || self.hides_last(curve.rate, debt);
            if !useless {
                break;
            }
            self.pieces.pop();
            self.debts.pop();
        }
        self.pieces.push(curve);
        self.debts.push(debt);
    }

    /// Whether the last piece is nowhere above both its neighbours.
    fn hides_last(&self, rate: Rate, debt: Data) -> bool {
        let (&[.., before, last], &[.., before_debt, last_debt]) =
            (&self.pieces[..], &self.debts[..])
        else {
            return false;
        };
        let rise = |of: Data| u128::from(of.as_ubits() - before_debt.as_ubits());
        let run = |of: Rate| u128::from(of.as_ubps() - before.rate.as_ubps());
        if last_debt < before_debt || debt < before_debt {
            return false;
        }
        rise(debt) * run(last.rate) <= rise(last_debt) * run(rate)
    }
}

impl From<RateLatency> for Convex {
    fn from(curve: RateLatency) -> Self {
        Self::maximum_of([curve])
    }
}

/// The line of a rate that is behind by `debt`; the latency is rounded up.
fn through(rate: Rate, debt: Data) -> Option<RateLatency> {
    let latency = rate.longest_for(debt)?;
    Some(RateLatency { rate, latency })
}
