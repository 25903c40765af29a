//! What happens to flows when a host moves.
//!
//! The flows from and to the host are decided upon anew, from its new port. What
//! can be kept is proposed to the store like any admission, under the number it
//! has, and replaces the old one when it is stored. What cannot be kept loses its
//! promise and goes nowhere until the host moves to where it can. Where budgets are
//! fitted, what the flow had reserved before is counted until its last frames play no
//! role any more (`leaving`), and who has no room beside that waits for it.

use std::collections::BTreeMap;

use crate::desired::EntryOwner;
use crate::flows::Way;
use crate::northbound::{Event, FlowId};
use crate::record::Admission;
use crate::store::{Key, StoreWrite};

use super::Controller;
use super::requests::is_admitted;

impl Controller {
    /// Decides anew upon the flows of a host that has moved.
    pub(super) fn host_moved(&mut self, name: &str) {
        let concerned = self.owners.flows.iter().filter(|flow| {
            let requirement = &flow.admission.requirement;
            let mut destinations = requirement.destinations.iter();
            is_admitted(flow)
                && (requirement.source == name || destinations.any(|other| other == name))
        });
        let concerned: Vec<FlowId> = concerned.map(|flow| flow.id).collect();
        for id in &concerned {
            self.release(*id);
        }
        for id in concerned {
            self.let_go(id);
            self.decide_anew(id);
        }
        self.follow_budgets();
    }

    /// Takes the promise of a flow back, so that it does not stand in its own
    /// way for longer than its frames do.
    fn release(&mut self, id: FlowId) {
        self.wait_no_more(id);
        self.keep_leaving(id);
        if let Some(flow) = self.owners.flows.get(id).cloned() {
            self.leave(&flow);
        }
        if let Some(flow) = self.owners.flows.get_mut(id) {
            flow.reservation = None;
        }
        self.ctx.promises_changed();
    }

    pub(super) fn decide_anew(&mut self, id: FlowId) {
        let Some(flow) = self.owners.flows.get(id) else {
            return;
        };
        let requirement = flow.admission.requirement.clone();
        match self.decide(id, requirement) {
            Ok((admission, reservation)) => {
                self.promises.desk.hold(id, reservation);
                self.ctx.outbox.store(StoreWrite {
                    key: Key::Admission(id.0),
                    value: Some(admission.to_bytes()),
                });
            }
            Err(_) => {
                self.wait_for_room(id);
                self.change_way(id, Way::Nowhere);
            }
        }
    }

    /// Puts a new admission in the place of the one that a flow has.
    pub(super) fn replace(&mut self, id: FlowId, admission: Admission) {
        self.record(id);
        let Some(old) = self.owners.flows.remove(id) else {
            return;
        };
        self.tables.moves.take(EntryOwner::Flow(id));
        // What is held for it was found beside what it has.
        match self.promises.desk.held(id) {
            Some(held) => {
                self.promises.reservations.release(held);
                self.is_moving(&old);
            }
            None => self.give_back(&old),
        }
        self.adopt(id, admission);
        self.owners.flows.set_admitted(id);
        self.exchange_entries(id);
        self.ctx.promises_changed();
        let name = self.name_of_flow(id);
        self.ctx.outbox.notify(Event::Readmitted { flow: id, name });
    }

    /// Gives back what is held for a flow until the store has kept its new
    /// admission.
    pub(super) fn let_go(&mut self, id: FlowId) {
        if let Some(reservation) = self.promises.desk.held(id) {
            self.promises.reservations.release(reservation);
        }
    }

    /// Replaces the entries that a flow had by those of its new admission.
    fn exchange_entries(&mut self, id: FlowId) {
        let Some(flow) = self.owners.flows.get(id) else {
            return;
        };
        let way = self.best_way(flow);
        self.owners.flows.set_way(id, way.clone());
        if let Some(part) = self.plan_way(id, way) {
            self.begin_move(BTreeMap::from([(EntryOwner::Flow(id), part)]));
        }
    }
}
