//! The kinds of messages, and how each begins (OF10 section 5.1).

use crate::openflow::TransactionId;
use crate::writer::Writer;

/// The version that this module speaks: OpenFlow 1.0.
pub const VERSION: u8 = 0x01;

const LENGTH_OFFSET: usize = 2;

numbered! {
    /// The kind of a message (OF10 section 5.1, `ofp_type`).
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
        Vendor = 4,
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
        /// Changes a port.
        PortMod = 15,
        /// Asks for much.
        StatisticsRequest = 16,
        /// Says much, in parts.
        StatisticsReply = 17,
        /// Asks to finish what came before.
        BarrierRequest = 18,
        /// Says that it is finished.
        BarrierReply = 19,
        /// Asks for the queues of a port.
        QueueGetConfigRequest = 20,
        /// Says the queues of a port.
        QueueGetConfigReply = 21,
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
