//! The ways of a flow, and that they are what its protection needs.

use std::collections::BTreeSet;

use crate::document::{Demand, Flow, Protection};
use crate::map::{Map, NodeIndex};
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
}

impl Ways {
    /// Lays out the ways of a flow.
    ///
    /// # Errors
    ///
    /// What is wrong with them.
    pub fn of(flow: &Flow, map: &Map<'_>) -> Result<Self, Reason> {
        let (source, receivers) = ends(&flow.demand, map)?;
        let steps = |links: &[usize], way: WayKind| {
            let steps = walk::steps(map, source, &receivers, links);
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
                Some(Second {
                    path: steps(&copies.path, WayKind::Second)?,
                    eliminator: eliminator.transpose()?,
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
    if flow.copies.is_some() != (protection == Protection::Copies) {
        let what = "second copies are what protects by copies, and nothing else";
        return Err(Reason::Senseless(what));
    }
    let wanted = match protection {
        Protection::Restore => trunks.clone(),
        Protection::None | Protection::Copies => BTreeSet::new(),
    };
    if let Some(link) = wanted.difference(&provided).next() {
        return Err(Reason::NoAlternative(name_of(map, *link)));
    }
    if provided.len() < flow.alternatives.len() || provided.len() > wanted.len() {
        return Err(Reason::AlternativeForNothing);
    }
    let second = flow.copies.iter().flat_map(|copies| &copies.path);
    match second.copied().find(|link| trunks.contains(link)) {
        Some(link) => Err(Reason::SharedLink(name_of(map, link))),
        None => Ok(()),
    }
}

/// Returns the name of a link.
pub fn name_of(map: &Map<'_>, link: usize) -> String {
    let link = map.network().links.get(link);
    link.map_or_else(String::new, |link| link.name.clone())
}
