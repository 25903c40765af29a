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
//! | `work`     | says how many that may be |
//! | `dates`    | says at which times it looks at them |
//! | `model`    | writes the program: dates, data between them, constraints |
//! | `program`  | holds it, in the whole numbers of `scale` |
//! | `simplex`  | searches its multipliers in floating point, and is not trusted |
//! | `proof`    | computes what the multipliers prove, in whole numbers |
//!
//! # Differs from the paper
//!
//! - The paper cuts a network into a forest and cuts no arc twice. Here each
//!   question has a tree of its own: the path, and some
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
//! - Where there is work for it, each date of a server has a start of service and
//!   not the oldest alone: this is the exponential program that PLP makes
//!   polynomial.
//! - The optimum is not believed: its dual proves it, in whole numbers.
//!
//! # Left out
//!
//! - Of a flow with more than two buckets, those between the one of the lowest
//!   rate and the one of the smallest burst. Behind a server, the latter grows by
//!   its rate and the server's delay, without a program of its own.
//! - The backlog is what may arrive within the delay, not a program of its own.
//! - Paths are cut after twelve servers, and after fewer where many flows meet.

mod claim;
mod components;
mod dates;
mod facts;
mod fixed_point;
mod model;
mod program;
mod proof;
mod scale;
mod simplex;
mod tree;
mod work;

use units::fine::{Data, Time};

use super::budget::Budget;
use super::{
    Analysis, FlowBound, FlowId, Method, Multiplexing, NotApplicable, ServerGraph, ServerId, tfa,
};
use claim::FactClaim;
use components::components;
use facts::{FactMap, Facts};
use work::{RemainingWork, Share};

/// How many facts of a cycle are found together at most. Their programs take
/// some hundred megabytes then.
const CYCLE_LIMIT: usize = 4_000;

/// Returns the bounds of all flows.
///
/// # Errors
///
/// If a server does not serve first in first out.
pub fn analyze(network: &ServerGraph) -> Result<Analysis, NotApplicable> {
    analyze_within(network, &Budget::unlimited())
}

/// Bounds as many flows as a budget allows.
///
/// # Errors
///
/// As [`analyze`].
pub fn analyze_within(network: &ServerGraph, budget: &Budget) -> Result<Analysis, NotApplicable> {
    check(network)?;
    let all: Vec<ServerId> = (0..).map(ServerId).take(network.servers().len()).collect();
    let mut found = KnownNetwork::new(network, &all, budget)?;
    let (mut flows, mut cut_short) = (Vec::new(), Vec::new());
    for flow in network.flows() {
        budget.note(flow.index(), network.flows().len());
        if !budget.spend(0) {
            cut_short.push(flow);
        }
        flows.push(found.bound(flow));
    }
    Ok(Analysis {
        flows,
        cut_short,
        notes: found.notes,
    })
}

/// Returns the bounds of one flow, for which only the servers before those of
/// its path are looked at.
///
/// # Errors
///
/// As [`analyze`].
pub fn analyze_flow(network: &ServerGraph, flow: FlowId) -> Result<FlowBound, NotApplicable> {
    check(network)?;
    let budget = Budget::unlimited();
    Ok(KnownNetwork::new(network, network.path(flow), &budget)?.bound(flow))
}

fn check(network: &ServerGraph) -> Result<(), NotApplicable> {
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
struct KnownNetwork<'a> {
    map: FactMap<'a>,
    facts: Facts,
    work: RemainingWork<'a>,
    /// By flow, from total flow analysis.
    plain: Vec<FlowBound>,
    notes: Vec<String>,
}

impl<'a> KnownNetwork<'a> {
    /// Finds what is known of some servers and of all before them.
    fn new(
        network: &'a ServerGraph,
        servers: &[ServerId],
        budget: &'a Budget<'a>,
    ) -> Result<Self, NotApplicable> {
        let plain = tfa::analyze(network)?.flows;
        let mut delays = vec![None; network.servers().len()];
        for hop in plain.iter().flat_map(|flow| &flow.hops) {
            delays[hop.server.index()] = hop.delay;
        }
        Ok(Self::from(network, plain, &delays, servers, budget))
    }

    /// Finds facts where some delays may be known.
    fn from(
        network: &'a ServerGraph,
        plain: Vec<FlowBound>,
        delays: &[Option<Time>],
        servers: &[ServerId],
        budget: &'a Budget<'a>,
    ) -> Self {
        let map = FactMap::new(network);
        let mut facts = Facts::new(&map);
        let mut work = RemainingWork::new(&map, budget);
        let mut notes = Vec::new();
        for group in needed(&map, servers) {
            notes.extend(learn(&map, &mut facts, &group, delays, &mut work));
        }
        Self {
            map,
            facts,
            work,
            plain,
            notes,
        }
    }

    fn bound(&mut self, flow: FlowId) -> FlowBound {
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
        let allowed = self.work.allow(Share::Path, false);
        let before = self.work.budget.left();
        let asked = Some((self.work.budget, allowed)).filter(|_| before > 0);
        let proven = asked.and_then(|asked| claim::path_delay(&self.map, &self.facts, path, asked));
        self.work.settle(before);
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
fn needed(map: &FactMap, servers: &[ServerId]) -> Vec<Vec<ServerId>> {
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
    map: &FactMap,
    facts: &mut Facts,
    servers: &[ServerId],
    known: &[Option<Time>],
    work: &mut RemainingWork,
) -> Option<String> {
    let budget = work.budget;
    let mut claims = Vec::new();
    for server in servers {
        claims.extend(
            map.arcs_into(*server)
                .flat_map(|arc| FactClaim::over(map, arc)),
        );
        claims.push(FactClaim::delay(map, server, known[server.index()]));
    }
    if servers.len() == 1 {
        for mut claim in claims {
            claim.allowed = work.allow(claim.share(), false);
            let before = budget.left();
            let found = claim.prove(map, facts, budget);
            work.settle(before);
            facts.learn(claim.fact, found.map(|found| found.0));
        }
        return None;
    }
    for claim in &mut claims {
        claim.allowed = work.allow(claim.share(), true);
    }
    let small = claims.len() <= CYCLE_LIMIT;
    let before = budget.left();
    match small.then(|| fixed_point::solve(map, &claims, facts, budget)) {
        Some(Some(found)) => *facts = found,
        Some(None) | None => fall_back(facts, &claims, servers.len()),
    }
    work.settle(before);
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
fn fall_back(facts: &mut Facts, claims: &[FactClaim], hops: usize) {
    for _ in 0..=hops {
        for claim in claims {
            if facts.value(claim.fact).is_none() {
                facts.learn(claim.fact, claim.simple(facts));
            }
        }
    }
}

/// What is in the network has arrived within the longest delay.
fn backlog(network: &ServerGraph, flow: FlowId, delay: Time) -> Option<Data> {
    let buckets = network.buckets(flow).iter();
    let most = buckets.map(|bucket| bucket.rate.most_in(delay)?.checked_add(bucket.burst));
    most.flatten().min()
}

#[cfg(test)]
mod tests;
