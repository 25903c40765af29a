//! The queues of a port (OF13 clauses 7.2.2 and 7.3.6).

use super::header::{begin, finish};
use super::{DecodeError, Element, MessageType, PortNumber, QueueId, Sequence, TransactionId};
use crate::reader::Reader;
use crate::writer::Writer;

const HEADER_LENGTH: usize = 16;
const PROPERTY_MIN_RATE: u16 = 1;
const PROPERTY_MAX_RATE: u16 = 2;
const PROPERTY_HEADER_LENGTH: usize = 8;
const RATE_PROPERTY_LENGTH: u16 = 16;

/// Describes a queue (`ofp_packet_queue`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueDescription {
    /// Its number at its port.
    pub queue: QueueId,
    /// Its port.
    pub port: PortNumber,
    /// The rate that it gets at least, in tenths of a percent of the port's.
    pub min_rate_permille: Option<u16>,
    /// The rate that it gets at most, in tenths of a percent of the port's.
    pub max_rate_permille: Option<u16>,
}

impl QueueDescription {
    fn read_properties(&mut self, properties: &[u8]) -> Result<(), DecodeError> {
        let mut reader = Reader::new(properties);
        while !reader.is_empty() {
            let (kind, length) = (reader.u16()?, usize::from(reader.u16()?));
            reader.skip(4)?;
            let content = length
                .checked_sub(PROPERTY_HEADER_LENGTH)
                .ok_or(DecodeError::Length)?;
            let mut content = Reader::new(reader.take(content)?);
            match kind {
                PROPERTY_MIN_RATE => self.min_rate_permille = Some(content.u16()?),
                PROPERTY_MAX_RATE => self.max_rate_permille = Some(content.u16()?),
                _ => {} // An experimenter's property says nothing to us.
            }
        }
        Ok(())
    }
}

impl<'a> Element<'a> for QueueDescription {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let mut description = Self {
            queue: QueueId(reader.u32()?),
            port: PortNumber(reader.u32()?),
            min_rate_permille: None,
            max_rate_permille: None,
        };
        let length = usize::from(reader.u16()?);
        reader.skip(6)?;
        let properties = length
            .checked_sub(HEADER_LENGTH)
            .ok_or(DecodeError::Length)?;
        description.read_properties(reader.take(properties)?)?;
        Ok((description, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u32(self.queue.0).u32(self.port.0).zeros::<8>();
        let properties = [
            (PROPERTY_MIN_RATE, self.min_rate_permille),
            (PROPERTY_MAX_RATE, self.max_rate_permille),
        ];
        for (kind, rate) in properties {
            if let Some(rate) = rate {
                writer.u16(kind).u16(RATE_PROPERTY_LENGTH).zeros::<4>();
                writer.u16(rate).zeros::<6>();
            }
        }
        writer.length_at(8);
    }
}

/// Says which queues a port has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueGetConfigReply<'a> {
    /// Which port; [`PortNumber::ANY`] for all.
    pub port: PortNumber,
    /// Its queues.
    pub queues: Sequence<'a, QueueDescription>,
}

impl<'a> QueueGetConfigReply<'a> {
    /// Appends the question for this to `out`.
    pub fn emit_request(port: PortNumber, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::QueueGetConfigRequest, transaction, out);
        finish(message.u32(port.0).zeros::<4>());
    }

    pub(super) fn parse_request(body: &[u8]) -> Result<PortNumber, DecodeError> {
        let mut reader = Reader::new(body);
        let port = PortNumber(reader.u32()?);
        reader.skip(4)?;
        Ok(port)
    }

    pub(super) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let port = PortNumber(reader.u32()?);
        reader.skip(4)?;
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
        message.u32(self.port.0).zeros::<4>();
        message.with(|out| self.queues.emit(out));
        finish(&mut message);
    }
}
