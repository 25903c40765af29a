//! Room for a flow that is made by another one (S4-11).
//!
//! A flow that is refused may have room if one that is admitted goes another way. That is
//! looked for if it is asked for, one flow at a time: the other way is reserved beside the
//! one that it has, make before break, so what travels keeps its promise on either. What it
//! had before is given back when nothing that it has sent there can play a role (`leaving`),
//! and then whoever asked is answered, and asks for the flow again.
//!
//! A frame goes the one way or the other as a whole, since both part at the switch of the
//! source and meet at that of the destination: on a mixture of the two it could be later
//! than on either.
//!
//! # Left out
//!
//! More than one flow that moves at a time, and flows to several destinations. In between
//! somebody else may take the room.

use std::collections::BTreeSet;

use calculus::admission::{MOST_WEIGHED, Request as Promise, StageId};
use wire::openflow::DatapathId;

use crate::admission::ReservationId;
use crate::flows::{Flow, Way};
use crate::northbound::{Protection, Reply, RequestId, Requirement};
use crate::path::Tree;
use crate::record::Admission;

use super::flow_ways::Course;
use super::{Context, Network, Promises, Topology};

/// How often it is tried whether a flow makes room on some way.
const MOST_TRIALS: usize = 32;

impl Promises {
    /// Has a flow go another way, if `requirement` has no room and would have some then.
    pub fn make_room(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        id: RequestId,
        requirement: &Requirement,
    ) {
        match self.who_makes_room(ctx, network, requirement) {
            Some(moving) => network.owners.wait_for(id, &moving),
            None => ctx.outbox.reply(id, Reply::RoomMade(None)),
        }
    }

    /// Proposes another way for a flow, and returns it as it was; nothing if `requirement`
    /// has room, or would have none either.
    fn who_makes_room(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        requirement: &Requirement,
    ) -> Option<Flow> {
        requirement.deadline?;
        self.reservations.slowdown()?;
        if self.reservations.ledger().flows() > MOST_WEIGHED {
            return None;
        }
        let usual = self.ways(ctx, &network.topology, requirement).ok()?;
        let asked = self
            .reservations
            .request(requirement, usual.source, &usual.ways);
        if self.reservations.ledger.admits(&asked) {
            return None;
        }
        let mut trials = MOST_TRIALS;
        for flow in self.movable(network, &asked) {
            for base in self.other_ways(&network.topology, &flow) {
                trials = trials.checked_sub(1)?;
                if self.moves_aside(ctx, network, &flow, base, &asked) {
                    return Some(flow);
                }
            }
        }
        None
    }

    /// Returns the flows that may go another way and share a stage with what is asked for.
    fn movable(&self, network: &Network, asked: &Promise) -> Vec<Flow> {
        let stages: BTreeSet<StageId> = asked.stages().collect();
        let flows = network.owners.flows.iter();
        let flows = flows.filter(|flow| may_move(network, flow));
        let ledger = self.reservations.ledger();
        let in_the_way = flows.filter(|flow| {
            let request = flow.reservation.and_then(|it| ledger.request(it));
            request.is_some_and(|request| request.stages().any(|it| stages.contains(&it)))
        });
        in_the_way.cloned().collect()
    }

    /// Returns other ways that a flow can take as a whole.
    pub(super) fn other_ways(&mut self, topology: &Topology, flow: &Flow) -> Vec<Tree> {
        let admission = &flow.admission;
        let [destination] = *admission.destinations.as_slice() else {
            return Vec::new();
        };
        let ends = [admission.source, destination];
        let requirement = &admission.requirement;
        let mut ways = self
            .reservations
            .ways_to_try(&topology.view, requirement, ends);
        let taken = between(&admission.ways.base);
        ways.retain(|way| way != &admission.ways.base && between(way).is_disjoint(&taken));
        ways
    }

