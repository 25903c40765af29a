//! Runs a network of servers under given conditions.
//!
//! Packets arrive at a server as a whole and leave it when their last bit has
//! been served, which is what a packetizer does. A fluid is sent in granules,
//! small packets of one size; where the network has no packetizer each server
//! gets a head start worth what its granules wait for themselves, so that no bit
//! leaves later than its service curve allows a fluid. Where links shape fluids,
//! the first bits of a granule have gone on before the last has come, so of each
//! backlog as many granules are not counted as the head start covers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use calculus::analysis::{FlowId, Multiplexing, ServerGraph, ServerId};
use units::fine::{Data, Rate, Time};

use super::behaviour::{Behaviour, Choice, ServicePace};
use super::observed::ObservedMaxima;
use super::source::{self, Emission, Pattern};

/// A burst is cut into about so many granules.
const GRANULES_OF_A_BURST: u64 = 10;

/// What the adversary settles before a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// By flow: what its source does.
    pub patterns: Vec<Pattern>,
    /// By server: how late it is.
    pub behaviours: Vec<Behaviour>,
    /// By flow: a lower one goes first where a server may choose.
    pub ranks: Vec<u32>,
    pub until_fs: u64,
}

/// Runs one network again and again.
#[derive(Debug)]
pub struct Simulator<'a> {
    network: &'a ServerGraph,
    /// By flow: the largest packet, or the granule.
    largest: Vec<u64>,
    paces: Vec<ServicePace>,
    /// By server: what is not counted of its backlog.
    uncounted: Vec<u64>,
    servers: Vec<ServerState>,
    packets: Vec<ServerPacket>,
    /// When each packet came to each server of its path.
    arrivals: Vec<u64>,
    sources: Vec<std::vec::IntoIter<Emission>>,
    in_network: Vec<u64>,
    calendar: BinaryHeap<Reverse<Event>>,
    events: u64,
}

#[derive(Clone, Copy, Debug)]
struct ServerPacket {
    flow: u32,
    hop: u32,
    ubits: u64,
    first: u32,
    end_to_end: u64,
    /// Its rank where it comes next.
    rank: u32,
    /// How much had happened when it was sent or handed on.
    order: u64,
}

#[derive(Clone, Debug, Default)]
struct ServerState {
    waiting: BinaryHeap<Reverse<Ticket>>,
    serves: Option<u32>,
    /// Whether it has settled when it chooses the next packet.
    chooses: bool,
    /// When it began to be lazy, if it is.
    lazy_since: Option<u64>,
    /// What it has served since then.
    work: u64,
    backlog: u64,
    /// When the last packet left, and its rank among those that left then.
    last_left: (u64, u32),
}

/// The place of a packet among those that wait: the lowest goes first. Of packets
/// that arrive at one time the adversary chooses, but those from one server stay in
/// the order in which they left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ticket {
    urgency: u32,
    arrived_fs: u64,
    rank: u32,
    order: u64,
    packet: u32,
}

/// What happens next. At one time packets leave first, then others arrive, and
/// then servers choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at_fs: u64,
    kind: ServerEvent,
    subject: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ServerEvent {
    Leaves,
    Arrives,
    Sends,
    Chooses,
}

impl<'a> Simulator<'a> {
    /// Prepares a network, or returns nothing if it is a fluid whose servers
    /// have no latency that granules could be hidden in.
    #[must_use]
    pub fn new(network: &'a ServerGraph) -> Option<Self> {
        let granule = match network.packetizer {
            true => None,
            false => Some(granule(network)?),
        };
        let largest = |flow| match granule {
            None => network.max_packet(flow).as_ubits(),
            Some(granule) => granule.as_ubits().min(burst(network, flow).as_ubits()),
        };
        let pace = |(server, at): (_, u32)| {
            let head_start = granule.map_or(0, |it| head_start(network, ServerId(at), it));
            ServicePace::new(server, network.line_shaping, head_start)
        };
        let uncounted = |at| match granule {
            Some(granule) if network.line_shaping => {
                granule.as_ubits() * granules_hidden(network, ServerId(at))
            }
            Some(_) | None => 0,
        };
        Some(Self {
            network,
            uncounted: (0..number(network.servers().len()))
                .map(uncounted)
                .collect(),
            largest: network.flows().map(largest).collect(),
            paces: network.servers().iter().zip(0..).map(pace).collect(),
            servers: vec![ServerState::default(); network.servers().len()],
            packets: Vec::new(),
            arrivals: Vec::new(),
            sources: Vec::new(),
            in_network: Vec::new(),
            calendar: BinaryHeap::new(),
            events: 0,
        })
    }

