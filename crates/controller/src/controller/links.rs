//! What happens to flows when a link breaks and when it comes back.
//!
//! When a link breaks, the flows that cross it are looked up and sent what their
//! alternatives change, which was found when they were admitted and is written from
//! the stencils of their rules; the rest is done afterwards (S0-3). Those farthest
//! from the source come first, so that a switch which acts on its entry finds the
//! ones behind it in place wherever messages arrive in the order they were sent. The
//! entries of the base tree stay, but for those that the alternative writes over: no
//! frame reaches them any more, and they are what the flow returns to. What was
//! not prepared for (a second break, a best-effort flow without an alternative)
//! gets a detour without promise if there is one: in the lowest class, where it
//! disturbs nothing that is promised.
//!
//! A promise covers one broken link. While two that carry promised flows are
//! broken at once, alternatives are in use that were never reserved together,
//! and no promise is in force.
//!
//! When a link is back and has stayed for a while, flows return: the new way is
//! complete before the first frame takes it. What the switches should have is
//! brought up to date after a restoration has been sent, not before. What is sent leaves
//! in slices, and nothing else happens between them: whatever comes meanwhile has the
//! rest sent first.

use std::collections::{BTreeMap, BTreeSet};

use units::{Duration, Instant};

use crate::desired::EntryOwner;
use crate::flows::{Flow, Standing, Way};
use crate::northbound::{Detection, Event, FlowId, Protection};
use crate::path::{Tree, find_tree};
use crate::place::{LinkEnds, PortId};
use crate::record::Admission;
use crate::session::Slot;
use crate::transition::Stages;
use crate::view::{Carrier, LinkId};
use wire::mode_signal::Level;
use wire::openflow::{DatapathId, TransactionId};

use super::repairs::Repair;
use super::staged_updates::{Part, UpdateId};
use super::{Context, Controller, Network, Owners, Tables, Topology};

/// How many flows are sent what was prepared for them at once.
const RESTORED_AT_ONCE: usize = 64;

/// What waits for switches to confirm it.
#[derive(Debug)]
pub(super) enum Operation {
    /// The entries that make up for a broken link.
    Restore(Restoration),
    /// One stage of a move; the others follow.
    StagedUpdate(UpdateId),
    /// What a switch lacked or had otherwise.
    Repair(DatapathId, Repair),
    /// A level that somebody asked for.
    Level(TransactionId),
    /// The entries of another level, where the controller writes them.
    Written { level: Level, begun: Instant },
}

/// What was done about a broken link.
#[derive(Debug)]
pub(super) struct Restoration {
    link: LinkEnds,
    detected_at: Instant,
    flows: Vec<FlowId>,
    flow_mods: usize,
    switches: usize,
}

/// How links that fail are made up for.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// The break that is being made up for.
    pub(super) restoring: Option<Restoring>,
}

/// The loss of a link.
#[derive(Debug)]
struct Loss {
    link: LinkEnds,
    detection: Detection,
    /// For how long it is not believed, if it was lost often.
    wait: Option<Duration>,
}

/// A link that is broken, and what is not yet done about it.
#[derive(Debug)]
pub(super) struct Restoring {
    loss: Loss,
    detected_at: Instant,
    was_suspended: bool,
    /// The flows for which something was prepared, with the place of that.
    prepared: Vec<(FlowId, usize)>,
    /// How many of them were sent it.
    sent: usize,
    /// Those for which nothing was prepared.
    unprepared: Vec<FlowId>,
    flow_mods: usize,
    slots: BTreeSet<Slot>,
}

