//! Total flow analysis that is kept up to date while flows come and go.
//!
//! [`TfaEngine::new`] solves a network once. After that the delay of each queue
//! stands a 256th above what followed from the flows when it was set: room
//! in which single flows come without anything else changing. Where a delay no
//! longer holds it is raised, the growth is carried to the queues that its flows
//! reach later, and so on until all hold. The sums in between are exact, so
//! carrying a change forth and back leaves no trace.
//!
//! A queue that is only reached by growth is not even computed while the growth
//! is less than its slack: served first in first out at rate `R`, it is delayed
//! by no more than `x / R` longer by bursts of `x`.
//!
//! At every moment the delays bound each other, `F(D) <= D`.

use std::collections::{BTreeMap, VecDeque};
use std::mem;

use units::fine::Time;

use super::fixed_point::{self, Precision, with_headroom};
use super::layout::{Layout, number};
use super::state::{DelayState, FS_PER_SECOND, NEVER};
use super::time;
use crate::analysis::network::{
    FlowId, Multiplexing, NetworkError, ServerFlow, ServerGraph, ServerId,
};
use crate::min_plus::piecewise::CurveSum;

/// How many times as many delays may be computed as there are servers until a
/// change is solved from the beginning.
const ROUNDS: usize = 16;

/// The bounds of a network whose flows come and go.
#[derive(Clone, Debug)]
pub struct TfaEngine {
    state: DelayState,
    /// By queue, its flows and the hops at which they are there.
    members: Vec<Vec<(u32, u32)>>,
    /// By server, a growth of bursts for which its delays hold, in the unit of
    /// [`DelayState`]'s sums.
    slack: Vec<u128>,
    /// Places of flows that have gone, by the length of their paths: number and
    /// first hop.
    vacant: BTreeMap<u32, Vec<(u32, u32)>>,
    waiting: VecDeque<u32>,
    waits: Vec<bool>,
    /// Delays that a change has replaced, in this order.
    replaced: Vec<(u32, u64)>,
    /// Whether the change needed all delays to be solved anew.
    solved: bool,
    sum: CurveSum,
}

/// What a flow would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhatIf {
    /// Its own delay, or `None` if it would have no bound.
    pub delay: Option<Time>,
    /// The delays that would become longer, by server and class.
    pub raised: Vec<Raised>,
}

/// A delay of a server that would become longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Raised {
    /// The server.
    pub server: ServerId,
    /// The class, where priority counts.
    pub class: Option<u8>,
    /// The delay now.
    pub before: Option<Time>,
    /// The delay with the flow.
    pub after: Option<Time>,
}

impl TfaEngine {
    /// Solves a network.
    ///
    /// # Panics
    ///
    /// If a flow is a branch of another: what it shares would go with that one.
    #[must_use]
    pub fn new(network: &ServerGraph) -> Self {
        let is_branch = |flow| network.shared_hops(flow) > 0;
        assert!(!network.flows().any(is_branch), "flows come and go alone");
        let mut layout = Layout::of(network);
        layout.index_groups();
        let mut state = DelayState::new(layout);
        fixed_point::solve(&mut state, Precision::Coarse);
        let servers = network.servers().len();
        let mut engine = Self {
            members: members(&state.layout),
            slack: vec![0; servers],
            vacant: BTreeMap::new(),
            waiting: VecDeque::new(),
            waits: vec![false; servers],
            replaced: Vec::new(),
            solved: false,
            sum: CurveSum::default(),
            state,
        };
        engine.measure_slack();
        engine
    }

    /// Returns the longest delay of a flow from end to end, rounded up, or
    /// `None` if it has no bound.
    ///
    /// # Panics
    ///
    /// If there never was such a flow.
    #[must_use]
    pub fn bound(&self, flow: FlowId) -> Option<Time> {
        let path = self.state.layout.path(flow.0);
        time(self.state.spread_at(flow.0, number(path.len())))
    }

    /// Returns the longest delays of all flows, each with its number.
    pub fn bounds(&self) -> impl Iterator<Item = (FlowId, Option<Time>)> {
        let flows = (0..number(self.state.layout.courses.len())).map(FlowId);
        let present = flows.filter(|flow| !self.state.layout.path(flow.0).is_empty());
        present.map(|flow| (flow, self.bound(flow)))
    }

    /// Adds a flow and raises the delays that it makes longer. Its number may be
    /// that of one that has gone.
    ///
    /// # Errors
    ///
    /// If the flow makes no sense, as for [`ServerGraph::add`].
    pub fn add(&mut self, flow: &ServerFlow) -> Result<FlowId, NetworkError> {
        flow.validate(self.slack.len())?;
        let id = self.insert(flow);
        for at in 0..flow.path.len() {
            let group = self.state.layout.path(id.0)[at];
            self.touch(self.state.station_of(group), u128::MAX);
        }
        self.raise_all();
        Ok(id)
    }

