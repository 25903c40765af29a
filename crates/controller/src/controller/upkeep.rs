//! Keeps intents as the network changes.
//!
//! What a change concerns is marked, and kept anew in slices: at once as much as a
//! slice holds, the rest whenever the driver comes back, which is asked for at once.
//! Between two slices switches and applications are heard.

use std::collections::{BTreeMap, BTreeSet};

use wire::ethernet::MacAddress;
use wire::openflow::DatapathId;

use crate::desired::{Content, EntryOwner, PlacedRule};
use crate::intents::compile::{Plan, compile, compile_on, match_action};
use crate::intents::{Course, Item, Standing, gathering};
use crate::northbound::{Asker, IntentId, IntentKind, IntentState};
use crate::path::Atlas;
use crate::transition::{EntryChange, Stages};

use super::context::Memory;
use super::staged_updates::{Part, Reached};
use super::{Context, Network, Programs};

/// The most that is kept anew between two inputs.
const SLICE_ITEMS: usize = 256;
/// About how many switches the searches of a slice visit.
const SLICE_VISITS: usize = 5_000;

/// What a slice works with.
pub struct Slice {
    pub atlas: Atlas,
    /// What is moved in stages.
    pub moves: BTreeMap<EntryOwner, Part>,
}

impl Programs {
    /// Keeps a slice of what is stale.
    pub fn keep_intents(&mut self, ctx: &mut Context, network: &mut Network) {
        if ctx.memory == Memory::Incomplete {
            return;
        }
        let intents = &mut network.owners.intents;
        if intents.retry_at.is_some_and(|at| ctx.now >= at) {
            intents.retry_at = None;
            intents.mark_waiting();
        }
        if intents.return_at.is_some_and(|at| ctx.now >= at) {
            intents.return_at = None;
            intents.mark_displaced();
        }
        if !intents.is_stale() {
            return;
        }
        let mut slice = Slice {
            atlas: network.topology.take_atlas(ctx),
            moves: BTreeMap::new(),
        };
        let start = slice.atlas.visits();
        for _ in 0..SLICE_ITEMS {
            let Some(item) = network.owners.intents.take_stale() else {
                break;
            };
            match item {
                Item::Intent(id) => Self::keep_intent(ctx, network, id, &mut slice),
                Item::Gathering(host) => Self::keep_gathering(ctx, network, host, &mut slice),
                Item::Route(host) => Self::keep_route(ctx, network, host, &mut slice),
                Item::Flood => self.keep_flood(ctx, network, &mut slice),
            }
            if slice.atlas.visits() - start >= SLICE_VISITS {
                break;
            }
        }
        network.topology.atlas = Some((ctx.metric, slice.atlas));
        network
            .tables
            .begin_move(ctx, &mut network.owners, slice.moves);
    }

    /// Gives a subject its rules: in stages if frames are on a way of it that is
    /// whole, at once if there is nothing to lose.
    fn place(
        ctx: &mut Context,
        network: &mut Network,
        item: Item,
        rules: &[PlacedRule],
        moves: &mut BTreeMap<EntryOwner, Part>,
    ) {
        let subject = EntryOwner::from(item);
        let forms = rules.iter().map(|rule| (rule.datapath, rule.form()));
        let wanted: Content = forms
            .map(|(datapath, form)| ((datapath, form.place()), form))
            .collect();
        if !network.owners.is_travelled(&network.topology, item) {
            network.set_content_at_once(ctx, subject, &wanted);
            return;
        }
        network.tables.moves.take(subject);
        let present = network.tables.desired.content(subject);
        let stages = Stages::plan(&present, &wanted, None, &|port| {
            network.topology.far_end(port)
        });
        let relies_on = network.tables.unconfirmed(subject, &wanted);
        let part = Part::new(stages, None, relies_on);
        moves.insert(subject, part);
    }

