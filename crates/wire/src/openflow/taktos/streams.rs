//! Streams whose frames are numbered, sent over several ways and handed on once (IEEE
//! 802.1CB): the actions that do so, and what a switch says of it.
//!
//! The number stands in a redundancy tag, or in a trailer of PRP (IEC 62439-3), which IEEE
//! 802.1CB clause 7.10 knows as another encoding.

use units::{Duration, Instant};

use crate::openflow::header::{begin, finish};
use crate::openflow::{DecodeError, Element, MessageType, TransactionId};
use crate::prp::Lan;
use crate::reader::Reader;
use crate::writer::Writer;

use super::EXPERIMENTER;

/// The message that says that a way brings less than the others.
pub(in crate::openflow) const STREAM_EVENT: u32 = 9;
/// The longest time after which numbers are forgotten.
const RESET_MAX: Duration = Duration::from_secs(3_600);

const TAKES_UNNUMBERED: u8 = 1;
const STRIPS_TAG: u8 = 1 << 1;
const IN_TRAILER: u8 = 1 << 2;
const FLAGS: u8 = TAKES_UNNUMBERED | STRIPS_TAG | IN_TRAILER;

/// The stream of a switch that a number stands for, as a controller chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamHandle(pub u32);

numbered! {
    /// How copies of a frame are told from new frames.
    pub enum RecoveryAlgorithm: u8 {
        /// A frame is new unless it has the number of the last one (IEEE 802.1CB clause
        /// 7.4.3.5): for streams of which no more than one frame is on its way at a time.
        Match = 0,
        /// A frame is new unless its number is among the last ones, or far from them
        /// (clause 7.4.3.4).
        Vector = 1,
        /// A frame is new unless its number is that of one of the last that were handed on:
        /// the duplicate discard of PRP (IEC 62439-3 clause 4.2.7), whose senders have one
        /// counter for all of their streams, so that numbers of one have gaps.
        DuplicateDiscard = 2,
    }
}

/// Where the number of a frame stands.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum SequenceEncoding {
    /// In a redundancy tag (IEEE 802.1CB clause 7.8).
    #[default]
    RTag,
    /// In a redundancy control trailer (IEC 62439-3 clause 4.2.7.3).
    Prp,
}

/// What is done with the trailer of a frame (IEC 62439-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrailerAction {
    /// The frame gets the next number of a stream, and the first LAN, in the trailer that it
    /// has or in a new one.
    Number(StreamHandle),
    /// The trailer, if there is one, names this LAN from now on.
    Lan(Lan),
    /// The frame says that a station is there: it is noted, and handed on by the switch
    /// where frames of that station go. It goes no further by itself.
    Supervise,
}

/// Hands on the first copy of each frame of a stream and drops the others (IEEE 802.1CB
/// clause 7.4.2). All that have the same stream share what has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Eliminate {
    /// The stream.
    pub stream: StreamHandle,
    /// How copies are told from new frames.
    pub algorithm: RecoveryAlgorithm,
    /// How many numbers back from the greatest are remembered: 2 to
    /// [`HISTORY_MAX`](Self::HISTORY_MAX).
    pub history: u8,
    /// After how long without a frame that was handed on numbers are forgotten, and the
    /// next frame is taken whatever its number is: at least 1 ms, an hour at most.
    pub reset: Duration,
    /// Whether frames without a number are handed on; else they are dropped.
    pub takes_unnumbered: bool,
    /// Whether frames that are handed on lose their tag or trailer, so that end stations
    /// need not know of it.
    pub strips_tag: bool,
    /// Where numbers stand.
    pub encoding: SequenceEncoding,
    /// Over how many ways copies come, if it is told when some of them bring too few.
    pub ways: Option<u8>,
    /// By how many copies they may differ without that being told.
    pub tolerance: u32,
    /// For how long at most a frame is held back that is ahead of missing ones, so that all
    /// leave in order (`POFMaxDelay`, RFC 9550 section 4); zero if each leaves as it comes.
    pub hold: Duration,
}

impl Eliminate {
    /// The most numbers that can be remembered.
    pub const HISTORY_MAX: u8 = 64;
    /// How long its action is.
    pub(in crate::openflow) const ACTION_BYTES: u16 = 40;

