//! Changes of a frame on its way.
//!
//! A frame may be held by queues already while it is changed for a further
//! output; then a copy is changed, and what waits stays as it was.

use units::Instant;
use wire::ethernet::{EtherType, SHORTEST_FRAME};
use wire::openflow::PacketInReason;

use crate::action::{Direction, FieldValue, Layer, Pop, Push};
use crate::egress::{Egress, FrameOutcome};
use crate::headers::Headers;
use crate::packet::{Packet, Stale};
use crate::{rewrite, tags, time_to_live};

impl Egress {
    pub(crate) fn set_field(&mut self, packet: &mut Packet, value: FieldValue) -> FrameOutcome {
        if let FieldValue::TunnelId(tunnel) = value {
            packet.set_tunnel(tunnel);
            return FrameOutcome::Lives;
        }
        // What follows such a number is read as something else from now on.
        let stale = match matches!(value, FieldValue::EthType(_) | FieldValue::IpProto(_)) {
            true => Stale::Headers,
            false => Stale::Key,
        };
        self.change(packet, stale, |frame, headers| {
            rewrite::set_field(frame, headers, value);
        })
    }

    pub(crate) fn set_ttl(&mut self, packet: &mut Packet, layer: Layer, ttl: u8) -> FrameOutcome {
        self.change(packet, Stale::Nothing, |frame, headers| {
            time_to_live::set(frame, headers, layer, ttl);
        })
    }

    pub(crate) fn copy_ttl(&mut self, packet: &mut Packet, direction: Direction) -> FrameOutcome {
        self.change(packet, Stale::Nothing, |frame, headers| {
            time_to_live::copy(frame, headers, direction);
        })
    }

    pub(crate) fn decrement_ttl(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        layer: Layer,
    ) -> FrameOutcome {
        let mut result = Ok(());
        let fate = self.change(packet, Stale::Nothing, |frame, headers| {
            result = time_to_live::decrement(frame, headers, layer);
        });
        if fate == FrameOutcome::Lives && result.is_err() {
            self.counters.abandoned += 1;
            let length = self.miss_send_length;
            self.pending(now, packet, PacketInReason::InvalidTtl, length);
            return FrameOutcome::Ends;
        }
        fate
    }

    pub(crate) fn push(&mut self, packet: &mut Packet, tag: Push) -> FrameOutcome {
        packet.refresh_headers(&self.pool);
        if self.make_unique(packet) == FrameOutcome::Ends {
            return FrameOutcome::Ends;
        }
        if self.pool.grow_front(packet.slot, tag.bytes()).is_err() {
            self.counters.abandoned += 1;
            return FrameOutcome::Ends;
        }
        tags::push(self.pool.frame_mut(packet.slot), &packet.headers, tag);
        packet.stale = Stale::Headers;
        FrameOutcome::Lives
    }

    /// Puts a VLAN tag in front if there is none.
    pub(crate) fn ensure_tag(&mut self, packet: &mut Packet) -> FrameOutcome {
        packet.refresh_headers(&self.pool);
        match packet.headers.tagged {
            true => FrameOutcome::Lives,
            false => self.push(packet, Push::Vlan(EtherType::VLAN.0)),
        }
    }

    /// Takes a tag off. A frame that was long enough for the medium remains so.
    pub(crate) fn pop(&mut self, packet: &mut Packet, tag: Pop) -> FrameOutcome {
        packet.refresh_headers(&self.pool);
        if !tag.fits(&packet.headers) {
            return FrameOutcome::Lives;
        }
        let fate = self.change(packet, Stale::Headers, |frame, headers| {
            tags::pop(frame, headers, tag);
        });
        if fate == FrameOutcome::Lives {
            let was_long_enough = self.pool.frame(packet.slot).len() >= SHORTEST_FRAME;
            self.pool.shrink_front(packet.slot, tag.bytes());
            if was_long_enough {
                self.keep_long_enough(packet);
            }
        }
        fate
    }

    /// Lengthens a frame with zeros that would be too short for the medium.
    pub(crate) fn keep_long_enough(&mut self, packet: &Packet) {
        let padded = self.pool.pad(packet.slot, SHORTEST_FRAME);
        debug_assert!(padded.is_ok(), "a short frame fits");
    }

    /// Changes the frame in place, after which `stale` is out of date.
    pub(crate) fn change(
        &mut self,
        packet: &mut Packet,
        stale: Stale,
        change: impl FnOnce(&mut [u8], &Headers),
    ) -> FrameOutcome {
        packet.refresh_headers(&self.pool);
        let fate = self.make_unique(packet);
        if fate == FrameOutcome::Lives {
            change(self.pool.frame_mut(packet.slot), &packet.headers);
            packet.stale = packet.stale.max(stale);
        }
        fate
    }

    /// Makes sure that a change of the frame is seen by nobody else.
    pub(crate) fn make_unique(&mut self, packet: &mut Packet) -> FrameOutcome {
        match self.pool.make_unique(packet.slot) {
            Some(slot) => {
                packet.slot = slot;
                FrameOutcome::Lives
            }
            None => {
                self.counters.abandoned += 1;
                FrameOutcome::Ends
            }
        }
    }
}