impl Recovery {
    /// Notes that a link is there, and lets flows return to it after a while.
    pub(super) fn link_found(&self, ctx: &mut Context, network: &mut Network, link: LinkId) {
        let link = network.topology.view.links()[link.index()].ends;
        ctx.outbox.notify(Event::LinkFound { link });
        ctx.promises_changed();
        network.topology.link_trust.found(link);
        network.topology.prove_link(ctx, link);
        network.topology.keep_link(ctx, link);
        network.topology.expected.remove(&link);
        let was_suspended = network.owners.promises_are_suspended(&network.topology);
        network.topology.broken.remove(&link);
        if was_suspended && !network.owners.promises_are_suspended(&network.topology) {
            ctx.outbox.notify(Event::PromisesResumed);
        }
        self.rescue(ctx, network);
        network.owners.return_soon(ctx);
        network
            .owners
            .intents_gain(ctx, &mut network.topology, link);
        network.owners.follow_link(ctx, &network.topology, link);
    }

    /// Gives the flows that have no way one over a link that was found: they have nothing
    /// to lose by it if it does not stay.
    fn rescue(&self, ctx: &mut Context, network: &mut Network) {
        let is_cut = |flow: &Flow| match &flow.way {
            Way::Nowhere => true,
            way @ (Way::Base | Way::Alternative(_) | Way::Detour(_)) => flow
                .tree_of(way)
                .is_none_or(|tree| !network.topology.is_whole(tree)),
        };
        let displaced = network.owners.flows.displaced();
        let cut = displaced.filter(|id| network.owners.flows.get(*id).is_some_and(is_cut));
        let cut: Vec<FlowId> = cut.collect();
        if !cut.is_empty() {
            self.reconsider(ctx, network, cut);
        }
    }

    /// Moves all flows away from a link that the view has lost.
    pub(super) fn link_lost(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        link: LinkId,
        detection: Detection,
    ) {
        let link = network.topology.view.links()[link.index()].ends;
        network.topology.echoes.forget(link);
        let wait = match detection {
            Detection::PortStatus | Detection::Silence => {
                network.topology.link_trust.lost(ctx.now, link)
            }
            Detection::Recabled => None,
        };
        self.link_broken(
            ctx,
            network,
            Loss {
                link,
                detection,
                wait,
            },
        );
    }

    /// Moves all flows away from a link that is broken, and is not believed for a while if
    /// it comes back.
    fn link_broken(&mut self, ctx: &mut Context, network: &mut Network, loss: Loss) {
        let link = loss.link;
        self.restore_rest(ctx, network);
        network.topology.expected.remove(&link);
        let was_suspended = network.owners.promises_are_suspended(&network.topology);
        network.topology.broken.insert(link);
        ctx.promises_changed();
        self.end_moves_over(ctx, network, link);
        let (prepared, unprepared) = self.concerned(network, link);
        let detected_at = ctx.now;
        if !prepared.is_empty() {
            ctx.outbox
                .notify(Event::RestorationStarted { link, detected_at });
        }
        self.restoring = Some(Restoring {
            loss,
            detected_at,
            was_suspended,
            prepared,
            sent: 0,
            unprepared,
            flow_mods: 0,
            slots: BTreeSet::new(),
        });
        self.restore_some(ctx, network);
    }

    /// Does what is left to be done about a broken link.
    pub(super) fn restore_rest(&mut self, ctx: &mut Context, network: &mut Network) {
        while self.restoring.is_some() {
            self.restore_some(ctx, network);
        }
    }

    /// Sends a slice of what was prepared for the loss of a link; behind the last one
    /// does all else.
    pub(super) fn restore_some(&mut self, ctx: &mut Context, network: &mut Network) {
        let Some(mut restoring) = self.restoring.take() else {
            return;
        };
        self.send_prepared(ctx, &network.owners, &mut restoring);
        if restoring.sent < restoring.prepared.len() {
            self.restoring = Some(restoring);
            return;
        }
        let was_suspended = restoring.was_suspended;
        let Loss {
            link,
            detection,
            wait,
        } = restoring.loss;
        let unprepared = self.restoration_sent(ctx, network, restoring);
        ctx.outbox.notify(Event::LinkLost { link, detection });
        if !was_suspended && network.owners.promises_are_suspended(&network.topology) {
            let broken = network.topology.broken.len();
            ctx.outbox.notify(Event::PromisesSuspended { broken });
        }
        self.find_detours(ctx, network, &unprepared);
        network.owners.intents_lose(&mut network.topology, link);
        network.owners.follow_links(ctx, &network.topology);
        if let Some(wait) = wait {
            ctx.outbox.notify(Event::LinkFlaps { link, wait });
        }
    }

