//! The delays of all queues, and what arrives after such delays.

use units::fine::{Data, Rate, Time};

use super::layout::{FlowCourse, Layout, NOWHERE, QueueInput};
use crate::analysis::network::Multiplexing;
use crate::min_plus::piecewise::{
    Concave, CurveSum, TokenBucket, backlog, busy_period, delay, left_over,
};

/// A delay without a bound, in femtoseconds. Sums stop there.
pub(super) const NEVER: u64 = u64::MAX;

/// Femtoseconds in a second.
pub(super) const FS_PER_SECOND: u128 = 1_000_000_000_000_000;

/// A delay for each queue, and for each group the sums that follow from them.
#[derive(Clone, Debug)]
pub(super) struct DelayState {
    pub(super) layout: Layout,
    /// By queue, in femtoseconds.
    pub(super) delays: Vec<u64>,
    /// By group.
    sums: Vec<Sums>,
    /// By place in the list of hops, the spread with which a flow of several buckets
    /// gets there, where such spreads are kept.
    spreads: Vec<u64>,
    /// By queue, what arrived there when its delay was last computed from a curve.
    arrived: Vec<Option<Concave>>,
    /// By station, what comes there to the queues that are settled, where that is kept.
    settled: Vec<Settled>,
}

/// What comes to the settled queues of a station.
#[derive(Clone, Debug, Default)]
struct Settled {
    /// In the order of where they come from.
    links: Vec<LinkTraffic>,
    /// Whether a flow of several buckets is among it, which is not in the sums.
    is_curved: bool,
}

/// What comes over one link, or all of it if links do not count.
#[derive(Clone, Copy, Debug)]
struct LinkTraffic {
    from: u32,
    /// `None` if nothing bounds it but the link.
    flows: Option<TokenBucket>,
    line: Option<TokenBucket>,
}

/// What a walk along a flow reads and writes of a group, side by side in memory.
#[derive(Clone, Copy, Debug)]
struct Sums {
    /// The sum over its flows of one bucket of rate times spread, in millionths of
    /// a bit per second times femtoseconds. It is kept modulo 2^128 and exact
    /// while the rates together fit their type.
    spread: u128,
    /// The delay of its queue once more.
    delay: u64,
    /// How many of these flows have a spread without bound.
    boundless: u32,
    /// The number of the server at which it arrives.
    station: u32,
}

impl DelayState {
    /// Starts with no delay anywhere.
    pub(super) fn new(layout: Layout) -> Self {
        let mut state = Self {
            delays: Vec::new(),
            sums: Vec::new(),
            spreads: Vec::new(),
            arrived: Vec::new(),
            settled: Vec::new(),
            layout,
        };
        state.grow();
        state
    }

    /// Keeps the spreads of flows of several buckets, which are right from one walk along
    /// all flows to the next.
    pub(super) fn keep_spreads(&mut self) {
        self.spreads = vec![0; self.layout.hops.len()];
    }

    /// Keeps what comes to queues that are [settled](Self::settle), as long as no delay
    /// before them changes.
    pub(super) fn keep_settled(&mut self) {
        self.settled = vec![Settled::default(); self.layout.stations.len()];
    }

    /// Keeps nothing of them any more.
    pub(super) fn forget_settled(&mut self) {
        self.settled.clear();
    }

    /// Notes that nothing changes any more of what comes to a queue, of a station whose
    /// more urgent queues are settled.
    pub(super) fn settle(&mut self, queue: u32) {
        let of = &self.layout.queues[queue as usize];
        let station = of.station as usize;
        if self.settled.is_empty() || self.layout.stations[station].queues.len() == 1 {
            return;
        }
        let mut settled = std::mem::take(&mut self.settled[station]);
        settled.is_curved |= of.curved > 0;
        for &group in &of.groups {
            let from = match self.layout.line_shaping {
                true => self.group(group).from,
                false => NOWHERE,
            };
            let (flows, line) = (self.bucket(group), self.line(&[group]));
            match settled.links.binary_search_by_key(&from, |link| link.from) {
                Ok(at) => settled.links[at].join(flows, line),
                Err(at) => settled.links.insert(at, LinkTraffic { from, flows, line }),
            }
        }
        self.settled[station] = settled;
    }

