//! Keeps intents as the network changes.
//!
//! What a change concerns is marked, and kept anew in slices: at once as much as a
//! slice holds, the rest whenever the driver comes back, which is asked for at once.
//! Between two slices switches and applications are heard.

use std::collections::{BTreeMap, BTreeSet};

use units::{Duration, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::DatapathId;

use crate::desired::{Content, EntryOwner, PlacedRule};
use crate::flows::BEST_EFFORT;
use crate::intents::compile::{Plan, compile, compile_on, match_action};
use crate::intents::{Course, Item, Standing, gathering};
use crate::northbound::{Asker, IntentId, IntentKind, IntentState};
use crate::path::Atlas;
use crate::place::{LinkEnds, PortId};
use crate::transition::{Change, Stages};
use crate::view::{Carrier, Link};

use super::Controller;
use super::memory::Memory;
use super::staged_updates::{Part, Reached};

/// The most that is kept anew between two inputs.
const SLICE_ITEMS: usize = 256;
/// About how many switches the searches of a slice visit.
const SLICE_VISITS: usize = 5_000;
/// How long what waits is not tried again after something has changed: a network
/// that comes up changes thousands of times a second.
const RETRY_WAIT: Duration = Duration::from_ms(20);

/// What a slice works with.
pub(super) struct Slice {
    pub(super) atlas: Atlas,
    /// What is moved in stages.
    pub(super) moves: BTreeMap<EntryOwner, Part>,
}

impl Controller {
    /// Returns when intents need time.
    pub(super) fn intents_deadline(&self) -> Option<Instant> {
        if self.ctx.memory == Memory::Incomplete {
            return None;
        }
        let now = self.owners.intents.is_stale().then_some(self.ctx.now);
        let timers = [
            now,
            self.owners.intents.retry_at,
            self.owners.intents.return_at,
        ];
        timers.into_iter().flatten().min()
    }

    /// Keeps a slice of what is stale.
    pub(super) fn keep_intents(&mut self) {
        if self.ctx.memory == Memory::Incomplete {
            return;
        }
        if self
            .owners
            .intents
            .retry_at
            .is_some_and(|at| self.ctx.now >= at)
        {
            self.owners.intents.retry_at = None;
            self.owners.intents.mark_waiting();
        }
        if self
            .owners
            .intents
            .return_at
            .is_some_and(|at| self.ctx.now >= at)
        {
            self.owners.intents.return_at = None;
            self.owners.intents.mark_displaced();
        }
        if !self.owners.intents.is_stale() {
            return;
        }
        let mut slice = Slice {
            atlas: self.take_atlas(),
            moves: BTreeMap::new(),
        };
        let start = slice.atlas.visits();
        for _ in 0..SLICE_ITEMS {
            let Some(item) = self.owners.intents.take_stale() else {
                break;
            };
            match item {
                Item::Intent(id) => self.keep_intent(id, &mut slice),
                Item::Gathering(host) => self.keep_gathering(host, &mut slice),
                Item::Route(host) => self.keep_route(host, &mut slice),
                Item::Flood => self.keep_flood(&mut slice),
            }
            if slice.atlas.visits() - start >= SLICE_VISITS {
                break;
            }
        }
        self.topology.atlas = Some((self.ctx.metric, slice.atlas));
        self.begin_move(slice.moves);
    }

    /// Gives a subject its rules: in stages if frames are on a way of it that is
    /// whole, at once if there is nothing to lose.
    fn place(&mut self, item: Item, rules: &[PlacedRule], moves: &mut BTreeMap<EntryOwner, Part>) {
        let subject = EntryOwner::from(item);
        let forms = rules.iter().map(|rule| (rule.datapath, rule.form()));
        let wanted: Content = forms
            .map(|(datapath, form)| ((datapath, form.place()), form))
            .collect();
        if !self.is_travelled(item) {
            self.set_content_at_once(subject, &wanted);
            return;
        }
        self.tables.moves.take(subject);
        let present = self.tables.desired.content(subject);
        let stages = Stages::plan(&present, &wanted, None, &|port| self.far_end(port));
        let relies_on = self.unconfirmed(subject, &wanted);
        let part = Part::new(stages, None, relies_on);
        moves.insert(subject, part);
    }

    /// Returns whether something has a way, and the way is whole.
    pub(super) fn is_travelled(&self, item: Item) -> bool {
        let course = self.owners.intents.course(item);
        course.is_some_and(|course| course.links().all(|link| self.topology.view.is_up(link)))
    }

    /// Returns the network as searches see it, laid out anew if it has grown.
    fn take_atlas(&mut self) -> Atlas {
        match self.topology.atlas.take() {
            Some((metric, atlas))
                if metric == self.ctx.metric && atlas.is_of(&self.topology.view) =>
            {
                atlas
            }
            Some(_) | None => Atlas::new(&self.topology.view, &self.cost(BEST_EFFORT)),
        }
    }

    fn keep_intent(&mut self, id: IntentId, slice: &mut Slice) {
        let Some(held) = self.owners.intents.get(id) else {
            return;
        };
        if held.standing == Standing::Proposed {
            return;
        }
        let kind = held.intent.kind.clone();
        let plan = match compile(&kind, &self.topology.view, &mut slice.atlas) {
            Ok(plan) => plan,
            Err(obstacle) => return self.suspend_intent(id, obstacle.to_string()),
        };
        if let Some((datapath, holder)) = self.conflict(id, &plan.rules) {
            let holder = self.name_of_subject(holder);
            let reason = format!("{holder} has rules for the same frames at {:x}", datapath.0);
            return self.suspend_intent(id, reason);
        }
        let item = Item::Intent(id);
        let Plan { trees, cost, rules } = plan;
        let mut course = Course { trees, cost };
        let mut rules = rules;
        if let Some(home) = self.home(item, &course)
            && let Some(plan) = compile_on(&kind, home, &self.topology.view)
        {
            (course, rules) = (home.clone(), plan.rules);
        }
        self.displace_weaker(id, &rules);
        if self.is_kept(item, &course) {
            return;
        }
        self.set_intent_state(id, IntentState::Installing);
        self.place(item, &rules, &mut slice.moves);
        self.owners.intents.set_course(item, Some(course));
    }

    /// Returns the ways that something had to leave, if it can go back: they lead where
    /// the best ones do and are no dearer, and their links have been there for a while.
    fn home(&self, item: Item, best: &Course) -> Option<&Course> {
        let home = self.owners.intents.home(item)?;
        let has_stayed = |ends: LinkEnds| {
            let link = self
                .topology
                .view
                .link(ends)
                .map(|id| self.topology.view.links()[id.index()]);
            let wait = self.ctx.timers.return_wait;
            let is_there = |link: Link| {
                link.carrier == Carrier::Up && self.ctx.now.saturating_since(link.since) >= wait
            };
            link.is_some_and(is_there)
        };
        let is_as_good = home.cost <= best.cost && home.joins_the_same(best);
        (is_as_good && home.links().all(has_stayed)).then_some(home)
    }

    /// Returns whether something has a way that is whole and no dearer than the best one:
    /// then it stays where it is, unless it comes from elsewhere and can go back.
    fn is_kept(&mut self, item: Item, best: &Course) -> bool {
        let Some(present) = self.owners.intents.course(item) else {
            return false;
        };
        let is_whole = present.links().all(|link| self.topology.view.is_up(link));
        let has_home = self.home(item, best).is_some();
        let is_kept = is_whole
            && !(has_home && present != best)
            && !present.trees.is_empty()
            && present.joins_the_same(best)
            && present.cost <= best.cost;
        if is_kept && has_home {
            self.owners.intents.settle_in(item);
        }
        is_kept
    }

    fn suspend_intent(&mut self, id: IntentId, reason: String) {
        self.owners.intents.set_course(Item::Intent(id), None);
        self.set_intent_state(id, IntentState::Waiting { reason });
        let nothing = Content::new();
        self.set_content_at_once(EntryOwner::Intent(id), &nothing);
    }

    /// Leads what a host sends to all to those that intents connect it with.
    fn keep_gathering(&mut self, mac: MacAddress, slice: &mut Slice) {
        let (item, subject) = (Item::Gathering(mac), EntryOwner::Gathering(mac));
        let nothing = Content::new();
        let Some((source, peers)) = self.peers(mac).filter(|_| !self.is_flooded()) else {
            self.owners.intents.forget_item(item);
            self.set_content_at_once(subject, &nothing);
            return;
        };
        let Some((tree, cost, is_whole)) =
            gathering::gather(&self.topology.view, &mut slice.atlas, source, &peers)
        else {
            self.owners.intents.set_course(item, None);
            self.set_content_at_once(subject, &nothing);
            return;
        };
        let rules = gathering::rules(&tree, mac);
        let course = Course {
            trees: vec![tree],
            cost,
        };
        if !self.is_kept(item, &course) {
            self.place(item, &rules, &mut slice.moves);
            self.owners.intents.set_course(item, Some(course));
        }
        match is_whole {
            true => self.owners.intents.mark_finished(item),
            false => self.owners.intents.mark_unfinished(item),
        }
    }

    /// Returns whether an application brings what goes to all to every host.
    fn is_flooded(&self) -> bool {
        self.owners.forwarding.is_some() || self.owners.is_proactive
    }

    /// Takes in that applications have come or gone.
    pub(super) fn mark_all_gatherings(&mut self) {
        let kinds = self
            .owners
            .intents
            .accepted()
            .map(|(_, held)| held.intent.kind.clone());
        let kinds: Vec<IntentKind> = kinds.collect();
        kinds.iter().for_each(|kind| self.mark_gatherings(kind));
    }

    /// Returns where a host is and where those are that intents connect it with, if
    /// there are any.
    fn peers(&self, mac: MacAddress) -> Option<(PortId, Vec<PortId>)> {
        let host = self.topology.view.host_by_mac(mac)?;
        let source = host.attachment?;
        let intents = self.owners.intents.of_host(&host.name);
        let mut peers: Vec<_> = intents
            .filter_map(|id| {
                let held = self.owners.intents.get(id)?;
                let IntentKind::HostToHost { one, other } = &held.intent.kind else {
                    return None;
                };
                let peer = if *one == host.name { other } else { one };
                let is_accepted = held.standing == Standing::Accepted;
                self.topology
                    .view
                    .host(peer)
                    .filter(|_| is_accepted)?
                    .attachment
            })
            .collect();
        peers.sort_unstable();
        peers.dedup();
        (!peers.is_empty()).then_some((source, peers))
    }

    /// Takes in that a link is gone.
    pub(super) fn intents_lose(&mut self, link: LinkEnds) {
        self.refresh_atlas_link(link);
        self.owners.intents.lose_link(link);
    }

    /// Takes in that a link is up.
    pub(super) fn intents_gain(&mut self, link: LinkEnds) {
        self.refresh_atlas_link(link);
        if self.owners.intents.gain_link(link) {
            self.owners.intents.return_at = Some(self.ctx.now + self.ctx.timers.return_wait);
        }
    }

    /// Takes in that a switch is connected, or is not any more.
    pub(super) fn switch_concerns_intents(&mut self, datapath: DatapathId) {
        if let Some((_, atlas)) = &mut self.topology.atlas {
            atlas.refresh(&self.topology.view, datapath);
        }
        // Each route has a rule at each switch.
        self.owners.intents.mark_routes_unfinished();
    }

    fn refresh_atlas_link(&mut self, link: LinkEnds) {
        if let Some((_, atlas)) = &mut self.topology.atlas {
            atlas.refresh_link(&self.topology.view, link);
        }
    }

    /// Takes in that a host was found or has moved.
    pub(super) fn host_concerns_intents(&mut self, name: &str) {
        self.mark_route(name);
        let concerned: Vec<IntentId> = self.owners.intents.of_host(name).collect();
        for id in concerned {
            self.owners.intents.mark(Item::Intent(id));
            if let Some(held) = self.owners.intents.get(id) {
                let kind = held.intent.kind.clone();
                self.mark_gatherings(&kind);
            }
        }
    }

    /// Has what waits tried again soon.
    pub(super) fn try_waiting_intents(&mut self) {
        if self.owners.intents.is_anything_waiting() && self.owners.intents.retry_at.is_none() {
            self.owners.intents.retry_at = Some(self.ctx.now + RETRY_WAIT);
        }
    }

    /// Gives a switch the rules of what holds at all switches.
    pub(super) fn extend_intents(&mut self, datapath: DatapathId) {
        let everywhere: Vec<IntentId> = self.owners.intents.everywhere().collect();
        for id in everywhere {
            let Some(held) = self.owners.intents.get(id) else {
                continue;
            };
            if held.standing == Standing::Accepted
                && self.owners.intents.course(Item::Intent(id)).is_some()
                && let IntentKind::MatchAction {
                    priority,
                    matching,
                    actions,
                    ..
                } = &held.intent.kind
            {
                let rules = match_action(datapath, *priority, matching, actions);
                let stage = rules.iter().map(|rule| {
                    let spot = (datapath, rule.place());
                    (spot, Change::Put(rule.form()))
                });
                let (subject, stage) = (EntryOwner::Intent(id), stage.collect());
                let mut reached = Reached::default();
                self.send_stage(subject, stage, &mut reached);
                self.ask_later(subject, &reached);
            }
        }
    }

    /// Returns who has rules for frames of an intent that is not there yet, and where.
    pub(super) fn conflict_of_new(
        &mut self,
        owner: &Asker,
        kind: &IntentKind,
    ) -> Option<(DatapathId, EntryOwner)> {
        if !self.owners.intents.has_others(owner) {
            return None;
        }
        let mut atlas = self.take_atlas();
        let plan = compile(kind, &self.topology.view, &mut atlas);
        self.topology.atlas = Some((self.ctx.metric, atlas));
        self.conflict_with_others(owner, &plan.ok()?.rules)
    }

    fn conflict(&self, id: IntentId, rules: &[PlacedRule]) -> Option<(DatapathId, EntryOwner)> {
        let owner = &self.owners.intents.get(id)?.owner;
        match self.owners.intents.has_others(owner) {
            true => self.conflict_with_others(owner, rules),
            false => None,
        }
    }

    /// Returns somebody else who has a rule for some of the same frames, with the same
    /// priority and other actions, and where, unless he has to give way: the declared
    /// priorities of applications decide, and nobody's are before the operator's.
    fn conflict_with_others(
        &self,
        owner: &Asker,
        rules: &[PlacedRule],
    ) -> Option<(DatapathId, EntryOwner)> {
        let own = self.owners.applications.priority(owner);
        let mut clashes = rules.iter().flat_map(|rule| self.clashes(owner, rule));
        let first = clashes.find(|(_, _, theirs)| *theirs >= own);
        first.map(|(datapath, subject, _)| (datapath, subject))
    }

    /// Has intents of others give way to new rules for the same frames.
    fn displace_weaker(&mut self, id: IntentId, rules: &[PlacedRule]) {
        let Some(held) = self.owners.intents.get(id) else {
            return;
        };
        let owner = held.owner.clone();
        if !self.owners.intents.has_others(&owner) {
            return;
        }
        let own = self.owners.applications.priority(&owner);
        let clashes = rules.iter().flat_map(|rule| self.clashes(&owner, rule));
        let weaker: BTreeSet<(IntentId, DatapathId)> = clashes
            .filter(|(_, _, theirs)| *theirs < own)
            .filter_map(|(datapath, subject, _)| Some((subject.intent()?, datapath)))
            .collect();
        let stronger = self.name_of_subject(EntryOwner::Intent(id));
        for (weaker, datapath) in weaker {
            let reason = format!(
                "{stronger} has rules for the same frames at {:x}, with a higher priority",
                datapath.0
            );
            self.suspend_intent(weaker, reason);
        }
    }

    /// Returns the rules of others for some of the frames of a rule, with the same
    /// priority and other actions: where, whose, and of which declared priority.
    fn clashes(
        &self,
        owner: &Asker,
        rule: &PlacedRule,
    ) -> impl Iterator<Item = (DatapathId, EntryOwner, u16)> {
        let form = rule.form();
        let present = self.tables.desired.of_switch(rule.datapath);
        let present = present.map(|(_, present)| present);
        present.filter_map(move |present| {
            let is_rival = present.form.priority() == form.priority() && present.form != form;
            if !is_rival {
                return None;
            }
            let theirs = match present.subject {
                EntryOwner::Intent(id) => {
                    let others = self.owners.intents.get(id).map(|held| &held.owner);
                    self.owners
                        .applications
                        .priority(others.filter(|it| *it != owner)?)
                }
                EntryOwner::Application(id) => {
                    u16::from(self.owners.applications.get(id)?.manifest.priority)
                }
                EntryOwner::Service
                | EntryOwner::KnownHost(_)
                | EntryOwner::Flow(_)
                | EntryOwner::Gathering(_)
                | EntryOwner::Modes
                | EntryOwner::Levels(_)
                | EntryOwner::Guard(_)
                | EntryOwner::Route(_) => return None,
            };
            present
                .form
                .overlaps(&form)
                .then_some((rule.datapath, present.subject, theirs))
        })
    }
}
