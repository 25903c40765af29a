//! Frames for the controllers, OF13 clause 7.4.1.
//!
//! A frame is sent whole: nothing of it is kept, so that a controller that does
//! not answer costs no memory.

use wire::openflow::{BufferId, Fields, MatchField, Message, PacketIn, TransactionId};

use super::{Agent, SENDING_PAUSE};
use crate::egress::{Egress, Punt};
use crate::headers::PipelineFields;
use crate::pipeline::Pipeline;

impl Agent {
    /// Sends what the pipeline has for the controllers to those that want it.
    pub(crate) fn send_punts(&mut self, pipeline: &mut Pipeline) {
        while let Some(punt) = pipeline.egress.punts.pop_front() {
            self.send_punt(&mut pipeline.egress, &punt);
            pipeline.egress.pool.release(punt.slot);
        }
    }

    fn send_punt(&mut self, egress: &mut Egress, punt: &Punt) {
        let frame = egress.pool.frame(punt.slot);
        let known = KnownFields::of(punt.known);
        let packet_in = Message::PacketIn(PacketIn {
            buffer: BufferId::NONE,
            total_length: u16::try_from(frame.len()).expect("a frame fits a buffer"),
            reason: punt.origin.reason,
            table: punt.origin.table,
            cookie: punt.origin.cookie,
            fields: known.fields(),
            data: frame,
        });
        let reason = punt.origin.reason.number();
        let mut heard = false;
        for session in self.sessions.values_mut() {
            if session.wants(session.asynchronous.packet_in, reason)
                && session.unsent() < SENDING_PAUSE
            {
                session.send(TransactionId(0), &packet_in);
                self.unsent = true;
                heard = true;
            }
        }
        if !heard {
            egress.counters.punted -= 1;
            egress.counters.punts_dropped += 1;
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