    /// Proposes this way for a flow if both have room there beside all that is promised,
    /// what is asked for once the flow has left the way that it takes.
    fn moves_aside(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        flow: &Flow,
        base: Tree,
        asked: &Promise,
    ) -> bool {
        let Some(reservation) = flow.reservation else {
            return false;
        };
        let chosen = self.reservations.chosen();
        let beside = self.reserve_beside(ctx, &network.topology, flow, base);
        let Some((admission, reserved)) = beside else {
            return false;
        };
        let mut without = self.reservations.ledger().clone();
        without.withdraw(reservation);
        if !without.admits(asked) {
            self.reservations.release(reserved);
            self.reservations.choose_again(&chosen);
            return false;
        }
        self.propose_way(ctx, network, (flow.id, reserved), &admission);
        self.follow_budgets(ctx, &mut network.owners);
        true
    }

    /// Has flows that pass drained switches go another way, as far as there is one beside all
    /// that is promised. What two ways carry stays: it is whole without one of them.
    pub(super) fn lead_off_drained(&mut self, ctx: &mut Context, network: &mut Network) {
        if ctx.drained.is_empty() || self.reservations.has_levels() {
            return;
        }
        let drained = ctx.drained.clone();
        let passes = |way: &Tree| !between(way).is_disjoint(&drained);
        let flows = network.owners.flows.iter();
        let flows: Vec<Flow> = flows
            .filter(|flow| {
                may_move(network, flow)
                    && !matches!(
                        flow.admission.requirement.protection,
                        Protection::Seamless { .. }
                    )
                    && passes(&flow.admission.ways.base)
            })
            .cloned()
            .collect();
        for flow in flows {
            let requirement = &flow.admission.requirement;
            let usual = self.ways(ctx, &network.topology, requirement);
            let usual = usual.ok().map(|course| course.ways.base.clone());
            let others = self.other_ways(&network.topology, &flow);
            let ways = usual.into_iter().chain(others);
            for base in ways.filter(|way| !passes(way)) {
                let beside = self.reserve_beside(ctx, &network.topology, &flow, base);
                if let Some((admission, reserved)) = beside {
                    self.propose_way(ctx, network, (flow.id, reserved), &admission);
                    break;
                }
            }
        }
        self.follow_budgets(ctx, &mut network.owners);
    }

    /// Reserves another way for a flow beside the one that it has, if both have room beside
    /// all that is promised. Returns what the store is to keep, and what is reserved.
    pub(super) fn reserve_beside(
        &mut self,
        ctx: &Context,
        topology: &Topology,
        flow: &Flow,
        base: Tree,
    ) -> Option<(Admission, ReservationId)> {
        let mut course = Course {
            source: flow.admission.source,
            source_mac: flow.admission.source_mac,
            destinations: flow.admission.destinations.clone(),
            ways: flow.admission.ways.clone(),
        };
        let requirement = &flow.admission.requirement;
        let reserved = self.reserve_on(ctx, topology, base, requirement, &mut course)?;
        let admission = Admission {
            guarantee: Some(reserved.guarantee),
            ways: course.ways,
            ..flow.admission.clone()
        };
        Some((admission, reserved.id))
    }
}

/// Returns whether a flow may go another way as a whole: it goes to one destination, on its
/// own way, and nothing moves it already.
pub(super) fn may_move(network: &Network, flow: &Flow) -> bool {
    flow.is_admitted()
        && flow.admission.requirement.modes.is_none()
        && flow.way == Way::Base
        && network.tables.moves.way_to(flow.id).is_none()
        && !network.owners.is_leaving_a_way(flow.id)
        && flow.admission.destinations.len() == 1
}

/// Returns the switches of a way but those at its ends.
fn between(way: &Tree) -> BTreeSet<DatapathId> {
    let inner = way.branches.iter().skip(1);
    let inner = inner.take(way.branches.len().saturating_sub(2));
    inner.map(|branch| branch.datapath).collect()
}
