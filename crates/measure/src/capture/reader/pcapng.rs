//! The newer format: sections, which have interfaces, which have frames.
//!
//! Source: draft-ietf-opsawg-pcapng sections 3 and 4.

use super::link_type::LinkType;
use super::{
    CapturedInterface, Damage, LATEST_UNIX_NS, LONGEST_RECORD, MOST_INTERFACES, Order, Record,
};
use crate::capture::Direction;
use crate::capture::pcapng::{
    BYTE_ORDER, END_OF_OPTIONS, ENHANCED_PACKET, FRAME_FLAGS, INTERFACE_DESCRIPTION,
    INTERFACE_NAME, INTERFACE_STAMP_UNIT, LONGEST_TEXT, SECTION_HEADER,
};

const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const INTERFACE_STAMP_OFFSET: u16 = 14;
const FRAMES_DROPPED: u16 = 4;
const DROPPED_BY_INTERFACE: u16 = 5;
const DROPPED_BY_SYSTEM: u16 = 7;
/// Type and length before the body of a block, and the length behind it.
const BLOCK_HEADER: usize = 8;
const BLOCK_FRAME: usize = 12;
/// Where the frame begins in a block of either kind.
const FRAME_AT: usize = 28;
const MAJOR: u16 = 1;
const NS_PER_SECOND: i128 = 1_000_000_000;
const MICROSECONDS: u8 = 6;

/// A section that is being read.
#[derive(Debug)]
pub(super) struct Pcapng {
    order: Order,
    /// Those of this section are the last of all.
    clocks: Vec<InterfaceClock>,
    interfaces: Vec<CapturedInterface>,
}

/// How an interface of the section counts time, and how its frames begin.
#[derive(Clone, Copy, Debug)]
struct InterfaceClock {
    unit: TimestampUnit,
    offset_s: i64,
    link_type: LinkType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimestampUnit {
    Nanoseconds(u64),
    PartOfNanosecond(u128),
    /// A second divided by two to the power of this.
    PartOfSecond(u8),
}

impl Default for Pcapng {
    fn default() -> Self {
        Self {
            order: Order::Little,
            clocks: Vec::new(),
            interfaces: Vec::new(),
        }
    }
}

impl Pcapng {
    /// Returns the interfaces of all sections.
    pub(super) fn into_interfaces(self) -> Vec<CapturedInterface> {
        self.interfaces
    }

    #[inline]
    pub(super) fn read(&mut self, unread: &[u8]) -> Result<Record, Damage> {
        let Some(kind) = self.order.u32(unread, 0) else {
            return Ok(Record::Incomplete);
        };
        if kind == SECTION_HEADER {
            let Some(order) = unread.get(BLOCK_HEADER..).and_then(<[u8]>::first_chunk) else {
                return Ok(Record::Incomplete);
            };
            self.order = match (u32::from_le_bytes(*order), u32::from_be_bytes(*order)) {
                (BYTE_ORDER, _) => Order::Little,
                (_, BYTE_ORDER) => Order::Big,
                (_, _) => return Err(Damage::ByteOrder(*order)),
            };
        }
        let Some(length) = self.order.u32(unread, 4) else {
            return Ok(Record::Incomplete);
        };
        let record = usize::try_from(length).unwrap_or(usize::MAX);
        if record < BLOCK_FRAME || !length.is_multiple_of(4) {
            return Err(Damage::BlockLength { length });
        }
        if record > LONGEST_RECORD {
            return self.long_block(kind, length);
        }
        let Some(block) = unread.get(..record) else {
            return Ok(Record::Incomplete);
        };
        let last = self.order.u32(block, record - 4);
        if let Some(last) = last.filter(|last| *last != length) {
            let first = length;
            return Err(Damage::Lengths { first, last });
        }
        self.block(kind, block)
    }

    /// Passes over a block that is too long to be held, unless frames depend on it.
    fn long_block(&self, kind: u32, length: u32) -> Result<Record, Damage> {
        let length = u64::from(length);
        match kind {
            SECTION_HEADER
            | INTERFACE_DESCRIPTION
            | OLD_PACKET
            | SIMPLE_PACKET
            | ENHANCED_PACKET => Err(Damage::TooLong { length }),
            _ => Ok(Record::Other { record: length }),
        }
    }

