//! Plans how the entries of a subject are replaced by others while frames flow,
//! so that none is lost: make before break.
//!
//! First come the entries that the new way needs and nobody uses yet. When the
//! switches have confirmed them, the entries that both ways use are written
//! over, those farthest from the source first, one distance at a time: wherever
//! a frame is sent the new way, the new way is complete from there on. The entry
//! at the source's switch is the last of these.
//!
//! An entry that both ways use may lead the old way to a receiver that the new
//! way serves from another branch, one that parts before this switch. Such an
//! output stays until all entries have been written over; then it is trimmed.
//! Last, what only the old way needed is deleted or written back. Both wait until
//! the frames that left on the old way have arrived.
//!
//! What is planned from is what the switches have now, as frames see it: entries
//! and the links between them. So a plan can begin where another one was left
//! off, in the middle of a move.
//!
//! # Left out
//!
//! While an output waits to be trimmed, the receiver behind it gets frames
//! twice, and the links that both of its branches cross carry them twice. Only a
//! tag in the frames that tells old from new could avoid that. A frame that
//! leaves on a new way that is shorter may overtake the last one on the old way.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wire::openflow::PortNumber;

use crate::desired::{Content, Form, RuleKey};
use crate::place::PortId;

/// What becomes of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryChange {
    Put(Form),
    Take,
}

/// Changes that may become true in any order.
pub type TransitionStage = Vec<(RuleKey, EntryChange)>;

/// The stages of a move, each to be confirmed before the next one is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    /// Those that lead frames over the new way.
    pub build: VecDeque<TransitionStage>,
    /// Those that take the old way away, when it is empty.
    pub clear: VecDeque<TransitionStage>,
}

/// Returns, for the port by which a frame leaves a switch, the port by which it
/// enters the next one.
pub type Next<'a> = &'a dyn Fn(PortId) -> Option<PortId>;

impl Stages {
    /// Plans how `present` is replaced by `wanted`. Frames come in at `source`;
    /// without one, wherever no entry of the same frames leads to.
    #[must_use]
    pub fn plan(
        present: &Content,
        wanted: &Content,
        source: Option<PortId>,
        next: Next<'_>,
    ) -> Self {
        let mut plan = Plan::default();
        let is_new = |spot: &RuleKey| !present.contains_key(spot);
        if wanted.keys().all(is_new) {
            // Nothing is written over: nobody looks at where frames flow.
            let puts = wanted.iter().map(put);
            plan.make.extend(puts);
        } else {
            let old = Reach::of(present, source, next);
            let new = Reach::of(wanted, source, next);
            for (spot, form) in wanted {
                plan.add(*spot, present.get(spot), form, (&old, &new));
            }
        }
        let superfluous = present.keys().filter(|spot| !wanted.contains_key(spot));
        let takes = superfluous.map(|spot| (*spot, EntryChange::Take));
        plan.break_up.extend(takes);
        plan.into_stages()
    }
}

fn put((spot, form): (&RuleKey, &Form)) -> (RuleKey, EntryChange) {
    (*spot, EntryChange::Put(form.clone()))
}

/// The stages while they are planned.
#[derive(Debug, Default)]
struct Plan {
    make: TransitionStage,
    switch_over: BTreeMap<Reverse<usize>, TransitionStage>,
    trim: TransitionStage,
    break_up: TransitionStage,
}

impl Plan {
    fn add(&mut self, spot: RuleKey, present: Option<&Form>, form: &Form, ways: (&Reach, &Reach)) {
        let (old, new) = ways;
        let change = || (spot, EntryChange::Put(form.clone()));
        let (present, depth) = match (present, new.depths.get(&spot)) {
            (Some(present), _) if present == form => return,
            (None, _) => return self.make.push(change()),
            // No frame comes there any more.
            (Some(_), None) if old.depths.contains_key(&spot) => {
                return self.break_up.push(change());
            }
            (Some(_), None) => return self.make.push(change()),
            (Some(present), Some(depth)) => (present, *depth),
        };
        let over = self.switch_over.entry(Reverse(depth)).or_default();
        let kept = kept_for_now(spot, (present, form), old, new);
        if kept.is_empty() {
            over.push(change());
        } else {
            over.push((spot, EntryChange::Put(form.with_outputs(&kept, present))));
            self.trim.push(change());
        }
    }

    fn into_stages(self) -> Stages {
        let build = std::iter::once(self.make).chain(self.switch_over.into_values());
        let clear = [self.trim, self.break_up].into_iter();
        let filled = |stage: &TransitionStage| !stage.is_empty();
        Stages {
            build: build.filter(filled).collect(),
            clear: clear.filter(filled).collect(),
        }
    }
}

