//! Pay multiplexing only once: the whole path is one server, at which each flow
//! that crosses it is waited for once (S4-11).
//!
//! ```text
//! rate:     least of R - r over the path, r the rates of the others there
//! latency:  sum(T) + (sum(b) + sum(r * T)) / rate           PMOO
//! delay:    latency + own burst / rate
//! ```
//!
//! `b` is the burst of a group of flows where it joins the path. Cross traffic
//! is followed back in the same way (aggregate PMOO in the words of the DNC).
//!
//! The formula holds for any order of service, so it holds for first in, first
//! out too: a network of FIFO servers is analysed as if it served in any order.

use super::budget::Budget;
use super::dnc::{self, Concatenation, Order, Plan};
use super::{Analysis, FlowBound, FlowId, Method, NotApplicable, ServerGraph};

const PLAN: Plan = Plan {
    method: Method::Pmoo,
    order: Order::Arbitrary,
    concatenation: Concatenation::Once,
};

/// Bounds every flow of a network.
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
    dnc::analyze(network, PLAN, budget)
}

/// Bounds one flow.
///
/// # Errors
///
/// As [`analyze`].
pub fn analyze_flow(network: &ServerGraph, flow: FlowId) -> Result<FlowBound, NotApplicable> {
    dnc::analyze_flow(network, PLAN, flow)
}
