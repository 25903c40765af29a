//! How long frames of promised flows stay at each hop, against its budget: switches are told
//! the budgets of their queues, say unasked where frames stayed longer, and tell the rest
//! when somebody wants to know.

use std::collections::{BTreeMap, BTreeSet};

use units::{Delay, Duration, Instant};
use wire::openflow::taktos::{HopConfig, HopEvent, HopMessage, WatchedQueue};
use wire::openflow::{DatapathId, PortNumber, QueueId, Sequence, TransactionId};

use crate::admission::{LedgerPlace as StagePlace, Reservations};
use crate::desired::EntryOwner;
use crate::flows::Flow;
use crate::hop_audit::LONGEST_BELIEVED;
use crate::northbound::{Event, FlowHops, FlowId, HopSeen, Reply, RequestId};
use crate::place::{Place, PortId};

use super::profile_watch::is_contradiction;
use super::{Context, Network, Promises};

/// How long somebody waits for what switches say of stays; who has not said it by then is not
/// waited for.
const ANSWERED_WITHIN: Duration = Duration::from_ms(500);
/// The most who wait; others are told what was said before.
const WAITING_MAX: usize = 64;

/// Somebody who waits for what switches say.
#[derive(Clone, Copy, Debug)]
struct PendingHops {
    id: RequestId,
    after: FlowId,
    most: usize,
    until: Instant,
}

/// What switches were told of their budgets, and who waits for what they say.
#[derive(Debug)]
pub struct HopBudgets {
    /// Whether anything is to be watched.
    is_wanted: bool,
    told: BTreeMap<DatapathId, Vec<WatchedQueue>>,
    waiting: Vec<PendingHops>,
    /// The budgets of queues that switches were told since they are connected.
    ever_told: BTreeMap<DatapathId, BTreeSet<(PortNumber, QueueId, Duration)>>,
    /// How often budgets had been chosen and how many stages there were when switches were
    /// told.
    seen: Option<(u64, usize, u64)>,
}

/// The most budgets that a switch is remembered to have been told.
const MAX_REMEMBERED: usize = 16_384;

impl HopBudgets {
    pub const fn new(is_wanted: bool) -> Self {
        Self {
            is_wanted,
            told: BTreeMap::new(),
            waiting: Vec::new(),
            ever_told: BTreeMap::new(),
            seen: None,
        }
    }

    /// Returns whether a switch was told the budget of which it says that frames exceeded it.
    pub(super) fn has_told(&self, datapath: DatapathId, said: &HopEvent) -> bool {
        let told = self.ever_told.get(&datapath);
        told.is_some_and(|told| told.contains(&(said.port, said.queue, said.budget)))
    }

    /// Has all switches be told anew what is other than they were told.
    pub(super) const fn look_again(&mut self) {
        self.seen = None;
    }

    /// Takes note of what a switch is told.
    fn note(&mut self, datapath: DatapathId, queues: Vec<WatchedQueue>) {
        let ever = self.ever_told.entry(datapath).or_default();
        if ever.len() + queues.len() > MAX_REMEMBERED {
            ever.clear();
        }
        ever.extend(
            queues
                .iter()
                .filter_map(|it| Some((it.port, it.queue, it.budget?))),
        );
        self.told.insert(datapath, queues);
    }
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
        let mut budgets = match self.hops.is_wanted {
            true => budgets_of(&self.reservations),
            // A switch that another controller has told before watches nothing any more.
            false => BTreeMap::new(),
        };
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
            self.hops.note(datapath, wanted);
        }
    }

    /// Has a switch be told anew what it may have forgotten.
    pub fn forget_told_budgets(&mut self, datapath: DatapathId) {
        self.hops.told.remove(&datapath);
        self.sessions.forget(datapath);
        self.hops.ever_told.remove(&datapath);
        self.profiles.begin_anew(datapath);
        self.hops.seen = None;
    }

    /// Tells of frames that stayed longer at a hop than it has promised.
    pub fn hop_exceeded(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        datapath: DatapathId,
        said: &HopEvent,
    ) {
        let id = flow_of(network, datapath, said.cookie).map(|flow| flow.id);
        self.note_exceeded(ctx, network, (datapath, id), said);
        let Some(flow) = id.and_then(|id| network.owners.flows.get(id)) else {
            return;
        };
        if is_contradiction(said) {
            return;
        }
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

    /// Lists what hops have said of the flows with numbers above `after`, at most so many, once
    /// the switches have answered that are asked anew.
    pub fn list_hops(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        id: RequestId,
        (after, most): (FlowId, usize),
    ) {
        network.tables.ask_for_counts(ctx);
        let waiting = PendingHops {
            id,
            after,
            most,
            until: ctx.now + ANSWERED_WITHIN,
        };
        match self.hops.waiting.len() < WAITING_MAX && is_awaited(ctx) {
            true => self.hops.waiting.push(waiting),
            false => waiting.answer(ctx, network),
        }
    }

    /// Answers those who wait for what switches say, if they have said it or take too long.
    pub fn answer_hops(&mut self, ctx: &mut Context, network: &Network) {
        if self.hops.waiting.is_empty() {
            return;
        }
        let (now, is_awaited) = (ctx.now, is_awaited(ctx));
        let is_over = |it: &mut PendingHops| !is_awaited || now >= it.until;
        for waiting in self.hops.waiting.extract_if(.., is_over) {
            waiting.answer(ctx, network);
        }
    }
}

impl PendingHops {
    fn answer(self, ctx: &mut Context, network: &Network) {
        let flows = network.owners.flows.after(self.after);
        let promised = flows.filter(|flow| flow.is_admitted());
        let listed = promised.take(self.most).map(|flow| hops_of(ctx, flow));
        let reply = Reply::Hops(listed.collect());
        ctx.outbox.reply(self.id, reply);
    }
}

/// Returns whether a switch is to say yet what it has seen of stays.
fn is_awaited(ctx: &Context) -> bool {
    let mut ready = ctx.sessions.ready();
    ready.any(|(_, slot)| {
        let session = ctx.sessions.get(slot);
        session.is_some_and(|session| session.telemetry.hops.is_awaited())
    })
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
            let stay = Some(seen.longest).filter(|it| *it <= LONGEST_BELIEVED)?;
            let at = before + Delay::from(stay) + behind;
            after.insert(*port, at);
            longest = longest.max(Some(at));
        }
        until.push(after);
    }
    longest.map(Delay::round_up)
}
