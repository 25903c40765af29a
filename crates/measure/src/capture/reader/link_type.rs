//! What stands before a packet in a capture, and an Ethernet header in its place.

use std::ops::Range;

use wire::ethernet::{EtherType, UNTAGGED_HEADER_LENGTH};

use crate::capture::Direction;

const NULL: u16 = 0;
const ETHERNET: u16 = 1;
const RAW_AS_DLT: u16 = 12;
const RAW: u16 = 101;
const LOOP: u16 = 108;
const LINUX_COOKED: u16 = 113;
const IPV4: u16 = 228;
const IPV6: u16 = 229;
const LINUX_COOKED_2: u16 = 276;

const COOKED_LENGTH: usize = 16;
const COOKED_2_LENGTH: usize = 20;
const FAMILY_LENGTH: usize = 4;
/// The address field of a cooked header holds eight bytes, the first six of which
/// are an Ethernet address.
const ADDRESS_LENGTH: usize = 6;
/// What a cooked header calls a frame that this host sent.
const OUTGOING: u16 = 4;

/// How frames of an interface begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinkType(pub(super) u16);

/// A frame with an Ethernet header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AsEthernet {
    pub(super) at: Range<usize>,
    /// Which way it went, if its header said so.
    pub(super) direction: Option<Direction>,
}

impl LinkType {
    /// Makes an Ethernet frame of what stands at `at` of `buffer`, or nothing if
    /// this kind of link is not understood. A record's own header stands before
    /// it and is not needed any more.
    #[inline]
    pub(super) fn to_ethernet(self, buffer: &mut [u8], at: Range<usize>) -> Option<AsEthernet> {
        let frame = &buffer[at.clone()];
        match self.0 {
            ETHERNET => Some(AsEthernet {
                at,
                direction: None,
            }),
            LINUX_COOKED => {
                let kind = u16::from_be_bytes(*frame.first_chunk()?);
                let address = *frame.get(6..)?.first_chunk()?;
                let ether_type = u16::from_be_bytes(*frame.get(14..)?.first_chunk()?);
                put(buffer, at, COOKED_LENGTH, (address, ether_type), Some(kind))
            }
            LINUX_COOKED_2 => {
                let ether_type = u16::from_be_bytes(*frame.first_chunk()?);
                let kind = u16::from(*frame.get(10)?);
                let address = *frame.get(12..)?.first_chunk()?;
                let header = (address, ether_type);
                put(buffer, at, COOKED_2_LENGTH, header, Some(kind))
            }
            RAW | RAW_AS_DLT | IPV4 | IPV6 => bare(buffer, at, 0),
            NULL | LOOP => bare(buffer, at, FAMILY_LENGTH),
            _ => None,
        }
    }
}

/// Makes a frame of a bare IP packet behind `header` bytes.
fn bare(buffer: &mut [u8], at: Range<usize>, header: usize) -> Option<AsEthernet> {
    let ether_type = match buffer[at.clone()].get(header)? >> 4 {
        4 => EtherType::IPV4,
        6 => EtherType::IPV6,
        _ => return None,
    };
    put(
        buffer,
        at,
        header,
        ([0; ADDRESS_LENGTH], ether_type.0),
        None,
    )
}

/// Puts an Ethernet header in front of what follows `header` bytes.
fn put(
    buffer: &mut [u8],
    at: Range<usize>,
    header: usize,
    (source, ether_type): ([u8; ADDRESS_LENGTH], u16),
    kind: Option<u16>,
) -> Option<AsEthernet> {
    let payload = at.start + header;
    let start = payload.checked_sub(UNTAGGED_HEADER_LENGTH)?;
    if payload > at.end {
        return None;
    }
    let place = &mut buffer[start..payload];
    place.fill(0);
    place[ADDRESS_LENGTH..2 * ADDRESS_LENGTH].copy_from_slice(&source);
    place[2 * ADDRESS_LENGTH..].copy_from_slice(&ether_type.to_be_bytes());
    Some(AsEthernet {
        at: start..at.end,
        direction: kind.map(|kind| match kind {
            OUTGOING => Direction::Out,
            _ => Direction::In,
        }),
    })
}
