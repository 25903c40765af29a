//! A way from one switch to another that visits no switch twice.

use wire::openflow::DatapathId;

use super::graph::{Graph, Weight, cost_of};
use super::tree::{Branch, Tree};
use crate::place::{LinkEnds, PortId};

/// A way that visits no switch twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimplePath {
    /// What it costs, in the unit that the links' cost was given in.
    pub cost: u64,
    /// The switch at which it begins.
    pub first: DatapathId,
    /// The links that it crosses, in order; none if it ends where it begins.
    pub crossings: Vec<Crossing>,
}

/// A link that is crossed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crossing {
    /// The port by which frames leave a switch.
    pub leaves: PortId,
    /// The port by which they enter the next one.
    pub enters: PortId,
}

impl Crossing {
    #[must_use]
    pub fn link(&self) -> LinkEnds {
        LinkEnds::new(self.leaves, self.enters)
    }
}

impl SimplePath {
    /// Returns the way over these arcs of a graph.
    pub(super) fn over(graph: &Graph, from: usize, arcs: &[usize]) -> Self {
        let weights = arcs.iter().map(|arc| graph.arc(*arc).weight);
        let crossings = arcs.iter().map(|arc| {
            let arc = graph.arc(*arc);
            Crossing {
                leaves: arc.leaves,
                enters: arc.enters,
            }
        });
        Self {
            cost: cost_of(weights.sum::<Weight>()),
            first: graph.datapath(from),
            crossings: crossings.collect(),
        }
    }

    /// Returns the links that it crosses, in order.
    pub fn links(&self) -> impl Iterator<Item = LinkEnds> + '_ {
        self.crossings.iter().map(Crossing::link)
    }

    /// Returns the switches that it visits, in order.
    pub fn switches(&self) -> impl Iterator<Item = DatapathId> + '_ {
        let entered = self.crossings.iter();
        std::iter::once(self.first).chain(entered.map(|crossing| crossing.enters.datapath))
    }

    /// Returns the switch at which it ends.
    #[must_use]
    pub fn last(&self) -> DatapathId {
        let last = self.crossings.last();
        last.map_or(self.first, |crossing| crossing.enters.datapath)
    }

    /// Returns the same links in the other direction, at the same cost.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let crossings = self.crossings.iter().rev().map(|crossing| Crossing {
            leaves: crossing.enters,
            enters: crossing.leaves,
        });
        Self {
            cost: self.cost,
            first: self.last(),
            crossings: crossings.collect(),
        }
    }

    /// Returns it as the tree of a flow that comes in by `source` and goes out by
    /// `destination`.
    #[must_use]
    pub fn tree(&self, source: PortId, destination: PortId) -> Tree {
        let inputs = self.crossings.iter().map(|crossing| crossing.enters);
        let outputs = self.crossings.iter().map(|crossing| crossing.leaves);
        let ends = std::iter::once(source)
            .chain(inputs)
            .zip(outputs.chain([destination]));
        let mut before = None;
        let branches = ends.enumerate().map(|(index, (input, output))| {
            let parent = before.replace((index, output.port));
            Branch {
                datapath: input.datapath,
                input: input.port,
                outputs: vec![output.port],
                parent,
            }
        });
        Tree {
            branches: branches.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{access, ladder};
    use super::super::{find_tree, one_each};
    use super::*;
    use crate::path::Ranking;

    #[test]
    fn a_path_is_the_tree_that_a_flow_would_take() {
        let view = ladder(4);
        let graph = Graph::new(&view, &one_each, &|_, _| true);
        let (from, to) = (access(1), access(8));

        let path = Ranking::new(&graph, from.datapath, to.datapath, 1)
            .next()
            .unwrap();

        let tree = find_tree(&view, from, &[to], &[], &one_each).unwrap();
        assert_eq!(path.tree(from, to), tree);
        assert_eq!(
            path.links().collect::<Vec<_>>(),
            tree.links().collect::<Vec<_>>()
        );
    }
}
