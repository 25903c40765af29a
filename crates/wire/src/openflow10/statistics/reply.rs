//! Answers.

use super::{
    AggregateStatistics, FLAG_MORE, FlowStatistics, PortStatistics, QueueStatistics,
    StatisticsType, SwitchDescription, TableStatistics,
};
use crate::openflow::{DecodeError, Sequence, TransactionId};
use crate::openflow10::MessageType;
use crate::openflow10::header::{begin, finish};
use crate::reader::Reader;

/// Says much, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatisticsReply<'a> {
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
    Table(Sequence<'a, TableStatistics<'a>>),
    /// What ports carried.
    Port(Sequence<'a, PortStatistics>),
    /// What queues carried.
    Queue(Sequence<'a, QueueStatistics>),
    /// What the specification does not know.
    Vendor {
        /// Who defines it.
        vendor: u32,
        /// The answer.
        body: &'a [u8],
    },
}

impl<'a> StatisticsReply<'a> {
    pub(in crate::openflow10) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let kind = StatisticsType::parse(reader.u16()?)?;
        let more = reader.u16()? & FLAG_MORE != 0;
        let body = ReplyBody::parse(kind, reader)?;
        Ok(Self { more, body })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::StatisticsReply, transaction, out);
        message.u16(self.body.kind().number());
        message.u16(if self.more { FLAG_MORE } else { 0 });
        match self.body {
            ReplyBody::Description(description) => message.with(|out| description.emit(out)),
            ReplyBody::Flow(flows) => message.with(|out| flows.emit(out)),
            ReplyBody::Aggregate(aggregate) => message.with(|out| aggregate.emit(out)),
            ReplyBody::Table(tables) => message.with(|out| tables.emit(out)),
            ReplyBody::Port(ports) => message.with(|out| ports.emit(out)),
            ReplyBody::Queue(queues) => message.with(|out| queues.emit(out)),
            ReplyBody::Vendor { vendor, body } => message.u32(vendor).bytes(body),
        };
        finish(&mut message);
    }
}

impl<'a> ReplyBody<'a> {
    fn parse(kind: StatisticsType, mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        let body = reader.rest();
        Ok(match kind {
            StatisticsType::Description => Self::Description(SwitchDescription::parse(body)?),
            StatisticsType::Flow => Self::Flow(Sequence::from_bytes(body)),
            StatisticsType::Aggregate => Self::Aggregate(AggregateStatistics::parse(body)?),
            StatisticsType::Table => Self::Table(Sequence::from_bytes(body)),
            StatisticsType::Port => Self::Port(Sequence::from_bytes(body)),
            StatisticsType::Queue => Self::Queue(Sequence::from_bytes(body)),
            StatisticsType::Vendor => Self::Vendor {
                vendor: reader.u32()?,
                body: reader.rest(),
            },
        })
    }

    const fn kind(&self) -> StatisticsType {
        match self {
            Self::Description(_) => StatisticsType::Description,
            Self::Flow(_) => StatisticsType::Flow,
            Self::Aggregate(_) => StatisticsType::Aggregate,
            Self::Table(_) => StatisticsType::Table,
            Self::Port(_) => StatisticsType::Port,
            Self::Queue(_) => StatisticsType::Queue,
            Self::Vendor { .. } => StatisticsType::Vendor,
        }
    }
}