    /// Ends the moves of flows that a broken link concerns: a flow that would be
    /// led over it and still travels elsewhere stays there, any other one gets
    /// the rest of its move at once.
    fn end_moves_over(&self, ctx: &mut Context, network: &mut Network, link: LinkEnds) {
        if network.tables.moves.is_empty() {
            return;
        }
        let crosses = |tree: Option<&Tree>| {
            let mut links = tree.into_iter().flat_map(Tree::links);
            links.any(|crossed| crossed == link)
        };
        let concerned = network
            .owners
            .flows
            .over(link)
            .chain(network.owners.flows.displaced());
        let concerned: BTreeSet<FlowId> = concerned.collect();
        for id in concerned {
            let subject = EntryOwner::Flow(id);
            let Some(flow) = network.owners.flows.get(id) else {
                continue;
            };
            let to = network.tables.moves.way_to(id);
            let is_led_there = crosses(to.and_then(|way| flow.tree_of(way)));
            let is_there = crosses(flow.tree());
            if is_led_there && !is_there && !network.tables.moves.is_switched(subject) {
                self.stay(ctx, network, id);
            } else if is_led_there || is_there || flow.way == Way::Base {
                network.tables.hasten(ctx, &mut network.owners, subject);
            }
        }
    }

    /// Ends the move of a flow before any frame has taken the new way.
    fn stay(&self, ctx: &mut Context, network: &mut Network, id: FlowId) {
        network.tables.moves.take(EntryOwner::Flow(id));
        let Some(flow) = network.owners.flows.get(id) else {
            return;
        };
        let wanted = flow.content(&flow.way);
        network.set_content_at_once(ctx, EntryOwner::Flow(id), &wanted);
    }

    /// Returns the flows that the loss of a link concerns: those for which something was
    /// prepared, with its place, and the others.
    fn concerned(&self, network: &Network, link: LinkEnds) -> (Vec<(FlowId, usize)>, Vec<FlowId>) {
        let (mut prepared, mut unprepared) = (Vec::new(), Vec::new());
        for id in network.owners.flows.over(link) {
            let Some(flow) = network
                .owners
                .flows
                .get(id)
                .filter(|flow| flow.way == Way::Base)
            else {
                continue;
            };
            match network.topology.alternative(flow, link) {
                _ if flow.standing == Standing::Proposed => {}
                Some(index) => prepared.push((id, index)),
                None => unprepared.push(id),
            }
        }
        let displaced = network
            .owners
            .flows
            .displaced()
            .filter_map(|id| network.owners.flows.get(id));
        let hit = displaced.filter(|flow| {
            let mut links = flow.tree().into_iter().flat_map(Tree::links);
            links.any(|crossed| crossed == link)
        });
        unprepared.extend(hit.map(|flow| flow.id));
        (prepared, unprepared)
    }

    /// Takes in that all was sent that was prepared. Returns the flows for which nothing
    /// was.
    fn restoration_sent(
        &self,
        ctx: &mut Context,
        network: &mut Network,
        restoring: Restoring,
    ) -> Vec<FlowId> {
        let Restoring {
            loss: Loss { link, .. },
            detected_at,
            prepared,
            unprepared,
            flow_mods,
            slots,
            ..
        } = restoring;
        if prepared.is_empty() {
            return unprepared;
        }
        let (flows, switches) = (prepared.len(), slots.len());
        let operation = Operation::Restore(Restoration {
            link,
            detected_at,
            flows: prepared.iter().map(|(id, _)| *id).collect(),
            flow_mods,
            switches,
        });
        if let Some(Operation::Restore(restoration)) =
            network.tables.await_all(ctx, operation, slots)
        {
            network
                .tables
                .restored(ctx, &mut network.owners, restoration);
        }
        ctx.outbox.notify(Event::RestorationSent {
            link,
            detected_at,
            flows,
            flow_mods,
        });
        for (id, index) in prepared {
            network.owners.flows.set_way(id, Way::Alternative(index));
            network.tables.unrecorded.insert(id);
        }
        unprepared
    }

