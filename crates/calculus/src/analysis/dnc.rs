//! What the methods of the NetworkCalculus.org DNC have in common.
//!
//! A flow of interest is followed along its path; what other flows have become
//! where they meet it is found by following them back to their sources. The
//! methods differ in what they make of a tandem of servers ([`Concatenation`]),
//! and use the same for the path of the flow of interest as for those of cross
//! traffic. How cross traffic is grouped, on which the digits depend, was
//! checked against published values of the DNC, version 2.8.1.
//!
//! # Left out
//!
//! Line shaping, which the DNC does not know: bounds without it are larger.
//! Grouping cross traffic by flow instead of by link, and the other
//! alternatives that the DNC can be told to try.

mod arrival_bounds;
mod histories;
mod left_over;
mod remembered;
mod simplified;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use units::fine::{Data, Time};

use super::budget::Budget;
use super::{
    Analysis, FlowBound, FlowId, HopBound, Method, Multiplexing, NotApplicable, RateLatency,
    ServerGraph, ServerId,
};
use arrival_bounds::{ArrivalBounds, CrossedServer, DEPTH_MAX, Presence, TooLarge};
use histories::Histories;

/// What a method makes of a tandem of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Concatenation {
    /// Each server leaves something over; all of these in a row.
    HopByHop,
    /// The tandem as a whole leaves something over.
    Once,
    /// The tandem is cut into wholes.
    BestCut,
}

/// In which order servers are taken to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As the network says.
    Given,
    /// Any, also where the network says which: first in, first out is one of
    /// them.
    Arbitrary,
}

/// How a flow is analysed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// The name of it.
    pub(super) method: Method,
    pub(super) order: Order,
    pub(super) concatenation: Concatenation,
}

impl Order {
    /// Returns the order in which a server is taken to serve.
    fn at(self, network: &ServerGraph, server: ServerId) -> Multiplexing {
        match self {
            Self::Given => network.server(server).multiplexing,
            Self::Arbitrary => Multiplexing::Arbitrary,
        }
    }
}

/// Bounds all flows of a network by what is left over for each along its path.
pub(super) fn analyze(
    network: &ServerGraph,
    plan: Plan,
    budget: &Budget,
) -> Result<Analysis, NotApplicable> {
    let mut flows: Vec<FlowId> = network.flows().collect();
    flows.sort_by(|one, other| likeness(network, *one, *other));
    let mut found: Vec<Option<FlowBound>> = vec![None; flows.len()];
    let mut finished = flows.len();
    for_each_choice(network, plan, budget, |bounds| {
        let mut former: Option<(FlowId, FlowBound)> = None;
        for (at, &flow) in flows.iter().enumerate() {
            budget.note(at, flows.len());
            let bound = match former.take() {
                Some((like, bound)) if likeness(network, like, flow).is_eq() => bound,
                Some(_) | None => of_flow(bounds, plan, flow),
            };
            if bounds.too_large.is_some() {
                finished = finished.min(at);
                return;
            }
            keep_least(&mut found[flow.index()], &bound);
            former = Some((flow, bound));
        }
    })?;
    let nothing = FlowBound::none(plan.method);
    let bound = |it: Option<FlowBound>| it.unwrap_or_else(|| nothing.clone());
    Ok(Analysis {
        flows: found.into_iter().map(bound).collect(),
        cut_short: flows.split_off(finished),
        notes: notes(network, plan),
    })
}

/// Bounds one flow as [`analyze`] bounds all.
pub(super) fn analyze_flow(
    network: &ServerGraph,
    plan: Plan,
    flow: FlowId,
) -> Result<FlowBound, NotApplicable> {
    let mut found = None;
    for_each_choice(network, plan, &Budget::unlimited(), |bounds| {
        keep_least(&mut found, &of_flow(bounds, plan, flow));
    })?;
    Ok(found.expect("there is a choice"))
}