/// Returns those outputs of the old entry that the new one has not and by which
/// a receiver is reached that the new way serves from elsewhere.
fn kept_for_now(
    spot: RuleKey,
    (present, form): (&Form, &Form),
    old: &Reach,
    new: &Reach,
) -> Vec<PortNumber> {
    let mut kept = Vec::new();
    let served_here = new.below.get(&spot);
    let is_elsewhere = |receiver: &PortId| {
        new.receivers.contains(receiver) && !served_here.is_some_and(|here| here.contains(receiver))
    };
    for output in present.outputs() {
        let receivers = old.behind.get(&(spot, output));
        let leads_elsewhere = receivers.is_some_and(|behind| behind.iter().any(is_elsewhere));
        let is_new = form.outputs().any(|port| port == output);
        if leads_elsewhere && !is_new {
            kept.push(output);
        }
    }
    kept
}

/// Where frames of one kind come in.
type Entrance = (PortId, u64);

/// An entry as frames see it.
struct Node {
    spot: RuleKey,
    datapath: wire::openflow::DatapathId,
    outputs: Vec<PortNumber>,
}

#[derive(Debug, Default)]
struct Reach {
    /// How many entries stand before each that frames reach.
    depths: BTreeMap<RuleKey, usize>,
    /// The receivers behind an entry.
    below: BTreeMap<RuleKey, BTreeSet<PortId>>,
    /// The receivers behind one output of an entry.
    behind: BTreeMap<(RuleKey, PortNumber), BTreeSet<PortId>>,
    receivers: BTreeSet<PortId>,
}

impl Reach {
    fn of(content: &Content, source: Option<PortId>, next: Next<'_>) -> Self {
        let nodes = nodes(content);
        let follow = |node: &Node, (_, kind): Entrance, output: PortNumber| {
            let entrance = (next(PortId::new(node.datapath, output))?, kind);
            nodes.contains_key(&entrance).then_some(entrance)
        };
        let mut reach = Self::default();
        let mut order: Vec<(Entrance, usize)> = roots(&nodes, source, &follow)
            .into_iter()
            .map(|root| (root, 0))
            .collect();
        let mut at = 0;
        while let Some((entrance, depth)) = order.get(at).copied() {
            at += 1;
            let node = &nodes[&entrance];
            if reach.depths.contains_key(&node.spot) {
                continue;
            }
            reach.depths.insert(node.spot, depth);
            let outputs = node.outputs.iter();
            let onward = outputs.filter_map(|output| follow(node, entrance, *output));
            order.extend(onward.map(|entrance| (entrance, depth + 1)));
        }
        if nodes.values().any(|node| node.outputs.len() > 1) {
            reach.find_receivers(&nodes, &order, &follow);
        }
        reach
    }

    /// Finds who is reached, from the receivers back to the sources. Where every
    /// entry has one output, nobody asks for that.
    fn find_receivers(
        &mut self,
        nodes: &BTreeMap<Entrance, Node>,
        order: &[(Entrance, usize)],
        follow: &dyn Fn(&Node, Entrance, PortNumber) -> Option<Entrance>,
    ) {
        for (entrance, _) in order.iter().rev() {
            let node = &nodes[entrance];
            let mut below = BTreeSet::new();
            for output in &node.outputs {
                let behind = match follow(node, *entrance, *output) {
                    Some(next) => self.below.get(&nodes[&next].spot).cloned(),
                    // No entry behind it: a receiver is attached here.
                    None => Some(BTreeSet::from([PortId::new(node.datapath, *output)])),
                };
                let behind = behind.unwrap_or_default();
                below.extend(behind.iter().copied());
                self.behind.insert((node.spot, *output), behind);
            }
            self.receivers.extend(below.iter().copied());
            self.below.insert(node.spot, below);
        }
    }
}

/// Returns the entries by where their frames come in. One that does not look at
/// that has no place on a way.
fn nodes(content: &Content) -> BTreeMap<Entrance, Node> {
    let nodes = content.iter().filter_map(|(spot, form)| {
        let (datapath, _) = *spot;
        let entrance = (
            PortId::new(datapath, form.in_port()?),
            form.kind_of_frames(),
        );
        let node = Node {
            spot: *spot,
            datapath,
            outputs: form.outputs().collect(),
        };
        Some((entrance, node))
    });
    nodes.collect()
}

fn roots(
    nodes: &BTreeMap<Entrance, Node>,
    source: Option<PortId>,
    follow: &dyn Fn(&Node, Entrance, PortNumber) -> Option<Entrance>,
) -> Vec<Entrance> {
    if let Some(source) = source {
        let at_source = (source, u64::MIN)..=(source, u64::MAX);
        return nodes
            .range(at_source)
            .map(|(entrance, _)| *entrance)
            .collect();
    }
    let mut inner = BTreeSet::new();
    for (entrance, node) in nodes {
        let outputs = node.outputs.iter();
        inner.extend(outputs.filter_map(|output| follow(node, *entrance, *output)));
    }
    let entrances = nodes.keys().copied();
    entrances
        .filter(|entrance| !inner.contains(entrance))
        .collect()
}

