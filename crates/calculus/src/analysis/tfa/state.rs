//! The delays of all queues, and what arrives after such delays.

use units::fine::{Data, Rate, Time};

use super::layout::{Contract, Group, Layout};
use crate::analysis::network::Multiplexing;
use crate::min_plus::piecewise::{Concave, TokenBucket, backlog, busy_period, delay, left_over};

/// A delay without a bound, in femtoseconds. Sums stop there.
pub(super) const NEVER: u64 = u64::MAX;

/// Femtoseconds in a second.
pub(super) const FS_PER_SECOND: u128 = 1_000_000_000_000_000;

/// A delay for each queue, and for each group the sums that follow from them.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) layout: Layout,
    /// By queue, in femtoseconds.
    pub(super) delays: Vec<u64>,
    /// By group.
    sums: Vec<Sums>,
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

/// A minimum of lines, as the first line and where its slope falls.
#[derive(Clone, Debug, Default)]
pub(super) struct Kinks {
    rate: u64,
    burst: u64,
    /// From one line to the next: the rise of the burst and the fall of the rate,
    /// whose quotient is when.
    kinks: Vec<(u64, u64)>,
}

impl State {
    /// Starts with no delay anywhere.
    pub(super) fn new(layout: Layout) -> Self {
        let mut state = Self {
            delays: Vec::new(),
            sums: Vec::new(),
            layout,
        };
        state.grow();
        state
    }

