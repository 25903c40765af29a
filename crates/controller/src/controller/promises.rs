//! How promises stand: said in one place, from what is known.
//!
//! A promise is said to hold if everything that it rests on was confirmed lately: every
//! switch on the way that the flow takes is heard and was compared, every link is up by
//! probes, every entry was confirmed, the ports of its hosts have a carrier, nobody
//! else claims to be one of them, the way is one that was reserved, no switch on it is slower
//! than its profile explains, and no more is broken than promises cover. Whoever asks is told
//! what is known at that moment. Changes are told as events, by going through all flows
//! a slice at a time whenever something has changed that a promise may rest on.
//!
//! Whatever else may speak against a promise is one more question in
//! [`Promises::judge`].

use units::{Duration, Instant};

use crate::admission::Reservations;
use crate::config::Config;
use crate::desired::{EntryOwner, Standing};
use crate::flows::{Flow, Installation, Way};
use crate::hosts::contests::CONTEST_LASTS;
use crate::northbound::{Cause, Dispute, Event, FlowId, Promise, PromiseState};
use crate::path::Tree;
use crate::place::{LinkEnds, PortId};
use crate::record::Admission;
use crate::store::{Key, StoreWrite};
use crate::view::Carrier;
use crate::ways::KnownWays;

use super::context::Memory;
use super::contracts::ContractWatch;
use super::copy_watch::CopyWatch;
use super::hops::HopBudgets;
use super::neighbours::ToldSessions;
use super::profile_watch::ProfileWatch;
use super::requests::Desk;
use super::second_ways::{SecondWays, lacks_a_way};
use super::{Context, ModeDesk, Network, Owners, Tables, Topology};

/// How many flows are judged at once.
const JUDGED_AT_ONCE: usize = 64;
/// How long judging rests, for each flow: some ten times as long as it takes.
const REST_A_FLOW: Duration = Duration::from_us(10);
/// How long it rests at least.
const SHORTEST_REST: Duration = Duration::from_ms(20);

/// How long until it is looked again where a stage may have no pause.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What is to be judged anew, and when.
#[derive(Debug)]
pub struct Judging {
    /// The last flow that was judged, while they are gone through.
    after: Option<FlowId>,
    /// When they may be gone through again.
    next: Instant,
    /// When the last dispute about a host is over.
    undisputed: Option<Instant>,
    /// How often budgets had been chosen when guarantees were last told.
    choices: u64,
}

impl Judging {
    pub const fn new(now: Instant) -> Self {
        Self {
            after: None,
            next: now,
            undisputed: None,
            choices: 0,
        }
    }

    /// Takes note that guarantees are known with the budgets that were chosen last.
    pub const fn follow(&mut self, choices: u64) {
        self.choices = choices;
    }

    /// Returns when flows are to be judged.
    pub fn deadline(&self, now: Instant, is_stale: bool) -> Option<Instant> {
        match (self.after, is_stale) {
            (Some(_), _) => Some(now),
            (None, true) => Some(self.next),
            (None, false) => self.undisputed,
        }
    }
}

/// What is known: a state, what says so, and since when, if that is known better than
/// by when it was noticed.
type Verdict = (PromiseState, Option<Cause>, Option<Instant>);

const HOLDS: Verdict = (PromiseState::Holds, None, None);

/// What is promised to flows, and what is done so that it holds.
#[derive(Debug)]
pub struct Promises {
    pub reservations: Reservations,
    /// The ways that were found for flows in the network as it is.
    pub known_ways: KnownWays,
    pub desk: Desk,
    pub judging: Judging,
    pub hops: HopBudgets,
    pub sessions: ToldSessions,
    pub profiles: ProfileWatch,
    pub contracts: ContractWatch,
    pub copies: CopyWatch,
    pub second_ways: SecondWays,
}

impl Promises {
    pub fn new(now: Instant, reservations: Reservations, config: &Config) -> Self {
        Self {
            reservations,
            known_ways: KnownWays::default(),
            desk: Desk::default(),
            judging: Judging::new(now),
            hops: HopBudgets::new(config.watch_hops),
            sessions: ToldSessions::default(),
            profiles: ProfileWatch::new(config.interrupted),
            contracts: ContractWatch::default(),
            copies: CopyWatch::default(),
            second_ways: SecondWays::default(),
        }
    }
}

