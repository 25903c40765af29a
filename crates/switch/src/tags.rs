//! Puts tags on a frame and takes them off, OF13 clauses 5.12 and 7.2.5.
//!
//! A tag goes to the outermost place where it is valid. A VLAN tag stands right
//! behind the addresses, before all others. An MPLS header stands behind all
//! VLAN tags (RFC 3032 section 2: behind the header of the data link), which is
//! where a match looks for it; the type of what it is put before is lost, and
//! has to be named when it is popped. A backbone tag wraps the whole frame, VLAN
//! tags included, in a second pair of addresses. What a new tag says is copied
//! from the headers that were there, OF13 clause 5.12.1.
//!
//! Bytes come and go at the front of a frame: whoever pushes makes room there
//! first, whoever pops gives it back afterwards.
//!
//! # Left out
//!
//! The length of a frame that has no type (IEEE 802.3) is not corrected for an
//! MPLS header that is pushed into it; it becomes the type of the header.

use wire::ethernet::EtherType;

use crate::action::{Pop, Push};
use crate::headers::{
    BACKBONE_TAG, ETHER_TYPE, Headers, MAC_ADDRESSES, MPLS_HEADER, NetworkHeader, VLAN_TAG,
    bytes_at,
};
use crate::time_to_live;

/// Bytes that a backbone tag adds: its type, control information, addresses.
const BACKBONE: usize = ETHER_TYPE + BACKBONE_TAG;

/// The bottom-of-stack bit of an MPLS header.
pub(crate) const BOTTOM_OF_STACK: u32 = 1 << 8;

impl Push {
    /// Returns how many bytes longer the frame becomes.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::Vlan(_) => VLAN_TAG,
            Self::Mpls(_) => MPLS_HEADER,
            Self::Backbone => BACKBONE,
        }
    }
}

impl Pop {
    /// Returns how many bytes shorter the frame becomes.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::Vlan => VLAN_TAG,
            Self::Mpls(_) => MPLS_HEADER,
            Self::Backbone => BACKBONE,
        }
    }

    /// Returns whether the frame has such a tag.
    pub(crate) fn fits(self, headers: &Headers) -> bool {
        match self {
            Self::Vlan => headers.tagged,
            Self::Mpls(_) => matches!(headers.network, Some((NetworkHeader::Mpls, _))),
            Self::Backbone => matches!(headers.network, Some((NetworkHeader::Backbone, _))),
        }
    }
}

/// Turns a frame with [`Push::bytes`] free bytes at its front, whose headers
/// are given without them, into one with a tag.
pub(crate) fn push(frame: &mut [u8], headers: &Headers, tag: Push) {
    match tag {
        Push::Vlan(ether_type) => push_vlan(frame, headers, ether_type),
        Push::Mpls(ether_type) => push_mpls(frame, headers, ether_type),
        Push::Backbone => push_backbone(frame, headers),
    }
}

/// Moves what remains over the tag, so that [`Pop::bytes`] bytes at the front
/// are free. The frame has the tag.
pub(crate) fn pop(frame: &mut [u8], headers: &Headers, tag: Pop) {
    match tag {
        Pop::Vlan => frame.copy_within(..MAC_ADDRESSES, VLAN_TAG),
        Pop::Mpls(ether_type) => {
            let end = headers.type_at + ETHER_TYPE;
            frame[headers.type_at..end].copy_from_slice(&ether_type.to_be_bytes());
            frame.copy_within(..end, MPLS_HEADER);
        }
        Pop::Backbone => {
            let customer = headers.type_at + BACKBONE - MAC_ADDRESSES;
            frame.copy_within(customer..customer + MAC_ADDRESSES, 0);
            frame.copy_within(..headers.type_at, BACKBONE);
        }
    }
}

fn push_vlan(frame: &mut [u8], headers: &Headers, ether_type: u16) {
    frame.copy_within(VLAN_TAG..VLAN_TAG + MAC_ADDRESSES, 0);
    let inherited = MAC_ADDRESSES + VLAN_TAG + ETHER_TYPE;
    let control = match headers.tagged {
        true => [frame[inherited], frame[inherited + 1]],
        false => [0, 0],
    };
    let tag = &mut frame[MAC_ADDRESSES..MAC_ADDRESSES + VLAN_TAG];
    tag[..ETHER_TYPE].copy_from_slice(&ether_type.to_be_bytes());
    tag[ETHER_TYPE..].copy_from_slice(&control);
}

fn push_mpls(frame: &mut [u8], headers: &Headers, ether_type: u16) {
    let old = &frame[MPLS_HEADER..];
    let header = match headers.network {
        // All is inherited, but the one below remains the bottom.
        Some((NetworkHeader::Mpls, at)) => bytes_at(old, at).map_or(BOTTOM_OF_STACK, |header| {
            u32::from_be_bytes(*header) & !BOTTOM_OF_STACK
        }),
        Some(_) | None => BOTTOM_OF_STACK | u32::from(time_to_live::outermost(old, headers)),
    };
    let end = headers.type_at + ETHER_TYPE;
    frame.copy_within(MPLS_HEADER..MPLS_HEADER + headers.type_at, 0);
    frame[headers.type_at..end].copy_from_slice(&ether_type.to_be_bytes());
    frame[end..end + MPLS_HEADER].copy_from_slice(&header.to_be_bytes());
}

fn push_backbone(frame: &mut [u8], headers: &Headers) {
    let old = &frame[BACKBONE..];
    // The priority is that of the VLAN tag, and the service that of the
    // backbone tag below.
    let priority = match headers.tagged {
        true => old[MAC_ADDRESSES + ETHER_TYPE] & 0xe0,
        false => 0,
    };
    let service = match headers.network {
        Some((NetworkHeader::Backbone, at)) => bytes_at::<4>(old, at).copied().unwrap_or_default(),
        Some(_) | None => [0; 4],
    };
    let [_, high, middle, low] = service;
    frame.copy_within(BACKBONE..BACKBONE + MAC_ADDRESSES, 0);
    let tag = &mut frame[MAC_ADDRESSES..BACKBONE];
    tag[..ETHER_TYPE].copy_from_slice(&EtherType::PROVIDER_BACKBONE.0.to_be_bytes());
    tag[ETHER_TYPE..].copy_from_slice(&[priority, high, middle, low]);
}
