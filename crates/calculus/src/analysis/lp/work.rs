//! How much work each program may be.
//!
//! The simplex method takes about `v * c * (v + c) / 6` cells of its tableau, for `v`
//! variables and `c` constraints that it begins with, of which there are about half
//! as many again as variables; so the work is known before a program is written, and
//! one that would be too much is asked about fewer servers.

use crate::analysis::ServerGraph;
use crate::analysis::budget::Budget;

use super::facts::FactMap;

/// The steps of a budget that all programs of a network take together, and those
/// for each flow.
const STEPS_AT_FIRST: u64 = 800_000_000;
const STEPS_A_FLOW: u64 = 1_400_000;

/// Steps for each flow at a server of a program.
pub(super) const STEPS_A_CROSSING: u64 = 150;

/// A claim may take more than its share by this factor; most take less.
const GENEROSITY: u64 = 2;

/// How often the programs of a cycle are solved, as a guess.
const ROUNDS: u64 = 8;

/// What a claim is about, as far as its share of the work goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// One flow at one server.
    Flow,
    /// All flows at a server, or over an arc.
    Many,
    /// The whole path of a flow.
    Path,
}

impl Share {
    const fn weight(self) -> u64 {
        match self {
            Self::Flow => 1,
            Self::Many => 4,
            Self::Path => 6,
        }
    }
}

/// The work that is left, and for how much.
#[derive(Debug)]
pub(super) struct RemainingWork<'a> {
    pub(super) budget: &'a Budget<'a>,
    left: u64,
    shares: u64,
}

impl<'a> RemainingWork<'a> {
    /// Shares the work out among all that may be asked about a network.
    pub(super) fn new(map: &FactMap, budget: &'a Budget<'a>) -> Self {
        let network: &ServerGraph = map.network;
        let count = |length: usize| length as u64;
        let flows = count(network.flows().len());
        let hops: usize = network.flows().map(|flow| network.path(flow).len()).sum();
        let many = count(map.arcs()) + count(network.servers().len());
        let steps = STEPS_AT_FIRST.saturating_add(STEPS_A_FLOW.saturating_mul(flows));
        Self {
            budget,
            left: steps.min(budget.left()),
            shares: 1
                + Share::Flow.weight() * count(hops)
                + Share::Many.weight() * many
                + Share::Path.weight() * flows,
        }
    }

    /// Returns the steps that a claim may take, alone or `together` with others on a
    /// cycle.
    pub(super) fn allow(&mut self, share: Share, together: bool) -> u64 {
        let weight = share.weight();
        let steps = self.left / self.shares.max(1) * weight * GENEROSITY;
        self.shares = self.shares.saturating_sub(weight);
        if together { steps / ROUNDS } else { steps }
    }

    /// Takes off what has been spent of the budget since it had `before` left.
    pub(super) fn settle(&mut self, before: u64) {
        let spent = before.saturating_sub(self.budget.left());
        self.left = self.left.saturating_sub(spent).min(self.budget.left());
    }
}

/// Returns the steps that a program of so many variables takes.
pub(super) fn steps(variables: usize) -> u64 {
    let variables = variables as u64;
    let cubed = variables.saturating_pow(3);
    // A cell takes a third of a step.
    cubed / 8 + cubed / 12
}