impl Promises {
    /// Notes that somebody has the address of a host elsewhere than that is.
    pub fn contest(&mut self, ctx: &mut Context, topology: &mut Topology, host: &str, at: PortId) {
        if topology.contests.note(ctx.now, host, at) {
            ctx.promises_changed();
        }
        self.judging.undisputed = Some(ctx.now + CONTEST_LASTS);
    }

    /// Judges a slice of the flows, if something has changed, and tells of those whose
    /// promise stands otherwise than before. Nobody waits for that whose request is being
    /// decided.
    pub fn judge_some(&mut self, ctx: &mut Context, network: &mut Network) {
        if self.desk.is_deciding() {
            return;
        }
        let settled = self.judging.undisputed.take_if(|over| *over <= ctx.now);
        ctx.are_promises_stale |= settled.is_some();
        if self.judging.after.is_none() {
            if !ctx.are_promises_stale || ctx.now < self.judging.next {
                return;
            }
            ctx.are_promises_stale = false;
            self.judging.after = Some(FlowId(0));
        }
        let after = self.judging.after.unwrap_or(FlowId(0));
        let broken = Self::too_much_broken(network);
        let mut last = None;
        let slice = network.owners.flows.after(after).take(JUDGED_AT_ONCE);
        let mut count = 0;
        let mut changed = Vec::new();
        for flow in slice {
            (count, last) = (count + 1, Some(flow.id));
            let promise = Self::promise_of(ctx, network, flow, broken);
            if lacks_a_way(&network.topology, flow) {
                self.second_ways.note_lacking(flow.id);
            }
            if flow.is_admitted() && is_to_tell(flow, &promise) {
                changed.push((flow.id, promise));
            }
        }
        self.judging.after = last.filter(|_| count == JUDGED_AT_ONCE);
        if self.judging.after.is_none() {
            let flows = u64::try_from(network.owners.flows.len()).unwrap_or(u64::MAX);
            let rest = REST_A_FLOW * flows;
            self.judging.next = ctx.now + rest.max(SHORTEST_REST);
        }
        for (id, promise) in changed {
            Self::tell_promise(ctx, &mut network.owners, id, promise);
        }
    }

    /// Has all flows know their guarantees, if budgets have been chosen anew since that was
    /// done last.
    pub fn follow_budgets(&mut self, ctx: &mut Context, owners: &mut Owners) {
        let choices = self.reservations.choices();
        if self.judging.choices == choices || ctx.memory == Memory::Incomplete {
            return;
        }
        self.judging.choices = choices;
        let mut moved = 0;
        for flow in owners.flows.iter_mut() {
            let guarantee = flow
                .reservation
                .and_then(|reservation| self.reservations.guarantee_now(reservation));
            if guarantee.is_some() && flow.admission.guarantee != guarantee {
                flow.admission.guarantee = guarantee;
                moved += usize::from(flow.is_admitted());
            }
        }
        if let Some(slowdown) = self.reservations.slowdown()
            && moved > 0
        {
            ctx.outbox.notify(Event::GuaranteesMoved {
                flows: moved,
                slowdown_thousandths: slowdown.thousandths(),
            });
        }
    }

    fn tell_promise(ctx: &mut Context, owners: &mut Owners, id: FlowId, promise: Promise) {
        let Some(flow) = owners.flows.get_mut(id) else {
            return;
        };
        let before = flow.promise.replace(promise.clone());
        let travels = flow.travels();
        let was_quiet =
            before.is_none() && matches!(promise.state, PromiseState::Holds | PromiseState::None);
        if !was_quiet {
            let name = Some(flow.admission.requirement.name.clone());
            ctx.outbox.notify(Event::PromiseChanged {
                flow: id,
                name,
                promise,
                travels,
            });
        }
    }

    /// Returns how the promise of a flow stands now.
    pub fn promise_now(ctx: &Context, network: &Network, flow: &Flow) -> Promise {
        Self::promise_of(ctx, network, flow, Self::too_much_broken(network))
    }

