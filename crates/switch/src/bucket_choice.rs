//! Which bucket of a select group a flow goes through, OF13 clause 5.6.1.
//!
//! A flow is what its headers say: addresses, type, VLAN or label and, if it has
//! them, protocol and ports. They are hashed, and the hash falls into the share of one
//! bucket. As long as that bucket lives it is the flow's, whatever happens to
//! the others. If it is dead, the other half of the hash falls into the share of
//! one of those that live, so that the flows of a dead bucket spread over all
//! others, and come back when it does.
//!
//! Ports are left out for fragments, of which only the first has them, and which
//! would overtake each other else.

use wire::openflow::GroupId;

use crate::buffer_pool::BufferPool;
use crate::extension_headers::Seen;
use crate::group_table::Group;
use crate::headers::NetworkHeader;
use crate::masked_hash::MaskedHash;
use crate::packet::Packet;
use crate::packet_key::{KeyBits, PacketKey, field};

/// Set in [`field::IPV6_EXTHDR`] if an IPv6 packet is a fragment.
const FRAGMENT: u64 = Seen::FRAGMENT as u64;

/// Hashes the headers of flows.
#[derive(Debug)]
pub(crate) struct FlowHash {
    whole: MaskedHash,
    fragment: MaskedHash,
    /// With the label of MPLS.
    labelled: MaskedHash,
}

impl FlowHash {
    pub(crate) fn new(seed: u64) -> Self {
        let mut link = PacketKey::default();
        add(
            &mut link,
            &[field::ETH_DST, field::ETH_SRC, field::ETH_TYPE],
        );
        add(&mut link, &[field::VLAN_VID]);
        let mut labelled = link;
        add(&mut labelled, &[field::MPLS_LABEL]);
        // These cover the places of the other protocols' addresses.
        let mut network = link;
        add(&mut network, &field::IPV6_SRC);
        add(&mut network, &field::IPV6_DST);
        add(&mut network, &[field::IP_PROTO]);
        let mut whole = network;
        add(&mut whole, &[field::L4_SRC, field::L4_DST]);
        Self {
            whole: MaskedHash::new(&whole, seed),
            fragment: MaskedHash::new(&network, seed),
            labelled: MaskedHash::new(&labelled, seed),
        }
    }

    /// Returns the hash of the flow that a frame belongs to.
    pub(crate) fn of(&self, packet: &Packet, pool: &BufferPool) -> u64 {
        let key = &packet.key;
        match packet.headers.network {
            Some((NetworkHeader::Ipv4, at)) if is_fragment(&pool.frame(packet.slot)[at..]) => {
                self.fragment.of(key)
            }
            Some((NetworkHeader::Ipv6, _)) if key.get(field::IPV6_EXTHDR) & FRAGMENT != 0 => {
                self.fragment.of(key)
            }
            Some((NetworkHeader::Mpls, _)) => self.labelled.of(key),
            Some((
                NetworkHeader::Arp
                | NetworkHeader::Ipv4
                | NetworkHeader::Ipv6
                | NetworkHeader::Backbone,
                _,
            ))
            | None => self.whole.of(key),
        }
    }
}

fn add(mask: &mut PacketKey, places: &[KeyBits]) {
    for place in places {
        mask.put(*place, place.ones());
    }
}

/// Returns whether this is the header of a part of an IPv4 packet, RFC 791.
fn is_fragment(header: &[u8]) -> bool {
    const FLAGS_AND_OFFSET: usize = 6;
    const MORE_OR_LATER: u16 = 0x3fff;
    let word = [header[FLAGS_AND_OFFSET], header[FLAGS_AND_OFFSET + 1]];
    u16::from_be_bytes(word) & MORE_OR_LATER != 0
}

impl Group {
    /// Returns the bucket for a flow, if any bucket with a share is alive.
    pub(crate) fn choose(&self, hash: u64, is_live: impl Fn(usize) -> bool) -> Option<usize> {
        let buckets = &self.config.buckets;
        let [first, second] = halves(salted(hash, self.config.id));
        let point = scaled(first, buckets.last()?.shares_up_to);
        let home = buckets.partition_point(|bucket| bucket.shares_up_to <= point);
        if home < buckets.len() && is_live(home) {
            return Some(home);
        }
        let shares = || buckets.iter().map(|bucket| bucket.share).enumerate();
        let live = || shares().filter(|(at, _)| is_live(*at));
        let mut point = scaled(second, live().map(|(_, share)| share).sum());
        live().find_map(|(at, share)| match point.checked_sub(share) {
            Some(beyond) => {
                point = beyond;
                None
            }
            None => Some(at),
        })
    }
}

/// Makes the choices of groups independent of each other: else the flows that
/// one group sends to the next would all choose alike there.
fn salted(hash: u64, group: GroupId) -> u64 {
    MaskedHash::mix(hash, u64::from(group.0) + 1)
}

#[expect(clippy::cast_possible_truncation, reason = "the halves are wanted")]
const fn halves(hash: u64) -> [u32; 2] {
    [(hash >> 32) as u32, hash as u32]
}

/// Returns where a hash falls among `shares`; 0 if there are none.
fn scaled(hash: u32, shares: u32) -> u32 {
    let product = u64::from(hash) * u64::from(shares);
    u32::try_from(product >> 32).expect("less than the shares")
}
