//! The least delay from each switch to a destination, by budgets alone.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use units::Delay;

use super::{Graph, NodeId};
use crate::admission::stage::{Stage, StageId};

/// The least delay from the arrival at each switch to the departure from the
/// processing of the destination; nothing if no way leads there.
pub(super) type DistanceTable = Box<[Option<Delay>]>;

/// What has been computed, by destination and class.
#[derive(Clone, Debug, Default)]
pub(super) struct Distances {
    known: BTreeMap<(NodeId, u8), DistanceTable>,
}

impl Distances {
    /// Returns the table of a destination and a class.
    pub(super) fn to(
        &mut self,
        to: NodeId,
        class: u8,
        graph: &Graph,
        stages: &[Stage],
    ) -> &DistanceTable {
        self.known
            .entry((to, class))
            .or_insert_with(|| table(to, class, graph, stages))
    }
}

fn table(to: NodeId, class: u8, graph: &Graph, stages: &[Stage]) -> DistanceTable {
    let mut least: DistanceTable = vec![None; graph.nodes()].into();
    let mut open = BinaryHeap::new();
    if let Some(at_destination) = processing_delay(graph.processing(to), class, stages) {
        open.push(Reverse((at_destination, to)));
    }
    while let Some(Reverse((delay, node))) = open.pop() {
        if least[node.index()].is_some() {
            continue;
        }
        least[node.index()] = Some(delay);
        for link in graph.entering(node) {
            let port = passing_delay(link.port, class, stages);
            let before = processing_delay(graph.processing(link.from), class, stages);
            if let (Some(port), Some(before)) = (port, before) {
                open.push(Reverse((delay + port + before, link.from)));
            }
        }
    }
    least
}

fn processing_delay(stage: Option<StageId>, class: u8, stages: &[Stage]) -> Option<Delay> {
    stage.map_or(Some(Delay::ZERO), |stage| {
        passing_delay(stage, class, stages)
    })
}

/// Returns what a stage and the link behind it take at most, or nothing if the
/// class has no promises there.
pub(super) fn passing_delay(stage: StageId, class: u8, stages: &[Stage]) -> Option<Delay> {
    let stage = &stages[stage.index()];
    Some(stage.budget(class)? + stage.propagation())
}
