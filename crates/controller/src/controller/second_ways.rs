//! Another way for a flow that two ways carry at the same time, while one of them is broken.
//!
//! The flow goes on by the way that is left, and a second failure would end that. So another
//! one is looked for that is disjoint from the way that is left, in the links that are up, and
//! else any other pair. Both pairs are reserved in the meantime, each for the whole flow; the
//! new one is built before the broken one is taken away (`transition`), and what was reserved
//! for that is given back when nothing that was sent there plays a role (`leaving`). Where
//! none has room the flow stays as it is, which its promise says, and it is tried again when
//! links or reservations have changed.
//!
//! A flow returns to its usual ways when all links of these have stayed up for as long as any
//! link has to before flows return to it. What these are follows from the network alone, so a
//! controller that begins anew looks for every such flow whether it takes them.
//!
//! Frames take the one pair or the other as a whole: where both pass a port by different ways
//! and leave by different ways, a frame would come by a mixture of the two, for which nothing
//! is reserved. Such a pair is not taken.
//!
//! # Left out
//!
//! Networks with levels of criticality. On a way that stays the flow counts twice while it
//! moves: where that has no room it does not move.

use std::collections::{BTreeMap, BTreeSet};

use units::{Duration, Instant};

use crate::flows::{BEST_EFFORT, Flow, Way, entries_of};
use crate::northbound::FlowId;
use crate::path::{Apart, Branch, Tree, find_beside, find_redundant_trees, join, mixes};
use crate::place::{LinkEnds, PortId};
use crate::view::{Carrier, View};
use crate::ways::Ways;

use super::context::Memory;
use super::{Context, Network, Promises, Topology};

/// How many flows are looked at between two inputs.
const LOOKED_AT_ONCE: usize = 4;
/// How long looking rests when all were looked at, and for each of them: some ten times as
/// long as that takes in a large network.
const REST: Duration = Duration::from_ms(100);
const REST_A_FLOW: Duration = Duration::from_ms(10);

/// Which flows need a second way, or may return to one.
#[derive(Debug, Default)]
pub struct SecondWays {
    /// Flows of which a way was broken when their promise was judged.
    lacking: BTreeSet<FlowId>,
    /// Flows that may take other ways than their usual ones, and when they may return at the
    /// earliest.
    elsewhere: BTreeMap<FlowId, Instant>,
    /// Those of both that are to be looked at.
    queue: BTreeSet<FlowId>,
    /// How often links and reservations had changed when all were looked at.
    seen: (u64, u64),
    rests_until: Instant,
    /// When something is to be looked at again though nothing has changed.
    again: Option<Instant>,
}

impl SecondWays {
    /// Notes that a way of a flow is broken.
    pub fn note_lacking(&mut self, flow: FlowId) {
        if self.lacking.insert(flow) {
            self.queue.insert(flow);
        }
    }

    /// Notes that a flow may take other ways than its usual ones, and does not return before
    /// all links can have been found.
    pub fn note_elsewhere(&mut self, flow: FlowId, found: Instant) {
        self.elsewhere.insert(flow, found);
    }

    fn forget(&mut self, flow: FlowId) {
        self.lacking.remove(&flow);
        self.elsewhere.remove(&flow);
    }

    /// Has something be looked at again then.
    fn look_at(&mut self, at: Instant) {
        self.again = Some(self.again.map_or(at, |again| again.min(at)));
    }

    /// Returns when flows are to be looked at; `now` is how often links and reservations have
    /// changed.
    fn deadline(&self, now: (u64, u64)) -> Option<Instant> {
        if !self.queue.is_empty() {
            return Some(Instant::ZERO);
        }
        if self.lacking.is_empty() && self.elsewhere.is_empty() {
            return None;
        }
        let is_changed = now != self.seen;
        let at = if is_changed {
            Some(self.rests_until)
        } else {
            self.again
        };
        at.map(|at| at.max(self.rests_until))
    }
}

/// Returns whether a way of a flow is broken that two ways carry.
pub(super) fn lacks_a_way(topology: &Topology, flow: &Flow) -> bool {
    !topology.broken.is_empty()
        && flow.admission.ways.copies().is_some()
        && !topology.is_whole(&flow.admission.ways.base)
}

impl Promises {
    /// Returns when flows are to be looked at that need a second way or may return to one.
    pub fn second_ways_deadline(&self, ctx: &Context, topology: &Topology) -> Option<Instant> {
        let at = self.second_ways.deadline(self.changes(topology))?;
        (ctx.memory == Memory::Complete).then(|| at.max(ctx.now))
    }

    /// Looks at a slice of the flows that need a second way, or may return to one.
    pub fn look_for_second_ways(&mut self, ctx: &mut Context, network: &mut Network) {
        let now = self.changes(&network.topology);
        let due = self.second_ways_deadline(ctx, &network.topology);
        if due.is_none_or(|due| due > ctx.now) || self.desk.is_deciding() {
            return;
        }
        let all = &mut self.second_ways;
        if all.queue.is_empty() {
            all.queue
                .extend(all.lacking.iter().chain(all.elsewhere.keys()));
            (all.seen, all.again) = (now, None);
            let flows = u64::try_from(all.queue.len()).unwrap_or(u64::MAX);
            all.rests_until = ctx.now + REST + REST_A_FLOW * flows;
        }
        for _ in 0..LOOKED_AT_ONCE {
            let Some(id) = self.second_ways.queue.pop_first() else {
                break;
            };
            // What is tried and given back is no change.
            let before = self.reservations.changes();
            self.look_for_second_way(ctx, network, id);
            self.second_ways.seen.1 += self.reservations.changes() - before;
        }
        self.follow_budgets(ctx, &mut network.owners);
    }

