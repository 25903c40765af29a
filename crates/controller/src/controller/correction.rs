//! A corrected profile: offered, adopted and kept (S4-5, S4-6).
//!
//! Offered is the least correction with which every stay that was seen is explained, with a
//! margin: a longer latency, or a longer time of a frame. With it all that is promised is
//! decided on anew. Nobody is sent away: who is late then goes on sending and is counted, and
//! whose deadlines hold is found from the least delays with which all bound each other
//! (`calculus`, `Ledger::with_processor`). No switch is told a profile, so nothing in the
//! network changes by it but for flows that are late and in time on another way: they go
//! there make before break, as in `rearrangement`. The others are told to be late.
//!
//! The store keeps a profile before it counts. After a restart flows are counted without
//! their deadlines first, and whose deadlines hold is found when all are known: the order in
//! which they come changes nothing.
//!
//! # Left out
//!
//! Networks in which flows are promised something at levels of criticality, whose budgets do
//! not change, and switches that are taken to have no processor.

use std::collections::BTreeMap;

use calculus::admission::{MAX_DELAY, ProcessorTimes};
use serde::{Deserialize, Serialize};
use units::{Delay, Duration};
use wire::openflow::{DatapathId, PortNumber};

use crate::admission::{Correction, ReservationId, Uncorrectable};
use crate::flows::Flow;
use crate::northbound::{
    Event, FlowId, FlowOutlook, MAX_OUTLOOKS, ProcessorProfile, ProfileOffer, ProfileRefusal,
    ProfileWish, Raised, Reply, RequestId,
};
use crate::place::PortId;
use crate::record::Admission;
use crate::store::{Key, StoreWrite};

use super::context::Memory;
use super::profile_watch::{AS_PROMISED, Stays};
use super::rearrangement::may_move;
use super::{Context, Network, Promises};

/// How often a correction is made larger until it explains all that was seen: with other
/// budgets less may come at once.
const ROUNDS: usize = 8;
/// For how many flows other ways are looked for.
const MOST_MOVED: usize = 32;
/// The version of the form in which profiles are kept.
const VERSION: u8 = 1;

/// A profile as the store keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StoredProfile {
    latency_ps: u64,
    per_frame_ps: u64,
    budget_ps: u64,
}

impl Promises {
    /// Offers a profile that explains what was seen of a switch, and adopts it unless it was
    /// only asked for.
    pub fn correct_profile(
        &mut self,
        ctx: &mut Context,
        network: &Network,
        id: RequestId,
        (datapath, wish, is_dry): (DatapathId, ProfileWish, bool),
    ) {
        if network.topology.view.switch(datapath).is_none() {
            return ctx.outbox.reply(id, Reply::UnknownSwitch(datapath));
        }
        let (offer, times) = match self.offer(ctx, network, datapath, wish) {
            Ok(offered) => offered,
            Err(refusal) => return ctx.outbox.reply(id, Reply::ProfileRefused(refusal)),
        };
        if is_dry {
            return ctx.outbox.reply(id, Reply::ProfileOffered(Box::new(offer)));
        }
        if self.profiles.waiting.contains_key(&datapath) {
            return ctx.outbox.reply(id, Reply::Busy);
        }
        self.profiles
            .waiting
            .insert(datapath, (id, Box::new(offer)));
        ctx.outbox.store(StoreWrite {
            key: Key::Profile(datapath),
            value: Some(StoredProfile::from(times).to_bytes()),
        });
    }

    /// Returns the least correction that explains what was seen of a switch with a margin,
    /// and what would follow from it.
    fn offer(
        &self,
        ctx: &Context,
        network: &Network,
        datapath: DatapathId,
        wish: ProfileWish,
    ) -> Result<(ProfileOffer, ProcessorTimes), ProfileRefusal> {
        let stays = self.profiles.stays(datapath);
        if stays.is_empty() {
            return Err(ProfileRefusal::NothingToExplain);
        }
        let before = self.reservations.processor(datapath);
        let before = before.ok_or(ProfileRefusal::NoProcessor)?;
        let deadlines = deadlines(network);
        let mut more = self.missing(&self.reservations, (datapath, &stays), wish)?;
        for _ in 0..ROUNDS {
            let times = match wish.raise {
                Raised::Latency => ProcessorTimes {
                    latency: before.latency + more.round_up().into(),
                    ..before
                },
                Raised::PerFrame => self
                    .reservations
                    .with_longer_frames(datapath, more)
                    .ok_or(ProfileRefusal::Unexplained)?,
            };
            let corrected = self.reservations.corrected(datapath, times, &deadlines);
            let corrected = corrected.map_err(|why| refused(ctx, network, why))?;
            let missing = self.missing(&corrected.0, (datapath, &stays), wish)?;
            if missing == Delay::ZERO {
                let offer = self.offered(ctx, network, (datapath, wish), &corrected);
                return Ok((offer, times));
            }
            more += missing.round_up().into();
        }
        Err(ProfileRefusal::Unexplained)
    }

