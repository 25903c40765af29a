//! The search itself: ways grow switch by switch, the most promising first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::Delay;

use super::distances::{DistanceTable, passing_delay};
use super::{CableId, DirectedLink, Ends, Graph, NodeId, Route};
use crate::admission::arrival_window::{ArrivalWindow, behind};
use crate::admission::check::always_fits;
use crate::admission::ledger::Ledger;
use crate::admission::plan::{SenderTraffic, passing};
use crate::admission::request::Request;
use crate::admission::reservation::FlowOrigin;
use crate::admission::stage::StageId;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteQuery {
    /// The least way that the ledger admits.
    Admissible,
    /// This many ways, whatever has been promised.
    Shortest(usize),
}

/// The beginning of a way.
#[derive(Clone, Copy, Debug)]
struct Label {
    node: NodeId,
    /// When frames arrive there.
    window: ArrivalWindow,
    /// The label that it continues, by which link, and when frames arrive at that
    /// link's port.
    before: Option<(usize, DirectedLink, ArrivalWindow)>,
}

/// The memory of searches, kept from one to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct RouteSearch {
    labels: Vec<Label>,
    /// The least delay of a way that continues a label, the latest that frames
    /// arrive there (of equals, the one that has got further goes first), and the
    /// label.
    open: BinaryHeap<Reverse<(Delay, Reverse<Delay>, usize)>>,
    round: u64,
    /// The narrowest window with which each switch has been reached over each link, in
    /// either direction of each cable, and at last the first switch: what comes behind
    /// a switch may fit if it came there over one link and not if over another.
    narrowest: Vec<(u64, Delay)>,
    avoided_nodes: Vec<u64>,
    avoided_cables: Vec<u64>,
}

/// What a search is about.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) graph: &'a Graph,
    pub(super) table: &'a DistanceTable,
    pub(super) ledger: &'a Ledger,
    pub(super) request: &'a Request,
    pub(super) sent: SenderTraffic<'a>,
    pub(super) ends: Ends<'a>,
    pub(super) question: RouteQuery,
}

impl RouteSearch {
    pub(super) fn new(nodes: usize, cables: usize) -> Self {
        Self {
            narrowest: vec![(0, Delay::ZERO); 2 * cables + 1],
            avoided_nodes: vec![0; nodes],
            avoided_cables: vec![0; cables],
            ..Self::default()
        }
    }

    /// Returns the ways that answer the task, the least first.
    pub(super) fn run(&mut self, task: Task<'_>) -> Vec<Route> {
        self.begin(task);
        let most = match task.question {
            RouteQuery::Admissible => 1,
            RouteQuery::Shortest(most) => most,
        };
        let mut found = Vec::new();
        while found.len() < most && self.labels.len() < super::Map::MAX_LABELS {
            let Some(Reverse((_, _, at))) = self.open.pop() else {
                break;
            };
            let Some(origin) = self.enter(at, task) else {
                continue;
            };
            let label = self.labels[at];
            let stages = task.ledger.stages();
            let window = match task.graph.processing(label.node) {
                Some(stage) => behind(label.window, (stage, None), task.request.class, stages).ok(),
                None => Some(label.window),
            };
            let Some(window) = window else { continue };
            if label.node == task.ends.to.node {
                found.extend(self.arrive(at, window, origin, task));
            } else {
                self.go_on(at, window, task);
            }
        }
        found
    }

    fn begin(&mut self, task: Task<'_>) {
        self.labels.clear();
        self.open.clear();
        self.round += 1;
        for node in task.ends.avoid_nodes {
            self.avoided_nodes[node.index()] = self.round;
        }
        for cable in task.ends.avoid_cables {
            self.avoided_cables[cable.index()] = self.round;
        }
        let window = ArrivalWindow {
            earliest: Delay::ZERO,
            latest: task.request.initial,
        };
        self.push(task.ends.from, window, None, task);
    }

