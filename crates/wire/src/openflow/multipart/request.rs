//! Questions.

use super::{FLAG_MORE, FlowStatisticsRequest, MultipartType, TableFeatures};
use crate::openflow::header::{begin, finish};
use crate::openflow::{
    DecodeError, Experimenter, GroupId, MessageType, MeterId, PortNumber, QueueId, Sequence,
    TransactionId,
};
use crate::reader::Reader;
use crate::writer::Writer;

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
    /// What this group did, or all with [`GroupId::ALL`].
    Group(GroupId),
    /// What groups are.
    GroupDescription,
    /// What groups can be.
    GroupFeatures,
    /// What this meter did, or all with [`MeterId::ALL`].
    Meter(MeterId),
    /// What this meter is, or all with [`MeterId::ALL`].
    MeterConfig(MeterId),
    /// What meters can be.
    MeterFeatures,
    /// What tables can do; if any are listed, what they shall do from now on.
    TableFeatures(Sequence<'a, TableFeatures<'a>>),
    /// What ports are.
    PortDescription,
    /// What the specification does not know.
    Experimenter(Experimenter<'a>),
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
        message.with(|out| self.body.emit(out));
        finish(&mut message);
    }
}

impl<'a> RequestBody<'a> {
    fn parse(kind: MultipartType, mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        let body = match kind {
            MultipartType::Description => Self::Description,
            MultipartType::Flow => Self::Flow(FlowStatisticsRequest::parse(&mut reader)?),
            MultipartType::Aggregate => Self::Aggregate(FlowStatisticsRequest::parse(&mut reader)?),
            MultipartType::Table => Self::Table,
            MultipartType::PortStatistics => Self::PortStatistics(PortNumber(padded(&mut reader)?)),
            MultipartType::Queue => Self::Queue {
                port: PortNumber(reader.u32()?),
                queue: QueueId(reader.u32()?),
            },
            MultipartType::Group => Self::Group(GroupId(padded(&mut reader)?)),
            MultipartType::GroupDescription => Self::GroupDescription,
            MultipartType::GroupFeatures => Self::GroupFeatures,
            MultipartType::Meter => Self::Meter(MeterId(padded(&mut reader)?)),
            MultipartType::MeterConfig => Self::MeterConfig(MeterId(padded(&mut reader)?)),
            MultipartType::MeterFeatures => Self::MeterFeatures,
            MultipartType::TableFeatures => {
                return Ok(Self::TableFeatures(Sequence::from_bytes(reader.rest())));
            }
            MultipartType::PortDescription => Self::PortDescription,
            MultipartType::Experimenter => {
                return Ok(Self::Experimenter(Experimenter::parse(reader.rest())?));
            }
        };
        if reader.is_empty() {
            Ok(body)
        } else {
            Err(DecodeError::Length)
        }
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        match self {
            Self::Description
            | Self::Table
            | Self::GroupDescription
            | Self::GroupFeatures
            | Self::MeterFeatures
            | Self::PortDescription => {}
            Self::Flow(request) | Self::Aggregate(request) => {
                writer.with(|out| request.emit(out));
            }
            Self::PortStatistics(port) => {
                writer.u32(port.0).zeros::<4>();
            }
            Self::Queue { port, queue } => {
                writer.u32(port.0).u32(queue.0);
            }
            Self::Group(group) => {
                writer.u32(group.0).zeros::<4>();
            }
            Self::Meter(meter) | Self::MeterConfig(meter) => {
                writer.u32(meter.0).zeros::<4>();
            }
            Self::TableFeatures(tables) => {
                writer.with(|out| tables.emit(out));
            }
            Self::Experimenter(experimenter) => {
                writer.with(|out| experimenter.emit_body(out));
            }
        }
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
            Self::Group(_) => MultipartType::Group,
            Self::GroupDescription => MultipartType::GroupDescription,
            Self::GroupFeatures => MultipartType::GroupFeatures,
            Self::Meter(_) => MultipartType::Meter,
            Self::MeterConfig(_) => MultipartType::MeterConfig,
            Self::MeterFeatures => MultipartType::MeterFeatures,
            Self::TableFeatures(_) => MultipartType::TableFeatures,
            Self::PortDescription => MultipartType::PortDescription,
            Self::Experimenter(_) => MultipartType::Experimenter,
        }
    }
}

/// Takes a number with its padding to 8 bytes off the front.
fn padded(reader: &mut Reader<'_>) -> Result<u32, DecodeError> {
    let number = reader.u32()?;
    reader.skip(4)?;
    Ok(number)
}
