//! Questions.

use super::{FLAG_MORE, FlowStatisticsRequest, MultipartType};
use crate::openflow::header::{begin, finish};
use crate::openflow::{DecodeError, MessageType, PortNumber, QueueId, TransactionId};
use crate::reader::Reader;

/// Asks for much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultipartRequest<'a> {
    /// Whether more of the same question follows.
    pub more: bool,
    /// What is asked for.
    pub body: RequestBody<'a>,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestBody<'a> {
    /// Who made the switch.
    Description,
    /// Entries, one by one.
    Flow(FlowStatisticsRequest<'a>),
    /// Entries, all in one.
    Aggregate(FlowStatisticsRequest<'a>),
    /// Tables.
    Table,
    /// What this port carried, or all with [`PortNumber::ANY`].
    PortStatistics(PortNumber),
    /// What a queue carried.
    Queue {
        /// Its port, or all with [`PortNumber::ANY`].
        port: PortNumber,
        /// Which queue of the port, or all with [`QueueId::ALL`].
        queue: QueueId,
    },
    /// What ports are.
    PortDescription,
    /// What this module does not take apart.
    Other {
        /// What is asked for.
        kind: MultipartType,
        /// The question.
        body: &'a [u8],
    },
}

impl<'a> MultipartRequest<'a> {
    /// Asks all at once.
    #[must_use]
    pub const fn new(body: RequestBody<'a>) -> Self {
        Self { more: false, body }
    }

    pub(in crate::openflow) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let kind = MultipartType::parse(reader.u16()?)?;
        let more = reader.u16()? & FLAG_MORE != 0;
        reader.skip(4)?;
        let body = RequestBody::parse(kind, reader)?;
        Ok(Self { more, body })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::MultipartRequest, transaction, out);
        message.u16(self.body.kind().number());
        message.u16(if self.more { FLAG_MORE } else { 0 });
        message.zeros::<4>();
        match self.body {
            RequestBody::Description | RequestBody::Table | RequestBody::PortDescription => {}
            RequestBody::Flow(request) | RequestBody::Aggregate(request) => {
                message.with(|out| request.emit(out));
            }
            RequestBody::PortStatistics(port) => {
                message.u32(port.0).zeros::<4>();
            }
            RequestBody::Queue { port, queue } => {
                message.u32(port.0).u32(queue.0);
            }
            RequestBody::Other { body, .. } => {
                message.bytes(body);
            }
        }
        finish(&mut message);
    }
}

impl<'a> RequestBody<'a> {
    fn parse(kind: MultipartType, mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        Ok(match kind {
            MultipartType::Description => Self::Description,
            MultipartType::Flow => Self::Flow(FlowStatisticsRequest::parse(reader.rest())?),
            MultipartType::Aggregate => {
                Self::Aggregate(FlowStatisticsRequest::parse(reader.rest())?)
            }
            MultipartType::Table => Self::Table,
            MultipartType::PortStatistics => {
                let port = PortNumber(reader.u32()?);
                reader.skip(4)?;
                Self::PortStatistics(port)
            }
            MultipartType::Queue => Self::Queue {
                port: PortNumber(reader.u32()?),
                queue: QueueId(reader.u32()?),
            },
            MultipartType::PortDescription => Self::PortDescription,
            MultipartType::Group
            | MultipartType::GroupDescription
            | MultipartType::GroupFeatures
            | MultipartType::Meter
            | MultipartType::MeterConfig
            | MultipartType::MeterFeatures
            | MultipartType::TableFeatures
            | MultipartType::Experimenter => Self::Other {
                kind,
                body: reader.rest(),
            },
        })
    }

    /// Returns what is asked for.
    #[must_use]
    pub const fn kind(&self) -> MultipartType {
        match self {
            Self::Description => MultipartType::Description,
            Self::Flow(_) => MultipartType::Flow,
            Self::Aggregate(_) => MultipartType::Aggregate,
            Self::Table => MultipartType::Table,
            Self::PortStatistics(_) => MultipartType::PortStatistics,
            Self::Queue { .. } => MultipartType::Queue,
            Self::PortDescription => MultipartType::PortDescription,
            Self::Other { kind, .. } => *kind,
        }
    }
}