    /// Returns by how much stays with their margin are longer than is explained.
    fn missing(
        &self,
        reservations: &crate::admission::Reservations,
        (datapath, stays): (DatapathId, &Stays),
        wish: ProfileWish,
    ) -> Result<Delay, ProfileRefusal> {
        let mut missing = Delay::ZERO;
        for ((port, class), stay) in stays {
            let at = PortId::new(datapath, *port);
            let bound = reservations.hop_bound(at, *class, AS_PROMISED);
            let bound = bound.ok_or(ProfileRefusal::Unexplained)?;
            let wanted: Delay = with_margin(stay.longest, wish.margin_percent).into();
            missing = missing.max(wanted.saturating_sub(bound));
        }
        Ok(missing)
    }

    /// Says what follows from another processor.
    fn offered(
        &self,
        ctx: &Context,
        network: &Network,
        (datapath, wish): (DatapathId, ProfileWish),
        (corrected, guarantees): &Correction,
    ) -> ProfileOffer {
        let (mut in_time, mut late, mut moved) = (0, Vec::new(), Vec::new());
        for flow in network
            .owners
            .flows
            .iter()
            .filter(|flow| flow.is_admitted())
        {
            let after = flow.reservation.and_then(|id| guarantees.get(&id).copied());
            match after.and_then(|after| outlook(flow, after)) {
                Some(outlook) if outlook.late_by.is_some() => late.push(outlook),
                Some(outlook) => {
                    in_time += 1;
                    if moved.len() < MAX_OUTLOOKS && outlook.before != outlook.after {
                        moved.push(outlook);
                    }
                }
                None => in_time += 1,
            }
        }
        let frames_at = |((port, _), stay): (&(PortNumber, u8), &_)| {
            self.profiles.frames_at(datapath, stay, *port)
        };
        let frames = self.profiles.stays(datapath).iter().map(frames_at).sum();
        let profile = |of: &crate::admission::Reservations| {
            of.processor(datapath).map(profile_of).unwrap_or_default()
        };
        ProfileOffer {
            datapath,
            name: ctx.name_of_switch(datapath),
            before: profile(&self.reservations),
            after: profile(corrected),
            margin_percent: wish.margin_percent,
            frames,
            longer_per_million: longer_per_million(frames),
            explains: self.evidence(ctx, network, datapath),
            in_time,
            late,
            moved,
            adopted: false,
        }
    }

    /// Takes a switch to be what the store has kept.
    pub fn profile_kept(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        datapath: DatapathId,
        record: &[u8],
    ) {
        let times = StoredProfile::from_bytes(record).map(ProcessorTimes::from);
        let corrected = times.and_then(|times| {
            let corrected = self
                .reservations
                .corrected(datapath, times, &deadlines(network));
            corrected.ok()
        });
        let waiting = self.profiles.waiting.remove(&datapath);
        let Some(corrected) = corrected else {
            let name = ctx.name_of_switch(datapath);
            ctx.outbox.notify(Event::ProfileUnusable { datapath, name });
            if let Some((id, _)) = waiting {
                let refusal = ProfileRefusal::Unexplained;
                ctx.outbox.reply(id, Reply::ProfileRefused(refusal));
            }
            return;
        };
        self.profiles.adopted.insert(datapath);
        self.go_by(ctx, network, corrected);
        if ctx.memory == Memory::Complete {
            self.tell_adopted(ctx, network, datapath);
        }
        if let Some((id, mut offer)) = waiting {
            offer.adopted = true;
            ctx.outbox.reply(id, Reply::ProfileOffered(offer));
        }
    }

    /// Answers that the store could not keep a profile.
    pub fn profile_rejected(&mut self, ctx: &mut Context, datapath: DatapathId) {
        if let Some((id, _)) = self.profiles.waiting.remove(&datapath) {
            ctx.outbox.reply(id, Reply::NotStored);
        }
    }