    /// Makes room for queues and groups that the layout has got.
    pub(super) fn grow(&mut self) {
        self.delays.resize(self.layout.queues.len(), 0);
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
    /// course, which it reaches with a spread. Returns the spread behind them.
    pub(super) fn walk(&mut self, rate: u64, hops: (u32, u32), mut spread: u64) -> u64 {
        for &group in &self.layout.hops[hops.0 as usize..hops.1 as usize] {
            let sums = &mut self.sums[group as usize];
            if spread == NEVER {
                sums.boundless += 1;
            } else {
                let part = u128::from(rate) * u128::from(spread);
                sums.spread = sums.spread.wrapping_add(part);
            }
            spread = spread.saturating_add(sums.delay);
        }
        spread
    }

    /// Takes a flow out of the sums again.
    pub(super) fn walk_back(&mut self, rate: u64, hops: (u32, u32)) {
        let mut spread = 0u64;
        for &group in &self.layout.hops[hops.0 as usize..hops.1 as usize] {
            let sums = &mut self.sums[group as usize];
            if spread == NEVER {
                sums.boundless -= 1;
            } else {
                let part = u128::from(rate) * u128::from(spread);
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
        let before = self.layout.path(flow).iter().take(hop as usize);
        before.fold(0, |sum, &group| {
            sum.saturating_add(self.sums[group as usize].delay)
        })
    }

    /// Returns the delay of a queue that follows from the sums, rounded up.
    pub(super) fn follows(&self, queue: u32, kinks: &mut Kinks) -> u64 {
        let of = &self.layout.queues[queue as usize];
        let station = &self.layout.stations[of.station as usize];
        let delay = match (station.multiplexing, station.service.pieces()) {
            (Multiplexing::Fifo, [only]) if of.curved == 0 => {
                let excess = self.excess(queue, only.rate, kinks);
                excess.and_then(|excess| only.latency.checked_add(only.rate.longest_for(excess)?))
            }
            _ => self.follows_from_curves(queue),
        };
        delay.map_or(NEVER, Time::as_fs)
    }

    /// The excess of what arrives at a queue over a rate, where all flows have
    /// one bucket.
    fn excess(&self, queue: u32, rate: Rate, kinks: &mut Kinks) -> Option<Data> {
        kinks.clear();
        for &group in &self.layout.queues[queue as usize].groups {
            let (bucket, line) = (self.bucket(group), self.line(&[group]));
            match (bucket, line) {
                (Some(bucket), Some(line)) => kinks.add_minimum(bucket, line)?,
                (bucket, line) => kinks.add(bucket.or(line)?)?,
            }
        }
        kinks.excess_over(rate)
    }

    fn follows_from_curves(&self, queue: u32) -> Option<Time> {
        let of = &self.layout.queues[queue as usize];
        let station = &self.layout.stations[of.station as usize];
        let own = self.arrivals(&[queue])?;
        match station.multiplexing {
            Multiplexing::Arbitrary => busy_period(&own, &station.service),
            Multiplexing::Fifo => delay(&own, &station.service),
            Multiplexing::StrictPriority => {
                let place = station.queues.iter().position(|&other| other == queue)?;
                let above = self.arrivals(&station.queues[..place])?;
                let below = self.largest_packet(&station.queues[place + 1..]);
                let left = left_over(&station.service, &above.by_whole_packets(below)?);
                delay(&own, &left)
            }
        }
    }

    /// Returns the most data at a station at one time, rounded up.
    pub(super) fn backlog(&self, station: u32) -> Option<Data> {
        let station = &self.layout.stations[station as usize];
        let inside = backlog(&self.arrivals(&station.queues)?, &station.service)?;
        match self.layout.packetizer {
            true => inside.checked_add(self.largest_packet(&station.queues)),
            false => Some(inside),
        }
    }

    /// What bounds all that arrives at some queues of one station.
    fn arrivals(&self, queues: &[u32]) -> Option<Concave> {
        let of = |queue: &u32| self.layout.queues[*queue as usize].groups.iter().copied();
        let mut groups: Vec<u32> = queues.iter().flat_map(of).collect();
        groups.sort_unstable_by_key(|&group| (self.group(group).from, group));
        let links = groups.chunk_by(|one, other| self.group(*one).from == self.group(*other).from);
        let mut sum = Concave::nothing();
        for groups in links {
            let flows = groups.iter().try_fold(Concave::nothing(), |sum, &group| {
                sum.checked_add(&self.flows(group)?)
            });
            let line = self.line(groups).map(Concave::from);
            sum = sum.checked_add(&match (flows, line) {
                (Some(flows), Some(line)) => flows.minimum(&line),
                (flows, line) => flows.or(line)?,
            })?;
        }
        Some(sum)
    }

    /// What the flows of a group allow, one by one.
    fn flows(&self, group: u32) -> Option<Concave> {
        let straight = Concave::from(self.bucket(group)?);
        let curved = self.group(group).curved.iter();
        let mut curved = curved.map(|&(flow, hop)| {
            let spread = match self.spread_at(flow, hop) {
                NEVER => return None,
                spread => Time::from_fs(spread),
            };
            let contract: &Contract = &self.layout.contracts[flow as usize];
            contract.after(spread)
        });
        curved.try_fold(straight, |sum, curve| sum.checked_add(&curve?))
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
        let rate = self.group(groups[0]).line?;
        let packets = groups.iter().map(|&group| self.group(group).largest_packet);
        let burst = match self.layout.packetizer {
            true => packets.max().unwrap_or_default(),
            false => Data::ZERO,
        };
        Some(TokenBucket { rate, burst })
    }

    fn largest_packet(&self, queues: &[u32]) -> Data {
        let of = |queue: &u32| self.layout.queues[*queue as usize].groups.iter().copied();
        let groups = queues.iter().flat_map(of);
        let packets = groups.map(|group| self.group(group).largest_packet);
        packets.max().unwrap_or_default()
    }

    fn group(&self, group: u32) -> &Group {
        &self.layout.groups[group as usize]
    }
}

impl Kinks {
    fn clear(&mut self) {
        (self.rate, self.burst) = (0, 0);
        self.kinks.clear();
    }

    fn add(&mut self, line: TokenBucket) -> Option<()> {
        self.rate = self.rate.checked_add(line.rate.as_ubps())?;
        self.burst = self.burst.checked_add(line.burst.as_ubits())?;
        Some(())
    }

    fn add_minimum(&mut self, one: TokenBucket, other: TokenBucket) -> Option<()> {
        let (first, then) = match (one.burst, one.rate) < (other.burst, other.rate) {
            true => (one, other),
            false => (other, one),
        };
        let fall = first.rate.as_ubps().saturating_sub(then.rate.as_ubps());
        if fall > 0 {
            let rise = then.burst.as_ubits() - first.burst.as_ubits();
            self.kinks.push((rise, fall));
        }
        self.add(first)
    }

    /// The excess over a rate, rounded up: where the slope falls to the rate, the
    /// distance is the largest.
    fn excess_over(&mut self, rate: Rate) -> Option<Data> {
        let product = |one: u64, other: u64| u128::from(one) * u128::from(other);
        self.kinks
            .sort_unstable_by(|a, b| product(a.0, b.1).cmp(&product(b.0, a.1)));
        let (mut slope, mut burst) = (self.rate, self.burst);
        let mut kinks = self.kinks.iter();
        while let Some(over) = slope.checked_sub(rate.as_ubps()).filter(|over| *over > 0) {
            let &(rise, fall) = kinks.next()?;
            let part = match over < fall {
                true => product(rise, over).div_ceil(u128::from(fall)),
                false => u128::from(rise),
            };
            burst = burst.checked_add(u64::try_from(part).ok()?)?;
            slope -= fall;
        }
        Some(Data::from_ubits(burst))
    }
}
