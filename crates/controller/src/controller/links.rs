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

use super::Controller;
use super::repairs::Repair;
use super::staged_updates::{Part, UpdateId};

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

impl Controller {
    /// Notes that a link is there, and lets flows return to it after a while.
    pub(super) fn link_found(&mut self, link: LinkId) {
        let link = self.topology.view.links()[link.index()].ends;
        self.ctx.outbox.notify(Event::LinkFound { link });
        self.ctx.promises_changed();
        self.topology.link_trust.found(link);
        self.prove_link(link);
        self.keep_link(link);
        self.topology.expected.remove(&link);
        let was_suspended = self.promises_are_suspended();
        self.topology.broken.remove(&link);
        if was_suspended && !self.promises_are_suspended() {
            self.ctx.outbox.notify(Event::PromisesResumed);
        }
        self.rescue();
        self.return_soon();
        self.intents_gain(link);
        self.follow_link(link);
    }

    /// Gives the flows that have no way one over a link that was found: they have nothing
    /// to lose by it if it does not stay.
    fn rescue(&mut self) {
        let is_cut = |flow: &Flow| match &flow.way {
            Way::Nowhere => true,
            way @ (Way::Base | Way::Alternative(_) | Way::Detour(_)) => {
                flow.tree_of(way).is_none_or(|tree| !self.is_whole(tree))
            }
        };
        let displaced = self.owners.flows.displaced();
        let cut = displaced.filter(|id| self.owners.flows.get(*id).is_some_and(is_cut));
        let cut: Vec<FlowId> = cut.collect();
        if !cut.is_empty() {
            self.reconsider(cut);
        }
    }

    /// Lets flows that are not on their own way return after a while, if they can.
    pub(super) fn return_soon(&mut self) {
        if self.owners.flows.displaced().next().is_some() {
            self.ctx.schedule.returns = Some(self.ctx.now + self.ctx.timers.return_wait);
        }
    }

    /// Moves all flows away from a link that the view has lost.
    pub(super) fn link_lost(&mut self, link: LinkId, detection: Detection) {
        let link = self.topology.view.links()[link.index()].ends;
        self.topology.echoes.forget(link);
        let wait = match detection {
            Detection::PortStatus | Detection::Silence => {
                self.topology.link_trust.lost(self.ctx.now, link)
            }
            Detection::Recabled => None,
        };
        self.link_broken(Loss {
            link,
            detection,
            wait,
        });
    }

    /// Moves all flows away from a link that is broken, and is not believed for a while if
    /// it comes back.
    fn link_broken(&mut self, loss: Loss) {
        let link = loss.link;
        self.restore_rest();
        self.topology.expected.remove(&link);
        let was_suspended = self.promises_are_suspended();
        self.topology.broken.insert(link);
        self.ctx.promises_changed();
        self.end_moves_over(link);
        let (prepared, unprepared) = self.concerned(link);
        let detected_at = self.ctx.now;
        if !prepared.is_empty() {
            self.ctx
                .outbox
                .notify(Event::RestorationStarted { link, detected_at });
        }
        self.recovery.restoring = Some(Restoring {
            loss,
            detected_at,
            was_suspended,
            prepared,
            sent: 0,
            unprepared,
            flow_mods: 0,
            slots: BTreeSet::new(),
        });
        self.restore_some();
    }

    /// Does what is left to be done about a broken link.
    pub(super) fn restore_rest(&mut self) {
        while self.recovery.restoring.is_some() {
            self.restore_some();
        }
    }

    /// Sends a slice of what was prepared for the loss of a link; behind the last one
    /// does all else.
    pub(super) fn restore_some(&mut self) {
        let Some(mut restoring) = self.recovery.restoring.take() else {
            return;
        };
        self.send_prepared(&mut restoring);
        if restoring.sent < restoring.prepared.len() {
            self.recovery.restoring = Some(restoring);
            return;
        }
        let was_suspended = restoring.was_suspended;
        let Loss {
            link,
            detection,
            wait,
        } = restoring.loss;
        let unprepared = self.restoration_sent(restoring);
        self.ctx.outbox.notify(Event::LinkLost { link, detection });
        if !was_suspended && self.promises_are_suspended() {
            let broken = self.topology.broken.len();
            self.ctx.outbox.notify(Event::PromisesSuspended { broken });
        }
        self.find_detours(&unprepared);
        self.intents_lose(link);
        self.follow_links();
        if let Some(wait) = wait {
            self.ctx.outbox.notify(Event::LinkFlaps { link, wait });
        }
    }

