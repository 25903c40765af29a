//! Which servers a linear program looks at: those of one path, and some of
//! those from which other flows come to it.
//!
//! The servers form a tree whose root is the last of the path. What leaves a
//! server for another than its parent has left the tree; if it comes back it is
//! a stranger whose burst has to be known.

use crate::analysis::{ServerGraph, ServerId};

use super::facts::FactMap;

/// A server of a tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreeServer {
    /// The server.
    pub(super) server: ServerId,
    /// The place of the server behind it; the root has none.
    pub(super) parent: Option<usize>,
    /// How many servers there are behind it.
    pub(super) depth: usize,
}

/// The servers that a linear program looks at, each behind its parent.
#[derive(Debug)]
pub(super) struct ServerTree {
    nodes: Vec<TreeServer>,
    /// The place of the first server of the path.
    begin: usize,
}

impl ServerTree {
    /// Returns the tree of a path, with servers before it until there are
    /// `limit`.
    pub(super) fn around(map: &FactMap, path: &[ServerId], limit: usize) -> Self {
        let mut nodes: Vec<TreeServer> = Vec::with_capacity(path.len().max(limit));
        for server in path.iter().rev() {
            nodes.push(TreeServer {
                server: *server,
                parent: nodes.len().checked_sub(1),
                depth: nodes.len(),
            });
        }
        let begin = nodes.len() - 1;
        let mut tree = Self { nodes, begin };
        let mut next = 0;
        while next < tree.nodes.len() && tree.nodes.len() < limit {
            tree.grow(map, next, limit);
            next += 1;
        }
        tree
    }

    /// Returns the servers, each behind its parent.
    pub(super) fn nodes(&self) -> &[TreeServer] {
        &self.nodes
    }

    /// Returns the place of the first server of the path.
    pub(super) fn begin(&self) -> usize {
        self.begin
    }

    /// Returns the place of a server, if it is in the tree.
    pub(super) fn place(&self, server: ServerId) -> Option<usize> {
        self.nodes.iter().position(|node| node.server == server)
    }

    /// Returns the place of the server that a path goes on to from hop `hop`,
    /// if it stays in the tree.
    pub(super) fn onward(&self, path: &[ServerId], hop: usize) -> Option<usize> {
        let parent = self.nodes[self.place(path[hop])?].parent?;
        (path.get(hop + 1) == Some(&self.nodes[parent].server)).then_some(parent)
    }

    /// Adds the servers from which flows come to a node, those of most traffic
    /// first.
    fn grow(&mut self, map: &FactMap, to: usize, limit: usize) {
        let mut before: Vec<_> = map.arcs_into(self.nodes[to].server).collect();
        before.sort_by_key(|arc| std::cmp::Reverse(traffic(map.network, map, *arc)));
        for arc in before {
            let server = map.arc(arc).from;
            if self.nodes.len() < limit && self.place(server).is_none() {
                self.nodes.push(TreeServer {
                    server,
                    parent: Some(to),
                    depth: self.nodes[to].depth + 1,
                });
            }
        }
    }
}

/// The rates of all flows of an arc, as a measure of how much it matters.
fn traffic(network: &ServerGraph, map: &FactMap, arc: super::facts::ArcId) -> u128 {
    let flows = map.arc(arc).crossings.iter().map(|at| at.flow);
    let rates = flows.map(|flow| {
        network
            .buckets(flow)
            .iter()
            .map(|it| it.rate.as_ubps())
            .min()
    });
    rates.map(|rate| u128::from(rate.unwrap_or_default())).sum()
}
