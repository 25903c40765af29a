//! Bounds for arrivals of which several things are known at once.
//!
//! What one *source* brings in time `t` is no more than each of some lines
//! `b + r * t` allows: the sum of the contracts of its flows, the sum of their
//! peaks, and what the link carries over which all of them come (`S4-5`, line
//! shaping). Sources add up:
//!
//! ```text
//! A(t)     = sum over sources of the least of their lines
//! delay    = sup { T + c(A(t)) - t }                  c(x): the time that x takes
//! backlog  = sup { A(t) - what is served by t - H }   H: the longest until work is handed on
//! ```
//!
//! `A` is concave, so both are largest where a line takes over from another, or at
//! the beginning. Times are rounded so that each value is no smaller than in
//! exact arithmetic.
//!
//! The unit of an amount is up to the caller: bits at a link, millionths of a
//! frame at a processor.

/// A token bucket in any unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// Units a second.
    pub(crate) rate: u64,
    /// Units at once.
    pub(crate) burst: u64,
}

/// What comes from one side: no more than any of its lines allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) lines: [Line; 3],
}

/// A server that takes `ps` picoseconds for `units`, and none of them if `ps` is
/// zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(crate) ps: u64,
    pub(crate) units: u64,
}

/// When a line takes over from another, between two whole picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bend {
    earliest: u128,
    latest: u128,
}

const PS_PER_SECOND: u128 = 1_000_000_000_000;

impl Line {
    /// Returns the most by `ps`, rounded up.
    fn by(self, ps: u128) -> u128 {
        u128::from(self.burst) + (u128::from(self.rate) * ps).div_ceil(PS_PER_SECOND)
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            rate: self.rate.saturating_add(other.rate),
            burst: self.burst.saturating_add(other.burst),
        }
    }

    /// Returns when this line, which begins lower, meets a flatter one.
    fn meets(self, flatter: Self) -> Option<Bend> {
        let ahead = u128::from(flatter.burst.checked_sub(self.burst)?) * PS_PER_SECOND;
        let faster = u128::from(self.rate.checked_sub(flatter.rate)?);
        let earliest = ahead.checked_div(faster)?;
        Some(Bend {
            earliest,
            latest: ahead.div_ceil(faster),
        })
    }
}

impl Source {
    /// Returns a source of which only a sum is known.
    pub(crate) const fn of(line: Line) -> Self {
        Self { lines: [line; 3] }
    }

    fn by(&self, ps: u128) -> u128 {
        let most = self.lines.iter().map(|line| line.by(ps));
        most.min().unwrap_or_default()
    }

    /// Returns the line that is the least just after `ps`.
    fn line_at(&self, ps: u128) -> Line {
        let least = self
            .lines
            .iter()
            .min_by_key(|line| (line.by(ps), line.rate));
        *least.expect("a source has lines")
    }

    /// Returns whether it is more than a token bucket.
    pub(crate) fn bends(&self) -> bool {
        self.lines.iter().any(|line| *line != self.lines[0])
    }

    fn bend_times(&self) -> impl Iterator<Item = Bend> + '_ {
        self.lines.iter().flat_map(|one| {
            let others = self.lines.iter();
            others.filter_map(|other| one.meets(*other))
        })
    }
}

/// Returns all times at which the sum of `sources` may bend, and the beginning.
fn bends(sources: &[Source]) -> Vec<Bend> {
    let beginning = Bend {
        earliest: 0,
        latest: 0,
    };
    let later = sources.iter().flat_map(Source::bend_times);
    let mut times: Vec<Bend> = std::iter::once(beginning).chain(later).collect();
    times.sort_unstable();
    times.dedup();
    times
}

/// Returns the sum of the lines in force just after each bend: each is a token
/// bucket that holds for all arrivals.
pub(crate) fn tangents(sources: &[Source]) -> Vec<Line> {
    let at = |bend: Bend| {
        let lines = sources.iter().map(|source| source.line_at(bend.latest));
        lines.fold(Line::default(), Line::and)
    };
    let mut tangents: Vec<Line> = bends(sources).into_iter().map(at).collect();
    tangents.dedup();
    tangents
}

/// Returns the longest from the arrival of a unit to its departure, in
/// picoseconds, of a server that begins after `latency_ps`; nothing if there is
/// no bound.
pub(crate) fn delay_bound(sources: &[Source], latency_ps: u64, pace: Pace) -> Option<u64> {
    keeps_up(sources, pace).then_some(())?;
    let waits = bends(sources).into_iter().map(|bend| {
        let work = by(sources, bend.latest) * u128::from(pace.ps);
        work.div_ceil(u128::from(pace.units))
            .saturating_sub(bend.earliest)
    });
    let longest = waits.max()? + u128::from(latency_ps);
    u64::try_from(longest).ok()
}