    /// Returns whether more is broken than promises cover.
    pub(super) fn promises_are_suspended(&self) -> bool {
        let carries_promises = |link: &&LinkEnds| {
            let mut flows = self
                .owners
                .flows
                .over(**link)
                .filter_map(|id| self.owners.flows.get(id));
            flows.any(|flow| flow.reservation.is_some())
        };
        self.topology.broken.len() > 1
            && self
                .topology
                .broken
                .iter()
                .filter(carries_promises)
                .nth(1)
                .is_some()
    }

    /// Ends the moves of flows that a broken link concerns: a flow that would be
    /// led over it and still travels elsewhere stays there, any other one gets
    /// the rest of its move at once.
    fn end_moves_over(&mut self, link: LinkEnds) {
        if self.tables.moves.is_empty() {
            return;
        }
        let crosses = |tree: Option<&Tree>| {
            let mut links = tree.into_iter().flat_map(Tree::links);
            links.any(|crossed| crossed == link)
        };
        let concerned = self
            .owners
            .flows
            .over(link)
            .chain(self.owners.flows.displaced());
        let concerned: BTreeSet<FlowId> = concerned.collect();
        for id in concerned {
            let subject = EntryOwner::Flow(id);
            let Some(flow) = self.owners.flows.get(id) else {
                continue;
            };
            let to = self.tables.moves.way_to(id);
            let is_led_there = crosses(to.and_then(|way| flow.tree_of(way)));
            let is_there = crosses(flow.tree());
            if is_led_there && !is_there && !self.tables.moves.is_switched(subject) {
                self.stay(id);
            } else if is_led_there || is_there || flow.way == Way::Base {
                self.hasten(subject);
            }
        }
    }

    /// Ends the move of a flow before any frame has taken the new way.
    fn stay(&mut self, id: FlowId) {
        self.tables.moves.take(EntryOwner::Flow(id));
        let Some(flow) = self.owners.flows.get(id) else {
            return;
        };
        let wanted = flow.content(&flow.way);
        self.set_content_at_once(EntryOwner::Flow(id), &wanted);
    }

    /// Returns the flows that the loss of a link concerns: those for which something was
    /// prepared, with its place, and the others.
    fn concerned(&self, link: LinkEnds) -> (Vec<(FlowId, usize)>, Vec<FlowId>) {
        let (mut prepared, mut unprepared) = (Vec::new(), Vec::new());
        for id in self.owners.flows.over(link) {
            let Some(flow) = self
                .owners
                .flows
                .get(id)
                .filter(|flow| flow.way == Way::Base)
            else {
                continue;
            };
            match self.alternative(flow, link) {
                _ if flow.standing == Standing::Proposed => {}
                Some(index) => prepared.push((id, index)),
                None => unprepared.push(id),
            }
        }
        let displaced = self
            .owners
            .flows
            .displaced()
            .filter_map(|id| self.owners.flows.get(id));
        let hit = displaced.filter(|flow| {
            let mut links = flow.tree().into_iter().flat_map(Tree::links);
            links.any(|crossed| crossed == link)
        });
        unprepared.extend(hit.map(|flow| flow.id));
        (prepared, unprepared)
    }

    /// Takes in that all was sent that was prepared. Returns the flows for which nothing
    /// was.
    fn restoration_sent(&mut self, restoring: Restoring) -> Vec<FlowId> {
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
        if let Some(Operation::Restore(restoration)) = self.await_all(operation, slots) {
            self.restored(restoration);
        }
        self.ctx.outbox.notify(Event::RestorationSent {
            link,
            detected_at,
            flows,
            flow_mods,
        });
        for (id, index) in prepared {
            self.owners.flows.set_way(id, Way::Alternative(index));
            self.tables.unrecorded.insert(id);
        }
        unprepared
    }

    /// Returns the alternative of a flow for the loss of a link, unless that is
    /// broken as well.
    fn alternative(&self, flow: &Flow, link: LinkEnds) -> Option<usize> {
        let mut alternatives = flow.admission.ways.alternatives.iter();
        let index = alternatives.position(|(broken, _)| *broken == link)?;
        let tree = &flow.admission.ways.alternatives[index].1;
        (self.topology.broken.len() == 1 || self.is_whole(tree)).then_some(index)
    }

