//! Moves flows from one way to another while both work, so that no frame is
//! lost: make before break.
//!
//! First come the entries that the new way needs and nobody uses yet. When the
//! switches have confirmed them, the entries that both ways use are written
//! over, those farthest from the source first, one distance at a time: wherever
//! a frame is sent the new way, the new way is complete from there on. The entry
//! at the source's switch is the last of these. Then what only the old way
//! needed is deleted or written back.
//!
//! Many flows move at once, each by its own distances, in the same few stages.
//! Where the old way is broken anyway there is nothing to wait for: all stages
//! are sent at once.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::batch::Batch;
use crate::flows::Entries;
use crate::path::Tree;
use crate::rules::Rule;

/// The messages of a move, by stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transition {
    make: Batch,
    switch_over: BTreeMap<Reverse<usize>, Batch>,
    break_up: Batch,
}

impl Transition {
    /// Adds the move of one flow from some entries to others, of which those on
    /// `tree` carry it afterwards.
    pub fn add(&mut self, rule: &Rule, before: &Entries, after: &Entries, tree: Option<&Tree>) {
        let branches = tree
            .into_iter()
            .flat_map(|tree| tree.branches.iter().enumerate());
        let depths: BTreeMap<_, _> = branches
            .zip(tree)
            .map(|((index, branch), tree)| (branch.entrance(), tree.depth(index)))
            .collect();
        for (entrance, entry) in after {
            let batch = match (before.get(entrance), depths.get(entrance)) {
                (Some(present), _) if present == entry => continue,
                (None, _) => &mut self.make,
                (Some(_), Some(depth)) => self.switch_over.entry(Reverse(*depth)).or_default(),
                (Some(_), None) => &mut self.break_up,
            };
            batch.push(entrance.datapath, |out| {
                rule.emit_add(entrance.port, entry, out);
            });
        }
        for entrance in before
            .keys()
            .filter(|entrance| !after.contains_key(entrance))
        {
            self.break_up.push(entrance.datapath, |out| {
                rule.emit_delete(entrance.port, out);
            });
        }
    }

    /// Returns the stages that are not empty, in order. Each has to be confirmed
    /// before the next one is sent.
    pub fn into_stages(self) -> impl Iterator<Item = Batch> {
        let switch_over = self.switch_over.into_values();
        let stages = std::iter::once(self.make)
            .chain(switch_over)
            .chain([self.break_up]);
        stages.filter(|stage| !stage.is_empty())
    }
}