    fn block(&mut self, kind: u32, block: &[u8]) -> Result<Record, Damage> {
        match kind {
            ENHANCED_PACKET => {
                let interface = self.order.u32(block, BLOCK_HEADER);
                return self.frame(block, interface);
            }
            OLD_PACKET => {
                let interface = self.order.u16(block, BLOCK_HEADER).map(u32::from);
                return self.frame(block, interface);
            }
            SIMPLE_PACKET => {
                let record = block.len();
                return Ok(Record::Unstamped { record });
            }
            SECTION_HEADER => self.section(block)?,
            INTERFACE_DESCRIPTION => self.describe(block)?,
            INTERFACE_STATISTICS => self.statistics(block),
            _ => {}
        }
        let record = u64::try_from(block.len()).expect("a block in memory");
        Ok(Record::Other { record })
    }

    fn section(&mut self, block: &[u8]) -> Result<(), Damage> {
        self.clocks.clear();
        let (major, minor) = (self.order.u16(block, 12), self.order.u16(block, 14));
        match (major, minor) {
            (Some(MAJOR), _) | (None, _) | (_, None) => Ok(()),
            (Some(major), Some(minor)) => Err(Damage::Version {
                major,
                minor,
                expected: "1.0",
            }),
        }
    }

    fn describe(&mut self, block: &[u8]) -> Result<(), Damage> {
        if self.interfaces.len() == MOST_INTERFACES {
            return Err(Damage::Interfaces);
        }
        let mut clock = InterfaceClock {
            unit: TimestampUnit::of(MICROSECONDS),
            offset_s: 0,
            link_type: LinkType(self.order.u16(block, BLOCK_HEADER).unwrap_or(u16::MAX)),
        };
        let mut interface = CapturedInterface::default();
        for (code, value) in options(self.order, block, 16) {
            match (code, value) {
                (INTERFACE_NAME, name) => {
                    let kept = &name[..name.len().min(LONGEST_TEXT)];
                    interface.name = Some(String::from_utf8_lossy(kept).into_owned());
                }
                (INTERFACE_STAMP_UNIT, [unit]) => clock.unit = TimestampUnit::of(*unit),
                (INTERFACE_STAMP_OFFSET, offset) => {
                    let offset = self.order.u64(offset, 0).unwrap_or(0);
                    clock.offset_s = offset.cast_signed();
                }
                (_, _) => {}
            }
        }
        self.clocks.push(clock);
        self.interfaces.push(interface);
        Ok(())
    }

    /// Reads a block with a frame of an interface.
    #[inline]
    fn frame(&mut self, block: &[u8], interface: Option<u32>) -> Result<Record, Damage> {
        let fields = (
            interface,
            self.order.u32(block, 12),
            self.order.u32(block, 16),
            self.order.u32(block, 20),
            self.order.u32(block, 24),
        );
        let (Some(interface), Some(high), Some(low), Some(kept), Some(length)) = fields else {
            let length = u32::try_from(block.len()).unwrap_or(u32::MAX);
            return Err(Damage::BlockLength { length });
        };
        let place = usize::try_from(interface).unwrap_or(usize::MAX);
        let Some(clock) = self.clocks.get(place).copied() else {
            let known = self.clocks.len();
            return Err(Damage::Interface { interface, known });
        };
        let frame = usize::try_from(kept).unwrap_or(usize::MAX);
        let padded = frame.checked_next_multiple_of(4).unwrap_or(usize::MAX);
        if padded > (block.len() - 4).saturating_sub(FRAME_AT) {
            let length = block.len();
            return Err(Damage::Frame { kept, length });
        }
        let overall = self.interfaces.len() - self.clocks.len() + place;
        let direction = self.frame_options(block, FRAME_AT + padded, overall);
        Ok(Record::Frame {
            record: block.len(),
            start: FRAME_AT,
            kept: frame,
            length: usize::try_from(length).unwrap_or(usize::MAX).max(frame),
            interface: overall,
            unix_ns: clock.unix_ns(u64::from(high) << u32::BITS | u64::from(low)),
            direction,
            link_type: clock.link_type,
        })
    }

