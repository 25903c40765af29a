//! A network without a controller: whoever holds the world speaks with its switches.

use switch::Switch;
use units::Instant;
use wire::openflow::PortNumber;

use super::World;
use crate::message_watch::MessageWatch;
use crate::modes::signal_faults::SignalFaults;
use crate::network::{Channel, Towards};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// When it arrived where a controller would be.
    pub at: Instant,
    pub switch: usize,
    /// A piece of what it says: whole messages, as its agent sends them.
    pub bytes: Vec<u8>,
}

/// A frame that came to a host which [listens](World::listen).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overheard {
    pub at: Instant,
    pub host: usize,
    pub bytes: Vec<u8>,
}

impl World {
    /// Keeps every frame that comes to a host from now on.
    pub fn listen(&mut self, host: usize) {
        self.listening.insert(host);
    }

    /// Takes the frames that came to hosts which listen since the last call.
    pub fn overheard(&mut self) -> Vec<Overheard> {
        std::mem::take(&mut self.overheard)
    }

    /// Sends messages to a switch over its control connection; they leave at `at`, and
    /// not before those that were sent to it already. Returns when the last of them takes
    /// effect.
    pub fn tell(&mut self, at: Instant, switch: usize, bytes: &[u8]) -> Instant {
        let network = &mut self.network;
        let arrives = at.max(self.now) + network.control_delay();
        let node = &mut self.switches[switch];
        let channel = Channel {
            switch: super::number(switch),
            generation: node.generation,
        };
        let mut last = arrives;
        node.pace.receive(arrives, bytes, |at, bytes| {
            network.control_at(at, channel, Towards::Switch, bytes);
            last = at;
        });
        last
    }

    /// Takes what switches said since the last call.
    pub fn told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    /// Runs until a switch has said something, or until `until`.
    pub fn run_until_told(&mut self, until: Instant) -> Vec<Told> {
        while self.told.is_empty() && self.step(until) {}
        if self.told.is_empty() {
            self.now = self.now.max(until);
        }
        self.told()
    }

    /// Keeps what the controller says to switches from now on.
    pub fn keep_orders(&mut self) {
        self.orders = Some(Vec::new());
    }

    /// Takes what the controller has said to switches since the last call, if that is kept:
    /// when it left, to which switch, and whole messages.
    pub fn orders(&mut self) -> Vec<Told> {
        self.orders.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Says what becomes of the signals on a cable.
    pub fn disturb(&mut self, link: usize, whims: SignalFaults) {
        self.network.disturb(link, whims);
    }

    /// Takes down from now on when messages leave and arrive.
    pub fn watch(&mut self) {
        self.watch = Some(MessageWatch::default());
    }

    /// Returns what was taken down of messages.
    #[must_use]
    pub fn watched(&self) -> Option<&MessageWatch> {
        self.watch.as_ref()
    }

    /// Returns the core of a switch, unless it has crashed.
    #[must_use]
    pub fn switch(&self, switch: usize) -> Option<&Switch> {
        self.switches[switch].core.as_ref()
    }

    /// Lets somebody beside the controller say something to a switch, over a connection of
    /// his own. What he is answered nobody hears.
    pub fn meddle(&mut self, switch: usize, bytes: &[u8]) {
        self.strangers += 1;
        let connection = switch::ConnectionId(self.strangers);
        if let Some(core) = &mut self.switches[switch].core {
            let peer = switch::Peer::Management;
            core.handle(self.now, switch::Input::Connected { connection, peer });
            core.handle(self.now, switch::Input::Received { connection, bytes });
        }
        self.drain_switch(switch);
    }

    /// Lets a frame arrive at a port of a switch, as if whoever is at its other end had
    /// sent it.
    pub fn inject(&mut self, switch: usize, port: PortNumber, bytes: &[u8]) {
        let node = &mut self.switches[switch];
        if let Some(core) = &mut node.core {
            core.handle(self.now, node.engine.input(port, bytes, self.now));
        }
        self.drain_switch(switch);
    }
}
