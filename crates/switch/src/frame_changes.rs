//! Changes of a frame on its way.
//!
//! A frame may be held by queues already while it is changed for a further
//! output; then a copy is changed, and what waits stays as it was.

use units::Instant;
use wire::openflow::PacketInReason;

use crate::action::FieldValue;
use crate::egress::{Egress, Fate};
use crate::packet::Packet;
use crate::packet_key::Headers;
use crate::rewrite;

impl Egress {
    pub(crate) fn set_field(&mut self, packet: &mut Packet, value: FieldValue) -> Fate {
        self.change(packet, |frame, headers| {
            rewrite::set_field(frame, headers, value);
        })
    }

    pub(crate) fn set_ttl(&mut self, packet: &mut Packet, ttl: u8) -> Fate {
        self.change(packet, |frame, headers| {
            rewrite::set_ttl(frame, headers, ttl);
        })
    }

    pub(crate) fn push_vlan(&mut self, packet: &mut Packet, ether_type: u16) -> Fate {
        packet.refresh(&self.pool);
        if self.make_unique(packet) == Fate::Ends {
            return Fate::Ends;
        }
        if self
            .pool
            .grow_front(packet.slot, rewrite::VLAN_TAG)
            .is_err()
        {
            self.counters.abandoned += 1;
            return Fate::Ends;
        }
        let frame = self.pool.frame_mut(packet.slot);
        rewrite::push_vlan(frame, &packet.headers, ether_type);
        Fate::Lives
    }

    pub(crate) fn pop_vlan(&mut self, packet: &mut Packet) -> Fate {
        packet.refresh(&self.pool);
        if !packet.headers.tagged {
            return Fate::Lives;
        }
        let fate = self.change(packet, |frame, _| rewrite::pop_vlan(frame));
        if fate == Fate::Lives {
            self.pool.shrink_front(packet.slot, rewrite::VLAN_TAG);
        }
        fate
    }

    pub(crate) fn decrement_ttl(&mut self, now: Instant, packet: &mut Packet) -> Fate {
        let mut result = Ok(());
        let fate = self.change(packet, |frame, headers| {
            result = rewrite::decrement_ttl(frame, headers);
        });
        if fate == Fate::Lives && result.is_err() {
            self.counters.abandoned += 1;
            self.punt(now, packet, PacketInReason::InvalidTtl);
            return Fate::Ends;
        }
        fate
    }

    /// Makes sure that a change of the frame is seen by nobody else.
    fn make_unique(&mut self, packet: &mut Packet) -> Fate {
        match self.pool.make_unique(packet.slot) {
            Some(slot) => {
                packet.slot = slot;
                packet.changed = true;
                Fate::Lives
            }
            None => {
                self.counters.abandoned += 1;
                Fate::Ends
            }
        }
    }

    /// Changes the frame in place.
    pub(crate) fn change(
        &mut self,
        packet: &mut Packet,
        change: impl FnOnce(&mut [u8], &Headers),
    ) -> Fate {
        packet.refresh(&self.pool);
        let fate = self.make_unique(packet);
        if fate == Fate::Lives {
            change(self.pool.frame_mut(packet.slot), &packet.headers);
        }
        fate
    }
}
