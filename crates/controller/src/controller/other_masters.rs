//! What is done where another controller is master: nothing, and that is said.

use wire::openflow::{DatapathId, Role, RoleMessage};

use crate::mastery::QUESTION;
use crate::northbound::Event;
use crate::session::Slot;

use super::{Context, Controller, Southbound, Topology};

impl Southbound {
    /// Takes in that another controller is the master of a switch.
    pub(super) fn other_master(
        &mut self,
        ctx: &mut Context,
        topology: &mut Topology,
        datapath: DatapathId,
    ) {
        self.claim.has_lost = true;
        ctx.promises_changed();
        if topology.others.insert(datapath) {
            let name = ctx.name_of_switch(datapath);
            ctx.outbox.notify(Event::OtherMaster { datapath, name });
        }
    }

    /// Asks the switches that have us as their master whether that is so yet: nobody tells
    /// who is none any more.
    pub(super) fn ask_for_roles(&self, ctx: &mut Context) {
        let ready = ctx.sessions.ready();
        let masters = ready.filter(|(_, slot)| {
            let session = ctx.sessions.get(*slot);
            session.is_some_and(|session| session.is_master)
        });
        let masters: Vec<Slot> = masters.map(|(_, slot)| slot).collect();
        for slot in masters {
            let transaction = wire::openflow::TransactionId(0);
            QUESTION.emit_request(transaction, ctx.outbox.to(slot));
        }
    }
}

impl Controller {
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
        self.southbound
            .other_master(&mut self.ctx, &mut self.network.topology, datapath);
    }
}
