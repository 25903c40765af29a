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
use wire::openflow::DatapathId;

use crate::desired::EntryOwner;
use crate::flows::{Flow, Standing, Way};
use crate::northbound::{Detection, Event, FlowId};
use crate::path::Tree;
use crate::place::{LinkEnds, PortId};
use crate::record::Admission;
use crate::session::{Session, Slot};
use crate::view::{Carrier, Control, LinkId};

use super::tables::{Operation, Restoration};
use super::{Context, Network, Owners, Topology};

/// How many flows are sent what was prepared for them first. Each slice that follows is as
/// large as all before it together: the first FlowMods leave soon, and few slices remain.
const RESTORED_FIRST: usize = 64;

/// How links that fail are made up for.
#[derive(Debug, Default)]
pub struct Recovery {
    /// The break that is being made up for.
    pub restoring: Option<Restoring>,
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
pub struct Restoring {
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
    pub fn link_found(ctx: &mut Context, network: &mut Network, link: LinkId) {
        let link = network.topology.view.links()[link.index()].ends;
        ctx.outbox.notify(Event::LinkFound { link });
        ctx.promises_changed();
        for end in link.both() {
            network.topology.contests.forget_at(end);
        }
        network.topology.link_trust.found(link);
        network.topology.prove_link(ctx, link);
        network.topology.keep_link(ctx, link);
        network.topology.expected.remove(&link);
        let was_suspended = network.owners.promises_are_suspended(&network.topology);
        network.topology.broken.remove(&link);
        if was_suspended && !network.owners.promises_are_suspended(&network.topology) {
            ctx.outbox.notify(Event::PromisesResumed);
        }
        Self::rescue(ctx, network);
        network.owners.return_soon(ctx);
        network
            .owners
            .intents_gain(ctx, &mut network.topology, link);
        network.owners.follow_link(ctx, &network.topology, link);
    }

    /// Gives the flows that have no way one over a link that was found: they have nothing
    /// to lose by it if it does not stay.
    fn rescue(ctx: &mut Context, network: &mut Network) {
        let cut: Vec<FlowId> = Self::cut(network).collect();
        if !cut.is_empty() {
            Self::reconsider(ctx, network, cut);
        }
    }

    /// Believes a link that was lost too often, and is there, if a promised flow does not reach
    /// all of its receivers.
    pub fn believe_for_want_of_another(ctx: &Context, network: &mut Network, link: LinkEnds) {
        let flows = &network.owners.flows;
        let is_promised = |id| flows.get(id).is_some_and(|it| it.reservation.is_some());
        if network.topology.link_trust.is_held(ctx.now, link) && Self::cut(network).any(is_promised)
        {
            network.topology.link_trust.release(link);
        }
    }

    /// Returns the flows that do not reach all of their receivers.
    fn cut(network: &Network) -> impl Iterator<Item = FlowId> {
        let Network {
            owners, topology, ..
        } = network;
        let is_cut = |flow: &Flow| match &flow.way {
            Way::Nowhere => true,
            Way::Detour(tree) if tree.leaves().count() < flow.admission.destinations.len() => true,
            way @ (Way::Base | Way::Alternative(_) | Way::Detour(_)) => flow
                .tree_of(way)
                .is_none_or(|tree| !topology.is_whole(tree)),
        };
        let displaced = owners.flows.displaced();
        displaced.filter(move |id| owners.flows.get(*id).is_some_and(is_cut))
    }