    /// Takes what flows from the store rely on and nobody has confirmed yet as
    /// broken, if its port is down or its probes do not arrive in time.
    pub(super) fn check_expected(&mut self) {
        let timeout = self.ctx.timers.link_timeout;
        let mut broken = Vec::new();
        for (link, since) in &mut self.topology.expected {
            let is_there = |end: &PortId| self.ctx.sessions.of_switch(end.datapath).is_some();
            let ends = link.both();
            let is_connected = ends.iter().all(is_there);
            let is_down = |end: &PortId| {
                let port = self.topology.view.port(*end);
                is_there(end) && port.is_some_and(|port| port.carrier == Carrier::Down)
            };
            if ends.iter().any(is_down) {
                broken.push((*link, Detection::PortStatus));
            } else if is_connected {
                let since = *since.get_or_insert(self.ctx.now);
                if self.ctx.now.saturating_since(since) >= timeout {
                    broken.push((*link, Detection::Silence));
                }
            }
        }
        for (link, detection) in broken {
            self.link_broken(Loss {
                link,
                detection,
                wait: None,
            });
        }
    }

    fn is_whole(&self, tree: &Tree) -> bool {
        tree.links()
            .all(|link| !self.topology.broken.contains(&link))
    }

    /// Sends a slice of what alternatives change, and does nothing else.
    fn send_prepared(&mut self, restoring: &mut Restoring) {
        let mut scratch = Vec::new();
        let from = restoring.sent;
        let slice = restoring.prepared[from..].iter().take(RESTORED_AT_ONCE);
        restoring.sent += slice.len();
        for (id, index) in slice {
            let Some(flow) = self.owners.flows.get(*id) else {
                continue;
            };
            let Admission {
                requirement, ways, ..
            } = &flow.admission;
            let changes = ways.changes(*index);
            let (_, tree) = &ways.alternatives[*index];
            restoring.flow_mods += changes.len();
            for branch in changes.iter().map(|place| &tree.branches[*place]) {
                if let Some(slot) = self.ctx.sessions.of_switch(branch.datapath) {
                    let out = self.ctx.outbox.to(slot);
                    flow.rule
                        .emit_add(branch, requirement.class, &mut scratch, out);
                    restoring.slots.insert(slot);
                }
            }
        }
    }

    /// Finds ways for flows for which nothing was prepared.
    fn find_detours(&mut self, flows: &[FlowId]) {
        for id in flows {
            let Some(flow) = self.owners.flows.get(*id) else {
                continue;
            };
            let way = self.best_way(flow);
            let wanted = flow.content(&way);
            self.set_content_at_once(EntryOwner::Flow(*id), &wanted);
            self.change_way(*id, way);
        }
    }

    /// Returns the best way that is whole: the base tree, an alternative for
    /// what is broken, a detour.
    pub(super) fn best_way(&self, flow: &Flow) -> Way {
        let admission = &flow.admission;
        let ways = &admission.ways;
        if self.topology.broken.is_empty()
            || ways
                .links()
                .iter()
                .all(|link| !self.topology.broken.contains(link))
        {
            return Way::Base;
        }
        let mut alternatives = ways.alternatives.iter();
        let fits = |(link, tree): &(LinkEnds, Tree)| {
            !self.topology.view.is_up(*link) && self.is_whole(tree)
        };
        if let Some(index) = alternatives.position(fits) {
            return Way::Alternative(index);
        }
        let is_to_wait = flow.admission.guarantee.is_some()
            && matches!(admission.requirement.protection, Protection::None);
        match is_to_wait {
            true => Way::Nowhere,
            false => self.detour(flow),
        }
    }

    /// Returns a way to as many destinations as can be reached.
    fn detour(&self, flow: &Flow) -> Way {
        let mut reachable = flow.admission.destinations.clone();
        while !reachable.is_empty() {
            let found = find_tree(
                &self.topology.view,
                flow.admission.source,
                &reachable,
                &[],
                &self.cost(flow.admission.requirement.class),
            );
            match found {
                Ok(tree) => return Way::Detour(tree),
                Err(lost) => reachable.retain(|port| *port != lost),
            }
        }
        Way::Nowhere
    }

    /// Lets a flow take another way.
    pub(super) fn change_way(&mut self, id: FlowId, way: Way) {
        self.owners.flows.set_way(id, way);
        self.ctx.promises_changed();
    }

    /// Moves flows that do not take their base tree to the best way there is.
    /// Those that would pass a switch which is not connected stay where they are.
    pub(super) fn reconsider_displaced(&mut self) {
        let displaced = self.owners.flows.displaced().collect();
        self.reconsider(displaced);
    }

    /// Moves flows to the best ways that they have now.
    fn reconsider(&mut self, flows: Vec<FlowId>) {
        self.record_all();
        let mut parts = BTreeMap::new();
        for id in flows {
            let Some(flow) = self.owners.flows.get(id) else {
                continue;
            };
            let way = self.best_way(flow);
            let present = self.tables.moves.way_to(id).unwrap_or(&flow.way);
            if way == *present || !self.is_reachable(flow.tree_of(&way)) {
                continue;
            }
            let subject = EntryOwner::Flow(id);
            self.tables.moves.take(subject);
            if let Some(part) = self.plan_way(id, way) {
                parts.insert(subject, part);
            }
        }
        self.begin_move(parts);
    }

