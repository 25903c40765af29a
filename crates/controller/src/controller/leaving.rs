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

use units::{Duration, Instant};

use crate::admission::ReservationId;
use crate::flows::Flow;
use crate::northbound::{FlowId, Reply, RequestId};
use crate::record::Admission;
use crate::store::{Key, StoreWrite};

use super::memory::Memory;
use super::{Context, ModeDesk, Network, Owners, Promises};

/// How long until it is looked again where a stage may have no pause.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What is reserved for flows that are gone.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    /// Those that are given back together, and when the last of them was withdrawn.
    closing: Batch,
    /// Those that were withdrawn since.
    next: Batch,
    /// When the first may be given back.
    due: Option<Instant>,
    /// Under which numbers the store keeps flows that are about to be withdrawn.
    numbers: BTreeMap<FlowId, u32>,
    /// The number after the last that the store was given.
    next_number: u32,
    /// Flows whose hosts have moved, and for which there was no room.
    waiting: Vec<FlowId>,
    /// What flows had before on ways that they still take, and under which number the store
    /// keeps it.
    moving: BTreeMap<FlowId, (ReservationId, Option<u32>)>,
    /// Who waits for what flows give back that go another way.
    rooms: Vec<Room>,
}

/// Who waits for room, and for what.
#[derive(Debug)]
struct Room {
    request: RequestId,
    /// The flow that goes another way.
    flow: FlowId,
    name: String,
    reservation: ReservationId,
}

#[derive(Debug, Default)]
struct Batch {
    reservations: Vec<ReservationId>,
    /// Under which numbers the store keeps them.
    numbers: Vec<u32>,
    since: Option<Instant>,
}

