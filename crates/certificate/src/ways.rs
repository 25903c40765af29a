//! The ways of a flow, and that they are what its protection needs.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::{Demand, Flow, Protection};
use crate::map::{Map, NodeIndex, StageId};
use crate::reason::{Reason, WayKind};
use crate::walk::{self, Steps};

/// The ways of a flow, as stages.
#[derive(Clone, Debug)]
pub struct Ways {
    /// The link of its source.
    pub first_link: usize,
    /// While nothing is broken.
    pub path: Steps,
    /// Without a link.
    pub without: Vec<(usize, Steps)>,
    /// That of second copies.
    pub second: Option<Second>,
}

/// The way of second copies.
#[derive(Clone, Debug)]
pub struct Second {
    /// The stages that they pass.
    pub path: Steps,
    /// The processor that drops those that come second.
    pub eliminator: Option<usize>,
    /// For how long at most it holds frames back that are ahead of missing ones.
    pub hold_ps: u64,
}

impl Ways {
    /// Lays out the ways of a flow.
    ///
    /// # Errors
    ///
    /// What is wrong with them.
    pub fn of(flow: &Flow, map: &Map<'_>) -> Result<Self, Reason> {
        let (source, receivers) = ends(&flow.demand, map)?;
        let turns_back = flow.demand.protection == Protection::FastFailover;
        if turns_back && receivers.len() > 1 {
            let what = "frames that several receive are not turned back";
            return Err(Reason::Senseless(what));
        }
        let steps = |links: &[usize], way: WayKind| {
            let steps = match receivers.first().filter(|_| turns_back) {
                Some(receiver) => walk::trail(map, source, *receiver, links),
                None => walk::steps(map, source, &receivers, links),
            };
            steps.map_err(|why| Reason::NoWay(way, why))
        };
        let path = steps(&flow.path, WayKind::Path)?;
        check_protection(flow, map)?;
        let mut without = Vec::with_capacity(flow.alternatives.len());
        for alternative in &flow.alternatives {
            let name = name_of(map, alternative.without);
            if alternative.path.contains(&alternative.without) {
                return Err(Reason::OverBroken(name));
            }
            let other = steps(&alternative.path, WayKind::Without(name))?;
            without.push((alternative.without, other));
        }
        if turns_back {
            check_entries(flow, (&path, &without), map)?;
        }
        let second = match &flow.copies {
            None => None,
            Some(copies) => {
                let eliminator = copies
                    .eliminator
                    .as_deref()
                    .map(|name| match map.node(name) {
                        Some(NodeIndex::Switch(switch)) => Ok(map.processor(switch)),
                        Some(NodeIndex::Host(_)) | None => Err(Reason::NoEliminator),
                    });
                let hold_ps = flow.demand.hold_ps;
                if hold_ps > 0 && copies.eliminator.is_none() {
                    return Err(Reason::NoEliminator);
                }
                let second = steps(&copies.path, WayKind::Second)?;
                check_apart(&path, &second, map)?;
                Some(Second {
                    path: second,
                    eliminator: eliminator.transpose()?,
                    hold_ps,
                })
            }
        };
        Ok(Self {
            first_link: map.link_of(source),
            path,
            without,
            second,
        })
    }
}

/// Returns the source and the receivers of a flow.
fn ends(demand: &Demand, map: &Map<'_>) -> Result<(usize, BTreeSet<usize>), Reason> {
    let host = |name: &String| match map.node(name) {
        Some(NodeIndex::Host(host)) => Ok(host),
        Some(NodeIndex::Switch(_)) | None => Err(Reason::Unknown("host", name.clone())),
    };
    let source = host(&demand.source)?;
    let mut receivers = BTreeSet::new();
    for name in &demand.receivers {
        if !receivers.insert(host(name)?) {
            return Err(Reason::Twice("receiver"));
        }
    }
    if receivers.is_empty() || receivers.contains(&source) {
        return Err(Reason::Senseless("it goes from its source to nobody else"));
    }
    Ok((source, receivers))
}

