//! Finds the way on which a flow keeps its deadline and the network its promises
//! (`S4-11`).
//!
//! Budgets are fixed, so the bound of a way is a sum, and what a flow brings to a
//! stage depends on the way that leads there alone. So the search can ask the
//! ledger at every step: a way goes on only over stages that take the flow, with
//! the burst that it has by then, and as long as what it took and the least that
//! is left add up to no more than the deadline. The first way to arrive is the
//! one with the least bound, and the ledger admits it.
//!
//! It is A* over switches, guided by the least delay from each switch to the
//! destination. These depend on budgets alone: they are computed once for each
//! destination and class, and kept. Of two ways to a switch the one that is later
//! is dropped if the flow's window is no narrower there. One that is later and
//! narrower is kept: where the other is refused it may be taken.
//!
//! # Left out
//!
//! Trees to several receivers. Alternatives for failures: whoever reserves them
//! asks for each with what is broken to be avoided.

mod distances;
mod search;

use units::Delay;

use super::ledger::Ledger;
use super::request::{Request, Tree, validate_contract};
use super::stage::StageId;
use distances::Distances;
use search::{Question, Search, Task};

/// The number of a switch: its place in the list the map was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// The number of a cable: its place in the list the map was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CableId(pub u32);

/// A port of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The switch.
    pub node: NodeId,
    /// The stage of the port.
    pub port: StageId,
}

/// A cable between two switches, with the ports by which frames enter it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// Its ends.
    pub ends: [End; 2],
}

/// A direction of a cable.
#[derive(Clone, Copy, Debug)]
struct Link {
    from: NodeId,
    to: NodeId,
    port: StageId,
    cable: CableId,
}

/// Between which ports a way is wanted, and over what it must not lead.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// The switch of the sender.
    pub from: NodeId,
    /// The port of the receiver.
    pub to: End,
    /// Cables that are not to be used.
    pub avoid_cables: &'a [CableId],
    /// Switches that are not to be used.
    pub avoid_nodes: &'a [NodeId],
}

impl Ends<'_> {
    /// Returns ends with nothing to avoid.
    #[must_use]
    pub const fn new(from: NodeId, to: End) -> Self {
        Self {
            from,
            to,
            avoid_cables: &[],
            avoid_nodes: &[],
        }
    }
}

/// A way through the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The latest that a frame arrives.
    pub bound: Delay,
    /// The switches, from the sender on.
    pub nodes: Vec<NodeId>,
    /// The cables between them.
    pub cables: Vec<CableId>,
    /// The stages, from the sender on.
    pub stages: Vec<StageId>,
}

impl Route {
    /// Returns the stages as a tree without branches.
    #[must_use]
    pub fn tree(&self) -> Tree {
        Tree::path(self.stages.iter().copied())
    }
}

/// The switches of a network and the cables between them, as stages of a ledger.
#[derive(Clone, Debug)]
pub struct Map {
    graph: Graph,
    distances: Distances,
    search: Search,
}

impl Map {
    /// The most beginnings of ways that one search looks at.
    pub const MAX_LABELS: usize = 100_000;

    /// Makes the map of switches with the processing stages given, if they have
    /// one, and of the cables between them. What it is asked about is a ledger
    /// whose stages have always the same budgets.
    ///
    /// # Panics
    ///
    /// If a cable ends at a switch that is not there.
    #[must_use]
    pub fn new(processing: Vec<Option<StageId>>, cables: &[Cable]) -> Self {
        Self {
            distances: Distances::default(),
            search: Search::new(processing.len(), cables.len()),
            graph: Graph::new(processing, cables),
        }
    }

    /// Returns the way with the least bound on which `ledger` would admit
    /// `request`, whose own trees do not matter; nothing if there is none.
    pub fn find(&mut self, ledger: &Ledger, request: &Request, ends: Ends<'_>) -> Option<Route> {
        let mut found = self.ask(ledger, request, ends, Question::Admissible);
        found.pop()
    }

    /// Returns up to `most` ways without loops that keep the deadline, the least
    /// bound first, whether or not a ledger admits them. There may be fewer if
    /// [`MAX_LABELS`](Self::MAX_LABELS) beginnings did not lead to as many.
    pub fn shortest(
        &mut self,
        ledger: &Ledger,
        request: &Request,
        ends: Ends<'_>,
        most: usize,
    ) -> Vec<Route> {
        self.ask(ledger, request, ends, Question::Shortest(most))
    }

    fn ask(
        &mut self,
        ledger: &Ledger,
        request: &Request,
        ends: Ends<'_>,
        question: Question,
    ) -> Vec<Route> {
        if validate_contract(request).is_err() {
            return Vec::new();
        }
        let (graph, stages) = (&self.graph, ledger.stages());
        let table = self
            .distances
            .to(ends.to.node, request.class, graph, stages);
        self.search.run(Task {
            graph,
            table,
            ledger,
            request,
            ends,
            question,
        })
    }
}

/// Which link leads where.
#[derive(Clone, Debug)]
struct Graph {
    processing: Vec<Option<StageId>>,
    leaving: Vec<Vec<Link>>,
    entering: Vec<Vec<Link>>,
}

impl Graph {
    fn new(processing: Vec<Option<StageId>>, cables: &[Cable]) -> Self {
        let mut graph = Self {
            leaving: vec![Vec::new(); processing.len()],
            entering: vec![Vec::new(); processing.len()],
            processing,
        };
        for (number, cable) in (0..).map(CableId).zip(cables) {
            let [one, other] = cable.ends;
            for (from, to) in [(one, other), (other, one)] {
                let link = Link {
                    from: from.node,
                    to: to.node,
                    port: from.port,
                    cable: number,
                };
                graph.leaving[from.node.index()].push(link);
                graph.entering[to.node.index()].push(link);
            }
        }
        graph
    }

    fn nodes(&self) -> usize {
        self.processing.len()
    }

    fn processing(&self, node: NodeId) -> Option<StageId> {
        self.processing[node.index()]
    }

    fn leaving(&self, node: NodeId) -> &[Link] {
        &self.leaving[node.index()]
    }

    fn entering(&self, node: NodeId) -> &[Link] {
        &self.entering[node.index()]
    }
}

impl NodeId {
    fn index(self) -> usize {
        usize::try_from(self.0).expect("the number of a switch fits an address")
    }
}

impl CableId {
    fn index(self) -> usize {
        usize::try_from(self.0).expect("the number of a cable fits an address")
    }
}

#[cfg(test)]
mod tests;