    fn promise_of(ctx: &Context, network: &Network, flow: &Flow, broken: Option<usize>) -> Promise {
        let (state, cause, since) = Self::judge(ctx, network, flow, broken);
        let told = flow.promise.as_ref().filter(|told| told.state == state);
        let since = told.map_or(since.unwrap_or(ctx.now), |told| told.since);
        Promise {
            state,
            since,
            cause,
        }
    }

    pub(super) fn too_much_broken(network: &Network) -> Option<usize> {
        network
            .owners
            .promises_are_suspended(&network.topology)
            .then_some(network.topology.broken.len())
    }

    fn judge(ctx: &Context, network: &Network, flow: &Flow, broken: Option<usize>) -> Verdict {
        if flow.admission.guarantee.is_none() {
            return (PromiseState::None, None, None);
        }
        let say = |state, cause| (state, Some(cause), None);
        if flow.reservation.is_none() {
            return say(PromiseState::Broken, Cause::NotReserved);
        }
        if let Some(by) = flow.late_by() {
            return say(PromiseState::Broken, Cause::TooLate(by.round_up()));
        }
        if let Some(links) = broken {
            return say(PromiseState::NotCovered, Cause::TooMuchBroken(links));
        }
        let tree = match (&flow.way, flow.tree()) {
            (Way::Base | Way::Alternative(_), Some(tree)) => tree,
            (Way::Detour(_) | Way::Nowhere, _) | (_, None) => {
                return say(PromiseState::NotCovered, Cause::NothingPrepared);
            }
        };
        if flow.installation == Installation::Refused {
            return say(PromiseState::Broken, Cause::Refused);
        }
        Self::unheard(ctx, network, tree)
            .or_else(|| Self::unseen(&network.topology, flow, tree))
            .or_else(|| Self::unconfirmed(ctx, network, flow, tree))
            .or_else(|| Self::disputed(ctx, &network.topology, flow))
            .or_else(|| Self::slow(ctx, flow, tree))
            .or_else(|| Self::one_way_left(&network.topology, flow, tree))
            .or_else(|| Self::one_way_installed(ctx, &network.tables, flow, tree))
            .unwrap_or(HOLDS)
    }

    /// Returns whom on a way nothing is known of.
    fn unheard(ctx: &Context, network: &Network, tree: &Tree) -> Option<Verdict> {
        let mut switches = tree.branches.iter().map(|branch| branch.datapath);
        let datapath =
            switches.find(|at| ctx.is_suspect(*at) || !network.tables.is_synchronised(*at))?;
        let switch = ctx.name_of_switch(datapath);
        let heard = ctx.heard_at(datapath);
        let cause = match ctx.is_suspect(datapath) {
            _ if network.topology.others.contains(&datapath) => Cause::OtherMaster { switch },
            true => Cause::NotHeard { datapath, switch },
            false => Cause::NotCompared { switch },
        };
        let since = heard.filter(|_| matches!(cause, Cause::NotHeard { .. }));
        Some((PromiseState::Unknown, Some(cause), since))
    }

    /// Returns which link on a way, or which port at its ends, does not carry.
    fn unseen(topology: &Topology, flow: &Flow, tree: &Tree) -> Option<Verdict> {
        let spared = !topology.broken.is_empty() && Self::is_carried_without(topology, flow);
        let is_missed = |link: &LinkEnds| {
            !(topology.view.is_up(*link) || spared && topology.broken.contains(link))
        };
        if let Some(link) = tree.links().find(is_missed) {
            let state = match topology.broken.contains(&link) {
                true => PromiseState::Disturbed,
                false => PromiseState::Unknown,
            };
            return Some((state, Some(Cause::LinkNotUp(link)), None));
        }
        let is_dead = |end: &PortId| {
            let port = topology.view.port(*end);
            port.is_none_or(|port| port.carrier == Carrier::Down)
        };
        let ends = flow.admission.destinations.iter();
        let mut ends = std::iter::once(&flow.admission.source).chain(ends);
        let dead = *ends.find(|end| is_dead(end))?;
        let cause = Some(Cause::NoCarrier(dead));
        Some((PromiseState::Disturbed, cause, None))
    }

