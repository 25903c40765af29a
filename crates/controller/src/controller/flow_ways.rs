//! The ways of a flow: the usual ones, and others where these have no room.

use std::sync::Arc;

use wire::ethernet::MacAddress;

use crate::admission::{Refused, Reserved};
use crate::failover::Failover;
use crate::northbound::{FrameOrder, Protection, Requirement};
use crate::path::{
    Apart, Graph, NoDetour, SimplePath, Tree, find_disjoint, find_redundant_trees, find_tree, join,
    local_detours,
};
use crate::place::{LinkEnds, PortId};
use crate::refusal::{LocalLack, Refusal};
use crate::seamless::{self, SeamlessError};
use crate::ways::{Provision, Ways};

use super::requests::attachment;
use super::{Context, Promises, Topology};

const MOST_URGENT: u8 = 7;

/// Where a flow enters the network, and the ways that it may take.
pub struct Course {
    pub source: PortId,
    pub source_mac: MacAddress,
    pub destinations: Vec<PortId>,
    pub ways: Arc<Ways>,
}

impl Promises {
    /// Finds where a flow enters the network and which ways it may take.
    pub fn ways(
        &mut self,
        ctx: &Context,
        topology: &Topology,
        requirement: &Requirement,
    ) -> Result<Course, Refusal> {
        seamless::check(requirement)?;
        let (source, destinations) = topology.check(requirement)?;
        let (source, source_mac) = (attachment(source)?, source.mac);
        let destinations: Vec<PortId> = destinations
            .into_iter()
            .map(attachment)
            .collect::<Result<_, Refusal>>()?;
        let ways = self.known_or_found(ctx, topology, requirement, source, &destinations)?;
        Ok(Course {
            source,
            source_mac,
            destinations,
            ways,
        })
    }

    /// Refuses to have frames kept in order by a switch that does not do so.
    pub(super) fn check_order(
        ctx: &Context,
        requirement: &Requirement,
        course: &Course,
    ) -> Result<(), SeamlessError> {
        if seamless::order_of(requirement) == FrameOrder::Any || course.ways.copies().is_none() {
            return Ok(());
        }
        let mut last = course.destinations.iter().map(|port| port.datapath);
        match last.find(|last| !ctx.policing.keeps_order(*last)) {
            None => Ok(()),
            Some(last) => Err(SeamlessError::NoOrder {
                switch: ctx.name_of_switch(last),
            }),
        }
    }

    /// Reserves what a flow requires on its ways.
    pub fn reserve(
        &mut self,
        requirement: &Requirement,
        course: &Course,
    ) -> Result<Reserved, Box<Refused>> {
        self.reservations
            .reserve(requirement, course.source, &course.ways)
    }

    /// Reserves what a flow to one destination requires on a way that has room for
    /// it, where the usual one has not. The ways are then those.
    pub fn reserve_elsewhere(
        &mut self,
        ctx: &Context,
        topology: &Topology,
        requirement: &Requirement,
        course: &mut Course,
    ) -> Option<Reserved> {
        let [destination] = *course.destinations.as_slice() else {
            return None;
        };
        if provision(requirement) == Provision::Twice {
            return self.reserve_another_pair(ctx, topology, requirement, course, destination);
        }
        let (source, usual) = (course.source, course.ways.base.clone());
        let quick = self
            .reservations
            .find_way(&topology.view, requirement, source, destination);
        if let Some(base) = quick {
            let reserved = self.reserve_on(ctx, topology, base, requirement, course);
            if reserved.is_some() {
                return reserved;
            }
        }
        let ends = [source, destination];
        let others = self
            .reservations
            .ways_to_try(&topology.view, requirement, ends);
        let mut others = others.into_iter().filter(|way| *way != usual);
        others.find_map(|base| self.reserve_on(ctx, topology, base, requirement, course))
    }

    /// Reserves what a flow requires that takes two ways at the same time on ways that may
    /// share switches, where those that share none have no room.
    fn reserve_another_pair(
        &mut self,
        ctx: &Context,
        topology: &Topology,
        requirement: &Requirement,
        course: &mut Course,
        destination: PortId,
    ) -> Option<Reserved> {
        let ends = (course.source, destination);
        let base = Self::find_pair(ctx, topology, requirement, ends, &[Apart::Links])?;
        if base == course.ways.base {
            return None;
        }
        course.ways = Arc::new(Ways::new(base, Vec::new()));
        self.reserve(requirement, course).ok()
    }

