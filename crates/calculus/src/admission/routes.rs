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
//! Two ways at once that share no cable, or no switch either, are found by
//! [`Map::find_pair`].
//!
//! # Left out
//!
//! Trees to several receivers. Alternatives for failures: whoever reserves them
//! asks for each with what is broken to be avoided.

mod distances;
mod pairs;
mod search;

use units::Delay;

use super::arrival_window::{ArrivalWindow, behind};
use super::ledger::{Admitted, Ledger};
use super::plan::SenderTraffic;
use super::refusal::{Constraint, Fits, Refusal};
use super::request::{Redundant, Request, Tree, validate_contract};
use super::stage::StageId;
use distances::Distances;
use search::{RouteQuery, RouteSearch, Task};

/// The number of a switch: its place in the list the map was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// The number of a cable: its place in the list the map was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CableId(pub u32);

/// A port of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRef {
    /// The switch.
    pub node: NodeId,
    /// The stage of the port.
    pub port: StageId,
}

/// A cable between two switches, with the ports by which frames enter it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// Its ends.
    pub ends: [PortRef; 2],
}

/// A direction of a cable.
#[derive(Clone, Copy, Debug)]
struct DirectedLink {
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
    pub to: PortRef,
    /// Cables that are not to be used.
    pub avoid_cables: &'a [CableId],
    /// Switches that are not to be used.
    pub avoid_nodes: &'a [NodeId],
}

impl Ends<'_> {
    /// Returns ends with nothing to avoid.
    #[must_use]
    pub const fn new(from: NodeId, to: PortRef) -> Self {
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

/// What two ways must not share, beside the switches at their ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disjoint {
    /// No cable.
    Cables,
    /// No cable and no switch.
    Nodes,
}

/// The most shortest ways that are tried as the first of a pair.
const FIRST_OF_PAIR: usize = 16;

