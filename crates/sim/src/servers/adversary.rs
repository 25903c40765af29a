//! Looks for the conditions under which a flow is latest.
//!
//! For one flow of interest after the other:
//!
//! 1. All sources send their bursts at the same time, the flow of interest last.
//! 2. Bursts are aligned: the latest packet of the flow of interest is followed
//!    along its path, and each cross flow is shifted so that the end of its burst
//!    comes to a server that both cross when that packet does; flows that cross
//!    only cross flows are aligned with those. This is the worst case of FIFO
//!    tandems, in which cross flows fire exactly when the burst arrives. As times
//!    change with it, it is repeated.
//! 3. Phases, patterns, ranks and the behaviour of servers are changed at random,
//!    and a change that does not make the flow earlier is kept.
//!
//! Everything that is seen on the way counts, whichever flow it is.

use calculus::analysis::{FlowId, ServerGraph, ServerId};
use units::fine::{Data, Time};

use super::behaviour::{Behaviour, Choice};
use super::observed::ObservedMaxima;
use super::random::Random;
use super::run::{Conditions, Simulator};
use super::source::{Pattern, Shape, Sizes};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// At most so many flows are of interest.
    pub flows: usize,
    /// No run begins after so many events.
    pub events: u64,
    /// No more changes are tried than these for a flow.
    pub changes: usize,
}

/// How often bursts are aligned.
const ALIGNMENTS: usize = 3;
/// The flow of interest goes last.
const LAST: u32 = u32::MAX;
/// The burst of the flow of interest leaves room for others to come before it.
const FIRST_PHASE_FS: u64 = 20_000_000_000_000;

/// Returns the largest delays and backlogs found, or nothing if the network
/// cannot be simulated ([`Simulator::new`]).
#[must_use]
pub fn search(network: &ServerGraph, effort: Effort, seed: u64) -> Option<ObservedMaxima> {
    let mut observed = ObservedMaxima::nothing(network);
    let mut random = Random::new(seed);
    let mut simulator = Simulator::new(network)?;
    let mut flows: Vec<_> = network.flows().collect();
    random.shuffle(&mut flows);
    // The flow of most hops has the most ways to be late.
    flows.sort_by_key(|flow| std::cmp::Reverse(network.path(*flow).len()));
    let half = effort.flows.div_ceil(2).min(flows.len());
    random.shuffle(&mut flows[half..]);
    flows.truncate(effort.flows);
    for (done, flow) in flows.iter().enumerate() {
        let so_far = done as u64 + 1;
        let until = effort.events * so_far / flows.len() as u64;
        let mut search = Search {
            network,
            flow: *flow,
            simulator: &mut simulator,
            observed: &mut observed,
            random: &mut random,
        };
        search.run(until, effort.changes);
    }
    Some(observed)
}

/// Returns conditions that a search comes upon, changed at random again and again.
#[cfg(test)]
pub(super) fn conditions(network: &ServerGraph, seed: u64, many: usize) -> Vec<Conditions> {
    let mut simulator = Simulator::new(network).unwrap();
    let mut search = Search {
        network,
        flow: FlowId(0),
        simulator: &mut simulator,
        observed: &mut ObservedMaxima::nothing(network),
        random: &mut Random::new(seed),
    };
    let mut next = search.aligned_sources();
    let mut all = vec![next.clone()];
    for _ in 0..many {
        let delay = search.try_out(&next);
        search.change(&mut next);
        search.prolong(&mut next, delay);
        all.push(next.clone());
    }
    all
}

/// The search for one flow of interest.
struct Search<'a, 'n> {
    network: &'n ServerGraph,
    flow: FlowId,
    simulator: &'a mut Simulator<'n>,
    observed: &'a mut ObservedMaxima,
    random: &'a mut Random,
}

impl Search<'_, '_> {
    fn run(&mut self, events: u64, changes: usize) {
        let mut best = self.aligned_sources();
        let mut longest = self.try_out(&best);
        for _ in 0..ALIGNMENTS {
            let mut next = best.clone();
            self.align(&mut next);
            self.prolong(&mut next, longest);
            let delay = self.try_out(&next);
            if delay >= longest {
                (best, longest) = (next, delay);
            }
        }
        for _ in 0..changes {
            if self.simulator.events() >= events {
                return;
            }
            let mut next = best.clone();
            for _ in 0..self.random.between(1, 3) {
                self.change(&mut next);
            }
            self.prolong(&mut next, longest);
            let delay = self.try_out(&next);
            if delay >= longest {
                (best, longest) = (next, delay);
            }
        }
    }

