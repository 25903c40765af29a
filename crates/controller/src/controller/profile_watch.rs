//! Whether what is seen of a switch agrees with its profile.
//!
//! By its profile a frame stays in a switch for no longer than its processor and its port
//! delay it, with all that may come there: that is the bound of the hop, below its budget. A
//! longer stay is noted. Then either the switch is slower than its profile says, or more came
//! than may, or it came later. Of what came later the hops before tell: with what they hold
//! frames back beyond what is explained there, the bound is larger (`calculus`,
//! `Ledger::bound_at`), and what exceeds that as well is the switch's own. Of what came too
//! much the sources tell, where they are held to their contracts. Where both are known, the
//! profile is contradicted; else no more is said than that the stay is not explained. Traffic
//! without a promise is taken to be as declared (`docs/promises.md`).

use std::collections::{BTreeMap, BTreeSet};

use calculus::min_plus::TokenBucket;
use units::{Delay, Duration};
use wire::openflow::taktos::HopEvent;
use wire::openflow::{DatapathId, PortNumber};

use crate::flows::Flow;
use crate::hop_audit::{HopAudit, LONGEST_BELIEVED, RisenStay, SMALLEST_ON_WIRE};
use crate::northbound::{
    Event, FlowId, HopDoubt, HopEvidence, ProcessorProfile, ProfileOffer, ProfileStanding, Reply,
    RequestId, SwitchProfile,
};
use crate::place::{Place, PortId};

use super::{Context, Network, Promises};

/// By how much a stay may seem longer than it was: clocks of switches are no better.
const CLOCK_STEP: Duration = Duration::from_us(1);
/// Frames come as is promised.
pub(super) const AS_PROMISED: (&[(DatapathId, Delay)], Delay) = (&[], Delay::ZERO);
/// In a longer time than this a link may carry any number of frames.
const LONGEST_COUNTED: Duration = Duration::from_secs(3_600);

/// What is known of all switches.
#[derive(Debug)]
pub struct ProfileWatch {
    /// Whether a machine holds single frames up, which then show nothing.
    interrupted: bool,
    watched: BTreeMap<DatapathId, WatchedSwitch>,
    /// The switches that are taken to be slower than the configuration says.
    pub(super) adopted: BTreeSet<DatapathId>,
    /// Who waits for the store to keep a profile.
    pub(super) waiting: BTreeMap<DatapathId, (RequestId, Box<ProfileOffer>)>,
}

/// What one switch has said.
#[derive(Debug, Default)]
struct WatchedSwitch {
    audit: HopAudit,
    /// How many whole answers had come when it was last looked at them.
    answers: u64,
    /// What was reserved at the last answer.
    generation: Option<(u64, u64)>,
    stays: Stays,
}

/// The longest stays that are not explained, by port and queue.
pub(super) type Stays = BTreeMap<(PortNumber, u8), UnexplainedStay>;

/// A stay that was longer than a profile explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnexplainedStay {
    pub flow: FlowId,
    pub longest: Duration,
    /// How long it might have been.
    pub explained: Delay,
    /// How many were longer than that, as far as it is known.
    pub frames: u64,
}

/// A switch at which frames stayed for longer than its profile explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowSwitch {
    /// Whether nothing but the switch can be why.
    pub is_certain: bool,
    /// The ports and queues where they did.
    pub hops: BTreeSet<(PortNumber, u8)>,
}