    /// Returns how many events there have been in all runs.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Runs until nothing is under way, and notes what exceeds what had been seen.
    ///
    /// # Panics
    ///
    /// If the conditions are those of another network.
    pub fn run(&mut self, conditions: &Conditions, observed: &mut ObservedMaxima) {
        assert_eq!(conditions.patterns.len(), self.largest.len());
        assert_eq!(conditions.behaviours.len(), self.paces.len());
        self.start(conditions);
        while let Some(Reverse(event)) = self.calendar.pop() {
            self.events += 1;
            match event.kind {
                ServerEvent::Leaves => self.leave(event, conditions, observed),
                ServerEvent::Arrives => self.arrive(event, conditions, observed),
                ServerEvent::Sends => self.send(event, conditions),
                ServerEvent::Chooses => self.choose(event, conditions),
            }
        }
    }

    /// Returns the end-to-end delay of the latest packet of a flow in the last run
    /// and when it came to each server of its path.
    #[must_use]
    pub fn latest(&self, flow: FlowId) -> Option<(Time, &[u64])> {
        let of_flow = self.packets.iter().filter(|it| it.flow == flow.0);
        let latest = of_flow.max_by_key(|it| it.end_to_end)?;
        let first = latest.first as usize;
        let hops = self.network.path(flow).len();
        let arrivals = &self.arrivals[first..first + hops];
        Some((Time::from_fs(latest.end_to_end), arrivals))
    }

    /// Returns when the last packet of a flow's first burst came to a hop of its
    /// path in the last run.
    #[must_use]
    pub fn burst_at(&self, flow: FlowId, hop: usize) -> Option<u64> {
        let mut of_flow = self.packets.iter().filter(|it| it.flow == flow.0);
        let first = of_flow.next()?;
        let begin = self.arrivals[first.first as usize];
        let together = of_flow.take_while(|it| self.arrivals[it.first as usize] == begin);
        let last = together.last().unwrap_or(first);
        Some(self.arrivals[last.first as usize + hop])
    }

    /// Returns by server what passed it in the last run: when it came, when it
    /// left, and how much it was.
    #[cfg(test)]
    fn passages(&self) -> Vec<Vec<(u64, u64, u64)>> {
        let mut passages = vec![Vec::new(); self.paces.len()];
        for packet in &self.packets {
            let path = self.network.path(FlowId(packet.flow));
            let first = packet.first as usize;
            let came = &self.arrivals[first..first + path.len()];
            let last = came[0] + packet.end_to_end;
            let left = came[1..].iter().chain([&last]);
            for ((server, came), left) in path.iter().zip(came).zip(left) {
                passages[server.index()].push((*came, *left, packet.ubits));
            }
        }
        passages
    }

    fn start(&mut self, conditions: &Conditions) {
        self.packets.clear();
        self.arrivals.clear();
        self.sources.clear();
        for state in &mut self.servers {
            debug_assert!(state.waiting.is_empty() && state.serves.is_none());
            (state.lazy_since, state.last_left) = (None, (0, 0));
        }
        self.in_network.clear();
        self.in_network.resize(self.largest.len(), 0);
        for (flow, pattern) in self.network.flows().zip(&conditions.patterns) {
            let buckets = self.network.buckets(flow);
            let largest = self.largest[flow.index()];
            let emissions = source::emissions(buckets, largest, pattern, conditions.until_fs);
            if let Some(first) = emissions.first() {
                self.schedule(first.at_fs, ServerEvent::Sends, flow.0);
            }
            self.sources.push(emissions.into_iter());
        }
    }

    /// Lets a source put its next packet into the network.
    fn send(&mut self, event: Event, conditions: &Conditions) {
        let source = &mut self.sources[event.subject as usize];
        let emission = source.next().expect("a source sends what it has");
        let next = source.as_slice().first().map(|next| next.at_fs);
        if let Some(at_fs) = next {
            self.schedule(at_fs, ServerEvent::Sends, event.subject);
        }
        let packet = number(self.packets.len());
        self.packets.push(ServerPacket {
            rank: conditions.ranks[event.subject as usize],
            order: self.events,
            flow: event.subject,
            hop: 0,
            ubits: emission.ubits,
            first: number(self.arrivals.len()),
            end_to_end: 0,
        });
        let hops = self.network.path(FlowId(event.subject)).len();
        self.arrivals.resize(self.arrivals.len() + hops, 0);
        self.schedule(event.at_fs, ServerEvent::Arrives, packet);
    }