    fn tell_adopted(&mut self, ctx: &mut Context, network: &mut Network, datapath: DatapathId) {
        let reservations = &self.reservations;
        self.profiles.explain(datapath, |(port, class), stay| {
            let at = PortId::new(datapath, *port);
            let bound = reservations.hop_bound(at, *class, AS_PROMISED);
            bound.is_some_and(|bound| stay.longest <= bound.round_up())
        });
        self.judge_profiles(ctx, network);
        let late = network
            .owners
            .flows
            .iter()
            .filter(|it| it.late_by().is_some());
        let late = late.count();
        if let Some(times) = self.reservations.processor(datapath) {
            ctx.outbox.notify(Event::ProfileAdopted {
                datapath,
                name: ctx.name_of_switch(datapath),
                processor: profile_of(times),
                late,
            });
        }
        self.lead_late_elsewhere(ctx, network);
    }

    /// Goes by other reservations from now on.
    fn go_by(&mut self, ctx: &mut Context, network: &mut Network, corrected: Correction) {
        let (reservations, guarantees) = corrected;
        ctx.parameters = reservations.parameters.clone();
        self.reservations = reservations;
        self.judging.follow(self.reservations.choices());
        self.hops.look_again();
        let mut policed = Vec::new();
        for flow in network.owners.flows.iter_mut() {
            let guarantee = flow.reservation.and_then(|id| guarantees.get(&id));
            if guarantee.is_some() {
                flow.admission.guarantee = guarantee.copied();
            }
            policed.push(flow.id);
        }
        // How late a switch may look at frames is in what it is to police.
        for id in policed {
            network.follow_contract(ctx, id);
        }
        ctx.promises_changed();
    }

    /// Finds anew whose deadlines hold, if any is late or all were counted without theirs.
    pub fn decide_who_is_late(&mut self, ctx: &mut Context, network: &mut Network) {
        let Some(datapath) = self.profiles.adopted.first().copied() else {
            return;
        };
        let is_late = |flow: &Flow| {
            let counted_late = flow
                .reservation
                .is_some_and(|id| self.reservations.is_late(id));
            flow.admission.requirement.deadline.is_some() && counted_late
        };
        if !network.owners.flows.iter().any(is_late) {
            return;
        }
        let Some(times) = self.reservations.processor(datapath) else {
            return;
        };
        let found = self
            .reservations
            .corrected(datapath, times, &deadlines(network));
        if let Ok(found) = found {
            self.go_by(ctx, network, found);
        }
    }

    /// Has flows that are late go another way on which they are in time, as far as there is
    /// one beside all that is promised.
    fn lead_late_elsewhere(&mut self, ctx: &mut Context, network: &mut Network) {
        if self.reservations.slowdown().is_none() {
            return;
        }
        let late = network
            .owners
            .flows
            .iter()
            .filter(|flow| flow.late_by().is_some() && may_move(network, flow));
        let late: Vec<Flow> = late.take(MOST_MOVED).cloned().collect();
        for flow in late {
            for base in self.other_ways(&network.topology, &flow) {
                if let Some((admission, reserved)) =
                    self.reserve_beside(ctx, &network.topology, &flow, base)
                {
                    self.propose_way(ctx, network, (flow.id, reserved), &admission);
                    break;
                }
            }
        }
        self.follow_budgets(ctx, &mut network.owners);
    }

    /// Has the store keep another way of a flow, on which this is reserved.
    pub(super) fn propose_way(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        (id, reservation): (FlowId, ReservationId),
        admission: &Admission,
    ) {
        self.desk.hold(id, Some(reservation));
        self.keep_leaving(ctx, &mut network.owners, id);
        ctx.outbox.store(StoreWrite {
            key: Key::Admission(id.0),
            value: Some(admission.to_bytes()),
        });
    }
}

/// Returns the deadlines of all that is promised.
fn deadlines(network: &Network) -> BTreeMap<ReservationId, Delay> {
    let flows = network.owners.flows.iter();
    let promised = flows.filter_map(|flow| {
        let deadline = flow.admission.requirement.deadline?;
        Some((flow.reservation?, deadline))
    });
    promised.collect()
}

/// Returns what becomes of a flow, nothing for best effort.
fn outlook(flow: &Flow, after: Delay) -> Option<FlowOutlook> {
    let deadline = flow.admission.requirement.deadline?;
    let late_by = after.saturating_sub(deadline);
    Some(FlowOutlook {
        name: flow.admission.requirement.name.clone(),
        deadline: deadline.round_up(),
        before: flow.admission.guarantee?.round_up(),
        after: after.round_up(),
        late_by: (late_by > Delay::ZERO).then(|| late_by.round_up()),
    })
}

