//! Frames from the controller, OF10 section 5.3.6.

use units::Instant;
use wire::openflow::{self, PortNumber};
use wire::openflow10::{self, ErrorKind, PacketOut};

use super::actions::{Purpose, compile, steps};
use crate::agent::Agent;
use crate::pipeline::Pipeline;

impl Agent {
    pub(super) fn narrow_packet_out(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        packet_out: &PacketOut<'_>,
    ) -> Result<(), ErrorKind> {
        let steps = steps(&packet_out.actions, Purpose::PacketOut)?;
        let actions = compile(pipeline, &steps)?;
        let wide = openflow::PacketOut {
            buffer: packet_out.buffer,
            in_port: match packet_out.in_port {
                openflow10::PortNumber::NONE => PortNumber::CONTROLLER,
                port => port.to_of13(),
            },
            // They are compiled already.
            actions: openflow::Actions::EMPTY,
            data: packet_out.data,
        };
        self.send_out(now, pipeline, &wide, &actions)
            .map_err(ErrorKind::from_of13)
    }
}
