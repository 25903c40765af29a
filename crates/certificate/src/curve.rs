//! What can arrive, and how late and how much it can be at a server.
//!
//! Arrivals are a sum of *sides*, each the least of several lines
//! `burst + rate * t`: a concave curve. Service is the most of several rates, each after
//! a latency: a convex one. With `A` the one and the `R`, `T` the other, NC section 1.4:
//!
//! ```text
//! delay    sup over t of  the least T + A(t) / R, less t
//! backlog  sup over t of  A(t), less the most R * (t - T) or nothing
//! ```
//!
//! Both are reached at the beginning or where one line takes over from another, of the
//! arrivals or of the service. Fractions are exact, so nothing is rounded.

use num_rational::BigRational;
use num_traits::Zero;

/// A number without rounding.
pub type Exact = BigRational;

/// `burst + rate * t`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurveLine {
    /// The burst.
    pub burst: Exact,
    /// The rate.
    pub rate: Exact,
}

/// What comes from one side: no more than any of its lines, of which there is
/// one or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    lines: Vec<CurveLine>,
}

/// What comes from all sides together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    sides: Vec<Side>,
}

/// A server that, once it has work, serves at `rate` after at most `latency`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceCurve {
    /// The rate, above zero.
    pub rate: Exact,
    /// The latency.
    pub latency: Exact,
}

impl Side {
    /// Returns the least of `lines`.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[must_use]
    pub fn least_of(lines: Vec<CurveLine>) -> Self {
        assert!(!lines.is_empty(), "a side is bounded by something");
        Self { lines }
    }

    fn at(&self, time: &Exact) -> Exact {
        let values = self
            .lines
            .iter()
            .map(|line| &line.burst + &line.rate * time);
        values.min().expect("a side has a line")
    }

    /// Returns the line that counts from `time` on, for a while.
    fn line_after(&self, time: &Exact) -> &CurveLine {
        let value = |line: &&CurveLine| (&line.burst + &line.rate * time, line.rate.clone());
        let least = self.lines.iter().min_by_key(value);
        least.expect("a side has a line")
    }

    /// Returns when two of the lines cross.
    fn crossings(&self) -> impl Iterator<Item = Exact> {
        let pairs = self.lines.iter().enumerate();
        let pairs =
            pairs.flat_map(|(at, one)| self.lines[at + 1..].iter().map(move |other| (one, other)));
        pairs.filter_map(|(one, other)| {
            let slower = &one.rate - &other.rate;
            if slower.is_zero() {
                return None;
            }
            let time = (&other.burst - &one.burst) / slower;
            (time > Exact::zero()).then_some(time)
        })
    }
}

impl Arrivals {
    /// Adds what comes from one more side.
    pub fn add(&mut self, side: Side) {
        self.sides.push(side);
    }

    /// Returns whether nothing arrives at all.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.sides.is_empty()
    }

    /// Returns the most that arrives within `time`.
    #[must_use]
    pub fn at(&self, time: &Exact) -> Exact {
        self.sides.iter().map(|side| side.at(time)).sum()
    }

    /// Returns the rate in the long run.
    #[must_use]
    pub fn rate(&self) -> Exact {
        let slowest = |side: &Side| side.lines.iter().map(|line| line.rate.clone()).min();
        self.sides.iter().filter_map(slowest).sum()
    }

    /// Returns the lines that touch the curve and bound all of it.
    #[must_use]
    pub fn tangents(&self) -> Vec<CurveLine> {
        let tangents = self.turns().into_iter().map(|time| {
            let mut sum = CurveLine {
                burst: Exact::zero(),
                rate: Exact::zero(),
            };
            for side in &self.sides {
                let line = side.line_after(&time);
                sum.burst += &line.burst;
                sum.rate += &line.rate;
            }
            sum
        });
        tangents.collect()
    }

    /// Returns how late anything can be at a server that does all of `services`, or
    /// nothing if there is no bound.
    #[must_use]
    pub fn delay_at(&self, services: &[ServiceCurve]) -> Option<Exact> {
        self.is_served_by(services).then_some(())?;
        let tangents = self.tangents();
        let taken_over = crossings(services).into_iter().filter_map(|(_, amount)| {
            // When so much has arrived, unless that is at once or never.
            let later = tangents.iter().filter(|line| line.burst < amount);
            let times = later.map(|line| match line.rate.is_zero() {
                true => None,
                false => Some((&amount - &line.burst) / &line.rate),
            });
            times.collect::<Option<Vec<_>>>()?.into_iter().max()
        });
        let late = self
            .turns()
            .into_iter()
            .chain(taken_over)
            .filter_map(|time| {
                let arrived = self.at(&time);
                let done = services.iter();
                let done = done.map(|service| &service.latency + &arrived / &service.rate);
                Some(done.min()? - time)
            });
        late.max()
    }

    /// Returns how much can be at a server that does all of `services`, or nothing if
    /// there is no bound.
    #[must_use]
    pub fn backlog_at(&self, services: &[ServiceCurve]) -> Option<Exact> {
        self.is_served_by(services).then_some(())?;
        let begins = services.iter().map(|service| service.latency.clone());
        let taken_over = crossings(services).into_iter().map(|(time, _)| time);
        let times = self.turns().into_iter().chain(begins).chain(taken_over);
        let there = times.map(|time| {
            let served = services.iter();
            let served = served.map(|service| (&time - &service.latency) * &service.rate);
            self.at(&time) - served.fold(Exact::zero(), Exact::max)
        });
        there.max()
    }

    /// Returns whether no more arrives in the long run than is served.
    fn is_served_by(&self, services: &[ServiceCurve]) -> bool {
        let rate = self.rate();
        services.iter().any(|service| rate <= service.rate)
    }

    /// Returns the beginning and every time at which a line may take over.
    fn turns(&self) -> Vec<Exact> {
        let crossings = self.sides.iter().flat_map(Side::crossings);
        let mut turns: Vec<_> = crossings.chain([Exact::zero()]).collect();
        turns.sort();
        turns.dedup();
        turns
    }
}

