//! The way of a frame through groups, OF13 clause 5.6.
//!
//! Every bucket that is executed gets the frame as it came to the group; its
//! actions are an action set, already in order (OF13 clause 5.10). The bytes are
//! shared between the buckets until one of them changes the frame, and the last
//! bucket takes the frame itself, so that a group of one bucket copies nothing.
//!
//! Groups lead to groups, so one frame could cost the product of their buckets.
//! All buckets that it goes through make [`GROUP_COPIES_A_FRAME`] of it at most,
//! one each, or one for every port if the bucket floods. A bucket that would
//! exceed that is not executed, and counted.

use units::Instant;
use wire::openflow::GroupType;

use crate::action::Action;
use crate::egress::{Egress, FrameOutcome};
use crate::group_table::{Group, GroupIndex, GroupTable};
use crate::packet::Packet;
use crate::port::Port;

/// How many copies of a frame groups make at most, all groups together.
pub const GROUP_COPIES_A_FRAME: u32 = 512;

impl Egress {
    /// Sends a copy of the frame through a group.
    #[inline(never)]
    pub(crate) fn visit_group(&mut self, now: Instant, packet: &Packet, index: GroupIndex) {
        let mut copy = packet.clone();
        self.pool.hold(copy.slot);
        self.enter_group(now, &mut copy, index);
        self.pool.release(copy.slot);
    }

    /// Sends the frame through a group, after which it is as the group left it.
    pub(crate) fn enter_group(&mut self, now: Instant, packet: &mut Packet, index: GroupIndex) {
        let bytes = self.pool.frame(packet.slot).len();
        let group = self.groups.group_mut(index);
        group.tally.count(bytes);
        match group.config.kind {
            GroupType::All | GroupType::Indirect => self.enter_all(now, packet, index),
            GroupType::Select => {
                packet.refresh(&self.pool);
                let hash = self.flow_hash.of(packet, &self.pool);
                let group = self.groups.group(index);
                let live = |at| is_live(&self.groups, group, &self.ports, at);
                if let Some(bucket) = group.choose(hash, live) {
                    self.enter_bucket(now, packet, index, bucket);
                }
            }
            GroupType::FastFailover => {
                if let Some(bucket) = self.next_live(index, 0) {
                    self.enter_bucket(now, packet, index, bucket);
                }
            }
        }
    }

    fn enter_all(&mut self, now: Instant, packet: &mut Packet, index: GroupIndex) {
        let mut next = self.next_live(index, 0);
        while let Some(bucket) = next {
            next = self.next_live(index, bucket + 1);
            if next.is_none() {
                return self.enter_bucket(now, packet, index, bucket);
            }
            let mut copy = packet.clone();
            self.pool.hold(copy.slot);
            self.enter_bucket(now, &mut copy, index, bucket);
            self.pool.release(copy.slot);
        }
    }

    /// Returns the first bucket that is alive, from `first` on.
    fn next_live(&self, index: GroupIndex, first: usize) -> Option<usize> {
        let group = self.groups.group(index);
        let mut places = first..group.config.buckets.len();
        places.find(|at| is_live(&self.groups, group, &self.ports, *at))
    }

    fn enter_bucket(&mut self, now: Instant, packet: &mut Packet, index: GroupIndex, at: usize) {
        let bytes = self.pool.frame(packet.slot).len();
        let bucket = &mut self.groups.group_mut(index).config.buckets[at];
        let Some(left) = self.copies_left.checked_sub(bucket.copies) else {
            self.counters.buckets_skipped += 1;
            return;
        };
        self.copies_left = left;
        bucket.tally.count(bytes);
        for action in bucket.actions() {
            match self.groups.group(index).config.actions[action] {
                // A group is the last in its action set.
                Action::Group(next) => return self.enter_group(now, packet, next),
                action => {
                    if self.execute(now, packet, action) == FrameOutcome::Ends {
                        return;
                    }
                }
            }
        }
    }
}

fn is_live(groups: &GroupTable, group: &Group, ports: &[Port], bucket: usize) -> bool {
    groups.is_live(&group.config.buckets[bucket], ports)
}