    /// Reads the options of a frame: which way it went, and how many were dropped
    /// before it.
    #[inline]
    fn frame_options(&mut self, block: &[u8], at: usize, overall: usize) -> Option<Direction> {
        let mut direction = None;
        for (code, value) in options(self.order, block, at) {
            match code {
                FRAME_FLAGS => {
                    direction = match self.order.u32(value, 0).map(|flags| flags & 3) {
                        Some(1) => Some(Direction::In),
                        Some(2) => Some(Direction::Out),
                        Some(_) | None => None,
                    };
                }
                FRAMES_DROPPED => {
                    let more = self.order.u64(value, 0).unwrap_or(0);
                    let dropped = &mut self.interfaces[overall].dropped;
                    *dropped = dropped.saturating_add(more);
                }
                _ => {}
            }
        }
        direction
    }

    /// Reads how many frames an interface lost. Such counts are totals.
    fn statistics(&mut self, block: &[u8]) {
        let place = self.order.u32(block, BLOCK_HEADER).unwrap_or(u32::MAX);
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        if place >= self.clocks.len() {
            return;
        }
        let mut total: u64 = 0;
        for (code, value) in options(self.order, block, 20) {
            if matches!(code, DROPPED_BY_INTERFACE | DROPPED_BY_SYSTEM) {
                total = total.saturating_add(self.order.u64(value, 0).unwrap_or(0));
            }
        }
        let overall = self.interfaces.len() - self.clocks.len() + place;
        let interface = &mut self.interfaces[overall];
        interface.dropped = interface.dropped.max(total);
    }
}

impl InterfaceClock {
    /// Returns the time of a stamp.
    #[inline]
    fn unix_ns(self, stamp: u64) -> u64 {
        let ns = match self.unit {
            TimestampUnit::Nanoseconds(1) if self.offset_s == 0 => {
                return stamp.min(LATEST_UNIX_NS);
            }
            TimestampUnit::Nanoseconds(each) => u128::from(stamp) * u128::from(each),
            TimestampUnit::PartOfNanosecond(parts) => u128::from(stamp) / parts,
            TimestampUnit::PartOfSecond(power) => {
                (u128::from(stamp) * NS_PER_SECOND.unsigned_abs()) >> u32::from(power)
            }
        };
        let ns = i128::try_from(ns).expect("64 bits times 10^9");
        let ns = ns + i128::from(self.offset_s) * NS_PER_SECOND;
        let latest = i128::from(LATEST_UNIX_NS);
        u64::try_from(ns.clamp(0, latest)).expect("within the range of 64 bits")
    }
}

impl TimestampUnit {
    /// Returns the unit that an option stands for.
    fn of(code: u8) -> Self {
        const POWER_OF_TWO: u8 = 0x80;
        let power = code & !POWER_OF_TWO;
        if code & POWER_OF_TWO != 0 {
            return Self::PartOfSecond(power);
        }
        match 9_u32.checked_sub(u32::from(power)) {
            Some(more) => Self::Nanoseconds(10_u64.pow(more)),
            None => {
                let parts = 10_u128.checked_pow(u32::from(power) - 9);
                Self::PartOfNanosecond(parts.unwrap_or(u128::MAX))
            }
        }
    }
}

/// Returns the code and the value of each option of a block that stands from `at`
/// on, as far as they are well-formed.
#[inline]
fn options(order: Order, block: &[u8], at: usize) -> impl Iterator<Item = (u16, &[u8])> {
    let end = block.len() - 4;
    let mut rest = block.get(at..end).unwrap_or_default();
    std::iter::from_fn(move || {
        let (code, length) = (order.u16(rest, 0)?, order.u16(rest, 2)?);
        if code == END_OF_OPTIONS {
            return None;
        }
        let length = usize::from(length);
        let value = rest.get(4..4 + length)?;
        rest = rest
            .get(4 + length.next_multiple_of(4)..)
            .unwrap_or_default();
        Some((code, value))
    })
}
