//! What other flows leave of a service.

use units::fine::{Data, Rate, Time};

use super::{Concave, Convex, FS_PER_SECOND, RateLatency, catch_up};

/// A service of nothing until an instant, then of an amount at once, then of a
/// curve that begins there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gated {
    /// Nothing is served until then.
    pub opens: Time,
    /// What is served right then.
    pub at_once: Data,
    /// What is served beyond, counted from then.
    pub curve: Convex,
}

/// Returns what `others` leave of `service` in whatever order it serves,
/// rounded down.
///
/// `others` may be the flows of higher priority and, for a packet that has
/// begun, the largest packet of lower ones.
#[must_use]
pub fn left_over(service: &Convex, others: &Concave) -> Convex {
    let served = service.pieces().iter();
    let pairs = served.flat_map(|served| others.pieces().iter().map(move |came| (*served, *came)));
    Convex::maximum_of(pairs.filter_map(|(served, came)| {
        let rate = served.rate.checked_sub(came.rate)?;
        let latency = catch_up(came, served)?;
        Some(RateLatency { rate, latency })
    }))
}

/// Returns what `others` leave of `service` that serves in the order of arrival,
/// rounded down. It is a service for each `theta`, NC chapter 6:
///
/// ```text
/// S(t) - others(t - theta)    for t > theta, where positive
/// ```
///
/// It counts pieces of service that are no slower than the pieces of the others
/// that they serve: where the difference falls at first, it is taken for less.
#[must_use]
pub fn fifo_left_over(service: &Convex, others: &Concave, theta: Time) -> Gated {
    let served = service.pieces().iter();
    let pairs = served.flat_map(|served| others.pieces().iter().map(move |came| (*served, *came)));
    let lines: Vec<(Rate, i128)> = pairs
        .filter_map(|(served, came)| {
            let rate = served.rate.checked_sub(came.rate)?;
            let ahead = headway(served, theta)? - i128::from(came.burst.as_ubits());
            Some((rate, ahead))
        })
        .collect();
    let at_once = lines.iter().map(|line| line.1).max().unwrap_or(0).max(0);
    let curve = lines.into_iter().filter_map(|(rate, ahead)| {
        let behind = u64::try_from(at_once - ahead).ok()?;
        let latency = rate.longest_for(Data::from_ubits(behind))?;
        Some(RateLatency { rate, latency })
    });
    Gated {
        opens: theta,
        curve: Convex::maximum_of(curve),
        at_once: Data::from_ubits(u64::try_from(at_once).unwrap_or(u64::MAX)),
    }
}

impl Gated {
    /// Returns the least that is served within `time`, rounded down; too much is
    /// cut to the most that there is.
    #[must_use]
    pub fn least_in(&self, time: Time) -> Data {
        match time.checked_sub(self.opens) {
            None | Some(Time::ZERO) => Data::ZERO,
            Some(since) => {
                let beyond = self.curve.least_in(since);
                let most = Data::from_ubits(u64::MAX);
                self.at_once.checked_add(beyond).unwrap_or(most)
            }
        }
    }
}

/// What a line of service has done by `theta`, less than nothing before its
/// latency is over; rounded down, in millionths of a bit.
fn headway(served: RateLatency, theta: Time) -> Option<i128> {
    let time = i128::from(theta.as_fs()) - i128::from(served.latency.as_fs());
    let product = i128::from(served.rate.as_ubps()).checked_mul(time)?;
    Some(product.div_euclid(i128::try_from(FS_PER_SECOND).ok()?))
}
