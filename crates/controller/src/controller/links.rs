//! What happens to flows when a link breaks and when it comes back.
//!
//! When a link breaks, the flows that cross it are looked up and the messages
//! that were prepared for them copied out; the rest is done afterwards. What was
//! not prepared for (a second break, a best-effort flow without an alternative)
//! gets a detour without promise if there is one: in the lowest class, where it
//! disturbs nothing that is promised.
//!
//! A promise covers one broken link. While two that carry promised flows are
//! broken at once, alternatives are in use that were never reserved together,
//! and no promise is in force.
//!
//! When a link is back and has stayed for a while, flows return: the new way is
//! complete before the first frame takes it.

use std::collections::{BTreeSet, VecDeque};

use units::{Duration, Instant};

use crate::batch::Batch;
use crate::flows::{Entries, Flow, Installation, Standing, Way};
use crate::northbound::{Detection, Event, FlowId, Promise, Protection};
use crate::path::{Tree, find_tree};
use crate::place::{LinkEnds, PortId};
use crate::session::Slot;
use crate::transition::{Course, Stages, Transition};
use crate::view::{Carrier, LinkId};
use wire::openflow::DatapathId;

use super::Controller;
use super::desired::Placement;

/// What waits for switches to confirm it.
#[derive(Debug)]
pub(super) enum Operation {
    /// The entries of a new flow.
    Install(FlowId),
    /// The entries that make up for a broken link.
    Restore(Restoration),
    /// One stage of a move; the others follow.
    Move(Move),
    /// One stage of a change of a subject's entries; the others follow.
    Place(Placement),
    /// The entries that a switch lacked or had in excess.
    Synchronise {
        /// The switch.
        datapath: DatapathId,
        /// How many it lacked.
        added: usize,
        /// How many it had in excess.
        removed: usize,
    },
}

/// What was done about a broken link.
#[derive(Debug)]
pub(super) struct Restoration {
    link: LinkEnds,
    detected_at: Instant,
    flows: usize,
    flow_mods: usize,
    switches: usize,
}

/// A move of flows in stages.
#[derive(Debug)]
pub(super) struct Move {
    stages: Stages,
    flows: Vec<FlowId>,
}

/// What takes old ways away that still carry frames.
#[derive(Debug)]
pub(super) struct Lingering {
    /// When the last of them has arrived.
    pub(super) until: Instant,
    left: VecDeque<Batch>,
}

impl Controller {
    /// Notes that a link is there, and lets flows return to it after a while.
    pub(super) fn link_found(&mut self, link: LinkId) {
        let link = self.view.links()[link.index()].ends;
        self.outbox.notify(Event::LinkFound { link });
        self.keep_link(link);
        self.expected.remove(&link);
        let was_suspended = self.promises_are_suspended();
        self.broken.remove(&link);
        if was_suspended && !self.promises_are_suspended() {
            self.outbox.notify(Event::PromisesResumed);
        }
        if self.flows.displaced().next().is_some() {
            self.schedule.returns = Some(self.now + self.timers.return_wait);
        }
        self.follow_links();
    }

    /// Moves all flows away from a link that the view has lost.
    pub(super) fn link_lost(&mut self, link: LinkId, detection: Detection) {
        let link = self.view.links()[link.index()].ends;
        self.link_broken(link, detection);
    }

    /// Moves all flows away from a link that is broken.
    pub(super) fn link_broken(&mut self, link: LinkEnds, detection: Detection) {
        self.expected.remove(&link);
        self.finish_moves();
        let was_suspended = self.promises_are_suspended();
        self.broken.insert(link);
        let unprepared = self.restore(link);
        self.outbox.notify(Event::LinkLost { link, detection });
        if !was_suspended && self.promises_are_suspended() {
            let broken = self.broken.len();
            self.outbox.notify(Event::PromisesSuspended { broken });
        }
        self.find_detours(&unprepared);
        self.follow_links();
    }

    /// Returns whether more is broken than promises cover.
    pub(super) fn promises_are_suspended(&self) -> bool {
        let carries_promises = |link: &&LinkEnds| {
            let mut flows = self.flows.over(**link).filter_map(|id| self.flows.get(id));
            flows.any(|flow| flow.reservation.is_some())
        };
        self.broken.len() > 1 && self.broken.iter().filter(carries_promises).nth(1).is_some()
    }

