//! Frames from the controller, OF13 clause 7.3.7.

use units::Instant;
use wire::openflow::{BadRequest, BufferId, ErrorKind, PacketOut, PortNumber};

use super::Agent;
use super::packet_buffers::KeptFrame;
use crate::action::{Action, Target};
use crate::pipeline::{FRAME_BYTES, Pipeline};
use crate::program::{Compiler, InstructionSite};

impl Agent {
    pub(super) fn packet_out(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        packet_out: &PacketOut<'_>,
    ) -> Result<(), ErrorKind> {
        let compiler = Compiler {
            egress: &pipeline.egress,
            tables: u8::try_from(pipeline.tables.len()).expect("made from a u8"),
            place: InstructionSite::PacketOut,
        };
        let actions = compiler.actions(&packet_out.actions)?;
        self.send_out(now, pipeline, packet_out, &actions)
    }

    /// Does with a frame what the actions of its packet-out were compiled to.
    pub(super) fn send_out(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        packet_out: &PacketOut<'_>,
        actions: &[Action],
    ) -> Result<(), ErrorKind> {
        let in_port = packet_out.in_port;
        let known = pipeline.egress.find_port(in_port).is_some();
        if !known && in_port != PortNumber::CONTROLLER {
            return Err(ErrorKind::BadRequest(BadRequest::BadPort));
        }
        let kept = match packet_out.buffer {
            BufferId::NONE => None,
            buffer => Some(self.buffers.take(buffer)?),
        };
        let frame = kept.as_ref().map_or(packet_out.data, |kept| &kept.frame);
        if !FRAME_BYTES.contains(&frame.len()) {
            return Err(ErrorKind::BadRequest(BadRequest::BadPacket));
        }
        pipeline.send(now, in_port, frame, actions);
        self.send_punts(now, pipeline);
        Ok(())
    }

    /// Sends a kept frame through the tables, as if it arrived again, OF13
    /// clause 7.3.4.1.
    pub(super) fn release(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        buffer: BufferId,
    ) -> Result<(), ErrorKind> {
        let KeptFrame { in_port, frame } = self.buffers.take(buffer)?;
        pipeline.send(now, in_port, &frame, &[Action::Output(Target::Tables)]);
        self.send_punts(now, pipeline);
        Ok(())
    }
}
