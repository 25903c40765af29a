//! Tandem matching analysis: the path is cut into pieces, each is analysed as
//! in [`pmoo`](super::pmoo), and of all ways to cut the best counts (S4-11).
//!
//! A cut makes cross traffic that goes on be waited for once more, and in
//! return each piece has a rate of its own. All cuts leave the same rate, so
//! the best cut is the one of least latency, and it is found piece by piece:
//! the best cut of the first `k` servers is the best of the first `i` with one
//! piece behind it. Cross traffic is followed back in the same way (aggregate
//! tandem matching in the words of the DNC). To cut nowhere is PMOO, to cut
//! everywhere is SFA in arbitrary order, so TMA is never above either.
//!
//! The formula holds for any order of service, so it holds for first in, first
//! out too: a network of FIFO servers is analysed as if it served in any order.
//!
//! # Differs from the paper
//!
//! The paper tries all cuts, `2^(n-1)` on a path of `n` servers; here
//! `n * (n + 1) / 2` pieces are computed. The value is the same.
//!
//! # Differs from the DNC
//!
//! Where cross traffic has left the path of the flow and joined it again, the
//! DNC does not always count what the flow itself did to it, and its result can
//! be too small; here it always counts.

use super::budget::Budget;
use super::dnc::{self, Concatenation, Order, Plan};
use super::{Analysis, FlowBound, FlowId, Method, NotApplicable, ServerGraph};

const PLAN: Plan = Plan {
    method: Method::Tma,
    order: Order::Arbitrary,
    concatenation: Concatenation::BestCut,
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
