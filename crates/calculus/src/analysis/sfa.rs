//! Separate flow analysis: a flow gets what cross traffic leaves over at each
//! server of its path, and pays its own burst once (S4-11).
//!
//! At each server all cross traffic is bounded together and the left-over
//! services are strung together:
//!
//! ```text
//! arbitrary:  rate R - r, latency (b + R * T) / (R - r)     NC section 6.2
//! FIFO:       rate R - r, latency T + b / R                 NC section 6.2
//! delay:      sum of the latencies + own burst / least rate
//! ```
//!
//! Cross traffic is followed back over the servers that it has in common, and
//! leaves a tandem of latency `T` with a burst `b + r * T` (aggregate PBOO
//! concatenation in the words of the DNC).
//!
//! # Differs from the DNC
//!
//! Where cross traffic has met the flow before, the DNC does not always count
//! what the flow itself did to it, with FIFO servers neither: 17 values of its own
//! tests are 0.4 to 12 % below what is found here, where it always counts.

use super::budget::Budget;
use super::dnc::{self, Concatenation, Order, Plan};
use super::{Analysis, FlowBound, FlowId, Method, NotApplicable, ServerGraph};

const PLAN: Plan = Plan {
    method: Method::Sfa,
    order: Order::Given,
    concatenation: Concatenation::HopByHop,
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