    /// Takes what flows from the store rely on and nobody has confirmed yet as
    /// broken, if its port is down or its probes do not arrive in time.
    pub(super) fn check_expected(&mut self, ctx: &mut Context, network: &mut Network) {
        let timeout = ctx.timers.link_timeout;
        let mut broken = Vec::new();
        for (link, since) in &mut network.topology.expected {
            let is_there = |end: &PortId| ctx.sessions.of_switch(end.datapath).is_some();
            let ends = link.both();
            let is_connected = ends.iter().all(is_there);
            let is_down = |end: &PortId| {
                let port = network.topology.view.port(*end);
                is_there(end) && port.is_some_and(|port| port.carrier == Carrier::Down)
            };
            if ends.iter().any(is_down) {
                broken.push((*link, Detection::PortStatus));
            } else if is_connected {
                let since = *since.get_or_insert(ctx.now);
                if ctx.now.saturating_since(since) >= timeout {
                    broken.push((*link, Detection::Silence));
                }
            }
        }
        for (link, detection) in broken {
            self.link_broken(
                ctx,
                network,
                Loss {
                    link,
                    detection,
                    wait: None,
                },
            );
        }
    }

    /// Sends a slice of what alternatives change, and does nothing else.
    fn send_prepared(&self, ctx: &mut Context, owners: &Owners, restoring: &mut Restoring) {
        let mut scratch = Vec::new();
        let from = restoring.sent;
        let slice = restoring.prepared[from..].iter().take(RESTORED_AT_ONCE);
        restoring.sent += slice.len();
        for (id, index) in slice {
            let Some(flow) = owners.flows.get(*id) else {
                continue;
            };
            let Admission {
                requirement, ways, ..
            } = &flow.admission;
            let changes = ways.changes(*index);
            let (_, tree) = &ways.alternatives[*index];
            restoring.flow_mods += changes.len();
            for branch in changes.iter().map(|place| &tree.branches[*place]) {
                if let Some(slot) = ctx.sessions.of_switch(branch.datapath) {
                    let out = ctx.outbox.to(slot);
                    flow.rule
                        .emit_add(branch, requirement.class, &mut scratch, out);
                    restoring.slots.insert(slot);
                }
            }
        }
    }

    /// Finds ways for flows for which nothing was prepared.
    fn find_detours(&self, ctx: &mut Context, network: &mut Network, flows: &[FlowId]) {
        for id in flows {
            let Some(flow) = network.owners.flows.get(*id) else {
                continue;
            };
            let way = network.topology.best_way(ctx, flow);
            let wanted = flow.content(&way);
            network.set_content_at_once(ctx, EntryOwner::Flow(*id), &wanted);
            network.owners.change_way(ctx, *id, way);
        }
    }

    /// Moves flows that do not take their base tree to the best way there is.
    /// Those that would pass a switch which is not connected stay where they are.
    pub(super) fn reconsider_displaced(&self, ctx: &mut Context, network: &mut Network) {
        let displaced = network.owners.flows.displaced().collect();
        self.reconsider(ctx, network, displaced);
    }

    /// Moves flows to the best ways that they have now.
    fn reconsider(&self, ctx: &mut Context, network: &mut Network, flows: Vec<FlowId>) {
        network.tables.record_all(&network.owners);
        let mut parts = BTreeMap::new();
        for id in flows {
            let Some(flow) = network.owners.flows.get(id) else {
                continue;
            };
            let way = network.topology.best_way(ctx, flow);
            let present = network.tables.moves.way_to(id).unwrap_or(&flow.way);
            if way == *present || !ctx.is_reachable(flow.tree_of(&way)) {
                continue;
            }
            let subject = EntryOwner::Flow(id);
            network.tables.moves.take(subject);
            if let Some(part) = network.plan_way(id, way) {
                parts.insert(subject, part);
            }
        }
        network.tables.begin_move(ctx, &mut network.owners, parts);
    }
}

