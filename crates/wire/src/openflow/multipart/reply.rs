//! Answers.

use super::{
    AggregateStatistics, FLAG_MORE, FlowStatistics, GroupDescription, GroupFeatures,
    GroupStatistics, MeterConfig, MeterFeatures, MeterStatistics, MultipartType, PortStatistics,
    QueueStatistics, SwitchDescription, TableFeatures, TableStatistics,
};
use crate::openflow::header::{begin, finish};
use crate::openflow::{
    DecodeError, Experimenter, MessageType, PortDescription, Sequence, TransactionId,
};
use crate::reader::Reader;

/// Says much, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultipartReply<'a> {
    /// Whether more of the same answer follows.
    pub more: bool,
    /// The answer.
    pub body: ReplyBody<'a>,
}

/// An answer, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyBody<'a> {
    /// Who made the switch.
    Description(SwitchDescription<'a>),
    /// Entries, one by one.
    Flow(Sequence<'a, FlowStatistics<'a>>),
    /// Entries, all in one.
    Aggregate(AggregateStatistics),
    /// Tables.
    Table(Sequence<'a, TableStatistics>),
    /// What ports carried.
    PortStatistics(Sequence<'a, PortStatistics>),
    /// What queues carried.
    Queue(Sequence<'a, QueueStatistics>),
    /// What ports are.
    PortDescription(Sequence<'a, PortDescription>),
    /// What groups did.
    Group(Sequence<'a, GroupStatistics<'a>>),
    /// What groups are.
    GroupDescription(Sequence<'a, GroupDescription<'a>>),
    /// What groups can be.
    GroupFeatures(GroupFeatures),
    /// What meters did.
    Meter(Sequence<'a, MeterStatistics<'a>>),
    /// What meters are.
    MeterConfig(Sequence<'a, MeterConfig<'a>>),
    /// What meters can be.
    MeterFeatures(MeterFeatures),
    /// What tables can do.
    TableFeatures(Sequence<'a, TableFeatures<'a>>),
    /// What the specification does not know.
    Experimenter(Experimenter<'a>),
}

impl<'a> MultipartReply<'a> {
    /// Answers all at once.
    #[must_use]
    pub const fn new(body: ReplyBody<'a>) -> Self {
        Self { more: false, body }
    }

    pub(in crate::openflow) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let kind = MultipartType::parse(reader.u16()?)?;
        let more = reader.u16()? & FLAG_MORE != 0;
        reader.skip(4)?;
        let body = ReplyBody::parse(kind, reader.rest())?;
        Ok(Self { more, body })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes: a
    /// [`ReplyWriter`](super::ReplyWriter) spreads long answers.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::MultipartReply, transaction, out);
        message.u16(self.body.kind().number());
        message.u16(if self.more { FLAG_MORE } else { 0 });
        message.zeros::<4>();
        message.with(|out| self.body.emit(out));
        finish(&mut message);
    }
}

impl<'a> ReplyBody<'a> {
    fn parse(kind: MultipartType, body: &'a [u8]) -> Result<Self, DecodeError> {
        Ok(match kind {
            MultipartType::Description => Self::Description(SwitchDescription::parse(body)?),
            MultipartType::Flow => Self::Flow(Sequence::from_bytes(body)),
            MultipartType::Aggregate => Self::Aggregate(AggregateStatistics::parse(body)?),
            MultipartType::Table => Self::Table(Sequence::from_bytes(body)),
            MultipartType::PortStatistics => Self::PortStatistics(Sequence::from_bytes(body)),
            MultipartType::Queue => Self::Queue(Sequence::from_bytes(body)),
            MultipartType::PortDescription => Self::PortDescription(Sequence::from_bytes(body)),
            MultipartType::Group => Self::Group(Sequence::from_bytes(body)),
            MultipartType::GroupDescription => Self::GroupDescription(Sequence::from_bytes(body)),
            MultipartType::GroupFeatures => Self::GroupFeatures(GroupFeatures::parse(body)?),
            MultipartType::Meter => Self::Meter(Sequence::from_bytes(body)),
            MultipartType::MeterConfig => Self::MeterConfig(Sequence::from_bytes(body)),
            MultipartType::MeterFeatures => Self::MeterFeatures(MeterFeatures::parse(body)?),
            MultipartType::TableFeatures => Self::TableFeatures(Sequence::from_bytes(body)),
            MultipartType::Experimenter => Self::Experimenter(Experimenter::parse(body)?),
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Description(description) => description.emit(out),
            Self::Flow(flows) => flows.emit(out),
            Self::Aggregate(aggregate) => aggregate.emit(out),
            Self::Table(tables) => tables.emit(out),
            Self::PortStatistics(ports) => ports.emit(out),
            Self::Queue(queues) => queues.emit(out),
            Self::PortDescription(ports) => ports.emit(out),
            Self::Group(groups) => groups.emit(out),
            Self::GroupDescription(groups) => groups.emit(out),
            Self::GroupFeatures(features) => features.emit(out),
            Self::Meter(meters) => meters.emit(out),
            Self::MeterConfig(meters) => meters.emit(out),
            Self::MeterFeatures(features) => features.emit(out),
            Self::TableFeatures(tables) => tables.emit(out),
            Self::Experimenter(experimenter) => experimenter.emit_body(out),
        }
    }

    /// Returns what was asked for.
    #[must_use]
    pub const fn kind(&self) -> MultipartType {
        match self {
            Self::Description(_) => MultipartType::Description,
            Self::Flow(_) => MultipartType::Flow,
            Self::Aggregate(_) => MultipartType::Aggregate,
            Self::Table(_) => MultipartType::Table,
            Self::PortStatistics(_) => MultipartType::PortStatistics,
            Self::Queue(_) => MultipartType::Queue,
            Self::PortDescription(_) => MultipartType::PortDescription,
            Self::Group(_) => MultipartType::Group,
            Self::GroupDescription(_) => MultipartType::GroupDescription,
            Self::GroupFeatures(_) => MultipartType::GroupFeatures,
            Self::Meter(_) => MultipartType::Meter,
            Self::MeterConfig(_) => MultipartType::MeterConfig,
            Self::MeterFeatures(_) => MultipartType::MeterFeatures,
            Self::TableFeatures(_) => MultipartType::TableFeatures,
            Self::Experimenter(_) => MultipartType::Experimenter,
        }
    }
}
