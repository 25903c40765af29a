//! What is told of flows and of the whole when somebody asks.

use std::sync::Arc;

use wire::openflow::multipart::{FlowStatistics, MultipartReply, MultipartRequest, RequestBody};
use wire::openflow::{DatapathId, PortNumber, TransactionId};

use crate::audit::Scope;
use crate::desired::{EntryOwner, Form, Outcome};
use crate::flows::Flow;
use crate::northbound::{
    Accepted, Alternative, Asker, Cover, FlowId, FlowSummary, Permission, PromisedFlow, Promises,
    Protection, Reply, RequestId, Route, Statistics, SwitchStatistics, Topology,
};
use crate::path::Tree;
use crate::session::Slot;
use crate::telemetry::MAX_ENTRIES;
use crate::view::{Carrier, Control};

use super::Controller;
use super::requests::is_admitted;

impl Controller {
    /// Lists the flows with numbers above `after`, at most so many.
    pub(super) fn list_flows(&self, after: FlowId, most: usize) -> Reply {
        let flows = self.owners.flows.after(after);
        let admitted = flows.filter(|flow| is_admitted(flow));
        Reply::Flows(admitted.take(most).map(|flow| self.summary(flow)).collect())
    }

    pub(super) fn show_flow(&mut self, id: RequestId, name: String) {
        let known = self
            .owners
            .flows
            .by_name(&name)
            .and_then(|id| self.owners.flows.get(id));
        let reply = match known.filter(|flow| is_admitted(flow)) {
            Some(flow) => Reply::Flows(vec![self.summary(flow)]),
            None => Reply::UnknownFlow(name),
        };
        self.ctx.outbox.reply(id, reply);
    }

    /// Shows the network, without its hosts to whom was not granted to see them.
    pub(super) fn show_view(&mut self, id: RequestId, by: &Asker) {
        let mut view = Box::new(self.topology.view.clone());
        if !self
            .owners
            .applications
            .is_granted(by, Permission::SeeHosts)
        {
            view.hide_hosts();
        }
        self.ctx.outbox.reply(id, Reply::View(view));
    }

    pub(super) fn summary(&self, flow: &Flow) -> FlowSummary {
        FlowSummary {
            requirement: flow.admission.requirement.clone(),
            accepted: self.accepted(flow),
            travels: flow.travels(),
            promise: self.promise_now(flow),
            installed: self.outcome(EntryOwner::Flow(flow.id)) == Some(Outcome::Confirmed),
            disputes: self.disputes(&flow.admission.requirement),
        }
    }

    pub(super) fn promises(&self) -> Promises {
        let admitted = self.owners.flows.iter().filter(|flow| is_admitted(flow));
        let flows = admitted.filter_map(|flow| {
            let (reservation, guarantee) = (flow.reservation?, flow.admission.guarantee?);
            Some(PromisedFlow {
                id: flow.id,
                name: flow.admission.requirement.name.clone(),
                reservation,
                guarantee,
                at_levels: self.promises.reservations.guarantees(
                    reservation,
                    &flow.admission.requirement,
                    guarantee,
                ),
            })
        });
        let (ledger, places, failures) = self.promises.reservations.copy();
        Promises {
            ledger,
            levels: self.promises.reservations.copy_levels(),
            places,
            failures,
            flows: flows.collect(),
        }
    }

    pub(super) fn accepted(&self, flow: &Flow) -> Accepted {
        let admission = &flow.admission;
        let ways = &admission.ways;
        let (route, alternatives) = ways.routes.get_or_init(|| {
            let alternatives = ways.alternatives.iter();
            let routes = alternatives.map(|(without, tree)| Alternative {
                without: *without,
                route: self.route(tree),
            });
            (Arc::new(self.route(&ways.base)), Arc::new(routes.collect()))
        });
        Accepted {
            id: flow.id,
            name: admission.requirement.name.clone(),
            guarantee: admission.guarantee,
            route: Arc::clone(route),
            alternatives: Arc::clone(alternatives),
            cover: self.cover(flow),
        }
    }

    /// Returns which failures the promised interruption of a flow covers.
    fn cover(&self, flow: &Flow) -> Option<Cover> {
        flow.admission.guarantee?;
        match flow.admission.requirement.protection {
            Protection::None => None,
            Protection::Restore { interruption, .. } => Some(self.ctx.timers.cover(interruption)),
        }
    }

    pub(super) fn route(&self, tree: &Tree) -> Route {
        let switches = tree.branches.iter();
        Route {
            switches: switches
                .map(|branch| self.name_of_switch(branch.datapath))
                .collect(),
            links: tree.links().collect(),
        }
    }

    pub(super) fn topology_summary(&self) -> Topology {
        let switches = self.topology.view.switches().iter();
        let links = self.topology.view.links().iter();
        let hosts = self.topology.view.hosts().iter();
        Topology {
            switches: switches
                .filter(|switch| switch.control == Control::Connected)
                .count(),
            links: links
                .filter(|link| {
                    link.carrier == Carrier::Up && !self.topology.view.is_out_of_sight(link)
                })
                .count(),
            hosts: hosts.filter(|host| host.attachment.is_some()).count(),
            flows: self
                .owners
                .flows
                .iter()
                .filter(|flow| is_admitted(flow))
                .count(),
        }
    }

    /// Returns what was counted, and asks switches what they have counted since.
    pub(super) fn statistics(&mut self) -> Statistics {
        let mut all = self.southbound.punts;
        let mut switches = Vec::new();
        for (_, session) in self.ctx.sessions.iter() {
            all.add(&session.punts);
            let telemetry = &session.telemetry;
            switches.extend(session.datapath().map(|datapath| SwitchStatistics {
                datapath,
                frames: session.punts.counts().collect(),
                wanted_entries: self.tables.desired.count(datapath),
                ports: telemetry.ports.said.clone(),
                tables: telemetry.tables.said.clone(),
                flows: telemetry.flows.said.clone(),
            }));
        }
        switches.sort_by_key(|switch| switch.datapath);
        self.ask_for_counts();
        Statistics {
            counters: self.ctx.counters,
            frames: all.counts().collect(),
            switches,
        }
    }

    /// Asks switches what they have counted. Those of version 1.0 are not asked: their
    /// translator knows no such question.
    fn ask_for_counts(&mut self) {
        let wide: Vec<_> = self.ctx.sessions.ready().collect();
        for (datapath, slot) in wide {
            let entries = self.tables.desired.count(datapath);
            let is_narrow = self.ctx.sessions.narrow().contains(&slot);
            let session = self.ctx.sessions.get_mut(slot).filter(|_| !is_narrow);
            let Some(session) = session else {
                continue;
            };
            let telemetry = &mut session.telemetry;
            if !telemetry.is_due(self.ctx.now) {
                continue;
            }
            let out = self.ctx.outbox.to(slot);
            let mut ask = |question| {
                let transaction = self.tables.confirmations.transaction();
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
        &mut self,
        slot: Slot,
        datapath: DatapathId,
        transaction: TransactionId,
        reply: &MultipartReply<'_>,
    ) -> bool {
        let desired = &self.tables.desired;
        let flow_of = |entry: &FlowStatistics<'_>| {
            let place = Form::read(entry).ok()?.place();
            match desired.get(datapath, place)?.subject {
                EntryOwner::Flow(flow) | EntryOwner::Levels(flow) => Some(flow),
                _ => None,
            }
        };
        let session = self.ctx.sessions.get_mut(slot);
        session.is_some_and(|it| it.telemetry.take(transaction, reply, flow_of))
    }
}
