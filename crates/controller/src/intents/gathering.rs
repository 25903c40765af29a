//! How hosts find each other that know only IP addresses.
//!
//! An ARP request goes to all (RFC 826), the neighbour solicitation of IPv6 to a
//! group of its own (RFC 4861 section 4.3); rules that know the addresses of two
//! hosts let neither pass. And what a host sends to all looks the same whomever it
//! is meant for, so it cannot be a matter of one intent. So each host has a tree to
//! all the hosts that intents connect it with, and what it sends to all, or to a
//! group of IPv6, follows that tree. Its answers have the address of one host and
//! travel by the rules of the intent.
//!
//! An application that floods does all that for every host: with one there are no
//! such trees, and the priority stands below those of applications.

use wire::ethernet::MacAddress;
use wire::openflow::MatchField;
use wire::openflow::oxm::Masked;

use super::compile::along;
use crate::desired::PlacedRule;
use crate::path::{Atlas, Tree};
use crate::place::PortId;
use crate::priority;
use crate::view::View;

/// Where the groups of IPv6 are (RFC 2464 section 7), and which bits say so.
const IPV6_GROUPS: Masked<MacAddress> = Masked {
    value: MacAddress([0x33, 0x33, 0, 0, 0, 0]),
    mask: Some(MacAddress([0xff, 0xff, 0, 0, 0, 0])),
};

/// Returns the tree from a host to others, as far as they can be reached, with its
/// cost and whether it reaches all; nothing if it reaches none.
pub fn gather(
    view: &View,
    atlas: &mut Atlas,
    source: PortId,
    peers: &[PortId],
) -> Option<(Tree, u64, bool)> {
    let others: Vec<PortId> = peers.iter().copied().filter(|at| *at != source).collect();
    atlas.tree_to_some(view, source, &others)
}

/// Returns the rules by which what a host sends to all follows a tree.
#[must_use]
pub fn rules(tree: &Tree, host: MacAddress) -> Vec<PlacedRule> {
    let to_all = [Masked::exact(MacAddress::BROADCAST), IPV6_GROUPS];
    let rules = to_all.into_iter().flat_map(|destination| {
        let matching = [
            MatchField::EthSrc(Masked::exact(host)),
            MatchField::EthDst(destination),
        ];
        along(tree, priority::GATHERING, &matching)
    });
    rules.collect()
}