    /// Takes a flow out, and lowers delays that have become much too long.
    ///
    /// # Panics
    ///
    /// If there is no such flow.
    pub fn remove(&mut self, flow: FlowId) {
        let path = self.state.layout.path(flow.0).to_vec();
        assert!(!path.is_empty(), "flow {} has gone already", flow.0);
        self.take_out(flow);
        for group in path {
            self.touch(self.state.station_of(group), u128::MAX);
        }
        self.lower_all();
    }

    /// Returns what a flow would change, and changes nothing.
    ///
    /// # Errors
    ///
    /// If the flow makes no sense, as for [`ServerGraph::add`].
    pub fn what_if(&mut self, flow: &ServerFlow) -> Result<WhatIf, NetworkError> {
        let slack = self.slack.clone();
        let delays = self.state.delays.clone();
        let id = self.add(flow)?;
        let delay = self.bound(id);
        let raised = self.raised_since(&delays);
        if self.solved {
            self.take_out(id);
            self.restore(&delays);
        } else {
            for (queue, delay) in mem::take(&mut self.replaced).into_iter().rev() {
                self.carry(queue, delay, |_, _, _| ());
            }
            self.take_out(id);
        }
        self.slack = slack;
        Ok(WhatIf { delay, raised })
    }

    /// Goes back to delays that held.
    fn restore(&mut self, delays: &[u64]) {
        for (queue, &delay) in (0..).zip(delays) {
            self.state.set_delay(queue, delay);
        }
        fixed_point::walk_all(&mut self.state);
    }

    fn raised_since(&self, before: &[u64]) -> Vec<Raised> {
        let now = self.state.delays.iter().zip(&self.state.layout.queues);
        let known = before.iter().copied().chain(std::iter::repeat(0));
        let mut raised: Vec<_> = known
            .zip(now)
            .filter(|(before, (after, _))| before < after)
            .map(|(before, (after, queue))| Raised {
                server: ServerId(queue.station),
                class: queue.class,
                before: time(before),
                after: time(*after),
            })
            .collect();
        raised.sort_unstable();
        raised
    }

    fn insert(&mut self, flow: &ServerFlow) -> FlowId {
        let place = self.vacant.get_mut(&number(flow.path.len()));
        let place = place.and_then(Vec::pop);
        let id = self.state.layout.insert(
            (&flow.path, &flow.buckets),
            flow.max_packet,
            flow.priority,
            place,
        );
        self.state.grow();
        self.members
            .resize_with(self.state.layout.queues.len(), Vec::new);
        for (&group, hop) in self.state.layout.path(id.0).iter().zip(0..) {
            let queue = self.state.layout.groups[group as usize].queue;
            self.members[queue as usize].push((id.0, hop));
        }
        let course = self.state.layout.courses[id.index()];
        self.state.walk(course, (course.begin, course.end), 0);
        id
    }

    /// Takes a flow out of all sums and lists.
    fn take_out(&mut self, id: FlowId) {
        let course = self.state.layout.courses[id.index()];
        self.state.walk_back(course);
        let path = self.state.layout.path(id.0).to_vec();
        for (&group, hop) in path.iter().zip(0..) {
            let queue = self.state.layout.groups[group as usize].queue;
            let members = &mut self.members[queue as usize];
            let place = members.iter().rposition(|member| *member == (id.0, hop));
            members.swap_remove(place.expect("a flow is where it passes"));
            self.state.layout.leave(group, (id.0, hop), members);
        }
        self.state.layout.vacate(id);
        let vacant = self.vacant.entry(number(path.len())).or_default();
        vacant.push((id.0, course.begin));
    }

    /// Raises delays until all hold.
    fn raise_all(&mut self) {
        self.solved = false;
        self.replaced.clear();
        let mut left = ROUNDS * self.slack.len();
        let bounded = self.has_bounds();
        while let Some(station) = self.next_waiting() {
            if !bounded || left == 0 || !self.raise(station) {
                self.solve();
                return;
            }
            left -= 1;
        }
    }

    /// Lowers delays that have become too long. It may stop at any time, as each
    /// step leaves delays that hold.
    fn lower_all(&mut self) {
        let mut left = ROUNDS * self.slack.len();
        let bounded = self.has_bounds();
        while let Some(station) = self.next_waiting() {
            if !bounded {
                self.solve();
                return;
            }
            if left > 0 {
                self.lower(station);
                left -= 1;
            }
        }
    }

    fn next_waiting(&mut self) -> Option<u32> {
        let station = self.waiting.pop_front()?;
        self.waits[station as usize] = false;
        Some(station)
    }

