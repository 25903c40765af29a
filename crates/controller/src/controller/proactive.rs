//! Keeps every two known hosts connected while `proactive-routes` is loaded.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wire::ethernet::MacAddress;
use wire::openflow::DatapathId;

use crate::desired::{Content, EntryOwner, PlacedRule};
use crate::intents::{Course, Item};
use crate::place::PortId;
use crate::routes::{Flood, Openings, common, to_all, to_host};
use crate::transition::{EntryChange, Stages, TransitionStage};
use crate::view::{Carrier, Control};

use super::staged_updates::Part;
use super::upkeep::Slice;
use super::{Context, Network, Programs, Topology};

impl Programs {
    /// Returns how many rules there are for routes.
    pub fn count_route_rules(network: &Network) -> usize {
        let hosts = network.owners.intents.routes().map(Some);
        let subjects = hosts.chain([None]).map(EntryOwner::Route);
        subjects
            .map(|subject| network.tables.desired.of_subject(subject).count())
            .sum()
    }

    /// Leads frames from everywhere to a host.
    pub fn keep_route(
        ctx: &mut Context,
        network: &mut Network,
        mac: MacAddress,
        slice: &mut Slice,
    ) {
        let (item, subject) = (Item::Route(mac), EntryOwner::Route(Some(mac)));
        let wanted = network.owners.is_proactive;
        let host = network.topology.view.host_by_mac(mac).filter(|_| wanted);
        let spanned = host
            .and_then(|host| host.attachment)
            .and_then(|at| slice.atlas.span(&network.topology.view, at));
        let is_known = host.is_some();
        let Some((tree, cost)) = spanned else {
            network.set_content_at_once(ctx, subject, &Content::new());
            match is_known {
                true => network.owners.intents.set_course(item, None),
                false => network.owners.intents.forget_item(item),
            }
            return;
        };
        let is_whole = tree.branches.len() == network.topology.count_connected();
        let course = Course {
            trees: vec![tree],
            cost,
        };
        if network
            .owners
            .is_route_kept(&network.topology, item, &course)
        {
            network.owners.intents.settle_in(item);
        } else {
            Self::place_route(ctx, network, mac, course, &mut slice.moves);
        }
        match is_whole {
            true => network.owners.intents.mark_finished(item),
            false => network.owners.intents.mark_unfinished(item),
        }
    }

    fn place_route(
        ctx: &mut Context,
        network: &mut Network,
        mac: MacAddress,
        course: Course,
        moves: &mut BTreeMap<EntryOwner, Part>,
    ) {
        let (item, subject) = (Item::Route(mac), EntryOwner::Route(Some(mac)));
        let tree = &course.trees[0];
        let content = content(&to_host(tree, mac));
        // Also while the old way is broken: who would be told first would send back to
        // those that are not told yet.
        if network.owners.intents.course(item).is_some() {
            let depths = (0..tree.branches.len())
                .map(|place| (tree.branches[place].datapath, tree.depth(place)));
            let depths = depths.collect();
            network.tables.moves.take(subject);
            let stages = outwards(&network.tables.desired.content(subject), &content, &depths);
            let relies_on = network.tables.unconfirmed(subject, &content);
            let part = Part::new(stages, None, relies_on);
            moves.insert(subject, part);
        } else {
            network.set_content_at_once(ctx, subject, &content);
        }
        network.owners.intents.set_course(item, Some(course));
    }

    /// Leads what goes to all along one tree.
    pub fn keep_flood(&mut self, ctx: &mut Context, network: &mut Network, slice: &mut Slice) {
        let subject = EntryOwner::Route(None);
        if !network.owners.is_proactive {
            self.flood = Flood::new();
            network.set_content_at_once(ctx, subject, &Content::new());
            network.owners.intents.forget_item(Item::Flood);
            return;
        }
        // Ports come and go without anybody else asking.
        network.owners.intents.mark_unfinished(Item::Flood);
        let flood = Self::find_flood(&network.topology, slice);
        if flood == self.flood {
            return;
        }
        let wanted = content(&to_all(&flood));
        let shared = content(&to_all(&common(&self.flood, &flood)));
        network.tables.moves.take(subject);
        let stages = narrowed(&network.tables.desired.content(subject), &shared, &wanted);
        let relies_on = network.tables.unconfirmed(subject, &wanted);
        let part = Part::new(stages, None, relies_on);
        slice.moves.insert(subject, part);
        self.flood = flood;
    }

