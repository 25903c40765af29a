//! Curves of several straight pieces, in fine units.
//!
//! Arrivals are bounded by a [`Concave`] curve, the minimum of token buckets;
//! service by a [`Convex`] curve, the maximum of rate-latency curves. What
//! follows from a pair of them comes from two numbers for each rate `x`, the
//! [excess](Concave::excess_over) of the arrivals over it and the
//! [lag](Convex::lag_behind) of the service behind it:
//!
//! ```text
//! excess(x) = sup a(t) - x·t         lag(x) = sup x·t - S(t)
//!
//! delay    h(a, S)    = min over x of (excess(x) + lag(x)) / x
//! backlog  v(a, S)    = min over x of  excess(x) + lag(x)
//! output   (a / S)(t) = min over x of  excess(x) + lag(x) + x·t
//! ```
//!
//! Each `x` gives an upper bound, whatever it is: `a(t) <= excess + x·t` and
//! `S(t) >= x·t - lag`. So what is rounded up stays one. Among the rates of the
//! pieces is one for which it is the least (Legendre duality of concave and
//! convex functions; NC chapters 1 and 3 have the deviations themselves).
//!
//! Curves are bounds for intervals longer than zero: `a(0)` is the burst, while
//! in an interval without length nothing arrives. Nothing too large for its type
//! is computed with: such a bound is `None`, such a piece of service is left out.

mod concave;
mod convex;
mod left_over;

pub use concave::{Concave, CurveSum, TokenBucket};
pub use convex::{Convex, RateLatency};
pub use left_over::{Gated, fifo_left_over, left_over};
use units::fine::{Data, Rate, Time};

/// Femtoseconds in a second: what a product of a rate and a time is divided by.
const FS_PER_SECOND: u128 = 1_000_000_000_000_000;

/// Returns the longest delay of `arrivals`, served in their order by `service`,
/// rounded up, or `None` if it has no bound.
#[must_use]
pub fn delay(arrivals: &Concave, service: &Convex) -> Option<Time> {
    let at_service_rates = service.pieces().iter().filter_map(|piece| {
        let burst = arrivals.excess_over(piece.rate)?;
        piece.latency.checked_add(piece.rate.longest_for(burst)?)
    });
    // Up to the rate of its first piece the service has but that one.
    let slowest = service.pieces().first().map(|piece| piece.rate);
    let at_arrival_rates = arrivals.pieces().iter().filter_map(|piece| {
        let lag = service.lag_behind(piece.rate)?;
        let served = piece.burst.checked_add(lag)?;
        (Some(piece.rate) > slowest).then_some(())?;
        piece.rate.longest_for(served)
    });
    at_service_rates.chain(at_arrival_rates).min()
}

/// Returns the longest time for which `service` may be busy with `arrivals`
/// without a break, rounded up, or `None` if it has no bound: the first instant
/// at which as much has been served as may have arrived.
///
/// No order of service keeps anything back for longer.
#[must_use]
pub fn busy_period(arrivals: &Concave, service: &Convex) -> Option<Time> {
    let pairs = service
        .pieces()
        .iter()
        .flat_map(|served| arrivals.pieces().iter().map(move |came| (*came, *served)));
    pairs
        .filter_map(|(came, served)| catch_up(came, served))
        .min()
}

/// Returns the most data of `arrivals` that is in `service` at one time, rounded
/// up, or `None` if it has no bound.
#[must_use]
pub fn backlog(arrivals: &Concave, service: &Convex) -> Option<Data> {
    lines(arrivals, service).map(|line| line.burst).min()
}

/// Returns what bounds `arrivals` behind `service`, rounded up, or `None` if
/// nothing does.
#[must_use]
pub fn output(arrivals: &Concave, service: &Convex) -> Option<Concave> {
    Concave::minimum_of(lines(arrivals, service))
}

/// The lines above the output curve, one for each rate of a piece.
fn lines(arrivals: &Concave, service: &Convex) -> impl Iterator<Item = TokenBucket> {
    let came = arrivals.pieces().iter().map(|piece| piece.rate);
    let served = service.pieces().iter().map(|piece| piece.rate);
    came.chain(served).filter_map(|rate| {
        let burst = arrivals.excess_over(rate)?;
        let burst = burst.checked_add(service.lag_behind(rate)?)?;
        Some(TokenBucket { rate, burst })
    })
}

/// When a line of service meets a line of arrivals, rounded up.
fn catch_up(came: TokenBucket, served: RateLatency) -> Option<Time> {
    let ahead = FS_PER_SECOND * u128::from(came.burst.as_ubits());
    let behind = u128::from(served.rate.as_ubps()) * u128::from(served.latency.as_fs());
    let rate = served.rate.checked_sub(came.rate)?;
    let missing = ahead.checked_add(behind)?;
    if missing == 0 {
        return Some(Time::ZERO);
    }
    if rate == Rate::ZERO {
        return None;
    }
    let fs = missing.div_ceil(u128::from(rate.as_ubps()));
    u64::try_from(fs).ok().map(Time::from_fs)
}

/// The point at `share` of `whole` on the way from `from` up to `to`, rounded up.
///
/// `share` is no more than `whole`, which is more than zero.
fn between(from: Data, to: Data, share: Rate, whole: Rate) -> Data {
    let rise = u128::from(to.as_ubits() - from.as_ubits());
    let part = (rise * u128::from(share.as_ubps())).div_ceil(u128::from(whole.as_ubps()));
    let part = u64::try_from(part).expect("a part is no more than the whole");
    Data::from_ubits(from.as_ubits() + part)
}

#[cfg(test)]
mod tests;
