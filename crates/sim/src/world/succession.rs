//! A controller that goes, and one that comes after it.

use controller::store::{MemoryStore, Store, StoreEvent};
use controller::{Config, Controller, Input};

use super::World;
use super::control::CONNECTION;

impl World {
    /// Ends the controller as a crash does: what has not arrived of what it sent never does,
    /// and its connections are gone. The switches connect anew, now to whoever holds the
    /// world, who may [`tell`](Self::tell) them something.
    pub fn kill_controller(&mut self) {
        self.controller = None;
        self.controller_wake_up = None;
        self.connect_all_anew();
    }

    /// Starts a controller, the first or another one, with what the store has kept. The
    /// switches connect anew, to it.
    pub fn start_controller(&mut self, config: Config) {
        let mut controller = Controller::new(self.now, config);
        let Ok(snapshot) = self.store.snapshot();
        for record in snapshot.records {
            let written = StoreEvent::Written(record.into());
            controller.handle(self.now, Input::Stored(written));
        }
        controller.handle(self.now, Input::Stored(StoreEvent::Replayed));
        self.controller = Some(controller);
        self.controller_wake_up = None;
        self.connect_all_anew();
        self.drain_controller();
    }

    /// Loses all that the store has kept.
    pub fn lose_store(&mut self) {
        self.store = MemoryStore::default();
    }

    fn connect_all_anew(&mut self) {
        for switch in 0..self.switches.len() {
            let node = &mut self.switches[switch];
            node.generation += 1;
            if let Some(core) = &mut node.core {
                core.handle(self.now, switch::Input::Disconnected(CONNECTION));
                self.drain_switch(switch);
                self.connect(switch);
            }
        }
    }
}