    /// Returns what comes to the settled queues of a station that has several; nothing if
    /// it is not known, or is too large.
    fn settled_arrivals(&self, station: u32, sum: &mut CurveSum) -> Option<Concave> {
        let settled = self.settled.get(station as usize)?;
        let is_known = self.layout.stations[station as usize].queues.len() > 1;
        if settled.is_curved || !is_known {
            return None;
        }
        sum.clear();
        for link in &settled.links {
            add_least(link.flows, link.line, sum)?;
        }
        sum.curve()
    }

    /// Makes room for queues and groups that the layout has got.
    pub(super) fn grow(&mut self) {
        self.delays.resize(self.layout.queues.len(), 0);
        self.arrived.resize(self.layout.queues.len(), None);
        for group in &self.layout.groups[self.sums.len()..] {
            self.sums.push(Sums {
                spread: 0,
                delay: self.delays[group.queue as usize],
                boundless: 0,
                station: self.layout.queues[group.queue as usize].station,
            });
        }
    }

    /// Returns the delay of a group's queue.
    pub(super) fn delay_at(&self, group: u32) -> u64 {
        self.sums[group as usize].delay
    }

    /// Returns the number of the server at which a group arrives.
    pub(super) fn station_of(&self, group: u32) -> u32 {
        self.sums[group as usize].station
    }

    /// Sets the delay of a queue. The sums stay as they are.
    pub(super) fn set_delay(&mut self, queue: u32, delay: u64) {
        self.delays[queue as usize] = delay;
        for &group in &self.layout.queues[queue as usize].groups {
            self.sums[group as usize].delay = delay;
        }
    }

    /// Takes the sums of all groups of a queue back to nothing.
    pub(super) fn clear(&mut self, queue: u32) {
        for &group in &self.layout.queues[queue as usize].groups {
            let sums = &mut self.sums[group as usize];
            (sums.spread, sums.boundless) = (0, 0);
        }
    }

    /// Adds a flow of one bucket to the sums of the groups `begin..end` of its
    /// course, as far as it is counted there, which it reaches with a spread.
    /// Returns the spread behind them.
    pub(super) fn walk(&mut self, course: FlowCourse, hops: (u32, u32), mut spread: u64) -> u64 {
        let keeps = course.rate == 0 && !self.spreads.is_empty();
        let counted = course.counted.clamp(hops.0, hops.1);
        for &group in &self.layout.hops[hops.0 as usize..counted as usize] {
            spread = spread.saturating_add(self.sums[group as usize].delay);
        }
        for at in counted as usize..hops.1 as usize {
            if keeps {
                self.spreads[at] = spread;
            }
            let sums = &mut self.sums[self.layout.hops[at] as usize];
            if spread == NEVER {
                sums.boundless += 1;
            } else {
                let part = u128::from(course.rate) * u128::from(spread);
                sums.spread = sums.spread.wrapping_add(part);
            }
            spread = spread.saturating_add(sums.delay);
        }
        spread
    }

    /// Takes a flow that is counted all the way out of the sums again.
    pub(super) fn walk_back(&mut self, course: FlowCourse) {
        let mut spread = 0u64;
        for &group in &self.layout.hops[course.begin as usize..course.end as usize] {
            let sums = &mut self.sums[group as usize];
            if spread == NEVER {
                sums.boundless -= 1;
            } else {
                let part = u128::from(course.rate) * u128::from(spread);
                sums.spread = sums.spread.wrapping_sub(part);
            }
            spread = spread.saturating_add(sums.delay);
        }
    }

    /// Changes a sum by a rate times a finite change of spread.
    pub(super) fn shift_spread(&mut self, group: u32, rate: u64, by: i128) {
        let part = i128::from(rate).wrapping_mul(by).cast_unsigned();
        let sums = &mut self.sums[group as usize];
        sums.spread = sums.spread.wrapping_add(part);
    }