impl Owners {
    /// Lets flows that are not on their own way return after a while, if they can.
    pub(super) fn return_soon(&self, ctx: &mut Context) {
        if self.flows.displaced().next().is_some() {
            ctx.schedule.returns = Some(ctx.now + ctx.timers.return_wait);
        }
    }

    /// Returns whether more is broken than promises cover.
    pub(super) fn promises_are_suspended(&self, topology: &Topology) -> bool {
        let carries_promises = |link: &&LinkEnds| {
            let mut flows = self.flows.over(**link).filter_map(|id| self.flows.get(id));
            flows.any(|flow| flow.reservation.is_some())
        };
        topology.broken.len() > 1
            && topology
                .broken
                .iter()
                .filter(carries_promises)
                .nth(1)
                .is_some()
    }

    /// Lets a flow take another way.
    pub(super) fn change_way(&mut self, ctx: &mut Context, id: FlowId, way: Way) {
        self.flows.set_way(id, way);
        ctx.promises_changed();
    }

    /// Tells which flows are back.
    pub(super) fn moved(&self, ctx: &mut Context, flows: &[FlowId]) {
        let mut back = 0;
        for id in flows {
            let flow = self.flows.get(*id);
            back += usize::from(flow.is_some_and(|flow| flow.way == Way::Base));
        }
        ctx.promises_changed();
        if back > 0 {
            ctx.outbox.notify(Event::Returned { flows: back });
        }
    }
}

impl Topology {
    /// Returns the alternative of a flow for the loss of a link, unless that is
    /// broken as well.
    fn alternative(&self, flow: &Flow, link: LinkEnds) -> Option<usize> {
        let mut alternatives = flow.admission.ways.alternatives.iter();
        let index = alternatives.position(|(broken, _)| *broken == link)?;
        let tree = &flow.admission.ways.alternatives[index].1;
        (self.broken.len() == 1 || self.is_whole(tree)).then_some(index)
    }

    fn is_whole(&self, tree: &Tree) -> bool {
        tree.links().all(|link| !self.broken.contains(&link))
    }

    /// Returns the best way that is whole: the base tree, an alternative for
    /// what is broken, a detour.
    pub(super) fn best_way(&self, ctx: &Context, flow: &Flow) -> Way {
        let admission = &flow.admission;
        let ways = &admission.ways;
        if self.broken.is_empty() || ways.links().iter().all(|link| !self.broken.contains(link)) {
            return Way::Base;
        }
        let mut alternatives = ways.alternatives.iter();
        let fits = |(link, tree): &(LinkEnds, Tree)| !self.view.is_up(*link) && self.is_whole(tree);
        if let Some(index) = alternatives.position(fits) {
            return Way::Alternative(index);
        }
        let is_to_wait = flow.admission.guarantee.is_some()
            && matches!(admission.requirement.protection, Protection::None);
        match is_to_wait {
            true => Way::Nowhere,
            false => self.detour(ctx, flow),
        }
    }

    /// Returns a way to as many destinations as can be reached.
    fn detour(&self, ctx: &Context, flow: &Flow) -> Way {
        let mut reachable = flow.admission.destinations.clone();
        while !reachable.is_empty() {
            let found = find_tree(
                &self.view,
                flow.admission.source,
                &reachable,
                &[],
                &ctx.cost(flow.admission.requirement.class),
            );
            match found {
                Ok(tree) => return Way::Detour(tree),
                Err(lost) => reachable.retain(|port| *port != lost),
            }
        }
        Way::Nowhere
    }