    fn is_reachable(&self, tree: Option<&Tree>) -> bool {
        let mut switches = tree.into_iter().flat_map(|tree| &tree.branches);
        switches.all(|branch| self.ctx.sessions.of_switch(branch.datapath).is_some())
    }

    /// Returns the port at the other end of the link at a port.
    pub(super) fn far_end(&self, port: PortId) -> Option<PortId> {
        let link = self.topology.view.port(port)?.link?;
        self.topology.view.links()[link.index()].ends.opposite(port)
    }

    /// Plans how a flow comes to another way.
    pub(super) fn plan_way(&self, id: FlowId, way: Way) -> Option<Part> {
        let flow = self.owners.flows.get(id)?;
        let present = self.tables.desired.content(EntryOwner::Flow(id));
        let source = flow.admission.source;
        let wanted = flow.content(&way);
        let stages = Stages::plan(&present, &wanted, Some(source), &|port| self.far_end(port));
        let relies_on = self.unconfirmed(EntryOwner::Flow(id), &wanted);
        Some(Part::new(stages, Some(way), relies_on))
    }

    /// Tells which flows are back.
    pub(super) fn moved(&mut self, flows: &[FlowId]) {
        let mut back = 0;
        for id in flows {
            let flow = self.owners.flows.get(*id);
            back += usize::from(flow.is_some_and(|flow| flow.way == Way::Base));
        }
        self.ctx.promises_changed();
        if back > 0 {
            self.ctx.outbox.notify(Event::Returned { flows: back });
        }
    }

    /// Asks switches to confirm what they were sent. Gives the operation back if there is
    /// none to wait for.
    pub(super) fn await_all(
        &mut self,
        operation: Operation,
        slots: impl IntoIterator<Item = Slot>,
    ) -> Option<Operation> {
        let (outbox, sessions) = (&mut self.ctx.outbox, &self.ctx.sessions);
        let desired = &self.tables.desired;
        self.tables
            .confirmations
            .await_all(operation, slots, |slot, emit| {
                emit(outbox.to(slot));
                let session = sessions.get(slot);
                let datapath = session.and_then(|session| session.datapath());
                datapath.map_or(0, |datapath| desired.messages(datapath))
            })
    }

    /// Asks a switch to confirm what it was sent.
    pub(super) fn await_one(&mut self, operation: Operation, slot: Slot) {
        let done = self.await_all(operation, [slot]);
        debug_assert!(done.is_none(), "a switch is waited for");
    }

    /// Completes an operation that all its switches have confirmed.
    pub(super) fn confirmed(&mut self, operation: Operation) {
        self.ctx.promises_changed();
        match operation {
            Operation::StagedUpdate(id) => self.move_confirmed(id),
            Operation::Restore(restoration) => self.restored(restoration),
            Operation::Repair(datapath, repair) => self.mended(datapath, repair),
            Operation::Level(asked) => self.level_answered(asked),
            Operation::Written { level, begun } => self.level_written(level, begun),
        }
    }

    /// Takes in that all that makes up for a broken link is there.
    fn restored(&mut self, restoration: Restoration) {
        self.ctx.promises_changed();
        for flow in &restoration.flows {
            self.record(*flow);
            self.confirm_entries(EntryOwner::Flow(*flow));
            self.settle(EntryOwner::Flow(*flow));
            self.resume_subject(EntryOwner::Flow(*flow));
        }
        let confirmed_at = self.ctx.now;
        self.ctx.outbox.notify(restoration.into_event(confirmed_at));
    }

    /// Gives a flow that is in force now its entries.
    pub(super) fn install(&mut self, id: FlowId) {
        let Some(flow) = self.owners.flows.get(id) else {
            return;
        };
        let way = self.best_way(flow);
        if way == Way::Base
            && flow.way == Way::Base
            && !self.tables.desired.is_owner(EntryOwner::Flow(id))
        {
            return self.send_first(id);
        }
        let wanted = flow.content(&way);
        self.owners.flows.set_way(id, way);
        self.set_content_at_once(EntryOwner::Flow(id), &wanted);
    }

    /// Returns what it costs a flow of `class` to leave by a port.
    pub(super) fn cost(&self, class: u8) -> impl Fn(PortId) -> u64 + '_ {
        move |port| match self.ctx.metric {
            crate::config::Metric::Links => 1,
            crate::config::Metric::Delay => self.ctx.parameters.hop_delay(port, class).as_ps(),
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
