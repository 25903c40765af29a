//! What a tandem of servers leaves over for a group of flows that crosses all
//! of it, in three ways.
//!
//! With a server of rate `R` and latency `T`, and cross traffic of rate `r` and
//! burst `b` where it arrives:
//!
//! - **Hop by hop** (pay bursts only once): at each server rate `R - r`,
//!   latency `(b + R * T) / (R - r)` in arbitrary order, `T + b / R` in order
//!   of arrival, NC section 6.2. Latencies add up along the tandem, the least
//!   rate counts.
//! - **Once** (pay multiplexing only once), arbitrary order, PMOO: the least of
//!   the rates `R - r` and, all cross traffic being delayed but once, the
//!   latency `sum(T) + (sum(b) + sum(r * T)) / that rate`; each flow's burst
//!   counts where it joins the tandem, its rate at every server of it that it
//!   crosses.
//! - **Best cut** (tandem matching), arbitrary order, TMA: the tandem is cut
//!   into pieces, each by the formula above, latencies added up; of all ways to
//!   cut, the one with the least latency. The rate is the same for all of them,
//!   so the best cut of a tandem is one last piece behind the best cut of what
//!   is before it.
//!
//! A flow that leaves a tandem and joins it again counts as two.

use units::fine::{Data, Rate, Time};

use super::arrival_bounds::{ArrivalBounds, CrossedServer};
use super::histories::HistoryIndex;
use super::simplified;
use crate::analysis::{Multiplexing, RateLatency, ServerId, TokenBucket};

/// A flow that is somewhere on a tandem beside the group.
#[derive(Clone, Copy, Debug)]
struct Cross {
    place: HistoryIndex,
    /// Whether it comes from elsewhere than the hop before.
    joins: bool,
    /// The last hop of the tandem that it crosses without leaving it.
    last: usize,
}

/// All that crosses a tandem beside the group.
#[derive(Debug)]
struct Tandem<'h> {
    hops: &'h [CrossedServer],
    /// Where the flows of each hop begin in `crosses`.
    begins: Vec<usize>,
    crosses: Vec<Cross>,
    /// By hop: the rate that is left, and what comes while the server waits.
    rates: Vec<Rate>,
    waits: Vec<Data>,
    latencies: Vec<Time>,
}

/// Which flows at a hop are bounded together.
#[derive(Clone, Copy, Debug)]
enum Which {
    /// Those that leave the tandem behind this hop.
    LeaveBehind(usize),
    /// Those that reach this hop.
    Reach(usize),
}

impl Which {
    fn has(self, cross: &Cross) -> bool {
        match self {
            Self::LeaveBehind(hop) => cross.last == hop,
            Self::Reach(hop) => cross.last >= hop,
        }
    }
}

/// Which flows at a hop are new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// All: the piece begins here.
    Anywhere,
    /// Those that join the tandem here.
    Elsewhere,
}

