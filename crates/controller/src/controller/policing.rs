//! Who is held to his contract: the switch that a promised flow enters first drops what
//! exceeds it, where it can (IEEE 802.1Qci), or sends it on as best effort. Then each later
//! switch polices as well, by what it is promised to get at most: else its entry would put
//! the excess into the promised queue (docs/decisions/0031-excess-is-policed-at-every-switch.md).
//!
//! Which switches can is asked when they connect, before they are compared with what they
//! should have: they go on policing while another controller takes them over. Of those that
//! cannot, the promises of others trust the source. Those that can know our extension, and
//! are asked what else they do that not all of them do.

use std::collections::{BTreeMap, BTreeSet};

use calculus::admission::FrameBucket;
use units::{DataSize, Delay, Duration, Instant};
use wire::openflow::multipart::{MultipartReply, MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::taktos::{Answer, FrameLimit, Police, PoliceEvent, Question};
use wire::openflow::{DatapathId, TransactionId};

use crate::desired::EntryOwner;
use crate::northbound::{Event, ExceedAction, FlowId, Requirement, Traffic};
use crate::place::{Place, PortId};
use crate::record::Admission;
use crate::rules::PolicedContract;
use crate::session::Slot;

use super::context::Memory;
use super::network::GUARDED_AT_ONCE;
use super::{Context, Network};

/// The most that a flow may send within its deadline whose excess goes on.
const EXCESS_JITTER_MAX: DataSize = DataSize::from_bytes(100_000_000);

/// What is known of who can police.
#[derive(Debug)]
pub struct Policing {
    /// How much later than they came frames may be judged, beyond what the switch is known
    /// for; nothing if nobody is to police.
    tolerance: Option<Duration>,
    able: BTreeSet<DatapathId>,
    /// Of those, the switches that hold frames back to keep them in order.
    ordering: BTreeSet<DatapathId>,
    /// How often switches have said whether they can.
    changes: u64,
    asked: BTreeMap<TransactionId, (DatapathId, Question)>,
    /// Those that have not answered, and since when, and those that have: they are compared
    /// with what they should have once flows follow that.
    awaited: BTreeMap<DatapathId, Instant>,
    known: BTreeSet<DatapathId>,
    /// Flows that do not follow yet what is known.
    followers: BTreeSet<FlowId>,
}

impl Policing {
    pub const fn new(tolerance: Option<Duration>) -> Self {
        Self {
            tolerance,
            able: BTreeSet::new(),
            ordering: BTreeSet::new(),
            changes: 0,
            asked: BTreeMap::new(),
            awaited: BTreeMap::new(),
            known: BTreeSet::new(),
            followers: BTreeSet::new(),
        }
    }

    /// Returns whether a switch knows our extension of OpenFlow.
    pub fn is_able(&self, datapath: DatapathId) -> bool {
        self.able.contains(&datapath)
    }

    /// Returns whether a switch holds frames back to keep them in order.
    pub fn keeps_order(&self, datapath: DatapathId) -> bool {
        self.ordering.contains(&datapath)
    }

    /// Returns the switches that know it.
    pub fn able(&self) -> impl Iterator<Item = DatapathId> + use<> {
        self.able.clone().into_iter()
    }

    /// Returns whether flows have to follow who can.
    pub fn has_followers(&self) -> bool {
        !self.followers.is_empty()
    }

    /// Returns how often switches have said whether they can.
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    /// Waits for no answer of a switch whose connection is gone.
    pub fn lose(&mut self, datapath: DatapathId) {
        self.asked.retain(|_, (at, _)| *at != datapath);
        self.awaited.remove(&datapath);
        self.known.remove(&datapath);
    }

    /// Takes in that it is known of a switch whether it can.
    fn settle(&mut self, datapath: DatapathId) {
        if self.awaited.remove(&datapath).is_some() {
            self.known.insert(datapath);
        }
    }

    /// Takes switches that have not answered for long for ones that cannot.
    pub fn give_up(&mut self, now: Instant, patience: Duration) {
        let late = |_: &DatapathId, since: &mut Instant| now.saturating_since(*since) >= patience;
        let late = self.awaited.extract_if(.., late);
        self.known.extend(late.map(|(datapath, _)| datapath));
    }

    /// Forgets a switch that will not come back.
    pub fn forget(&mut self, datapath: DatapathId) {
        self.lose(datapath);
        self.able.remove(&datapath);
        self.ordering.remove(&datapath);
    }

    /// Takes in whether a switch keeps frames in order.
    fn note_order(&mut self, datapath: DatapathId, keeps: bool) {
        match keeps {
            true => self.ordering.insert(datapath),
            false => self.ordering.remove(&datapath),
        };
    }

    /// Takes in whether a switch can; returns whether that is new.
    fn note(&mut self, datapath: DatapathId, can: bool) -> bool {
        self.changes += 1;
        self.note_order(datapath, false);
        match can {
            true => self.able.insert(datapath),
            false => self.able.remove(&datapath),
        }
    }
}

impl Context {
    /// Returns what switches are to police of a flow that has a promise; nothing where its
    /// source is trusted.
    ///
    /// Frames are judged at their last bits, and a switch may be late with that. So they may
    /// be closer together than when they left: what is granted at once grows by the rate in
    /// the time of the largest frame on the first link, of the switch's latency, and of the
    /// tolerance. What a flow gets at levels of criticality is watched by its monitor, which
    /// raises the level; it is not policed.
    pub(crate) fn contract(&self, admission: &Admission) -> Option<PolicedContract> {
        let tolerance = self.policing.tolerance?;
        let Admission {
            requirement,
            source,
            ..
        } = admission;
        admission.guarantee?;
        if requirement.modes.is_some() || !self.policing.able.contains(&source.datapath) {
            return None;
        }
        let traffic = requirement.traffic;
        let switch = self.parameters.of(source.datapath);
        let latency = switch.processing.map(|it| it.latency).unwrap_or_default();
        let on_link = switch.port(source.port).rate;
        let on_link = on_link.time_to_send(traffic.largest_frame);
        let late = on_link + latency + Delay::from_ns(tolerance.as_ns());
        let later = self.later_contract(admission, tolerance);
        let excess = later.map_or(ExceedAction::Drop, |later| later.excess);
        let first = police(&traffic, late, excess);
        first.is_countable().then_some(PolicedContract {
            at: *source,
            first,
            later,
        })
    }

    /// Returns what later switches are to police of a flow whose excess may go on as best
    /// effort; nothing if it may not, or a switch on one of its ways could not tell it from
    /// what is promised.
    ///
    /// A frame comes to any switch within its deadline. So in any time no more comes than the
    /// contract grants with the deadline as jitter: with so large a burst the flow is admitted
    /// ([`admitted_traffic`]), however its ways and budgets change.
    fn later_contract(&self, admission: &Admission, tolerance: Duration) -> Option<Police> {
        let requirement = &admission.requirement;
        let deadline = jitter_of_excess(requirement)?;
        let alternatives = admission.ways.alternatives.iter().map(|(_, tree)| tree);
        let mut trees = std::iter::once(&admission.ways.base).chain(alternatives);
        let can = |datapath| self.policing.able.contains(&datapath);
        if !trees.all(|tree| tree.branches.iter().all(|it| can(it.datapath))) {
            return None;
        }
        let late = deadline + Delay::from_ns(tolerance.as_ns());
        let later = police(&requirement.traffic, late, ExceedAction::BestEffort);
        later.is_countable().then_some(later)
    }

    /// Returns how much before its time a policer may let pass what a source sends.
    pub(super) fn let_through_early(&self) -> Delay {
        let switches = self.parameters.switches.values();
        let latencies = switches.filter_map(|switch| Some(switch.processing?.latency));
        let tolerance = self.policing.tolerance.unwrap_or_default();
        latencies.max().unwrap_or_default() + tolerance.into()
    }

    /// Asks a switch whether it can police. `transaction` is nobody else's.
    pub fn ask_for_policing(
        &mut self,
        slot: Slot,
        datapath: DatapathId,
        transaction: TransactionId,
    ) {
        self.policing.lose(datapath);
        self.policing.awaited.insert(datapath, self.now);
        self.ask(slot, (datapath, Question::Policed), transaction);
    }

    fn ask(&mut self, slot: Slot, asked: (DatapathId, Question), transaction: TransactionId) {
        self.policing.asked.insert(transaction, asked);
        let question = RequestBody::Experimenter(asked.1.body());
        MultipartRequest::new(question).emit(transaction, self.outbox.to(slot));
    }
}

impl Network {
    /// Takes in that a switch can police, or what else it does, if it says that; returns
    /// whether it is of concern here.
    pub fn policing_answered(
        &mut self,
        ctx: &mut Context,
        slot: Slot,
        (datapath, transaction): (DatapathId, TransactionId),
        reply: &MultipartReply<'_>,
    ) -> bool {
        let ReplyBody::Experimenter(body) = &reply.body else {
            return false;
        };
        let (question, can) = match Answer::parse(body) {
            Ok(Some(Answer::Policed(_))) => (Question::Policed, true),
            Ok(Some(Answer::Features(features))) => (Question::Features, features.orders_streams),
            _ => return false,
        };
        let asked = (datapath, question);
        if ctx.policing.asked.get(&transaction) != Some(&asked) {
            return false;
        }
        if question == Question::Policed {
            let transaction = self.tables.confirmations.transaction();
            ctx.ask(slot, (datapath, Question::Features), transaction);
        }
        self.policing_known(ctx, asked, transaction, can);
        true
    }

    /// Takes in that a switch does not know what it was asked; returns whether that was
    /// whether it can police, or what else it does.
    pub fn policing_refused(
        &mut self,
        ctx: &mut Context,
        (datapath, transaction): (DatapathId, TransactionId),
    ) -> bool {
        // Another switch cannot answer for it.
        let asked = ctx.policing.asked.get(&transaction).copied();
        let asked = asked.filter(|(at, _)| *at == datapath);
        if let Some(asked) = asked {
            self.policing_known(ctx, asked, transaction, false);
        }
        asked.is_some()
    }

    /// Takes in what a switch has answered.
    fn policing_known(
        &mut self,
        ctx: &mut Context,
        (datapath, question): (DatapathId, Question),
        transaction: TransactionId,
        can: bool,
    ) {
        ctx.policing.asked.remove(&transaction);
        match question {
            Question::Features => ctx.policing.note_order(datapath, can),
            _ => {
                ctx.policing.settle(datapath);
                if ctx.policing.note(datapath, can) {
                    let concerned = self.owners.flows.policed_at(datapath);
                    ctx.policing.followers.extend(concerned);
                }
            }
        }
    }

    /// Has flows follow who can police, and then switches of which that is known compared with
    /// what they should have.
    pub(super) fn follow_policing(&mut self, ctx: &mut Context) {
        for _ in 0..GUARDED_AT_ONCE {
            let Some(id) = ctx.policing.followers.pop_first() else {
                break;
            };
            self.follow_contract(ctx, id);
        }
        if ctx.policing.followers.is_empty() && ctx.memory == Memory::Complete {
            while let Some(datapath) = ctx.policing.known.pop_first() {
                self.tables.ask_for_entries(ctx, &self.owners, datapath);
            }
        }
    }

    /// Has the switch that a flow enters first police it, or police it no more, as is known
    /// now.
    pub(super) fn follow_contract(&mut self, ctx: &mut Context, id: FlowId) {
        let Some(flow) = self.owners.flows.get_mut(id) else {
            return;
        };
        let contract = ctx.contract(&flow.admission);
        if flow.rule.contract() == contract.as_ref() {
            return;
        }
        flow.rule.set_contract(contract);
        let (subject, way) = (EntryOwner::Flow(id), flow.way.clone());
        if !self.tables.desired.is_owner(subject) {
            return;
        }
        let at = flow.admission.source.datapath;
        let is_moving = self.tables.moves.way_to(id).is_some();
        if !is_moving && ctx.policing.known.contains(&at) {
            // It is compared next: what is right there is not written anew, which would fill
            // its tokens.
            for (spot, form) in flow.content(&way) {
                self.tables.desired.record(subject, spot, form);
            }
        } else if !is_moving && !self.tables.is_synchronised(at) {
            // What it has from before is looked at then.
            let wanted = flow.content(&way);
            self.set_content_at_once(ctx, subject, &wanted);
        } else if let Some(part) = self.plan_way(id, way) {
            let parts = BTreeMap::from([(subject, part)]);
            self.tables.begin_move(ctx, &mut self.owners, parts);
        }
    }

    /// Tells whose frames exceeded a contract.
    pub fn contract_exceeded(&self, ctx: &mut Context, datapath: DatapathId, said: &PoliceEvent) {
        let entry = &said.entry;
        let rule = self.tables.desired.by_cookie(datapath, entry.cookie);
        let Some((_, rule)) = rule else {
            return;
        };
        let EntryOwner::Flow(flow) = rule.subject else {
            return;
        };
        let Some(known) = self.owners.flows.get(flow) else {
            return;
        };
        let at = PortId::new(datapath, entry.input);
        // What exceeds at a later switch was said of the first, or is late by others' fault.
        if at != known.admission.source {
            return;
        }
        ctx.outbox.notify(Event::ContractExceeded {
            flow,
            name: Some(known.admission.requirement.name.clone()),
            source: known.admission.requirement.source.clone(),
            at: Place::new(at, ctx.name_of_switch(datapath)),
            frames: said.since_last,
            frames_in_all: entry.exceeded,
            excess: entry.excess,
        });
    }
}

/// Returns what a flow is counted as that was admitted with this requirement: whoever may
/// send more as best effort comes to later switches with what is granted there at once.
pub(crate) fn admitted_traffic(requirement: &Requirement) -> Traffic {
    let traffic = requirement.traffic;
    match jitter_of_excess(requirement) {
        None => traffic,
        Some(deadline) => Traffic {
            burst: traffic.burst + traffic.rate.most_in(deadline),
            frames: traffic.frames.map(|frames| {
                let FrameLimit { rate, burst } = frames_at_once(frames, deadline);
                FrameBucket {
                    rate_per_second: rate,
                    burst,
                }
            }),
            ..traffic
        },
    }
}

/// Returns by how much later than they were due frames of a flow are taken to come to
/// switches behind the first, if what exceeds its contract may go on; nothing where that is
/// more than a switch can count.
fn jitter_of_excess(requirement: &Requirement) -> Option<Delay> {
    let goes_on = requirement.excess == ExceedAction::BestEffort && requirement.modes.is_none();
    let deadline = requirement.deadline.filter(|_| goes_on)?;
    let rate = u128::from(requirement.traffic.rate.as_bps());
    let bits = rate * u128::from(deadline.as_ps()) / 1_000_000_000_000;
    (bits <= u128::from(EXCESS_JITTER_MAX.as_bits())).then_some(deadline)
}

/// Returns a contract as a switch polices it to which frames come up to so late.
fn police(traffic: &Traffic, late: Delay, excess: ExceedAction) -> Police {
    Police {
        smallest: traffic.smallest_frame,
        largest: traffic.largest_frame,
        rate: traffic.rate,
        burst: traffic.burst + traffic.rate.most_in(late),
        frames: traffic.frames.map(|frames| frames_at_once(frames, late)),
        excess,
    }
}

/// Returns a limit of frames that grants as much more at once as comes in a time.
fn frames_at_once(frames: FrameBucket, late: Delay) -> FrameLimit {
    let ns = u128::from(late.round_up().as_ns());
    let more = (u128::from(frames.rate_per_second) * ns).div_ceil(1_000_000_000);
    FrameLimit {
        rate: frames.rate_per_second,
        burst: frames
            .burst
            .saturating_add(u64::try_from(more).unwrap_or(u64::MAX)),
    }
}
