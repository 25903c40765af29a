//! The time to live of IPv4 and MPLS and the hop limit of IPv6, OF13 clause
//! 5.12.
//!
//! It can be set, counted down, and copied between the outermost header that
//! has one and the next: from MPLS to the MPLS or IP header behind it, and from
//! an IP header to that of the packet within. What is behind the last MPLS
//! header does not say what it is; its first four bits tell IPv4 from IPv6.
//!
//! Every function leaves a frame alone that lacks the header in question.

use crate::action::{Direction, Layer};
use crate::headers::{
    Headers, IPV4_HEADER, IPV6_HEADER, MPLS_HEADER, NetworkHeader, PROTO_IPV4, PROTO_IPV6, bytes_at,
};
use crate::rewrite::{IPV4_CHECKSUM, Sum, replace};
use crate::tags::BOTTOM_OF_STACK;

const IPV4_TTL: usize = 8;
const IPV6_HOP_LIMIT: usize = 7;
const MPLS_TTL: usize = 3;

/// The time to live of a packet reached its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expired;

/// A header with a time to live, whole within the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    Ipv4(usize),
    Ipv6(usize),
    Mpls(usize),
}

/// Sets the time to live of a layer.
pub(crate) fn set(frame: &mut [u8], headers: &Headers, layer: Layer, ttl: u8) {
    if let Some(holder) = Holder::of(headers, layer) {
        holder.set(frame, ttl);
    }
}

/// Counts the time to live of a layer down.
///
/// # Errors
///
/// If it ends.
pub(crate) fn decrement(frame: &mut [u8], headers: &Headers, layer: Layer) -> Result<(), Expired> {
    let Some(holder) = Holder::of(headers, layer) else {
        return Ok(());
    };
    match holder.get(frame) {
        0 | 1 => Err(Expired),
        ttl => {
            holder.set(frame, ttl - 1);
            Ok(())
        }
    }
}

/// Copies the time to live between the two outermost headers that have one.
pub(crate) fn copy(frame: &mut [u8], headers: &Headers, direction: Direction) {
    let Some(outer) = Holder::outermost(headers) else {
        return;
    };
    let Some(inner) = outer.next(frame, headers) else {
        return;
    };
    match direction {
        Direction::Inwards => inner.set(frame, outer.get(frame)),
        Direction::Outwards => outer.set(frame, inner.get(frame)),
    }
}

/// Returns the outermost time to live of a frame, or zero.
pub(crate) fn outermost(frame: &[u8], headers: &Headers) -> u8 {
    Holder::outermost(headers).map_or(0, |holder| holder.get(frame))
}

impl Holder {
    fn outermost(headers: &Headers) -> Option<Self> {
        match headers.network {
            Some((NetworkHeader::Ipv4, at)) => Some(Self::Ipv4(at)),
            Some((NetworkHeader::Ipv6, at)) => Some(Self::Ipv6(at)),
            Some((NetworkHeader::Mpls, at)) => Some(Self::Mpls(at)),
            Some((NetworkHeader::Arp | NetworkHeader::Backbone, _)) | None => None,
        }
    }

    fn of(headers: &Headers, layer: Layer) -> Option<Self> {
        Self::outermost(headers).filter(|holder| match holder {
            Self::Ipv4(_) | Self::Ipv6(_) => layer == Layer::Network,
            Self::Mpls(_) => layer == Layer::Mpls,
        })
    }

    /// Returns the next header that has a time to live.
    fn next(self, frame: &[u8], headers: &Headers) -> Option<Self> {
        match self {
            Self::Ipv4(_) | Self::Ipv6(_) => match headers.transport? {
                (PROTO_IPV4, at) => Self::ip(frame, at).filter(|it| *it == Self::Ipv4(at)),
                (PROTO_IPV6, at) => Self::ip(frame, at).filter(|it| *it == Self::Ipv6(at)),
                _ => None,
            },
            Self::Mpls(at) => {
                let header = u32::from_be_bytes(*bytes_at(frame, at)?);
                let next = at + MPLS_HEADER;
                match header & BOTTOM_OF_STACK {
                    0 => bytes_at::<MPLS_HEADER>(frame, next).map(|_| Self::Mpls(next)),
                    _ => Self::ip(frame, next),
                }
            }
        }
    }

    /// Returns the IP header at `at`, if there is one.
    fn ip(frame: &[u8], at: usize) -> Option<Self> {
        let first = *frame.get(at)?;
        match (first >> 4, first & 0xf) {
            (4, 5..) => bytes_at::<IPV4_HEADER>(frame, at).map(|_| Self::Ipv4(at)),
            (6, _) => bytes_at::<IPV6_HEADER>(frame, at).map(|_| Self::Ipv6(at)),
            _ => None,
        }
    }

    fn get(self, frame: &[u8]) -> u8 {
        match self {
            Self::Ipv4(at) => frame[at + IPV4_TTL],
            Self::Ipv6(at) => frame[at + IPV6_HOP_LIMIT],
            Self::Mpls(at) => frame[at + MPLS_TTL],
        }
    }

    fn set(self, frame: &mut [u8], ttl: u8) {
        match self {
            Self::Ipv4(at) => {
                let protocol = frame[at + IPV4_TTL + 1];
                replace(
                    frame,
                    at + IPV4_TTL,
                    &[ttl, protocol],
                    &[Sum::mandatory(at + IPV4_CHECKSUM)],
                );
            }
            Self::Ipv6(at) => frame[at + IPV6_HOP_LIMIT] = ttl,
            Self::Mpls(at) => frame[at + MPLS_TTL] = ttl,
        }
    }
}
