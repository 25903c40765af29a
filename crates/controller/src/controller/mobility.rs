//! What happens to flows when a host moves.
//!
//! The flows from and to the host are decided upon anew, from its new port. What
//! can be kept is proposed to the store like any admission, under the number it
//! has, and replaces the old one when it is stored. What cannot be kept loses its
//! promise and goes nowhere until the host moves to where it can. Where budgets are
//! fitted, what the flow had reserved before is counted until its last frames play no
//! role any more (`leaving`), and who has no room beside that waits for it.

use crate::desired::EntryOwner;
use crate::flows::Way;
use crate::northbound::{Event, FlowId};
use crate::record::Admission;
use crate::store::{Key, StoreWrite};

use super::{Context, ModeDesk, Network, Owners, Promises};

impl Promises {
    /// Decides anew upon the flows of a host that has moved.
    pub fn host_moved(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        modes: &ModeDesk,
        name: &str,
    ) {
        let concerned = network.owners.flows.iter().filter(|flow| {
            let requirement = &flow.admission.requirement;
            let mut destinations = requirement.destinations.iter();
            flow.is_admitted()
                && (requirement.source == name || destinations.any(|other| other == name))
        });
        let concerned: Vec<FlowId> = concerned.map(|flow| flow.id).collect();
        for id in &concerned {
            self.release(ctx, &mut network.owners, *id);
        }
        for id in concerned {
            self.let_go(id);
            self.decide_anew(ctx, network, modes, id);
        }
        self.follow_budgets(ctx, &mut network.owners);
    }

    /// Takes the promise of a flow back, so that it does not stand in its own
    /// way for longer than its frames do.
    fn release(&mut self, ctx: &mut Context, owners: &mut Owners, id: FlowId) {
        owners.wait_no_more(id);
        self.keep_leaving(ctx, owners, id);
        if let Some(flow) = owners.flows.get(id).cloned() {
            self.leave(ctx, owners, &flow);
        }
        if let Some(flow) = owners.flows.get_mut(id) {
            flow.reservation = None;
        }
        ctx.promises_changed();
    }

    pub fn decide_anew(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        modes: &ModeDesk,
        id: FlowId,
    ) {
        let Some(flow) = network.owners.flows.get(id) else {
            return;
        };
        let requirement = flow.admission.requirement.clone();
        match self.decide(ctx, network, modes, id, requirement) {
            Ok((admission, reservation)) => {
                self.desk.hold(id, reservation);
                ctx.outbox.store(StoreWrite {
                    key: Key::Admission(id.0),
                    value: Some(admission.to_bytes()),
                });
            }
            Err(_) => {
                network.owners.wait_for_room(id);
                network.owners.change_way(ctx, id, Way::Nowhere);
            }
        }
    }

    /// Puts a new admission in the place of the one that a flow has.
    pub fn replace(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        id: FlowId,
        admission: Admission,
    ) {
        network.tables.record(&network.owners, id);
        let Some(old) = network.owners.flows.remove(id) else {
            return;
        };
        network.tables.moves.take(EntryOwner::Flow(id));
        // What is held for it was found beside what it has.
        match self.desk.held(id) {
            Some(held) => {
                self.reservations.release(held);
                network.owners.is_moving(&old);
            }
            None => self.give_back(&old),
        }
        self.adopt(ctx, network, id, admission);
        if let Some(flow) = network.owners.flows.get_mut(id) {
            flow.promise = old.promise;
        }
        network.owners.flows.set_admitted(id);
        network.exchange_entries(ctx, id);
        ctx.promises_changed();
        let name = network.owners.name_of_flow(id);
        ctx.outbox.notify(Event::Readmitted { flow: id, name });
    }

    /// Gives back what is held for a flow until the store has kept its new
    /// admission.
    pub fn let_go(&mut self, id: FlowId) {
        if let Some(reservation) = self.desk.held(id) {
            self.reservations.release(reservation);
        }
    }
}
