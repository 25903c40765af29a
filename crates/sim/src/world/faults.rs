//! What goes wrong in a network, and who notices.

use wire::openflow::{FlowMod, Hello, TableId, TransactionId};

use super::{World, number};
use crate::network::{Event, PortBinding};
use crate::parts::{End, Fault, Node};
use crate::switch_node::slower;

impl World {
    pub(super) fn notice_carrier(&mut self, binding: PortBinding) {
        let whole = self.network.cable(binding.cable).is_whole();
        let End {
            node: Node::Switch(switch),
            port,
        } = self.network.end(binding)
        else {
            return;
        };
        let link = if whole {
            switch::Link::Up
        } else {
            switch::Link::Down
        };
        if let Some(core) = &mut self.switches[switch].core {
            core.handle(self.now, switch::Input::Port { port, link });
        }
        self.drain_switch(switch);
    }

    pub(super) fn fault(&mut self, fault: Fault) {
        match fault {
            Fault::Cut { link } => self.set_cable(number(link), false),
            Fault::Heal { link } => self.set_cable(number(link), true),
            Fault::Crash { switch } => {
                self.kill(switch);
                self.set_cables_of(switch, false);
            }
            Fault::Kill { switch } => self.kill(switch),
            Fault::Impair {
                link,
                direction,
                impairment,
                one_in,
            } => {
                let cable = self.network.cable(number(link));
                for end in direction.ends() {
                    cable.impair(end, impairment, one_in);
                }
            }
            Fault::Empty { switch } => self.meddle(switch, &deletion()),
            Fault::Isolate { switch } => self.switches[switch].is_isolated = true,
            Fault::Rejoin { switch } => self.rejoin(switch),
            Fault::Restart { switch } => {
                if self.switches[switch].core.is_none() {
                    self.switches[switch].restart(self.now);
                    if let Some(watch) = &mut self.hop_watch {
                        watch.restarted(self.now, switch);
                    }
                    self.unplug_spare_ports(switch);
                    self.connect(switch);
                    self.set_cables_of(switch, true);
                    let bindings: Vec<_> = self.network.plugs_of_switch(switch).collect();
                    bindings
                        .into_iter()
                        .for_each(|binding| self.notice_carrier(binding));
                }
            }
            Fault::Slow { switch, extra } => self.switches[switch].extra = extra,
            Fault::SlowLink {
                link,
                by_thousandths,
            } => self.slow_link(number(link), by_thousandths),
            Fault::HostMoves { host, to } => {
                if let Some(binding) = self.network.plug_of_host(host) {
                    let far = PortBinding {
                        end: 1 - binding.end,
                        ..binding
                    };
                    self.set_cable(binding.cable, false);
                    self.notice_carrier(far);
                    self.network.replug(far, to);
                    self.set_cable(binding.cable, true);
                }
            }
        }
    }

    /// Ends the process of a switch: what it held is gone, and so is its connection.
    fn kill(&mut self, switch: usize) {
        for frame in self.switches[switch].crash() {
            self.network.frames.release(frame);
        }
        self.cut_lines(switch);
        self.disconnect(switch);
    }

    /// Lets a cable take bits more slowly than its ends say.
    fn slow_link(&mut self, cable: u32, by_thousandths: u32) {
        for End { node, port } in self.network.cable(cable).ends() {
            match node {
                Node::Switch(switch) => self.switches[switch].slow_port(port, by_thousandths),
                Node::Host(host) => {
                    let interface = &mut self.hosts[host].interface;
                    interface.rate = slower(interface.nominal, by_thousandths);
                }
            }
        }
    }

    /// Tells a switch which of its ports nothing is plugged into.
    pub(super) fn unplug_spare_ports(&mut self, switch: usize) {
        for port in self
            .network
            .spare_ports(switch, self.switches[switch].ports())
        {
            if let Some(core) = &mut self.switches[switch].core {
                core.handle(
                    self.now,
                    switch::Input::Port {
                        port,
                        link: switch::Link::Down,
                    },
                );
            }
        }
        self.drain_switch(switch);
    }

    pub(super) fn set_cables_of(&mut self, switch: usize, whole: bool) {
        let bindings: Vec<_> = self.network.plugs_of_switch(switch).collect();
        for binding in bindings {
            self.set_cable(binding.cable, whole);
        }
    }

    /// Breaks or mends a cable; the switches at its ends notice a little later.
    pub(super) fn set_cable(&mut self, cable: u32, whole: bool) {
        if !self.network.cable(cable).set_whole(whole) {
            return;
        }
        for end in 0..2 {
            let binding = PortBinding { cable, end };
            let own = match (whole, self.network.end(binding).node) {
                (false, Node::Switch(switch)) => self.switches[switch].notices_loss(),
                (true, Node::Switch(_)) | (_, Node::Host(_)) => None,
            };
            let noticed = self.now + own.unwrap_or(self.carrier_detection);
            self.network
                .calendar
                .schedule(noticed, Event::Carrier { binding });
        }
    }
}

/// Returns what somebody says who deletes all entries.
fn deletion() -> Vec<u8> {
    let mut said = Vec::new();
    Hello::OURS.emit(TransactionId(0), &mut said);
    FlowMod::delete(TableId::ALL).emit(TransactionId(0), &mut said);
    said
}