    /// Lets sources send for as long as the latest packet of the last run is
    /// under way, and a little longer than the longest delay so far.
    fn prolong(&self, conditions: &mut Conditions, longest: Time) {
        if let Some((_, arrivals)) = self.simulator.latest(self.flow) {
            let began = arrivals.first().copied().unwrap_or_default();
            conditions.until_fs = began + longest.as_fs() / 4 * 5;
        }
    }

    fn try_out(&mut self, conditions: &Conditions) -> Time {
        self.simulator.run(conditions, self.observed);
        let latest = self.simulator.latest(self.flow);
        latest.map_or(Time::ZERO, |(delay, _)| delay)
    }

    fn aligned_sources(&mut self) -> Conditions {
        let pattern = Pattern {
            phase_fs: FIRST_PHASE_FS,
            shape: Shape::Greedy,
            sizes: Sizes::Largest,
        };
        let patterns = vec![pattern; self.network.flows().len()];
        let mut ranks: Vec<_> = self.network.flows().map(|flow| flow.0).collect();
        self.random.shuffle(&mut ranks);
        ranks[self.flow.index()] = LAST;
        Conditions {
            patterns,
            behaviours: vec![Behaviour::LAZY; self.network.servers().len()],
            ranks,
            until_fs: FIRST_PHASE_FS + self.bursts_fs(),
        }
    }

    /// Returns how long the bursts that the flow of interest meets keep servers busy.
    fn bursts_fs(&self) -> u64 {
        let mut sum = 0;
        for id in self.network.path(self.flow) {
            let bursts = self.network.crossings(*id).iter().flat_map(|crossing| {
                let buckets = self.network.buckets(crossing.flow).iter();
                buckets.map(|bucket| bucket.burst.as_ubits()).min()
            });
            let bursts = Data::from_ubits(bursts.sum());
            let served = self.network.server(*id).service.iter().filter_map(|piece| {
                Some(piece.latency.as_fs() + piece.rate.longest_for(bursts)?.as_fs())
            });
            sum += served.min().unwrap_or_default();
        }
        sum
    }

    /// Shifts flows so that their bursts meet the latest packet of the last run.
    fn align(&mut self, conditions: &mut Conditions) {
        let mut victims: Vec<Option<Vec<u64>>> = vec![None; conditions.patterns.len()];
        let Some((_, arrivals)) = self.simulator.latest(self.flow) else {
            return;
        };
        victims[self.flow.index()] = Some(arrivals.to_vec());
        // A second round reaches the flows that cross only cross flows.
        for _ in 0..2 {
            for flow in self.network.flows() {
                if victims[flow.index()].is_none() {
                    let target = self.meeting(flow, &victims);
                    victims[flow.index()] = target.and_then(|it| self.shift(flow, it, conditions));
                }
            }
        }
    }

    /// Returns a hop at which the flow meets one that is settled, and when.
    fn meeting(&mut self, flow: FlowId, victims: &[Option<Vec<u64>>]) -> Option<(usize, u64)> {
        let mut meetings = Vec::new();
        for (hop, server) in self.network.path(flow).iter().enumerate() {
            for crossing in self.network.crossings(*server) {
                if let Some(arrivals) = &victims[crossing.flow.index()] {
                    let meeting = (hop, arrivals[crossing.hop as usize]);
                    if crossing.flow == self.flow {
                        // The first is where the burst has not been smoothed yet.
                        return Some(meeting);
                    }
                    meetings.push(meeting);
                }
            }
        }
        (!meetings.is_empty()).then(|| self.random.pick(&meetings))
    }

    /// Shifts a flow so that its burst comes to a hop at a time, and returns when
    /// it then comes to each hop.
    fn shift(
        &self,
        flow: FlowId,
        (hop, at_fs): (usize, u64),
        conditions: &mut Conditions,
    ) -> Option<Vec<u64>> {
        let came = self.simulator.burst_at(flow, hop)?;
        let phase = &mut conditions.patterns[flow.index()].phase_fs;
        *phase = (*phase + at_fs).saturating_sub(came);
        let hops = 0..self.network.path(flow).len();
        let shifted = hops.map(|hop| {
            let came_then = self.simulator.burst_at(flow, hop)?;
            Some((came_then + at_fs).saturating_sub(came))
        });
        shifted.collect()
    }