    /// Returns the sum of the delays of a flow up to a place of its path.
    pub(super) fn spread_at(&self, flow: u32, hop: u32) -> u64 {
        let begin = self.layout.courses[flow as usize].begin;
        if let Some(spread) = self.spreads.get((begin + hop) as usize) {
            return *spread;
        }
        let before = self.layout.path(flow).iter().take(hop as usize);
        before.fold(0, |sum, &group| {
            sum.saturating_add(self.sums[group as usize].delay)
        })
    }

    /// Returns the delay of a queue that follows from the sums, rounded up.
    pub(super) fn follows(&mut self, queue: u32, sum: &mut CurveSum) -> u64 {
        let of = &self.layout.queues[queue as usize];
        let station = &self.layout.stations[of.station as usize];
        let delay = match (station.multiplexing, station.service.pieces()) {
            (Multiplexing::Fifo, [only]) if of.curved == 0 => {
                let excess = self.excess(queue, only.rate, sum);
                excess.and_then(|excess| only.latency.checked_add(only.rate.longest_for(excess)?))
            }
            _ => self.follows_from_curves(queue, sum),
        };
        delay.map_or(NEVER, Time::as_fs)
    }

    /// The excess of what arrives at a queue over a rate, where all flows have
    /// one bucket.
    fn excess(&self, queue: u32, rate: Rate, sum: &mut CurveSum) -> Option<Data> {
        sum.clear();
        for &group in &self.layout.queues[queue as usize].groups {
            self.add_straight(&[group], sum)?;
        }
        sum.excess_over(rate)
    }

    fn follows_from_curves(&mut self, queue: u32, sum: &mut CurveSum) -> Option<Time> {
        let of = &self.layout.queues[queue as usize];
        let station = &self.layout.stations[of.station as usize];
        let own = self.arrivals(&[queue], sum);
        let delay = own.as_ref().and_then(|own| match station.multiplexing {
            Multiplexing::Arbitrary => busy_period(own, &station.service),
            Multiplexing::Fifo => delay(own, &station.service),
            Multiplexing::StrictPriority => {
                let place = station.queues.iter().position(|&other| other == queue)?;
                let settled = self.settled_arrivals(of.station, sum);
                let above = settled.or_else(|| self.arrivals(&station.queues[..place], sum))?;
                let below = self.largest_packet(&station.queues[place + 1..]);
                let left = left_over(&station.service, &above.by_whole_packets(below)?);
                delay(own, &left)
            }
        });
        self.arrived[queue as usize] = own;
        delay
    }

    /// Returns the most data at a station at one time, rounded up.
    pub(super) fn backlog(&self, at: u32, sum: &mut CurveSum) -> Option<Data> {
        let station = &self.layout.stations[at as usize];
        let known = match station.queues[..] {
            [only] => self.arrived[only as usize].as_ref(),
            _ => None,
        };
        let inside = match known {
            Some(arrivals) => backlog(arrivals, &station.service)?,
            None => {
                let settled = self.settled_arrivals(at, sum);
                let all = settled.or_else(|| self.arrivals(&station.queues, sum))?;
                backlog(&all, &station.service)?
            }
        };
        match self.layout.packetizer {
            true => inside.checked_add(self.largest_packet(&station.queues)),
            false => Some(inside),
        }
    }

    /// What bounds all that arrives at some queues of one station.
    fn arrivals(&self, queues: &[u32], sum: &mut CurveSum) -> Option<Concave> {
        sum.clear();
        if let [only] = queues {
            // Each of its groups comes over a link of its own.
            for &group in &self.layout.queues[*only as usize].groups {
                self.add_group(group, sum)?;
            }
            return sum.curve();
        }
        let of = |queue: &u32| self.layout.queues[*queue as usize].groups.iter().copied();
        let mut groups: Vec<u32> = queues.iter().flat_map(of).collect();
        if self.layout.line_shaping {
            groups.sort_unstable_by_key(|&group| (self.group(group).from, group));
        }
        let one_link = |one: &u32, other: &u32| {
            self.layout.line_shaping && self.group(*one).from == self.group(*other).from
        };
        for groups in groups.chunk_by(one_link) {
            match groups {
                [only] => self.add_group(*only, sum)?,
                _ if groups.iter().all(|at| self.layout.curved(*at).is_empty()) => {
                    self.add_straight(groups, sum)?;
                }
                _ => sum.add(&self.link(groups)?)?,
            }
        }
        sum.curve()
    }