fn profile_of(times: ProcessorTimes) -> ProcessorProfile {
    ProcessorProfile {
        latency: times.latency.round_up(),
        per_frame: times.per_frame.round_up(),
    }
}

fn refused(ctx: &Context, network: &Network, why: Uncorrectable) -> ProfileRefusal {
    match why {
        Uncorrectable::NoProcessor => ProfileRefusal::NoProcessor,
        Uncorrectable::Levels => ProfileRefusal::Levels,
        Uncorrectable::Overload { place, .. } => ProfileRefusal::Overload {
            at: place.map(|place| network.topology.name_of_place(ctx, place)),
        },
    }
}

fn with_margin(stay: Duration, percent: u32) -> Duration {
    let hundredths = u128::from(stay.as_ns()) * u128::from(100 + percent);
    let ns = u64::try_from(hundredths.div_ceil(100));
    Duration::from_ns(ns.unwrap_or(u64::MAX))
}

/// Returns of how many millionths of further frames at most the stay is longer than any of
/// `frames`, with a confidence of 95 %: the rule of three, `(1 - p)^n >= 0.05` has
/// `p <= 3 / n`.
pub(super) fn longer_per_million(frames: u64) -> Option<u64> {
    let millionths = 3_000_000u64.checked_add(frames.checked_sub(1)?)? / frames;
    (millionths < 1_000_000).then_some(millionths)
}

impl StoredProfile {
    fn to_bytes(self) -> Vec<u8> {
        postcard::to_extend(&self, vec![VERSION]).expect("numbers always have a form")
    }

    /// Returns whether some switch may take so long.
    fn can_be(&self) -> bool {
        let times = [self.latency_ps, self.per_frame_ps, self.budget_ps];
        times.iter().all(|ps| *ps <= MAX_DELAY.as_ps())
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let [VERSION, content @ ..] = bytes else {
            return None;
        };
        match postcard::take_from_bytes(content) {
            Ok((stored, [])) => Some(stored).filter(Self::can_be),
            Ok(_) | Err(_) => None,
        }
    }
}

impl From<ProcessorTimes> for StoredProfile {
    fn from(times: ProcessorTimes) -> Self {
        Self {
            latency_ps: times.latency.as_ps(),
            per_frame_ps: times.per_frame.as_ps(),
            budget_ps: times.budget.as_ps(),
        }
    }
}

impl From<StoredProfile> for ProcessorTimes {
    fn from(stored: StoredProfile) -> Self {
        Self {
            latency: Delay::from_ps(stored.latency_ps),
            per_frame: Delay::from_ps(stored.per_frame_ps),
            budget: Delay::from_ps(stored.budget_ps),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_profile_is_read_as_it_was_written() {
        let profile = StoredProfile {
            latency_ps: 1,
            per_frame_ps: 2,
            budget_ps: 3,
        };

        assert_eq!(profile.to_bytes(), [VERSION, 1, 2, 3]);
        assert_eq!(
            StoredProfile::from_bytes(&[VERSION, 1, 2, 3]),
            Some(profile)
        );
        for damaged in [
            &[][..],
            &[VERSION, 1, 2],
            &[VERSION, 1, 2, 3, 4],
            &[9, 1, 2, 3],
        ] {
            assert_eq!(StoredProfile::from_bytes(damaged), None);
        }
    }

    proptest! {
        #[test]
        fn no_record_makes_a_switch_slower_than_any_can_be(
            bytes in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            if let Some(stored) = StoredProfile::from_bytes(&[&[VERSION][..], &bytes].concat()) {
                let times = ProcessorTimes::from(stored);
                prop_assert!(times.latency <= MAX_DELAY && times.per_frame <= MAX_DELAY);
            }
        }

        /// With a share of `p` beyond, so many in a row within have a chance of 5 % at most.
        #[test]
        fn the_share_is_what_so_many_frames_support(frames in 4u32..100_000_000) {
            let share = longer_per_million(u64::from(frames)).unwrap();

            let chance = |millionths: u64| (1.0 - millionths as f64 / 1e6).powf(f64::from(frames));
            prop_assert!(chance(share) <= 0.05);
            prop_assert!(share <= 2 || chance(share * 9 / 10 - 1) > 0.04);
        }
    }

    #[test]
    fn of_three_frames_nothing_can_be_said() {
        assert_eq!([0, 1, 3].map(longer_per_million), [None; 3]);
    }
}
