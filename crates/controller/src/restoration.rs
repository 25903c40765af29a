//! Prepares, when a flow is admitted, what is sent when a link of it breaks.
//!
//! On the message that reports the break there is nothing left to compute: the
//! messages that move each flow to its alternative lie encoded, and are copied
//! to the connections of the switches (S0-3).
//!
//! The entries are ordered from the receivers back to the source, so that a
//! switch which acts on its entry finds the ones behind it in place wherever
//! messages arrive in the order they were sent. The entries of the base tree
//! stay, but for those that the alternative writes over: no frame reaches them
//! any more, as the first switch of the flow sends all frames the new way, and
//! they are what the flow returns to.

use crate::batch::Batch;
use crate::flows::{Entries, Entry};
use crate::path::Tree;
use crate::rules::FlowRule;

/// Returns the messages that give a flow the entries of a tree that it travels
/// in `class`, as far as it has not `present` ones that are equal.
#[must_use]
pub fn prepare(rule: &FlowRule, present: &Entries, tree: &Tree, class: u8) -> Batch {
    let mut batch = Batch::default();
    for index in from_receivers(tree) {
        let branch = &tree.branches[index];
        let outputs = branch.outputs.clone();
        let entry = Entry { class, outputs };
        if present.get(&branch.entrance()) != Some(&entry) {
            batch.push(branch.datapath, |out| {
                rule.emit_add(branch.input, &entry, out);
            });
        }
    }
    batch
}

/// Returns the places of a tree's branches, those farthest from the source
/// first.
fn from_receivers(tree: &Tree) -> Vec<usize> {
    let mut places: Vec<usize> = (0..tree.branches.len()).collect();
    places.sort_by_key(|place| std::cmp::Reverse(tree.depth(*place)));
    places
}
