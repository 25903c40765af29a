//! Has the network be a router among others, while `sdn-ip` is loaded (S1-10).
//!
//! Changes of routes are worked off in slices, and sent to switches in parts of which each is
//! confirmed ([`crate::router::delivery`]); between two slices switches and applications are
//! heard. Ways to next hops, and those between peers and the speaker, are kept as the network
//! changes; that concerns no route.
//!
//! While the speaker is gone, its routes are kept for a while, as a router does whose
//! neighbour restarts (RFC 4724 section 4.2): when it is back it tells all of them, and what it
//! does not name is withdrawn.

mod adoption;
mod changes;
mod listing;
mod switches;
mod ways;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use units::{Duration, Instant};
use wire::openflow::DatapathId;

use crate::desired::{Content, EntryOwner};
use crate::northbound::{
    ApplicationKind, Event, MAX_ROUTE_CHANGES, Reply, Request, RequestId, SdnIp, SpeakerState,
};
use crate::router::damping::Penalties;
use crate::router::delivery::{Changes, Delivery};
use crate::router::next_hops::NextHops;
use crate::router::table::{HopId, RouteTable};
use crate::session::ConnectionId;

use super::context::{LeftRoutes, Memory};
use super::{Context, Network};
use changes::{News, Work};

/// The most requests with changes that wait.
const MAX_WAITING_CHANGES: usize = 16;
/// How often is told what has changed.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// The network as a router.
#[derive(Debug)]
pub struct Routing {
    settings: Option<SdnIp>,
    /// Whether there are settings, and the application is loaded.
    is_active: bool,
    table: RouteTable,
    hops: NextHops,
    penalties: Penalties,
    changes: Changes,
    /// How far the switches with outside routers are that are connected.
    deliveries: BTreeMap<DatapathId, Delivery>,
    /// The switches with outside routers.
    ingresses: BTreeSet<DatapathId>,
    /// What is asked of routes and was not done.
    work: VecDeque<Work>,
    stale_hops: BTreeSet<HopId>,
    stale_peerings: BTreeSet<usize>,
    /// Next hops that no route has, until no switch sends to them.
    idle_hops: BTreeSet<HopId>,
    /// The number of the last snapshot that was begun.
    generation: u16,
    /// Whether all routes were told once, or nobody told them for too long: what switches
    /// have beside them may go.
    is_known: bool,
    speaker: SpeakerState,
    speaker_since: Instant,
    /// When routes are withdrawn of which the speaker has not told anew.
    stale_at: Option<Instant>,
    news: News,
    /// The connections of switches that have no entries of prefixes and should have none.
    cleared: BTreeSet<ConnectionId>,
}

impl Routing {
    pub fn new(now: Instant) -> Self {
        Self {
            settings: None,
            is_active: false,
            table: RouteTable::default(),
            hops: NextHops::default(),
            penalties: Penalties::default(),
            changes: Changes::default(),
            deliveries: BTreeMap::new(),
            ingresses: BTreeSet::new(),
            work: VecDeque::new(),
            stale_hops: BTreeSet::new(),
            stale_peerings: BTreeSet::new(),
            idle_hops: BTreeSet::new(),
            generation: 0,
            is_known: false,
            speaker: SpeakerState::Lost,
            speaker_since: now,
            stale_at: None,
            news: News::default(),
            cleared: BTreeSet::new(),
        }
    }

    /// Returns when something is to be done.
    pub fn deadline(&self, ctx: &Context, network: &Network) -> Option<Instant> {
        if self.is_active != self.should_be_active(network) {
            return Some(ctx.now);
        }
        if ctx.memory == Memory::Incomplete {
            return None;
        }
        let is_stale = ctx.are_routes_stale;
        if !self.is_active {
            return is_stale.then_some(ctx.now);
        }
        let is_sendable = |delivery: &Delivery| {
            delivery.is_sendable(&self.changes)
                || delivery.is_askable()
                || self.is_known && delivery.is_held()
        };
        let are_ways_awaited = self.are_ways_awaited(ctx, network);
        let is_busy = is_stale
            || !self.work.is_empty()
            || self.has_stale_ways() && !are_ways_awaited
            || self.is_adoption_over(ctx, network)
            || self.deliveries.values().any(is_sendable);
        let is_busy = is_busy || self.are_idle_hops_unused();
        let others = [
            is_busy.then_some(ctx.now),
            are_ways_awaited.then_some(ctx.settled_at),
            self.hops.deadline(),
            self.penalties.deadline(),
            self.stale_at,
            self.news.due(TOLD_EVERY),
            self.recount_at(),
        ];
        others.into_iter().flatten().min()
    }

    fn should_be_active(&self, network: &Network) -> bool {
        let kind = ApplicationKind::SdnIp;
        let is_loaded = network.owners.applications.of_kind(kind).is_some();
        is_loaded && self.settings.is_some()
    }