    fn push(
        &mut self,
        node: NodeId,
        window: ArrivalWindow,
        before: Option<(usize, DirectedLink, ArrivalWindow)>,
        task: Task<'_>,
    ) {
        let (class, stages) = (task.request.class, task.ledger.stages());
        let left = task.table[node.index()];
        let exit = passing_delay(task.ends.to.port, class, stages);
        let Some((left, exit)) = left.zip(exit) else {
            return;
        };
        let least = window.latest + left + exit;
        if least <= task.request.deadline {
            let rank = (least, Reverse(window.latest), self.labels.len());
            self.labels.push(Label {
                node,
                window,
                before,
            });
            self.open.push(Reverse(rank));
        }
    }

    /// Returns from where frames leave the switch of a label, if they
    /// may come that far; nothing otherwise.
    fn enter(&mut self, at: usize, task: Task<'_>) -> Option<FlowOrigin> {
        let Label {
            node,
            window,
            before,
        } = self.labels[at];
        let arrival = before.map(|(_, link, _)| link.port);
        let processing = task.graph.processing(node);
        if task.question == RouteQuery::Admissible {
            let link = before.map(|(_, link, _)| link);
            let way_in = link.map_or(self.narrowest.len() - 1, |link| {
                2 * link.cable.index() + usize::from(link.from < link.to)
            });
            let (round, narrowest) = self.narrowest[way_in];
            if round == self.round && narrowest <= window.length() {
                return None;
            }
            if let Some((label, link, at_port)) = before {
                let from = self.labels[label];
                let arrival = from.before.map(|(_, link, _)| link.port);
                let origin = FlowOrigin::leaving(task.graph.processing(from.node), arrival);
                task.admits(link.port, origin, at_port)?;
            }
            if let Some(stage) = processing {
                task.admits(stage, FlowOrigin::leaving(None, arrival), window)?;
            }
            self.narrowest[way_in] = (self.round, window.length());
        }
        Some(FlowOrigin::leaving(processing, arrival))
    }

    fn arrive(
        &self,
        at: usize,
        window: ArrivalWindow,
        origin: FlowOrigin,
        task: Task<'_>,
    ) -> Option<Route> {
        let port = task.ends.to.port;
        if task.question == RouteQuery::Admissible {
            task.admits(port, origin, window)?;
        }
        let (class, stages) = (task.request.class, task.ledger.stages());
        let bound = behind(window, (port, None), class, stages).ok()?.latest;
        let mut route = Route {
            bound,
            nodes: Vec::new(),
            cables: Vec::new(),
            stages: vec![port],
        };
        let mut next = Some(at);
        while let Some(label) = next.map(|label| self.labels[label]) {
            route.nodes.push(label.node);
            route.stages.extend(task.graph.processing(label.node));
            next = label.before.map(|(before, link, _)| {
                route.cables.push(link.cable);
                route.stages.push(link.port);
                before
            });
        }
        route.nodes.reverse();
        route.cables.reverse();
        route.stages.reverse();
        Some(route)
    }

    fn go_on(&mut self, at: usize, window: ArrivalWindow, task: Task<'_>) {
        let (class, stages) = (task.request.class, task.ledger.stages());
        for link in task.graph.leaving(self.labels[at].node) {
            let avoided = self.avoided_nodes[link.to.index()] == self.round
                || self.is_avoided(link.cable)
                || self.passes(at, link.to);
            if avoided {
                continue;
            }
            if let Ok(next) = behind(window, (link.port, None), class, stages) {
                self.push(link.to, next, Some((at, *link, window)), task);
            }
        }
    }

    fn is_avoided(&self, cable: CableId) -> bool {
        self.avoided_cables[cable.index()] == self.round
    }

    /// Returns whether a way has been at `node` already.
    fn passes(&self, at: usize, node: NodeId) -> bool {
        let before = |at: &usize| self.labels[*at].before.map(|(before, _, _)| before);
        let mut way = std::iter::successors(Some(at), before);
        way.any(|label| self.labels[label].node == node)
    }
}

impl Task<'_> {
    /// Returns something if a stage has room for the flow behind `window`.
    fn admits(&self, stage: StageId, origin: FlowOrigin, window: ArrivalWindow) -> Option<()> {
        let stages = self.ledger.stages();
        let reservation = passing(stage, origin, stages, self.sent, window);
        always_fits(&reservation, stages, self.ledger.load(stage)).ok()
    }
}