    /// Returns how often links and reservations have changed.
    fn changes(&self, topology: &Topology) -> (u64, u64) {
        (topology.view.edition(), self.reservations.changes())
    }

    fn look_for_second_way(&mut self, ctx: &mut Context, network: &mut Network, id: FlowId) {
        let flow = network.owners.flows.get(id);
        let flow = flow.filter(|flow| flow.reservation.is_some());
        let Some(flow) = flow.filter(|_| !self.reservations.has_levels()).cloned() else {
            return self.second_ways.forget(id);
        };
        let is_moving = network.tables.moves.way_to(id).is_some()
            || network.owners.is_leaving_a_way(id)
            || self.desk.holds(id);
        if is_moving || !flow.is_admitted() {
            return self.second_ways.look_at(ctx.now);
        }
        let pairs = match lacks_a_way(&network.topology, &flow) {
            true => other_pairs(ctx, &network.topology, &flow),
            false => {
                self.second_ways.lacking.remove(&id);
                let usual = self.usual_pair(ctx, &network.topology, &flow);
                usual.into_iter().collect()
            }
        };
        let pairs = pairs.into_iter();
        for pair in pairs.filter(|pair| !mixes_with_others(&flow, pair)) {
            let beside = self.reserve_beside(ctx, &network.topology, &flow, pair);
            if let Some((admission, reserved)) = beside {
                self.second_ways.note_elsewhere(id, ctx.now);
                return self.propose_way(ctx, network, (id, reserved), &admission);
            }
        }
    }

    /// Returns the usual ways of a flow if it takes others and may return to them.
    fn usual_pair(&mut self, ctx: &Context, topology: &Topology, flow: &Flow) -> Option<Tree> {
        let Flow { id, admission, .. } = flow;
        let usual = self.ways(ctx, topology, &admission.requirement).ok()?;
        let usual = &usual.ways;
        let entries = |ways: &Ways| entries_of(&ways.base, BEST_EFFORT);
        let takes_them = entries(usual) == entries(&admission.ways);
        let links = topology.view.links();
        if takes_them && links.iter().all(|link| link.carrier == Carrier::Up) {
            self.second_ways.elsewhere.remove(id);
        }
        let is_up = |link: &LinkEnds| topology.view.is_up(*link);
        let may_return = flow.way == Way::Base
            && admission.ways.links().iter().all(is_up)
            && usual.copies().is_some()
            && !takes_them;
        let found = self.second_ways.elsewhere.get(id)?;
        if !may_return {
            return None;
        }
        let since = usual
            .links()
            .iter()
            .filter_map(|link| up_since(&topology.view, *link));
        let stayed = since.max()? + ctx.timers.return_wait;
        let stayed = stayed.max(*found);
        if stayed > ctx.now {
            self.second_ways.look_at(stayed);
            return None;
        }
        Some(usual.base.clone())
    }
}

fn up_since(view: &View, link: LinkEnds) -> Option<Instant> {
    Some(view.links()[view.link(link)?.index()].since)
}

/// Returns pairs of ways in the links that are up, those first that keep the way that is left.
fn other_pairs(ctx: &Context, topology: &Topology, flow: &Flow) -> Vec<Tree> {
    let admission = &flow.admission;
    let (source, view) = (admission.source, &topology.view);
    let cost = ctx.cost(admission.requirement.class);
    let [destination] = *admission.destinations.as_slice() else {
        let trees = find_redundant_trees(view, source, &admission.destinations, &cost);
        return trees.ok().map(join).into_iter().collect();
    };
    let kinds = [Apart::Switches, Apart::Links];
    let copies = admission.ways.copies().into_iter().flatten();
    let left = copies.filter(|copy| topology.is_whole(copy));
    let kept = left.flat_map(|left| {
        let beside = |apart| find_beside(view, &cost, (left, destination), apart);
        kinds.into_iter().filter_map(beside)
    });
    let any = Promises::find_pair(
        ctx,
        topology,
        &admission.requirement,
        (source, destination),
        &kinds,
    );
    kept.chain(any).collect()
}

/// Returns whether frames could take a mixture of the ways of a flow and these.
fn mixes_with_others(flow: &Flow, pair: &Tree) -> bool {
    match &flow.way {
        Way::Base | Way::Alternative(_) | Way::Nowhere => mixes(&flow.admission.ways.base, pair),
        // Nothing is reserved there: who comes from it comes whenever it likes.
        Way::Detour(tree) => {
            let behind = |tree: &Tree| -> BTreeSet<PortId> {
                tree.branches.iter().skip(1).map(Branch::entrance).collect()
            };
            !behind(tree).is_disjoint(&behind(pair))
        }
    }
}
