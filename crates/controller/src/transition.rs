//! Moves flows from one way to another while both work, so that no frame is
//! lost: make before break.
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
//! Many flows move at once, each by its own distances, in the same few stages.
//! Where the old way is broken anyway there is nothing to wait for: all stages
//! are sent at once.
//!
//! # Left out
//!
//! While an output waits to be trimmed, the receiver behind it gets frames
//! twice, and the links that both of its branches cross carry them twice. Only a
//! tag in the frames that tells old from new could avoid that.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wire::openflow::PortNumber;

use crate::batch::Batch;
use crate::flows::{Entries, Entry};
use crate::path::Tree;
use crate::place::PortId;
use crate::rules::Rule;

/// The messages of a move, by stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transition {
    make: Batch,
    switch_over: BTreeMap<Reverse<usize>, Batch>,
    trim: Batch,
    break_up: Batch,
}

/// The stages of a move, each to be confirmed before the next one is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    /// Those that lead frames over the new way.
    pub build: VecDeque<Batch>,
    /// Those that take the old way away.
    pub clear: VecDeque<Batch>,
}

/// A way of a flow: its entries, and the tree of them that frames follow.
#[derive(Clone, Copy, Debug)]
pub struct Course<'a> {
    /// All entries.
    pub entries: &'a Entries,
    /// The tree, if frames get anywhere.
    pub tree: Option<&'a Tree>,
}

impl Transition {
    /// Adds the move of one flow from one course to another.
    pub fn add(&mut self, rule: &Rule, from: Course<'_>, to: Course<'_>) {
        let (old, new) = (Reach::of(from.tree), Reach::of(to.tree));
        for (entrance, entry) in to.entries {
            let write = |entry: &Entry, batch: &mut Batch| {
                batch.push(entrance.datapath, |out| {
                    rule.emit_add(entrance.port, entry, out);
                });
            };
            let present = from.entries.get(entrance);
            match (present, new.depths.get(entrance)) {
                (Some(present), _) if present == entry => {}
                (None, _) => write(entry, &mut self.make),
                (Some(_), None) => write(entry, &mut self.break_up),
                (Some(present), Some(depth)) => {
                    let kept = kept_for_now(*entrance, present, entry, &old, &new);
                    let over = self.switch_over.entry(Reverse(*depth)).or_default();
                    write(&kept, over);
                    if kept != *entry {
                        write(entry, &mut self.trim);
                    }
                }
            }
        }
        let superfluous = |entrance: &&PortId| !to.entries.contains_key(entrance);
        for entrance in from.entries.keys().filter(superfluous) {
            self.break_up.push(entrance.datapath, |out| {
                rule.emit_delete(entrance.port, out);
            });
        }
    }

    /// Returns the stages that are not empty, in order. Each has to be confirmed
    /// before the next one is sent.
    pub fn into_stages(self) -> impl Iterator<Item = Batch> {
        let Stages { build, clear } = self.into_parts();
        build.into_iter().chain(clear)
    }

    /// Returns the same stages, those apart that have to wait until the old way
    /// is empty.
    #[must_use]
    pub fn into_parts(self) -> Stages {
        let switch_over = self.switch_over.into_values();
        let build = std::iter::once(self.make).chain(switch_over);
        let clear = [self.trim, self.break_up].into_iter();
        let filled = |stage: &Batch| !stage.is_empty();
        Stages {
            build: build.filter(filled).collect(),
            clear: clear.filter(filled).collect(),
        }
    }
}

/// Returns the new entry with those outputs of the old one by which a receiver
/// is reached that the new way serves from elsewhere.
fn kept_for_now(
    entrance: PortId,
    present: &Entry,
    entry: &Entry,
    old: &Reach,
    new: &Reach,
) -> Entry {
    let mut kept = entry.clone();
    let served_here = new.below.get(&entrance);
    for output in &present.outputs {
        let Some(receivers) = old.behind.get(&(entrance, *output)) else {
            continue;
        };
        let is_elsewhere = |receiver| {
            new.receivers.contains(receiver)
                && !served_here.is_some_and(|here| here.contains(receiver))
        };
        if let Err(place) = kept.outputs.binary_search(output)
            && receivers.iter().any(is_elsewhere)
        {
            kept.outputs.insert(place, *output);
        }
    }
    kept
}

/// Who is reached from where on a tree.
#[derive(Debug, Default)]
struct Reach {
    depths: BTreeMap<PortId, usize>,
    /// The receivers behind an entry.
    below: BTreeMap<PortId, BTreeSet<PortId>>,
    /// The receivers behind one output of an entry.
    behind: BTreeMap<(PortId, PortNumber), BTreeSet<PortId>>,
    /// All receivers.
    receivers: BTreeSet<PortId>,
}

