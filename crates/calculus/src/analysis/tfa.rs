//! Total flow analysis: a delay for each server, added up along the path.
//!
//! At each server the bounds of all flows that arrive add up, and what follows
//! from their sum and the service holds for each of them:
//!
//! | multiplexing | delay |
//! |---|---|
//! | first in first out | the horizontal deviation, NC section 1.4 |
//! | arbitrary | the busy period: until as much is served as may have arrived |
//! | strict priority | the horizontal deviation of the class and of what the classes above it and the largest packet below it leave |
//!
//! A flow that has met delays `D` before comes with its bound spread by their
//! sum: for a token bucket, a burst of `b + r * (D1 + D2 + ...)`.
//!
//! *Line shaping.* What comes over one link of rate `C` from one server is
//! together no more than `C * t`, and with packetizers `C * t + l` for the largest
//! packet `l` among it. The minimum of that and of the flows' sum counts.
//! Without a packetizer it is the bits that count: the last ones of a packet may
//! be on the link while the first are already served.
//!
//! *Packetizers.* A packet counts with all its bits when its last one arrives,
//! where it enters the network and at each server; so a flow's buckets bound
//! whole packets. Its delay at a server is that of its last bit, which a server
//! without packetizer bounds by the same deviation: a packetizer adds nothing to
//! the delay, nor to the bound behind it, as packets are then spread by no more
//! than the delays (NC section 1.7). It adds a packet to what a link may bring at
//! once, and to the backlog, since the bits served of a packet that is not
//! complete have not left.
//!
//! *Blocking.* Strict priority counts the largest packet of the lower classes
//! with and without packetizers: a packet that has begun is not interrupted.
//!
//! *Cycles.* Delays depend on bursts and bursts on delays. With `F(D)` the delays
//! that follow from bursts after `D`, any `D` with `F(D) <= D` is a bound: nobody
//! can be the first to be later (`docs/promises.md`). The least is searched from
//! below, and what is reported has been checked for this once more.
//!
//! # Left out
//!
//! The gain for a packet that is sent at the rate of a link faster than the
//! service: delays are those of the service curve alone.

mod components;
mod engine;
mod fixed_point;
mod group_index;
mod layout;
#[cfg(test)]
mod plain;
mod state;

use units::fine::{Data, Time};

use super::network::{FlowId, ServerGraph};
use super::{Analysis, FlowBound, HopBound, Method, NotApplicable};
use crate::min_plus::piecewise::CurveSum;
pub use engine::{Raised, TfaEngine, WhatIf};
use fixed_point::Precision;
use layout::Layout;
use state::{DelayState, NEVER};

/// Bounds all flows of a network.
///
/// # Errors
///
/// None at present: the method is defined for every network.
pub fn analyze(network: &ServerGraph) -> Result<Analysis, NotApplicable> {
    let state = solve(network);
    let stations = layout::number(network.servers().len());
    let mut sum = CurveSum::default();
    let backlogs = (0..stations).map(|at| state.backlog(at, &mut sum));
    let backlogs: Vec<_> = backlogs.collect();
    let flows = network.flows();
    Ok(Analysis {
        flows: flows
            .map(|flow| bound(network, &state, &backlogs, flow))
            .collect(),
        cut_short: Vec::new(),
        notes: Vec::new(),
    })
}

/// Bounds one flow. The whole network is solved for it.
///
/// # Errors
///
/// As [`analyze`].
pub fn analyze_flow(network: &ServerGraph, flow: FlowId) -> Result<FlowBound, NotApplicable> {
    let state = solve(network);
    let mut backlogs = vec![None; network.servers().len()];
    for server in network.path(flow) {
        backlogs[server.index()] = state.backlog(server.0, &mut CurveSum::default());
    }
    Ok(bound(network, &state, &backlogs, flow))
}

fn solve(network: &ServerGraph) -> DelayState {
    let mut state = DelayState::new(Layout::of(network));
    state.keep_spreads();
    fixed_point::solve(&mut state, Precision::Fine);
    state
}

fn bound(
    network: &ServerGraph,
    state: &DelayState,
    backlogs: &[Option<Data>],
    flow: FlowId,
) -> FlowBound {
    let path = network.path(flow).iter().zip(state.layout.path(flow.0));
    let hops: Vec<_> = path
        .map(|(&server, &group)| HopBound {
            server,
            delay: time(state.delay_at(group)),
            backlog: backlogs[server.index()],
        })
        .collect();
    let mut delays = hops.iter();
    let delay = delays.try_fold(Time::ZERO, |sum, hop| sum.checked_add(hop.delay?));
    FlowBound {
        method: Method::Tfa,
        delay,
        backlog: delay.and_then(|delay| inside(network, flow, delay)),
        hops,
    }
}

fn time(fs: u64) -> Option<Time> {
    (fs != NEVER).then_some(Time::from_fs(fs))
}

/// The most that arrives within `delay`, and so is inside at one time.
fn inside(network: &ServerGraph, flow: FlowId, delay: Time) -> Option<Data> {
    let buckets = network.buckets(flow).iter();
    let most = buckets.map(|bucket| bucket.rate.most_in(delay)?.checked_add(bucket.burst));
    most.flatten().min()
}

#[cfg(test)]
mod tests;
