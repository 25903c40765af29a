//! Frames of streams that leave in order, while they are held: in buffers that are kept for
//! them, so that they take no room from others.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use units::{Duration, Instant};
use wire::openflow::taktos::{Eliminate, StreamHandle};

use super::ordering::{Ordering, Standing};
use crate::action::Action;
use crate::egress::{Egress, FrameOutcome};
use crate::packet::Packet;

/// How many frames of all streams are held at most, so how long their histories are together.
pub const HELD_FRAMES_MAX: usize = 2048;
/// How many frames leave in one call as their time is over; others have to wait for that.
const LEAVE_MAX: usize = 64;

/// What is done with a frame when its turn comes: the actions of a list from a place on.
#[derive(Clone, Debug)]
pub(crate) struct RestOfList {
    pub(crate) actions: Arc<[Action]>,
    pub(crate) from: usize,
}

/// A frame that is held.
#[derive(Debug)]
struct HeldFrame {
    packet: Packet,
    rest: RestOfList,
    since: Instant,
}

/// A stream whose frames leave in order.
#[derive(Debug)]
struct OrderedStream {
    ordering: Ordering<HeldFrame>,
    /// How many of its frames are held at most.
    room: usize,
}

/// The streams whose frames leave in order.
#[derive(Debug)]
pub(crate) struct HeldFrames {
    streams: BTreeMap<StreamHandle, OrderedStream>,
    /// No later than the first frame that is held is to leave.
    due: Instant,
}

impl HeldFrames {
    pub(crate) const fn new() -> Self {
        Self {
            streams: BTreeMap::new(),
            due: Instant::FAR_FUTURE,
        }
    }

    /// Returns when a frame is to leave at the latest.
    pub(crate) const fn due(&self) -> Instant {
        self.due
    }

    /// Returns how many frames of a stream were held, gave up earlier ones, and were late.
    pub(super) fn counters(&self, stream: StreamHandle) -> [u64; 3] {
        self.streams.get(&stream).map_or([0; 3], |it| {
            let ordering = &it.ordering;
            [ordering.held, ordering.gave_up, ordering.late]
        })
    }

    /// Returns whether there is room for the frames of a stream, if they are to leave in order.
    pub(crate) fn has_room_for(&self, how: &Eliminate) -> bool {
        let others = self.streams.iter().filter(|(it, _)| **it != how.stream);
        let taken: usize = others.map(|(_, it)| it.room).sum();
        !how.holds() || taken + usize::from(how.history) <= HELD_FRAMES_MAX
    }

    /// Makes room for the frames of a stream, if they are to leave in order.
    pub(super) fn prepare(&mut self, how: &Eliminate) {
        if !how.holds() || !self.has_room_for(how) {
            return;
        }
        let stream = self.streams.entry(how.stream);
        let stream = stream.or_insert_with(|| OrderedStream {
            ordering: Ordering::new(),
            room: 0,
        });
        stream.room = stream.room.max(how.history.into());
        stream.ordering.make_room(stream.room);
    }

    pub(super) fn known(&self) -> Vec<StreamHandle> {
        self.streams.keys().copied().collect()
    }

    /// Returns a stream behind another one, or the first, of which a frame is to leave.
    fn overdue(&self, now: Instant, before: Option<StreamHandle>) -> Option<StreamHandle> {
        let is_overdue = |it: &OrderedStream| it.ordering.due().is_some_and(|due| due <= now);
        let from = before.map_or(Unbounded, Excluded);
        let mut streams = self.streams.range((from, Unbounded));
        let overdue = streams.find(|(_, it)| is_overdue(it));
        overdue.map(|(stream, _)| *stream)
    }

    fn find_due(&mut self) {
        let dues = self.streams.values().filter_map(|it| it.ordering.due());
        self.due = dues.min().unwrap_or(Instant::FAR_FUTURE);
    }
}

impl Egress {
    /// Ends the frame if a copy of it was handed on before; else does what is left of a list
    /// once all before it have done so, or its time is over.
    pub(crate) fn eliminate_in_order(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        how: &Eliminate,
        rest: RestOfList,
    ) {
        let number = self.sequence_number(packet, how.encoding);
        if self.eliminate(packet, how) == FrameOutcome::Ends {
            return;
        }
        let arrived = self.pool.arrived(packet.slot);
        let stream = self.held_frames.streams.get_mut(&how.stream);
        let (Some(number), Some(stream)) = (number, stream) else {
            return self.finish_list(now, packet, &rest);
        };
        match stream.ordering.take(how, arrived, number) {
            Standing::Late => return,
            Standing::Next => self.finish_list(now, packet, &rest),
            // Only a switch that was not called when frames were due has no room.
            Standing::Ahead if stream.ordering.waiting() == stream.room => {
                self.counters.abandoned += 1;
            }
            Standing::Ahead => {
                self.pool.set_aside(packet.slot);
                let held = HeldFrame {
                    packet: packet.clone(),
                    rest,
                    since: now,
                };
                let due = now + how.hold;
                stream.ordering.hold((number, due), held);
                self.held_frames.due = self.held_frames.due.min(due);
                self.wake_at(due);
            }
        }
        while self.let_go(now, how.stream) {}
    }

    /// Lets frames leave whose time is over.
    pub(crate) fn let_overdue_go(&mut self, now: Instant) {
        let (mut left, mut before) = (LEAVE_MAX, None);
        while let Some(stream) = self.held_frames.overdue(now, before) {
            while left > 0 && self.let_go(now, stream) {
                left -= 1;
            }
            before = Some(stream);
        }
        self.held_frames.find_due();
    }

    /// Lets the next frame of a stream leave that need not wait any more.
    fn let_go(&mut self, now: Instant, stream: StreamHandle) -> bool {
        let stream = self.held_frames.streams.get_mut(&stream);
        let Some(held) = stream.and_then(|it| it.ordering.let_go(now)) else {
            return false;
        };
        let HeldFrame {
            mut packet,
            rest,
            since,
        } = held;
        // How long it was held is no part of its stay.
        let waited = now.saturating_since(since);
        self.pool.take_back(packet.slot, waited);
        self.finish_list(now, &mut packet, &rest);
        self.finish(&packet);
        true
    }

    /// Drops the frames that are held of a stream if no entry names it any more.
    pub(super) fn forget_order_unless_known(&mut self, stream: StreamHandle) {
        if self.streams.find(stream).is_some() {
            return;
        }
        if let Some(mut forgotten) = self.held_frames.streams.remove(&stream) {
            for HeldFrame { packet, .. } in forgotten.ordering.give_up() {
                self.pool.take_back(packet.slot, Duration::ZERO);
                self.pool.release(packet.slot);
                self.counters.abandoned += 1;
            }
        }
    }

    fn finish_list(&mut self, now: Instant, packet: &mut Packet, rest: &RestOfList) {
        for &action in &rest.actions[rest.from..] {
            if self.execute(now, packet, action) == FrameOutcome::Ends {
                return;
            }
        }
    }
}