/// The switches of a network and the cables between them, as stages of a ledger.
#[derive(Clone, Debug)]
pub struct Map {
    graph: Graph,
    distances: Distances,
    search: RouteSearch,
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
            search: RouteSearch::new(processing.len(), cables.len()),
            graph: Graph::new(processing, cables),
        }
    }

    /// Returns the way with the least bound on which `ledger` would admit
    /// `request`, whose own trees do not matter; nothing if there is none.
    pub fn find(&mut self, ledger: &Ledger, request: &Request, ends: Ends<'_>) -> Option<Route> {
        let mut found = self.ask(ledger, request, ends, RouteQuery::Admissible);
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
        self.ask(ledger, request, ends, RouteQuery::Shortest(most))
    }

    /// Promises `request` what it asks for on the way with the least bound on which
    /// that can be promised, and returns the way as well.
    ///
    /// # Errors
    ///
    /// Why it cannot be promised on the way with the least bound, and what could be
    /// there; or by how much every way is too long, or that there is none.
    pub fn admit(
        &mut self,
        ledger: &mut Ledger,
        mut request: Request,
        ends: Ends<'_>,
    ) -> Result<(Route, Admitted), Refusal> {
        if let Some(route) = self.find(ledger, &request, ends) {
            request.base = route.tree();
            let admitted = ledger.admit(request)?;
            return Ok((route, admitted));
        }
        let patient = Request {
            deadline: super::request::MAX_DELAY,
            ..request.clone()
        };
        match self.shortest(ledger, &patient, ends, 1).pop() {
            // On its own trees a malformed request is refused for what it is.
            None if validate_contract(&request).is_err() => Err(refused(ledger, &request)),
            None => Err(Refusal {
                flow: None,
                stage: None,
                failure: None,
                constraint: Constraint::NoWay,
                fits: Fits::default(),
            }),
            Some(route) => {
                request.base = route.tree();
                Err(refused(ledger, &request))
            }
        }
    }

    /// Returns two disjoint ways, the quicker one first, on which `ledger` would
    /// admit `request` with two copies of each frame; nothing if none were found.
    /// The processing of the receiver's switch, if it has any, drops second copies.
    ///
    /// The pair of the least total bound is tried first, then the shortest ways
    /// with the least that is disjoint from each.
    pub fn find_pair(
        &mut self,
        ledger: &mut Ledger,
        request: &Request,
        ends: Ends<'_>,
        disjoint: Disjoint,
    ) -> Option<[Route; 2]> {
        validate_contract(request).ok()?;
        let (graph, stages) = (&self.graph, ledger.stages());
        let least = pairs::least_pair(graph, stages, request.class, ends, disjoint)?;
        let least = least.map(|way| self.route(ledger, request, ends, &way));
        if let [Some(one), Some(other)] = least
            && let Some(pair) = self.admissible(ledger, request, [one, other])
        {
            return Some(pair);
        }
        let firsts = self.shortest(ledger, request, ends, FIRST_OF_PAIR);
        firsts.into_iter().find_map(|first| {
            let inner = first.nodes.get(1..first.nodes.len() - 1).unwrap_or(&[]);
            let avoid_cables = [ends.avoid_cables, &first.cables].concat();
            let mut avoid_nodes = ends.avoid_nodes.to_vec();
            match disjoint {
                Disjoint::Cables => {}
                Disjoint::Nodes => avoid_nodes.extend(inner),
            }
            let beside = Ends {
                avoid_cables: &avoid_cables,
                avoid_nodes: &avoid_nodes,
                ..ends
            };
            let second = self.find(ledger, request, beside)?;
            self.admissible(ledger, request, [first, second])
        })
    }

    /// Returns `request` with second copies, on a pair of ways.
    #[must_use]
    pub fn redundant(&self, request: &Request, [one, other]: &[Route; 2]) -> Request {
        let last = one.nodes.last();
        Request {
            base: one.tree(),
            alternatives: Vec::new(),
            is_held_back: false,
            redundant: Some(Box::new(Redundant {
                tree: other.tree(),
                eliminator: last.and_then(|node| self.graph.processing(*node)),
                hold: Delay::ZERO,
            })),
            ..request.clone()
        }
    }

    /// Returns the pair, the quicker way first, if the ledger admits it.
    fn admissible(
        &self,
        ledger: &mut Ledger,
        request: &Request,
        mut pair: [Route; 2],
    ) -> Option<[Route; 2]> {
        pair.sort_by_key(|route| route.bound);
        let request = self.redundant(request, &pair);
        ledger.admits(&request).then_some(pair)
    }

    /// Returns the way over `links`.
    fn route(
        &self,
        ledger: &Ledger,
        request: &Request,
        ends: Ends<'_>,
        links: &[DirectedLink],
    ) -> Option<Route> {
        let mut route = Route {
            bound: Delay::ZERO,
            nodes: vec![ends.from],
            cables: links.iter().map(|link| link.cable).collect(),
            stages: self.graph.processing(ends.from).into_iter().collect(),
        };
        for link in links {
            route.nodes.push(link.to);
            route.stages.push(link.port);
            route.stages.extend(self.graph.processing(link.to));
        }
        route.stages.push(ends.to.port);
        let mut window = ArrivalWindow {
            earliest: Delay::ZERO,
            latest: request.initial,
        };
        for stage in &route.stages {
            let (class, stages) = (request.class, ledger.stages());
            window = behind(window, (*stage, None), class, stages).ok()?;
        }
        route.bound = window.latest;
        Some(route)
    }

    fn ask(
        &mut self,
        ledger: &Ledger,
        request: &Request,
        ends: Ends<'_>,
        question: RouteQuery,
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
            sent: SenderTraffic::new(request, request.traffic()),
            ends,
            question,
        })
    }
}

/// Which link leads where.
#[derive(Clone, Debug)]
struct Graph {
    processing: Vec<Option<StageId>>,
    leaving: Vec<Vec<DirectedLink>>,
    entering: Vec<Vec<DirectedLink>>,
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
                let link = DirectedLink {
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

    fn leaving(&self, node: NodeId) -> &[DirectedLink] {
        &self.leaving[node.index()]
    }

    fn entering(&self, node: NodeId) -> &[DirectedLink] {
        &self.entering[node.index()]
    }
}

/// Returns why a request is not admitted.
fn refused(ledger: &mut Ledger, request: &Request) -> Refusal {
    let refusal = ledger.check(request).err();
    refusal.expect("no way was found on which it would be")
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
