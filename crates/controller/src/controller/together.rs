//! Requirements that are decided together: all are met or none, or nothing is done
//! and only the answer given.

use calculus::admission::Chosen;

use crate::northbound::{Decision, FlowId, MAX_WAITING, Reply, RequestId, Requirement};
use crate::refusal::Refusal;
use crate::store::{Key, StoreWrite};

use super::requests::Bond;
use super::{Context, ModeDesk, Network, Owners, Promises};

impl Promises {
    /// Admits all of these flows, or none of them.
    pub fn admit_together(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        modes: &ModeDesk,
        id: RequestId,
        requirements: Vec<Requirement>,
    ) {
        if !self.has_room_for(requirements.len()) {
            ctx.outbox.reply(id, Reply::Busy);
            return;
        }
        let names: Vec<String> = requirements.iter().map(|one| one.name.clone()).collect();
        let chosen = self.reservations.chosen();
        let reserved = self.reserve_each(ctx, network, modes, requirements);
        let failed = reserved.iter().position(Result::is_err);
        let Some(failed) = failed else {
            let flows: Vec<FlowId> = reserved.into_iter().flatten().collect();
            self.follow_budgets(ctx, &mut network.owners);
            self.keep_together(ctx, &network.owners, id, &flows);
            return;
        };
        self.take_back(
            &mut network.owners,
            reserved.iter().flatten().copied(),
            &chosen,
        );
        let with = names[failed].clone();
        let decisions = names.into_iter().zip(reserved).map(|(name, reserved)| {
            let reason = match reserved {
                Ok(_) => Refusal::Together { with: with.clone() },
                Err(reason) => reason,
            };
            Decision::Refused { name, reason }
        });
        let reply = Reply::Decisions(decisions.collect());
        ctx.outbox.reply(id, reply);
    }

    /// Answers what would be decided about these flows, one after the other, and
    /// leaves everything as it is.
    pub fn what_if(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        modes: &ModeDesk,
        id: RequestId,
        requirements: Vec<Requirement>,
    ) {
        if !self.has_room_for(requirements.len()) {
            ctx.outbox.reply(id, Reply::Busy);
            return;
        }
        let names: Vec<String> = requirements.iter().map(|one| one.name.clone()).collect();
        let chosen = self.reservations.chosen();
        let reserved = self.reserve_each(ctx, network, modes, requirements);
        let decide = |(name, reserved): (String, &Result<FlowId, Refusal>)| match reserved {
            Ok(flow) => {
                let flow = network.owners.flows.get(*flow)?;
                Some(Decision::Accepted(Self::accepted(ctx, flow)))
            }
            Err(reason) => Some(Decision::Refused {
                name,
                reason: reason.clone(),
            }),
        };
        let decisions = names.into_iter().zip(&reserved).filter_map(decide);
        let reply = Reply::Decisions(decisions.collect());
        self.take_back(
            &mut network.owners,
            reserved.iter().flatten().copied(),
            &chosen,
        );
        ctx.outbox.reply(id, reply);
    }

    /// Reserves what these flows require, one after the other, as far as that can
    /// be. The store knows nothing of it yet.
    fn reserve_each(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        modes: &ModeDesk,
        requirements: Vec<Requirement>,
    ) -> Vec<Result<FlowId, Refusal>> {
        let mut reserved = Vec::with_capacity(requirements.len());
        for requirement in requirements {
            reserved.push(self.reserve_flow(ctx, network, modes, requirement));
        }
        reserved
    }

    /// Gives back what was reserved for flows that the store does not know, and the
    /// budgets that were chosen for them.
    fn take_back(
        &mut self,
        owners: &mut Owners,
        flows: impl Iterator<Item = FlowId>,
        chosen: &Chosen,
    ) {
        for flow in flows {
            if let Some(flow) = owners.flows.remove(flow) {
                self.give_back(&flow);
            }
        }
        self.reservations.choose_again(chosen);
    }

    /// Asks the store to keep flows of which none is to be in force without the
    /// others.
    fn keep_together(
        &mut self,
        ctx: &mut Context,
        owners: &Owners,
        id: RequestId,
        flows: &[FlowId],
    ) {
        if flows.is_empty() {
            ctx.outbox.reply(id, Reply::Decisions(Vec::new()));
            return;
        }
        self.desk.wait_for(id, Bond::Together, flows);
        for flow in flows {
            owners.propose(ctx, *flow);
        }
    }

    /// Ends the flows that the store has kept of a request of which it could not
    /// keep all.
    pub fn undo(ctx: &mut Context, decisions: &[Decision]) {
        for decision in decisions {
            if let Decision::Accepted(accepted) = decision {
                ctx.outbox.store(StoreWrite {
                    key: Key::Admission(accepted.id.0),
                    value: None,
                });
            }
        }
    }

    pub fn has_room_for(&self, requirements: usize) -> bool {
        self.desk.proposed() + requirements <= MAX_WAITING
    }
}