impl ArrivalBounds<'_> {
    /// Returns what is left over, server by server, of a tandem for the group
    /// whose places at its first server are in `sets` from `group` on.
    pub(super) fn hop_by_hop(
        &mut self,
        hops: &[CrossedServer],
        group: usize,
    ) -> Option<RateLatency> {
        let end = self.sets.len();
        let mut tandem: Option<RateLatency> = None;
        for (at, hop) in hops.iter().enumerate() {
            if at > 0 {
                self.advance(group, end);
            }
            self.push_others(*hop, group, end);
            let cross = self.of_set(end, hop.presence);
            self.sets.truncate(end);
            let left = self.left_at(hop.server, cross?)?;
            tandem = Some(match tandem {
                None => left,
                Some(before) => RateLatency {
                    rate: before.rate.min(left.rate),
                    latency: before.latency.checked_add(left.latency)?,
                },
            });
        }
        tandem
    }

    /// Returns what is left over of a tandem, all multiplexing being paid once.
    pub(super) fn once(&mut self, hops: &[CrossedServer], group: usize) -> Option<RateLatency> {
        let tandem = self.tandem(hops, group)?;
        let last = hops.len() - 1;
        let mut bursts = Data::ZERO;
        for at in 0..=last {
            let from = if at == 0 {
                From::Anywhere
            } else {
                From::Elsewhere
            };
            for leave in at..=last {
                let burst = self.burst(&tandem, at, from, Which::LeaveBehind(leave))?;
                bursts = bursts.checked_add(burst)?;
            }
        }
        Some(RateLatency {
            rate: tandem.rate(0, last)?,
            latency: tandem.latency(0, last, bursts)?,
        })
    }

    /// Returns what is left over of a tandem that is cut where that is best.
    pub(super) fn best_cut(&mut self, hops: &[CrossedServer], group: usize) -> Option<RateLatency> {
        if hops.len() == 1 {
            return self.once(hops, group);
        }
        let tandem = self.tandem(hops, group)?;
        let rate = tandem.rate(0, hops.len() - 1)?;
        let bursts = self.bursts_of_pieces(&tandem);
        let mut best: Vec<Option<Time>> = vec![Some(Time::ZERO)];
        for last in 0..hops.len() {
            let piece = |first: usize| {
                let latency = tandem.latency(first, last, bursts[first][last - first]?)?;
                best[first]?.checked_add(latency)
            };
            let least = (0..=last).filter_map(piece).min();
            best.push(least);
        }
        let latency = best[hops.len()]?;
        Some(RateLatency { rate, latency })
    }

    /// Returns, by first hop and by length less one, the bursts of all flows
    /// that cross a piece of a tandem.
    fn bursts_of_pieces(&mut self, tandem: &Tandem) -> Vec<Vec<Option<Data>>> {
        let hops = tandem.hops.len();
        let mut pieces: Vec<Vec<Option<Data>>> = Vec::with_capacity(hops);
        for first in 0..hops {
            pieces.push(self.by_last_hop(tandem, first, From::Anywhere));
        }
        for joined in 1..hops {
            let joining = match tandem.at(joined).iter().all(|cross| cross.joins) {
                true => pieces[joined].clone(),
                false => self.by_last_hop(tandem, joined, From::Elsewhere),
            };
            for first in 0..joined {
                let later = pieces[first][joined - first..].iter_mut();
                for (piece, burst) in later.zip(&joining) {
                    *piece = piece
                        .zip(*burst)
                        .and_then(|(one, other)| one.checked_add(other));
                }
            }
        }
        pieces
    }

    /// Returns the bursts of flows at a hop, for pieces that end at it, one hop
    /// farther, and so on.
    fn by_last_hop(&mut self, tandem: &Tandem, at: usize, from: From) -> Vec<Option<Data>> {
        let add = |one: Option<Data>, other: Option<Data>| one?.checked_add(other?);
        let mut left = Some(Data::ZERO);
        let mut through = self.burst(tandem, at, from, Which::Reach(at));
        let mut bursts = vec![through];
        for last in at + 1..tandem.hops.len() {
            let leaving = Which::LeaveBehind(last - 1);
            if tandem.chosen(at, from, leaving).next().is_some() {
                left = add(left, self.burst(tandem, at, from, leaving));
                through = self.burst(tandem, at, from, Which::Reach(last));
            }
            bursts.push(add(left, through));
        }
        bursts
    }

    /// Bounds the burst of some of the flows at a hop, as a group of its own.
    fn burst(&mut self, tandem: &Tandem, at: usize, from: From, which: Which) -> Option<Data> {
        let begin = self.sets.len();
        let chosen = tandem.chosen(at, from, which);
        self.sets.extend(chosen.map(|cross| cross.place));
        let bound = self.of_set(begin, tandem.hops[at].presence);
        self.sets.truncate(begin);
        bound.map(|bound| bound.burst)
    }

    /// Finds all that crosses a tandem; nothing if a server is left without
    /// rate.
    fn tandem<'h>(&mut self, hops: &'h [CrossedServer], group: usize) -> Option<Tandem<'h>> {
        let end = self.sets.len();
        let mut tandem = Tandem {
            hops,
            begins: Vec::with_capacity(hops.len() + 1),
            crosses: Vec::new(),
            rates: Vec::with_capacity(hops.len()),
            waits: Vec::with_capacity(hops.len()),
            latencies: Vec::with_capacity(hops.len()),
        };
        for (at, hop) in hops.iter().enumerate() {
            if at > 0 {
                self.advance(group, end);
            }
            self.push_others(*hop, group, end);
            let rate = self.rate(end, self.sets.len());
            tandem.begins.push(tandem.crosses.len());
            let crosses = self.sets[end..].iter();
            tandem
                .crosses
                .extend(crosses.map(|place| self.cross(hops, at, *place)));
            self.sets.truncate(end);
            let service = self.simplified.service(hop.server);
            let left = service.rate.checked_sub(rate?)?;
            tandem
                .rates
                .push(Some(left).filter(|left| *left > Rate::ZERO)?);
            tandem.waits.push(rate?.most_in(service.latency)?);
            tandem.latencies.push(service.latency);
        }
        tandem.begins.push(tandem.crosses.len());
        Some(tandem)
    }

    fn cross(&self, hops: &[CrossedServer], at: usize, place: HistoryIndex) -> Cross {
        let from = self.histories.server_before(place);
        let before = at.checked_sub(1).map(|before| hops[before].server);
        let mut last = at;
        let mut here = place;
        while let Some(next) = self.histories.behind(here) {
            let follows = hops
                .get(last + 1)
                .is_some_and(|hop| hop.server == self.histories.server(next));
            if !follows || self.is_absent(hops[last + 1], next) {
                break;
            }
            (last, here) = (last + 1, next);
        }
        Cross {
            place,
            joins: from.is_none() || from != before,
            last,
        }
    }

    /// Moves the places of a group, `sets[begin..end]`, one server on.
    fn advance(&mut self, begin: usize, end: usize) {
        for place in &mut self.sets[begin..end] {
            let next = self.histories.behind(*place);
            *place = next.expect("the group crosses all of the tandem");
        }
    }

    /// Returns what a server leaves over beside cross traffic.
    fn left_at(&self, server: ServerId, cross: TokenBucket) -> Option<RateLatency> {
        let service = self.simplified.service(server);
        let rate = service.rate.checked_sub(cross.rate)?;
        if rate == Rate::ZERO {
            return None;
        }
        let latency = match self.order.at(self.network, server) {
            Multiplexing::Fifo => {
                let queue = service.rate.longest_for(cross.burst)?;
                queue.checked_add(service.latency)?
            }
            Multiplexing::Arbitrary | Multiplexing::StrictPriority => {
                simplified::busy_period(cross, service)?
            }
        };
        Some(RateLatency { rate, latency })
    }
}

impl Tandem<'_> {
    fn at(&self, hop: usize) -> &[Cross] {
        &self.crosses[self.begins[hop]..self.begins[hop + 1]]
    }

    /// Returns some of the flows at a hop.
    fn chosen(&self, hop: usize, from: From, which: Which) -> impl Iterator<Item = &Cross> {
        let new = move |cross: &&Cross| from == From::Anywhere || cross.joins;
        self.at(hop)
            .iter()
            .filter(new)
            .filter(move |cross| which.has(cross))
    }

    /// Returns the rate that is left from one hop to another.
    fn rate(&self, first: usize, last: usize) -> Option<Rate> {
        self.rates[first..=last].iter().copied().min()
    }

    /// Returns the latency from one hop to another where the bursts are paid
    /// once.
    fn latency(&self, first: usize, last: usize, bursts: Data) -> Option<Time> {
        let waits = &mut self.waits[first..=last].iter();
        let data = waits.try_fold(bursts, |sum, wait| sum.checked_add(*wait))?;
        let behind = self.rate(first, last)?.longest_for(data)?;
        let latencies = &mut self.latencies[first..=last].iter();
        latencies.try_fold(behind, |sum, latency| sum.checked_add(*latency))
    }
}
