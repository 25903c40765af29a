//! Bounds for arrivals of which several things are known at once.
//!
//! What one *source* brings in time `t` is no more than each of some lines
//! `b + r * t` allows: the sum of the contracts of its flows, the sum of their
//! peaks, and what the link carries over which all of them come (`S4-5`, line
//! shaping). Sources add up. A server that is busy has done by `t` no less than
//! each of its own lines says: one for each line that bounds what it serves first.
//!
//! ```text
//! A(t)     = sum over sources of the least of their lines        concave
//! S(t)     = the most of (rate * t - owed) / per, or nothing     convex
//! delay    = sup over t of  { the first u with S(u) >= A(t) } - t
//! backlog  = sup over t of  A(t) - S(t)
//! ```
//!
//! Both are concave in `t`, so they are largest at the beginning or where a line takes
//! over from another. There they are computed as fractions and rounded up once: a bound
//! never falls where a line rises, not by a picosecond. What is too large for that has no
//! bound.
//!
//! The unit of an amount is up to the caller: bits at a link, millionths of a
//! frame at a processor.

/// A token bucket in any unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CurveLine {
    /// Units a second.
    pub(crate) rate: u64,
    /// Units at once.
    pub(crate) burst: u64,
}

/// What comes from one side: no more than any of its lines allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArrivalSource {
    pub(crate) lines: [CurveLine; 3],
}

/// A server that takes `ps` picoseconds, more than none, for `units`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerPace {
    pub(crate) ps: u64,
    pub(crate) units: u64,
}

/// What a server has done at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeastService {
    /// Its time is counted in so many ticks a second.
    ticks: u128,
    per: u128,
    /// The steeper, the later.
    duties: Vec<Duty>,
}

/// `rate * t - owed`, of which `per` are a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Duty {
    rate: u128,
    owed: u128,
}

/// A time as a fraction, in seconds or in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    over: u128,
    under: u128,
}

const PS_PER_SECOND: u128 = 1_000_000_000_000;

impl CurveLine {
    /// Returns what this line is behind whatever holds some back for longer than the
    /// rest, by up to `ps`. Rounded up.
    pub(crate) fn spread_by(self, ps: u64) -> Self {
        let meanwhile = (u128::from(self.rate) * u128::from(ps)).div_ceil(PS_PER_SECOND);
        let burst = u128::from(self.burst) + meanwhile;
        Self {
            burst: u64::try_from(burst).unwrap_or(u64::MAX),
            ..self
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            rate: self.rate.saturating_add(other.rate),
            burst: self.burst.saturating_add(other.burst),
        }
    }

    /// Returns when this line, which begins lower, meets a flatter one.
    fn meets(self, flatter: Self) -> Option<Moment> {
        let ahead = flatter.burst.checked_sub(self.burst)?;
        let faster = self.rate.checked_sub(flatter.rate)?;
        (faster > 0).then(|| Moment {
            over: ahead.into(),
            under: faster.into(),
        })
    }

    /// Returns the most by `moment`, in parts as small as those of the moment.
    fn by(self, moment: Moment) -> Option<u128> {
        let burst = u128::from(self.burst).checked_mul(moment.under)?;
        burst.checked_add(u128::from(self.rate).checked_mul(moment.over)?)
    }
}

impl ArrivalSource {
    /// Returns a source of which only a sum is known.
    pub(crate) const fn of(line: CurveLine) -> Self {
        Self { lines: [line; 3] }
    }

    /// Returns the line that is the least just after `moment`, and what it allows.
    fn least_at(&self, moment: Moment) -> Option<(u128, CurveLine)> {
        let [first, others @ ..] = self.lines;
        let mut least = (first.by(moment)?, first);
        for line in others {
            let by = line.by(moment)?;
            if (by, line.rate) < (least.0, least.1.rate) {
                least = (by, line);
            }
        }
        Some(least)
    }

    /// Returns whether it is more than a token bucket.
    pub(crate) fn bends(&self) -> bool {
        self.lines.iter().any(|line| *line != self.lines[0])
    }

