//! Where two copies of a frame pass, and where one.
//!
//! A flow may send each frame on two trees at once, so that one may break without
//! an interruption. Before the frame is doubled one copy passes a stage. Then each
//! tree has its own, and a stage of both serves both. Behind the *eliminator* there
//! is again one: whichever came first, or the only one.

use units::Delay;

use super::request::{Hop, Malformed, Redundant, Tree};
use super::stage::StageId;

/// What passes a hop of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passing {
    /// The frame, before it is doubled.
    Undoubled,
    /// The copy of this tree.
    OwnCopy,
    /// The first copy to arrive at the eliminator.
    FirstCopy,
}

/// Returns what passes the hops of `tree` if a second copy takes `other`.
pub(super) fn passing(tree: &Tree, other: &Tree, eliminator: Option<StageId>) -> Vec<Passing> {
    let mut passing: Vec<Passing> = Vec::with_capacity(tree.hops.len());
    for hop in &tree.hops {
        let before = hop.parent.map(|parent| passing[parent]);
        let parent = hop.parent.map(|parent| tree.hops[parent].stage);
        passing.push(match before {
            Some(Passing::FirstCopy) => Passing::FirstCopy,
            Some(_) if parent == eliminator => Passing::FirstCopy,
            Some(Passing::Undoubled) | None if follows(other, hop.stage, parent) => {
                Passing::Undoubled
            }
            Some(_) | None => Passing::OwnCopy,
        });
    }
    passing
}

/// Returns whether `tree` leads from `parent` right to `stage`.
fn follows(tree: &Tree, stage: StageId, parent: Option<StageId>) -> bool {
    let mut hops = tree.hops.iter();
    hops.any(|hop| hop.stage == stage && parent_of(tree, hop) == parent)
}

fn parent_of(tree: &Tree, hop: &Hop) -> Option<StageId> {
    hop.parent.map(|parent| tree.hops[parent].stage)
}

/// Checks that both copies meet at the eliminator and go on as one from there.
pub(super) fn validate(base: &Tree, redundant: &Redundant) -> Result<(), Malformed> {
    let Some(eliminator) = redundant.eliminator else {
        return match redundant.hold {
            Delay::ZERO => Ok(()),
            _ => Err(Malformed::HeldNowhere),
        };
    };
    for (tree, other) in [(base, &redundant.tree), (&redundant.tree, base)] {
        if !tree.hops.iter().any(|hop| hop.stage == eliminator) {
            return Err(Malformed::Eliminator { stage: eliminator });
        }
        let passing = passing(tree, other, redundant.eliminator);
        let behind = tree.hops.iter().zip(passing);
        for (hop, _) in behind.filter(|(_, passing)| *passing == Passing::FirstCopy) {
            if !follows(other, hop.stage, parent_of(tree, hop)) {
                return Err(Malformed::Eliminator { stage: hop.stage });
            }
        }
    }
    Ok(())
}
