//! Answers questions for paths (S1-7).
//!
//! Without a load the graph of what is up is asked alone. With one, each path that
//! it proposes is checked against the ledger, which reserves nothing for that.
//! Where a port or a switch on it has no room, the graph is asked again without
//! it, until enough paths have room.
//!
//! # Left out
//!
//! With a load the cheapest set of disjoint paths is not always found: a place
//! that has no room behind one beginning may have room behind another, and is
//! avoided all the same. What is answered has room.

use std::collections::BTreeSet;

use units::Delay;

use crate::admission::{LedgerPlace, Refused};
use crate::flows::BEST_EFFORT;
use crate::northbound::{
    ExceedAction, FlowMatch, FoundPath, MAX_PATHS, NoPath, PathLoad, PathQuery, PathWish,
    Protection, Requirement,
};
use crate::path::{Apart, Graph, Ranking, SimplePath, Tree, find_disjoint};
use crate::place::{LinkEnds, PortId};

use super::{Context, ModeDesk, Promises, Topology};

/// How often the graph is asked again without what has no room.
const MAX_ATTEMPTS: usize = 32;
/// How many paths are proposed for each one that is asked for.
const PROPOSALS_EACH: usize = 4;
/// How many paths are proposed beside these.
const MORE_PROPOSALS: usize = 16;

/// A question of which the ends are known.
struct PathQuestion<'a> {
    from: PortId,
    to: PortId,
    avoid: &'a [LinkEnds],
    load: Option<Requirement>,
    /// Where there is no room.
    full: BTreeSet<LedgerPlace>,
    /// Why the first path that was proposed has no room.
    refused: Option<Box<Refused>>,
}

impl Promises {
    /// Returns the paths that are asked for.
    pub fn find_paths(
        &mut self,
        ctx: &Context,
        topology: &Topology,
        modes: &ModeDesk,
        query: &PathQuery,
    ) -> Result<Vec<FoundPath>, NoPath> {
        let load = query.load.map(requirement).transpose()?;
        let mut question = PathQuestion {
            from: topology.place_of(&query.from)?,
            to: topology.place_of(&query.to)?,
            avoid: &query.avoid,
            load,
            full: BTreeSet::new(),
            refused: None,
        };
        match query.wish {
            PathWish::Shortest => self.shortest(
                ctx,
                topology,
                modes,
                &mut question,
                query.count.min(MAX_PATHS),
            ),
            PathWish::LinkDisjoint => self.disjoint(
                ctx,
                topology,
                modes,
                &mut question,
                query.count,
                Apart::Links,
            ),
            PathWish::SwitchDisjoint => self.disjoint(
                ctx,
                topology,
                modes,
                &mut question,
                query.count,
                Apart::Switches,
            ),
        }
    }

    fn shortest(
        &mut self,
        ctx: &Context,
        topology: &Topology,
        modes: &ModeDesk,
        question: &mut PathQuestion<'_>,
        count: usize,
    ) -> Result<Vec<FoundPath>, NoPath> {
        let proposals = match question.load {
            Some(_) => count * PROPOSALS_EACH + MORE_PROPOSALS,
            None => count,
        };
        let mut found = Vec::new();
        for _ in 0..MAX_ATTEMPTS {
            let graph = question.graph(ctx, topology);
            let (from, to) = (question.from.datapath, question.to.datapath);
            let known = question.full.len();
            found.clear();
            for path in Ranking::new(&graph, from, to, proposals) {
                if found.len() < count {
                    found.extend(self.with_room(ctx, question, &path));
                }
            }
            if found.len() >= count || question.full.len() == known {
                break;
            }
        }
        if found.is_empty() {
            found.extend(self.found_in_ledger(ctx, topology, question));
        }
        match found.is_empty() && count > 0 {
            true => Err(self.nothing(ctx, topology, modes, question, 0, 1)),
            false => Ok(found),
        }
    }

    fn disjoint(
        &mut self,
        ctx: &Context,
        topology: &Topology,
        modes: &ModeDesk,
        question: &mut PathQuestion<'_>,
        count: usize,
        apart: Apart,
    ) -> Result<Vec<FoundPath>, NoPath> {
        let (from, to) = (question.from.datapath, question.to.datapath);
        let wanted = count.min(MAX_PATHS);
        for _ in 0..MAX_ATTEMPTS {
            let graph = question.graph(ctx, topology);
            let known = question.full.len();
            let paths = find_disjoint(&graph, from, to, wanted, apart)
                .map_err(|found| self.nothing(ctx, topology, modes, question, found, count))?;
            let found: Vec<FoundPath> = paths
                .iter()
                .filter_map(|path| self.with_room(ctx, question, path))
                .collect();
            if found.len() == wanted && wanted == count {
                return Ok(found);
            }
            if question.full.len() == known {
                break;
            }
        }
        Err(self.nothing(ctx, topology, modes, question, wanted, count))
    }