    /// Finds two ways, the first kind of them that there is.
    pub(super) fn find_pair(
        ctx: &Context,
        topology: &Topology,
        requirement: &Requirement,
        (source, destination): (PortId, PortId),
        kinds: &[Apart],
    ) -> Option<Tree> {
        let cost = ctx.cost(requirement.class);
        let graph = Graph::new(&topology.view, &cost, &|_, _| true);
        let (from, to) = (source.datapath, destination.datapath);
        if from == to {
            // There is no link that could break.
            return find_tree(&topology.view, source, &[destination], &[], &cost).ok();
        }
        kinds.iter().find_map(|apart| {
            let found = find_disjoint(&graph, from, to, 2, *apart).ok()?;
            let pair: [SimplePath; 2] = found.try_into().ok()?;
            Some(join(pair.map(|way| way.tree(source, destination))))
        })
    }

    /// Reserves what a flow requires in the least urgent class in which it can be promised,
    /// if it may have another. It has that one then, and the ways are those.
    pub fn reserve_in_another_class(
        &mut self,
        ctx: &Context,
        topology: &Topology,
        requirement: &mut Requirement,
        course: &mut Course,
    ) -> Option<Reserved> {
        if !requirement.is_class_free || requirement.modes.is_some() {
            return None;
        }
        for class in (1..=MOST_URGENT).filter(|class| *class != requirement.class) {
            let mut other = requirement.clone();
            other.class = class;
            let mut its = self.ways(ctx, topology, &other).ok()?;
            let usual = self.reserve(&other, &its).ok();
            if let Some(reserved) =
                usual.or_else(|| self.reserve_elsewhere(ctx, topology, &other, &mut its))
            {
                (*requirement, *course) = (other, its);
                return Some(reserved);
            }
        }
        None
    }

    /// Reserves what a flow requires on this tree and what replaces it.
    pub fn reserve_on(
        &mut self,
        ctx: &Context,
        topology: &Topology,
        base: Tree,
        requirement: &Requirement,
        course: &mut Course,
    ) -> Option<Reserved> {
        let (source, destinations) = (course.source, &course.destinations);
        let alternatives =
            Self::find_alternatives(ctx, topology, requirement, source, destinations, &base)
                .ok()?;
        course.ways = Arc::new(Ways::provided(provision(requirement), base, alternatives));
        self.reserve(requirement, course).ok()
    }

    /// Returns the ways between these ports, those that are known already if there
    /// are any.
    fn known_or_found(
        &mut self,
        ctx: &Context,
        topology: &Topology,
        requirement: &Requirement,
        source: PortId,
        destinations: &[PortId],
    ) -> Result<Arc<Ways>, Refusal> {
        let ends = match destinations {
            [destination] => Some((
                source,
                *destination,
                requirement.class,
                provision(requirement),
            )),
            _ => None,
        };
        if let Some(known) = ends.and_then(|ends| self.known_ways.get(&topology.view, ends)) {
            return Ok(Arc::clone(known));
        }
        let (base, alternatives) =
            Self::find_ways(ctx, topology, requirement, source, destinations)?;
        let ways = Arc::new(Ways::provided(provision(requirement), base, alternatives));
        if let Some(ends) = ends {
            self.known_ways.insert(ends, Arc::clone(&ways));
        }
        Ok(ways)
    }

    /// Finds the base tree and what replaces it when a link of it breaks.
    fn find_ways(
        ctx: &Context,
        topology: &Topology,
        requirement: &Requirement,
        source: PortId,
        destinations: &[PortId],
    ) -> Result<(Tree, Vec<(LinkEnds, Tree)>), Refusal> {
        let cost = ctx.cost(requirement.class);
        if let (Provision::Twice, [destination]) = (provision(requirement), destinations) {
            let kinds = [Apart::Switches, Apart::Links];
            let ends = (source, *destination);
            let pair = Self::find_pair(ctx, topology, requirement, ends, &kinds);
            let pair = pair.ok_or_else(|| SeamlessError::OneWay {
                from: requirement.source.clone(),
                to: name_of_destination(requirement, destinations, *destination),
            })?;
            return Ok((pair, Vec::new()));
        }
        let is_crossed = |port: &PortId| port.datapath != source.datapath;
        if provision(requirement) == Provision::Twice && destinations.iter().any(is_crossed) {
            let found = find_redundant_trees(&topology.view, source, destinations, &cost);
            let trees = found.map_err(|port| SeamlessError::OneWay {
                from: requirement.source.clone(),
                to: name_of_destination(requirement, destinations, port),
            })?;
            return Ok((join(trees), Vec::new()));
        }
        let found = find_tree(&topology.view, source, destinations, &[], &cost);
        let base = found.map_err(|port| Refusal::NoPath {
            from: requirement.source.clone(),
            to: name_of_destination(requirement, destinations, port),
        })?;
        let alternatives =
            Self::find_alternatives(ctx, topology, requirement, source, destinations, &base)?;
        Ok((base, alternatives))
    }