    fn has_bounds(&self) -> bool {
        !self.state.delays.contains(&NEVER)
    }

    /// Raises the delays of a server to what follows; whether all are bounded.
    fn raise(&mut self, station: u32) -> bool {
        for at in 0..self.state.layout.stations[station as usize].queues.len() {
            let queue = self.state.layout.stations[station as usize].queues[at];
            let follows = self.state.follows(queue, &mut self.sum);
            let before = self.state.delays[queue as usize];
            if follows == NEVER {
                return false;
            }
            if follows > before {
                let after = with_headroom(follows);
                self.replaced.push((queue, before));
                self.carry(queue, after, |engine, station, rate| {
                    engine.touch(station, u128::from(rate) * u128::from(after - before));
                });
            }
            self.slack[station as usize] = self.slack_of(queue, follows);
        }
        true
    }

    /// Lowers the delays of a server that are too long by more than the headroom.
    fn lower(&mut self, station: u32) {
        for at in 0..self.state.layout.stations[station as usize].queues.len() {
            let queue = self.state.layout.stations[station as usize].queues[at];
            let follows = self.state.follows(queue, &mut self.sum);
            let enough = with_headroom(follows);
            if with_headroom(enough) < self.state.delays[queue as usize] {
                self.carry(queue, enough, |engine, station, _| {
                    engine.touch(station, u128::MAX);
                });
            }
            self.slack[station as usize] = self.slack_of(queue, follows);
        }
    }

    /// Solves all from the beginning.
    fn solve(&mut self) {
        self.waiting.clear();
        self.waits.fill(false);
        fixed_point::solve(&mut self.state, Precision::Coarse);
        self.solved = true;
        self.measure_slack();
    }

    fn measure_slack(&mut self) {
        for at in 0..self.slack.len() {
            let queues = &self.state.layout.stations[at].queues;
            self.slack[at] = match queues[..] {
                [only] => {
                    let follows = self.state.follows(only, &mut self.sum);
                    self.slack_of(only, follows)
                }
                _ => 0,
            };
        }
    }

    /// By how much bursts at a queue may grow while its delay holds, rounded
    /// down: each sum that is rounded up to a millionth of a bit may cost one.
    fn slack_of(&self, queue: u32, follows: u64) -> u128 {
        let of = &self.state.layout.queues[queue as usize];
        let station = &self.state.layout.stations[of.station as usize];
        let [service] = station.service.pieces() else {
            return 0;
        };
        if station.multiplexing != Multiplexing::Fifo || of.curved > 0 {
            return 0;
        }
        let room =
            u128::from(self.state.delays[queue as usize].saturating_sub(follows)).saturating_sub(2);
        let roundings = FS_PER_SECOND * (2 + of.groups.len() as u128);
        (room * u128::from(service.rate.as_ubps())).saturating_sub(roundings)
    }

    /// Replaces a delay and carries the change into the sums behind. `touch` is
    /// told of each server reached and at what rate.
    fn carry(&mut self, queue: u32, delay: u64, mut touch: impl FnMut(&mut Self, u32, u64)) {
        let growth = i128::from(delay) - i128::from(self.state.delays[queue as usize]);
        let members = mem::take(&mut self.members[queue as usize]);
        for &(flow, hop) in &members {
            let course = self.state.layout.courses[flow as usize];
            for at in course.begin + hop + 1..course.end {
                let group = self.state.layout.hops[at as usize];
                self.state.shift_spread(group, course.rate, growth);
                // A flow of several buckets has no rate here, but leaves no slack.
                touch(self, self.state.station_of(group), course.rate);
            }
        }
        self.members[queue as usize] = members;
        self.state.set_delay(queue, delay);
    }

    /// Marks a server whose bursts have grown by more than its slack.
    fn touch(&mut self, station: u32, growth: u128) {
        let at = station as usize;
        match self.slack[at].checked_sub(growth) {
            Some(left) if left > 0 => self.slack[at] = left,
            _ => {
                self.slack[at] = 0;
                if !mem::replace(&mut self.waits[at], true) {
                    self.waiting.push_back(station);
                }
            }
        }
    }
}

fn members(layout: &Layout) -> Vec<Vec<(u32, u32)>> {
    let queue_of: Vec<u32> = layout.groups.iter().map(|group| group.queue).collect();
    let mut counts = vec![0; layout.queues.len()];
    for &group in &layout.hops {
        counts[queue_of[group as usize] as usize] += 1;
    }
    let mut members: Vec<_> = counts.into_iter().map(Vec::with_capacity).collect();
    for flow in 0..number(layout.courses.len()) {
        for (&group, hop) in layout.path(flow).iter().zip(0..) {
            members[queue_of[group as usize] as usize].push((flow, hop));
        }
    }
    members
}