    /// Sends what was prepared for the loss of a link. Returns the flows for
    /// which nothing was.
    fn restore(&mut self, link: LinkEnds) -> Vec<FlowId> {
        let (mut prepared, mut unprepared) = (Vec::new(), Vec::new());
        for id in self.flows.over(link) {
            let Some(flow) = self.flows.get(id).filter(|flow| flow.way == Way::Base) else {
                continue;
            };
            match self.alternative(flow, link) {
                _ if flow.standing == Standing::Proposed => {}
                Some(index) => prepared.push((id, index)),
                None => unprepared.push(id),
            }
        }
        let displaced = self.flows.displaced().filter_map(|id| self.flows.get(id));
        let hit = displaced.filter(|flow| {
            let mut links = flow.tree().into_iter().flat_map(Tree::links);
            links.any(|crossed| crossed == link)
        });
        unprepared.extend(hit.map(|flow| flow.id));
        if prepared.is_empty() {
            return unprepared;
        }
        self.send_prepared(link, &prepared);
        for (id, index) in prepared {
            self.flows.set_way(id, Way::Alternative(index));
        }
        unprepared
    }

    /// Returns the alternative of a flow for the loss of a link, unless that is
    /// broken as well.
    fn alternative(&self, flow: &Flow, link: LinkEnds) -> Option<usize> {
        let mut alternatives = flow.admission.alternatives.iter();
        let index = alternatives.position(|(broken, _)| *broken == link)?;
        let tree = &flow.admission.alternatives[index].1;
        (self.broken.len() == 1 || self.is_whole(tree)).then_some(index)
    }

    /// Takes what flows from the store rely on and nobody has confirmed yet as
    /// broken, if its port is down or its probes do not arrive in time.
    pub(super) fn check_expected(&mut self) {
        let timeout = self.timers.link_timeout;
        let mut broken = Vec::new();
        for (link, since) in &mut self.expected {
            let is_there = |end: &PortId| self.sessions.of_switch(end.datapath).is_some();
            let ends = link.both();
            let is_connected = ends.iter().all(is_there);
            let is_down = |end: &PortId| {
                let port = self.view.port(*end);
                is_there(end) && port.is_some_and(|port| port.carrier == Carrier::Down)
            };
            if ends.iter().any(is_down) {
                broken.push((*link, Detection::PortStatus));
            } else if is_connected {
                let since = *since.get_or_insert(self.now);
                if self.now.saturating_since(since) >= timeout {
                    broken.push((*link, Detection::Silence));
                }
            }
        }
        for (link, detection) in broken {
            self.link_broken(link, detection);
        }
    }

    fn is_whole(&self, tree: &Tree) -> bool {
        tree.links().all(|link| !self.broken.contains(&link))
    }

    /// Copies out what was prepared, and nothing else.
    fn send_prepared(&mut self, link: LinkEnds, prepared: &[(FlowId, usize)]) {
        let detected_at = self.now;
        self.outbox
            .notify(Event::RestorationStarted { link, detected_at });
        let mut slots = BTreeSet::new();
        let mut flow_mods = 0;
        for (id, index) in prepared {
            let Some(flow) = self.flows.get(*id) else {
                continue;
            };
            let batch = &flow.restorations[*index];
            flow_mods += batch.messages();
            for (datapath, bytes) in batch.pieces() {
                if let Some(slot) = self.sessions.of_switch(datapath) {
                    self.outbox.to(slot).extend_from_slice(bytes);
                    slots.insert(slot);
                }
            }
        }
        let (flows, switches) = (prepared.len(), slots.len());
        let operation = Operation::Restore(Restoration {
            link,
            detected_at,
            flows,
            flow_mods,
            switches,
        });
        self.await_all(operation, slots);
        self.outbox.notify(Event::RestorationSent {
            link,
            detected_at,
            flows,
            flow_mods,
        });
    }

    /// Finds ways for flows for which nothing was prepared.
    fn find_detours(&mut self, flows: &[FlowId]) {
        let mut transition = Transition::default();
        for id in flows {
            let Some(flow) = self.flows.get(*id) else {
                continue;
            };
            let way = self.best_way(flow);
            self.change_way(*id, way, &mut transition);
        }
        let mut slots = BTreeSet::new();
        for stage in transition.into_stages() {
            slots.extend(self.send(&stage));
        }
        let operation = Operation::Move(Move {
            stages: Stages::default(),
            flows: Vec::new(),
        });
        self.await_all(operation, slots);
    }