/// Returns the most that is there at a time, if nothing is handed on in the first
/// `held_ps`; nothing if there is no bound.
pub(crate) fn backlog_bound(sources: &[Source], held_ps: u64, pace: Pace) -> Option<u64> {
    keeps_up(sources, pace).then_some(())?;
    let held = u128::from(held_ps);
    let later = bends(sources).into_iter();
    let most = later
        .filter(|bend| bend.latest > held)
        .map(|bend| {
            let served = u128::from(pace.units) * bend.earliest.saturating_sub(held);
            let served = served.checked_div(u128::from(pace.ps));
            by(sources, bend.latest).saturating_sub(served.unwrap_or(u128::MAX))
        })
        .fold(by(sources, held), u128::max);
    u64::try_from(most).ok()
}

/// Returns the most that arrives within `ps`, rounded up.
pub(crate) fn most_in(sources: &[Source], ps: u64) -> u128 {
    by(sources, u128::from(ps))
}

fn by(sources: &[Source], ps: u128) -> u128 {
    sources.iter().map(|source| source.by(ps)).sum()
}

/// Returns whether no more arrives for ever than is served.
fn keeps_up(sources: &[Source], pace: Pace) -> bool {
    let flattest = |source: &Source| source.lines.iter().map(|line| line.rate).min();
    let rates = sources.iter().filter_map(flattest).map(u128::from);
    rates.sum::<u128>() * u128::from(pace.ps) <= u128::from(pace.units) * PS_PER_SECOND
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whole ones are counted in millionths, and each takes a microsecond.
    const WHOLE: u64 = 1_000_000;
    const PACE: Pace = Pace {
        ps: 1_000_000,
        units: WHOLE,
    };
    /// A unit too much for each source, in picoseconds.
    const ROUNDING: u64 = 4;

    #[test]
    fn a_burst_over_a_link_as_fast_as_the_server_does_not_wait() {
        let sum = line(100_000, 50);
        let link = line(1_000_000, 1);

        let shaped = delay_bound(
            &[Source {
                lines: [sum, sum, link],
            }],
            0,
            PACE,
        );

        assert_eq!(delay_bound(&[Source::of(sum)], 0, PACE), Some(50_000_000));
        assert!(shaped.unwrap() <= 1_000_000 + ROUNDING, "{shaped:?}");
    }

    #[test]
    fn two_links_together_queue_until_the_bursts_are_over() {
        let sum = line(0, 50);
        let link = line(1_000_000, 0);
        let source = Source {
            lines: [sum, sum, link],
        };

        // 100 units within 50 us take 100 us.
        let delay = delay_bound(&[source; 2], 0, PACE).unwrap();

        assert!(
            (50_000_000..=50_000_000 + ROUNDING).contains(&delay),
            "{delay}"
        );
    }

    #[test]
    fn more_than_is_served_has_no_bound() {
        let mut source = Source::of(line(1_000_000, 1));
        source.lines.iter_mut().for_each(|line| line.rate += 1);

        assert_eq!(delay_bound(&[source], 0, PACE), None);
        assert_eq!(backlog_bound(&[source], 0, PACE), None);
    }

    proptest! {
        /// Sound: at no time does more wait, or for longer, than the bounds say.
        #[test]
        fn no_time_is_worse_than_the_bounds(
            sources in prop::collection::vec(source(), 1..4),
            held_ps in 0u64..100_000_000,
            ps in 0u64..400_000_000,
        ) {
            let (ps, held) = (u128::from(ps), u128::from(held_ps));
            let Some(delay) = delay_bound(&sources, held_ps, PACE) else { return Ok(()) };
            let backlog = backlog_bound(&sources, held_ps, PACE).unwrap();

            // Rounded down: what is surely there.
            let there: u128 = sources
                .iter()
                .map(|source| {
                    let lines = source.lines.iter();
                    let most = lines.map(|l| u128::from(l.burst) + u128::from(l.rate) * ps / PS_PER_SECOND);
                    most.min().unwrap()
                })
                .sum();
            let served = ps.saturating_sub(held);
            prop_assert!(there.saturating_sub(served) <= u128::from(backlog));
            let leaves = held + there;
            prop_assert!(leaves <= u128::from(delay) + ps);
        }

        /// Tight: more knowledge never makes a bound larger, and none is the bound
        /// of a token bucket but for rounding.
        #[test]
        fn a_further_line_only_helps(sources in prop::collection::vec(source(), 1..4)) {
            let sums: Vec<_> = sources.iter().map(|source| Source::of(source.lines[0])).collect();
            let Some(of_sums) = delay_bound(&sums, 0, PACE) else { return Ok(()) };

            let shaped = delay_bound(&sources, 0, PACE).unwrap();

            let burst: u64 = sums.iter().map(|source| source.lines[0].burst).sum();
            prop_assert_eq!(of_sums, burst);
            prop_assert!(shaped <= of_sums + ROUNDING);
        }
    }

    prop_compose! {
        fn source()(
            (rate, burst) in (0u64..400_000, 0u64..60),
            (peak, peak_burst) in (0u64..3_000_000, 0u64..30),
            (link, frame) in (0u64..3_000_000, 0u64..10),
        ) -> Source {
            Source { lines: [line(rate, burst), line(peak, peak_burst), line(link, frame)] }
        }
    }

    /// Whole ones a second, and whole ones at once.
    fn line(rate: u64, burst: u64) -> Line {
        Line {
            rate: rate * WHOLE,
            burst: burst * WHOLE,
        }
    }
}