    fn keep_intent(ctx: &mut Context, network: &mut Network, id: IntentId, slice: &mut Slice) {
        let Some(held) = network.owners.intents.get(id) else {
            return;
        };
        if held.standing == Standing::Proposed {
            return;
        }
        let kind = held.intent.kind.clone();
        let plan = match compile(&kind, &network.topology.view, &mut slice.atlas) {
            Ok(plan) => plan,
            Err(obstacle) => return Self::suspend_intent(ctx, network, id, obstacle.to_string()),
        };
        if let Some((datapath, holder)) = Self::conflict(network, id, &plan.rules) {
            let holder = network.owners.name_of_subject(holder);
            let reason = format!("{holder} has rules for the same frames at {:x}", datapath.0);
            return Self::suspend_intent(ctx, network, id, reason);
        }
        let item = Item::Intent(id);
        let Plan { trees, cost, rules } = plan;
        let mut course = Course { trees, cost };
        let mut rules = rules;
        if let Some(home) = network.owners.home(ctx, &network.topology, item, &course)
            && let Some(plan) = compile_on(&kind, home, &network.topology.view)
        {
            (course, rules) = (home.clone(), plan.rules);
        }
        Self::displace_weaker(ctx, network, id, &rules);
        if network
            .owners
            .is_kept(ctx, &network.topology, item, &course)
        {
            return;
        }
        network
            .owners
            .set_intent_state(ctx, id, IntentState::Installing);
        Self::place(ctx, network, item, &rules, &mut slice.moves);
        network.owners.intents.set_course(item, Some(course));
    }

    fn suspend_intent(ctx: &mut Context, network: &mut Network, id: IntentId, reason: String) {
        network.owners.intents.set_course(Item::Intent(id), None);
        network
            .owners
            .set_intent_state(ctx, id, IntentState::Waiting { reason });
        let nothing = Content::new();
        network.set_content_at_once(ctx, EntryOwner::Intent(id), &nothing);
    }

    /// Leads what a host sends to all to those that intents connect it with.
    fn keep_gathering(
        ctx: &mut Context,
        network: &mut Network,
        mac: MacAddress,
        slice: &mut Slice,
    ) {
        let (item, subject) = (Item::Gathering(mac), EntryOwner::Gathering(mac));
        let nothing = Content::new();
        let Some((source, peers)) = network
            .owners
            .peers(&network.topology, mac)
            .filter(|_| !network.owners.is_flooded())
        else {
            network.owners.intents.forget_item(item);
            network.set_content_at_once(ctx, subject, &nothing);
            return;
        };
        let Some((tree, cost, is_whole)) =
            gathering::gather(&network.topology.view, &mut slice.atlas, source, &peers)
        else {
            network.owners.intents.set_course(item, None);
            network.set_content_at_once(ctx, subject, &nothing);
            return;
        };
        let rules = gathering::rules(&tree, mac);
        let course = Course {
            trees: vec![tree],
            cost,
        };
        if !network
            .owners
            .is_kept(ctx, &network.topology, item, &course)
        {
            Self::place(ctx, network, item, &rules, &mut slice.moves);
            network.owners.intents.set_course(item, Some(course));
        }
        match is_whole {
            true => network.owners.intents.mark_finished(item),
            false => network.owners.intents.mark_unfinished(item),
        }
    }