    /// Returns the port at the other end of the link at a port.
    pub(super) fn far_end(&self, port: PortId) -> Option<PortId> {
        let link = self.view.port(port)?.link?;
        self.view.links()[link.index()].ends.opposite(port)
    }
}

impl Context {
    fn is_reachable(&self, tree: Option<&Tree>) -> bool {
        let mut switches = tree.into_iter().flat_map(|tree| &tree.branches);
        switches.all(|branch| self.sessions.of_switch(branch.datapath).is_some())
    }

    /// Returns what it costs a flow of `class` to leave by a port.
    pub(super) fn cost(&self, class: u8) -> impl Fn(PortId) -> u64 + '_ {
        move |port| match self.metric {
            crate::config::Metric::Links => 1,
            crate::config::Metric::Delay => self.parameters.hop_delay(port, class).as_ps(),
        }
    }
}

impl Network {
    /// Plans how a flow comes to another way.
    pub(super) fn plan_way(&self, id: FlowId, way: Way) -> Option<Part> {
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
    pub(super) fn install(&mut self, ctx: &mut Context, id: FlowId) {
        let Some(flow) = self.owners.flows.get(id) else {
            return;
        };
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
}

impl Tables {
    /// Asks switches to confirm what they were sent. Gives the operation back if there is
    /// none to wait for.
    pub(super) fn await_all(
        &mut self,
        ctx: &mut Context,
        operation: Operation,
        slots: impl IntoIterator<Item = Slot>,
    ) -> Option<Operation> {
        let (outbox, sessions) = (&mut ctx.outbox, &ctx.sessions);
        let desired = &self.desired;
        self.confirmations
            .await_all(operation, slots, |slot, emit| {
                emit(outbox.to(slot));
                let session = sessions.get(slot);
                let datapath = session.and_then(|session| session.datapath());
                datapath.map_or(0, |datapath| desired.messages(datapath))
            })
    }

    /// Asks a switch to confirm what it was sent.
    pub(super) fn await_one(&mut self, ctx: &mut Context, operation: Operation, slot: Slot) {
        let done = self.await_all(ctx, operation, [slot]);
        debug_assert!(done.is_none(), "a switch is waited for");
    }

    /// Takes in that all that makes up for a broken link is there.
    fn restored(&mut self, ctx: &mut Context, owners: &mut Owners, restoration: Restoration) {
        ctx.promises_changed();
        for flow in &restoration.flows {
            self.record(owners, *flow);
            self.confirm_entries(EntryOwner::Flow(*flow));
            self.settle(ctx, owners, EntryOwner::Flow(*flow));
            self.resume_subject(ctx, owners, EntryOwner::Flow(*flow));
        }
        let confirmed_at = ctx.now;
        ctx.outbox.notify(restoration.into_event(confirmed_at));
    }
}

impl Controller {
    /// Completes an operation that all its switches have confirmed.
    pub(super) fn confirmed(&mut self, operation: Operation) {
        self.ctx.promises_changed();
        match operation {
            Operation::StagedUpdate(id) => {
                self.network
                    .tables
                    .move_confirmed(&mut self.ctx, &mut self.network.owners, id)
            }
            Operation::Restore(restoration) => {
                self.network
                    .tables
                    .restored(&mut self.ctx, &mut self.network.owners, restoration)
            }
            Operation::Repair(datapath, repair) => self.network.tables.mended(
                &mut self.ctx,
                &mut self.network.owners,
                datapath,
                repair,
            ),
            Operation::Level(asked) => self.modes.level_answered(&mut self.ctx, asked),
            Operation::Written { level, begun } => {
                self.modes.level_written(&mut self.ctx, level, begun)
            }
        }
    }
}

impl Restoration {
    fn into_event(self, confirmed_at: Instant) -> Event {
        Event::Restored {
            link: self.link,
            detected_at: self.detected_at,
            took: confirmed_at.saturating_since(self.detected_at),
            flows: self.flows.len(),
            flow_mods: self.flow_mods,
            switches: self.switches,
        }
    }
}
