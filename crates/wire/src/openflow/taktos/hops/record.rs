//! How long the frames of an entry stayed that left through one queue.

use units::Duration;

use crate::openflow::taktos::ResidenceBucket;
use crate::openflow::taktos::mode::{or_never, unless_never};
use crate::openflow::{
    BadRequest, Cookie, DecodeError, Element, ErrorKind, Fields, PortNumber, QueueId, Sequence,
    TableId,
};
use crate::reader::Reader;
use crate::writer::Writer;

const FIXED_BYTES: usize = 80;
const BUCKET_BYTES: usize = 16;

numbered! {
    /// Which frames are seen.
    pub enum HopCoverage: u8 {
        /// None: no queue is watched.
        Nothing = 0,
        /// All that leave through a queue that is watched.
        All = 1,
        /// Of those, only the ones that the switch's own core sends: the kernel forwards
        /// the others, and lets nobody see them leave.
        CoreOnly = 2,
    }
}

/// What was seen, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopReply<'a> {
    /// Which frames are seen.
    pub coverage: HopCoverage,
    /// Frames that were not taken down, since there was no room for another record.
    pub no_room: u64,
    /// One for each entry and queue, of those that frames left through.
    pub records: Sequence<'a, HopRecord<'a>>,
}

/// Frames that left on behalf of one entry through one queue of one port, since both are
/// there and the queue is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopRecord<'a> {
    /// The table of the entry.
    pub table: TableId,
    /// Its priority.
    pub priority: u16,
    /// Its cookie.
    pub cookie: Cookie,
    /// The port by which they left.
    pub port: PortNumber,
    /// The queue through which they did.
    pub queue: QueueId,
    /// How many they are, without those of `untimed`.
    pub frames: u64,
    /// The longest stay, from the arrival to the departure behind the queue.
    pub longest: Duration,
    /// How many of them stayed longer than the budget that was in force.
    pub above: u64,
    /// How long they may stay, if that is bounded.
    pub budget: Option<Duration>,
    /// Frames more whose stay is not known: the time of their arrival was lost on the way,
    /// or makes no sense.
    pub untimed: u64,
    /// The frames by how long they stayed, shortest first, empty buckets left out.
    pub buckets: Sequence<'a, ResidenceBucket>,
    /// The match of the entry, without padding.
    pub matching: Fields<'a>,
}

impl<'a> HopReply<'a> {
    pub(in crate::openflow::taktos) fn parse(data: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(data);
        let coverage = reader.u8()?;
        reader.skip(7)?;
        Ok(Self {
            coverage: HopCoverage::from_number(coverage).ok_or(DecodeError::Value {
                field: "coverage of hops",
                value: u32::from(coverage),
                kind: ErrorKind::BadRequest(BadRequest::BadExperimenterType),
            })?,
            no_room: reader.u64()?,
            records: Sequence::from_bytes(reader.rest()),
        })
    }

    pub(in crate::openflow::taktos) fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u8(self.coverage.number()).zeros::<7>();
        writer.u64(self.no_room);
        self.records.emit(out);
    }
}

impl<'a> Element<'a> for HopRecord<'a> {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let length = usize::from(reader.u16()?);
        let table = TableId(reader.u8()?);
        reader.skip(1)?;
        let priority = reader.u16()?;
        reader.skip(2)?;
        let cookie = Cookie(reader.u64()?);
        let (port, queue) = (PortNumber(reader.u32()?), QueueId(reader.u32()?));
        let frames = reader.u64()?;
        let longest = Duration::from_ns(reader.u64()?);
        let (above, budget) = (reader.u64()?, unless_never(reader.u64()?));
        let untimed = reader.u64()?;
        let count = usize::from(reader.u16()?);
        reader.skip(14)?;
        let (varying, rest) = length
            .checked_sub(FIXED_BYTES)
            .and_then(|length| reader.rest().split_at_checked(length))
            .ok_or(DecodeError::Length)?;
        let (buckets, matching) = varying
            .split_at_checked(count * BUCKET_BYTES)
            .ok_or(DecodeError::Length)?;
        let record = Self {
            table,
            priority,
            cookie,
            port,
            queue,
            frames,
            longest,
            above,
            budget,
            untimed,
            buckets: Sequence::from_bytes(buckets),
            matching: Fields::from_bytes(matching),
        };
        Ok((record, rest))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let count = self.buckets.iter().count();
        let count = u16::try_from(count).expect("a histogram has a few hundred buckets");
        let mut writer = Writer::new(out);
        writer.u16(0).u8(self.table.0).zeros::<1>();
        writer.u16(self.priority).zeros::<2>().u64(self.cookie.0);
        writer.u32(self.port.0).u32(self.queue.0);
        writer.u64(self.frames).u64(self.longest.as_ns());
        writer.u64(self.above).u64(or_never(self.budget));
        writer.u64(self.untimed);
        writer.u16(count).zeros::<14>();
        self.buckets.emit(out);
        self.matching.emit(out);
        let length = out.len() - start;
        let length = u16::try_from(length).expect("buckets and a match are a few kilobytes");
        out[start..start + 2].copy_from_slice(&length.to_be_bytes());
    }
}