    /// Moves all flows away from a link that the view has lost.
    pub fn link_lost(
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
        let loss = Loss {
            link,
            detection,
            wait,
        };
        self.link_broken(ctx, network, loss);
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
        Self::end_moves_over(ctx, network, link);
        let (prepared, unprepared) = Self::concerned(network, link);
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
    pub fn restore_rest(&mut self, ctx: &mut Context, network: &mut Network) {
        while self.restoring.is_some() {
            self.restore_some(ctx, network);
        }
    }

    /// Sends a slice of what was prepared for the loss of a link; behind the last one
    /// does all else.
    pub fn restore_some(&mut self, ctx: &mut Context, network: &mut Network) {
        let Some(mut restoring) = self.restoring.take() else {
            return;
        };
        Self::send_prepared(ctx, &network.owners, &mut restoring);
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
        let unprepared = Self::restoration_sent(ctx, network, restoring);
        ctx.outbox.notify(Event::LinkLost { link, detection });
        if !was_suspended && network.owners.promises_are_suspended(&network.topology) {
            let broken = network.topology.broken.len();
            ctx.outbox.notify(Event::PromisesSuspended { broken });
        }
        Self::find_detours(ctx, network, &unprepared);
        network.owners.intents_lose(&mut network.topology, link);
        network.owners.follow_links(ctx, &network.topology);
        if let Some(wait) = wait {
            ctx.outbox.notify(Event::LinkFlaps { link, wait });
        }
    }

    /// Ends the moves of flows that a broken link concerns: a flow that would be
    /// led over it and still travels elsewhere stays there, any other one gets
    /// the rest of its move at once.
    fn end_moves_over(ctx: &mut Context, network: &mut Network, link: LinkEnds) {
        if network.tables.moves.is_empty() {
            return;
        }
        let crosses = |tree: Option<&Tree>| {
            let mut links = tree.into_iter().flat_map(Tree::links);
            links.any(|crossed| crossed == link)
        };
        let flows = &network.owners.flows;
        let concerned: BTreeSet<FlowId> = flows.over(link).chain(flows.displaced()).collect();
        for id in concerned {
            let subject = EntryOwner::Flow(id);
            let Some(flow) = network.owners.flows.get(id) else {
                continue;
            };
            let copies = flow.admission.ways.copies();
            let is_carried = copies.is_some_and(|copies| network.topology.is_one_whole(copies));
            if is_carried && flow.way == Way::Base {
                // What carries it goes on doing so until the move is done.
                continue;
            }
            let to = network.tables.moves.way_to(id);
            let is_led_there = crosses(to.and_then(|way| flow.tree_of(way)));
            let is_there = crosses(flow.tree());
            if is_led_there && !is_there && !network.tables.moves.is_switched(subject) {
                Self::stay(ctx, network, id);
            } else if is_led_there || is_there || flow.way == Way::Base {
                network.tables.hasten(ctx, &mut network.owners, subject);
            }
        }
    }

    /// Ends the move of a flow before any frame has taken the new way.
    fn stay(ctx: &mut Context, network: &mut Network, id: FlowId) {
        network.tables.moves.take(EntryOwner::Flow(id));
        let Some(flow) = network.owners.flows.get(id) else {
            return;
        };
        let wanted = flow.content(&flow.way);
        network.set_content_at_once(ctx, EntryOwner::Flow(id), &wanted);
    }

    /// Returns the flows that the loss of a link concerns: those for which something was
    /// prepared, with its place, and the others.
    fn concerned(network: &Network, link: LinkEnds) -> (Vec<(FlowId, usize)>, Vec<FlowId>) {
        let flows = &network.owners.flows;
        let (mut prepared, mut unprepared) = (Vec::new(), Vec::new());
        for id in flows.over(link) {
            let Some(flow) = flows.get(id).filter(|flow| flow.way == Way::Base) else {
                continue;
            };
            let copies = flow.admission.ways.copies();
            if copies.is_some_and(|copies| network.topology.is_one_whole(copies)) {
                // The other copy goes on.
                continue;
            }
            match network.topology.alternative(flow, link) {
                _ if flow.standing == Standing::Proposed => {}
                Some(index) => prepared.push((id, index)),
                None => unprepared.push(id),
            }
        }
        let displaced = flows.displaced().filter_map(|id| flows.get(id));
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
        ctx: &mut Context,
        network: &mut Network,
        restoring: Restoring,
    ) -> Vec<FlowId> {
        let Network { owners, tables, .. } = network;
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
        if let Some(Operation::Restore(restoration)) = tables.await_all(ctx, operation, slots) {
            tables.restored(ctx, owners, restoration);
        }
        ctx.outbox.notify(Event::RestorationSent {
            link,
            detected_at,
            flows,
            flow_mods,
        });
        for (id, index) in prepared {
            owners.flows.set_way(id, Way::Alternative(index));
            let flow = owners.flows.get(id);
            if !flow.is_some_and(Flow::is_healed_locally) {
                tables.unrecorded.insert(id);
            }
        }
        unprepared
    }

    /// Takes what flows from the store rely on and nobody has confirmed yet as
    /// broken, if its port is down or its probes do not arrive in time.
    pub fn check_expected(&mut self, ctx: &mut Context, network: &mut Network) {
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
                if ctx.heard_for(*link, since) >= timeout {
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
    fn send_prepared(ctx: &mut Context, owners: &Owners, restoring: &mut Restoring) {
        let mut scratch = Vec::new();
        let from = restoring.sent;
        let slice = restoring.prepared[from..]
            .iter()
            .take(RESTORED_FIRST.max(from));
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
    fn find_detours(ctx: &mut Context, network: &mut Network, flows: &[FlowId]) {
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
    pub fn reconsider_displaced(ctx: &mut Context, network: &mut Network) {
        let displaced = network.owners.flows.displaced().collect();
        Self::reconsider(ctx, network, displaced);
    }

    /// Moves flows to the best ways that they have now.
    fn reconsider(ctx: &mut Context, network: &mut Network, flows: Vec<FlowId>) {
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

    /// Sends the echoes that are due to switches that are not heard, and to those that
    /// have not answered one yet. Loses the links over which they cease.
    pub fn ask_suspects(&mut self, ctx: &mut Context, network: &mut Network) {
        let known = network.topology.view.switches().iter();
        let known = known.filter(|switch| switch.control != Control::Forgotten);
        let all: Vec<DatapathId> = known.map(|switch| switch.datapath).collect();
        let suspects = all.iter().filter(|at| ctx.is_suspect(**at)).count();
        if std::mem::replace(&mut network.topology.suspects, suspects) != suspects {
            ctx.promises_changed();
        }
        for datapath in all {
            match ctx.is_suspect(datapath) {
                true => self.ask_suspect(ctx, network, datapath),
                false => network.topology.prove(ctx, datapath),
            }
        }
    }

    fn ask_suspect(&mut self, ctx: &mut Context, network: &mut Network, datapath: DatapathId) {
        let asking = network.topology.asking(ctx, datapath);
        let mut is_lost = false;
        for (link, port) in &asking {
            if !Topology::is_echo_due(ctx, *port) {
                continue;
            }
            let Some(heard_at) = ctx.heard_at(port.datapath) else {
                continue;
            };
            if network.topology.echoes.are_missing(*port, heard_at) {
                is_lost = true;
                network.topology.view.lose(ctx.now, *link);
                self.link_lost(ctx, network, *link, Detection::Silence);
            } else if network.topology.echoes.is_proved(*port) {
                network.topology.send_echo(ctx, *port);
                // So that it is known soon whether the neighbour has sent it.
                if let Some(slot) = ctx.sessions.of_switch(port.datapath) {
                    Session::ask_for_echo(ctx.outbox.to(slot));
                }
            }
        }
        if is_lost && network.topology.asking(ctx, datapath).is_empty() {
            let name = ctx.name_of_switch(datapath);
            ctx.outbox.notify(Event::SwitchGone { datapath, name });
        }
    }

    pub fn lose_silent_links(&mut self, ctx: &mut Context, network: &mut Network) {
        let timeout = ctx.timers.link_timeout.as_ns();
        let Some(limit) = ctx.now.as_ns().checked_sub(timeout) else {
            return;
        };
        let limit = Instant::from_ns(limit);
        if network.topology.view.trust(limit) {
            network.owners.follow_links(ctx, &network.topology);
        }
        let silent: Vec<LinkId> = network.topology.view.silent_since(limit).collect();
        for link in silent {
            let known = &network.topology.view.links()[link.index()];
            let since = known.confirmed_until();
            if ctx.heard_for(known.ends, since) < ctx.timers.link_timeout {
                continue;
            }
            network.topology.view.lose(ctx.now, link);
            self.link_lost(ctx, network, link, Detection::Silence);
        }
    }
}
