//! The network: what is known of it, who has entries at its switches, and what their
//! tables should be.
//!
//! Those who decide are given it as one, as nearly all of them need all of it. Within it,
//! the topology knows nothing of the owners, and these nothing of the tables.

use std::collections::{BTreeMap, BTreeSet};

use wire::openflow::DatapathId;

use crate::desired::{Content, EntryOwner, Outcome, PlacedRule};
use crate::flows::{Flow, Way};
use crate::northbound::{FlowId, Reply, RequestId};
use crate::place::PortId;
use crate::rules;
use crate::transition::Stages;
use crate::view::Control;

use super::Context;
use super::owners::Owners;
use super::reconciliation::Task;
use super::staged_updates::{Part, Reached};
use super::tables::Tables;
use super::topology::Topology;

/// How many flows have their guards looked at at once.
pub const GUARDED_AT_ONCE: usize = 64;

/// What is known of the network, and what it should do.
#[derive(Debug)]
pub struct Network {
    pub topology: Topology,
    pub owners: Owners,
    pub tables: Tables,
}

impl Network {
    /// Makes these the rules of a subject, in place of those it had: make before
    /// break, smallest difference.
    pub fn set_rules(&mut self, ctx: &mut Context, subject: EntryOwner, rules: Vec<PlacedRule>) {
        let forms = rules.iter().map(|rule| (rule.datapath, rule.form()));
        let wanted: Content = forms
            .map(|(datapath, form)| ((datapath, form.place()), form))
            .collect();
        self.tables.moves.take(subject);
        let present = self.tables.desired.content(subject);
        if !self.tables.desired.has_room(present.len(), wanted.len()) {
            self.owners.rules_settled(ctx, subject, Outcome::TooMany);
            return;
        }
        let stages = Stages::plan(&present, &wanted, None, &|port| self.topology.far_end(port));
        let part = Part::new(stages, None, self.tables.unconfirmed(subject, &wanted));
        self.tables
            .begin_move(ctx, &mut self.owners, BTreeMap::from([(subject, part)]));
    }

    /// Takes all rules of a subject away.
    pub fn clear_rules(&mut self, ctx: &mut Context, subject: EntryOwner) {
        self.set_rules(ctx, subject, Vec::new());
    }

    /// Has a flow whose switches have changed its way by themselves stay on that.
    fn follow_switches(&mut self, ctx: &mut Context, id: FlowId) {
        let Some(flow) = self.owners.flows.get(id) else {
            return;
        };
        let subject = EntryOwner::Flow(id);
        let is_settled =
            self.tables.moves.way_to(id).is_none() && self.tables.desired.is_owner(subject);
        if !flow.is_healed_locally() || !is_settled {
            return;
        }
        let wanted = flow.content(&flow.way);
        if self.tables.desired.content(subject) != wanted {
            self.set_content_at_once(ctx, subject, &wanted);
        }
    }

    /// Makes contract and guards of some of the flows what they should be whose way is another
    /// one.
    pub fn guard_some(&mut self, ctx: &mut Context) {
        for _ in 0..GUARDED_AT_ONCE {
            let Some(id) = self.owners.flows.take_altered() else {
                return;
            };
            self.follow_contract(ctx, id);
            self.follow_switches(ctx, id);
            let subject = EntryOwner::Guard(id);
            let flow = self.owners.flows.get(id);
            let wanted = flow.map(Flow::guards).unwrap_or_default();
            match self.tables.desired.is_owner(subject) {
                true => self.set_content_at_once(ctx, subject, &wanted.into_iter().collect()),
                false if wanted.is_empty() => {}
                false => self.tables.give(ctx, &mut self.owners, subject, wanted),
            }
        }
    }

    /// Lists the entries of a switch; asks it what it has if it is connected.
    pub fn list_rules(&mut self, ctx: &mut Context, id: RequestId, datapath: DatapathId) {
        if self.topology.view.switch(datapath).is_none() {
            ctx.outbox.reply(id, Reply::UnknownSwitch(datapath));
        } else if self.tables.reconciliation.switches.contains_key(&datapath) {
            self.tables
                .want_task(ctx, &self.owners, datapath, Task::Inspect(id));
        } else {
            self.tables
                .show_rules(ctx, &self.owners, id, datapath, None);
        }
    }

    /// Plans how a flow comes to another way.
    pub fn plan_way(&self, id: FlowId, way: Way) -> Option<Part> {
        let flow = self.owners.flows.get(id)?;
        let present = self.tables.desired.content(EntryOwner::Flow(id));
        let source = flow.admission.source;
        let wanted = flow.content(&way);
        let stages = Stages::plan(&present, &wanted, Some(source), &|port| {
            self.topology.far_end(port)
        });
        let relies_on = self.tables.unconfirmed(EntryOwner::Flow(id), &wanted);
        Some(Part::new(stages, Some(way), relies_on))
    }

    /// Gives a flow that is in force now its entries.
    pub fn install(&mut self, ctx: &mut Context, id: FlowId) {
        let Some(flow) = self.owners.flows.get(id) else {
            return;
        };
        self.tables.want_failovers(ctx, flow);
        let way = self.topology.best_way(ctx, flow);
        if way == Way::Base
            && flow.way == Way::Base
            && !self.tables.desired.is_owner(EntryOwner::Flow(id))
        {
            return self.tables.send_first(ctx, &mut self.owners, id);
        }
        let wanted = flow.content(&way);
        self.owners.flows.set_way(id, way);
        self.set_content_at_once(ctx, EntryOwner::Flow(id), &wanted);
    }

