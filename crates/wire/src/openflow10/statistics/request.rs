//! Questions.

use super::{FlowStatisticsRequest, StatisticsType};
use crate::openflow::{DecodeError, QueueId, TransactionId};
use crate::openflow10::header::{begin, finish};
use crate::openflow10::{MessageType, PortNumber};
use crate::reader::Reader;

/// Asks for much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatisticsRequest<'a> {
    /// What is asked for.
    pub body: RequestBody<'a>,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestBody<'a> {
    /// Who made the switch.
    Description,
    /// Entries, one by one.
    Flow(FlowStatisticsRequest),
    /// Entries, all in one.
    Aggregate(FlowStatisticsRequest),
    /// Tables.
    Table,
    /// What this port carried, or all with [`PortNumber::NONE`].
    Port(PortNumber),
    /// What a queue carried.
    Queue {
        /// Its port, or all with [`PortNumber::ALL`].
        port: PortNumber,
        /// Which queue of the port, or all with [`QueueId::ALL`].
        queue: QueueId,
    },
    /// What the specification does not know.
    Vendor {
        /// Who defines it.
        vendor: u32,
        /// The question.
        body: &'a [u8],
    },
}

impl<'a> StatisticsRequest<'a> {
    pub(in crate::openflow10) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let kind = StatisticsType::parse(reader.u16()?)?;
        // No flags are defined for questions.
        reader.skip(2)?;
        let body = RequestBody::parse(kind, reader)?;
        Ok(Self { body })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::StatisticsRequest, transaction, out);
        message.u16(self.body.kind().number()).zeros::<2>();
        match self.body {
            RequestBody::Description | RequestBody::Table => {}
            RequestBody::Flow(request) | RequestBody::Aggregate(request) => {
                request.emit(&mut message);
            }
            RequestBody::Port(port) => {
                message.u16(port.0).zeros::<6>();
            }
            RequestBody::Queue { port, queue } => {
                message.u16(port.0).zeros::<2>().u32(queue.0);
            }
            RequestBody::Vendor { vendor, body } => {
                message.u32(vendor).bytes(body);
            }
        }
        finish(&mut message);
    }
}

impl<'a> RequestBody<'a> {
    fn parse(kind: StatisticsType, mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        Ok(match kind {
            StatisticsType::Description => Self::Description,
            StatisticsType::Flow => Self::Flow(FlowStatisticsRequest::parse(reader.rest())?),
            StatisticsType::Aggregate => {
                Self::Aggregate(FlowStatisticsRequest::parse(reader.rest())?)
            }
            StatisticsType::Table => Self::Table,
            StatisticsType::Port => Self::Port(PortNumber(reader.u16()?)),
            StatisticsType::Queue => {
                let port = PortNumber(reader.u16()?);
                reader.skip(2)?;
                let queue = QueueId(reader.u32()?);
                Self::Queue { port, queue }
            }
            StatisticsType::Vendor => Self::Vendor {
                vendor: reader.u32()?,
                body: reader.rest(),
            },
        })
    }

    const fn kind(&self) -> StatisticsType {
        match self {
            Self::Description => StatisticsType::Description,
            Self::Flow(_) => StatisticsType::Flow,
            Self::Aggregate(_) => StatisticsType::Aggregate,
            Self::Table => StatisticsType::Table,
            Self::Port(_) => StatisticsType::Port,
            Self::Queue { .. } => StatisticsType::Queue,
            Self::Vendor { .. } => StatisticsType::Vendor,
        }
    }
}
