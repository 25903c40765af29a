//! The queues of a port (OF10 sections 5.2.2 and 5.3.4).

use super::header::{begin, finish};
use super::{MessageType, PortNumber};
use crate::openflow::{DecodeError, Element, QueueId, Sequence, TransactionId};
use crate::reader::Reader;
use crate::writer::Writer;

const HEADER_LENGTH: usize = 8;
const LENGTH_OFFSET: usize = 4;
const PROPERTY_MIN_RATE: u16 = 1;
const PROPERTY_HEADER_LENGTH: usize = 8;
const RATE_PROPERTY_LENGTH: u16 = 16;

/// Describes a queue (`ofp_packet_queue`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueDescription {
    /// Its number at its port.
    pub queue: QueueId,
    /// The rate that it gets at least, in tenths of a percent of the port's.
    pub min_rate_permille: Option<u16>,
}

impl<'a> Element<'a> for QueueDescription {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let queue = QueueId(reader.u32()?);
        let length = usize::from(reader.u16()?);
        reader.skip(2)?;
        let properties = length
            .checked_sub(HEADER_LENGTH)
            .ok_or(DecodeError::Length)?;
        let min_rate_permille = min_rate(reader.take(properties)?)?;
        let description = Self {
            queue,
            min_rate_permille,
        };
        Ok((description, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u32(self.queue.0).zeros::<4>();
        if let Some(rate) = self.min_rate_permille {
            writer.u16(PROPERTY_MIN_RATE).u16(RATE_PROPERTY_LENGTH);
            writer.zeros::<4>().u16(rate).zeros::<6>();
        }
        writer.length_at(LENGTH_OFFSET);
    }
}

/// Looks for a rate among the properties of a queue; others say nothing.
fn min_rate(properties: &[u8]) -> Result<Option<u16>, DecodeError> {
    let mut reader = Reader::new(properties);
    let mut found = None;
    while !reader.is_empty() {
        let (kind, length) = (reader.u16()?, usize::from(reader.u16()?));
        reader.skip(4)?;
        let content = length
            .checked_sub(PROPERTY_HEADER_LENGTH)
            .ok_or(DecodeError::Length)?;
        let mut content = Reader::new(reader.take(content)?);
        if kind == PROPERTY_MIN_RATE {
            found = Some(content.u16()?);
        }
    }
    Ok(found)
}

/// Says which queues a port has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueGetConfigReply<'a> {
    /// Which port.
    pub port: PortNumber,
    /// Its queues.
    pub queues: Sequence<'a, QueueDescription>,
}

impl<'a> QueueGetConfigReply<'a> {
    /// Appends the question for this to `out`.
    pub fn emit_request(port: PortNumber, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::QueueGetConfigRequest, transaction, out);
        finish(message.u16(port.0).zeros::<2>());
    }

    pub(super) fn parse_request(body: &[u8]) -> Result<PortNumber, DecodeError> {
        Ok(PortNumber(Reader::new(body).u16()?))
    }

    pub(super) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let port = PortNumber(reader.u16()?);
        reader.skip(6)?;
        let queues = Sequence::from_bytes(reader.rest());
        Ok(Self { port, queues })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::QueueGetConfigReply, transaction, out);
        message.u16(self.port.0).zeros::<6>();
        message.with(|out| self.queues.emit(out));
        finish(&mut message);
    }
}