    /// Returns a path as it is answered, if it has room for the load; notes where
    /// there is none if it has not.
    fn with_room(
        &mut self,
        ctx: &Context,
        question: &mut PathQuestion<'_>,
        path: &SimplePath,
    ) -> Option<FoundPath> {
        let tree = path.tree(question.from, question.to);
        let guarantee = match &question.load {
            None => None,
            Some(load) => match self.reservations.what_if(load, question.from, &tree) {
                Ok(guarantee) => Some(guarantee),
                Err(refused) => {
                    question.full.extend(refused.place);
                    question.refused.get_or_insert(refused);
                    return None;
                }
            },
        };
        Some(Self::found(ctx, &tree, path.cost, guarantee))
    }

    /// Asks the ledger along all paths at once, where those that were proposed have
    /// no room.
    fn found_in_ledger(
        &mut self,
        ctx: &Context,
        topology: &Topology,
        question: &PathQuestion<'_>,
    ) -> Option<FoundPath> {
        let (load, from, to) = (question.load.as_ref()?, question.from, question.to);
        let tree =
            self.reservations
                .find_way_beside(&topology.view, load, [from, to], question.avoid)?;
        let guarantee = self.reservations.what_if(load, from, &tree).ok()?;
        let cost = ctx.cost(load.class);
        let leaves = tree.branches.iter().filter_map(|branch| {
            let (parent, port) = branch.parent?;
            Some(PortId::new(tree.branches[parent].datapath, port))
        });
        let cost = leaves.map(cost).sum();
        Some(Self::found(ctx, &tree, cost, Some(guarantee)))
    }

    fn found(ctx: &Context, tree: &Tree, cost: u64, guarantee: Option<Delay>) -> FoundPath {
        FoundPath {
            route: ctx.route(tree),
            cost,
            guarantee,
        }
    }

    /// Returns why there are not as many paths as were wanted.
    fn nothing(
        &self,
        ctx: &Context,
        topology: &Topology,
        modes: &ModeDesk,
        question: &mut PathQuestion<'_>,
        found: usize,
        wanted: usize,
    ) -> NoPath {
        match (question.refused.take(), &question.load) {
            (Some(refused), Some(load)) => NoPath::NoRoom {
                reason: self
                    .shortage(ctx, topology, modes, load, *refused)
                    .to_string(),
            },
            (Some(_) | None, _) => NoPath::TooFew { found, wanted },
        }
    }
}

impl PathQuestion<'_> {
    /// Lays out what the paths may use.
    fn graph(&self, ctx: &Context, topology: &Topology) -> Graph {
        let avoid: BTreeSet<LinkEnds> = self.avoid.iter().copied().collect();
        let is_open = |leaves: PortId, link: LinkEnds| {
            let far = link.opposite(leaves).map(|enters| enters.datapath);
            let is_full = self.full.contains(&LedgerPlace::Port(leaves))
                || far.is_some_and(|far| self.full.contains(&LedgerPlace::Switch(far)));
            !is_full && !avoid.contains(&link)
        };
        Graph::new(&topology.view, &ctx.cost(self.class()), &is_open)
    }

    fn class(&self) -> u8 {
        self.load.as_ref().map_or(BEST_EFFORT, |load| load.class)
    }
}

/// Returns what a flow with this load would require.
fn requirement(load: PathLoad) -> Result<Requirement, NoPath> {
    if !(1..=7).contains(&load.class) {
        return Err(NoPath::NoRoom {
            reason: format!("nothing is promised in class {}: say 1 to 7", load.class),
        });
    }
    Ok(Requirement {
        name: String::new(),
        source: String::new(),
        destinations: Vec::new(),
        matching: FlowMatch::default(),
        class: load.class,
        is_class_free: false,
        must_be_enforced: false,
        excess: ExceedAction::Drop,
        traffic: load.traffic,
        deadline: Some(load.deadline),
        protection: Protection::None,
        modes: None,
    })
}
