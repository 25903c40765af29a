//! Servers, and flows that cross them.

use std::fmt;

use thiserror::Error;
use units::fine::{Data, Rate};

pub use crate::min_plus::piecewise::{RateLatency, TokenBucket};

/// The number of a server: its place in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(pub u32);

/// The number of a flow: its place in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// In which order a server serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Multiplexing {
    /// Any order among flows, first in first out within each.
    Arbitrary,
    /// First in first out among all.
    Fifo,
    /// The most urgent first, first in first out among equals; a packet that
    /// has begun is not interrupted.
    StrictPriority,
}

impl fmt::Display for Multiplexing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Arbitrary => "arbitrary",
            Self::Fifo => "fifo",
            Self::StrictPriority => "strict-priority",
        })
    }
}

/// A server: what all flows that cross it share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// What it does at least: the maximum of these, of which there is one or more.
    pub service: Vec<RateLatency>,
    /// The rate of the link behind it, if it is known.
    pub link: Option<Rate>,
    /// In which order it serves.
    pub multiplexing: Multiplexing,
}

/// A flow, as it is added to a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFlow {
    /// What arrives at most: the minimum of these, of which there is one or more.
    pub buckets: Vec<TokenBucket>,
    /// The servers that it crosses, each once.
    pub path: Vec<ServerId>,
    /// Its largest packet; zero for a fluid.
    pub max_packet: Data,
    /// How urgent it is where priority counts; 0 is the most urgent.
    pub priority: u8,
}

/// One flow at one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The flow.
    pub flow: FlowId,
    /// The place of the server in its path.
    pub hop: u32,
}

/// A network of servers, its flows and what they meet on their way.
///
/// Flows are kept in a few flat lists, so that a hundred thousand of them are
/// walked at the speed of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerGraph {
    /// Whether what a link carries counts as shaped by its rate.
    pub line_shaping: bool,
    /// Whether a packet leaves a server only when its last bit has been served.
    pub packetizer: bool,
    servers: Vec<Server>,
    shapes: Vec<FlowLayout>,
    paths: Vec<ServerId>,
    buckets: Vec<TokenBucket>,
    /// By server; the order is that of the flows.
    crossings: Vec<Vec<Crossing>>,
}

/// The part of a flow that has one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FlowLayout {
    path_begin: u32,
    path_end: u32,
    bucket_begin: u32,
    bucket_end: u32,
    max_packet: Data,
    priority: u8,
    /// The flow of which it is a branch, or the flow itself.
    trunk: FlowId,
    /// At how many of its first servers another branch is the same data.
    shared: u32,
}

impl ServerGraph {
    /// Returns a network without flows.
    ///
    /// # Errors
    ///
    /// If a server has no service, or none with a rate.
    pub fn new(servers: Vec<Server>) -> Result<Self, NetworkError> {
        for (server, at) in servers.iter().zip(0..) {
            if server.service.iter().all(|curve| curve.rate == Rate::ZERO) {
                let server = ServerId(at);
                return Err(NetworkError::NoService { server });
            }
        }
        Ok(Self {
            crossings: vec![Vec::new(); servers.len()],
            servers,
            ..Self::default()
        })
    }

    /// Adds a flow behind the others.
    ///
    /// # Errors
    ///
    /// If the flow has no bucket or no path, crosses a server that does not
    /// exist or one twice, or has a packet that no bucket has room for.
    pub fn add(&mut self, flow: &ServerFlow) -> Result<FlowId, NetworkError> {
        let id = FlowId(number(self.shapes.len()));
        self.add_as(flow, id)
    }