    fn moments(&self) -> impl Iterator<Item = Moment> + '_ {
        self.lines.iter().flat_map(|one| {
            let others = self.lines.iter();
            others.filter_map(|other| one.meets(*other))
        })
    }
}

impl LeastService {
    /// Returns a server that begins to work at its pace after no more than a latency.
    pub(crate) fn processor(latency_ps: u64, pace: ServerPace) -> Self {
        let (units, latency) = (u128::from(pace.units), u128::from(latency_ps));
        let duty = Duty {
            rate: units,
            owed: units * latency,
        };
        Self {
            ticks: PS_PER_SECOND,
            per: pace.ps.into(),
            duties: vec![duty],
        }
    }

    /// Returns what a link of `bps` does beside `more_urgent` and `blocking` bits in the
    /// way; nothing if there is no telling.
    pub(crate) fn link(bps: u64, more_urgent: &[ArrivalSource], blocking: u64) -> Option<Self> {
        let beside = |line: CurveLine| {
            let left = bps.checked_sub(line.rate).filter(|left| *left > 0)?;
            Some(Duty {
                rate: left.into(),
                owed: u128::from(line.burst) + u128::from(blocking),
            })
        };
        let duties: Vec<Duty> = tangents(more_urgent)?
            .into_iter()
            .filter_map(beside)
            .collect();
        (!duties.is_empty()).then_some(Self {
            ticks: 1,
            per: 1,
            duties,
        })
    }

    /// Returns the same, handing on what it has served when another `units` are served.
    pub(crate) fn by_whole(mut self, units: u64) -> Self {
        for duty in &mut self.duties {
            duty.owed += u128::from(units) * self.per;
        }
        self
    }

    /// Returns the longest from the arrival of a unit to its departure, in picoseconds;
    /// nothing if there is no bound.
    pub(crate) fn delay_bound(&self, sources: &[ArrivalSource]) -> Option<u64> {
        self.keeps_up(sources).then_some(())?;
        let mut longest = 0;
        for moment in moments(sources) {
            longest = longest.max(self.delay_at(moment, sources)?);
        }
        if self.duties.len() > 1 {
            let arrivals = tangents(sources)?;
            for corner in self.corners() {
                longest = longest.max(self.delay_until(corner?, &arrivals)?);
            }
        }
        u64::try_from(longest).ok()
    }

    /// Returns the most that is there at a time; nothing if there is no bound.
    pub(crate) fn backlog_bound(&self, sources: &[ArrivalSource]) -> Option<u64> {
        self.keeps_up(sources).then_some(())?;
        let begins = self.duties.iter().map(|duty| {
            Some(Moment {
                over: duty.owed,
                under: duty.rate.checked_mul(self.ticks)?,
            })
        });
        let corners = self.corners().map(|corner| {
            let (Moment { over, under }, _) = corner?;
            let under = under.checked_mul(self.ticks)?;
            Some(Moment { over, under })
        });
        let mut most = 0;
        for moment in moments(sources).map(Some).chain(begins).chain(corners) {
            most = most.max(self.backlog_at(moment?, sources)?);
        }
        u64::try_from(most).ok()
    }

    /// Returns how long what has come until a moment is there, in picoseconds.
    fn delay_at(&self, moment: Moment, sources: &[ArrivalSource]) -> Option<u128> {
        let arrived = by(sources, moment)?.checked_mul(self.per)?;
        let (since, fraction) = parts(moment.over.checked_mul(PS_PER_SECOND)?, moment.under)?;
        let mut first = u128::MAX;
        for duty in &self.duties {
            let work = arrived.checked_add(duty.owed.checked_mul(moment.under)?)?;
            let work = work.checked_mul(PS_PER_SECOND / self.ticks)?;
            let (until, later) = parts(work, moment.under.checked_mul(duty.rate)?)?;
            let begun = u128::from(later > fraction.checked_mul(duty.rate)?);
            first = first.min((until + begun).saturating_sub(since));
        }
        Some(first)
    }

