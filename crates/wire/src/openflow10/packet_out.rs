//! A frame from the controller (OF10 section 5.3.6).

use super::header::{begin, finish};
use super::{Actions, MessageType, PortNumber};
use crate::openflow::{BufferId, DecodeError, TransactionId};
use crate::reader::Reader;

/// Where the length of the actions stands, from the start of the message.
const ACTIONS_LENGTH_OFFSET: usize = 14;
/// Where the actions begin, from the start of the message.
const ACTIONS_OFFSET: usize = 16;

/// Sends a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketOut<'a> {
    /// Where the switch keeps the frame.
    pub buffer: BufferId,
    /// The port at which the frame is to have arrived, or
    /// [`PortNumber::NONE`].
    pub in_port: PortNumber,
    /// What to do with it.
    pub actions: Actions<'a>,
    /// The frame, if the switch does not keep it.
    pub data: &'a [u8],
}

impl<'a> PacketOut<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let buffer = BufferId(reader.u32()?);
        let in_port = PortNumber(reader.u16()?);
        let actions = usize::from(reader.u16()?);
        Ok(Self {
            buffer,
            in_port,
            actions: Actions::from_bytes(reader.take(actions)?),
            data: reader.rest(),
        })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::PacketOut, transaction, out);
        message.u32(self.buffer.0).u16(self.in_port.0).zeros::<2>();
        message.with(|out| self.actions.emit(out));
        let actions = u16::try_from(message.length() - ACTIONS_OFFSET)
            .expect("actions are shorter than a message");
        message.patch_u16(ACTIONS_LENGTH_OFFSET, actions);
        finish(message.bytes(self.data));
    }
}
