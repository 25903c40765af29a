//! The flows that enter at one port, by what their frames are recognised by.
//!
//! A new flow has to be told from all others at its port. Two rules over the same
//! fields are told apart by any value, and one of which the other has all fields is
//! the more special one. So only rules over other fields have to be compared one by
//! one; a port has few kinds of rules and may have thousands of flows.

use std::collections::{BTreeMap, BTreeSet};

use wire::openflow::MatchField;
use wire::openflow::oxm::FieldKind;

use crate::northbound::FlowId;
use crate::rules::FlowRule;

/// The flows that look at the same fields, by a digest of the values.
type ByValues = BTreeSet<(u64, FlowId)>;

/// The flows that enter at one port.
#[derive(Clone, Debug, Default)]
pub struct Entering {
    by_fields: BTreeMap<Vec<FieldKind>, ByValues>,
}

impl Entering {
    pub fn insert(&mut self, id: FlowId, rule: &FlowRule) {
        let alike = self.by_fields.entry(kinds(rule)).or_default();
        alike.insert((rule.kind_of_frames(), id));
    }

    pub fn remove(&mut self, id: FlowId, rule: &FlowRule) {
        let kinds = kinds(rule);
        let Some(alike) = self.by_fields.get_mut(&kinds) else {
            return;
        };
        alike.remove(&(rule.kind_of_frames(), id));
        if alike.is_empty() {
            self.by_fields.remove(&kinds);
        }
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_fields.is_empty()
    }

    /// Returns all of them.
    pub fn flows(&self) -> impl Iterator<Item = FlowId> {
        let alike = self.by_fields.values();
        alike.flat_map(|alike| alike.iter().map(|(_, id)| *id))
    }

    /// Returns those from which a rule may not be told apart: all with which it
    /// conflicts are among them.
    pub fn rivals<'a>(&'a self, rule: &'a FlowRule) -> impl Iterator<Item = FlowId> + 'a {
        let own = kinds(rule);
        let groups = self.by_fields.iter().flat_map(move |(kinds, alike)| {
            let is_same = *kinds == own;
            let is_apart = !is_same && (within(kinds, &own) || within(&own, kinds));
            let digest = rule.kind_of_frames();
            let range = match (is_same, is_apart) {
                (true, _) => Some(digest..=digest),
                (false, false) => Some(0..=u64::MAX),
                (false, true) => None,
            };
            range.into_iter().flat_map(|digests| {
                let first = (*digests.start(), FlowId(0));
                alike.range(first..=(*digests.end(), FlowId(u32::MAX)))
            })
        });
        groups.map(|(_, id)| *id)
    }
}

fn kinds(rule: &FlowRule) -> Vec<FieldKind> {
    rule.fields().iter().map(MatchField::kind).collect()
}

fn within(one: &[FieldKind], all: &[FieldKind]) -> bool {
    one.iter().all(|kind| all.contains(kind))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;
    use units::{BitRate, DataSize};
    use wire::ethernet::{EtherType, MacAddress};

    use super::*;
    use crate::northbound::{ExceedAction, FlowMatch, Protection, Requirement, Traffic};

    fn matching() -> impl Strategy<Value = FlowMatch> {
        let value = || proptest::option::of(0u8..2);
        (value(), value(), value(), value()).prop_map(|(ether_type, mac, vlan, ip)| FlowMatch {
            ether_type: ether_type.map(|value| EtherType(0x88B8 + u16::from(value))),
            destination: mac.map(|value| MacAddress([1, 0, 0, 0, 0, value])),
            vlan: vlan.map(|value| u16::from(value) + 1),
            ipv4_destination: ip.map(|value| Ipv4Addr::new(10, 0, 0, value)),
            ..FlowMatch::default()
        })
    }

    fn rule(id: u32, matching: FlowMatch) -> FlowRule {
        let frame = DataSize::from_bytes(84);
        let requirement = Requirement {
            name: String::new(),
            source: String::new(),
            destinations: Vec::new(),
            matching,
            class: 0,
            is_class_free: false,
            must_be_enforced: false,
            excess: ExceedAction::Drop,
            traffic: Traffic {
                rate: BitRate::from_mbps(1),
                burst: frame,
                largest_frame: frame,
                smallest_frame: frame,
                frames: None,
            },
            deadline: None,
            protection: Protection::None,
            modes: None,
        };
        FlowRule::new(FlowId(id), MacAddress([2; 6]), &requirement)
    }

    proptest! {
        /// Nobody with whom a rule conflicts is missing, and none is left once all
        /// are removed.
        #[test]
        fn all_conflicts_are_among_the_rivals(
            others in proptest::collection::vec(matching(), 0..12),
            new in matching(),
        ) {
            let rules: Vec<_> = (1..).zip(others).map(|(id, other)| rule(id, other)).collect();
            let new = rule(0, new);
            let mut entering = Entering::default();
            for (id, rule) in (1..).map(FlowId).zip(&rules) {
                entering.insert(id, rule);
            }

            let rivals: BTreeSet<_> = entering.rivals(&new).collect();

            for (id, rule) in (1..).map(FlowId).zip(&rules) {
                prop_assert!(!rule.conflicts_with(&new) || rivals.contains(&id));
                entering.remove(id, rule);
            }
            prop_assert!(entering.is_empty());
        }
    }
}
