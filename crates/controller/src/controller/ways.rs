//! The ways of a flow: the usual ones, and others where these have no room.

use wire::ethernet::MacAddress;

use crate::admission::{Refused, Reserved};
use crate::northbound::{Protection, Requirement};
use crate::path::{Tree, find_tree};
use crate::place::{LinkEnds, PortId};
use crate::refusal::Refusal;

use super::Controller;
use super::requests::attachment;

/// Where a flow enters the network, and the ways that it may take.
pub(super) struct Ways {
    pub(super) source: PortId,
    pub(super) source_mac: MacAddress,
    pub(super) destinations: Vec<PortId>,
    pub(super) base: Tree,
    pub(super) alternatives: Vec<(LinkEnds, Tree)>,
}

impl Controller {
    /// Finds where a flow enters the network and which ways it may take.
    pub(super) fn ways(&self, requirement: &Requirement) -> Result<Ways, Refusal> {
        let (source, destinations) = self.check(requirement)?;
        let (source, source_mac) = (attachment(source)?, source.mac);
        let destinations: Vec<PortId> = destinations
            .into_iter()
            .map(attachment)
            .collect::<Result<_, Refusal>>()?;
        let (base, alternatives) = self.find_ways(requirement, source, &destinations)?;
        Ok(Ways {
            source,
            source_mac,
            destinations,
            base,
            alternatives,
        })
    }

    /// Reserves what a flow requires on its ways.
    pub(super) fn reserve(
        &mut self,
        requirement: &Requirement,
        ways: &Ways,
    ) -> Result<Reserved, Box<Refused>> {
        let (base, alternatives) = (&ways.base, &ways.alternatives);
        self.reservations
            .reserve(requirement, ways.source, base, alternatives)
    }

    /// Reserves what a flow to one destination requires on a way that has room for
    /// it, where the usual one has not. The ways are then those.
    pub(super) fn reserve_elsewhere(
        &mut self,
        requirement: &Requirement,
        ways: &mut Ways,
    ) -> Option<Reserved> {
        let [destination] = *ways.destinations.as_slice() else {
            return None;
        };
        let source = ways.source;
        let base = self
            .reservations
            .find_way(&self.view, requirement, source, destination)?;
        let alternatives = self
            .find_alternatives(requirement, source, &[destination], &base)
            .ok()?;
        (ways.base, ways.alternatives) = (base, alternatives);
        self.reserve(requirement, ways).ok()
    }

    /// Finds the base tree and what replaces it when a link of it breaks.
    fn find_ways(
        &self,
        requirement: &Requirement,
        source: PortId,
        destinations: &[PortId],
    ) -> Result<(Tree, Vec<(LinkEnds, Tree)>), Refusal> {
        let cost = self.cost(requirement.class);
        let found = find_tree(&self.view, source, destinations, &[], &cost);
        let base = found.map_err(|port| Refusal::NoPath {
            from: requirement.source.clone(),
            to: name_of_destination(requirement, destinations, port),
        })?;
        let alternatives = self.find_alternatives(requirement, source, destinations, &base)?;
        Ok((base, alternatives))
    }

    /// Finds what replaces a base tree when a link of it breaks.
    fn find_alternatives(
        &self,
        requirement: &Requirement,
        source: PortId,
        destinations: &[PortId],
        base: &Tree,
    ) -> Result<Vec<(LinkEnds, Tree)>, Refusal> {
        let cost = self.cost(requirement.class);
        let find = |avoid: &[LinkEnds]| find_tree(&self.view, source, destinations, avoid, &cost);
        let is_promised = requirement.deadline.is_some();
        let mut alternatives = Vec::new();
        if is_promised && requirement.protection == Protection::None {
            return Ok(alternatives);
        }
        for link in base.links() {
            match find(&[link]) {
                Ok(tree) => alternatives.push((link, tree)),
                Err(port) if is_promised => {
                    return Err(Refusal::NoAlternative {
                        link: self.name_of_link(link),
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

/// Returns the name of the destination at `port`.
fn name_of_destination(requirement: &Requirement, destinations: &[PortId], port: PortId) -> String {
    let mut all = requirement.destinations.iter().zip(destinations);
    let found = all.find(|(_, at)| **at == port);
    found.map_or_else(String::new, |(name, _)| name.clone())
}