    /// Adds a branch of a multicast flow: what has come along the beginning of its
    /// path with `trunk`, or with a branch that was added right after that one, is
    /// the same data until they part, and then a copy of it.
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add).
    ///
    /// # Panics
    ///
    /// If there is no such flow.
    pub fn add_branch(&mut self, trunk: FlowId, path: &[ServerId]) -> Result<FlowId, NetworkError> {
        let flow = ServerFlow {
            buckets: self.buckets(trunk).to_vec(),
            path: path.to_vec(),
            max_packet: self.max_packet(trunk),
            priority: self.priority(trunk),
        };
        self.add_as(&flow, trunk)
    }

    fn add_as(&mut self, flow: &ServerFlow, trunk: FlowId) -> Result<FlowId, NetworkError> {
        flow.validate(self.servers.len())?;
        let id = FlowId(number(self.shapes.len()));
        let newest = self.flows().rev();
        let branches = newest.take_while(|other| self.shape(*other).trunk == trunk);
        let of = branches.chain((trunk != id).then_some(trunk));
        let shared = of.map(|other| {
            let pairs = self.path(other).iter().zip(&flow.path);
            number(pairs.take_while(|(theirs, ours)| theirs == ours).count())
        });
        let shared = shared.max().unwrap_or(0);
        for (server, hop) in flow.path.iter().zip(0..) {
            self.crossings[server.index()].push(Crossing { flow: id, hop });
        }
        let (path_begin, bucket_begin) = (number(self.paths.len()), number(self.buckets.len()));
        self.paths.extend_from_slice(&flow.path);
        self.buckets.extend_from_slice(&flow.buckets);
        self.shapes.push(FlowLayout {
            path_begin,
            path_end: number(self.paths.len()),
            bucket_begin,
            bucket_end: number(self.buckets.len()),
            max_packet: flow.max_packet,
            priority: flow.priority,
            trunk,
            shared,
        });
        Ok(id)
    }

    /// Returns the servers, in the order of their numbers.
    #[must_use]
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// Returns a server.
    #[must_use]
    pub fn server(&self, id: ServerId) -> &Server {
        &self.servers[id.index()]
    }

    /// Returns the numbers of all flows.
    pub fn flows(&self) -> impl ExactSizeIterator<Item = FlowId> + DoubleEndedIterator + use<> {
        (0..number(self.shapes.len())).map(FlowId)
    }

    /// Returns the servers that a flow crosses.
    #[must_use]
    pub fn path(&self, id: FlowId) -> &[ServerId] {
        let shape = self.shape(id);
        &self.paths[shape.path_begin as usize..shape.path_end as usize]
    }

    /// Returns the buckets whose minimum bounds a flow where it begins.
    #[must_use]
    pub fn buckets(&self, id: FlowId) -> &[TokenBucket] {
        let shape = self.shape(id);
        &self.buckets[shape.bucket_begin as usize..shape.bucket_end as usize]
    }

    /// Returns the largest packet of a flow.
    #[must_use]
    pub fn max_packet(&self, id: FlowId) -> Data {
        self.shape(id).max_packet
    }

    /// Returns how urgent a flow is; 0 is the most urgent.
    #[must_use]
    pub fn priority(&self, id: FlowId) -> u8 {
        self.shape(id).priority
    }

    /// Returns at how many of its first servers a flow is the same data as another
    /// branch of one multicast flow, which was added before.
    #[must_use]
    pub fn shared_hops(&self, id: FlowId) -> u32 {
        self.shape(id).shared
    }

    /// Returns the flows that cross a server, in the order of their numbers;
    /// branches of one flow each by itself.
    #[must_use]
    pub fn crossings(&self, server: ServerId) -> &[Crossing] {
        &self.crossings[server.index()]
    }

    /// Returns the servers in an order in which each stands behind all from which
    /// flows come to it.
    ///
    /// # Errors
    ///
    /// A server on a cycle, if there is one.
    pub fn feed_forward_order(&self) -> Result<Vec<ServerId>, ServerId> {
        let mut edges: Vec<(ServerId, ServerId)> = Vec::new();
        for flow in self.flows() {
            edges.extend(self.path(flow).windows(2).map(|pair| (pair[0], pair[1])));
        }
        edges.sort_unstable();
        edges.dedup();
        let mut waiting = vec![0u32; self.servers.len()];
        for (_, to) in &edges {
            waiting[to.index()] += 1;
        }
        let ids = (0..number(self.servers.len())).map(ServerId);
        let mut order: Vec<_> = ids.filter(|id| waiting[id.index()] == 0).collect();
        let mut next = 0;
        while let Some(&from) = order.get(next) {
            next += 1;
            let begin = edges.partition_point(|edge| edge.0 < from);
            for (_, to) in edges[begin..].iter().take_while(|edge| edge.0 == from) {
                waiting[to.index()] -= 1;
                if waiting[to.index()] == 0 {
                    order.push(*to);
                }
            }
        }
        match waiting.iter().position(|waiting| *waiting > 0) {
            None => Ok(order),
            Some(_) => Err(on_cycle(&edges, &waiting)),
        }
    }

    fn shape(&self, id: FlowId) -> &FlowLayout {
        &self.shapes[id.index()]
    }
}

impl ServerFlow {
    /// Checks that the flow makes sense among a number of servers.
    pub(crate) fn validate(&self, servers: usize) -> Result<(), NetworkError> {
        if self.buckets.is_empty() {
            return Err(NetworkError::NoBucket);
        }
        if self.path.is_empty() {
            return Err(NetworkError::NoPath);
        }
        for (at, server) in self.path.iter().enumerate() {
            if server.index() >= servers {
                return Err(NetworkError::UnknownServer { server: *server });
            }
            if self.path[..at].contains(server) {
                return Err(NetworkError::ServerTwice { server: *server });
            }
        }
        let burst = self.buckets.iter().map(|bucket| bucket.burst).min();
        let burst = burst.unwrap_or_default();
        if burst < self.max_packet {
            let max_packet = self.max_packet;
            return Err(NetworkError::BurstBelowPacket { burst, max_packet });
        }
        Ok(())
    }
}

