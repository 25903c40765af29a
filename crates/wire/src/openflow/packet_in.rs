//! A frame for the controller (OF13 clause 7.4.1).

use super::header::{begin, finish};
use super::oxm::{emit_match, parse_match};
use super::{
    BadRequest, BufferId, Cookie, DecodeError, ErrorKind, Fields, MatchField, MessageType,
    PortNumber, TableId, TransactionId,
};
use crate::reader::Reader;

numbered! {
    /// Why a frame goes to the controller (`ofp_packet_in_reason`).
    pub enum PacketInReason: u8 {
        /// No entry matched, but the table-miss entry.
        NoMatch = 0,
        /// An action says so.
        Action = 1,
        /// Its time to live is over.
        InvalidTtl = 2,
    }
}

/// Hands a frame to the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketIn<'a> {
    /// Where the switch keeps the frame.
    pub buffer: BufferId,
    /// How long the whole frame is.
    pub total_length: u16,
    /// Why it comes.
    pub reason: PacketInReason,
    /// Which table sent it.
    pub table: TableId,
    /// The cookie of the entry that sent it.
    pub cookie: Cookie,
    /// What is known about the frame that does not stand in it: its port, the
    /// metadata.
    pub fields: Fields<'a>,
    /// The frame, or its beginning if the switch keeps it.
    pub data: &'a [u8],
}

impl<'a> PacketIn<'a> {
    /// Returns the port at which the frame arrived, if the message says so.
    #[must_use]
    #[inline]
    pub fn in_port(&self) -> Option<PortNumber> {
        self.fields.iter().find_map(|field| match field {
            Ok(MatchField::InPort(port)) => Some(port),
            Ok(_) | Err(_) => None,
        })
    }

    #[inline]
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let buffer = BufferId(reader.u32()?);
        let total_length = reader.u16()?;
        let reason = reader.u8()?;
        let reason = PacketInReason::from_number(reason).ok_or(DecodeError::Value {
            field: "reason",
            value: u32::from(reason),
            kind: ErrorKind::BadRequest(BadRequest::BadType),
        })?;
        let table = TableId(reader.u8()?);
        let cookie = Cookie(reader.u64()?);
        let fields = parse_match(&mut reader)?;
        reader.skip(2)?;
        Ok(Self {
            buffer,
            total_length,
            reason,
            table,
            cookie,
            fields,
            data: reader.rest(),
        })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    #[inline]
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::PacketIn, transaction, out);
        message.u32(self.buffer.0).u16(self.total_length);
        message.u8(self.reason.number()).u8(self.table.0);
        message.u64(self.cookie.0);
        message.with(|out| emit_match(&self.fields, out));
        message.zeros::<2>().bytes(self.data);
        finish(&mut message);
    }
}
