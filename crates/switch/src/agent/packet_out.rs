//! Frames from the controller, OF13 clause 7.3.7.

use units::Instant;
use wire::openflow::{BadRequest, BufferId, ErrorKind, PacketOut, PortNumber};

use super::Agent;
use crate::action::Action;
use crate::pipeline::{FRAME_BYTES, Pipeline};
use crate::program::{Compiler, Place};

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
            place: Place::PacketOut,
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
        if packet_out.buffer != BufferId::NONE {
            return Err(ErrorKind::BadRequest(BadRequest::BufferUnknown));
        }
        let in_port = packet_out.in_port;
        let known = pipeline.egress.find_port(in_port).is_some();
        if !known && in_port != PortNumber::CONTROLLER {
            return Err(ErrorKind::BadRequest(BadRequest::BadPort));
        }
        if !FRAME_BYTES.contains(&packet_out.data.len()) {
            return Err(ErrorKind::BadRequest(BadRequest::BadPacket));
        }
        pipeline.send(now, in_port, packet_out.data, actions);
        self.send_punts(pipeline);
        Ok(())
    }
}
