//! FIFO networks by linear programs whose solutions are proven in whole
//! numbers, in the manner of PLP.
//!
//! The worst case of a network of first-in-first-out servers is what a linear
//! program finds that knows *when* something may happen and *how much* arrives
//! in between; what is too much for one program is found by others before it.
//!
//! | module | does |
//! |--------|------|
//! | `facts`    | numbers what is found of a network: delays of servers, bursts of flows and of groups |
//! | `claim`    | says how each is found from others |
//! | `components` | orders servers: those before first, those of a cycle together |
//! | `fixed_point` | finds the facts of a cycle |
//! | `tree`     | chooses the servers that a program looks at |
//! | `model`    | writes the program: dates, data between them, constraints |
//! | `program`  | holds it, in the whole numbers of `scale` |
//! | `simplex`  | searches its multipliers in floating point, and is not trusted |
//! | `proof`    | computes what the multipliers prove, in whole numbers |
//!
//! # Differs from the paper
//!
//! - The paper cuts a network into a forest and cuts no arc twice. Here each
//!   question has a tree of its own: the path, and up to `TREE_LIMIT`
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
//! - Paths are cut after `PATH_LIMIT` servers.

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

/// How many pairs of flows may meet at servers. As many may take an hour.
const PAIRS_LIMIT: usize = 200_000_000;

/// How many facts of a cycle are found together at most. Their programs take
/// some hundred megabytes then.
const CYCLE_LIMIT: usize = 4_000;

/// Returns the bounds of all flows.
///
/// # Errors
///
/// If a server does not serve first in first out, or too many flows meet.
pub fn analyze(network: &Network) -> Result<Analysis, NotApplicable> {
    check(network)?;
    let all: Vec<ServerId> = (0..).map(ServerId).take(network.servers().len()).collect();
    let found = Found::new(network, &all)?;
    Ok(Analysis {
        flows: network.flows().map(|flow| found.bound(flow)).collect(),
        notes: found.notes,
    })
}

/// Returns the bounds of one flow, for which only the servers before those of
/// its path are looked at.
///
/// # Errors
///
/// As [`analyze`].
pub fn analyze_flow(network: &Network, flow: FlowId) -> Result<FlowBound, NotApplicable> {
    check(network)?;
    Ok(Found::new(network, network.path(flow))?.bound(flow))
}

fn check(network: &Network) -> Result<(), NotApplicable> {
    let mut pairs = 0usize;
    for (server, at) in network.servers().iter().zip(0..) {
        if server.multiplexing != Multiplexing::Fifo {
            return Err(NotApplicable::Multiplexing {
                server: ServerId(at),
                multiplexing: server.multiplexing,
            });
        }
        let flows = network.crossings(ServerId(at)).len();
        pairs = pairs.saturating_add(flows.saturating_mul(flows));
    }
    if pairs > PAIRS_LIMIT {
        return Err(NotApplicable::TooLarge {
            what: "pairs of flows that meet at servers",
            size: pairs,
            limit: PAIRS_LIMIT,
        });
    }
    Ok(())
}

/// What is known of a network before flows are looked at.
struct Found<'a> {
    map: Map<'a>,
    facts: Facts,
    /// By flow, from total flow analysis.
    plain: Vec<FlowBound>,
    notes: Vec<String>,
}

impl<'a> Found<'a> {
    /// Finds what is known of some servers and of all before them.
    fn new(network: &'a Network, servers: &[ServerId]) -> Result<Self, NotApplicable> {
        let plain = tfa::analyze(network)?.flows;
        let mut delays = vec![None; network.servers().len()];
        for hop in plain.iter().flat_map(|flow| &flow.hops) {
            delays[hop.server.index()] = hop.delay;
        }
        Ok(Self::from(network, plain, &delays, servers))
    }

    /// Finds facts where some delays may be known.
    fn from(
        network: &'a Network,
        plain: Vec<FlowBound>,
        delays: &[Option<Time>],
        servers: &[ServerId],
    ) -> Self {
        let map = Map::new(network);
        let mut facts = Facts::new(&map);
        let mut notes = Vec::new();
        for group in needed(&map, servers) {
            notes.extend(learn(&map, &mut facts, &group, delays));
        }
        Self {
            map,
            facts,
            plain,
            notes,
        }
    }

    fn bound(&self, flow: FlowId) -> FlowBound {
        let path = self.map.network.path(flow);
        let plain = &self.plain[flow.index()];
        let mut hops = plain.hops.clone();
        for hop in &mut hops {
            let found = self.facts.time(self.map.delay(hop.server));
            hop.delay = [found, hop.delay].into_iter().flatten().min();
        }
        let delays = hops.iter().map(|hop| hop.delay);
        let sum = delays
            .into_iter()
            .try_fold(Time::ZERO, |sum, delay| sum.checked_add(delay?));
        let proven = claim::path_delay(&self.map, &self.facts, path);
        let delay = [proven, sum, plain.delay].into_iter().flatten().min();
        FlowBound {
            method: Method::Lp,
            delay,
            backlog: delay.and_then(|delay| backlog(self.map.network, flow, delay)),
            hops,
        }
    }
}

/// The groups of servers that have to be looked at for some servers, in the
/// order in which they are.
fn needed(map: &Map, servers: &[ServerId]) -> Vec<Vec<ServerId>> {
    let mut wanted = vec![false; map.network.servers().len()];
    for server in servers {
        wanted[server.index()] = true;
    }
    let mut groups = components(map.network);
    for group in groups.iter().rev() {
        if group.iter().any(|server| wanted[server.index()]) {
            for server in group {
                wanted[server.index()] = true;
                for arc in map.arcs_into(*server) {
                    wanted[map.arc(arc).from.index()] = true;
                }
            }
        }
    }
    groups.retain(|group| wanted[group[0].index()]);
    groups
}

/// Finds what arrives at some servers, which is known of those before them, and
/// how long it stays there. Returns what there is to note.
fn learn(
    map: &Map,
    facts: &mut Facts,
    servers: &[ServerId],
    known: &[Option<Time>],
) -> Option<String> {
    let mut claims = Vec::new();
    for server in servers {
        claims.extend(map.arcs_into(*server).flat_map(|arc| Claim::over(map, arc)));
        claims.push(Claim::delay(map, server, known[server.index()]));
    }
    if servers.len() == 1 {
        for claim in claims {
            facts.learn(claim.fact, claim.prove(map, facts).map(|found| found.0));
        }
        return None;
    }
    let small = claims.len() <= CYCLE_LIMIT;
    match small.then(|| fixed_point::solve(map, &claims, facts)) {
        Some(Some(found)) => *facts = found,
        Some(None) | None => fall_back(facts, &claims, servers.len()),
    }
    (!small).then(|| {
        format!(
            "The cycle through server {} is too large for programs: {} facts are more than \
             {CYCLE_LIMIT}. The delays of its servers are those of total flow analysis.",
            servers[0].0,
            claims.len(),
        )
    })
}

/// Finds what follows from the delays that are known from elsewhere, hop after
/// hop.
fn fall_back(facts: &mut Facts, claims: &[Claim], hops: usize) {
    for _ in 0..=hops {
        for claim in claims {
            if facts.value(claim.fact).is_none() {
                facts.learn(claim.fact, claim.simple(facts));
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
