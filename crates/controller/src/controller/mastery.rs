//! What is done where another controller is master: nothing, and that is said.

use wire::openflow::{DatapathId, Role, RoleMessage};

use crate::mastery::QUESTION;
use crate::northbound::Event;
use crate::session::Slot;

use super::Controller;

impl Controller {
    /// Takes in that another controller is the master of a switch.
    pub(super) fn other_master(&mut self, datapath: DatapathId) {
        self.southbound.claim.has_lost = true;
        self.ctx.promises_changed();
        if self.topology.others.insert(datapath) {
            let name = self.name_of_switch(datapath);
            self.ctx
                .outbox
                .notify(Event::OtherMaster { datapath, name });
        }
    }

    /// Asks the switches that have us as their master whether that is so yet: nobody tells
    /// who is none any more.
    pub(super) fn ask_for_roles(&mut self) {
        let ready = self.ctx.sessions.ready();
        let masters = ready.filter(|(_, slot)| {
            let session = self.ctx.sessions.get(*slot);
            session.is_some_and(|session| session.is_master)
        });
        let masters: Vec<Slot> = masters.map(|(_, slot)| slot).collect();
        for slot in masters {
            let transaction = wire::openflow::TransactionId(0);
            QUESTION.emit_request(transaction, self.ctx.outbox.to(slot));
        }
    }

    /// Takes what a switch says of our role.
    pub(super) fn role_said(&mut self, slot: Slot, datapath: DatapathId, said: RoleMessage) {
        let session = self.ctx.sessions.get(slot);
        let was_master = session.is_some_and(|session| session.is_master);
        match said.role {
            Role::Master => {}
            Role::NoChange | Role::Equal | Role::Slave if was_master => {
                self.leave_to_other(slot, datapath);
            }
            Role::NoChange | Role::Equal | Role::Slave => {}
        }
    }

    /// Leaves a switch to the controller that has become its master. Its connection stays,
    /// and nothing is written over it.
    pub(super) fn leave_to_other(&mut self, slot: Slot, datapath: DatapathId) {
        self.ctx.outbox.discard(slot);
        self.ctx.sessions.give_up(slot);
        self.switch_lost(slot, datapath);
        self.other_master(datapath);
    }
}
