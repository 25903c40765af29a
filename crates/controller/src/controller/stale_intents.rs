//! Which intents, routes and gatherings are in force, and which of them a change concerns.

use std::collections::BTreeSet;

use units::{Duration, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::DatapathId;

use crate::desired::{EntryOwner, Outcome};
use crate::intents::{Course, Item, MAX_EVERYWHERE, Standing, compile, is_everywhere, sense};
use crate::northbound::{
    ApplicationKind, Asker, Event, Intent, IntentId, IntentKind, IntentRefusal, IntentState,
    MAX_INTENTS, RuleOwner,
};
use crate::place::{LinkEnds, PortId};
use crate::store::{Key, StoreWrite};
use crate::view::{Carrier, Link};

use super::context::Memory;
use super::{Context, Owners, Topology};

/// How long what waits is not tried again after something has changed: a network
/// that comes up changes thousands of times a second.
const RETRY_WAIT: Duration = Duration::from_ms(20);

impl Owners {
    pub fn check_intent(&self, topology: &Topology, intent: &Intent) -> Result<(), IntentRefusal> {
        sense::check(intent).map_err(IntentRefusal::Senseless)?;
        if self.intents.by_name(&intent.name).is_some() {
            let name = intent.name.clone();
            return Err(IntentRefusal::NameTaken { name });
        }
        let limit = MAX_INTENTS;
        if self.intents.len() >= limit {
            return Err(IntentRefusal::TooMany { limit });
        }
        let limit = MAX_EVERYWHERE;
        if is_everywhere(&intent.kind) && self.intents.count_everywhere() >= limit {
            return Err(IntentRefusal::TooMany { limit });
        }
        let mut hosts = compile::hosts(&intent.kind).into_iter();
        match hosts.find(|host| topology.view.host(host).is_none()) {
            None => Ok(()),
            Some(host) => Err(IntentRefusal::UnknownHost {
                name: host.to_owned(),
            }),
        }
    }

    /// Returns how many intents an application has.
    pub fn intents_of(&self, application: &str) -> usize {
        self.all_intents_of(application).count()
    }

    /// Ends all intents of an application that is not loaded any more.
    pub fn end_intents_of(&self, ctx: &mut Context, application: &str) {
        let ended: Vec<IntentId> = self.all_intents_of(application).collect();
        for id in ended {
            ctx.outbox.store(StoreWrite {
                key: Key::Intent(id.0),
                value: None,
            });
        }
    }

    fn all_intents_of(&self, application: &str) -> impl Iterator<Item = IntentId> {
        let all = self.intents.accepted();
        let of = all.filter(move |(_, held)| match &held.owner {
            Asker::Application(name) => name == application,
            Asker::Operator => false,
        });
        of.map(|(id, _)| id)
    }

    /// Marks what the hosts of an intent send to all.
    pub fn mark_gatherings(&mut self, ctx: &Context, topology: &Topology, kind: &IntentKind) {
        if let IntentKind::HostToHost { one, other } = kind {
            for name in [one, other] {
                if let Some(host) = topology.view.host(name) {
                    self.intents.mark_later(Item::Gathering(host.mac));
                }
            }
            self.try_waiting_intents(ctx);
        }
    }

    /// Takes in what became of the rules of an intent.
    pub fn intent_settled(&mut self, ctx: &mut Context, id: IntentId, outcome: Outcome) {
        let Some(held) = self.intents.get(id) else {
            return;
        };
        if matches!(held.state, IntentState::Waiting { .. }) {
            // What it had is gone.
            return;
        }
        let state = match outcome {
            Outcome::Confirmed => IntentState::Installed,
            Outcome::Away { .. } => IntentState::Installing,
            Outcome::Refused { datapath, error } => IntentState::Failed {
                reason: format!("switch {:x} refuses a rule: {error:?}", datapath.0),
            },
            Outcome::Contested { datapath, with } => IntentState::Failed {
                reason: format!(
                    "{} has a rule for the same frames at switch {:x}",
                    self.name_of_subject(with),
                    datapath.0
                ),
            },
            Outcome::TooMany => IntentState::Failed {
                reason: "there would be more rules than can be kept".to_owned(),
            },
        };
        self.set_intent_state(ctx, id, state);
    }

    /// Notes how far an intent is, and tells if that is new.
    pub fn set_intent_state(&mut self, ctx: &mut Context, id: IntentId, state: IntentState) {
        let Some(held) = self.intents.get_mut(id) else {
            return;
        };
        if held.state == state {
            return;
        }
        held.state = state.clone();
        let name = held.intent.name.clone();
        ctx.outbox.notify(Event::IntentChanged {
            intent: id,
            name,
            state,
        });
    }

    /// Names whose a rule is, for people.
    pub fn name_of_subject(&self, subject: EntryOwner) -> String {
        match subject {
            EntryOwner::Service
            | EntryOwner::KnownHost(_)
            | EntryOwner::Gathering(_)
            | EntryOwner::Modes => "the controller".to_owned(),
            EntryOwner::Route(_) => "proactive-routes".to_owned(),
            EntryOwner::NextHop(_) | EntryOwner::Peering(_) => "sdn-ip".to_owned(),
            EntryOwner::Flow(flow) | EntryOwner::Levels(flow) | EntryOwner::Guard(flow) => {
                match self.flows.get(flow) {
                    Some(flow) => format!("flow {}", flow.admission.requirement.name),
                    None => format!("flow {}", flow.0),
                }
            }
            EntryOwner::Intent(id) => match self.intents.get(id) {
                Some(held) => format!("intent {} of {}", held.intent.name, owner(&held.owner)),
                None => format!("intent {}", id.0),
            },
            EntryOwner::Application(id) => match self.applications.get(id) {
                Some(loaded) => format!("application {}", loaded.manifest.name),
                None => format!("application {}", id.0),
            },
        }
    }

    /// Returns when intents need time.
    pub fn intents_deadline(&self, ctx: &Context) -> Option<Instant> {
        if ctx.memory == Memory::Incomplete {
            return None;
        }
        let now = self.intents.is_stale().then_some(ctx.now);
        let timers = [now, self.intents.retry_at, self.intents.return_at];
        timers.into_iter().flatten().min()
    }

    /// Returns whether something has a way, and the way is whole.
    pub fn is_travelled(&self, topology: &Topology, item: Item) -> bool {
        let course = self.intents.course(item);
        course.is_some_and(|course| course.links().all(|link| topology.view.is_up(link)))
    }

    /// Returns the ways that something had to leave, if it can go back: they lead where
    /// the best ones do and are no dearer, and their links have been there for a while.
    pub fn home(
        &self,
        ctx: &Context,
        topology: &Topology,
        item: Item,
        best: &Course,
    ) -> Option<&Course> {
        let home = self.intents.home(item)?;
        let has_stayed = |ends: LinkEnds| {
            let link = topology
                .view
                .link(ends)
                .map(|id| topology.view.links()[id.index()]);
            let wait = ctx.timers.return_wait;
            let is_there = |link: Link| {
                link.carrier == Carrier::Up && ctx.now.saturating_since(link.since) >= wait
            };
            link.is_some_and(is_there)
        };
        let is_as_good = home.cost <= best.cost && home.joins_the_same(best);
        (is_as_good && home.links().all(has_stayed)).then_some(home)
    }

    /// Returns whether something has a way that is whole and no dearer than the best one:
    /// then it stays where it is, unless it comes from elsewhere and can go back.
    pub fn is_kept(
        &mut self,
        ctx: &Context,
        topology: &Topology,
        item: Item,
        best: &Course,
    ) -> bool {
        let Some(present) = self.intents.course(item) else {
            return false;
        };
        let is_whole = present.links().all(|link| topology.view.is_up(link));
        let has_home = self.home(ctx, topology, item, best).is_some();
        let is_kept = is_whole
            && !(has_home && present != best)
            && !present.trees.is_empty()
            && present.joins_the_same(best)
            && present.cost <= best.cost;
        if is_kept && has_home {
            self.intents.settle_in(item);
        }
        is_kept
    }

    /// Returns whether an application brings what goes to all to every host.
    pub fn is_flooded(&self) -> bool {
        self.forwarding.is_some() || self.is_proactive
    }

    /// Takes in that applications have come or gone.
    pub fn mark_all_gatherings(&mut self, ctx: &Context, topology: &Topology) {
        let kinds = self
            .intents
            .accepted()
            .map(|(_, held)| held.intent.kind.clone());
        let kinds: Vec<IntentKind> = kinds.collect();
        kinds
            .iter()
            .for_each(|kind| self.mark_gatherings(ctx, topology, kind));
    }

    /// Returns where a host is and where those are that intents connect it with, if
    /// there are any.
    pub fn peers(&self, topology: &Topology, mac: MacAddress) -> Option<(PortId, Vec<PortId>)> {
        let host = topology.view.host_by_mac(mac)?;
        let source = host.attachment?;
        let intents = self.intents.of_host(&host.name);
        let mut peers: Vec<_> = intents
            .filter_map(|id| {
                let held = self.intents.get(id)?;
                let IntentKind::HostToHost { one, other } = &held.intent.kind else {
                    return None;
                };
                let peer = if *one == host.name { other } else { one };
                let is_accepted = held.standing == Standing::Accepted;
                topology.view.host(peer).filter(|_| is_accepted)?.attachment
            })
            .collect();
        peers.sort_unstable();
        peers.dedup();
        (!peers.is_empty()).then_some((source, peers))
    }

    /// Takes in that a link is gone.
    pub fn intents_lose(&mut self, topology: &mut Topology, link: LinkEnds) {
        topology.refresh_atlas_link(link);
        self.intents.lose_link(link);
    }

    /// Takes in that a link is up.
    pub fn intents_gain(&mut self, ctx: &Context, topology: &mut Topology, link: LinkEnds) {
        topology.refresh_atlas_link(link);
        if self.intents.gain_link(link) {
            self.intents.return_at = Some(ctx.now + ctx.timers.return_wait);
        }
    }

    /// Takes in that a switch is connected, or is not any more.
    pub fn switch_concerns_intents(&mut self, topology: &mut Topology, datapath: DatapathId) {
        if let Some((_, atlas)) = &mut topology.atlas {
            atlas.refresh(&topology.view, datapath);
        }
        // Each route has a rule at each switch.
        self.intents.mark_routes_unfinished();
    }

    /// Takes in that a host was found or has moved.
    pub fn host_concerns_intents(&mut self, ctx: &Context, topology: &Topology, name: &str) {
        self.mark_route(topology, name);
        let concerned: Vec<IntentId> = self.intents.of_host(name).collect();
        for id in concerned {
            self.intents.mark(Item::Intent(id));
            if let Some(held) = self.intents.get(id) {
                let kind = held.intent.kind.clone();
                self.mark_gatherings(ctx, topology, &kind);
            }
        }
    }

    /// Has what waits tried again soon.
    pub fn try_waiting_intents(&mut self, ctx: &Context) {
        if self.intents.is_anything_waiting() && self.intents.retry_at.is_none() {
            self.intents.retry_at = Some(ctx.now + RETRY_WAIT);
        }
    }

    /// Takes in that proactive routes are wanted, or are not any more.
    pub fn proactive_routes_change(&mut self, topology: &Topology) {
        let kept: Vec<MacAddress> = self.intents.routes().collect();
        let known = topology.view.hosts().iter().map(|host| host.mac);
        for host in known.chain(kept) {
            self.intents.mark(Item::Route(host));
        }
        self.intents.mark(Item::Flood);
    }

    /// Returns the application of a kind as an owner of rules.
    pub fn owner_of_kind(&self, kind: ApplicationKind) -> RuleOwner {
        match self.applications.of_kind(kind) {
            Some(id) => self.owner_of_application(id),
            None => RuleOwner::Controller,
        }
    }

    /// Takes in that a host was found, has moved or is gone.
    pub fn mark_route(&mut self, topology: &Topology, name: &str) {
        if self.is_proactive
            && let Some(host) = topology.view.host(name)
        {
            self.intents.mark(Item::Route(host.mac));
        }
    }

    /// Returns whether a route is whole, leads from all switches from which it can
    /// and costs no more than the best one.
    pub fn is_route_kept(&self, topology: &Topology, item: Item, best: &Course) -> bool {
        let Some(present) = self.intents.course(item) else {
            return false;
        };
        let switches = |course: &Course| {
            let branches = course.trees.iter().flat_map(|tree| &tree.branches);
            branches
                .map(|branch| branch.datapath)
                .collect::<BTreeSet<_>>()
        };
        let root = |course: &Course| course.trees[0].branches[0].entrance();
        present.links().all(|link| topology.view.is_up(link))
            && root(present) == root(best)
            && switches(present) == switches(best)
            && present.cost <= best.cost
    }
}

fn owner(asker: &Asker) -> String {
    match asker {
        Asker::Operator => "the operator".to_owned(),
        Asker::Application(name) => format!("application {name}"),
    }
}
