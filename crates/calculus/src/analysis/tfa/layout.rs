//! The network as the engine walks it: flat lists of numbers.
//!
//! A *queue* is a server, or one class of a server with strict priority: all that
//! is there has one delay. A *group* is what comes to a queue over one link, or
//! what begins there. A flow is a list of groups, one for each server of its
//! path; what the flows of a group share is kept as sums.

use units::fine::{Data, Rate, Time};

use super::group_index::GroupIndex;
use crate::analysis::network::{FlowId, Multiplexing, Server, ServerGraph, ServerId};
use crate::min_plus::piecewise::{Concave, Convex, CurveSum, TokenBucket};

/// Where a group comes from whose flows begin at its queue.
pub(super) const NOWHERE: u32 = u32::MAX;

/// A server and its queues.
#[derive(Clone, Debug)]
pub(super) struct ServerLayout {
    pub(super) service: Convex,
    pub(super) link: Option<Rate>,
    pub(super) multiplexing: Multiplexing,
    /// The most urgent first; one, unless priority counts.
    pub(super) queues: Vec<u32>,
}

/// What waits together at a server.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub(super) station: u32,
    pub(super) class: Option<u8>,
    pub(super) groups: Vec<u32>,
    /// How many flows of several buckets there are.
    pub(super) curved: u32,
    pub(super) largest_packet: Data,
}

/// What comes to a queue over one link.
#[derive(Clone, Debug)]
pub(super) struct QueueInput {
    /// The server before, or [`NOWHERE`].
    pub(super) from: u32,
    pub(super) queue: u32,
    pub(super) largest_packet: Data,
    /// The sums over its flows of one bucket, in the units of the types.
    pub(super) rate: u128,
    pub(super) burst: u128,
}

/// Where a flow goes: groups `begin..end` of the list of hops.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlowCourse {
    pub(super) begin: u32,
    /// Before this group of the list another branch of the flow counts for it.
    pub(super) counted: u32,
    pub(super) end: u32,
    /// Zero for a flow of several buckets, which has a curve instead.
    pub(super) rate: u64,
}

/// What a flow may send.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowContract {
    pub(super) burst: Data,
    pub(super) packet: Data,
    pub(super) curve: Option<Concave>,
}

/// Servers, queues, groups and flows.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) stations: Vec<ServerLayout>,
    pub(super) queues: Vec<Queue>,
    pub(super) groups: Vec<QueueInput>,
    pub(super) courses: Vec<FlowCourse>,
    pub(super) contracts: Vec<FlowContract>,
    /// The groups that the flows belong to, flow by flow.
    pub(super) hops: Vec<u32>,
    /// By group, its flows of several buckets and the hops at which they are, up to
    /// the last group that has any.
    curved: Vec<Vec<(u32, u32)>>,
    pub(super) packetizer: bool,
    pub(super) line_shaping: bool,
    /// By station, its only queue, or [`NOWHERE`] where priority counts.
    only_queue: Vec<u32>,
    /// Where flows come and go, all groups.
    index: GroupIndex,
}

impl Layout {
    /// Lays out the servers and all flows of a network.
    pub(super) fn of(network: &ServerGraph) -> Self {
        let stations = network.servers().iter().map(ServerLayout::of).collect();
        let mut layout = Self {
            stations,
            queues: Vec::new(),
            groups: Vec::new(),
            courses: Vec::with_capacity(network.flows().len()),
            contracts: Vec::with_capacity(network.flows().len()),
            hops: Vec::new(),
            curved: Vec::new(),
            packetizer: network.packetizer,
            line_shaping: network.line_shaping,
            only_queue: vec![NOWHERE; network.servers().len()],
            index: GroupIndex::default(),
        };
        for (station, at) in (0..).zip(0..layout.stations.len()) {
            if layout.stations[at].multiplexing != Multiplexing::StrictPriority {
                layout.only_queue[at] = layout.open(station, None);
            }
        }
        let mut begin = 0;
        for flow in network.flows() {
            let (rate, contract) = contract(network.buckets(flow), network.max_packet(flow));
            let end = begin + number(network.path(flow).len());
            layout.courses.push(FlowCourse {
                begin,
                counted: begin + network.shared_hops(flow),
                end,
                rate: rate.as_ubps(),
            });
            layout.contracts.push(contract);
            begin = end;
        }
        layout.hops.resize(begin as usize, 0);
        layout.fill(network);
        layout
    }

