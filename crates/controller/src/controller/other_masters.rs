//! What is done where another controller is master: nothing, and that is said.

use wire::openflow::{DatapathId, Role, RoleMessage};

use crate::session::Slot;

use crate::mastery::Standing;
use crate::store::Epoch;

use super::Controller;
use super::context::Context;

impl Controller {
    /// Becomes the one that decides, at all switches.
    pub(super) fn lead(&mut self, epoch: Epoch) {
        self.southbound.standing = Standing::Leads(epoch);
        self.southbound.later_term = None;
        let Context {
            now,
            sessions,
            outbox,
            ..
        } = &mut self.ctx;
        sessions.lead(*now, epoch, |slot, words| {
            outbox.to(slot).extend_from_slice(words);
        });
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
        self.southbound
            .other_master(&mut self.ctx, &mut self.network.topology, datapath);
    }
}