    /// Returns whether two ways carry a flow, and one of them is whole to each receiver.
    fn is_carried_without(topology: &Topology, flow: &Flow) -> bool {
        let copies = flow.admission.ways.copies();
        flow.way == Way::Base && copies.is_some_and(|copies| topology.is_one_whole(copies))
    }

    /// Returns which broken link takes one of two ways from a flow.
    fn one_way_left(topology: &Topology, flow: &Flow, tree: &Tree) -> Option<Verdict> {
        if topology.broken.is_empty() || !Self::is_carried_without(topology, flow) {
            return None;
        }
        let link = tree.links().find(|link| topology.broken.contains(link))?;
        Some((PromiseState::Holds, Some(Cause::OneWayLeft(link)), None))
    }

    /// Returns who claims to be an end of a flow, and is elsewhere.
    fn disputed(ctx: &Context, topology: &Topology, flow: &Flow) -> Option<Verdict> {
        let disputes = topology.disputes(ctx, &flow.admission.requirement);
        let Dispute {
            host, at, since, ..
        } = disputes.into_iter().next()?;
        let cause = Cause::Disputed { host, at };
        Some((PromiseState::Unknown, Some(cause), Some(since)))
    }

    /// Returns at which switch on a way frames stay for longer than its profile explains.
    fn slow(ctx: &Context, flow: &Flow, tree: &Tree) -> Option<Verdict> {
        if ctx.slow_switches.is_empty() {
            return None;
        }
        let class = flow.admission.requirement.class;
        let mut slow = tree.branches.iter().filter_map(|branch| {
            let slow = ctx.slow_switches.get(&branch.datapath)?;
            slow.concerns(&branch.outputs, class)
                .then_some((branch.datapath, slow))
        });
        let (datapath, slow) = slow.next()?;
        let switch = ctx.name_of_switch(datapath);
        let cause = match slow.is_certain {
            true => Cause::ProfileContradicted { switch },
            false => Cause::StayUnexplained { switch },
        };
        Some((PromiseState::Unknown, Some(cause), None))
    }

    /// Returns which entry on a way was not confirmed, unless all were on one of two ways that
    /// carry the flow.
    fn unconfirmed(ctx: &Context, network: &Network, flow: &Flow, tree: &Tree) -> Option<Verdict> {
        let (topology, tables) = (&network.topology, &network.tables);
        let verdict = Self::unconfirmed_entry(ctx, tables, flow, tree)?;
        let copies = flow.admission.ways.copies();
        let mut copies = copies
            .filter(|_| flow.way == Way::Base)
            .into_iter()
            .flatten();
        let carries = |copy: &Tree| {
            topology.is_whole(copy) && Self::unconfirmed_entry(ctx, tables, flow, copy).is_none()
        };
        (!copies.any(carries)).then_some(verdict)
    }

    /// Returns which entry was not confirmed on one of two ways while the other carries a flow.
    fn one_way_installed(
        ctx: &Context,
        tables: &Tables,
        flow: &Flow,
        tree: &Tree,
    ) -> Option<Verdict> {
        let (_, cause, since) = Self::unconfirmed_entry(ctx, tables, flow, tree)?;
        Some((PromiseState::Holds, cause, since))
    }

    /// Returns which entry on a way was not confirmed.
    fn unconfirmed_entry(
        ctx: &Context,
        tables: &Tables,
        flow: &Flow,
        tree: &Tree,
    ) -> Option<Verdict> {
        if tables.unrecorded.contains(&flow.id) {
            return Some((PromiseState::Disturbed, Some(Cause::Moving), None));
        }
        let is_there = |datapath, input| {
            let rule = tables.desired.get(datapath, flow.rule.place(input));
            rule.is_some_and(|rule| {
                rule.subject == EntryOwner::Flow(flow.id) && rule.standing == Standing::Confirmed
            })
        };
        let mut branches = tree.branches.iter();
        let missing = branches.find(|branch| !is_there(branch.datapath, branch.input))?;
        let state = match flow.installation {
            Installation::Pending => PromiseState::Unknown,
            Installation::Confirmed | Installation::Refused => PromiseState::Disturbed,
        };
        let switch = ctx.name_of_switch(missing.datapath);
        Some((state, Some(Cause::NotConfirmed { switch }), None))
    }

