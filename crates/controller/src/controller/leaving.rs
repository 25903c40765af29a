//! Withdrawn flows whose last frames still play a role.
//!
//! Where budgets are fitted, they are chosen for what is counted, and what a flow has sent
//! lately has to be (`docs/promises.md`, "Budgets that follow the flows"). So what was
//! reserved for a withdrawn flow, or for one whose host has moved, is given back when
//! nothing that it has sent there can play a role. Flows leave in batches: those that are
//! withdrawn meanwhile wait for the next, so that nobody waits for those who come later.
//! So is what a flow had on a way that it leaves so that another one has room
//! (`rearrangement`): it leaves when the new way stands.
//! A flow whose host has moved and for which there is no room beside what it had before is
//! decided on again when that is given back.
//!
//! The store keeps them as long, so that a controller which begins anew counts them, too:
//! they wait from its start on.

use std::collections::BTreeMap;

use units::Instant;

use crate::admission::ReservationId;
use crate::flows::Flow;
use crate::northbound::{FlowId, Reply, RequestId};
use crate::store::{Key, StoreWrite};

use super::{Context, Owners};

/// What is reserved for flows that are gone.
#[derive(Debug, Default)]
pub struct Leaving {
    /// Those that are given back together, and when the last of them was withdrawn.
    pub closing: Batch,
    /// Those that were withdrawn since.
    pub next: Batch,
    /// When the first may be given back.
    pub due: Option<Instant>,
    /// Under which numbers the store keeps flows that are about to be withdrawn.
    pub numbers: BTreeMap<FlowId, u32>,
    /// The number after the last that the store was given.
    pub next_number: u32,
    /// Flows whose hosts have moved, and for which there was no room.
    pub waiting: Vec<FlowId>,
    /// What flows had before on ways that they still take, and under which number the store
    /// keeps it.
    moving: BTreeMap<FlowId, (ReservationId, Option<u32>)>,
    /// Who waits for what flows give back that go another way.
    rooms: Vec<RoomRequest>,
}

/// Who waits for room, and for what.
#[derive(Debug)]
struct RoomRequest {
    request: RequestId,
    /// The flow that goes another way.
    flow: FlowId,
    name: String,
    reservation: ReservationId,
}

#[derive(Debug, Default)]
pub struct Batch {
    pub reservations: Vec<ReservationId>,
    /// Under which numbers the store keeps them.
    pub numbers: Vec<u32>,
    pub since: Option<Instant>,
}

impl Leaving {
    /// Returns when there is something to do.
    pub const fn deadline(&self) -> Option<Instant> {
        self.due
    }

    pub fn wait(&mut self, reservation: ReservationId, number: Option<u32>, now: Instant) {
        let batch = match self.due {
            Some(_) => &mut self.next,
            None => &mut self.closing,
        };
        batch.reservations.push(reservation);
        batch.numbers.extend(number);
        batch.since = Some(now);
        self.due = self.due.or(Some(now));
    }
}

impl Owners {
    /// Keeps what a flow has on the way that it leaves, until it takes the new one.
    pub fn is_moving(&mut self, flow: &Flow) {
        let number = self.leaving.numbers.remove(&flow.id);
        if let Some(reservation) = flow.reservation {
            let left = self.leaving.moving.insert(flow.id, (reservation, number));
            debug_assert!(left.is_none(), "one way is left at a time");
        }
    }

    /// Returns whether a flow is about to leave a way on which something is reserved.
    pub fn is_leaving_a_way(&self, flow: FlowId) -> bool {
        self.leaving.moving.contains_key(&flow) || self.leaving.numbers.contains_key(&flow)
    }

    /// Has what a flow had on the way that it takes no longer be given back in time.
    pub fn has_moved(&mut self, ctx: &Context, flow: FlowId) {
        if let Some((reservation, number)) = self.leaving.moving.remove(&flow) {
            self.leaving.wait(reservation, number, ctx.now);
        }
    }

    /// Answers a request for room when this is given back.
    pub fn wait_for(&mut self, request: RequestId, flow: &Flow) {
        if let Some(reservation) = flow.reservation {
            self.leaving.rooms.push(RoomRequest {
                request,
                flow: flow.id,
                name: flow.admission.requirement.name.clone(),
                reservation,
            });
        }
    }

    /// Answers who waits for a flow to go another way that does not.
    pub fn moves_nowhere(&mut self, ctx: &mut Context, flow: FlowId) {
        let rooms = std::mem::take(&mut self.leaving.rooms);
        let is_in_vain = |room: &RoomRequest| room.flow == flow;
        let (in_vain, others): (Vec<RoomRequest>, Vec<RoomRequest>) =
            rooms.into_iter().partition(is_in_vain);
        self.leaving.rooms = others;
        for room in in_vain {
            ctx.outbox.reply(room.request, Reply::RoomMade(None));
        }
    }

    /// Answers who waits for what has been given back.
    pub fn answer_rooms(&mut self, ctx: &mut Context, given_back: &[ReservationId]) {
        let rooms = std::mem::take(&mut self.leaving.rooms);
        let is_there = |room: &RoomRequest| given_back.contains(&room.reservation);
        let (made, others): (Vec<RoomRequest>, Vec<RoomRequest>) =
            rooms.into_iter().partition(is_there);
        self.leaving.rooms = others;
        for room in made {
            let moved = Reply::RoomMade(Some(room.name));
            ctx.outbox.reply(room.request, moved);
        }
    }

    pub fn forget_leaving(ctx: &mut Context, number: u32) {
        ctx.outbox.store(StoreWrite {
            key: Key::Leaving(number),
            value: None,
        });
    }

    /// Has a flow whose host has moved be decided on again when something is given back.
    pub fn wait_for_room(&mut self, id: FlowId) {
        if self.leaving.due.is_some() {
            self.leaving.waiting.push(id);
        }
    }

    /// Has a flow wait for nothing any more.
    pub fn wait_no_more(&mut self, id: FlowId) {
        self.leaving.waiting.retain(|waiting| *waiting != id);
    }

    /// Takes note that a flow stays after all.
    pub fn stays(&mut self, ctx: &mut Context, id: FlowId) {
        if let Some(number) = self.leaving.numbers.remove(&id) {
            Self::forget_leaving(ctx, number);
        }
    }
}
