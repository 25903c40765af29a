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
//! | [`pass`]     | finds these facts, server after server |
//! | [`tree`]     | chooses the servers that a program looks at |
//! | [`model`]    | writes the program: dates, data between them, constraints |
//! | [`program`]  | holds it, in the whole numbers of [`scale`] |
//! | [`simplex`]  | searches its multipliers in floating point, and is not trusted |
//! | [`proof`]    | computes what the multipliers prove, in whole numbers |
//!
//! # Differs from the paper
//!
//! - The paper cuts a network into a forest and cuts no arc twice. Here each
//!   question has a tree of its own: the path, and up to [`pass::TREE_LIMIT`]
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
//! - Paths are cut after [`pass::PATH_LIMIT`] servers.

mod facts;
mod model;
mod pass;
mod program;
mod proof;
mod scale;
mod simplex;
mod tree;

use units::fine::{Data, Time};

use super::{Analysis, FlowBound, FlowId, Method, Multiplexing, Network, NotApplicable, ServerId};
use facts::{Facts, Map};

/// Returns the bounds of all flows.
///
/// # Errors
///
/// If a server does not serve first in first out.
pub fn analyze(network: &Network) -> Result<Analysis, NotApplicable> {
    check(network)?;
    let map = Map::new(network);
    let facts = find_facts(&map)?;
    let flows = network
        .flows()
        .map(|flow| bound(&map, &facts, flow))
        .collect();
    Ok(Analysis {
        flows,
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
    let map = Map::new(network);
    let facts = find_facts(&map)?;
    Ok(bound(&map, &facts, flow))
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

fn find_facts(map: &Map) -> Result<Facts, NotApplicable> {
    let order = map.network.feed_forward_order();
    let order = order.map_err(|server| NotApplicable::Cycle { server })?;
    let mut facts = Facts::new(map);
    for server in order {
        pass::learn(map, &mut facts, server);
    }
    Ok(facts)
}

fn bound(map: &Map, facts: &Facts, flow: FlowId) -> FlowBound {
    let path = map.network.path(flow);
    let delays = path.iter().map(|server| facts.time(map.delay(*server)));
    let sum = delays
        .into_iter()
        .try_fold(Time::ZERO, |sum, delay| sum.checked_add(delay?));
    let proven = pass::path_delay(map, facts, path);
    let delay = [proven, sum].into_iter().flatten().min();
    FlowBound {
        method: Method::Lp,
        delay,
        backlog: delay.and_then(|delay| backlog(map.network, flow, delay)),
        hops: Vec::new(),
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