#[cfg(test)]
mod tests {
    use wire::openflow::{Action, DatapathId, MatchField, TableId};

    use super::*;

    #[test]
    fn what_both_ways_use_is_written_over_from_the_receivers_back() {
        let old = [(7, 0, &[1][..]), (6, 7, &[1])];
        let new = [(7, 0, &[2][..]), (6, 7, &[2]), (5, 6, &[1])];

        let stages = plan(
            &old,
            &new,
            &[((7, 1), (6, 7)), ((7, 2), (6, 7)), ((6, 2), (5, 6))],
        );

        assert_eq!(stages, [[5], [6], [7]]);
    }

    #[test]
    fn what_only_the_old_way_used_goes_last() {
        let old = [(7, 0, &[1][..]), (4, 7, &[1])];
        let new = [(7, 0, &[2][..]), (5, 7, &[1])];

        let stages = plan(&old, &new, &[((7, 1), (4, 7)), ((7, 2), (5, 7))]);

        assert_eq!(stages, [[5], [7], [4]]);
    }

    /// The receiver at 3 is served by way of 5 before and from 1 afterwards: what
    /// leads to it from 5 stays until 1 has been written over.
    #[test]
    fn an_output_is_trimmed_when_its_receiver_is_served_from_elsewhere() {
        let old = [(1, 0, &[7][..]), (5, 1, &[4, 100]), (3, 5, &[100])];
        let new = [(1, 0, &[2, 7][..]), (3, 1, &[100]), (5, 1, &[100])];
        let links = [((1, 7), (5, 1)), ((5, 4), (3, 5)), ((1, 2), (3, 1))];

        let stages = plan(&old, &new, &links);

        assert_eq!(stages, [[3], [5], [1], [5], [3]]);
    }

    /// Entries that are there and that no frame reaches are put right before any
    /// frame is sent to them.
    #[test]
    fn what_nobody_uses_yet_is_changed_first() {
        let old = [(7, 0, &[1][..]), (4, 7, &[1]), (5, 7, &[9])];
        let new = [(7, 0, &[2][..]), (4, 7, &[2]), (5, 7, &[1])];

        let stages = plan(&old, &new, &[((7, 1), (4, 7)), ((7, 2), (5, 7))]);

        assert_eq!(stages, [[5], [7], [4]]);
    }

    #[test]
    fn a_move_to_where_a_flow_is_needs_nothing() {
        let here = [(7, 0, &[1][..])];

        assert_eq!(plan(&here, &here, &[]), Vec::<Vec<u64>>::new());
    }

    #[test]
    fn a_loop_that_nobody_enters_harms_no_plan() {
        let old = [(1, 0, &[2][..]), (2, 3, &[3]), (3, 2, &[2])];
        let new = [(1, 0, &[3][..]), (2, 3, &[3]), (3, 2, &[1])];

        let stages = plan(&old, &new, &[((2, 3), (3, 2)), ((3, 2), (2, 3))]);

        assert_eq!(stages, [[3], [1]]);
    }

    /// Switch, input and outputs of an entry.
    type Row<'a> = (u64, u32, &'a [u32]);
    type Cable = ((u64, u32), (u64, u32));

    fn plan(old: &[Row<'_>], new: &[Row<'_>], links: &[Cable]) -> Vec<Vec<u64>> {
        let port = |(at, port): (u64, u32)| PortId::new(DatapathId(at), PortNumber(port));
        let next = |from: PortId| {
            let mut links = links.iter();
            links
                .find(|(one, _)| port(*one) == from)
                .map(|(_, other)| port(*other))
        };
        let source = port((new[0].0, new[0].1));
        let stages = Stages::plan(&content(old), &content(new), Some(source), &next);
        let all = stages.build.into_iter().chain(stages.clear);
        all.map(|stage| stage.iter().map(|((at, _), _)| at.0).collect())
            .collect()
    }

    fn content(rows: &[Row<'_>]) -> Content {
        let entries = rows.iter().map(|(at, input, outputs)| {
            let fields = [MatchField::InPort(PortNumber(*input))];
            let outputs = outputs.iter().copied().map(PortNumber).map(Action::output);
            let actions: Vec<Action> = outputs.collect();
            let form = Form::new(TableId(0), 10, &fields, &actions);
            ((DatapathId(*at), form.place()), form)
        });
        entries.collect()
    }
}