    /// Has the store keep what is reserved for a flow that is about to be withdrawn, or
    /// that goes elsewhere, until it is given back.
    pub fn keep_leaving(&self, ctx: &mut Context, owners: &mut Owners, id: FlowId) {
        let Some(flow) = owners.flows.get(id) else {
            return;
        };
        let is_known = owners.leaving.numbers.contains_key(&id);
        if is_known || flow.reservation.is_none() || self.reservations.slowdown().is_none() {
            return;
        }
        let number = owners.leaving.next_number;
        owners.leaving.next_number = number.wrapping_add(1);
        owners.leaving.numbers.insert(id, number);
        ctx.outbox.store(StoreWrite {
            key: Key::Leaving(number),
            value: Some(flow.admission.to_bytes()),
        });
    }

    /// Gives back what is reserved for a flow that was withdrawn: at once where budgets
    /// are fixed, as it has stopped before, otherwise when nothing of it plays a role.
    pub fn leave(&mut self, ctx: &Context, owners: &mut Owners, flow: &Flow) {
        let number = owners.leaving.numbers.remove(&flow.id);
        let Some(reservation) = flow.reservation else {
            return;
        };
        if self.reservations.slowdown().is_none() {
            return self.reservations.release(reservation);
        }
        owners.leaving.wait(reservation, number, ctx.now);
    }

    /// Takes note of a flow that was gone when the controller began: what it has sent may
    /// be under way.
    pub fn leaving_kept(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        number: u32,
        record: &[u8],
    ) {
        let next = number.wrapping_add(1);
        owners.leaving.next_number = owners.leaving.next_number.max(next);
        if ctx.memory == Memory::Complete {
            return;
        }
        let reserved = Admission::from_bytes(record).ok().and_then(|admission| {
            admission.requirement.deadline?;
            let Admission {
                requirement,
                source,
                ways,
                ..
            } = &admission;
            let reserved = match self.profiles.adopted.is_empty() {
                true => self.reservations.reserve(requirement, *source, ways),
                false => self.reservations.reserve_late(requirement, *source, ways),
            };
            reserved.ok()
        });
        match reserved {
            Some(reserved) => owners.leaving.wait(reserved.id, Some(number), ctx.now),
            None => Owners::forget_leaving(ctx, number),
        }
    }

    /// Gives back what is reserved for withdrawn flows of which nothing plays a role.
    pub fn release_some(&mut self, ctx: &mut Context, network: &mut Network, modes: &ModeDesk) {
        if network.owners.leaving.due.is_none_or(|due| due > ctx.now) {
            return;
        }
        let closing = &network.owners.leaving.closing;
        let since = closing.since.unwrap_or(ctx.now);
        let quiet = self.reservations.quiet_after(&closing.reservations);
        let due = quiet.map_or(ctx.now + LOOK_AGAIN, |quiet| since + quiet.round_up());
        if due > ctx.now {
            network.owners.leaving.due = Some(due);
            return;
        }
        let next = std::mem::take(&mut network.owners.leaving.next);
        network.owners.leaving.due = (!next.reservations.is_empty()).then_some(ctx.now);
        let closed = std::mem::replace(&mut network.owners.leaving.closing, next);
        for reservation in &closed.reservations {
            self.reservations.release(*reservation);
        }
        for number in closed.numbers {
            Owners::forget_leaving(ctx, number);
        }
        for id in std::mem::take(&mut network.owners.leaving.waiting) {
            self.decide_anew(ctx, network, modes, id);
        }
        network.owners.answer_rooms(ctx, &closed.reservations);
        self.decide_who_is_late(ctx, network);
        self.follow_budgets(ctx, &mut network.owners);
    }
}

/// Returns whether a promise stands otherwise than was told. What is not installed yet is
/// not told of.
fn is_to_tell(flow: &Flow, promise: &Promise) -> bool {
    match &flow.promise {
        Some(told) => told.state != promise.state || told.cause != promise.cause,
        None => match promise.state {
            // Who asked in the meantime may have been told that it holds.
            PromiseState::Unknown | PromiseState::Disturbed => {
                flow.installation == Installation::Confirmed
            }
            PromiseState::None
            | PromiseState::Holds
            | PromiseState::NotCovered
            | PromiseState::Broken => true,
        },
    }
}