    /// Puts all flows into groups, server by server: what is looked at for one is
    /// near at hand for the next flow.
    fn fill(&mut self, network: &ServerGraph) {
        // By class and the server before, the newest group of the class from it.
        let mut newest: Vec<Vec<u32>> = vec![Vec::new(); 1 << u8::BITS];
        for station in 0..number(self.stations.len()) {
            let first = number(self.groups.len());
            for crossing in network.crossings(ServerId(station)) {
                let (flow, hop) = (crossing.flow, crossing.hop);
                let before = hop.checked_sub(1).map(|at| network.path(flow)[at as usize]);
                let priority = network.priority(flow);
                let queue = self.queue(station, priority);
                let newest = &mut newest[match self.queues[queue as usize].class {
                    Some(class) => usize::from(class),
                    None => 0,
                }];
                newest.resize(self.stations.len() + 1, NOWHERE);
                let newest = &mut newest[before.map_or(0, |from| from.index() + 1)];
                let known = Some(*newest).filter(|group| (first..NOWHERE).contains(group));
                let group = known.unwrap_or_else(|| {
                    let group = self.open_group((before.map_or(NOWHERE, |from| from.0), queue));
                    *newest = group;
                    group
                });
                let course = self.courses[flow.index()];
                self.hops[(course.begin + hop) as usize] = group;
                if course.begin + hop >= course.counted {
                    self.join(group, (flow.0, hop));
                }
            }
        }
    }

    /// Makes it possible to put flows in.
    pub(super) fn index_groups(&mut self) {
        for (group, id) in self.groups.iter().zip(0..) {
            self.index.insert((group.from, group.queue), id);
        }
    }

    /// The flows of several buckets in a group, and the hops at which they are.
    pub(super) fn curved(&self, group: u32) -> &[(u32, u32)] {
        self.curved.get(group as usize).map_or(&[], Vec::as_slice)
    }

    /// The rate of the link that a group comes over, if it counts.
    pub(super) fn line(&self, group: u32) -> Option<Rate> {
        let before = self
            .stations
            .get(self.groups[group as usize].from as usize)?;
        before
            .link
            .filter(|rate| self.line_shaping && *rate > Rate::ZERO)
    }

    /// Puts a flow into a place that another has left, of as many hops from a
    /// first one on, or behind all others.
    pub(super) fn insert(
        &mut self,
        (path, buckets): (&[ServerId], &[TokenBucket]),
        packet: Data,
        priority: u8,
        place: Option<(u32, u32)>,
    ) -> FlowId {
        let (id, begin) = place.unwrap_or_else(|| {
            let place = (number(self.courses.len()), number(self.hops.len()));
            self.courses.push(FlowCourse::default());
            self.contracts.push(FlowContract::default());
            self.hops.resize(self.hops.len() + path.len(), 0);
            place
        });
        let (rate, contract) = contract(buckets, packet);
        self.courses[id as usize] = FlowCourse {
            begin,
            counted: begin,
            end: begin + number(path.len()),
            rate: rate.as_ubps(),
        };
        self.contracts[id as usize] = contract;
        let mut from = NOWHERE;
        for (server, hop) in path.iter().zip(0..) {
            let group = self.enter((from, server.0), priority);
            self.join(group, (id, hop));
            self.hops[(begin + hop) as usize] = group;
            from = server.0;
        }
        FlowId(id)
    }

    /// Takes a flow out of the sums of a group of whose queue the others are
    /// `members`.
    pub(super) fn leave(&mut self, at: u32, (flow, hop): (u32, u32), members: &[(u32, u32)]) {
        let contract = &self.contracts[flow as usize];
        let group = &mut self.groups[at as usize];
        if contract.curve.is_some() {
            let curved = &mut self.curved[at as usize];
            curved.retain(|member| *member != (flow, hop));
            self.queues[group.queue as usize].curved -= 1;
        } else {
            group.rate -= u128::from(self.courses[flow as usize].rate);
            group.burst -= u128::from(contract.burst.as_ubits());
        }
        if contract.packet == group.largest_packet {
            let inside = members.iter().filter(|(flow, hop)| {
                let course = self.courses[*flow as usize];
                self.hops[(course.begin + hop) as usize] == at
            });
            let packets = inside.map(|(flow, _)| self.contracts[*flow as usize].packet);
            group.largest_packet = packets.max().unwrap_or_default();
            let groups = self.queues[group.queue as usize].groups.iter();
            let packets = groups.map(|group| self.groups[*group as usize].largest_packet);
            let largest = packets.max().unwrap_or_default();
            let queue = self.groups[at as usize].queue;
            self.queues[queue as usize].largest_packet = largest;
        }
    }

