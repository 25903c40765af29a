//! What is done about switches that are not heard.
//!
//! A switch whose session is gone, or which has said nothing for long, is suspected.
//! Its neighbours send it echoes ([`crate::echoes`]) from then on: as long as these come
//! back, it forwards, and nothing moves. A link over which they cease is lost, and flows
//! take what was prepared for that.
//!
//! Echoes have their room among the probes: a port has reserved five frames a probe
//! interval: the probe, three echoes, and one that begins or answers.

use wire::openflow::DatapathId;

use crate::config::PROBE_PHASES;
use crate::discovery::ECHO;
use crate::place::{LinkEnds, PortId};
use crate::session::Slot;
use crate::view::{Carrier, LinkId};

use super::{Context, Topology};

/// In which parts of a probe interval a port sends echoes, counted from the one in which
/// it sends its probe.
const ECHO_PHASES: [u64; 3] = [2, 4, 6];

impl Topology {
    /// Has the neighbours of a switch whose session is gone ask whether it forwards.
    pub fn suspect(&mut self, ctx: &mut Context, datapath: DatapathId) {
        for (_, port) in self.asking(ctx, datapath) {
            self.echoes.begin(port);
            if self.echoes.is_proved(port) {
                self.send_echo(ctx, port);
            }
        }
    }

    /// Has a neighbour that is heard turn round an echo, if it never has: later its
    /// silence will say something.
    pub fn prove(&mut self, ctx: &mut Context, datapath: DatapathId) {
        for (_, port) in self.asking(ctx, datapath) {
            let [first, ..] = ECHO_PHASES;
            if !self.echoes.is_proved(port) && Self::phase_of(ctx, port) == Some(first) {
                self.send_echo(ctx, port);
            }
        }
    }

    /// Has both ends of a link that was found turn round an echo.
    pub fn prove_link(&mut self, ctx: &mut Context, link: LinkEnds) {
        for end in link.both() {
            self.send_echo(ctx, end);
        }
    }

    /// Returns the links that lead to a switch from neighbours that are heard, with the
    /// ports of these.
    pub fn asking(&self, ctx: &Context, datapath: DatapathId) -> Vec<(LinkId, PortId)> {
        let Some(switch) = self.view.switch(datapath) else {
            return Vec::new();
        };
        let ports = self.view.switches()[switch.index()].ports.iter();
        let links = ports.filter_map(|port| {
            let id = port.link?;
            let link = &self.view.links()[id.index()];
            let near = PortId::new(datapath, port.number);
            let far = link.ends.opposite(near)?;
            let is_asking = link.carrier == Carrier::Up && !ctx.is_suspect(far.datapath);
            is_asking.then_some((id, far))
        });
        links.collect()
    }

    pub fn is_echo_due(ctx: &Context, port: PortId) -> bool {
        let phase = Self::phase_of(ctx, port);
        phase.is_some_and(|phase| ECHO_PHASES.contains(&phase))
    }

    /// Returns how many parts of a probe interval ago it was the turn of a port's switch
    /// to send probes.
    fn phase_of(ctx: &Context, port: PortId) -> Option<u64> {
        let slot = ctx.sessions.of_switch(port.datapath).map(Slot::index)?;
        let turn = slot as u64 % PROBE_PHASES;
        Some((ctx.schedule.phase() + PROBE_PHASES - turn) % PROBE_PHASES)
    }

    pub fn send_echo(&mut self, ctx: &mut Context, port: PortId) {
        let Some(heard_at) = ctx.heard_at(port.datapath) else {
            return;
        };
        self.echoes.sent(ctx.now, port, heard_at);
        self.send_probe(ctx, port, ECHO);
    }

    /// Takes an echo that has come back to a port.
    pub fn echo_returned(&mut self, ctx: &Context, from: PortId, to: PortId) {
        if from != to || !self.view.echoed(ctx.now, to) {
            return;
        }
        self.echoes.returned(to);
    }

    /// Forgets what the echoes of a switch said: it is another one now, perhaps.
    pub fn doubt_echoes(&mut self, ctx: &Context, datapath: DatapathId) {
        for (link, _) in self.asking(ctx, datapath) {
            self.echoes.forget(self.view.links()[link.index()].ends);
        }
    }
}