impl ServerId {
    /// Returns the place of the server in the network.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl FlowId {
    /// Returns the place of the flow in the network.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Walks backwards among the servers that were left over, until one is met again.
fn on_cycle(edges: &[(ServerId, ServerId)], waiting: &[u32]) -> ServerId {
    let left = |id: &ServerId| waiting[id.index()] > 0;
    let start = edges.iter().find(|(_, to)| left(to));
    let mut at = start.expect("a server that waits has somebody before it").1;
    for _ in 0..waiting.len() {
        let before = edges.iter().find(|(from, to)| *to == at && left(from));
        at = before.expect("what a server waits for waits itself").0;
    }
    at
}

fn number(length: usize) -> u32 {
    u32::try_from(length).expect("memory ends before numbers")
}

/// Why something is no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// A server that never serves.
    #[error("server {} has no service with a rate", server.0)]
    NoService {
        /// The server.
        server: ServerId,
    },
    /// A flow without a bound on what arrives.
    #[error("a flow has no token bucket")]
    NoBucket,
    /// A flow that crosses nothing.
    #[error("a flow crosses no server")]
    NoPath,
    /// A flow crosses a server that does not exist.
    #[error("there is no server {}", server.0)]
    UnknownServer {
        /// The server named.
        server: ServerId,
    },
    /// A flow crosses a server more than once.
    #[error("a flow crosses server {} twice", server.0)]
    ServerTwice {
        /// The server.
        server: ServerId,
    },
    /// No packet of the largest size could ever be sent.
    #[error("a burst of {} ubit has no room for a packet of {} ubit", burst.as_ubits(), max_packet.as_ubits())]
    BurstBelowPacket {
        /// The smallest burst of the flow's buckets.
        burst: Data,
        /// Its largest packet.
        max_packet: Data,
    },
}

#[cfg(test)]
mod tests {
    use units::fine::Time;

    use super::*;

    #[test]
    fn servers_stand_behind_those_before_them() {
        let network = network(4, &[&[2, 0, 3], &[1, 0]]);

        let order = network.feed_forward_order().unwrap();

        let place = |id| order.iter().position(|at| *at == ServerId(id)).unwrap();
        assert_eq!(order.len(), 4);
        assert!(place(2) < place(0) && place(1) < place(0) && place(0) < place(3));
    }

    #[test]
    fn a_cycle_is_named_by_a_server_on_it() {
        let network = network(5, &[&[0, 1, 2], &[2, 3], &[3, 1], &[3, 4]]);

        let on_cycle = network.feed_forward_order().unwrap_err();

        assert!((1..=3).contains(&on_cycle.0), "{on_cycle:?}");
    }

    #[test]
    fn a_flow_that_makes_no_sense_is_refused_and_leaves_no_trace() {
        let mut network = network(2, &[&[0, 1]]);
        let before = network.clone();
        let flow = flow(&[0, 1]);
        let twice = ServerFlow {
            path: vec![ServerId(1), ServerId(0), ServerId(1)],
            ..flow.clone()
        };
        let unknown = ServerFlow {
            path: vec![ServerId(0), ServerId(2)],
            ..flow.clone()
        };
        let large = ServerFlow {
            max_packet: Data::from_ubits(2),
            ..flow
        };

        let server = ServerId(1);
        assert_eq!(
            network.add(&twice),
            Err(NetworkError::ServerTwice { server })
        );
        let server = ServerId(2);
        assert_eq!(
            network.add(&unknown),
            Err(NetworkError::UnknownServer { server })
        );
        assert!(matches!(
            network.add(&large),
            Err(NetworkError::BurstBelowPacket { .. })
        ));
        assert_eq!(network, before);
    }

    #[test]
    fn a_server_knows_who_crosses_it_and_where_on_the_way() {
        let network = network(3, &[&[0, 2], &[1, 2], &[1]]);

        let at_two = network.crossings(ServerId(2));

        let crossing = |flow, hop| Crossing {
            flow: FlowId(flow),
            hop,
        };
        assert_eq!(at_two, [crossing(0, 1), crossing(1, 1)]);
    }

    fn network(servers: usize, paths: &[&[u32]]) -> ServerGraph {
        let server = Server {
            service: vec![RateLatency {
                rate: Rate::from_ubps(100),
                latency: Time::ZERO,
            }],
            link: None,
            multiplexing: Multiplexing::Fifo,
        };
        let mut network = ServerGraph::new(vec![server; servers]).unwrap();
        for path in paths {
            network.add(&flow(path)).unwrap();
        }
        network
    }

    fn flow(path: &[u32]) -> ServerFlow {
        ServerFlow {
            buckets: vec![TokenBucket {
                rate: Rate::from_ubps(1),
                burst: Data::from_ubits(1),
            }],
            path: path.iter().copied().map(ServerId).collect(),
            max_packet: Data::ZERO,
            priority: 0,
        }
    }
}