    /// Makes the place of a flow empty.
    pub(super) fn vacate(&mut self, flow: FlowId) {
        self.courses[flow.index()] = FlowCourse::default();
        self.contracts[flow.index()] = FlowContract::default();
    }

    /// The groups of a flow, in the order of its path.
    pub(super) fn path(&self, flow: u32) -> &[u32] {
        let course = self.courses[flow as usize];
        &self.hops[course.begin as usize..course.end as usize]
    }

    /// The queue of a server for a priority; a new one if there is none.
    fn queue(&mut self, station: u32, priority: u8) -> u32 {
        match self.only_queue[station as usize] {
            NOWHERE => {
                let queues = self.stations[station as usize].queues.iter().copied();
                let class = Some(priority);
                let known = { queues }.find(|&queue| self.queues[queue as usize].class == class);
                known.unwrap_or_else(|| self.open(station, class))
            }
            only => only,
        }
    }

    fn open(&mut self, station: u32, class: Option<u8>) -> u32 {
        let id = number(self.queues.len());
        self.queues.push(Queue {
            station,
            class,
            groups: Vec::new(),
            curved: 0,
            largest_packet: Data::ZERO,
        });
        let queues = &mut self.stations[station as usize].queues;
        let place = queues.partition_point(|&other| self.queues[other as usize].class < class);
        queues.insert(place, id);
        id
    }

    /// The group from one server to a queue of another; a new one if there is none.
    fn enter(&mut self, (from, to): (u32, u32), priority: u8) -> u32 {
        let queue = self.queue(to, priority);
        if let Some(group) = self.index.get((from, queue)) {
            return group;
        }
        let id = self.open_group((from, queue));
        self.index.insert((from, queue), id);
        id
    }

    fn open_group(&mut self, (from, queue): (u32, u32)) -> u32 {
        let id = number(self.groups.len());
        self.groups.push(QueueInput {
            from,
            queue,
            largest_packet: Data::ZERO,
            rate: 0,
            burst: 0,
        });
        self.queues[queue as usize].groups.push(id);
        id
    }

    fn join(&mut self, id: u32, (flow, hop): (u32, u32)) {
        let (course, contract) = (&self.courses[flow as usize], &self.contracts[flow as usize]);
        let group = &mut self.groups[id as usize];
        let queue = &mut self.queues[group.queue as usize];
        group.largest_packet = group.largest_packet.max(contract.packet);
        queue.largest_packet = queue.largest_packet.max(contract.packet);
        if contract.curve.is_some() {
            let groups = self.curved.len().max(id as usize + 1);
            self.curved.resize_with(groups, Vec::new);
            self.curved[id as usize].push((flow, hop));
            queue.curved += 1;
        } else {
            group.rate += u128::from(course.rate);
            group.burst += u128::from(contract.burst.as_ubits());
        }
    }
}

impl ServerLayout {
    fn of(server: &Server) -> Self {
        Self {
            service: Convex::maximum_of(server.service.iter().copied()),
            link: server.link,
            multiplexing: server.multiplexing,
            queues: Vec::new(),
        }
    }
}

impl FlowContract {
    /// Adds the bound of a flow of several buckets that has been delayed by up to
    /// `spread`.
    pub(super) fn add_after(&self, spread: Time, sum: &mut CurveSum) -> Option<()> {
        let curve = self.curve.as_ref()?;
        let later = |piece: &TokenBucket| {
            let burst = piece.burst.checked_add(piece.rate.most_in(spread)?)?;
            Some(TokenBucket { burst, ..*piece })
        };
        if let [fast, slow] = curve.pieces()
            && let (Some(fast), Some(slow)) = (later(fast), later(slow))
        {
            return sum.add_minimum(fast, slow);
        }
        sum.add(&curve.spread_by(spread)?)
    }
}

/// A rate and a burst, or a curve if several buckets count.
fn contract(buckets: &[TokenBucket], packet: Data) -> (Rate, FlowContract) {
    let straight = |only: TokenBucket| {
        let (burst, curve) = (only.burst, None);
        (
            only.rate,
            FlowContract {
                burst,
                packet,
                curve,
            },
        )
    };
    if let [only] = *buckets {
        return straight(only);
    }
    let curve = Concave::minimum_of(buckets.iter().copied());
    let curve = curve.expect("a flow of a network has a bucket");
    match *curve.pieces() {
        [only] => straight(only),
        _ => {
            let (burst, curve) = (Data::ZERO, Some(curve));
            (
                Rate::ZERO,
                FlowContract {
                    burst,
                    packet,
                    curve,
                },
            )
        }
    }
}

pub(super) fn number(length: usize) -> u32 {
    u32::try_from(length).expect("memory ends before numbers")
}