    fn arrive(&mut self, event: Event, conditions: &Conditions, observed: &mut ObservedMaxima) {
        let packet = self.packets[event.subject as usize];
        let flow = FlowId(packet.flow);
        self.arrivals[(packet.first + packet.hop) as usize] = event.at_fs;
        if packet.hop == 0 {
            let amount = &mut self.in_network[flow.index()];
            *amount += packet.ubits;
            let last = self
                .network
                .path(flow)
                .last()
                .expect("a path ends somewhere");
            let backlog = amount.saturating_sub(self.uncounted[last.index()]);
            let most = &mut observed.backlogs[flow.index()];
            *most = (*most).max(Data::from_ubits(backlog));
        }
        let path = self.network.path(flow);
        let server = path[packet.hop as usize];
        let ticket = self.ticket(event, conditions.ranks[flow.index()], server);
        let state = &mut self.servers[server.index()];
        state.waiting.push(Reverse(ticket));
        state.backlog += packet.ubits;
        let backlog = state.backlog.saturating_sub(self.uncounted[server.index()]);
        let most = &mut observed.server_backlogs[server.index()];
        *most = (*most).max(Data::from_ubits(backlog));
        if state.serves.is_none() && !state.chooses {
            self.begin(event.at_fs, server, conditions);
        }
    }

    /// Returns the rank of a packet that left a server just now: no lower than that
    /// of one that left at the same time before it.
    fn rank_behind(&mut self, server: ServerId, now: u64, rank: u32) -> u32 {
        let last_left = &mut self.servers[server.index()].last_left;
        let rank = match *last_left {
            (at, last) if at == now => rank.max(last),
            _ => rank,
        };
        *last_left = (now, rank);
        rank
    }

    fn ticket(&self, event: Event, preference: u32, server: ServerId) -> Ticket {
        let packet = &self.packets[event.subject as usize];
        let urgency = match self.network.server(server).multiplexing {
            Multiplexing::Fifo => 0,
            Multiplexing::Arbitrary => preference,
            Multiplexing::StrictPriority => self.network.priority(FlowId(packet.flow)).into(),
        };
        Ticket {
            urgency,
            arrived_fs: event.at_fs,
            rank: packet.rank,
            order: packet.order,
            packet: event.subject,
        }
    }

    /// A server without work gets some.
    fn begin(&mut self, now: u64, server: ServerId, conditions: &Conditions) {
        let behaviour = &conditions.behaviours[server.index()];
        let state = &mut self.servers[server.index()];
        let mut chooses_at = now;
        if now >= behaviour.lazy_from_fs {
            state.lazy_since = Some(now);
            state.work = 0;
            if behaviour.choice == Choice::Late {
                let idle = self.paces[server.index()].done_after(Data::ZERO);
                chooses_at += idle.min(behaviour.lets_go_after_fs);
            }
        } else {
            state.lazy_since = None;
        }
        state.chooses = true;
        self.schedule(chooses_at, ServerEvent::Chooses, server.0);
    }

    fn choose(&mut self, event: Event, conditions: &Conditions) {
        let at = event.subject as usize;
        let state = &mut self.servers[at];
        let Reverse(ticket) = state.waiting.pop().expect("a server chooses among packets");
        let ubits = self.packets[ticket.packet as usize].ubits;
        state.chooses = false;
        state.serves = Some(ticket.packet);
        let pace = &self.paces[at];
        let eager = event.at_fs + pace.on_link(Data::from_ubits(ubits));
        let leaves_at = match state.lazy_since {
            None => eager,
            Some(since) => {
                state.work += ubits;
                let work = Data::from_ubits(state.work);
                let done = since.saturating_add(pace.done_after(work));
                let age = conditions.behaviours[at].lets_go_after_fs;
                match since.checked_add(age).filter(|lets_go| *lets_go < done) {
                    None => done.max(event.at_fs),
                    Some(lets_go) => {
                        let held = work.checked_sub(pace.done_in(age)).unwrap_or_default();
                        let on_link = pace.on_link(held);
                        done.min(lets_go + on_link).max(event.at_fs)
                    }
                }
            }
        };
        self.schedule(leaves_at, ServerEvent::Leaves, event.subject);
    }