impl ProfileWatch {
    pub const fn new(interrupted: bool) -> Self {
        Self {
            interrupted,
            watched: BTreeMap::new(),
            adopted: BTreeSet::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// Has the next answer of a switch be a new beginning: its connection is another one.
    pub fn begin_anew(&mut self, datapath: DatapathId) {
        if let Some(watched) = self.watched.get_mut(&datapath) {
            watched.audit.begin_anew();
            (watched.answers, watched.generation) = (0, None);
        }
    }

    /// Forgets a switch that will not come back.
    pub fn forget(&mut self, ctx: &mut Context, datapath: DatapathId) {
        self.watched.remove(&datapath);
        ctx.slow_switches.remove(&datapath);
    }

    /// Returns the stays at a switch that its profile does not explain.
    pub(super) fn stays(&self, datapath: DatapathId) -> Stays {
        let watched = self.watched.get(&datapath);
        watched.map(|it| it.stays.clone()).unwrap_or_default()
    }

    /// Returns how many frames of a flow were seen that left a switch by a port.
    pub(super) fn frames_at(
        &self,
        datapath: DatapathId,
        stay: &UnexplainedStay,
        port: PortNumber,
    ) -> u64 {
        let watched = self.watched.get(&datapath);
        watched
            .map_or(0, |it| it.audit.frames_at(stay.flow, port))
            .max(stay.frames)
    }

    /// Forgets the stays that are explained now.
    pub(super) fn explain(
        &mut self,
        datapath: DatapathId,
        is_explained: impl Fn(&(PortNumber, u8), &UnexplainedStay) -> bool,
    ) {
        if let Some(watched) = self.watched.get_mut(&datapath) {
            watched
                .stays
                .retain(|place, stay| !is_explained(place, stay));
        }
    }
}

impl Promises {
    /// Takes in that a switch says of frames that they stayed for longer than their budget.
    pub(super) fn note_exceeded(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        (datapath, flow): (DatapathId, Option<FlowId>),
        said: &HopEvent,
    ) {
        let is_told = self.hops.has_told(datapath, said);
        let doubt = match flow {
            None => Some(HopDoubt::UnknownEntry),
            Some(_) if is_contradiction(said) => Some(HopDoubt::Contradiction),
            Some(_) if !is_told => Some(HopDoubt::OtherBudget),
            Some(_) => None,
        };
        let is_bounded = self.is_bounded(network);
        let watched = self.profiles.watched.entry(datapath).or_default();
        if let Some(doubt) = doubt {
            if watched.audit.doubt(doubt) {
                tell_doubt(ctx, datapath, doubt);
            }
            return;
        }
        let (Some(flow), Ok(queue)) = (flow, u8::try_from(said.queue.0)) else {
            return;
        };
        if self.profiles.interrupted {
            // How many others did not stay as long is what its counters tell.
            network.tables.ask_for_counts(ctx);
            return;
        }
        let stay = UnexplainedStay {
            flow,
            longest: said.longest,
            explained: said.budget.into(),
            frames: said.frames,
        };
        if is_bounded && watched.note((said.port, queue), stay) {
            network.tables.ask_for_counts(ctx);
            self.judge_profiles(ctx, network);
        }
    }

    /// Looks at what a switch has answered of its hops, if that is new.
    pub fn hops_reported(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        datapath: DatapathId,
    ) {
        let session = ctx.sessions.of_switch(datapath);
        let Some(session) = session.and_then(|slot| ctx.sessions.get(slot)) else {
            return;
        };
        let is_bounded = self.is_bounded(network);
        let hops = &session.telemetry.hops;
        let watched = self.profiles.watched.entry(datapath).or_default();
        if watched.answers == hops.answers() {
            return;
        }
        watched.answers = hops.answers();
        if self.profiles.interrupted && watched.audit.is_fresh(ctx.now) {
            return;
        }
        let switch = ctx.parameters.of(datapath);
        let most = |port, time: Duration| {
            let carried = TokenBucket::new(switch.port(port).rate, SMALLEST_ON_WIRE);
            match time > LONGEST_COUNTED {
                true => u64::MAX,
                false => carried.most_in(time.into()).as_bits() / SMALLEST_ON_WIRE.as_bits(),
            }
        };
        let (risen, doubts) = watched.audit.take(ctx.now, &hops.said, most);
        let generation = self.reservations.generation();
        let is_settled = watched.generation.replace(generation) == Some(generation)
            && self.reservations.slowdown().is_some()
            && is_bounded;
        for stay in risen.into_iter().filter(|_| is_settled) {
            self.note_risen(network, datapath, stay);
        }
        for doubt in doubts {
            tell_doubt(ctx, datapath, doubt);
        }
        // What one switch says may tell why frames stay at another.
        let mut watched = self.profiles.watched.values();
        if watched.any(|it| !it.stays.is_empty()) {
            self.judge_profiles(ctx, network);
        }
        let standing = self.standing(ctx, datapath);
        network.topology.view.set_profile(datapath, standing);
    }

    /// Notes a stay that its switch has answered, if it shows something that the profile does
    /// not explain.
    fn note_risen(&mut self, network: &Network, datapath: DatapathId, stay: RisenStay) {
        let shows_something = match self.profiles.interrupted {
            false => stay.is_longer,
            true => stay.is_usual(),
        };
        let Some(flow) = network.owners.flows.get(stay.flow) else {
            return;
        };
        let class = flow.admission.requirement.class;
        let at = PortId::new(datapath, stay.port);
        let bound = self.reservations.hop_bound(at, class, AS_PROMISED);
        let explained = bound.filter(|bound| stay.longest > bound.round_up() + CLOCK_STEP);
        let watched = self.profiles.watched.get_mut(&datapath);
        let (Some(explained), Some(watched), true) = (explained, watched, shows_something) else {
            return;
        };
        watched.note(
            (stay.port, class),
            UnexplainedStay {
                flow: stay.flow,
                longest: stay.longest,
                explained,
                frames: stay.above.max(1),
            },
        );
    }

    /// Returns whether the bound of a hop is all that may hold a frame back: while more is
    /// broken than promises cover, or a level of criticality changes, more may.
    fn is_bounded(&self, network: &Network) -> bool {
        !self.reservations.has_levels() && Self::too_much_broken(network).is_none()
    }

    /// Says of each switch at which frames stayed too long whether it is why.
    pub(super) fn judge_profiles(&mut self, ctx: &mut Context, network: &mut Network) {
        let watched = self.profiles.watched.iter();
        let excess = watched.filter_map(|(datapath, it)| Some((*datapath, it.excess()?)));
        let excess: Vec<(DatapathId, Delay)> = excess.collect();
        ctx.slow_switches
            .retain(|at, _| excess.iter().any(|(datapath, _)| datapath == at));
        for (datapath, _) in &excess {
            // A policer lets so much pass before its time.
            let early = ctx.let_through_early();
            let others = excess.iter().filter(|(other, _)| other != datapath);
            let others: Vec<_> = others.copied().collect();
            let stays = self.profiles.stays(*datapath);
            let own = stays.iter().filter(|((port, class), stay)| {
                let at = PortId::new(*datapath, *port);
                let bound = self.reservations.hop_bound(at, *class, (&others, early));
                bound.is_some_and(|bound| stay.longest > bound.round_up() + CLOCK_STEP)
            });
            let is_certain = own.count() > 0 && is_known_what_comes(ctx, network, *datapath);
            self.judged(ctx, network, (*datapath, &stays), is_certain);
        }
    }

    /// Takes in what is known of a switch at which frames stayed too long, and tells it if
    /// that is new.
    fn judged(
        &self,
        ctx: &mut Context,
        network: &mut Network,
        (datapath, stays): (DatapathId, &Stays),
        is_certain: bool,
    ) {
        let slow = SlowSwitch {
            is_certain,
            hops: stays.keys().copied().collect(),
        };
        let before = ctx.slow_switches.insert(datapath, slow.clone());
        if before.as_ref() == Some(&slow) {
            return;
        }
        ctx.promises_changed();
        let standing = self.standing(ctx, datapath);
        network.topology.view.set_profile(datapath, standing);
        let worst = stays.iter().max_by_key(|(_, stay)| stay.excess());
        if let Some(((port, _), stay)) = worst
            && before.is_none_or(|before| before.is_certain != is_certain)
        {
            let at = PortId::new(datapath, *port);
            let flow = network.owners.flows.get(stay.flow);
            ctx.outbox.notify(Event::ProfileContradicted {
                flow: stay.flow,
                name: flow.map(|flow| flow.admission.requirement.name.clone()),
                at: Place::new(at, ctx.name_of_switch(datapath)),
                explained: stay.explained.round_up(),
                longest: stay.longest,
                certain: is_certain,
            });
        }
    }

    /// Returns whether what was seen of a switch agrees with its profile.
    fn standing(&self, ctx: &Context, datapath: DatapathId) -> ProfileStanding {
        let is_seen = |it: &WatchedSwitch| it.audit.frames() > 0;
        match ctx.slow_switches.get(&datapath) {
            Some(slow) if slow.is_certain => ProfileStanding::Contradicted,
            Some(_) => ProfileStanding::Unclear,
            None if !ctx.policing.is_able(datapath) => ProfileStanding::Unwatched,
            None if self.profiles.watched.get(&datapath).is_some_and(is_seen) => {
                ProfileStanding::Explained
            }
            None => ProfileStanding::Unseen,
        }
    }

    /// Lists what switches are taken to be, and asks them anew.
    pub fn list_profiles(&self, ctx: &mut Context, network: &mut Network) -> Reply {
        network.tables.ask_for_counts(ctx);
        let switches = network.topology.view.switches().iter();
        let listed = switches.map(|switch| self.profile_of(ctx, network, switch.datapath));
        Reply::Profiles(listed.collect())
    }

    fn profile_of(&self, ctx: &Context, network: &Network, datapath: DatapathId) -> SwitchProfile {
        let watched = self.profiles.watched.get(&datapath);
        SwitchProfile {
            datapath,
            name: ctx.name_of_switch(datapath),
            processor: self
                .reservations
                .processor(datapath)
                .map(|times| ProcessorProfile {
                    latency: times.latency.round_up(),
                    per_frame: times.per_frame.round_up(),
                }),
            adopted: self.profiles.adopted.contains(&datapath),
            standing: self.standing(ctx, datapath),
            frames: watched.map_or(0, |it| it.audit.frames()),
            evidence: self.evidence(ctx, network, datapath),
            doubts: watched.map(|it| it.audit.doubts()).unwrap_or_default(),
        }
    }

    /// Returns the stays at a switch that its profile does not explain.
    pub(super) fn evidence(
        &self,
        ctx: &Context,
        network: &Network,
        datapath: DatapathId,
    ) -> Vec<HopEvidence> {
        let named = |((port, queue), stay): ((PortNumber, u8), UnexplainedStay)| {
            let flow = network.owners.flows.get(stay.flow);
            let at = PortId::new(datapath, port);
            HopEvidence {
                flow: flow.map_or_else(
                    || stay.flow.0.to_string(),
                    |flow| flow.admission.requirement.name.clone(),
                ),
                at: Place::new(at, ctx.name_of_switch(datapath)),
                queue,
                longest: stay.longest,
                explained: stay.explained.round_up(),
                frames: stay.frames,
            }
        };
        self.profiles
            .stays(datapath)
            .into_iter()
            .map(named)
            .collect()
    }
}

impl WatchedSwitch {
    /// Notes a stay; returns whether it is the longest of its port and queue.
    fn note(&mut self, place: (PortNumber, u8), stay: UnexplainedStay) -> bool {
        let known = self.stays.entry(place).or_insert(UnexplainedStay {
            longest: Duration::ZERO,
            frames: 0,
            ..stay
        });
        let frames = known.frames.saturating_add(stay.frames);
        let is_longest = stay.longest > known.longest;
        if is_longest {
            *known = stay;
        }
        known.frames = frames;
        is_longest
    }

    /// Returns by how much frames stayed longer than is explained, if any did.
    fn excess(&self) -> Option<Delay> {
        self.stays.values().map(UnexplainedStay::excess).max()
    }
}

impl UnexplainedStay {
    fn excess(&self) -> Delay {
        Delay::from(self.longest).saturating_sub(self.explained)
    }
}

impl SlowSwitch {
    /// Returns whether frames of a class that leave by one of these ports may stay for
    /// longer than is promised.
    pub fn concerns(&self, ports: &[PortNumber], class: u8) -> bool {
        self.is_certain || ports.iter().any(|port| self.hops.contains(&(*port, class)))
    }
}

/// Returns whether a switch says what contradicts itself.
pub(super) fn is_contradiction(said: &HopEvent) -> bool {
    said.frames == 0 || said.longest <= said.budget || said.longest > LONGEST_BELIEVED
}

/// Tells of what cannot be, unless it may be an accident: entries that were written anew, and
/// messages that crossed.
fn tell_doubt(ctx: &mut Context, datapath: DatapathId, doubt: HopDoubt) {
    match doubt {
        HopDoubt::NoTime | HopDoubt::TooMany | HopDoubt::Contradiction => {
            let name = ctx.name_of_switch(datapath);
            ctx.outbox.notify(Event::SwitchDoubted {
                datapath,
                name,
                doubt,
            });
        }
        HopDoubt::WentBack | HopDoubt::OtherBudget | HopDoubt::UnknownEntry => {}
    }
}

/// Returns whether all that is promised at a switch is held to its contract, and came over
/// hops that say how long it stayed there.
fn is_known_what_comes(ctx: &Context, network: &Network, datapath: DatapathId) -> bool {
    let promised = network.owners.flows.iter().filter(|flow| {
        let tree = flow.tree().filter(|_| flow.reservation.is_some());
        tree.is_some_and(|tree| tree.branches.iter().any(|it| it.datapath == datapath))
    });
    let mut promised = promised.filter(|flow| flow.is_admitted());
    promised.all(|flow| flow.rule.contract().is_some() && is_seen_before(ctx, flow, datapath))
}

/// Returns whether the hops of a flow before a switch have said how long its frames stay.
fn is_seen_before(ctx: &Context, flow: &Flow, datapath: DatapathId) -> bool {
    let Some(tree) = flow.tree() else {
        return true;
    };
    let of_switch = tree.branches.iter().filter(|it| it.datapath == datapath);
    of_switch.into_iter().all(|branch| {
        let mut before = branch.parent;
        while let Some((at, port)) = before {
            let branch = &tree.branches[at];
            let session = ctx.sessions.of_switch(branch.datapath);
            let session = session.and_then(|slot| ctx.sessions.get(slot));
            let is_seen =
                session.is_some_and(|it| it.telemetry.hops.said.contains_key(&(flow.id, port)));
            if !is_seen {
                return false;
            }
            before = branch.parent;
        }
        true
    })
}
