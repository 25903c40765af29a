//! Proactive routes: every two known hosts are connected before they send (S1-10).
//!
//! Frames to a host follow a tree of shortest ways that ends at it: one rule at each
//! switch and for each host, whoever sends. Frames to all and to groups follow one
//! tree of the links that are up, the same for all; no frame comes back on a tree.
//! Where a host is becomes known as it asks for addresses: at ports where hosts may
//! be, ARP and the neighbour discovery of IPv6 go to the controller as well.
//!
//! When the tree of what goes to all changes, its switches first stop sending where
//! only the old one led, and all of them before any sends where only the new one
//! leads: at each moment all that is sent follows one of the two.
//!
//! # Left out
//!
//! A host that moves and neither asks for an address nor says where it is gets
//! nothing until it does: the rules do not look at where frames come from, and its
//! frames are not told of. What keeps them from being taken for those of a flow are the
//! guards of that ([`Flow::guards`](crate::flows::Flow::guards)). Hosts behind it that
//! never asked for an address are not known.

use std::collections::{BTreeMap, BTreeSet};

use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::oxm::Masked;
use wire::openflow::{Action, DatapathId, MatchField, PortNumber, TableId};

use crate::desired::PlacedRule;
use crate::intents::frame::best_effort;
use crate::path::Tree;
use crate::priority;

const TABLE: TableId = TableId(0);
/// The bit by which groups, and all, are told from single stations.
const GROUPS: Masked<MacAddress> = masked([1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]);
/// What no bridge passes on (IEEE 802.1Q clause 8.6.3).
const LINK_LOCAL: Masked<MacAddress> = masked(
    [0x01, 0x80, 0xc2, 0, 0, 0],
    [0xff, 0xff, 0xff, 0xff, 0xff, 0xf0],
);
const IP_PROTO_ICMPV6: u8 = 58;

const fn masked(value: [u8; 6], mask: [u8; 6]) -> Masked<MacAddress> {
    Masked {
        value: MacAddress(value),
        mask: Some(MacAddress(mask)),
    }
}

/// Returns the rules by which frames to a host follow a tree that begins at it.
#[must_use]
pub fn to_host(tree: &Tree, host: MacAddress) -> Vec<PlacedRule> {
    let branches = tree.branches.iter();
    let rules = branches.map(|branch| PlacedRule {
        datapath: branch.datapath,
        table: TABLE,
        priority: priority::PROACTIVE_ROUTES,
        matching: vec![MatchField::EthDst(Masked::exact(host))],
        actions: vec![best_effort(), Action::output(branch.input)],
    });
    rules.collect()
}

/// The ports by which one switch sends what goes to all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Openings {
    /// Those that lead to other switches.
    pub trunks: BTreeSet<PortNumber>,
    /// Those where hosts may be.
    pub access: BTreeSet<PortNumber>,
}

/// What goes to all, by switch.
pub type Flood = BTreeMap<DatapathId, Openings>;

#[must_use]
pub fn common(one: &Flood, other: &Flood) -> Flood {
    let both = |a: &BTreeSet<PortNumber>, b: &BTreeSet<PortNumber>| a & b;
    let shared = one.iter().filter_map(|(datapath, here)| {
        let there = other.get(datapath)?;
        let openings = Openings {
            trunks: both(&here.trunks, &there.trunks),
            access: both(&here.access, &there.access),
        };
        Some((*datapath, openings))
    });
    shared.collect()
}

/// Returns the rules by which frames to all are sent.
#[must_use]
pub fn to_all(flood: &Flood) -> Vec<PlacedRule> {
    let mut rules = Vec::new();
    for (datapath, openings) in flood {
        let ports = openings.trunks.union(&openings.access);
        let outputs: Vec<PortNumber> = ports.copied().collect();
        let rule = |above, matching, actions| PlacedRule {
            datapath: *datapath,
            table: TABLE,
            priority: priority::PROACTIVE_ROUTES + above,
            matching,
            actions,
        };
        let groups = vec![MatchField::EthDst(GROUPS)];
        rules.push(rule(0, groups, sent(&outputs, None)));
        let link_local = vec![MatchField::EthDst(LINK_LOCAL)];
        rules.push(rule(2, link_local, Vec::new()));
        for input in &openings.access {
            let others: Vec<PortNumber> = outputs
                .iter()
                .copied()
                .filter(|port| port != input)
                .collect();
            for asking in questions(*input) {
                let actions = sent(&others, Some(PortNumber::CONTROLLER));
                rules.push(rule(1, asking, actions));
            }
        }
    }
    rules
}

fn sent(outputs: &[PortNumber], more: Option<PortNumber>) -> Vec<Action> {
    let outputs = outputs.iter().copied().chain(more).map(Action::output);
    std::iter::once(best_effort()).chain(outputs).collect()
}

/// Returns the matches of frames by which a host at a port asks for an address.
fn questions(input: PortNumber) -> [Vec<MatchField>; 2] {
    let from = MatchField::InPort(input);
    let to_groups = MatchField::EthDst(GROUPS);
    [
        vec![from, to_groups, MatchField::EthType(EtherType::ARP)],
        vec![
            from,
            to_groups,
            MatchField::EthType(EtherType::IPV6),
            MatchField::IpProto(IP_PROTO_ICMPV6),
        ],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_floods_have_in_common_is_part_of_both() {
        let openings = |trunks: &[u32], access: &[u32]| Openings {
            trunks: trunks.iter().copied().map(PortNumber).collect(),
            access: access.iter().copied().map(PortNumber).collect(),
        };
        let one = Flood::from([(DatapathId(1), openings(&[1, 2], &[9]))]);
        let other = Flood::from([
            (DatapathId(1), openings(&[2, 3], &[9])),
            (DatapathId(2), openings(&[1], &[])),
        ]);

        let shared = common(&one, &other);

        assert_eq!(shared, Flood::from([(DatapathId(1), openings(&[2], &[9]))]));
    }

    #[test]
    fn a_question_is_heard_by_the_controller_and_does_not_go_back() {
        let flood = Flood::from([(
            DatapathId(1),
            Openings {
                trunks: BTreeSet::from([PortNumber(1)]),
                access: BTreeSet::from([PortNumber(8), PortNumber(9)]),
            },
        )]);

        let rules = to_all(&flood);

        let arp = MatchField::EthType(EtherType::ARP);
        let at_9 = MatchField::InPort(PortNumber(9));
        let mut asking = rules
            .iter()
            .filter(|rule| rule.matching.contains(&arp) && rule.matching.contains(&at_9));
        let expected = sent(
            &[PortNumber(1), PortNumber(8)],
            Some(PortNumber::CONTROLLER),
        );
        assert_eq!(asking.next().map(|rule| &rule.actions), Some(&expected));
    }
}