    /// Does a slice of what is to be done.
    pub fn keep(&mut self, ctx: &mut Context, network: &mut Network) {
        self.follow_application(ctx, network);
        if ctx.memory == Memory::Incomplete {
            return;
        }
        if std::mem::take(&mut ctx.are_routes_stale) {
            self.follow_switches(ctx, network);
            self.mark_all();
        }
        if !self.is_active {
            return;
        }
        if self.stale_at.is_some_and(|at| ctx.now >= at) {
            self.withdraw_stale();
        }
        self.use_again(ctx);
        self.work_some(ctx);
        self.keep_ways(ctx, network);
        self.ask_next_hops(ctx, network);
        self.end_adoption(ctx, network);
        self.serve_switches(ctx, network);
        self.news.tell(ctx, TOLD_EVERY);
    }

    /// Begins when the application is loaded and there are settings, and ends when not.
    fn follow_application(&mut self, ctx: &mut Context, network: &mut Network) {
        let should_be = self.should_be_active(network);
        match (self.is_active, should_be) {
            (false, true) => self.begin(ctx),
            (true, false) => self.end(ctx, network),
            (true, true) | (false, false) => {}
        }
    }

    fn begin(&mut self, ctx: &mut Context) {
        let Some(settings) = &self.settings else {
            return;
        };
        let ports = settings.peerings.iter().map(|peering| peering.port);
        self.ingresses = ports.map(|port| port.datapath).collect();
        self.stale_at = Some(ctx.now + stale_time(settings));
        self.is_active = true;
        ctx.are_routes_stale = true;
    }

    /// Takes all entries away and forgets all but the settings.
    fn end(&mut self, ctx: &mut Context, network: &mut Network) {
        let nothing = Content::new();
        let hops = self
            .hops
            .iter()
            .map(|(_, hop)| EntryOwner::NextHop(hop.tag));
        let peerings = self.settings.iter().flat_map(|it| 0..it.peerings.len());
        let peerings = peerings.filter_map(|place| u32::try_from(place).ok());
        let subjects: Vec<EntryOwner> = hops.chain(peerings.map(EntryOwner::Peering)).collect();
        for subject in subjects {
            network.set_content_at_once(ctx, subject, &nothing);
        }
        for work in std::mem::take(&mut self.work) {
            work.give_up(ctx);
        }
        let fresh = Self::new(ctx.now);
        let before = std::mem::replace(self, fresh);
        ctx.left_routes = LeftRoutes::default();
        self.settings = before.settings;
        self.generation = before.generation;
        ctx.are_routes_stale = true;
    }

    /// Has all ways be looked at.
    fn mark_all(&mut self) {
        self.stale_hops.extend(self.hops.iter().map(|(id, _)| id));
        let peerings = self.settings.iter().flat_map(|it| 0..it.peerings.len());
        if self.is_active {
            self.stale_peerings.extend(peerings);
        }
    }

    /// Begins anew with what is known; entries stay.
    pub fn reload(&mut self) {
        self.mark_all();
        for delivery in self.deliveries.values_mut() {
            delivery.is_unsure = true;
        }
    }

    /// Answers what is asked of routes.
    pub fn requested(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        id: RequestId,
        request: Request,
    ) {
        self.follow_application(ctx, network);
        let reply = match request {
            Request::ConfigureSdnIp(settings) => self.configure(ctx, network, settings),
            _ if !self.is_active => Reply::NotRouting,
            Request::ChangeRoutes { changes, .. } if changes.len() > MAX_ROUTE_CHANGES => {
                Reply::TooManyRouteChanges
            }
            Request::ChangeRoutes { .. } if self.work.len() >= MAX_WAITING_CHANGES => Reply::Busy,
            Request::ChangeRoutes { changes, part } => {
                return self.work.extend(Work::of(id, changes, part));
            }
            Request::RoutesAfter { after, most } => {
                Reply::Routes(self.routes_after(ctx, network, after, most))
            }
            Request::RoutingStatus => match self.status(ctx, network) {
                Some(status) => Reply::RoutingStatus(Box::new(status)),
                None => Reply::NotRouting,
            },
            Request::SpeakerState(state) => {
                self.speaker_said(ctx, state);
                Reply::SpeakerNoted
            }
            _ => unreachable!("nothing else is asked of it"),
        };
        ctx.outbox.reply(id, reply);
    }

    fn configure(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        settings: Option<Box<SdnIp>>,
    ) -> Reply {
        let settings = settings.map(|settings| *settings);
        if let Some(Err(error)) = settings.as_ref().map(SdnIp::check) {
            return Reply::SdnIpRefused(error);
        }
        if settings != self.settings {
            if self.is_active {
                self.end(ctx, network);
            }
            self.settings = settings;
            self.follow_application(ctx, network);
        }
        Reply::SdnIpConfigured
    }

    fn speaker_said(&mut self, ctx: &mut Context, state: SpeakerState) {
        if state == self.speaker {
            return;
        }
        (self.speaker, self.speaker_since) = (state, ctx.now);
        let Some(settings) = &self.settings else {
            return;
        };
        match state {
            SpeakerState::Connected => ctx.outbox.notify(Event::SpeakerBack),
            SpeakerState::Lost => {
                let kept = stale_time(settings);
                self.stale_at = Some(ctx.now + kept);
                ctx.outbox.notify(Event::SpeakerLost { kept });
            }
        }
    }
}

fn stale_time(settings: &SdnIp) -> Duration {
    Duration::from_secs(u64::from(settings.stale_time_s))
}
