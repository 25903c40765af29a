//! Finds how the switch before a broken link gets frames to their destination without
//! being told (S0-4).
//!
//! Its entries and those of all others stand beforehand, and know a frame by its flow and
//! the port by which it comes in. So whatever breaks, frames that come in by a port go out
//! by the same one: the detours of different links, and the way itself, may share entries
//! but not contradict each other. Only at the switch before the broken link a group
//! chooses.

use std::collections::BTreeMap;

use thiserror::Error;
use wire::openflow::PortNumber;

use crate::place::{LinkEnds, PortId};
use crate::view::View;

use super::tree::{Branch, Cost, Tree, find_tree};

/// Why a link cannot be made up for by the switch before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoDetour {
    /// The destination cannot be reached without it.
    #[error("no way leads around {0:?}")]
    NoWay(LinkEnds),
    /// Frames would come in where others of the flow do that go elsewhere.
    #[error("the way around {0:?} meets entries that lead elsewhere")]
    Ambiguous(LinkEnds),
}

/// Returns for each link of `base`, which leads to `destination` alone, the way of frames
/// that find it broken: along `base` up to the switch before it, and from there to the
/// destination.
///
/// # Errors
///
/// The first link for which there is none.
pub fn local_detours(
    view: &View,
    base: &Tree,
    destination: PortId,
    cost: Cost<'_>,
) -> Result<Vec<(LinkEnds, Tree)>, NoDetour> {
    let mut entries = Entries::default();
    entries.add(&base.branches);
    let links = base.links().enumerate();
    links
        .map(|(met, link)| {
            let from = base.branches[met].entrance();
            let found = find_tree(view, from, &[destination], &[link], cost);
            let mut found = found.map_err(|_| NoDetour::NoWay(link))?;
            entries
                .lead(view, &mut found, destination, link)
                .ok_or(NoDetour::Ambiguous(link))?;
            entries.add(&found.branches[1..]);
            Ok((link, joined(&base.branches[..met], found)))
        })
        .collect()
}

/// By which port frames go out that come in by another.
#[derive(Default)]
struct Entries(BTreeMap<PortId, PortNumber>);

impl Entries {
    fn add(&mut self, branches: &[Branch]) {
        let entries = branches.iter().filter_map(|branch| {
            let output = branch.outputs.first()?;
            Some((branch.entrance(), *output))
        });
        self.0.extend(entries);
    }

    /// Has a detour go on as the entries that it meets lead it. Nothing if they lead it to
    /// the broken link or round in circles.
    fn lead(
        &self,
        view: &View,
        detour: &mut Tree,
        destination: PortId,
        broken: LinkEnds,
    ) -> Option<()> {
        let is_led = |branch: &Branch| {
            let output = self.0.get(&branch.entrance());
            output.is_some_and(|output| branch.outputs[..] != [*output])
        };
        let Some(met) = detour.branches.iter().skip(1).position(is_led) else {
            return Some(());
        };
        let met = met + 1;
        detour.branches.truncate(met + 1);
        // No more switches are passed than there are entries.
        for _ in 0..=self.0.len() {
            let last = detour.branches.len() - 1;
            let branch = &mut detour.branches[last];
            let output = *self.0.get(&branch.entrance())?;
            branch.outputs = vec![output];
            let exit = PortId::new(branch.datapath, output);
            if exit == destination {
                return Some(());
            }
            let link = view.links()[view.port(exit)?.link?.index()].ends;
            let entrance = link.opposite(exit)?;
            let is_known = |known: &Branch| known.entrance() == entrance;
            if link == broken || detour.branches.iter().any(is_known) {
                return None;
            }
            detour.branches.push(Branch {
                datapath: entrance.datapath,
                input: entrance.port,
                outputs: Vec::new(),
                parent: Some((last, output)),
            });
        }
        None
    }
}

/// Returns the tree that begins with `before` and goes on as `detour`.
fn joined(before: &[Branch], detour: Tree) -> Tree {
    let moved = |place: usize| place + before.len();
    let mut branches = before.to_vec();
    for mut branch in detour.branches {
        branch.parent = match branch.parent {
            Some((parent, port)) => Some((moved(parent), port)),
            None => before
                .last()
                .map(|last| (before.len() - 1, last.outputs[0])),
        };
        branches.push(branch);
    }
    Tree { branches }
}

#[cfg(test)]
mod tests;
