//! Two ways that share nothing that may break, by Suurballe and Tarjan's idea in
//! the form of Bhandari (`SUURBALLE`).
//!
//! Two ways of least total delay are two units of flow of least cost through a
//! network in which a cable, and where switches are not to be shared a switch,
//! carries one unit. The second unit may take back a part of the first one's way.
//! That finds a pair wherever there is one, also where the shortest way blocks
//! every other.

use units::Delay;

use super::distances::passing_delay;
use super::{DirectedLink, Disjoint, Ends, Graph, NodeId};
use crate::admission::stage::{Stage, StageId};

/// Two ways as the links that they take.
pub(super) type Pair = [Vec<DirectedLink>; 2];

/// Returns the two disjoint ways of least total delay in `class`, if there are
/// two.
pub(super) fn least_pair(
    graph: &Graph,
    stages: &[Stage],
    class: u8,
    ends: Ends<'_>,
    disjoint: Disjoint,
) -> Option<Pair> {
    let mut network = Residual::new(graph, stages, class, ends, disjoint);
    network.send_one()?;
    network.send_one()?;
    Some([network.take_way(ends)?, network.take_way(ends)?])
}

/// An arc that carries a flow, and what is on it.
#[derive(Clone, Copy, Debug)]
struct Arc {
    from: usize,
    to: usize,
    cost_ps: i128,
    room: u8,
    used: u8,
    link: Option<DirectedLink>,
}

/// A network of arcs; each switch is two points, one where frames come in and one
/// where they go out.
struct Residual {
    arcs: Vec<Arc>,
    points: usize,
    from: usize,
    to: usize,
}

fn entrance(node: NodeId) -> usize {
    2 * node.index()
}

fn exit(node: NodeId) -> usize {
    2 * node.index() + 1
}

impl Residual {
    fn new(graph: &Graph, stages: &[Stage], class: u8, ends: Ends<'_>, disjoint: Disjoint) -> Self {
        let mut arcs = Vec::new();
        let cost = |stage: Option<StageId>| match stage {
            None => Some(0),
            Some(stage) => passing_delay(stage, class, stages).map(cost_ps),
        };
        for node in (0..).map(NodeId).take(graph.nodes()) {
            let is_end = node == ends.from || node == ends.to.node;
            let shared = is_end || disjoint == Disjoint::Cables;
            let within = cost(graph.processing(node));
            if let Some(cost_ps) = within.filter(|_| !ends.avoid_nodes.contains(&node)) {
                arcs.push(Arc {
                    from: entrance(node),
                    to: exit(node),
                    cost_ps,
                    room: if shared { 2 } else { 1 },
                    used: 0,
                    link: None,
                });
            }
            for link in graph.leaving(node) {
                let usable = cost(Some(link.port));
                if let Some(cost_ps) = usable.filter(|_| !ends.avoid_cables.contains(&link.cable)) {
                    arcs.push(Arc {
                        from: exit(link.from),
                        to: entrance(link.to),
                        cost_ps,
                        room: 1,
                        used: 0,
                        link: Some(*link),
                    });
                }
            }
        }
        Self {
            arcs,
            points: 2 * graph.nodes(),
            from: entrance(ends.from),
            to: exit(ends.to.node),
        }
    }

    /// Sends one unit more by the cheapest way, which may take back what was sent.
    fn send_one(&mut self) -> Option<()> {
        let mut cheapest: Vec<Option<(i128, usize)>> = vec![None; self.points];
        cheapest[self.from] = Some((0, usize::MAX));
        // No way needs more rounds than there are points: costs have no cycle
        // below zero, as what was sent was sent the cheapest way.
        for _ in 0..self.points {
            let mut changed = false;
            for (at, arc) in self.arcs.iter().enumerate() {
                let forth = (arc.used < arc.room).then_some((arc.from, arc.to, arc.cost_ps));
                let back = (arc.used > 0).then_some((arc.to, arc.from, -arc.cost_ps));
                for (from, to, cost) in [forth, back].into_iter().flatten() {
                    let Some((so_far, _)) = cheapest[from] else {
                        continue;
                    };
                    if cheapest[to].is_none_or(|(known, _)| so_far + cost < known) {
                        cheapest[to] = Some((so_far + cost, at));
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        let mut point = self.to;
        while point != self.from {
            let (_, at) = cheapest[point]?;
            let arc = &mut self.arcs[at];
            if arc.to == point && arc.used < arc.room {
                arc.used += 1;
                point = arc.from;
            } else {
                arc.used -= 1;
                point = arc.to;
            }
        }
        Some(())
    }

    /// Takes one way out of what was sent.
    fn take_way(&mut self, ends: Ends<'_>) -> Option<Vec<DirectedLink>> {
        let mut way = Vec::new();
        let mut node = ends.from;
        while node != ends.to.node {
            let mut arcs = self.arcs.iter_mut();
            let arc = arcs.find(|arc| arc.used > 0 && arc.link.is_some_and(|l| l.from == node))?;
            arc.used -= 1;
            let link = arc.link?;
            way.push(link);
            node = link.to;
        }
        Some(way)
    }
}

fn cost_ps(delay: Delay) -> i128 {
    i128::from(delay.as_ps())
}