/// Bounds all flows of a network by adding up what each server delays at most.
pub(super) fn analyze_servers(
    network: &ServerGraph,
    plan: Plan,
    budget: &Budget,
) -> Result<Analysis, NotApplicable> {
    let all: Vec<_> = (0..).map(ServerId).take(network.servers().len()).collect();
    let (servers, finished) = bound_servers(network, plan, &all, budget)?;
    let bound = |id| {
        let hops = network.path(id).iter().map(|at| servers[at.index()]);
        add_up(network, plan, id, hops.collect())
    };
    let is_cut = |flow: &FlowId| network.path(*flow).iter().any(|at| at.index() >= finished);
    Ok(Analysis {
        flows: network.flows().map(bound).collect(),
        cut_short: network.flows().filter(is_cut).collect(),
        notes: notes(network, plan),
    })
}

/// Bounds one flow as [`analyze_servers`] bounds all.
pub(super) fn analyze_servers_of(
    network: &ServerGraph,
    plan: Plan,
    flow: FlowId,
) -> Result<FlowBound, NotApplicable> {
    let path = network.path(flow);
    let (hops, _) = bound_servers(network, plan, path, &Budget::unlimited())?;
    Ok(add_up(network, plan, flow, hops))
}

/// Bounds what each of some servers delays and holds, and returns how many were
/// finished.
fn bound_servers(
    network: &ServerGraph,
    plan: Plan,
    ids: &[ServerId],
    budget: &Budget,
) -> Result<(Vec<HopBound>, usize), NotApplicable> {
    let mut servers = vec![None; ids.len()];
    let mut finished = ids.len();
    for_each_choice(network, plan, budget, |bounds| {
        for (at, (least, id)) in servers.iter_mut().zip(ids).enumerate() {
            budget.note(at, ids.len());
            let bound = of_server(bounds, *id);
            if bounds.too_large.is_some() {
                finished = finished.min(at);
                return;
            }
            let former = least.get_or_insert(bound);
            former.delay = lesser(former.delay, bound.delay);
            former.backlog = lesser(former.backlog, bound.backlog);
        }
    })?;
    let bound = |(it, server): (Option<HopBound>, &ServerId)| {
        it.unwrap_or(HopBound {
            server: *server,
            delay: None,
            backlog: None,
        })
    };
    let servers = servers.into_iter().zip(ids).map(bound);
    Ok((servers.collect(), finished))
}

/// Runs an analysis once for each choice of buckets and of service pieces.
fn for_each_choice(
    network: &ServerGraph,
    plan: Plan,
    budget: &Budget,
    mut analysis: impl FnMut(&mut ArrivalBounds),
) -> Result<(), NotApplicable> {
    let strict = |it: &(ServerId, Multiplexing)| it.1 == Multiplexing::StrictPriority;
    let ids = (0..).map(ServerId);
    let mut orders = ids.zip(network.servers().iter().map(|server| server.multiplexing));
    if let Some((server, multiplexing)) = orders.find(strict) {
        return Err(NotApplicable::Multiplexing {
            server,
            multiplexing,
        });
    }
    let histories = Histories::of(network).map_err(|server| NotApplicable::Cycle { server })?;
    for choice in simplified::choices(network, plan.order) {
        let method = (plan.order, plan.concatenation);
        let mut bounds = ArrivalBounds::new(network, &histories, &choice, method, budget);
        analysis(&mut bounds);
        if bounds.too_large == Some(TooLarge::Depth) {
            return Err(NotApplicable::TooLarge {
                what: "groups of cross traffic inside one another",
                size: DEPTH_MAX + 1,
                limit: DEPTH_MAX,
            });
        }
    }
    Ok(())
}

/// Puts flows of one path and the same buckets side by side: they have the same
/// bounds.
fn likeness(network: &ServerGraph, one: FlowId, other: FlowId) -> Ordering {
    let buckets = |id| {
        network
            .buckets(id)
            .iter()
            .map(|bucket| (bucket.rate, bucket.burst))
    };
    let paths = network.path(one).cmp(network.path(other));
    paths.then_with(|| buckets(one).cmp(buckets(other)))
}

fn of_flow(bounds: &mut ArrivalBounds, plan: Plan, flow: FlowId) -> FlowBound {
    let service = bounds.left_over_for(flow);
    let buckets = bounds.network.buckets(flow);
    FlowBound {
        method: plan.method,
        delay: service.and_then(|service| simplified::delay(buckets, service)),
        backlog: service.and_then(|service| simplified::backlog(buckets, service)),
        hops: Vec::new(),
    }
}

