//! What is done about switches that are not heard.
//!
//! A switch whose session is gone, or which has said nothing for long, is suspected.
//! Its neighbours send it echoes ([`crate::echoes`]) from then on: as long as these come
//! back, it forwards, and nothing moves. A link over which they cease is lost, and flows
//! take what was prepared for that.
//!
//! Echoes have their room among the probes: a port has reserved five frames a probe
//! interval: the probe, three echoes, and one that begins or answers.

use units::Instant;
use wire::openflow::DatapathId;

use crate::config::PROBE_PHASES;
use crate::discovery::ECHO;
use crate::northbound::{Detection, Event};
use crate::place::{LinkEnds, PortId};
use crate::session::Slot;
use crate::view::{Carrier, Control, LinkId};

use super::{Context, Network, Recovery, Topology};

/// In which parts of a probe interval a port sends echoes, counted from the one in which
/// it sends its probe.
const ECHO_PHASES: [u64; 3] = [2, 4, 6];

impl Context {
    /// Returns whether a switch is not heard: its session is gone, or silent.
    pub(super) fn is_suspect(&self, datapath: DatapathId) -> bool {
        let heard = self.heard_at(datapath);
        heard.is_none_or(|at| self.now.saturating_since(at) >= self.timers.silence_allowed())
    }

    /// Returns when something last arrived from a switch, if its session stands.
    pub(super) fn heard_at(&self, datapath: DatapathId) -> Option<Instant> {
        let session = self.sessions.get(self.sessions.of_switch(datapath)?)?;
        Some(session.heard_at)
    }

    /// Returns whether a link has an end that is not heard, so that probes over it say
    /// nothing.
    pub(super) fn is_unheard(&self, link: LinkEnds) -> bool {
        let mut ends = link.both().into_iter();
        ends.any(|end| self.is_suspect(end.datapath))
    }
}

impl Topology {
    /// Has the neighbours of a switch whose session is gone ask whether it forwards.
    pub(super) fn suspect(&mut self, ctx: &mut Context, datapath: DatapathId) {
        for (_, port) in self.asking(ctx, datapath) {
            self.echoes.begin(port);
            if self.echoes.is_proved(port) {
                self.send_echo(ctx, port);
            }
        }
    }

    /// Has a neighbour that is heard turn round an echo, if it never has: later its
    /// silence will say something.
    fn prove(&mut self, ctx: &mut Context, datapath: DatapathId) {
        for (_, port) in self.asking(ctx, datapath) {
            let [first, ..] = ECHO_PHASES;
            if !self.echoes.is_proved(port) && self.phase_of(ctx, port) == Some(first) {
                self.send_echo(ctx, port);
            }
        }
    }

    /// Has both ends of a link that was found turn round an echo.
    pub(super) fn prove_link(&mut self, ctx: &mut Context, link: LinkEnds) {
        for end in link.both() {
            self.send_echo(ctx, end);
        }
    }

    /// Returns the links that lead to a switch from neighbours that are heard, with the
    /// ports of these.
    fn asking(&self, ctx: &Context, datapath: DatapathId) -> Vec<(LinkId, PortId)> {
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

    fn is_echo_due(&self, ctx: &Context, port: PortId) -> bool {
        let phase = self.phase_of(ctx, port);
        phase.is_some_and(|phase| ECHO_PHASES.contains(&phase))
    }

    /// Returns how many parts of a probe interval ago it was the turn of a port's switch
    /// to send probes.
    fn phase_of(&self, ctx: &Context, port: PortId) -> Option<u64> {
        let slot = ctx.sessions.of_switch(port.datapath).map(Slot::index)?;
        let turn = slot as u64 % PROBE_PHASES;
        Some((ctx.schedule.phase() + PROBE_PHASES - turn) % PROBE_PHASES)
    }

    fn send_echo(&mut self, ctx: &mut Context, port: PortId) {
        self.echoes.sent(port);
        self.send_probe(ctx, port, ECHO);
    }

    /// Takes an echo that has come back to a port.
    pub(super) fn echo_returned(&mut self, ctx: &Context, from: PortId, to: PortId) {
        if from != to || !self.view.echoed(ctx.now, to) {
            return;
        }
        self.echoes.returned(to);
    }

    /// Forgets what the echoes of a switch said: it is another one now, perhaps.
    pub(super) fn doubt_echoes(&mut self, ctx: &Context, datapath: DatapathId) {
        for (link, _) in self.asking(ctx, datapath) {
            self.echoes.forget(self.view.links()[link.index()].ends);
        }
    }
}

impl Recovery {
    /// Sends the echoes that are due to switches that are not heard, and to those that
    /// have not answered one yet. Loses the links over which they cease.
    pub(super) fn ask_suspects(&mut self, ctx: &mut Context, network: &mut Network) {
        let known = network.topology.view.switches().iter();
        let known = known.filter(|switch| switch.control != Control::Forgotten);
        let all: Vec<DatapathId> = known.map(|switch| switch.datapath).collect();
        let suspects = all.iter().filter(|at| ctx.is_suspect(**at)).count();
        if std::mem::replace(&mut network.topology.suspects, suspects) != suspects {
            ctx.promises_changed();
        }
        for datapath in all {
            match ctx.is_suspect(datapath) {
                true => self.ask_suspect(ctx, network, datapath),
                false => network.topology.prove(ctx, datapath),
            }
        }
    }

    fn ask_suspect(&mut self, ctx: &mut Context, network: &mut Network, datapath: DatapathId) {
        let asking = network.topology.asking(ctx, datapath);
        let mut is_lost = false;
        for (link, port) in &asking {
            if !network.topology.is_echo_due(ctx, *port) {
                continue;
            }
            if network.topology.echoes.are_missing(*port) {
                is_lost = true;
                network.topology.view.lose(ctx.now, *link);
                self.link_lost(ctx, network, *link, Detection::Silence);
            } else if network.topology.echoes.is_proved(*port) {
                network.topology.send_echo(ctx, *port);
            }
        }
        if is_lost && network.topology.asking(ctx, datapath).is_empty() {
            let name = ctx.name_of_switch(datapath);
            ctx.outbox.notify(Event::SwitchGone { datapath, name });
        }
    }
}