    /// Returns by which ports connected switches send what goes to all: where hosts
    /// may be, and along the tree from the lowest switch of each part.
    fn find_flood(topology: &Topology, slice: &Slice) -> Flood {
        let connected = topology.view.switches().iter();
        let connected = connected.filter(|switch| switch.control == Control::Connected);
        let mut flood: Flood = connected
            .map(|switch| {
                let up = switch
                    .ports
                    .iter()
                    .filter(|port| port.carrier == Carrier::Up);
                let ports = up.map(|port| PortId::new(switch.datapath, port.number));
                let access = ports.filter(|port| topology.view.is_edge(*port));
                let openings = Openings {
                    trunks: BTreeSet::new(),
                    access: access.map(|port| port.port).collect(),
                };
                (switch.datapath, openings)
            })
            .collect();
        let mut left: BTreeSet<DatapathId> = flood.keys().copied().collect();
        while let Some(root) = left.pop_first() {
            let source = PortId::new(root, wire::openflow::PortNumber(0));
            let Some((tree, _)) = slice.atlas.span(&topology.view, source) else {
                continue;
            };
            for branch in &tree.branches {
                left.remove(&branch.datapath);
            }
            for end in tree.links().flat_map(crate::place::LinkEnds::both) {
                if let Some(openings) = flood.get_mut(&end.datapath) {
                    openings.trunks.insert(end.port);
                }
            }
        }
        flood
    }
}

fn content(rules: &[PlacedRule]) -> Content {
    let rules = rules.iter();
    rules
        .map(|rule| ((rule.datapath, rule.place()), rule.form()))
        .collect()
}

/// Plans the change of a route from its end outwards: whatever switch has the new
/// rule, the switch that it sends to has it, too.
pub(super) fn outwards(
    present: &Content,
    wanted: &Content,
    depths: &BTreeMap<DatapathId, usize>,
) -> Stages {
    let mut build: BTreeMap<usize, TransitionStage> = BTreeMap::new();
    for (spot, form) in wanted {
        if present.get(spot) != Some(form) {
            let depth = depths.get(&spot.0).copied().unwrap_or_default();
            let stage = build.entry(depth).or_default();
            stage.push((*spot, EntryChange::Put(form.clone())));
        }
    }
    Stages {
        build: build.into_values().collect(),
        clear: superfluous(present, wanted),
    }
}

/// Plans the change of what goes to all: first only where both trees lead, then
/// where the new one leads.
fn narrowed(present: &Content, shared: &Content, wanted: &Content) -> Stages {
    let narrow = shared.iter().filter(|(spot, form)| {
        let before = present.get(*spot);
        before.is_some_and(|before| before != *form)
    });
    let narrow: TransitionStage = narrow
        .map(|(spot, form)| (*spot, EntryChange::Put(form.clone())))
        .collect();
    let narrowed = |spot| shared.get(spot).filter(|_| present.contains_key(spot));
    let widen = wanted
        .iter()
        .filter(|(spot, form)| narrowed(spot) != Some(*form));
    let widen: TransitionStage = widen
        .map(|(spot, form)| (*spot, EntryChange::Put(form.clone())))
        .collect();
    let filled = [narrow, widen]
        .into_iter()
        .filter(|stage| !stage.is_empty());
    Stages {
        build: filled.collect(),
        clear: superfluous(present, wanted),
    }
}

fn superfluous(present: &Content, wanted: &Content) -> VecDeque<TransitionStage> {
    let gone = present.keys().filter(|spot| !wanted.contains_key(spot));
    let stage: TransitionStage = gone.map(|spot| (*spot, EntryChange::Take)).collect();
    let filled = (!stage.is_empty()).then_some(stage);
    filled.into_iter().collect()
}