    fn leave(&mut self, event: Event, conditions: &Conditions, observed: &mut ObservedMaxima) {
        let server = ServerId(event.subject);
        let state = &mut self.servers[server.index()];
        let id = state.serves.take().expect("what leaves was served");
        let preference = conditions.ranks[self.packets[id as usize].flow as usize];
        let rank = self.rank_behind(server, event.at_fs, preference);
        let (state, order) = (&mut self.servers[server.index()], self.events);
        let packet = &mut self.packets[id as usize];
        (packet.rank, packet.order) = (rank, order);
        state.backlog -= packet.ubits;
        let (flow, hop) = (packet.flow as usize, packet.hop as usize);
        let arrived = self.arrivals[packet.first as usize + hop];
        let most = &mut observed.hop_delays[flow][hop];
        *most = (*most).max(Time::from_fs(event.at_fs - arrived));
        if hop + 1 < observed.hop_delays[flow].len() {
            packet.hop += 1;
            self.schedule(event.at_fs, ServerEvent::Arrives, id);
        } else {
            packet.end_to_end = event.at_fs - self.arrivals[packet.first as usize];
            let most = &mut observed.delays[flow];
            *most = (*most).max(Time::from_fs(packet.end_to_end));
            self.in_network[flow] -= packet.ubits;
        }
        self.go_on(event.at_fs, server, conditions);
    }

    /// A server is done with a packet and may have others.
    fn go_on(&mut self, now: u64, server: ServerId, conditions: &Conditions) {
        let state = &mut self.servers[server.index()];
        if state.waiting.is_empty() {
            return;
        }
        let lazy_from = conditions.behaviours[server.index()].lazy_from_fs;
        if state.lazy_since.is_none() && now >= lazy_from {
            self.begin(now, server, conditions);
        } else {
            state.chooses = true;
            self.schedule(now, ServerEvent::Chooses, server.0);
        }
    }

    fn schedule(&mut self, at_fs: u64, kind: ServerEvent, subject: u32) {
        self.calendar.push(Reverse(Event {
            at_fs,
            kind,
            subject,
        }));
    }
}

/// Returns the most that a flow sends at once.
fn burst(network: &ServerGraph, flow: FlowId) -> Data {
    let bursts = network.buckets(flow).iter().map(|bucket| bucket.burst);
    bursts.min().unwrap_or_default()
}

/// Returns a granule that cuts the largest burst finely and fits into every latency.
fn granule(network: &ServerGraph) -> Option<Data> {
    let largest = network.flows().map(|flow| burst(network, flow)).max()?;
    let mut granule = largest.as_ubits().div_ceil(GRANULES_OF_A_BURST);
    for (server, at) in network.servers().iter().zip(0..) {
        let latency = server.service.iter().map(|it| it.latency).min()?;
        let served = slowest(network, ServerId(at)).least_in(latency);
        granule = granule.min(served.as_ubits() / granules_hidden(network, ServerId(at)));
    }
    // Whole bits take a whole number of femtoseconds.
    let bits = granule / 1_000_000;
    (bits > 0).then(|| Data::of_bits(bits))?
}

/// Returns how much earlier a server begins because it serves granules.
fn head_start(network: &ServerGraph, server: ServerId, granule: Data) -> u64 {
    let hidden = granule.as_ubits() * granules_hidden(network, server);
    let time = slowest(network, server).longest_for(Data::from_ubits(hidden));
    time.map_or(0, Time::as_fs)
}

/// Returns how many granules a server has to make up for: the one that it serves
/// and, where links shape fluids, one from each server before it and one more for
/// the pace of the link.
fn granules_hidden(network: &ServerGraph, server: ServerId) -> u64 {
    if !network.line_shaping {
        return 1;
    }
    let crossings = network.crossings(server).iter();
    let mut before: Vec<_> = crossings
        .filter_map(|it| Some(network.path(it.flow)[it.hop.checked_sub(1)? as usize]))
        .collect();
    before.sort_unstable();
    before.dedup();
    2 + before.len() as u64
}

fn slowest(network: &ServerGraph, server: ServerId) -> Rate {
    let rates = network.server(server).service.iter().map(|it| it.rate);
    let serving = rates.filter(|rate| *rate > Rate::ZERO);
    serving.min().unwrap_or_default()
}

fn number(length: usize) -> u32 {
    u32::try_from(length).expect("a run ends before its packets are that many")
}

#[cfg(test)]
mod tests;