    /// Returns how long what leaves at a corner has been there, in picoseconds; no time
    /// if so much has come at once, or never comes.
    fn delay_until(&self, corner: (Moment, Duty), arrivals: &[CurveLine]) -> Option<u128> {
        let (Moment { over, under }, duty) = corner;
        let done = duty.rate.checked_mul(over)?;
        let Some(done) = done.checked_sub(duty.owed.checked_mul(under)?) else {
            return Some(0);
        };
        let (until, fraction) = parts(over.checked_mul(PS_PER_SECOND / self.ticks)?, under)?;
        let mut shortest = None;
        for line in arrivals {
            let [burst, rate] = [line.burst, line.rate].map(u128::from);
            let [burst, rate] = [burst.checked_mul(self.per)?, rate.checked_mul(self.per)?];
            let Some(later) = done.checked_sub(burst.checked_mul(under)?) else {
                continue;
            };
            let Some((since, rest)) =
                parts(later.checked_mul(PS_PER_SECOND)?, rate.checked_mul(under)?)
            else {
                return Some(0);
            };
            let begun = u128::from(fraction.checked_mul(rate)? > rest);
            let delay = (until + begun).saturating_sub(since);
            shortest = Some(shortest.map_or(delay, |shortest: u128| shortest.min(delay)));
        }
        Some(shortest.unwrap_or(0))
    }

    /// Returns what is there at a moment, rounded up.
    fn backlog_at(&self, moment: Moment, sources: &[ArrivalSource]) -> Option<u128> {
        let arrived = by(sources, moment)?.checked_mul(self.per)?;
        let mut left = arrived;
        for duty in &self.duties {
            let due = duty
                .rate
                .checked_mul(self.ticks)?
                .checked_mul(moment.over)?;
            let owed = duty.owed.checked_mul(moment.under)?;
            left = left.min(arrived.saturating_sub(due.saturating_sub(owed)));
        }
        Some(left.div_ceil(moment.under.checked_mul(self.per)?))
    }

    /// Returns when one duty takes over from another, in ticks, and the earlier one.
    fn corners(&self) -> impl Iterator<Item = Option<(Moment, Duty)>> + '_ {
        self.duties.windows(2).map(|pair| {
            let moment = Moment {
                over: pair[1].owed.checked_sub(pair[0].owed)?,
                under: pair[1].rate.checked_sub(pair[0].rate)?,
            };
            Some((moment, pair[0]))
        })
    }

    /// Returns whether no more arrives for ever than is served.
    fn keeps_up(&self, sources: &[ArrivalSource]) -> bool {
        let flattest = |source: &ArrivalSource| source.lines.iter().map(|line| line.rate).min();
        let rates = sources.iter().filter_map(flattest).map(u128::from);
        let steepest = self.duties.last().map_or(0, |duty| duty.rate);
        rates.sum::<u128>() * self.per <= steepest * self.ticks
    }
}

/// Returns the sum of the lines in force just after each bend, the steepest first: each
/// is a token bucket that holds for all arrivals, and together they say all that is known.
pub(crate) fn tangents(sources: &[ArrivalSource]) -> Option<Vec<CurveLine>> {
    let at = |moment: Moment| {
        sources
            .iter()
            .try_fold(CurveLine::default(), |sum, source| {
                Some(sum.and(source.least_at(moment)?.1))
            })
    };
    let mut tangents = moments(sources)
        .map(at)
        .collect::<Option<Vec<CurveLine>>>()?;
    tangents.sort_unstable_by_key(|line| (std::cmp::Reverse(line.rate), line.burst));
    tangents.dedup_by_key(|line| line.rate);
    Some(tangents)
}

/// Returns the most that arrives within `ps`, rounded up.
pub(crate) fn most_in(sources: &[ArrivalSource], ps: u64) -> u128 {
    let moment = Moment {
        over: ps.into(),
        under: PS_PER_SECOND,
    };
    by(sources, moment).map_or(u128::MAX, |parts| parts.div_ceil(PS_PER_SECOND))
}

/// Returns all times at which the sum of `sources` may bend, and the beginning.
fn moments(sources: &[ArrivalSource]) -> impl Iterator<Item = Moment> + '_ {
    let beginning = Moment { over: 0, under: 1 };
    std::iter::once(beginning).chain(sources.iter().flat_map(ArrivalSource::moments))
}

