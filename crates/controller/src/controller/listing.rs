//! What is told of flows and of the whole when somebody asks.

use std::sync::Arc;

use wire::openflow::multipart::{FlowStatistics, MultipartReply, MultipartRequest, RequestBody};
use wire::openflow::{DatapathId, PortNumber, TransactionId};

use crate::audit::Scope;
use crate::desired::{EntryOwner, Form, Outcome};
use crate::flows::Flow;
use crate::northbound::{
    self, Accepted, Alternative, Asker, Cover, FlowId, FlowSummary, Permission, PromisedFlow,
    Protection, Reply, RequestId, Route, Statistics, SwitchStatistics,
};
use crate::path::Tree;
use crate::session::Slot;
use crate::telemetry::MAX_ENTRIES;
use crate::view::{Carrier, Control};

use super::requests::is_admitted;
use super::{Context, Network, Owners, Promises, Southbound, Tables, Topology};

impl Promises {
    /// Lists the flows with numbers above `after`, at most so many.
    pub(super) fn list_flows(
        &self,
        ctx: &Context,
        network: &Network,
        after: FlowId,
        most: usize,
    ) -> Reply {
        let flows = network.owners.flows.after(after);
        let admitted = flows.filter(|flow| is_admitted(flow));
        Reply::Flows(
            admitted
                .take(most)
                .map(|flow| self.summary(ctx, network, flow))
                .collect(),
        )
    }

    pub(super) fn show_flow(
        &self,
        ctx: &mut Context,
        network: &Network,
        id: RequestId,
        name: String,
    ) {
        let known = network
            .owners
            .flows
            .by_name(&name)
            .and_then(|id| network.owners.flows.get(id));
        let reply = match known.filter(|flow| is_admitted(flow)) {
            Some(flow) => Reply::Flows(vec![self.summary(ctx, network, flow)]),
            None => Reply::UnknownFlow(name),
        };
        ctx.outbox.reply(id, reply);
    }

    pub(super) fn summary(&self, ctx: &Context, network: &Network, flow: &Flow) -> FlowSummary {
        FlowSummary {
            requirement: flow.admission.requirement.clone(),
            accepted: self.accepted(ctx, flow),
            travels: flow.travels(),
            promise: self.promise_now(ctx, network, flow),
            installed: network.tables.outcome(EntryOwner::Flow(flow.id))
                == Some(Outcome::Confirmed),
            disputes: network.topology.disputes(ctx, &flow.admission.requirement),
        }
    }

    pub(super) fn promises(&self, owners: &Owners) -> northbound::Promises {
        let admitted = owners.flows.iter().filter(|flow| is_admitted(flow));
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

    pub(super) fn accepted(&self, ctx: &Context, flow: &Flow) -> Accepted {
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
            cover: self.cover(ctx, flow),
        }
    }

    /// Returns which failures the promised interruption of a flow covers.
    fn cover(&self, ctx: &Context, flow: &Flow) -> Option<Cover> {
        flow.admission.guarantee?;
        match flow.admission.requirement.protection {
            Protection::None => None,
            Protection::Restore { interruption, .. } => Some(ctx.timers.cover(interruption)),
        }
    }
}

impl Owners {
    /// Shows the network, without its hosts to whom was not granted to see them.
    pub(super) fn show_view(
        &self,
        ctx: &mut Context,
        topology: &Topology,
        id: RequestId,
        by: &Asker,
    ) {
        let mut view = Box::new(topology.view.clone());
        if !self.applications.is_granted(by, Permission::SeeHosts) {
            view.hide_hosts();
        }
        ctx.outbox.reply(id, Reply::View(view));
    }

    pub(super) fn topology_summary(&self, topology: &Topology) -> northbound::Topology {
        let switches = topology.view.switches().iter();
        let links = topology.view.links().iter();
        let hosts = topology.view.hosts().iter();
        northbound::Topology {
            switches: switches
                .filter(|switch| switch.control == Control::Connected)
                .count(),
            links: links
                .filter(|link| link.carrier == Carrier::Up && !topology.view.is_out_of_sight(link))
                .count(),
            hosts: hosts.filter(|host| host.attachment.is_some()).count(),
            flows: self.flows.iter().filter(|flow| is_admitted(flow)).count(),
        }
    }
}

impl Context {
    pub(super) fn route(&self, tree: &Tree) -> Route {
        let switches = tree.branches.iter();
        Route {
            switches: switches
                .map(|branch| self.name_of_switch(branch.datapath))
                .collect(),
            links: tree.links().collect(),
        }
    }
}

impl Southbound {
    /// Returns what was counted, and asks switches what they have counted since.
    pub(super) fn statistics(&self, ctx: &mut Context, tables: &mut Tables) -> Statistics {
        let mut all = self.punts;
        let mut switches = Vec::new();
        for (_, session) in ctx.sessions.iter() {
            all.add(&session.punts);
            let telemetry = &session.telemetry;
            switches.extend(session.datapath().map(|datapath| SwitchStatistics {
                datapath,
                frames: session.punts.counts().collect(),
                wanted_entries: tables.desired.count(datapath),
                ports: telemetry.ports.said.clone(),
                tables: telemetry.tables.said.clone(),
                flows: telemetry.flows.said.clone(),
            }));
        }
        switches.sort_by_key(|switch| switch.datapath);
        tables.ask_for_counts(ctx);
        Statistics {
            counters: ctx.counters,
            frames: all.counts().collect(),
            switches,
        }
    }
}

impl Tables {
    /// Asks switches what they have counted. Those of version 1.0 are not asked: their
    /// translator knows no such question.
    fn ask_for_counts(&mut self, ctx: &mut Context) {
        let wide: Vec<_> = ctx.sessions.ready().collect();
        for (datapath, slot) in wide {
            let entries = self.desired.count(datapath);
            let is_narrow = ctx.sessions.narrow().contains(&slot);
            let session = ctx.sessions.get_mut(slot).filter(|_| !is_narrow);
            let Some(session) = session else {
                continue;
            };
            let telemetry = &mut session.telemetry;
            if !telemetry.is_due(ctx.now) {
                continue;
            }
            let out = ctx.outbox.to(slot);
            let mut ask = |question| {
                let transaction = self.confirmations.transaction();
                MultipartRequest::new(question).emit(transaction, out);
                transaction
            };
            let ports = ask(RequestBody::PortStatistics(PortNumber::ANY));
            telemetry.ports.expect(ports);
            telemetry.tables.expect(ask(RequestBody::Table));
            if entries <= MAX_ENTRIES {
                let ours = ask(RequestBody::Flow(Scope::Ours.question()));
                telemetry.flows.expect(ours);
            }
        }
    }

    /// Takes a part of what a switch has counted. Returns whether it was asked for that.
    pub(super) fn counts_reported(
        &self,
        ctx: &mut Context,
        slot: Slot,
        datapath: DatapathId,
        transaction: TransactionId,
        reply: &MultipartReply<'_>,
    ) -> bool {
        let desired = &self.desired;
        let flow_of = |entry: &FlowStatistics<'_>| {
            let place = Form::read(entry).ok()?.place();
            match desired.get(datapath, place)?.subject {
                EntryOwner::Flow(flow) | EntryOwner::Levels(flow) => Some(flow),
                _ => None,
            }
        };
        let session = ctx.sessions.get_mut(slot);
        session.is_some_and(|it| it.telemetry.take(transaction, reply, flow_of))
    }
}