    /// Forgets a switch that will not come back.
    pub fn forget_switch(&mut self, ctx: &mut Context, id: RequestId, datapath: DatapathId) {
        let reply = match self.topology.view.switch(datapath) {
            None => Reply::UnknownSwitch(datapath),
            Some(switch) => match self.topology.view.switches()[switch.index()].control {
                Control::Connected => Reply::StillConnected(datapath),
                Control::Forgotten => Reply::UnknownSwitch(datapath),
                Control::Lost => {
                    self.drop_switch(ctx, datapath);
                    Reply::Forgotten
                }
            },
        };
        ctx.outbox.reply(id, reply);
    }

    /// Forgets a switch that is away.
    pub fn drop_switch(&mut self, ctx: &mut Context, datapath: DatapathId) {
        ctx.policing.forget(datapath);
        if let Some(switch) = self.topology.view.switch(datapath) {
            self.topology.view.forget(switch);
            self.topology.view.release(switch);
            self.tables.unwant_services(ctx, datapath);
            for write in self.topology.inventory.strike_switch(datapath) {
                ctx.outbox.store(write);
            }
        }
    }

    /// Replaces the entries that a flow had by those of its new admission.
    pub fn exchange_entries(&mut self, ctx: &mut Context, id: FlowId) {
        let Some(flow) = self.owners.flows.get(id) else {
            return;
        };
        self.tables.want_failovers(ctx, flow);
        let way = self.topology.best_way(ctx, flow);
        self.owners.flows.set_way(id, way.clone());
        if let Some(part) = self.plan_way(id, way) {
            let parts = BTreeMap::from([(EntryOwner::Flow(id), part)]);
            self.tables.begin_move(ctx, &mut self.owners, parts);
        }
    }

    /// Compares one switch, or all, with what it should have.
    pub fn reconcile(&mut self, ctx: &mut Context, id: RequestId, datapath: Option<DatapathId>) {
        if let Some(datapath) = datapath
            && self.topology.view.switch(datapath).is_none()
        {
            ctx.outbox.reply(id, Reply::UnknownSwitch(datapath));
            return;
        }
        let switches = self.tables.compare_whole(ctx, &self.owners, datapath);
        ctx.outbox.reply(id, Reply::Reconciling { switches });
    }

    /// Has a subject that wants nothing yet want what switches may have already: they are
    /// compared, and sent what they lack.
    pub fn take_over(&mut self, ctx: &mut Context, subject: EntryOwner, wanted: Content) {
        if !self.tables.desired.has_room(0, wanted.len()) {
            return self.owners.rules_settled(ctx, subject, Outcome::TooMany);
        }
        let concerned: BTreeSet<DatapathId> = wanted.keys().map(|(at, _)| *at).collect();
        for (spot, form) in wanted {
            self.tables.desired.record(subject, spot, form);
        }
        for datapath in concerned {
            self.tables
                .want_task(ctx, &self.owners, datapath, Task::Connect);
        }
    }

    /// Replaces the entries of a subject at once, for where frames are lost
    /// anyway or none flow.
    pub fn set_content_at_once(
        &mut self,
        ctx: &mut Context,
        subject: EntryOwner,
        wanted: &Content,
    ) {
        if let EntryOwner::Flow(flow) = subject {
            self.tables.record(&self.owners, flow);
        }
        self.tables.moves.take(subject);
        if wanted.is_empty() {
            return self.tables.take_all(ctx, &mut self.owners, subject);
        }
        let present = self.tables.desired.content(subject);
        if !self.tables.desired.has_room(present.len(), wanted.len()) {
            self.owners.rules_settled(ctx, subject, Outcome::TooMany);
            return;
        }
        let source = match subject {
            EntryOwner::Flow(flow) => {
                let flow = self.owners.flows.get(flow);
                flow.map(|flow| flow.admission.source)
            }
            EntryOwner::Service
            | EntryOwner::KnownHost(_)
            | EntryOwner::Intent(_)
            | EntryOwner::Application(_)
            | EntryOwner::Gathering(_)
            | EntryOwner::Modes
            | EntryOwner::Levels(_)
            | EntryOwner::Guard(_)
            | EntryOwner::NextHop(_)
            | EntryOwner::Peering(_)
            | EntryOwner::Route(_) => None,
        };
        let stages = Stages::plan(&present, wanted, source, &|port| {
            self.topology.far_end(port)
        });
        let mut reached = Reached::default();
        for stage in stages.build.into_iter().chain(stages.clear) {
            self.tables
                .send_stage(ctx, &mut self.owners, subject, stage, &mut reached);
        }
        self.tables.ask_later(subject, &reached);
    }

    /// Has the switch of a host stop asking about it.
    pub fn attached(&mut self, ctx: &mut Context, name: &str, port: PortId) {
        let Some(mac) = self.topology.view.host(name).map(|host| host.mac) else {
            return;
        };
        let subject = EntryOwner::KnownHost(mac);
        match self.owners.forwarding {
            None => self.set_rules(ctx, subject, vec![rules::known_host(mac, port)]),
            Some(_) => self.clear_rules(ctx, subject),
        }
    }
}