impl Reach {
    fn of(tree: Option<&Tree>) -> Self {
        let mut reach = Self::default();
        let Some(tree) = tree else {
            return reach;
        };
        for (index, branch) in tree.branches.iter().enumerate().rev() {
            let entrance = branch.entrance();
            reach.depths.insert(entrance, tree.depth(index));
            let mut below = BTreeSet::new();
            for output in &branch.outputs {
                let behind = reach.behind.entry((entrance, *output)).or_default();
                if behind.is_empty() {
                    // No branch behind it: a receiver is attached here.
                    behind.insert(PortId::new(branch.datapath, *output));
                }
                below.extend(behind.iter().copied());
            }
            if let Some((parent, port)) = branch.parent {
                let before = (tree.branches[parent].entrance(), port);
                let behind = reach.behind.entry(before).or_default();
                behind.extend(below.iter().copied());
            }
            reach.below.insert(entrance, below);
        }
        reach.receivers = tree.leaves().collect();
        reach
    }
}

#[cfg(test)]
mod tests {
    use units::{BitRate, DataSize};
    use wire::ethernet::MacAddress;
    use wire::openflow::{DatapathId, PortNumber};

    use super::*;
    use crate::flows::entries_of;
    use crate::northbound::{FlowId, FlowMatch, Protection, Requirement, Traffic};
    use crate::path::Branch;

    #[test]
    fn what_both_ways_use_is_written_over_from_the_receivers_back() {
        let old = tree(&[(7, 0, &[1], None), (6, 7, &[1], Some((0, 1)))]);
        let new = tree(&[
            (7, 0, &[2], None),
            (6, 7, &[2], Some((0, 2))),
            (5, 6, &[1], Some((1, 2))),
        ]);
        let mut transition = Transition::default();

        add(&mut transition, &old, &new);

        assert_eq!(switches(transition), [[5], [6], [7]]);
    }

    #[test]
    fn what_only_the_old_way_used_goes_last() {
        let old = tree(&[(7, 0, &[1], None), (4, 7, &[1], Some((0, 1)))]);
        let new = tree(&[(7, 0, &[2], None), (5, 7, &[1], Some((0, 2)))]);
        let mut transition = Transition::default();

        add(&mut transition, &old, &new);

        assert_eq!(switches(transition), [[5], [7], [4]]);
    }

    /// The receiver at 3 is served by way of 5 before and from 1 afterwards: what
    /// leads to it from 5 stays until 1 has been written over.
    #[test]
    fn an_output_is_trimmed_when_its_receiver_is_served_from_elsewhere() {
        let old = tree(&[
            (1, 0, &[7], None),
            (5, 1, &[4, 100], Some((0, 7))),
            (3, 5, &[100], Some((1, 4))),
        ]);
        let new = tree(&[
            (1, 0, &[2, 7], None),
            (3, 1, &[100], Some((0, 2))),
            (5, 1, &[100], Some((0, 7))),
        ]);
        let mut transition = Transition::default();

        add(&mut transition, &old, &new);

        let [make, five, one, trim, break_up] = &switches(transition)[..] else {
            panic!("five stages")
        };
        assert_eq!(
            [make, five, one, trim, break_up],
            [&[3], &[5], &[1], &[5], &[3]]
        );
    }

    #[test]
    fn a_move_to_where_a_flow_is_sends_nothing() {
        let here = tree(&[(7, 0, &[1], None)]);
        let mut transition = Transition::default();

        add(&mut transition, &here, &here);

        assert_eq!(transition.into_stages().count(), 0);
    }

    fn add(transition: &mut Transition, old: &Tree, new: &Tree) {
        let (before, after) = (entries_of(old, 1), entries_of(new, 1));
        let course = |entries, tree| Course {
            entries,
            tree: Some(tree),
        };
        transition.add(&rule(), course(&before, old), course(&after, new));
    }

    fn switches(transition: Transition) -> Vec<Vec<u64>> {
        let stages = transition.into_stages();
        stages
            .map(|stage| stage.pieces().map(|(datapath, _)| datapath.0).collect())
            .collect()
    }

    type Row<'a> = (u64, u32, &'a [u32], Option<(usize, u32)>);

    fn tree(rows: &[Row<'_>]) -> Tree {
        let branches = rows
            .iter()
            .map(|(datapath, input, outputs, parent)| Branch {
                datapath: DatapathId(*datapath),
                input: PortNumber(*input),
                outputs: outputs.iter().copied().map(PortNumber).collect(),
                parent: parent.map(|(parent, port)| (parent, PortNumber(port))),
            });
        Tree {
            branches: branches.collect(),
        }
    }

    fn rule() -> Rule {
        let frame = DataSize::from_bytes(84);
        let requirement = Requirement {
            name: String::new(),
            source: String::new(),
            destinations: Vec::new(),
            matching: FlowMatch::default(),
            class: 1,
            traffic: Traffic {
                rate: BitRate::from_mbps(1),
                burst: frame,
                largest_frame: frame,
                smallest_frame: frame,
            },
            deadline: None,
            protection: Protection::None,
        };
        Rule::new(FlowId(1), MacAddress([2; 6]), &requirement)
    }
}