/// Returns when one service takes over from another, and what is done by then.
fn crossings(services: &[ServiceCurve]) -> Vec<(Exact, Exact)> {
    let pairs = services.iter().enumerate();
    let pairs =
        pairs.flat_map(|(at, one)| services[at + 1..].iter().map(move |other| (one, other)));
    let crossing = |(one, other): (&ServiceCurve, &ServiceCurve)| {
        let faster = &other.rate - &one.rate;
        if faster.is_zero() {
            return None;
        }
        let owed = &other.rate * &other.latency - &one.rate * &one.latency;
        let time = owed / faster;
        let done = &one.rate * (&time - &one.latency);
        (done > Exact::zero()).then_some((time, done))
    };
    pairs.filter_map(crossing).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_bucket_at_a_rate_latency_server_has_the_textbook_bounds() {
        let arrivals = arrivals(&[&[(100, 4)]]);
        let server = [service(10, 5)];

        assert_eq!(arrivals.delay_at(&server), Some(whole(15)));
        assert_eq!(arrivals.backlog_at(&server), Some(whole(120)));
        assert_eq!(arrivals.delay_at(&[service(3, 0)]), None);
    }

    #[test]
    fn a_slow_line_counts_from_where_it_takes_over() {
        // No more than 20 + 20 t, and no more than 100 + 4 t: they cross at 5.
        let arrivals = arrivals(&[&[(100, 4), (20, 20)]]);

        // At 5, 120 have arrived and 50 have been served.
        assert_eq!(arrivals.delay_at(&[service(10, 0)]), Some(whole(7)));
        assert_eq!(arrivals.backlog_at(&[service(10, 0)]), Some(whole(70)));
    }

    /// 2 a second from the beginning and 6 from 2 s on: by 3 s either has done 6.
    #[test]
    fn what_is_served_later_and_faster_takes_over() {
        let arrivals = arrivals(&[&[(3, 4), (1, 9)]]);
        let services = [service(2, 0), service(6, 2)];

        // 6 have come by 0.75 s, and leave at 3 s.
        let late = Exact::new(9.into(), 4.into());
        assert_eq!(arrivals.delay_at(&services), Some(late));
        // By then 15 have come.
        assert_eq!(arrivals.backlog_at(&services), Some(whole(9)));
    }

    proptest! {
        /// Sound: nothing that the lines allow is later, or more.
        #[test]
        fn no_moment_exceeds_the_bounds(
            sides in prop::collection::vec(prop::collection::vec((0i64..1_000, 1i64..50), 1..4), 1..4),
            services in prop::collection::vec((1i64..200, 0i64..50), 1..4),
            moment in 0i64..2_000,
        ) {
            let sides: Vec<_> = sides.iter().map(Vec::as_slice).collect();
            let services = services.into_iter().map(|(rate, latency)| service(rate, latency));
            let (arrivals, services) = (arrivals(&sides), services.collect::<Vec<_>>());
            let moment = Exact::new(moment.into(), 7.into());

            if let Some(delay) = arrivals.delay_at(&services) {
                let arrived = arrivals.at(&moment);
                let done = services.iter().map(|it| &it.latency + &arrived / &it.rate);
                prop_assert!(done.min().unwrap() - &moment <= delay);
            }
            if let Some(backlog) = arrivals.backlog_at(&services) {
                let served = services.iter().map(|it| (&moment - &it.latency) * &it.rate);
                let served = served.fold(Exact::zero(), Exact::max);
                prop_assert!(arrivals.at(&moment) - served <= backlog);
            }
        }

        /// Sound and tight: tangents are above the curve and touch it.
        #[test]
        fn tangents_touch_the_curve(
            sides in prop::collection::vec(prop::collection::vec((0i64..1_000, 1i64..50), 1..4), 1..4),
            moment in 0i64..2_000,
        ) {
            let sides: Vec<_> = sides.iter().map(Vec::as_slice).collect();
            let arrivals = arrivals(&sides);
            let moment = Exact::new(moment.into(), 7.into());

            let tangents = arrivals.tangents();
            let least = tangents.iter().map(|line| &line.burst + &line.rate * &moment).min();

            prop_assert_eq!(least, Some(arrivals.at(&moment)));
        }
    }

    fn arrivals(sides: &[&[(i64, i64)]]) -> Arrivals {
        let mut arrivals = Arrivals::default();
        for side in sides {
            let lines = side.iter().map(|(burst, rate)| CurveLine {
                burst: whole(*burst),
                rate: whole(*rate),
            });
            arrivals.add(Side::least_of(lines.collect()));
        }
        arrivals
    }

    fn service(rate: i64, latency: i64) -> ServiceCurve {
        ServiceCurve {
            rate: whole(rate),
            latency: whole(latency),
        }
    }

    fn whole(number: i64) -> Exact {
        Exact::from_integer(number.into())
    }
}