/// Returns the most that arrives by a moment, in parts as small as those of the moment.
fn by(sources: &[ArrivalSource], moment: Moment) -> Option<u128> {
    let mut most: u128 = 0;
    for source in sources {
        most = most.checked_add(source.least_at(moment)?.0)?;
    }
    Some(most)
}

/// Returns the whole part of a fraction, and what is left over.
fn parts(over: u128, under: u128) -> Option<(u128, u128)> {
    Some((over.checked_div(under)?, over.checked_rem(under)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whole ones are counted in millionths, and each takes a microsecond.
    const WHOLE: u64 = 1_000_000;
    const PACE: ServerPace = ServerPace {
        ps: 1_000_000,
        units: WHOLE,
    };

    #[test]
    fn a_burst_over_a_link_as_fast_as_the_server_does_not_wait() {
        let sum = line(100_000, 50);
        let link = line(1_000_000, 1);
        let server = LeastService::processor(0, PACE);

        let shaped = server.delay_bound(&[ArrivalSource {
            lines: [sum, sum, link],
        }]);

        assert_eq!(
            server.delay_bound(&[ArrivalSource::of(sum)]),
            Some(50_000_000)
        );
        assert_eq!(shaped, Some(1_000_000));
    }

    #[test]
    fn two_links_together_queue_until_the_bursts_are_over() {
        let sum = line(0, 50);
        let link = line(1_000_000, 0);
        let source = ArrivalSource {
            lines: [sum, sum, link],
        };

        // 100 units within 50 us take 100 us.
        let delay = LeastService::processor(0, PACE).delay_bound(&[source; 2]);

        assert_eq!(delay, Some(50_000_000));
    }

    /// 8 units a second, of which a source takes 6 until 3 s and 2 from then on: by 3 s
    /// there is time for 6, by 5 s for 18. What comes at 4 a second behind the first 6
    /// waits the longest when 6 have come.
    #[test]
    fn what_a_source_leaves_is_less_until_its_burst_is_over() {
        let urgent = ArrivalSource {
            lines: [plain(2, 12), plain(6, 0), plain(6, 0)],
        };
        let server = LeastService::link(8, &[urgent], 0).unwrap();
        let own = ArrivalSource {
            lines: [plain(4, 3), plain(9, 1), plain(9, 1)],
        };

        let delay = server.delay_bound(&[own]).unwrap();

        // 6 have come after 0.75 s.
        assert_eq!(delay, 2_250_000_000_000);
        assert_eq!(server.backlog_bound(&[own]), Some(9));
    }

    #[test]
    fn more_than_is_served_has_no_bound() {
        let mut source = ArrivalSource::of(line(1_000_000, 1));
        source.lines.iter_mut().for_each(|line| line.rate += 1);
        let server = LeastService::processor(0, PACE);

        assert_eq!(server.delay_bound(&[source]), None);
        assert_eq!(server.backlog_bound(&[source]), None);
        assert_eq!(
            LeastService::link(8, &[ArrivalSource::of(plain(8, 0))], 0),
            None
        );
    }

    proptest! {
        /// Sound: at no time does more wait, or for longer, than the bounds say.
        #[test]
        fn no_time_is_worse_than_the_bounds(
            sources in prop::collection::vec(source(), 1..4),
            held_ps in 0u64..100_000_000,
            ps in 0u64..400_000_000,
        ) {
            let server = LeastService::processor(held_ps, PACE);
            let Some(delay) = server.delay_bound(&sources) else { return Ok(()) };
            let backlog = server.backlog_bound(&sources).unwrap();

            let (ps, held) = (u128::from(ps), u128::from(held_ps));
            let there = surely(&sources, ps);
            let served = ps.saturating_sub(held);
            prop_assert!(there.saturating_sub(served) <= u128::from(backlog));
            let leaves = held + there;
            prop_assert!(leaves <= u128::from(delay) + ps);
        }

        /// Sound beside more urgent sources, and tight: some time is as bad.
        #[test]
        fn some_time_beside_others_is_as_bad_as_the_bound_and_none_worse(
            sources in prop::collection::vec(source(), 1..4),
            urgent in prop::collection::vec(source(), 0..4),
            blocking in 0u64..40,
        ) {
            let (bps, blocking) = (4_000_000 * WHOLE, blocking * WHOLE);
            let Some(server) = LeastService::link(bps, &urgent, blocking) else { return Ok(()) };
            let Some(delay) = server.delay_bound(&sources) else { return Ok(()) };

            // What has been done for the sources by `ps`, looked at every 10 ns.
            let done = |ps: u128| {
                let all = u128::from(bps) * ps / PS_PER_SECOND;
                all.saturating_sub(u128::from(blocking) + surely(&urgent, ps))
            };
            let late = |delay: u128| (0..10_000u128).any(|step| {
                let ps = step * 10_000;
                done(ps + delay) + 8 < surely(&sources, ps)
            });
            prop_assert!(!late(u128::from(delay)));
            let less = u128::from(delay).saturating_sub(200_000);
            prop_assert!(!(200_000..=30_000_000).contains(&delay) || late(less));
        }

        /// Tight: more knowledge never makes a bound larger, and none is the bound
        /// of a token bucket.
        #[test]
        fn a_further_line_only_helps(sources in prop::collection::vec(source(), 1..4)) {
            let server = LeastService::processor(0, PACE);
            let sums: Vec<_> = sources.iter().map(|source| ArrivalSource::of(source.lines[0])).collect();
            let Some(of_sums) = server.delay_bound(&sums) else { return Ok(()) };

            let shaped = server.delay_bound(&sources).unwrap();

            let burst: u64 = sums.iter().map(|source| source.lines[0].burst).sum();
            prop_assert_eq!(of_sums, burst);
            prop_assert!(shaped <= of_sums);
        }

        /// More never waits for less time: not even by a picosecond, and not even where
        /// it is more urgent.
        #[test]
        fn more_never_takes_less(
            mut sources in prop::collection::vec(source(), 1..4),
            mut urgent in prop::collection::vec(source(), 1..4),
            (which, of, rate, burst) in (0usize..3, 0usize..3, 0u64..100_000_000, 0u64..100_000_000),
        ) {
            let bounds = |sources: &[ArrivalSource], urgent: &[ArrivalSource]| {
                let server = LeastService::link(4_000_000 * WHOLE, urgent, 12_336)?;
                server.delay_bound(sources).zip(server.by_whole(1_000).backlog_bound(sources))
            };
            let before = bounds(&sources, &urgent);
            let grown = match which {
                0 => sources.first_mut(),
                _ => urgent.first_mut(),
            };
            let line = &mut grown.unwrap().lines[of];
            *line = line.and(CurveLine { rate, burst });

            let Some(after) = bounds(&sources, &urgent) else { return Ok(()) };
            let before = before.unwrap();
            prop_assert!(before.0 <= after.0 && before.1 <= after.1, "{:?} {:?}", before, after);
        }
    }

    /// Returns what has surely come by a time: rounded down.
    fn surely(sources: &[ArrivalSource], ps: u128) -> u128 {
        let by = |source: &ArrivalSource| {
            let lines = source.lines.iter();
            let by = |line: &CurveLine| {
                u128::from(line.burst) + u128::from(line.rate) * ps / PS_PER_SECOND
            };
            lines.map(by).min().unwrap()
        };
        sources.iter().map(by).sum()
    }

    prop_compose! {
        fn source()(
            (rate, burst) in (0u64..400_000, 0u64..60),
            (peak, peak_burst) in (0u64..3_000_000, 0u64..30),
            (link, frame) in (0u64..3_000_000, 0u64..10),
        ) -> ArrivalSource {
            ArrivalSource { lines: [line(rate, burst), line(peak, peak_burst), line(link, frame)] }
        }
    }

    fn plain(rate: u64, burst: u64) -> CurveLine {
        CurveLine { rate, burst }
    }

    /// Whole ones a second, and whole ones at once.
    fn line(rate: u64, burst: u64) -> CurveLine {
        CurveLine {
            rate: rate * WHOLE,
            burst: burst * WHOLE,
        }
    }
}