impl Leaving {
    /// Returns when there is something to do.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.due
    }

    fn wait(&mut self, reservation: ReservationId, number: Option<u32>, now: Instant) {
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

impl Promises {
    /// Has the store keep what is reserved for a flow that is about to be withdrawn, or
    /// that goes elsewhere, until it is given back.
    pub(super) fn keep_leaving(&self, ctx: &mut Context, owners: &mut Owners, id: FlowId) {
        let Some(flow) = owners.flows.get(id) else {
            return;
        };
        let is_known = owners.leaving.numbers.contains_key(&id);
        if is_known || flow.reservation.is_none() || self.reservations.slowdown().is_none() {
            return;
        }
        let number = owners.leaving.next_number;
        owners.leaving.next_number = number.wrapping_add(1);
        owners.leaving.numbers.insert(id, number);
        ctx.outbox.store(StoreWrite {
            key: Key::Leaving(number),
            value: Some(flow.admission.to_bytes()),
        });
    }

    /// Gives back what is reserved for a flow that was withdrawn: at once where budgets
    /// are fixed, as it has stopped before, otherwise when nothing of it plays a role.
    pub(super) fn leave(&mut self, ctx: &Context, owners: &mut Owners, flow: &Flow) {
        let number = owners.leaving.numbers.remove(&flow.id);
        let Some(reservation) = flow.reservation else {
            return;
        };
        if self.reservations.slowdown().is_none() {
            return self.reservations.release(reservation);
        }
        owners.leaving.wait(reservation, number, ctx.now);
    }

    /// Takes note of a flow that was gone when the controller began: what it has sent may
    /// be under way.
    pub(super) fn leaving_kept(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        number: u32,
        record: &[u8],
    ) {
        let next = number.wrapping_add(1);
        owners.leaving.next_number = owners.leaving.next_number.max(next);
        if ctx.memory == Memory::Complete {
            return;
        }
        let reserved = Admission::from_bytes(record).ok().and_then(|admission| {
            admission.requirement.deadline?;
            let Admission {
                requirement,
                source,
                ways,
                ..
            } = &admission;
            self.reservations.reserve(requirement, *source, ways).ok()
        });
        match reserved {
            Some(reserved) => owners.leaving.wait(reserved.id, Some(number), ctx.now),
            None => owners.forget_leaving(ctx, number),
        }
    }

    /// Gives back what is reserved for withdrawn flows of which nothing plays a role.
    pub(super) fn release_some(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        modes: &ModeDesk,
    ) {
        if network.owners.leaving.due.is_none_or(|due| due > ctx.now) {
            return;
        }
        let closing = &network.owners.leaving.closing;
        let since = closing.since.unwrap_or(ctx.now);
        let quiet = self.reservations.quiet_after(&closing.reservations);
        let due = quiet.map_or(ctx.now + LOOK_AGAIN, |quiet| since + quiet.round_up());
        if due > ctx.now {
            network.owners.leaving.due = Some(due);
            return;
        }
        let next = std::mem::take(&mut network.owners.leaving.next);
        network.owners.leaving.due = (!next.reservations.is_empty()).then_some(ctx.now);
        let closed = std::mem::replace(&mut network.owners.leaving.closing, next);
        for reservation in &closed.reservations {
            self.reservations.release(*reservation);
        }
        for number in closed.numbers {
            network.owners.forget_leaving(ctx, number);
        }
        for id in std::mem::take(&mut network.owners.leaving.waiting) {
            self.decide_anew(ctx, network, modes, id);
        }
        network.owners.answer_rooms(ctx, &closed.reservations);
        self.follow_budgets(ctx, &mut network.owners);
    }
}

impl Owners {
    /// Keeps what a flow has on the way that it leaves, until it takes the new one.
    pub(super) fn is_moving(&mut self, flow: &Flow) {
        let number = self.leaving.numbers.remove(&flow.id);
        if let Some(reservation) = flow.reservation {
            let left = self.leaving.moving.insert(flow.id, (reservation, number));
            debug_assert!(left.is_none(), "one way is left at a time");
        }
    }

    /// Returns whether a flow is about to leave a way on which something is reserved.
    pub(super) fn is_leaving_a_way(&self, flow: FlowId) -> bool {
        self.leaving.moving.contains_key(&flow) || self.leaving.numbers.contains_key(&flow)
    }

    /// Has what a flow had on the way that it takes no longer be given back in time.
    pub(super) fn has_moved(&mut self, ctx: &Context, flow: FlowId) {
        if let Some((reservation, number)) = self.leaving.moving.remove(&flow) {
            self.leaving.wait(reservation, number, ctx.now);
        }
    }

    /// Answers a request for room when this is given back.
    pub(super) fn wait_for(&mut self, request: RequestId, flow: &Flow) {
        if let Some(reservation) = flow.reservation {
            self.leaving.rooms.push(Room {
                request,
                flow: flow.id,
                name: flow.admission.requirement.name.clone(),
                reservation,
            });
        }
    }

    /// Answers who waits for a flow to go another way that does not.
    pub(super) fn moves_nowhere(&mut self, ctx: &mut Context, flow: FlowId) {
        let rooms = std::mem::take(&mut self.leaving.rooms);
        let is_in_vain = |room: &Room| room.flow == flow;
        let (in_vain, others): (Vec<Room>, Vec<Room>) = rooms.into_iter().partition(is_in_vain);
        self.leaving.rooms = others;
        for room in in_vain {
            ctx.outbox.reply(room.request, Reply::RoomMade(None));
        }
    }

    /// Answers who waits for what has been given back.
    fn answer_rooms(&mut self, ctx: &mut Context, given_back: &[ReservationId]) {
        let rooms = std::mem::take(&mut self.leaving.rooms);
        let is_there = |room: &Room| given_back.contains(&room.reservation);
        let (made, others): (Vec<Room>, Vec<Room>) = rooms.into_iter().partition(is_there);
        self.leaving.rooms = others;
        for room in made {
            let moved = Reply::RoomMade(Some(room.name));
            ctx.outbox.reply(room.request, moved);
        }
    }

    fn forget_leaving(&self, ctx: &mut Context, number: u32) {
        ctx.outbox.store(StoreWrite {
            key: Key::Leaving(number),
            value: None,
        });
    }

    /// Has a flow whose host has moved be decided on again when something is given back.
    pub(super) fn wait_for_room(&mut self, id: FlowId) {
        if self.leaving.due.is_some() {
            self.leaving.waiting.push(id);
        }
    }

    /// Has a flow wait for nothing any more.
    pub(super) fn wait_no_more(&mut self, id: FlowId) {
        self.leaving.waiting.retain(|waiting| *waiting != id);
    }

    /// Takes note that a flow stays after all.
    pub(super) fn stays(&mut self, ctx: &mut Context, id: FlowId) {
        if let Some(number) = self.leaving.numbers.remove(&id) {
            self.forget_leaving(ctx, number);
        }
    }
}