    /// Finds what replaces a base tree when a link of it breaks.
    fn find_alternatives(
        ctx: &Context,
        topology: &Topology,
        requirement: &Requirement,
        source: PortId,
        destinations: &[PortId],
        base: &Tree,
    ) -> Result<Vec<(LinkEnds, Tree)>, Refusal> {
        let cost = ctx.cost(requirement.class);
        let find =
            |avoid: &[LinkEnds]| find_tree(&topology.view, source, destinations, avoid, &cost);
        let provision = provision(requirement);
        let mut alternatives = Vec::new();
        match provision {
            Provision::BaseOnly | Provision::Twice => return Ok(alternatives),
            Provision::Locally => {
                return Self::find_local(ctx, topology, requirement, destinations, base);
            }
            Provision::WherePossible | Provision::Everywhere => {}
        }
        for link in base.links() {
            match find(&[link]) {
                Ok(tree) => alternatives.push((link, tree)),
                Err(port) if provision == Provision::Everywhere => {
                    return Err(Refusal::NoAlternative {
                        link: ctx.name_of_link(link),
                        from: requirement.source.clone(),
                        to: name_of_destination(requirement, destinations, port),
                    });
                }
                Err(_) => {}
            }
        }
        Ok(alternatives)
    }
}

impl Promises {
    /// Finds what switches do by themselves when a link of a base tree breaks.
    fn find_local(
        ctx: &Context,
        topology: &Topology,
        requirement: &Requirement,
        destinations: &[PortId],
        base: &Tree,
    ) -> Result<Vec<(LinkEnds, Tree)>, Refusal> {
        let lacking = |why| Refusal::NoFastFailover { why };
        let [destination] = *destinations else {
            let count = destinations.len();
            return Err(lacking(LocalLack::Receivers { count }));
        };
        if requirement.modes.is_some() {
            return Err(lacking(LocalLack::Levels));
        }
        let cost = ctx.cost(requirement.class);
        let found = local_detours(&topology.view, base, destination, &cost);
        let alternatives = found.map_err(|why| match why {
            NoDetour::NoWay(link) => Refusal::NoAlternative {
                link: ctx.name_of_link(link),
                from: requirement.source.clone(),
                to: name_of_destination(requirement, destinations, destination),
            },
            NoDetour::Ambiguous(link) => lacking(LocalLack::Ambiguous {
                link: ctx.name_of_link(link),
            }),
        })?;
        for (at, (_, tree)) in alternatives.iter().enumerate() {
            let (here, there) = (&base.branches[at], &tree.branches[at]);
            let ports = (here.outputs.first(), there.outputs.first());
            let failover = ports
                .0
                .zip(ports.1)
                .and_then(|(primary, backup)| Failover::new(here.input, *primary, *backup));
            if failover.is_none() || ctx.is_narrow(here.datapath) {
                let switch = ctx.name_of_switch(here.datapath);
                return Err(lacking(LocalLack::Group { switch }));
            }
        }
        Ok(alternatives)
    }
}

/// Returns how far a flow is to be provided for.
fn provision(requirement: &Requirement) -> Provision {
    match (requirement.deadline, requirement.protection) {
        (_, Protection::FastFailover { .. }) => Provision::Locally,
        (Some(_), Protection::None) => Provision::BaseOnly,
        (Some(_), Protection::Restore { .. }) => Provision::Everywhere,
        (_, Protection::Seamless { .. }) => Provision::Twice,
        (None, Protection::None | Protection::Restore { .. }) => Provision::WherePossible,
    }
}

/// Returns the name of the destination at `port`.
fn name_of_destination(requirement: &Requirement, destinations: &[PortId], port: PortId) -> String {
    let mut all = requirement.destinations.iter().zip(destinations);
    let found = all.find(|(_, at)| **at == port);
    found.map_or_else(String::new, |(name, _)| name.clone())
}
