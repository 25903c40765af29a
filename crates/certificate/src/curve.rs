//! What can arrive, and how late and how much it can be at a server.
//!
//! Arrivals are a sum of *sides*, each the least of several lines
//! `burst + rate * t`: a concave curve. Service is a rate after a latency. With
//! `A` the one and `R`, `T` the other, NC section 1.4:
//!
//! ```text
//! delay    sup over t of  T + A(t) / R - t
//! backlog  sup over t of  A(t) - R * (t - T)  for t >= T
//! ```
//!
//! Both are reached at the beginning or where one line takes over from another.
//! Fractions are exact, so nothing is rounded.

use num_rational::BigRational;
use num_traits::Zero;

/// A number without rounding.
pub type Exact = BigRational;

/// `burst + rate * t`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The burst.
    pub burst: Exact,
    /// The rate.
    pub rate: Exact,
}

/// What comes from one side: no more than any of its lines, of which there is
/// one or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    lines: Vec<Line>,
}

/// What comes from all sides together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    sides: Vec<Side>,
}

/// A server that, once it has work, serves at `rate` after at most `latency`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
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
    pub fn least_of(lines: Vec<Line>) -> Self {
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
    fn line_after(&self, time: &Exact) -> &Line {
        let value = |line: &&Line| (&line.burst + &line.rate * time, line.rate.clone());
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
    pub fn tangents(&self) -> Vec<Line> {
        let tangents = self.turns().into_iter().map(|time| {
            let mut sum = Line {
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

    /// Returns how late anything can be at `service`, or nothing if there is no
    /// bound.
    #[must_use]
    pub fn delay_at(&self, service: &Service) -> Option<Exact> {
        if self.rate() > service.rate {
            return None;
        }
        let turns = self.turns().into_iter();
        let late = turns.map(|time| &service.latency + self.at(&time) / &service.rate - &time);
        late.max()
    }

    /// Returns how much can be at `service`, or nothing if there is no bound.
    #[must_use]
    pub fn backlog_at(&self, service: &Service) -> Option<Exact> {
        if self.rate() > service.rate {
            return None;
        }
        let turns = self.turns().into_iter();
        let later = turns.filter(|time| *time > service.latency);
        let times = later.chain([service.latency.clone()]);
        let there = times.map(|time| self.at(&time) - &service.rate * (&time - &service.latency));
        there.max()
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_bucket_at_a_rate_latency_server_has_the_textbook_bounds() {
        let arrivals = arrivals(&[&[(100, 4)]]);
        let server = service(10, 5);

        assert_eq!(arrivals.delay_at(&server), Some(whole(15)));
        assert_eq!(arrivals.backlog_at(&server), Some(whole(120)));
        assert_eq!(arrivals.delay_at(&service(3, 0)), None);
    }

    #[test]
    fn a_slow_line_counts_from_where_it_takes_over() {
        // No more than 20 + 20 t, and no more than 100 + 4 t: they cross at 5.
        let arrivals = arrivals(&[&[(100, 4), (20, 20)]]);

        // At 5, 120 have arrived and 50 have been served.
        assert_eq!(arrivals.delay_at(&service(10, 0)), Some(whole(7)));
        assert_eq!(arrivals.backlog_at(&service(10, 0)), Some(whole(70)));
    }

    proptest! {
        /// Sound: nothing that the lines allow is later, or more.
        #[test]
        fn no_moment_exceeds_the_bounds(
            sides in prop::collection::vec(prop::collection::vec((0i64..1_000, 1i64..50), 1..4), 1..4),
            (rate, latency) in (1i64..200, 0i64..50),
            moment in 0i64..2_000,
        ) {
            let sides: Vec<_> = sides.iter().map(Vec::as_slice).collect();
            let (arrivals, server) = (arrivals(&sides), service(rate, latency));
            let moment = Exact::new(moment.into(), 7.into());

            if let Some(delay) = arrivals.delay_at(&server) {
                let arrived = arrivals.at(&moment);
                prop_assert!(&server.latency + arrived / &server.rate - &moment <= delay);
            }
            if let Some(backlog) = arrivals.backlog_at(&server) {
                let served = ((&moment - &server.latency) * &server.rate).max(Exact::zero());
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
            let lines = side.iter().map(|(burst, rate)| Line {
                burst: whole(*burst),
                rate: whole(*rate),
            });
            arrivals.add(Side::least_of(lines.collect()));
        }
        arrivals
    }

    fn service(rate: i64, latency: i64) -> Service {
        Service {
            rate: whole(rate),
            latency: whole(latency),
        }
    }

    fn whole(number: i64) -> Exact {
        Exact::from_integer(number.into())
    }
}
