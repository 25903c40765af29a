//! The older format: one header, then a header of sixteen bytes before each frame.
//!
//! Source: draft-ietf-opsawg-pcap sections 4 and 5.

use super::link_type::LinkType;
use super::{Damage, LATEST_UNIX_NS, LONGEST_RECORD, Order, Record};

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
const MAJOR: u16 = 2;
const NS_PER_SECOND: u64 = 1_000_000_000;

/// What the header of a file said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pcap {
    order: Order,
    /// What the fraction of a stamp counts.
    fraction_ns: u64,
    link_type: LinkType,
}

impl Pcap {
    /// Reads the header of a file, which begins with `magic`. Returns it and its
    /// length, or nothing if it is not there yet.
    pub(super) fn begin(magic: [u8; 4], file: &[u8]) -> Result<Option<(Self, u64)>, Damage> {
        let (order, fraction_ns) = match (u32::from_le_bytes(magic), u32::from_be_bytes(magic)) {
            (MICROSECONDS, _) => (Order::Little, 1_000),
            (_, MICROSECONDS) => (Order::Big, 1_000),
            (NANOSECONDS, _) => (Order::Little, 1),
            (_, NANOSECONDS) => (Order::Big, 1),
            (_, _) => return Err(Damage::Format(magic)),
        };
        let (Some(major), Some(minor), Some(link)) = (
            order.u16(file, 4),
            order.u16(file, 6),
            order.u32(file, FILE_HEADER - 4),
        ) else {
            return Ok(None);
        };
        if major != MAJOR {
            let expected = "2.4";
            return Err(Damage::Version {
                major,
                minor,
                expected,
            });
        }
        let [.., high, low] = link.to_be_bytes();
        let format = Self {
            order,
            fraction_ns,
            link_type: LinkType(u16::from_be_bytes([high, low])),
        };
        let length = u64::try_from(FILE_HEADER).expect("a small constant");
        Ok(Some((format, length)))
    }

    #[inline]
    pub(super) fn read(&self, unread: &[u8]) -> Result<Record, Damage> {
        let Some(header) = unread.first_chunk::<RECORD_HEADER>() else {
            return Ok(Record::Incomplete);
        };
        let field = |at| {
            let number = self.order.u32(header, at);
            number.expect("four fields of four bytes")
        };
        let kept = usize::try_from(field(8)).unwrap_or(usize::MAX);
        if kept > LONGEST_RECORD {
            let length = u64::from(field(8));
            return Err(Damage::TooLong { length });
        }
        if unread.len() < RECORD_HEADER + kept {
            return Ok(Record::Incomplete);
        }
        let seconds = u64::from(field(0)) * NS_PER_SECOND;
        let stamp = seconds + u64::from(field(4)) * self.fraction_ns;
        Ok(Record::Frame {
            record: RECORD_HEADER + kept,
            start: RECORD_HEADER,
            kept,
            length: usize::try_from(field(12)).unwrap_or(usize::MAX).max(kept),
            interface: 0,
            unix_ns: stamp.min(LATEST_UNIX_NS),
            direction: None,
            link_type: self.link_type,
        })
    }
}
