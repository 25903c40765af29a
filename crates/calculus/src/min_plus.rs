//! What follows from a bound on arrivals and a bound on service.
//!
//! Arrivals are bounded by a [`TokenBucket`], service by a [`RateLatency`]
//! curve, both functions of the length of an interval. Three things follow, NC
//! section 1.4:
//!
//! ```text
//! delay    h(a, S) = T + b / R        if r <= R, else unbounded
//! backlog  v(a, S) = b + r * T        if r <= R, else unbounded
//! output   a / S   = (r, b + r * T)   if r <= R, else unbounded
//! ```
//!
//! Curves of several pieces, in finer units, are in [`piecewise`].
//!
//! A delay longer than a [`Delay`] can hold, 213 days, is called unbounded too.

pub mod piecewise;
mod rate_latency;
mod token_bucket;

pub use rate_latency::RateLatency;
pub use token_bucket::TokenBucket;
use units::{DataSize, Delay};

/// Returns the largest delay of `flow` at `service`, rounded up, or `None` if it
/// has no bound.
#[must_use]
pub fn delay_bound(flow: TokenBucket, service: RateLatency) -> Option<Delay> {
    if !keeps_up(flow, service) {
        return None;
    }
    let burst = service.rate.checked_time_to_send(flow.burst())?;
    service.latency.checked_add(burst)
}

/// Returns the most data of `flow` that is in `service` at one time, rounded up,
/// or `None` if it has no bound.
#[must_use]
pub fn backlog_bound(flow: TokenBucket, service: RateLatency) -> Option<DataSize> {
    keeps_up(flow, service).then(|| flow.most_in(service.latency))
}

/// Returns what bounds `flow` when it leaves `service`, or `None` if nothing
/// does.
#[must_use]
pub fn output(flow: TokenBucket, service: RateLatency) -> Option<TokenBucket> {
    keeps_up(flow, service).then(|| flow.spread_by(service.latency))
}

/// Returns the service of two servers, one behind the other, seen as one.
#[must_use]
pub fn concatenate(first: RateLatency, second: RateLatency) -> RateLatency {
    RateLatency {
        rate: first.rate.min(second.rate),
        latency: first.latency + second.latency,
    }
}

fn keeps_up(flow: TokenBucket, service: RateLatency) -> bool {
    flow.rate_bps() <= service.rate.as_bps()
}

#[cfg(test)]
mod tests;
