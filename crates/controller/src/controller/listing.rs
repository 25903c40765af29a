//! What is told of flows and of the whole when somebody asks.

use std::sync::Arc;

use crate::desired::{EntryOwner, Outcome};
use crate::flows::Flow;
use crate::neighbour_sessions;
use crate::northbound::{
    self, Accepted, Alternative, Cover, FlowId, FlowSummary, PromisedFlow, Protection, Reply,
};

use super::{Context, Network, Owners, Promises};

impl Promises {
    /// Lists the flows with numbers above `after`, at most so many.
    pub fn list_flows(ctx: &Context, network: &Network, after: FlowId, most: usize) -> Reply {
        let flows = network.owners.flows.after(after);
        let admitted = flows.filter(|flow| flow.is_admitted());
        Reply::Flows(
            admitted
                .take(most)
                .map(|flow| Self::summary(ctx, network, flow))
                .collect(),
        )
    }

    pub fn show_flow(ctx: &Context, network: &Network, name: String) -> Reply {
        let flows = &network.owners.flows;
        let known = flows.by_name(&name).and_then(|id| flows.get(id));
        match known.filter(|flow| flow.is_admitted()) {
            Some(flow) => Reply::Flows(vec![Self::summary(ctx, network, flow)]),
            None => Reply::UnknownFlow(name),
        }
    }

    pub fn summary(ctx: &Context, network: &Network, flow: &Flow) -> FlowSummary {
        FlowSummary {
            requirement: flow.admission.requirement.clone(),
            accepted: Self::accepted(ctx, flow),
            travels: flow.travels(),
            promise: Self::promise_now(ctx, network, flow),
            installed: network.tables.outcome(EntryOwner::Flow(flow.id))
                == Some(Outcome::Confirmed),
            disputes: network.topology.disputes(ctx, &flow.admission.requirement),
        }
    }

    pub fn promises(&self, owners: &Owners) -> northbound::Promises {
        let admitted = owners.flows.iter().filter(|flow| flow.is_admitted());
        let flows = admitted.filter_map(|flow| {
            let (reservation, guarantee) = (flow.reservation?, flow.admission.guarantee?);
            Some(PromisedFlow {
                id: flow.id,
                name: flow.admission.requirement.name.clone(),
                reservation,
                guarantee,
                at_levels: self.reservations.guarantees(
                    reservation,
                    &flow.admission.requirement,
                    guarantee,
                ),
            })
        });
        let (ledger, places, failures) = self.reservations.copy();
        northbound::Promises {
            ledger,
            levels: self.reservations.copy_levels(),
            places,
            failures,
            flows: flows.collect(),
        }
    }

    pub fn accepted(ctx: &Context, flow: &Flow) -> Accepted {
        let admission = &flow.admission;
        let ways = &admission.ways;
        let (route, alternatives) = ways.routes.get_or_init(|| {
            let alternatives = ways.alternatives.iter();
            let routes = alternatives.map(|(without, tree)| Alternative {
                without: *without,
                route: ctx.route(tree),
            });
            (Arc::new(ctx.route(&ways.base)), Arc::new(routes.collect()))
        });
        Accepted {
            id: flow.id,
            name: admission.requirement.name.clone(),
            guarantee: admission.guarantee,
            route: Arc::clone(route),
            alternatives: Arc::clone(alternatives),
            cover: Self::cover(ctx, flow),
            enforced: flow.rule.contract().is_some(),
        }
    }

    /// Returns which failures the promised interruption of a flow covers.
    fn cover(ctx: &Context, flow: &Flow) -> Option<Cover> {
        flow.admission.guarantee?;
        let protection = flow.admission.requirement.protection;
        if matches!(protection, Protection::Seamless { .. }) {
            return Some(Cover::Any);
        }
        let (interruption, _) = protection.interruption()?;
        let by_switches = neighbour_sessions::cover_of(protection);
        Some(by_switches.unwrap_or_else(|| ctx.timers.cover(interruption)))
    }
}
