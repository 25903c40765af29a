//! What every message begins with (OF13 clause 7.1.1).

use super::{DecodeError, TransactionId};
use crate::reader::Reader;
use crate::writer::Writer;

/// The version that this module speaks: OpenFlow 1.3.
pub const VERSION: u8 = 0x04;
/// The length of a header.
pub const HEADER_LENGTH: usize = 8;

const LENGTH_OFFSET: usize = 2;

numbered! {
    /// The kind of a message (OF13 clause 7.1.1, `ofp_type`).
    pub enum MessageType: u8 {
        /// Agrees on a version.
        Hello = 0,
        /// Says what was wrong.
        Error = 1,
        /// Asks for a sign of life.
        EchoRequest = 2,
        /// Gives a sign of life.
        EchoReply = 3,
        /// Says what the specification does not know.
        Experimenter = 4,
        /// Asks who the switch is.
        FeaturesRequest = 5,
        /// Says who the switch is.
        FeaturesReply = 6,
        /// Asks for the configuration.
        GetConfigRequest = 7,
        /// Says the configuration.
        GetConfigReply = 8,
        /// Changes the configuration.
        SetConfig = 9,
        /// Hands a frame to the controller.
        PacketIn = 10,
        /// Says that an entry is gone.
        FlowRemoved = 11,
        /// Says that a port changed.
        PortStatus = 12,
        /// Sends a frame.
        PacketOut = 13,
        /// Changes entries of flow tables.
        FlowMod = 14,
        /// Changes groups.
        GroupMod = 15,
        /// Changes a port.
        PortMod = 16,
        /// Changes a table.
        TableMod = 17,
        /// Asks for much.
        MultipartRequest = 18,
        /// Says much, in parts.
        MultipartReply = 19,
        /// Asks to finish what came before.
        BarrierRequest = 20,
        /// Says that it is finished.
        BarrierReply = 21,
        /// Asks for the queues of a port.
        QueueGetConfigRequest = 22,
        /// Says the queues of a port.
        QueueGetConfigReply = 23,
        /// Asks for a role.
        RoleRequest = 24,
        /// Says the role.
        RoleReply = 25,
        /// Asks which messages come unasked.
        GetAsyncRequest = 26,
        /// Says which messages come unasked.
        GetAsyncReply = 27,
        /// Changes which messages come unasked.
        SetAsync = 28,
        /// Changes meters.
        MeterMod = 29,
    }
}

/// What every message begins with. The version and the kind are kept as they
/// came, so that a message of any version can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version of the protocol.
    pub version: u8,
    /// The kind of message, see [`MessageType`].
    pub kind: u8,
    /// The length of the message, header included.
    pub length: u16,
    /// What pairs a request with its replies.
    pub transaction: TransactionId,
}

impl Header {
    /// Returns the header of `message`.
    ///
    /// # Errors
    ///
    /// If there are fewer than 8 bytes.
    #[inline]
    pub fn parse(message: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(message);
        Ok(Self {
            version: reader.u8()?,
            kind: reader.u8()?,
            length: reader.u16()?,
            transaction: TransactionId(reader.u32()?),
        })
    }
}

/// Begins a message at the end of `out`; its length is filled in by
/// [`finish`].
#[inline]
pub(super) fn begin(
    kind: MessageType,
    transaction: TransactionId,
    out: &mut Vec<u8>,
) -> Writer<'_> {
    let mut writer = Writer::new(out);
    let [a, b, c, d] = transaction.0.to_be_bytes();
    writer.bytes(&[VERSION, kind.number(), 0, 8, a, b, c, d]);
    writer
}

/// Fills in the length of a message that is complete.
///
/// # Panics
///
/// If the message is longer than 65535 bytes.
#[inline]
pub(super) fn finish(message: &mut Writer<'_>) {
    message.length_at(LENGTH_OFFSET);
}
