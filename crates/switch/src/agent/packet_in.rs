//! Frames for the controllers, OF13 clause 7.4.1.
//!
//! A controller gets as much of a frame as it wants, and the number under which
//! the whole is kept; or the whole, if it wants that, or if nothing more can be
//! kept.

use units::Instant;
use wire::openflow::{
    BufferId, ControllerLength, Fields, MatchField, Message, PacketIn, TransactionId,
};

use super::session::Session;
use super::{Agent, SENDING_PAUSE};
use crate::egress::{Egress, PendingPacketIn};
use crate::headers::PipelineFields;
use crate::pipeline::Pipeline;

impl Agent {
    /// Sends what the pipeline has for the controllers to those that want it.
    pub(crate) fn send_punts(&mut self, now: Instant, pipeline: &mut Pipeline) {
        while let Some(pending) = pipeline.egress.pending_packet_ins.pop_front() {
            self.send_punt(now, &mut pipeline.egress, &pending);
            pipeline.egress.pool.release(pending.slot);
        }
    }

    fn send_punt(&mut self, now: Instant, egress: &mut Egress, pending: &PendingPacketIn) {
        let reason = pending.origin.reason.number();
        let listens = |session: &Session| {
            session.hears_of(pending.origin)
                && session.wants(session.asynchronous.packet_in, reason)
                && session.unsent() < SENDING_PAUSE
        };
        if !self.sessions.values().any(listens) {
            egress.counters.punted -= 1;
            egress.counters.punts_dropped += 1;
            return;
        }
        let frame = egress.pool.frame(pending.slot);
        let buffer = match pending.length {
            ControllerLength::NO_BUFFER => None,
            ControllerLength(_) => self.buffers.keep(now, pending.known.in_port, frame),
        };
        let wanted = usize::from(pending.length.0).min(frame.len());
        let data = if buffer.is_some() {
            &frame[..wanted]
        } else {
            frame
        };
        let known = KnownFields::of(pending.known);
        let packet_in = Message::PacketIn(PacketIn {
            buffer: buffer.unwrap_or(BufferId::NONE),
            total_length: u16::try_from(frame.len()).expect("a frame fits a buffer"),
            reason: pending.origin.reason,
            table: pending.origin.table,
            cookie: pending.origin.cookie,
            fields: known.fields(),
            data,
        });
        for session in self.sessions.values_mut() {
            if listens(session) {
                session.send(TransactionId(0), &packet_in);
                self.unsent = true;
            }
        }
    }
}

/// What a packet-in tells of a frame besides its bytes: the port, and whatever
/// is not zero, OF13 clause 7.4.1.
struct KnownFields {
    list: [MatchField; 3],
    length: usize,
}

impl KnownFields {
    fn of(known: PipelineFields) -> Self {
        let mut list = [MatchField::InPort(known.in_port); 3];
        let mut length = 1;
        for (value, field) in [
            (known.metadata, MatchField::Metadata(known.metadata.into())),
            (known.tunnel, MatchField::TunnelId(known.tunnel.into())),
        ] {
            if value != 0 {
                list[length] = field;
                length += 1;
            }
        }
        Self { list, length }
    }

    fn fields(&self) -> Fields<'_> {
        Fields::of(&self.list[..self.length])
    }
}
