//! Total flow analysis as the NetworkCalculus.org DNC defines it: the delays of
//! the servers of a path, each with all that arrives there, added up (S4-11).
//!
//! ```text
//! arbitrary:  (b + R * T) / (R - r)    the longest time that the server is busy
//! FIFO:       T + b / R                also where a flow is alone
//! ```
//!
//! # Differs from [`tfa`](super::tfa)
//!
//! What arrives is found as in [`sfa`](super::sfa), by what cross traffic
//! leaves over for a group of flows, not by the delays of the servers before:
//! its burst grows by `r * T`, without the delay of its own burst.

use super::budget::Budget;
use super::dnc::{self, Concatenation, Order, Plan};
use super::{Analysis, FlowBound, FlowId, Method, NotApplicable, ServerGraph};

const PLAN: Plan = Plan {
    method: Method::TfaDnc,
    order: Order::Given,
    concatenation: Concatenation::HopByHop,
};

/// Bounds every flow of a network, and every server.
///
/// # Errors
///
/// If a server serves by priority, if paths form a cycle, or if more groups of
/// cross traffic stand behind one another than can be followed back.
pub fn analyze(network: &ServerGraph) -> Result<Analysis, NotApplicable> {
    analyze_within(network, &Budget::unlimited())
}

/// Bounds as many flows as a budget allows.
///
/// # Errors
///
/// As [`analyze`].
pub fn analyze_within(network: &ServerGraph, budget: &Budget) -> Result<Analysis, NotApplicable> {
    dnc::analyze_servers(network, PLAN, budget)
}

/// Bounds one flow.
///
/// # Errors
///
/// As [`analyze`].
pub fn analyze_flow(network: &ServerGraph, flow: FlowId) -> Result<FlowBound, NotApplicable> {
    dnc::analyze_servers_of(network, PLAN, flow)
}