/// Checks that there is a way for each failure that the flow is protected against, and
/// for nothing else.
fn check_protection(flow: &Flow, map: &Map<'_>) -> Result<(), Reason> {
    let trunks = flow.path.iter().copied().filter(|link| map.is_trunk(*link));
    let trunks: BTreeSet<usize> = trunks.collect();
    let provided: BTreeSet<usize> = flow.alternatives.iter().map(|it| it.without).collect();
    let protection = flow.demand.protection;
    // Where there is no link to lose, there is nothing to double.
    let may_double = protection == Protection::Copies;
    let has_to = may_double && !trunks.is_empty();
    if flow.copies.is_some() != has_to && (flow.copies.is_none() || !may_double) {
        let what = "second copies are what protects by copies, and nothing else";
        return Err(Reason::Senseless(what));
    }
    let wanted = match protection {
        Protection::Restore | Protection::FastFailover => trunks.clone(),
        Protection::None | Protection::Copies => BTreeSet::new(),
    };
    if let Some(link) = wanted.difference(&provided).next() {
        return Err(Reason::NoAlternative(name_of(map, *link)));
    }
    match provided.len() < flow.alternatives.len() || provided.len() > wanted.len() {
        true => Err(Reason::AlternativeForNothing),
        false => Ok(()),
    }
}

/// Checks that no receiver has a link between switches on both of its ways.
fn check_apart(path: &Steps, second: &Steps, map: &Map<'_>) -> Result<(), Reason> {
    let [first, second] = [path, second].map(|steps| links_to_receivers(steps, map));
    let shared = first.iter().find_map(|(receiver, links)| {
        let others = second.get(receiver)?;
        links.intersection(others).find(|link| map.is_trunk(**link))
    });
    match shared {
        Some(link) => Err(Reason::SharedLink(name_of(map, *link))),
        None => Ok(()),
    }
}

/// Returns the links over which each receiver is reached, by the receiver's own.
fn links_to_receivers(steps: &Steps, map: &Map<'_>) -> BTreeMap<usize, BTreeSet<usize>> {
    let link_of = |stage: usize| match map.place(stage) {
        Some(StageId::Port { link, .. }) => Some(link),
        Some(StageId::Processor { .. }) | None => None,
    };
    let mut over: Vec<BTreeSet<usize>> = Vec::with_capacity(steps.len());
    let mut receivers = BTreeMap::new();
    for (stage, before) in steps {
        let mut links = before.map_or_else(BTreeSet::new, |before| over[before].clone());
        let link = link_of(*stage);
        links.extend(link);
        if let Some(link) = link.filter(|link| !map.is_trunk(*link)) {
            receivers.insert(link, links.clone());
        }
        over.push(links);
    }
    receivers
}

/// Checks that frames can be turned back by entries that stand beforehand: up to the broken
/// link they go the usual way, and at any other switch those that come over a link all
/// leave by one, whatever is broken.
fn check_entries(
    flow: &Flow,
    ways: (&Steps, &[(usize, Steps)]),
    map: &Map<'_>,
) -> Result<(), Reason> {
    let (path, alternatives) = ways;
    let mut exits = BTreeMap::new();
    let mut lead = |steps: &Steps, turned: Option<usize>| {
        let exit_at = (1..steps.len()).step_by(2);
        exit_at.filter(|at| Some(*at) != turned).all(|at| {
            let entrance = at.checked_sub(2).map(|before| steps[before].0);
            *exits.entry(entrance).or_insert(steps[at].0) == steps[at].0
        })
    };
    lead(path, None);
    for (without, steps) in alternatives {
        let met = flow.path.iter().position(|link| link == without);
        // The first link leads to the first processor, each further one from a port to the
        // next.
        let turned = met.map_or(0, |met| 2 * met - 1);
        let is_turned = steps.len() > turned && steps[..turned] == path[..turned];
        if !is_turned || !lead(steps, Some(turned)) {
            return Err(Reason::Turned(name_of(map, *without)));
        }
    }
    Ok(())
}

/// Returns the name of a link.
pub fn name_of(map: &Map<'_>, link: usize) -> String {
    let link = map.network().links.get(link);
    link.map_or_else(String::new, |link| link.name.clone())
}
