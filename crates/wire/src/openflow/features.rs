//! Who the switch is (OF13 clause 7.3.1).

use super::header::{begin, finish};
use super::{DatapathId, DecodeError, MessageType, TransactionId};
use crate::reader::Reader;

flags! {
    /// What a switch can do (`ofp_capabilities`).
    pub struct Capabilities: u32 {
        /// Counts what entries match.
        FLOW_STATISTICS = 1 << 0;
        /// Counts what tables match.
        TABLE_STATISTICS = 1 << 1;
        /// Counts what ports carry.
        PORT_STATISTICS = 1 << 2;
        /// Counts what groups do.
        GROUP_STATISTICS = 1 << 3;
        /// Can put fragments together.
        IP_REASSEMBLY = 1 << 5;
        /// Counts what queues carry.
        QUEUE_STATISTICS = 1 << 6;
        /// Blocks ports that would close a loop.
        PORT_BLOCKED = 1 << 8;
    }
}

/// Says who the switch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeaturesReply {
    /// Its name.
    pub datapath: DatapathId,
    /// How many frames it can keep for the controller.
    pub buffers: u32,
    /// How many flow tables it has.
    pub tables: u8,
    /// Which of its connections this is; 0 is the main one.
    pub auxiliary: u8,
    /// What it can do.
    pub capabilities: Capabilities,
}

impl FeaturesReply {
    /// Appends the request for this to `out`.
    pub fn emit_request(transaction: TransactionId, out: &mut Vec<u8>) {
        begin(MessageType::FeaturesRequest, transaction, out);
    }

    pub(super) fn parse(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let datapath = DatapathId(reader.u64()?);
        let buffers = reader.u32()?;
        let tables = reader.u8()?;
        let auxiliary = reader.u8()?;
        reader.skip(2)?;
        let capabilities = Capabilities(reader.u32()?);
        reader.skip(4)?;
        Ok(Self {
            datapath,
            buffers,
            tables,
            auxiliary,
            capabilities,
        })
    }

    /// Appends the message to `out`.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::FeaturesReply, transaction, out);
        message.u64(self.datapath.0).u32(self.buffers);
        message.u8(self.tables).u8(self.auxiliary).zeros::<2>();
        message.u32(self.capabilities.0).zeros::<4>();
        finish(&mut message);
    }
}