    /// Gives a switch the rules of what holds at all switches.
    pub fn extend_intents(ctx: &mut Context, network: &mut Network, datapath: DatapathId) {
        let everywhere: Vec<IntentId> = network.owners.intents.everywhere().collect();
        for id in everywhere {
            let Some(held) = network.owners.intents.get(id) else {
                continue;
            };
            if held.standing == Standing::Accepted
                && network.owners.intents.course(Item::Intent(id)).is_some()
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
                    (spot, EntryChange::Put(rule.form()))
                });
                let (subject, stage) = (EntryOwner::Intent(id), stage.collect());
                let mut reached = Reached::default();
                network
                    .tables
                    .send_stage(ctx, &mut network.owners, subject, stage, &mut reached);
                network.tables.ask_later(subject, &reached);
            }
        }
    }

    /// Returns who has rules for frames of an intent that is not there yet, and where.
    pub fn conflict_of_new(
        ctx: &Context,
        network: &mut Network,
        owner: &Asker,
        kind: &IntentKind,
    ) -> Option<(DatapathId, EntryOwner)> {
        if !network.owners.intents.has_others(owner) {
            return None;
        }
        let mut atlas = network.topology.take_atlas(ctx);
        let plan = compile(kind, &network.topology.view, &mut atlas);
        network.topology.atlas = Some((ctx.metric, atlas));
        Self::conflict_with_others(network, owner, &plan.ok()?.rules)
    }

    fn conflict(
        network: &Network,
        id: IntentId,
        rules: &[PlacedRule],
    ) -> Option<(DatapathId, EntryOwner)> {
        let owner = &network.owners.intents.get(id)?.owner;
        match network.owners.intents.has_others(owner) {
            true => Self::conflict_with_others(network, owner, rules),
            false => None,
        }
    }

    /// Returns somebody else who has a rule for some of the same frames, with the same
    /// priority and other actions, and where, unless he has to give way: the declared
    /// priorities of applications decide, and nobody's are before the operator's.
    fn conflict_with_others(
        network: &Network,
        owner: &Asker,
        rules: &[PlacedRule],
    ) -> Option<(DatapathId, EntryOwner)> {
        let own = network.owners.applications.priority(owner);
        let mut clashes = rules
            .iter()
            .flat_map(|rule| Self::clashes(network, owner, rule));
        let first = clashes.find(|(_, _, theirs)| *theirs >= own);
        first.map(|(datapath, subject, _)| (datapath, subject))
    }

    /// Has intents of others give way to new rules for the same frames.
    fn displace_weaker(
        ctx: &mut Context,
        network: &mut Network,
        id: IntentId,
        rules: &[PlacedRule],
    ) {
        let Some(held) = network.owners.intents.get(id) else {
            return;
        };
        let owner = held.owner.clone();
        if !network.owners.intents.has_others(&owner) {
            return;
        }
        let own = network.owners.applications.priority(&owner);
        let clashes = rules
            .iter()
            .flat_map(|rule| Self::clashes(network, &owner, rule));
        let weaker: BTreeSet<(IntentId, DatapathId)> = clashes
            .filter(|(_, _, theirs)| *theirs < own)
            .filter_map(|(datapath, subject, _)| Some((subject.intent()?, datapath)))
            .collect();
        let stronger = network.owners.name_of_subject(EntryOwner::Intent(id));
        for (weaker, datapath) in weaker {
            let reason = format!(
                "{stronger} has rules for the same frames at {:x}, with a higher priority",
                datapath.0
            );
            Self::suspend_intent(ctx, network, weaker, reason);
        }
    }

    /// Returns the rules of others for some of the frames of a rule, with the same
    /// priority and other actions: where, whose, and of which declared priority.
    fn clashes(
        network: &Network,
        owner: &Asker,
        rule: &PlacedRule,
    ) -> impl Iterator<Item = (DatapathId, EntryOwner, u16)> {
        let form = rule.form();
        let rivals = network.tables.desired.rivals(rule.datapath, &form);
        rivals.filter_map(move |present| {
            if present.form == form {
                return None;
            }
            let theirs = match present.subject {
                EntryOwner::Intent(id) => {
                    let others = network.owners.intents.get(id).map(|held| &held.owner);
                    network
                        .owners
                        .applications
                        .priority(others.filter(|it| *it != owner)?)
                }
                EntryOwner::Application(id) => {
                    u16::from(network.owners.applications.get(id)?.manifest.priority)
                }
                EntryOwner::Service
                | EntryOwner::KnownHost(_)
                | EntryOwner::Flow(_)
                | EntryOwner::Gathering(_)
                | EntryOwner::Modes
                | EntryOwner::Levels(_)
                | EntryOwner::Guard(_)
                | EntryOwner::NextHop(_)
                | EntryOwner::Peering(_)
                | EntryOwner::Route(_) => return None,
            };
            present
                .form
                .overlaps(&form)
                .then_some((rule.datapath, present.subject, theirs))
        })
    }
}