    fn change(&mut self, conditions: &mut Conditions) {
        match self.random.below(8) {
            0..2 => self.change_phase(conditions),
            2 => self.meet_somewhere(conditions),
            3..5 => self.change_pattern(conditions),
            5..7 => self.change_behaviour(conditions),
            _ => {
                let flow = self.random.index(conditions.ranks.len());
                if flow != self.flow.index() {
                    conditions.ranks[flow] =
                        u32::try_from(self.random.below(1 << 31)).expect("less than a u32 holds");
                }
            }
        }
    }

    /// Shifts a flow a little or a lot.
    fn change_phase(&mut self, conditions: &mut Conditions) {
        let flow = self.random.index(conditions.patterns.len());
        let scale = self
            .random
            .pick(&[1, 1_000, 1_000_000, 30_000_000, 300_000_000]);
        let by = self.random.between(1, 1_000) * scale;
        let phase = &mut conditions.patterns[flow].phase_fs;
        *phase = match self.random.in_percent(50) {
            true => *phase + by,
            false => phase.saturating_sub(by),
        };
    }

    /// Lets a flow's burst meet the latest packet at any hop that they share.
    fn meet_somewhere(&mut self, conditions: &mut Conditions) {
        let flow = FlowId(
            self.network
                .flows()
                .len()
                .try_into()
                .expect("flows are numbered"),
        );
        let flow = FlowId(u32::try_from(self.random.below(flow.0.into())).expect("a flow"));
        let Some((_, arrivals)) = self.simulator.latest(self.flow) else {
            return;
        };
        let mut meetings = Vec::new();
        for (server, at) in self.network.path(self.flow).iter().zip(arrivals) {
            let hops = self.network.path(flow).iter();
            meetings.extend(
                hops.enumerate()
                    .filter(|(_, it)| *it == server)
                    .map(|(hop, _)| (hop, *at)),
            );
        }
        if flow != self.flow && !meetings.is_empty() {
            let meeting = self.random.pick(&meetings);
            self.shift(flow, meeting, conditions);
        }
    }

    fn change_pattern(&mut self, conditions: &mut Conditions) {
        let flow = self.random.index(conditions.patterns.len());
        let seed = self.random.below(u64::MAX);
        let pattern = &mut conditions.patterns[flow];
        if self.random.in_percent(50) {
            let packets = u32::try_from(self.random.between(1, 6)).expect("a small number");
            pattern.shape = self.random.pick(&[
                Shape::Greedy,
                Shape::Burst,
                Shape::Bursts,
                Shape::PacedFirst { packets },
            ]);
        } else {
            pattern.sizes =
                self.random
                    .pick(&[Sizes::Largest, Sizes::Quarter, Sizes::Mixed { seed }]);
        }
    }

    /// Makes a server eager until the latest packet comes near, lets it let go of
    /// its backlog, or makes it lazy again.
    fn change_behaviour(&mut self, conditions: &mut Conditions) {
        let at = self.random.index(conditions.behaviours.len());
        let latency = self.network.servers()[at]
            .service
            .iter()
            .map(|it| it.latency.as_fs())
            .min();
        let latency = latency.unwrap_or_default();
        let near = self.arrival_near(at);
        let scale = self.random.pick(&[1, 1_000_000, 100_000_000]);
        let jitter = self.random.below(1_000) * scale;
        let behaviour = &mut conditions.behaviours[at];
        match self.random.below(5) {
            0 => *behaviour = Behaviour::LAZY,
            1 => behaviour.lazy_from_fs = near.saturating_sub(jitter),
            2 => behaviour.lets_go_after_fs = latency,
            3 => behaviour.lets_go_after_fs = latency + jitter,
            _ => behaviour.choice = self.random.pick(&[Choice::Early, Choice::Late]),
        }
    }

    /// Returns when the latest packet came to a server, or to where it began.
    fn arrival_near(&self, at: usize) -> u64 {
        let Some((_, arrivals)) = self.simulator.latest(self.flow) else {
            return 0;
        };
        let server = ServerId(u32::try_from(at).expect("servers are numbered"));
        let path = self.network.path(self.flow);
        let hop = path.iter().position(|it| *it == server).unwrap_or(0);
        arrivals[hop]
    }
}
