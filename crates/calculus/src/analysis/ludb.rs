//! Least upper delay bound: the best of the services that FIFO leaves to a flow.
//!
//! What a FIFO server leaves to a part of its traffic is not one service curve but
//! a family of them, one for each value of a parameter (NC section 6.2).
//! Each holds, so each gives a bound, and the least of them is the bound that
//! counts: LUDB, for tandems whose cross traffic is nested. Paths of whole networks
//! are made nested by cutting flows where two of them overlap, as LUDB-FF does.
//!
//! | module | knows |
//! |---|---|
//! | `pseudo_affine` | service curves that stay of one kind when traffic is taken off |
//! | `servers` | what each server does at least, and whether the method applies |
//! | `tandem` | who crosses which part of a path, and how overlaps are cut |
//! | `waits` | which parameters are the best |
//! | `hop_bounds` | bursts server by server, for where following them back would take too long |
//! | `path_bounds` | the bounds of paths, and of the bursts that come to them |
//!
//! Parameters are searched in floating point. What is reported is then
//! evaluated in integers, rounded against us.
//!
//! # The flow itself
//!
//! The bursts of cross traffic are bounded with all flows in the network, the
//! one under analysis too wherever it is. Where paths part and join again, that flow
//! has met its cross traffic before and has made it more bursty; for FIFO nobody
//! has shown that this may be left out. Then every statement is about
//! the arrivals that really happen: each bound of a burst holds of what leaves
//! its server, and each left-over service curve follows from the arrivals of the
//! others at the very server where they join. It also makes the bursts the same for
//! all flows, so that they are computed once.
//!
//! # Differs from the paper
//!
//! - With the waits themselves as unknowns the search is one small linear program
//!   (`waits`), where LUDB solves one for each of exponentially many
//!   orders and LUDB-FF searches by gradients. The optimum is the same.
//! - A bundle of flows is bounded along the way that all of them share, and in parts
//!   along the longer ways that each part shares; the smaller burst holds.
//! - The burst of a bundle behind a path needs only the path's latency, so it is
//!   minimised for itself and not together with the delay that it serves.
//!
//! # Large networks
//!
//! Each flow is given some work. When it is used up, bursts that come to its path are
//! those of `hop_bounds`: any bound of a burst holds, and the nearest ones are
//! followed back first.
//!
//! # Packetizers
//!
//! Behind a packetizer a server is later by the longest packet that crosses it (NC
//! section 1.7). Only the last server of a flow's own path is not: there the
//! flow's packets end, and a packetizer delays no last bit.
//!
//! # Left out
//!
//! Line shaping: a bound without it holds with it too. Of several curves of a
//! server one is used, and of several buckets of a cross flow the slowest; any
//! choice is valid.

mod hop_bounds;
mod path_bounds;
mod pseudo_affine;
mod servers;
mod tandem;
mod waits;

use self::path_bounds::PathBounds;
use super::budget::Budget;
use super::{Analysis, FlowBound, FlowId, Method, NotApplicable, ServerGraph};

/// How long to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Some ten microseconds a flow.
    Fast,
    /// About a millisecond a flow.
    Thorough,
}

/// In how many ways the others along a path are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tries {
    /// Where two overlap: so many ways.
    overlaps: u32,
    /// Whether all are also cut at each server, one after the other.
    everywhere: bool,
}

impl Effort {
    /// Returns the steps of a budget for each flow. What one leaves is for the next.
    const fn steps_a_flow(self) -> u64 {
        match self {
            Self::Fast => 300_000,
            Self::Thorough => 400_000,
        }
    }

    /// Returns the ways that are tried along the path of a flow.
    const fn along_path(self) -> Tries {
        match self {
            Self::Fast => Tries {
                overlaps: 4,
                everywhere: false,
            },
            Self::Thorough => Tries {
                overlaps: 64,
                everywhere: true,
            },
        }
    }

    /// Returns the ways that are tried along the way of a bundle.
    const fn along_bundle(self) -> Tries {
        match self {
            Self::Fast => Tries {
                overlaps: 1,
                everywhere: false,
            },
            Self::Thorough => Tries {
                overlaps: 16,
                everywhere: true,
            },
        }
    }
}

/// Bounds all flows, fast.
///
/// # Errors
///
/// See [`analyze_with`].
pub fn analyze(network: &ServerGraph) -> Result<Analysis, NotApplicable> {
    analyze_with(network, Effort::Fast)
}

/// Bounds all flows.
///
/// # Errors
///
/// If a server is not FIFO, or if paths form a cycle.
pub fn analyze_with(network: &ServerGraph, effort: Effort) -> Result<Analysis, NotApplicable> {
    analyze_within(network, effort, &Budget::unlimited())
}

/// Bounds as many flows as a budget allows.
///
/// # Errors
///
/// See [`analyze_with`].
pub fn analyze_within(
    network: &ServerGraph,
    effort: Effort,
    budget: &Budget,
) -> Result<Analysis, NotApplicable> {
    let servers = servers::usable(network)?;
    let mut bounds = PathBounds::new(network, servers, effort, budget);
    let count = network.flows().len();
    let (mut flows, mut cut_short) = (Vec::with_capacity(count), Vec::new());
    for flow in network.flows() {
        budget.note(flow.index(), count);
        flows.push(match budget.spend(0) {
            true => bound(&mut bounds, flow),
            false => FlowBound::none(Method::Ludb),
        });
        if !budget.spend(0) {
            cut_short.push(flow);
        }
    }
    Ok(Analysis {
        flows,
        cut_short,
        notes: notes(network),
    })
}

/// Bounds one flow, and computes nothing that it does not depend on.
///
/// # Errors
///
/// See [`analyze_with`].
pub fn analyze_flow(
    network: &ServerGraph,
    flow: FlowId,
    effort: Effort,
) -> Result<FlowBound, NotApplicable> {
    let budget = Budget::unlimited();
    let mut bounds = PathBounds::new(network, servers::usable(network)?, effort, &budget);
    Ok(bound(&mut bounds, flow))
}

fn bound(bounds: &mut PathBounds<'_>, flow: FlowId) -> FlowBound {
    let (delay, backlog) = bounds.bound(flow).unzip();
    FlowBound {
        method: Method::Ludb,
        delay,
        backlog,
        hops: Vec::new(),
    }
}

fn notes(network: &ServerGraph) -> Vec<String> {
    let shaping = "ludb makes no use of line shaping: its bounds hold with it and without it.";
    let notes = network.line_shaping.then(|| shaping.to_owned());
    notes.into_iter().collect()
}

#[cfg(test)]
mod tests;
