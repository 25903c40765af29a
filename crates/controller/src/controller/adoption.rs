//! Entries of reactive forwarding that switches had before they connected are taken over,
//! not deleted: frames go on while a controller is started anew.
//!
//! A switch is asked for them when the network has been found, as nobody knows before
//! which ports lead to other switches. Until then they stay as they are. When all have
//! answered, what does not lead along the tree of floods is deleted.

use wire::openflow::DatapathId;

use super::context::Memory;
use super::reconciliation::Task;
use super::{Context, Network};

impl Network {
    /// Asks the switches that were not asked yet, once the network has been found; and
    /// goes through what they said when all have.
    pub fn adopt_entries(&mut self, ctx: &mut Context) {
        if ctx.memory == Memory::Incomplete || ctx.is_settling() {
            return;
        }
        let Some(forwarding) = &mut self.owners.forwarding else {
            return;
        };
        let ready: Vec<_> = ctx.sessions.ready().collect();
        let sessions = ready
            .iter()
            .filter_map(|(datapath, slot)| Some((*datapath, ctx.sessions.get(*slot)?.connection)));
        let connected: Vec<_> = sessions.collect();
        let unasked = connected
            .iter()
            .filter(|(_, owner)| forwarding.take_unasked(*owner));
        let unasked: Vec<DatapathId> = unasked.map(|(datapath, _)| *datapath).collect();
        for (datapath, deletion) in forwarding.sift(&self.topology.view, &connected) {
            if let Some(slot) = ctx.sessions.of_switch(datapath) {
                deletion.emit(ctx.outbox.to(slot));
            }
        }
        for datapath in unasked {
            self.tables
                .want_task(ctx, &self.owners, datapath, Task::Adopt);
        }
    }
}
