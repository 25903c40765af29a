//! Changes of a frame on its way.
//!
//! A frame may be held by queues already while it is changed for a further
//! output; then a copy is changed, and what waits stays as it was.

use units::Instant;
use wire::ethernet::{EtherType, SHORTEST_FRAME};
use wire::openflow::PacketInReason;

use crate::action::{Direction, FieldValue, Layer, Pop, Push};
use crate::egress::{Egress, Fate};
use crate::headers::Headers;
use crate::packet::{Packet, Stale};
use crate::{rewrite, tags, time_to_live};

impl Egress {
    pub(crate) fn set_field(&mut self, packet: &mut Packet, value: FieldValue) -> Fate {
        if let FieldValue::TunnelId(tunnel) = value {
            packet.set_tunnel(tunnel);
            return Fate::Lives;
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

    pub(crate) fn set_ttl(&mut self, packet: &mut Packet, layer: Layer, ttl: u8) -> Fate {
        self.change(packet, Stale::Nothing, |frame, headers| {
            time_to_live::set(frame, headers, layer, ttl);
        })
    }

    pub(crate) fn copy_ttl(&mut self, packet: &mut Packet, direction: Direction) -> Fate {
        self.change(packet, Stale::Nothing, |frame, headers| {
            time_to_live::copy(frame, headers, direction);
        })
    }

    pub(crate) fn decrement_ttl(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        layer: Layer,
    ) -> Fate {
        let mut result = Ok(());
        let fate = self.change(packet, Stale::Nothing, |frame, headers| {
            result = time_to_live::decrement(frame, headers, layer);
        });
        if fate == Fate::Lives && result.is_err() {
            self.counters.abandoned += 1;
            let length = self.miss_send_length;
            self.punt(now, packet, PacketInReason::InvalidTtl, length);
            return Fate::Ends;
        }
        fate
    }

    pub(crate) fn push(&mut self, packet: &mut Packet, tag: Push) -> Fate {
        packet.refresh_headers(&self.pool);
        if self.make_unique(packet) == Fate::Ends {
            return Fate::Ends;
        }
        if self.pool.grow_front(packet.slot, tag.bytes()).is_err() {
            self.counters.abandoned += 1;
            return Fate::Ends;
        }
        tags::push(self.pool.frame_mut(packet.slot), &packet.headers, tag);
        packet.stale = Stale::Headers;
        Fate::Lives
    }

    /// Puts a VLAN tag in front if there is none.
    pub(crate) fn ensure_tag(&mut self, packet: &mut Packet) -> Fate {
        packet.refresh_headers(&self.pool);
        match packet.headers.tagged {
            true => Fate::Lives,
            false => self.push(packet, Push::Vlan(EtherType::VLAN.0)),
        }
    }

    /// Takes a tag off. A frame that was long enough for the medium remains so.
    pub(crate) fn pop(&mut self, packet: &mut Packet, tag: Pop) -> Fate {
        packet.refresh_headers(&self.pool);
        if !tag.fits(&packet.headers) {
            return Fate::Lives;
        }
        let fate = self.change(packet, Stale::Headers, |frame, headers| {
            tags::pop(frame, headers, tag);
        });
        if fate == Fate::Lives {
            let was_long_enough = self.pool.frame(packet.slot).len() >= SHORTEST_FRAME;
            self.pool.shrink_front(packet.slot, tag.bytes());
            if was_long_enough {
                self.pool.pad(packet.slot, SHORTEST_FRAME);
            }
        }
        fate
    }

    /// Changes the frame in place, after which `stale` is out of date.
    pub(crate) fn change(
        &mut self,
        packet: &mut Packet,
        stale: Stale,
        change: impl FnOnce(&mut [u8], &Headers),
    ) -> Fate {
        packet.refresh_headers(&self.pool);
        let fate = self.make_unique(packet);
        if fate == Fate::Lives {
            change(self.pool.frame_mut(packet.slot), &packet.headers);
            packet.stale = packet.stale.max(stale);
        }
        fate
    }

    /// Makes sure that a change of the frame is seen by nobody else.
    fn make_unique(&mut self, packet: &mut Packet) -> Fate {
        match self.pool.make_unique(packet.slot) {
            Some(slot) => {
                packet.slot = slot;
                Fate::Lives
            }
            None => {
                self.counters.abandoned += 1;
                Fate::Ends
            }
        }
    }
}
