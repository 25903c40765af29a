//! FIFO networks by linear programs whose solutions are proven in whole
//! numbers, in the manner of PLP.
//!
//! The worst case of a network of first-in-first-out servers is what a linear
//! program finds that knows *when* something may happen and *how much* arrives
//! in between; what is too much for one program is found by others before it.
//!
//! | module | does |
//! |--------|------|
//! | [`facts`]    | numbers what is found of a network: delays of servers, bursts of flows and of groups |
//! | [`claim`]    | says how each is found from others |
//! | [`components`] | orders servers: those before first, those of a cycle together |
//! | [`fixed_point`] | finds the facts of a cycle |
//! | [`tree`]     | chooses the servers that a program looks at |
//! | [`model`]    | writes the program: dates, data between them, constraints |
//! | [`program`]  | holds it, in the whole numbers of [`scale`] |
//! | [`simplex`]  | searches its multipliers in floating point, and is not trusted |
//! | [`proof`]    | computes what the multipliers prove, in whole numbers |
//!
//! # Differs from the paper
//!
//! - The paper cuts a network into a forest and cuts no arc twice. Here each
//!   question has a tree of its own: the path, and up to [`claim::TREE_LIMIT`]
//!   servers from which others come. Bursts are known at every hop, so a tree may
//!   end anywhere.
//! - All flows of an arc have a burst together, smaller than the sum of theirs:
//!   what left a server until one date has not left it after. It is asked of a
//!   program of its own and a constraint of all others. This gains more than
//!   larger trees do.
//! - A flow's burst is how far its arrivals may be ahead of what has left, not
//!   its burst at first and its rate times its delay: a burst that is delayed
//!   by itself counts once.
//! - Flows with the same way through a tree are one.
//! - The delay of a server is itself the optimum of a program.
//! - The optimum is not believed: its dual proves it, in whole numbers.
//!
//! # Left out
//!
//! - Of a flow with more than two buckets, those between the one of the lowest
//!   rate and the one of the smallest burst. Behind a server, the latter grows by
//!   its rate and the server's delay, without a program of its own.
//! - The backlog is what may arrive within the delay, not a program of its own.
//! - Paths are cut after [`claim::PATH_LIMIT`] servers.

mod claim;
mod components;
mod facts;
mod fixed_point;
mod model;
mod program;
mod proof;
mod scale;
mod simplex;
mod tree;

use units::fine::{Data, Time};

use super::{
    Analysis, FlowBound, FlowId, Method, Multiplexing, Network, NotApplicable, ServerId, tfa,
};
use claim::Claim;
use components::components;
use facts::{Facts, Map};

/// Returns the bounds of all flows.
///
/// # Errors
///
/// If a server does not serve first in first out.
pub fn analyze(network: &Network) -> Result<Analysis, NotApplicable> {
    check(network)?;
    let found = Found::new(network)?;
    Ok(Analysis {
        flows: network.flows().map(|flow| found.bound(flow)).collect(),
        notes: Vec::new(),
    })
}

/// Returns the bounds of one flow.
///
/// # Errors
///
/// If a server does not serve first in first out.
pub fn analyze_flow(network: &Network, flow: FlowId) -> Result<FlowBound, NotApplicable> {
    check(network)?;
    Ok(Found::new(network)?.bound(flow))
}

fn check(network: &Network) -> Result<(), NotApplicable> {
    for (server, at) in network.servers().iter().zip(0..) {
        if server.multiplexing != Multiplexing::Fifo {
            return Err(NotApplicable::Multiplexing {
                server: ServerId(at),
                multiplexing: server.multiplexing,
            });
        }
    }
    Ok(())
}

/// What is known of a network before flows are looked at.
struct Found<'a> {
    map: Map<'a>,
    facts: Facts,
    /// By flow, from total flow analysis.
    plain: Vec<FlowBound>,
}

impl<'a> Found<'a> {
    fn new(network: &'a Network) -> Result<Self, NotApplicable> {
        let plain = tfa::analyze(network)?.flows;
        let mut delays = vec![None; network.servers().len()];
        for hop in plain.iter().flat_map(|flow| &flow.hops) {
            delays[hop.server.index()] = hop.delay;
        }
        Ok(Self::from(network, plain, &delays))
    }

    /// Finds facts where some delays may be known.
    fn from(network: &'a Network, plain: Vec<FlowBound>, delays: &[Option<Time>]) -> Self {
        let map = Map::new(network);
        let mut facts = Facts::new(&map);
        for group in components(network) {
            learn(&map, &mut facts, &group, delays);
        }
        Self { map, facts, plain }
    }

    fn bound(&self, flow: FlowId) -> FlowBound {
        let path = self.map.network.path(flow);
        let delays = path
            .iter()
            .map(|server| self.facts.time(self.map.delay(*server)));
        let sum = delays
            .into_iter()
            .try_fold(Time::ZERO, |sum, delay| sum.checked_add(delay?));
        let proven = claim::path_delay(&self.map, &self.facts, path);
        let plain = self.plain[flow.index()].delay;
        let delay = [proven, sum, plain].into_iter().flatten().min();
        FlowBound {
            method: Method::Lp,
            delay,
            backlog: delay.and_then(|delay| backlog(self.map.network, flow, delay)),
            hops: Vec::new(),
        }
    }
}

/// Finds what arrives at some servers, which is known of those before them, and
/// how long it stays there.
fn learn(map: &Map, facts: &mut Facts, servers: &[ServerId], known: &[Option<Time>]) {
    let mut claims = Vec::new();
    let mut circular = false;
    for server in servers {
        for arc in map.arcs_into(*server) {
            circular |= servers.contains(&map.arc(arc).from);
            claims.extend(Claim::over(map, arc));
        }
        claims.push(Claim::delay(map, *server, known[server.index()]));
    }
    if !circular {
        for claim in claims {
            facts.learn(claim.fact, claim.prove(facts).map(|found| found.0));
        }
        return;
    }
    match fixed_point::solve(&claims, facts) {
        Some(found) => *facts = found,
        None => fall_back(facts, &claims, servers.len()),
    }
}

/// Finds what follows from the delays that are known from elsewhere, hop after
/// hop.
fn fall_back(facts: &mut Facts, claims: &[Claim], hops: usize) {
    for _ in 0..=hops {
        for claim in claims {
            if facts.value(claim.fact).is_none() {
                facts.learn(claim.fact, claim.prove(facts).map(|found| found.0));
            }
        }
    }
}

/// What is in the network has arrived within the longest delay.
fn backlog(network: &Network, flow: FlowId, delay: Time) -> Option<Data> {
    let buckets = network.buckets(flow).iter();
    let most = buckets.map(|bucket| bucket.rate.most_in(delay)?.checked_add(bucket.burst));
    most.flatten().min()
}

#[cfg(test)]
mod tests;
