//! The ways that a flow may take, and those that are known already.
//!
//! Many flows lead from the same port to the same port. While the network stays as
//! it is, all of them in one class have the same ways, so these are searched once
//! and shared; so is what follows from them alone: how the store keeps them, which
//! stages they pass, which of their entries differ, how people are told of them.
//!
//! # Left out
//!
//! Flows to several destinations share nothing: which ones go together is rarely
//! the same.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use calculus::admission::FailureId;
use wire::openflow::PortNumber;

use crate::northbound::{Alternative, Route};
use crate::path::{Branch, Tree, part};
use crate::place::{LinkEnds, PortId};
use crate::view::View;

/// The most ways that are known at a time; all are forgotten when there are more.
pub const MAX_KNOWN: usize = 16_384;

/// A tree of stages for each failure of a link that is provided for.
pub(crate) type StagesAfter = Vec<(FailureId, calculus::admission::Tree)>;
/// How people are told of the ways after the loss of a link.
pub(crate) type RoutesAfter = Vec<Alternative>;

/// The ways that a flow may take.
#[derive(Debug, Default)]
pub struct Ways {
    /// The way while nothing is broken.
    pub base: Tree,
    /// The way when a link of it is broken.
    pub alternatives: Vec<(LinkEnds, Tree)>,
    /// The two ways that the base tree is made of, if the flow takes both at once.
    copies: OnceLock<Option<Box<[Tree; 2]>>>,
    /// Whether switches change to the alternatives by themselves: then these begin as the
    /// base tree does, up to the switch before the broken link.
    pub are_local: bool,
    /// The links of the base tree.
    links: Box<[LinkEnds]>,
    /// For each alternative, which branches have entries that the base tree has not.
    changes: OnceLock<Vec<Vec<usize>>>,
    /// The number under which flows that have them are kept together.
    pub(crate) group: OnceLock<u64>,
    pub(crate) record: OnceLock<Box<[u8]>>,
    pub(crate) stages: OnceLock<(calculus::admission::Tree, StagesAfter)>,
    pub(crate) routes: OnceLock<(Arc<Route>, Arc<RoutesAfter>)>,
}

/// Equal if they lead the same ways: the rest follows from these.
impl PartialEq for Ways {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
            || ((&self.base, self.are_local) == (&other.base, other.are_local)
                && self.alternatives == other.alternatives)
    }
}

impl Eq for Ways {}

impl Ways {
    /// Puts a base tree and what replaces it together.
    #[must_use]
    pub fn new(base: Tree, alternatives: Vec<(LinkEnds, Tree)>) -> Self {
        Self {
            links: base.links().collect(),
            base,
            alternatives,
            ..Self::default()
        }
    }

    /// Puts a base tree and what was found to provide for it together.
    #[must_use]
    pub fn provided(provision: Provision, base: Tree, alternatives: Vec<(LinkEnds, Tree)>) -> Self {
        Self {
            are_local: provision == Provision::Locally,
            ..Self::new(base, alternatives)
        }
    }

    /// Returns the links that the base tree crosses, each after the one before it.
    #[must_use]
    pub const fn links(&self) -> &[LinkEnds] {
        &self.links
    }

    /// Returns the two ways that the base tree is made of, if a flow takes both at the
    /// same time.
    #[must_use]
    pub fn copies(&self) -> Option<&[Tree; 2]> {
        let copies = self.copies.get_or_init(|| part(&self.base).map(Box::new));
        copies.as_deref()
    }

    /// Returns the places of those branches of an alternative of which the base tree
    /// has no equal entry, those farthest from the source first. Where switches change by
    /// themselves, nothing is to be sent.
    #[must_use]
    pub fn changes(&self, alternative: usize) -> &[usize] {
        if self.are_local {
            return &[];
        }
        let changes = self.changes.get_or_init(|| {
            let alternatives = self.alternatives.iter();
            alternatives
                .map(|(_, tree)| changes(&self.base, tree))
                .collect()
        });
        &changes[alternative]
    }
}

impl Ways {
    /// Returns the place of the switch on the base tree before a link of it.
    pub(crate) fn place_of(&self, link: LinkEnds) -> Option<usize> {
        self.links.iter().position(|other| *other == link)
    }

    /// Returns the entries with which switches change to the alternatives by themselves:
    /// where frames come in, by which port they go out, and by which one instead.
    pub(crate) fn local_entries(
        &self,
    ) -> impl Iterator<Item = (PortId, PortNumber, Option<PortNumber>)> + '_ {
        let output = |branch: &Branch| branch.outputs.first().copied();
        let on_base = self.base.branches.iter().enumerate();
        let on_base = on_base.filter_map(move |(at, branch)| {
            let link = self.links.get(at);
            let around = link.and_then(|link| {
                let mut all = self.alternatives.iter();
                all.find(|(without, _)| without == link)
            });
            let backup = around.and_then(|(_, tree)| output(tree.branches.get(at)?));
            Some((branch.entrance(), output(branch)?, backup))
        });
        let beside = self.alternatives.iter().flat_map(move |(link, tree)| {
            let met = self.place_of(*link);
            let behind = tree
                .branches
                .iter()
                .skip(met.map_or(usize::MAX, |met| met + 1));
            behind.filter_map(move |branch| Some((branch.entrance(), output(branch)?, None)))
        });
        on_base.chain(beside)
    }
}

fn changes(base: &Tree, tree: &Tree) -> Vec<usize> {
    let entries = base.branches.iter();
    let present: BTreeMap<PortId, &[PortNumber]> = entries
        .map(|branch| (branch.entrance(), &branch.outputs[..]))
        .collect();
    let is_new = |place: &usize| {
        let branch = &tree.branches[*place];
        present.get(&branch.entrance()) != Some(&&branch.outputs[..])
    };
    let mut places: Vec<usize> = (0..tree.branches.len()).filter(is_new).collect();
    places.sort_by_key(|place| std::cmp::Reverse(tree.depth(*place)));
    places
}

/// How far a flow is provided for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provision {
    /// It has its base tree.
    BaseOnly,
    /// It has another way for each link that there is one for.
    WherePossible,
    /// It has another way for each link.
    Everywhere,
    /// It takes two ways at the same time.
    Twice,
    /// It has another way for each link, from the switch before it on.
    Locally,
}

/// What makes ways the same: from where to where, the class, how far provided for.
pub(crate) type Ends = (PortId, PortId, u8, Provision);

/// The ways that were found since the network last changed.
#[derive(Debug, Default)]
pub(crate) struct KnownWays {
    edition: u64,
    ways: BTreeMap<Ends, Arc<Ways>>,
}

impl KnownWays {
    /// Returns ways that were found in this network.
    pub(crate) fn get(&mut self, view: &View, ends: Ends) -> Option<&Arc<Ways>> {
        if self.edition != view.edition() {
            self.ways.clear();
            self.edition = view.edition();
        }
        self.ways.get(&ends)
    }

    /// Notes ways that were found in the network that was last asked for.
    pub(crate) fn insert(&mut self, ends: Ends, ways: Arc<Ways>) {
        if self.ways.len() >= MAX_KNOWN {
            self.ways.clear();
        }
        self.ways.insert(ends, ways);
    }
}
