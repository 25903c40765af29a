//! How long frames of promised flows stay at each hop, against its budget: switches are told
//! the budgets of their queues, say unasked where frames stayed longer, and tell the rest
//! when somebody wants to know.

use std::collections::BTreeMap;

use units::{Delay, Duration};
use wire::openflow::taktos::{HopConfig, HopEvent, HopMessage, WatchedQueue};
use wire::openflow::{DatapathId, PortNumber, QueueId, Sequence, TransactionId};

use crate::admission::{LedgerPlace as StagePlace, Reservations};
use crate::desired::EntryOwner;
use crate::flows::Flow;
use crate::northbound::{Event, FlowHops, FlowId, HopSeen, Reply};
use crate::place::{Place, PortId};

use super::{Context, Network, Promises};

/// What switches were told of their budgets.
#[derive(Debug, Default)]
pub struct HopBudgets {
    told: BTreeMap<DatapathId, Vec<WatchedQueue>>,
    /// How often budgets had been chosen and how many stages there were when switches were
    /// told.
    seen: Option<(u64, usize, u64)>,
}

impl Promises {
    /// Tells the switches that can watch their queues the budgets that there are now, where
    /// they are others than they were told.
    pub fn tell_budgets(&mut self, ctx: &mut Context) {
        let (choices, places) = (self.reservations.choices(), self.reservations.places.len());
        let now = Some((choices, places, ctx.policing.changes()));
        if self.hops.seen == now {
            return;
        }
        self.hops.seen = now;
        let mut budgets = budgets_of(&self.reservations);
        self.hops
            .told
            .retain(|datapath, _| ctx.policing.is_able(*datapath));
        for datapath in ctx.policing.able() {
            let Some(slot) = ctx.sessions.of_switch(datapath) else {
                continue;
            };
            let wanted = budgets.remove(&datapath).unwrap_or_default();
            if self.hops.told.get(&datapath) == Some(&wanted) {
                continue;
            }
            let queues = Sequence::of(&wanted);
            let message = HopMessage::Config(HopConfig { queues });
            message.emit(TransactionId(0), ctx.outbox.to(slot));
            self.hops.told.insert(datapath, wanted);
        }
    }

    /// Has a switch be told anew what it may have forgotten.
    pub fn forget_told_budgets(&mut self, datapath: DatapathId) {
        self.hops.told.remove(&datapath);
        self.hops.seen = None;
    }

    /// Tells of frames that stayed longer at a hop than it has promised.
    pub fn hop_exceeded(
        ctx: &mut Context,
        network: &Network,
        datapath: DatapathId,
        said: &HopEvent,
    ) {
        let Some(flow) = flow_of(network, datapath, said.cookie) else {
            return;
        };
        let at = PortId::new(datapath, said.port);
        ctx.outbox.notify(Event::HopExceeded {
            flow: flow.id,
            name: Some(flow.admission.requirement.name.clone()),
            at: Place::new(at, ctx.name_of_switch(datapath)),
            budget: said.budget,
            longest: said.longest,
            frames: said.frames,
        });
    }

    /// Lists what hops have said of the flows with numbers above `after`, at most so many, and
    /// asks switches anew.
    pub fn list_hops(
        ctx: &mut Context,
        network: &mut Network,
        after: FlowId,
        most: usize,
    ) -> Reply {
        network.tables.ask_for_counts(ctx);
        let flows = network.owners.flows.after(after);
        let promised = flows.filter(|flow| flow.is_admitted());
        let listed = promised.take(most).map(|flow| hops_of(ctx, flow));
        Reply::Hops(listed.collect())
    }
}

fn flow_of(
    network: &Network,
    datapath: DatapathId,
    cookie: wire::openflow::Cookie,
) -> Option<&Flow> {
    let (_, rule) = network.tables.desired.by_cookie(datapath, cookie)?;
    match rule.subject {
        EntryOwner::Flow(flow) => network.owners.flows.get(flow),
        _ => None,
    }
}

/// Returns the queues in which something may be promised, with how long a frame may stay in
/// the switch that leaves through one: the budgets of its processor and of the port.
fn budgets_of(reservations: &Reservations) -> BTreeMap<DatapathId, Vec<WatchedQueue>> {
    let stages = || reservations.places.iter().zip(reservations.ledger.stages());
    let mut processing: BTreeMap<DatapathId, Delay> = BTreeMap::new();
    for (place, stage) in stages() {
        if let StagePlace::Switch(datapath) = place {
            processing.insert(*datapath, stage.budget(0).unwrap_or_default());
        }
    }
    let mut all: BTreeMap<DatapathId, Vec<WatchedQueue>> = BTreeMap::new();
    for (place, stage) in stages() {
        let StagePlace::Port(port) = place else {
            continue;
        };
        let before = processing.get(&port.datapath).copied().unwrap_or_default();
        for class in 1..8 {
            let budget = stage.budget(class).filter(|budget| *budget > Delay::ZERO);
            let budget = budget.and_then(|budget| budget.checked_add(before));
            all.entry(port.datapath)
                .or_default()
                .extend(budget.map(|budget| WatchedQueue {
                    port: port.port,
                    queue: QueueId(u32::from(class)),
                    budget: Some(budget.round_up()),
                }));
        }
    }
    all
}

/// Returns what the hops of a flow's way have last said of it.
fn hops_of(ctx: &Context, flow: &Flow) -> FlowHops {
    let requirement = &flow.admission.requirement;
    let mut hops = Vec::new();
    let branches = flow
        .tree()
        .map(|tree| &tree.branches[..])
        .unwrap_or_default();
    for branch in branches {
        let session = ctx.sessions.of_switch(branch.datapath);
        let session = session.and_then(|slot| ctx.sessions.get(slot));
        for port in &branch.outputs {
            let at = PortId::new(branch.datapath, *port);
            let said = session.and_then(|it| it.telemetry.hops.said.get(&(flow.id, *port)));
            hops.push(HopSeen {
                at: Place::new(at, ctx.name_of_switch(branch.datapath)),
                queue: requirement.class,
                seen: said.copied(),
            });
        }
    }
    FlowHops {
        id: flow.id,
        name: requirement.name.clone(),
        guarantee: flow.admission.guarantee,
        observed: observed(ctx, flow),
        hops,
    }
}

/// Returns the longest that a frame may have been on its way, as hops have seen: on the way
/// to the receiver that is worst off the first link, the longest stay at each hop, and the
/// propagation behind it. Nothing if a hop has not said anything.
fn observed(ctx: &Context, flow: &Flow) -> Option<Duration> {
    let tree = flow.tree()?;
    let source = flow.admission.source;
    let first = *ctx.parameters.of(source.datapath).port(source.port);
    let largest = flow.admission.requirement.traffic.largest_frame;
    let begin = first.rate.time_to_send(largest) + first.propagation;
    let mut until: Vec<BTreeMap<PortNumber, Delay>> = Vec::new();
    let mut longest = None;
    for branch in &tree.branches {
        let before = match branch.parent {
            None => begin,
            Some((parent, port)) => *until.get(parent)?.get(&port)?,
        };
        let session = ctx.sessions.get(ctx.sessions.of_switch(branch.datapath)?)?;
        let mut after = BTreeMap::new();
        for port in &branch.outputs {
            let seen = session.telemetry.hops.said.get(&(flow.id, *port))?;
            let behind = ctx.parameters.of(branch.datapath).port(*port).propagation;
            let at = before + Delay::from_ns(seen.longest.as_ns()) + behind;
            after.insert(*port, at);
            longest = longest.max(Some(at));
        }
        until.push(after);
    }
    longest.map(Delay::round_up)
}
