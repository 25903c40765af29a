//! What goes on between the switches and the controller, and what the controller
//! does.

use controller::northbound::{Said, Saying};
use controller::store::{Outcome, Store, StoreEvent};

use super::{Told, World, number};
use crate::chunks::ChunkId;
use crate::network::{Channel, Event, Towards};

impl World {
    /// Begins a control connection; it stands once it has gone there and back.
    pub(super) fn connect(&mut self, switch: usize) {
        let node = &mut self.switches[switch];
        let channel = Channel {
            switch: number(switch),
            generation: node.generation,
        };
        let at = self.now + self.network.control_delay() * 2u64;
        self.network
            .calendar
            .schedule(at, Event::Connect { channel });
    }

    pub(super) fn connected(&mut self, channel: Channel) {
        let switch = channel.switch as usize;
        let node = &mut self.switches[switch];
        if node.generation != channel.generation || node.is_isolated {
            return;
        }
        let Some(core) = &mut node.core else { return };
        let connected = switch::Input::Connected {
            connection: CONNECTION,
            peer: switch::Peer::Controller,
        };
        core.handle(self.now, connected);
        let connection = connection_of(channel);
        if let Some(controller) = &mut self.controller {
            controller.handle(self.now, controller::Input::Connected(connection));
        }
        self.drain_switch(switch);
        self.drain_controller();
    }

    /// Ends the control connection of a switch at the controller's end.
    pub(super) fn disconnect(&mut self, switch: usize) {
        let node = &mut self.switches[switch];
        let channel = Channel {
            switch: number(switch),
            generation: node.generation,
        };
        node.generation += 1;
        let connection = connection_of(channel);
        if let Some(controller) = &mut self.controller {
            controller.handle(self.now, controller::Input::Disconnected(connection));
        }
        self.drain_controller();
    }

    /// Lets a switch connect again whose control connection carried nothing.
    pub(super) fn rejoin(&mut self, switch: usize) {
        if !std::mem::take(&mut self.switches[switch].is_isolated) {
            return;
        }
        self.disconnect(switch);
        if let Some(core) = &mut self.switches[switch].core {
            core.handle(self.now, switch::Input::Disconnected(CONNECTION));
            self.drain_switch(switch);
            self.connect(switch);
        }
    }

    pub(super) fn take_control(&mut self, channel: Channel, towards: Towards, chunk: ChunkId) {
        let switch = channel.switch as usize;
        let connection = connection_of(channel);
        let node = &mut self.switches[switch];
        let stands = node.generation == channel.generation && !node.is_isolated;
        let (now, controller, told) = (self.now, &mut self.controller, &mut self.told);
        self.network
            .chunks
            .take(chunk, |bytes| match (towards, &mut node.core) {
                (Towards::Switch, Some(core)) if stands => {
                    core.handle(
                        now,
                        switch::Input::Received {
                            connection: CONNECTION,
                            bytes,
                        },
                    );
                }
                (Towards::Controller, _) if stands => match controller {
                    Some(controller) => {
                        controller.handle(now, controller::Input::Received { connection, bytes });
                    }
                    None => told.push(Told {
                        at: now,
                        switch,
                        bytes: bytes.to_vec(),
                    }),
                },
                (Towards::Switch | Towards::Controller, _) => {}
            });
        match towards {
            Towards::Switch => self.drain_switch(switch),
            Towards::Controller => self.drain_controller(),
        }
    }

    pub(super) fn wake_controller(&mut self) {
        if self.controller_wake_up.is_none_or(|at| at > self.now) {
            return;
        }
        self.controller_wake_up = None;
        if let Some(controller) = &mut self.controller
            && controller.deadline() <= self.now
        {
            controller.handle(self.now, controller::Input::Timeout);
        }
        self.drain_controller();
    }

    /// Does what the controller asks for, until it asks for nothing more.
    pub(super) fn drain_controller(&mut self) {
        let Some(controller) = &mut self.controller else {
            return;
        };
        let mut writes = Vec::new();
        let mut closed = Vec::new();
        loop {
            while let Some(output) = controller.poll() {
                match output {
                    controller::Output::Send { connection, bytes } => {
                        let channel = channel_of(connection);
                        let network = &mut self.network;
                        let arrives = self.now + network.control_delay();
                        if let Some(orders) = &mut self.orders {
                            orders.push(Told {
                                at: self.now,
                                switch: channel.switch as usize,
                                bytes: bytes.to_vec(),
                            });
                        }
                        let node = &mut self.switches[channel.switch as usize];
                        node.pace.receive(arrives, bytes, |at, bytes| {
                            network.control_at(at, channel, Towards::Switch, bytes);
                        });
                    }
                    controller::Output::Close { connection, .. } => closed.push(connection),
                    controller::Output::Store(write) => writes.push(write),
                    controller::Output::Notify(event) => {
                        self.said.push(Said {
                            at: self.now,
                            what: Saying::Notice(event),
                        });
                    }
                    controller::Output::Reply { id, reply } => {
                        self.said.push(Said {
                            at: self.now,
                            what: Saying::Reply(id, reply),
                        });
                    }
                }
            }
            if writes.is_empty() {
                break;
            }
            let kept = self.store.write(&writes);
            assert!(matches!(kept, Outcome::Committed(_)), "{kept:?}");
            for write in writes.drain(..) {
                let event = StoreEvent::Written(write);
                controller.handle(self.now, controller::Input::Stored(event));
            }
        }
        let at = controller.deadline();
        if self.controller_wake_up.is_none_or(|planned| at < planned) {
            self.controller_wake_up = Some(at);
            self.network.calendar.schedule(at, Event::ControllerWakeUp);
        }
        for connection in closed {
            self.closed_by_controller(channel_of(connection));
        }
    }

    pub(super) fn closed_by_controller(&mut self, channel: Channel) {
        let switch = channel.switch as usize;
        let node = &mut self.switches[switch];
        if node.generation != channel.generation {
            return;
        }
        node.generation += 1;
        if let Some(core) = &mut node.core {
            core.handle(self.now, switch::Input::Disconnected(CONNECTION));
        }
        self.drain_switch(switch);
        self.connect(switch);
    }
}

/// The one control connection that a simulated switch has.
pub(super) const CONNECTION: switch::ConnectionId = switch::ConnectionId(0);

/// Returns the name of a control connection at the controller's end.
fn connection_of(channel: Channel) -> controller::ConnectionId {
    controller::ConnectionId(u64::from(channel.generation) << u32::BITS | u64::from(channel.switch))
}

fn channel_of(connection: controller::ConnectionId) -> Channel {
    let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).expect("32 bits");
    Channel {
        switch: half(connection.0),
        generation: half(connection.0 >> u32::BITS),
    }
}