    /// Adds what comes over a link of which a group is all.
    fn add_group(&self, group: u32, sum: &mut CurveSum) -> Option<()> {
        match self.layout.curved(group) {
            [] => self.add_straight(&[group], sum),
            _ if self.layout.line(group).is_none() => self.add_flows(group, sum),
            _ => sum.add(&self.link(&[group])?),
        }
    }

    /// Adds what comes over one link of which some groups are all, where all flows
    /// have one bucket.
    fn add_straight(&self, groups: &[u32], sum: &mut CurveSum) -> Option<()> {
        let each = groups.iter().map(|group| self.bucket(*group));
        let bucket = each.reduce(|all, one| all?.checked_add(one?)).flatten();
        add_least(bucket, self.line(groups), sum)
    }

    /// What comes over one link, of which some groups are all.
    fn link(&self, groups: &[u32]) -> Option<Concave> {
        let mut flows = CurveSum::default();
        let added = groups
            .iter()
            .try_for_each(|group| self.add_flows(*group, &mut flows));
        let flows = added.and_then(|()| flows.curve());
        let line = self.line(groups).map(Concave::from);
        match (flows, line) {
            (Some(flows), Some(line)) => Some(flows.minimum(&line)),
            (flows, line) => flows.or(line),
        }
    }

    /// Adds what the flows of a group allow, one by one.
    fn add_flows(&self, group: u32, sum: &mut CurveSum) -> Option<()> {
        sum.add_bucket(self.bucket(group)?)?;
        for &(flow, hop) in self.layout.curved(group) {
            let spread = match self.spread_at(flow, hop) {
                NEVER => return None,
                spread => Time::from_fs(spread),
            };
            self.layout.contracts[flow as usize].add_after(spread, sum)?;
        }
        Some(())
    }

    /// What the flows of one bucket in a group allow.
    fn bucket(&self, at: u32) -> Option<TokenBucket> {
        let group = self.group(at);
        let rate = u64::try_from(group.rate).ok()?;
        if self.sums[at as usize].boundless > 0 {
            return None;
        }
        let spread = self.sums[at as usize].spread.div_ceil(FS_PER_SECOND);
        let burst = u64::try_from(group.burst.checked_add(spread)?).ok()?;
        Some(TokenBucket {
            rate: Rate::from_ubps(rate),
            burst: Data::from_ubits(burst),
        })
    }

    /// What a link allows that some groups come over, if its rate counts.
    fn line(&self, groups: &[u32]) -> Option<TokenBucket> {
        let rate = self.layout.line(groups[0])?;
        let packets = groups.iter().map(|&group| self.group(group).largest_packet);
        let burst = match self.layout.packetizer {
            true => packets.max().unwrap_or_default(),
            false => Data::ZERO,
        };
        Some(TokenBucket { rate, burst })
    }

    fn largest_packet(&self, queues: &[u32]) -> Data {
        let queues = queues
            .iter()
            .map(|queue| &self.layout.queues[*queue as usize]);
        let packets = queues.map(|queue| queue.largest_packet);
        packets.max().unwrap_or_default()
    }

    fn group(&self, group: u32) -> &QueueInput {
        &self.layout.groups[group as usize]
    }
}

impl LinkTraffic {
    /// Adds what else comes over it.
    fn join(&mut self, flows: Option<TokenBucket>, line: Option<TokenBucket>) {
        self.flows = self
            .flows
            .zip(flows)
            .and_then(|(one, other)| one.checked_add(other));
        // The link is the same; the largest packet may be another one.
        self.line = self
            .line
            .zip(line)
            .map(|(one, other)| match one.burst < other.burst {
                true => other,
                false => one,
            });
    }
}

/// Adds the minimum of what flows bring and of what their link carries, as far as either
/// is bounded.
fn add_least(
    flows: Option<TokenBucket>,
    line: Option<TokenBucket>,
    sum: &mut CurveSum,
) -> Option<()> {
    match (flows, line) {
        (Some(flows), Some(line)) => sum.add_minimum(flows, line),
        (flows, line) => sum.add_bucket(flows.or(line)?),
    }
}
