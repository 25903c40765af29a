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

use super::Controller;

/// In which parts of a probe interval a port sends echoes, counted from the one in which
/// it sends its probe.
const ECHO_PHASES: [u64; 3] = [2, 4, 6];

impl Controller {
    /// Returns whether a switch is not heard: its session is gone, or silent.
    pub(super) fn is_suspect(&self, datapath: DatapathId) -> bool {
        let heard = self.heard_at(datapath);
        heard
            .is_none_or(|at| self.ctx.now.saturating_since(at) >= self.ctx.timers.silence_allowed())
    }

    /// Returns when something last arrived from a switch, if its session stands.
    pub(super) fn heard_at(&self, datapath: DatapathId) -> Option<Instant> {
        let session = self
            .ctx
            .sessions
            .get(self.ctx.sessions.of_switch(datapath)?)?;
        Some(session.heard_at)
    }

    /// Returns whether a link has an end that is not heard, so that probes over it say
    /// nothing.
    pub(super) fn is_unheard(&self, link: LinkEnds) -> bool {
        let mut ends = link.both().into_iter();
        ends.any(|end| self.is_suspect(end.datapath))
    }

    /// Has the neighbours of a switch whose session is gone ask whether it forwards.
    pub(super) fn suspect(&mut self, datapath: DatapathId) {
        for (_, port) in self.asking(datapath) {
            self.topology.echoes.begin(port);
            if self.topology.echoes.is_proved(port) {
                self.send_echo(port);
            }
        }
    }

    /// Sends the echoes that are due to switches that are not heard, and to those that
    /// have not answered one yet. Loses the links over which they cease.
    pub(super) fn ask_suspects(&mut self) {
        let known = self.topology.view.switches().iter();
        let known = known.filter(|switch| switch.control != Control::Forgotten);
        let all: Vec<DatapathId> = known.map(|switch| switch.datapath).collect();
        let suspects = all.iter().filter(|at| self.is_suspect(**at)).count();
        if std::mem::replace(&mut self.topology.suspects, suspects) != suspects {
            self.ctx.promises_changed();
        }
        for datapath in all {
            match self.is_suspect(datapath) {
                true => self.ask_suspect(datapath),
                false => self.prove(datapath),
            }
        }
    }

    fn ask_suspect(&mut self, datapath: DatapathId) {
        let asking = self.asking(datapath);
        let mut is_lost = false;
        for (link, port) in &asking {
            if !self.is_echo_due(*port) {
                continue;
            }
            if self.topology.echoes.are_missing(*port) {
                is_lost = true;
                self.topology.view.lose(self.ctx.now, *link);
                self.link_lost(*link, Detection::Silence);
            } else if self.topology.echoes.is_proved(*port) {
                self.send_echo(*port);
            }
        }
        if is_lost && self.asking(datapath).is_empty() {
            let name = self.name_of_switch(datapath);
            self.ctx.outbox.notify(Event::SwitchGone { datapath, name });
        }
    }

    /// Has a neighbour that is heard turn round an echo, if it never has: later its
    /// silence will say something.
    fn prove(&mut self, datapath: DatapathId) {
        for (_, port) in self.asking(datapath) {
            let [first, ..] = ECHO_PHASES;
            if !self.topology.echoes.is_proved(port) && self.phase_of(port) == Some(first) {
                self.send_echo(port);
            }
        }
    }

    /// Has both ends of a link that was found turn round an echo.
    pub(super) fn prove_link(&mut self, link: LinkEnds) {
        for end in link.both() {
            self.send_echo(end);
        }
    }

    /// Returns the links that lead to a switch from neighbours that are heard, with the
    /// ports of these.
    fn asking(&self, datapath: DatapathId) -> Vec<(LinkId, PortId)> {
        let Some(switch) = self.topology.view.switch(datapath) else {
            return Vec::new();
        };
        let ports = self.topology.view.switches()[switch.index()].ports.iter();
        let links = ports.filter_map(|port| {
            let id = port.link?;
            let link = &self.topology.view.links()[id.index()];
            let near = PortId::new(datapath, port.number);
            let far = link.ends.opposite(near)?;
            let is_asking = link.carrier == Carrier::Up && !self.is_suspect(far.datapath);
            is_asking.then_some((id, far))
        });
        links.collect()
    }

    fn is_echo_due(&self, port: PortId) -> bool {
        let phase = self.phase_of(port);
        phase.is_some_and(|phase| ECHO_PHASES.contains(&phase))
    }

    /// Returns how many parts of a probe interval ago it was the turn of a port's switch
    /// to send probes.
    fn phase_of(&self, port: PortId) -> Option<u64> {
        let slot = self
            .ctx
            .sessions
            .of_switch(port.datapath)
            .map(Slot::index)?;
        let turn = slot as u64 % PROBE_PHASES;
        Some((self.ctx.schedule.phase() + PROBE_PHASES - turn) % PROBE_PHASES)
    }

    fn send_echo(&mut self, port: PortId) {
        self.topology.echoes.sent(port);
        self.send_probe(port, ECHO);
    }

    /// Takes an echo that has come back to a port.
    pub(super) fn echo_returned(&mut self, from: PortId, to: PortId) {
        if from != to || !self.topology.view.echoed(self.ctx.now, to) {
            return;
        }
        self.topology.echoes.returned(to);
    }

    /// Forgets what the echoes of a switch said: it is another one now, perhaps.
    pub(super) fn doubt_echoes(&mut self, datapath: DatapathId) {
        for (link, _) in self.asking(datapath) {
            self.topology
                .echoes
                .forget(self.topology.view.links()[link.index()].ends);
        }
    }
}
