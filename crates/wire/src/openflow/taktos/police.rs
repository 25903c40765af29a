//! Contracts that a switch enforces: the action that polices a flow, and what a switch
//! says of it (IEEE 802.1Qci, per-stream filtering and policing).

use serde::{Deserialize, Serialize};
use units::{BitRate, DataSize, Instant};

use crate::openflow::header::{begin, finish};
use crate::openflow::{
    Cookie, DecodeError, Element, MessageType, PortNumber, TableId, TransactionId,
};
use crate::reader::Reader;
use crate::writer::Writer;

use super::EXPERIMENTER;

/// The message that says who exceeded his contract.
pub(in crate::openflow) const POLICE_EVENT: u32 = 8;
/// The greatest burst, so that its tokens can be counted: about a gigabyte.
const BURST_MAX_BITS: u64 = 9_000_000_000;
/// The greatest burst of frames: 9,000.
const FRAMES_MAX: u64 = 9_000_000_000;
const RATE_MAX: u64 = 1 << 60;

/// What becomes of frames that exceed a contract.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum ExceedAction {
    /// They go no further.
    #[default]
    Drop,
    /// They leave by queue 0, whatever queue is set for them after that.
    BestEffort,
}

impl ExceedAction {
    /// Returns the byte that stands for it.
    const fn number(self) -> u8 {
        match self {
            Self::Drop => 0,
            Self::BestEffort => 1,
        }
    }

    const fn of(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Drop),
            1 => Some(Self::BestEffort),
            _ => None,
        }
    }
}

/// What frames of a flow may be. A frame has the bits that it has on the wire: no fewer than
/// 60 bytes, check sequence, preamble and gap included, 24 bytes more than stand in the
/// switch. A frame that exceeds any of this takes nothing from what the others may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Police {
    /// A smaller frame counts like one of this size.
    pub smallest: DataSize,
    /// A larger frame exceeds the contract.
    pub largest: DataSize,
    /// In any time `t` frames of no more than `burst + rate · t` bits pass.
    pub rate: BitRate,
    /// What may pass at once.
    pub burst: DataSize,
    /// How many frames they may be besides, if that is limited.
    pub frames: Option<FrameLimit>,
    /// What becomes of those that exceed any of this.
    pub excess: ExceedAction,
}

/// In any time `t` no more than `burst + rate · t` frames pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameLimit {
    /// Millionths of a frame a second.
    pub rate: u64,
    /// Millionths of a frame.
    pub burst: u64,
}

impl Police {
    /// How long its action is.
    pub(in crate::openflow) const ACTION_BYTES: u16 = 56;

    /// Returns whether a switch can count like this.
    #[must_use]
    pub fn is_countable(&self) -> bool {
        let frames = self.frames.is_none_or(|frames| {
            frames.rate > 0
                && frames.rate <= RATE_MAX
                && (1_000_000..=FRAMES_MAX).contains(&frames.burst)
        });
        let sizes = [self.smallest, self.largest];
        let are_sizes = sizes.iter().all(|it| u32::try_from(it.as_bits()).is_ok());
        let burst = self.burst.as_bits();
        are_sizes
            && self.smallest <= self.largest
            && self.largest <= self.burst
            && burst <= BURST_MAX_BITS
            && self.rate.as_bps() <= RATE_MAX
            && frames
    }

    /// Takes apart what follows the number of the action; none if nobody can count so.
    pub(in crate::openflow) fn parse(reader: &mut Reader<'_>) -> Result<Option<Self>, DecodeError> {
        let smallest = DataSize::from_bits(u64::from(reader.u32()?));
        let largest = DataSize::from_bits(u64::from(reader.u32()?));
        let (rate, burst) = (reader.u64()?, DataSize::from_bits(reader.u64()?));
        let (frame_rate, frame_burst) = (reader.u64()?, reader.u64()?);
        let excess = ExceedAction::of(reader.u8()?);
        reader.skip(3)?;
        let frames = FrameLimit {
            rate: frame_rate,
            burst: frame_burst,
        };
        let (Some(rate), Some(excess)) = (BitRate::new(rate), excess) else {
            return Ok(None);
        };
        let police = Self {
            smallest,
            largest,
            rate,
            burst,
            frames: (frame_rate > 0 || frame_burst > 0).then_some(frames),
            excess,
        };
        Ok(Some(police).filter(Self::is_countable))
    }

    /// Writes what [`parse`](Self::parse) reads.
    pub(in crate::openflow) fn emit(&self, writer: &mut Writer<'_>) {
        let bits = |size: DataSize| u32::try_from(size.as_bits()).unwrap_or(u32::MAX);
        writer.u32(bits(self.smallest)).u32(bits(self.largest));
        writer.u64(self.rate.as_bps()).u64(self.burst.as_bits());
        let frames = self.frames.map_or((0, 0), |it| (it.rate, it.burst));
        writer.u64(frames.0).u64(frames.1);
        writer.u8(self.excess.number()).zeros::<3>();
    }
}

/// What an entry that polices has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicedEntry {
    /// Its table.
    pub table: TableId,
    /// What becomes of frames that exceed the contract.
    pub excess: ExceedAction,
    /// Its priority.
    pub priority: u16,
    /// The port by which its frames come in; [`PortNumber::ANY`] if it takes those of all.
    pub input: PortNumber,
    /// Its cookie.
    pub cookie: Cookie,
    /// Frames that were judged.
    pub frames: u64,
    /// Their bytes, as they stand in the switch.
    pub bytes: u64,
    /// Those of the frames that exceeded the contract.
    pub exceeded: u64,
    /// Their bytes.
    pub exceeded_bytes: u64,
}

impl PolicedEntry {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (table, excess) = (TableId(reader.u8()?), reader.u8()?);
        Ok(Self {
            table,
            // What we do not know is taken for what promises nothing.
            excess: ExceedAction::of(excess).unwrap_or_default(),
            priority: reader.u16()?,
            input: PortNumber(reader.u32()?),
            cookie: Cookie(reader.u64()?),
            frames: reader.u64()?,
            bytes: reader.u64()?,
            exceeded: reader.u64()?,
            exceeded_bytes: reader.u64()?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.u8(self.table.0).u8(self.excess.number());
        writer.u16(self.priority);
        writer.u32(self.input.0).u64(self.cookie.0);
        writer.u64(self.frames).u64(self.bytes);
        writer.u64(self.exceeded).u64(self.exceeded_bytes);
    }
}

impl<'a> Element<'a> for PolicedEntry {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        Ok((Self::read(&mut reader)?, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        self.write(&mut Writer::new(out));
    }
}

/// Says that frames exceeded the contract of an entry, no sooner than a second after the
/// last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoliceEvent {
    /// What the entry has seen until now.
    pub entry: PolicedEntry,
    /// How many frames have exceeded the contract since this was said last of the entry.
    pub since_last: u64,
    /// When it was noticed, by the clock of the switch.
    pub noticed: Instant,
}

impl PoliceEvent {
    pub(in crate::openflow) fn parse(data: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(data);
        Ok(Self {
            entry: PolicedEntry::read(&mut reader)?,
            since_last: reader.u64()?,
            noticed: Instant::from_ns(reader.u64()?),
        })
    }

    /// Appends the message to `out`.
    pub(in crate::openflow) fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::Experimenter, transaction, out);
        message.u32(EXPERIMENTER).u32(POLICE_EVENT);
        self.entry.write(&mut message);
        message.u64(self.since_last).u64(self.noticed.as_ns());
        finish(&mut message);
    }
}