    /// Returns the best way that is whole: the base tree, an alternative for
    /// what is broken, a detour.
    pub(super) fn best_way(&self, flow: &Flow) -> Way {
        let admission = &flow.admission;
        if self.is_whole(&admission.base) {
            return Way::Base;
        }
        let mut alternatives = admission.alternatives.iter();
        let fits = |(link, tree): &(LinkEnds, Tree)| !self.view.is_up(*link) && self.is_whole(tree);
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
                &self.view,
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

    /// Lets a flow take another way, adds its messages to a transition, and
    /// tells if its promise ends or begins with that.
    fn change_way(&mut self, id: FlowId, way: Way, transition: &mut Transition) {
        let Some(flow) = self.flows.get(id) else {
            return;
        };
        let (before, old) = (flow.entries(), flow.tree().cloned());
        self.flows.set_way(id, way);
        let Some(flow) = self.flows.get_mut(id) else {
            return;
        };
        let from = Course {
            entries: &before,
            tree: old.as_ref(),
        };
        let to = Course {
            entries: &flow.entries(),
            tree: flow.tree(),
        };
        transition.add(&flow.rule, from, to);
        let is_kept = matches!(flow.way, Way::Base | Way::Alternative(_));
        match flow.promise {
            Promise::Holds if !is_kept => {
                flow.promise = Promise::Suspended;
                let travels = flow.travels();
                self.outbox.notify(Event::Degraded { flow: id, travels });
            }
            Promise::Holds | Promise::Suspended | Promise::None => {}
        }
    }

    /// Moves flows that do not take their base tree to the best way there is.
    pub(super) fn reconsider_displaced(&mut self) {
        self.finish_moves();
        let displaced: Vec<FlowId> = self.flows.displaced().collect();
        let mut transition = Transition::default();
        let mut moved = Vec::new();
        for id in displaced {
            let Some(flow) = self.flows.get(id) else {
                continue;
            };
            let way = self.best_way(flow);
            if way != flow.way {
                self.change_way(id, way, &mut transition);
                moved.push(id);
            }
        }
        if !moved.is_empty() {
            self.advance(Move {
                stages: transition.into_parts(),
                flows: moved,
            });
        }
    }

    /// Sends the next stage that builds the new way; waits until the old one is
    /// empty if there is none.
    fn advance(&mut self, mut moving: Move) {
        while let Some(stage) = moving.stages.build.pop_front() {
            let slots = self.send(&stage);
            if !slots.is_empty() {
                self.await_all(Operation::Move(moving), slots);
                return;
            }
        }
        let until = self.now + self.travel_time(&moving.flows);
        self.moved(&moving.flows);
        if !moving.stages.clear.is_empty() {
            let left = std::mem::take(&mut moving.stages.clear);
            self.lingering.push(Lingering { until, left });
        }
    }

    /// Returns the longest time for which a frame with a promise may be on its
    /// way. Frames without one are not waited for.
    fn travel_time(&self, flows: &[FlowId]) -> Duration {
        let flows = flows.iter().filter_map(|flow| self.flows.get(*flow));
        let longest = flows.filter_map(|flow| flow.admission.guarantee).max();
        longest.unwrap_or_default().round_up()
    }

    /// Takes the old ways away that have become empty.
    pub(super) fn clear_old_ways(&mut self) {
        let now = self.now;
        let is_empty = |lingering: &mut Lingering| lingering.until <= now;
        let emptied: Vec<_> = self.lingering.extract_if(.., is_empty).collect();
        for Lingering { left, .. } in emptied {
            self.advance(Move {
                stages: Stages {
                    build: left,
                    clear: VecDeque::new(),
                },
                flows: Vec::new(),
            });
        }
    }

    /// Sends all that is left of the moves under way: what follows relies on
    /// entries being what they should be.
    pub(super) fn finish_moves(&mut self) {
        let mut left = Vec::new();
        for operation in self.confirmations.waiting_mut() {
            match operation {
                Operation::Move(moving) => {
                    let Stages { build, clear } = std::mem::take(&mut moving.stages);
                    left.extend(build.into_iter().chain(clear));
                }
                Operation::Install(_)
                | Operation::Restore(_)
                | Operation::Place(_)
                | Operation::Synchronise { .. } => {}
            }
        }
        left.extend(
            self.lingering
                .drain(..)
                .flat_map(|lingering| lingering.left),
        );
        for stage in left {
            self.send(&stage);
        }
    }

    /// Tells which flows are back, and whose promises hold again.
    fn moved(&mut self, flows: &[FlowId]) {
        let mut back = 0;
        for id in flows {
            let Some(flow) = self.flows.get_mut(*id) else {
                continue;
            };
            back += usize::from(flow.way == Way::Base);
            let is_kept = matches!(flow.way, Way::Base | Way::Alternative(_));
            let is_reserved = flow.reservation.is_some();
            let is_installed = flow.installation != Installation::Refused;
            if flow.promise == Promise::Suspended && is_kept && is_reserved && is_installed {
                flow.promise = Promise::Holds;
                self.outbox.notify(Event::Recovered { flow: *id });
            }
        }
        if back > 0 {
            self.outbox.notify(Event::Returned { flows: back });
        }
    }

    /// Copies a batch to the connections of its switches and returns those that
    /// are connected. The others are given what they lack when they come back.
    pub(super) fn send(&mut self, batch: &Batch) -> BTreeSet<Slot> {
        let mut slots = BTreeSet::new();
        for (datapath, bytes) in batch.pieces() {
            if let Some(slot) = self.sessions.of_switch(datapath) {
                self.outbox.to(slot).extend_from_slice(bytes);
                slots.insert(slot);
            }
        }
        slots
    }

    /// Asks switches to confirm what they were sent; what is confirmed by all is
    /// completed.
    pub(super) fn await_all(
        &mut self,
        operation: Operation,
        slots: impl IntoIterator<Item = Slot>,
    ) {
        let outbox = &mut self.outbox;
        let complete = self
            .confirmations
            .await_all(operation, slots, |slot, emit| emit(outbox.to(slot)));
        if let Some(operation) = complete {
            self.confirmed(operation);
        }
    }

    /// Completes an operation that all its switches have confirmed.
    pub(super) fn confirmed(&mut self, operation: Operation) {
        match operation {
            Operation::Install(flow) => self.installed(flow),
            Operation::Move(moving) => self.advance(moving),
            Operation::Place(placement) => self.advance_placement(placement),
            Operation::Restore(restoration) => {
                let confirmed_at = self.now;
                self.outbox.notify(restoration.into_event(confirmed_at));
            }
            Operation::Synchronise {
                datapath,
                added,
                removed,
            } => {
                self.outbox.notify(Event::Synchronised {
                    datapath,
                    added,
                    removed,
                });
                let pending = self.flows.iter().filter(|flow| {
                    flow.installation == Installation::Pending
                        && flow.switches().any(|visited| visited == datapath)
                });
                let pending: Vec<FlowId> = pending.map(|flow| flow.id).collect();
                pending.into_iter().for_each(|flow| self.installed(flow));
                self.settle_switch(datapath);
            }
        }
    }

    /// Gives a flow that is in force now its entries.
    pub(super) fn install(&mut self, id: FlowId) {
        let Some(flow) = self.flows.get(id) else {
            return;
        };
        let way = self.best_way(flow);
        self.flows.set_way(id, way);
        let Some(flow) = self.flows.get(id) else {
            return;
        };
        let mut transition = Transition::default();
        let from = Course {
            entries: &Entries::new(),
            tree: None,
        };
        let to = Course {
            entries: &flow.entries(),
            tree: flow.tree(),
        };
        transition.add(&flow.rule, from, to);
        self.install_stages(id, transition);
    }

    /// Sends all stages at once.
    pub(super) fn install_stages(&mut self, id: FlowId, transition: Transition) {
        let mut slots = BTreeSet::new();
        for stage in transition.into_stages() {
            slots.extend(self.send(&stage));
        }
        self.await_all(Operation::Install(id), slots);
    }

    /// Notes that the entries of a flow are confirmed, if all its switches are
    /// there and none has refused.
    fn installed(&mut self, id: FlowId) {
        let Some(flow) = self.flows.get(id) else {
            return;
        };
        let is_there = flow
            .switches()
            .all(|switch| self.sessions.of_switch(switch).is_some());
        let is_pending =
            flow.installation == Installation::Pending && flow.standing == Standing::Admitted;
        if is_there
            && is_pending
            && let Some(flow) = self.flows.get_mut(id)
        {
            flow.installation = Installation::Confirmed;
            self.outbox.notify(Event::Installed { flow: id });
        }
    }

    /// Returns what it costs a flow of `class` to leave by a port.
    pub(super) fn cost(&self, class: u8) -> impl Fn(PortId) -> u64 + '_ {
        move |port| match self.metric {
            crate::config::Metric::Links => 1,
            crate::config::Metric::Delay => self.reservations.hop_delay(port, class).as_ps(),
        }
    }
}

impl Restoration {
    fn into_event(self, confirmed_at: Instant) -> Event {
        Event::Restored {
            link: self.link,
            detected_at: self.detected_at,
            confirmed_at,
            flows: self.flows,
            flow_mods: self.flow_mods,
            switches: self.switches,
        }
    }
}