fn of_server(bounds: &mut ArrivalBounds, id: ServerId) -> HopBound {
    let service = bounds.simplified.service(id);
    let crossings = bounds.network.crossings(id).len();
    let order = match crossings {
        // A flow by itself is served first in, first out.
        0 | 1 => Multiplexing::Fifo,
        _ => bounds.order.at(bounds.network, id),
    };
    let all = bounds.of_all(id);
    let delay = |all| match order {
        Multiplexing::Fifo => simplified::delay(&[all], service),
        Multiplexing::Arbitrary | Multiplexing::StrictPriority => {
            simplified::busy_period(all, service)
        }
    };
    HopBound {
        server: id,
        delay: all.and_then(delay),
        backlog: all.and_then(|all| simplified::backlog(&[all], service)),
    }
}

/// Adds up the bounds of the servers of a path.
fn add_up(network: &ServerGraph, plan: Plan, id: FlowId, hops: Vec<HopBound>) -> FlowBound {
    let delay = hops
        .iter()
        .try_fold(Time::ZERO, |sum, hop| sum.checked_add(hop.delay?));
    let arrived = delay.and_then(|delay| simplified::most_in(network.buckets(id), delay));
    let held = hops
        .iter()
        .try_fold(Data::ZERO, |sum, hop| sum.checked_add(hop.backlog?));
    let backlog = lesser(arrived, held);
    FlowBound {
        method: plan.method,
        delay,
        backlog,
        hops,
    }
}

fn keep_least(least: &mut Option<FlowBound>, bound: &FlowBound) {
    match least {
        None => *least = Some(bound.clone()),
        Some(least) => {
            least.delay = lesser(least.delay, bound.delay);
            least.backlog = lesser(least.backlog, bound.backlog);
        }
    }
}

/// Returns the lesser bound; a bound is less than none.
fn lesser<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Says what was left aside or taken differently.
fn notes(network: &ServerGraph, plan: Plan) -> Vec<String> {
    let mut notes = Vec::new();
    let mut say = |note: &str| notes.push(note.to_owned());
    let mut orders = network.servers().iter().map(|server| server.multiplexing);
    let has_fifo = orders.any(|order| order == Multiplexing::Fifo);
    match (plan.order, plan.concatenation, has_fifo) {
        (Order::Arbitrary, _, true) => {
            say("Servers are taken to serve in any order, of which first in, first out is one.");
        }
        (Order::Given, Concatenation::HopByHop, true) if plan.method == Method::Sfa => {
            say(
                "Where servers are first in, first out, cross traffic is bounded with the flow itself counted, as nobody has shown that it may be left out.",
            );
        }
        (Order::Given | Order::Arbitrary, _, _) => {}
    }
    if network.line_shaping {
        say("Line shaping is not used: bounds without it hold and are larger.");
    }
    if network.packetizer {
        say(
            "Unfinished packets are counted as latency of each server: the largest packet where it is first in, first out, one of each flow otherwise.",
        );
    }
    if simplified::has_choice(network) {
        say(
            "Of several buckets of a flow and several pieces of a service one at a time is used, those with the best rates and those with the best starts; each flow has the least of these bounds.",
        );
    }
    notes
}

impl ArrivalBounds<'_> {
    /// Returns what the path of a flow leaves over for it.
    fn left_over_for(&mut self, flow: FlowId) -> Option<RateLatency> {
        let begin = self.histories.begin(flow);
        self.set_of_interest(begin);
        let path = self.network.path(flow);
        let arbitrary = |at: &ServerId| self.order.at(self.network, *at) == Multiplexing::Arbitrary;
        let presence = if path.iter().all(arbitrary) {
            Presence::Absent
        } else {
            Presence::Counted
        };
        let hops: Vec<_> = path
            .iter()
            .map(|server| CrossedServer {
                server: *server,
                presence,
            })
            .collect();
        let in_use = self.sets.len();
        self.sets.push(begin);
        let left = self.left_over(&hops, in_use);
        self.sets.truncate(in_use);
        left
    }
}