    /// Returns whether a switch can do this.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        (2..=Self::HISTORY_MAX).contains(&self.history)
            && (Duration::from_ms(1)..=RESET_MAX).contains(&self.reset)
            && self.ways.is_none_or(|ways| ways >= 2)
            && (!self.holds() || self.may_hold())
    }

    /// Returns whether frames leave in order.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.hold.as_ns() > 0
    }

    /// Returns whether its numbers say which frames are missing, and it lets all go before
    /// it forgets them.
    fn may_hold(&self) -> bool {
        self.algorithm == RecoveryAlgorithm::Vector
            && self.encoding == SequenceEncoding::RTag
            && self.hold < self.reset
    }

    /// Takes apart what follows the number of the action; none if nobody can do so.
    pub(in crate::openflow) fn parse(reader: &mut Reader<'_>) -> Result<Option<Self>, DecodeError> {
        let stream = StreamHandle(reader.u32()?);
        let algorithm = RecoveryAlgorithm::from_number(reader.u8()?);
        let (flags, history, ways) = (reader.u8()?, reader.u8()?, reader.u8()?);
        let reset = Duration::from_ns(reader.u64()?);
        let tolerance = reader.u32()?;
        let hold = Duration::from_ns(reader.u64()?);
        let Some(algorithm) = algorithm.filter(|_| flags & !FLAGS == 0) else {
            return Ok(None);
        };
        let eliminate = Self {
            stream,
            algorithm,
            history,
            reset,
            takes_unnumbered: flags & TAKES_UNNUMBERED != 0,
            strips_tag: flags & STRIPS_TAG != 0,
            encoding: match flags & IN_TRAILER {
                0 => SequenceEncoding::RTag,
                _ => SequenceEncoding::Prp,
            },
            ways: (ways > 0).then_some(ways),
            tolerance,
            hold,
        };
        Ok(Some(eliminate).filter(Self::is_possible))
    }

    /// Writes what [`parse`](Self::parse) reads.
    pub(in crate::openflow) fn emit(&self, writer: &mut Writer<'_>) {
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let flags = flag(self.takes_unnumbered, TAKES_UNNUMBERED)
            | flag(self.strips_tag, STRIPS_TAG)
            | flag(self.encoding == SequenceEncoding::Prp, IN_TRAILER);
        writer.u32(self.stream.0).u8(self.algorithm.number());
        writer.u8(flags).u8(self.history).u8(self.ways.unwrap_or(0));
        writer.u64(self.reset.as_ns()).u32(self.tolerance);
        writer.u64(self.hold.as_ns());
    }
}

/// What was counted of a stream (IEEE 802.1CB clause 10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounters {
    /// Frames that got a number here.
    pub numbered: u64,
    /// Frames that were handed on (`frerCpsSeqRcvyPassedPackets`).
    pub passed: u64,
    /// Frames that were dropped as a copy of another one (`DiscardedPackets`).
    pub discarded: u64,
    /// Of those handed on, frames whose number did not follow the greatest
    /// (`OutOfOrderPackets`).
    pub out_of_order: u64,
    /// Frames that were dropped since their number is too far away (`RoguePackets`).
    pub rogue: u64,
    /// Numbers that went out of what is remembered without a frame (`LostPackets`).
    pub lost: u64,
    /// Frames without a number (`TaglessPackets`).
    pub unnumbered: u64,
    /// How often numbers were forgotten (`Resets`).
    pub resets: u64,
    /// How often ways were found to bring too few copies (`LatentErrors`).
    pub latent_errors: u64,
    /// Frames that were held back until earlier ones came (RFC 9550).
    pub held: u64,
    /// Of those, frames that left without them.
    pub gave_up: u64,
    /// Frames that were dropped since a later one had left.
    pub late: u64,
}

impl StreamCounters {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            numbered: reader.u64()?,
            passed: reader.u64()?,
            discarded: reader.u64()?,
            out_of_order: reader.u64()?,
            rogue: reader.u64()?,
            lost: reader.u64()?,
            unnumbered: reader.u64()?,
            resets: reader.u64()?,
            latent_errors: reader.u64()?,
            held: reader.u64()?,
            gave_up: reader.u64()?,
            late: reader.u64()?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.u64(self.numbered).u64(self.passed);
        writer.u64(self.discarded).u64(self.out_of_order);
        writer.u64(self.rogue).u64(self.lost).u64(self.unnumbered);
        writer.u64(self.resets).u64(self.latent_errors);
        writer.u64(self.held).u64(self.gave_up).u64(self.late);
    }
}

/// A stream as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamReport {
    /// Which.
    pub stream: StreamHandle,
    /// How many entries name it.
    pub entries: u32,
    /// What was counted.
    pub counters: StreamCounters,
}

impl StreamReport {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            stream: StreamHandle(reader.u32()?),
            entries: reader.u32()?,
            counters: StreamCounters::read(reader)?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.stream.0).u32(self.entries);
        self.counters.write(writer);
    }
}

impl<'a> Element<'a> for StreamReport {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        Ok((Self::read(&mut reader)?, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        self.write(&mut Writer::new(out));
    }
}

/// Says that some of the ways of a stream bring too few copies, or too many (IEEE 802.1CB
/// clause 7.4.4): a failure that nobody else notices, since the other ways bring all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamEvent {
    /// The stream as it stands.
    pub report: StreamReport,
    /// Frames that were handed on since it was looked last.
    pub passed: u64,
    /// Copies that were dropped since then.
    pub discarded: u64,
    /// When it was noticed, by the clock of the switch.
    pub noticed: Instant,
}

impl StreamEvent {
    pub(in crate::openflow) fn parse(data: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(data);
        Ok(Self {
            report: StreamReport::read(&mut reader)?,
            passed: reader.u64()?,
            discarded: reader.u64()?,
            noticed: Instant::from_ns(reader.u64()?),
        })
    }

    /// Appends the message to `out`.
    pub(in crate::openflow) fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::Experimenter, transaction, out);
        message.u32(EXPERIMENTER).u32(STREAM_EVENT);
        self.report.write(&mut message);
        message.u64(self.passed).u64(self.discarded);
        message.u64(self.noticed.as_ns());
        finish(&mut message);
    }
}
