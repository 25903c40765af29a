//! Who the switch is (OF10 section 5.3.1).

use super::header::{begin, finish};
use super::{MessageType, PortDescription};
use crate::openflow::{DatapathId, DecodeError, Sequence, TransactionId};
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
        /// Takes part in a spanning tree, IEEE 802.1Q.
        SPANNING_TREE = 1 << 3;
        /// Can put fragments together.
        IP_REASSEMBLY = 1 << 5;
        /// Counts what queues carry.
        QUEUE_STATISTICS = 1 << 6;
        /// Matches the addresses in ARP packets.
        ARP_MATCH_IP = 1 << 7;
    }
}

flags! {
    /// Which actions a switch has, a bit for the number of each
    /// (`ofp_action_type`).
    pub struct ActionKinds: u32 {
        /// Output.
        OUTPUT = 1 << 0;
        /// Setting the VLAN.
        SET_VLAN_VID = 1 << 1;
        /// Setting the priority of the tag.
        SET_VLAN_PCP = 1 << 2;
        /// Taking the tag away.
        STRIP_VLAN = 1 << 3;
        /// Setting the source address of Ethernet.
        SET_DL_SRC = 1 << 4;
        /// Setting the destination address of Ethernet.
        SET_DL_DST = 1 << 5;
        /// Setting the source address of IPv4.
        SET_NW_SRC = 1 << 6;
        /// Setting the destination address of IPv4.
        SET_NW_DST = 1 << 7;
        /// Setting the type of service.
        SET_NW_TOS = 1 << 8;
        /// Setting the source port of TCP and UDP.
        SET_TP_SRC = 1 << 9;
        /// Setting the destination port of TCP and UDP.
        SET_TP_DST = 1 << 10;
        /// Output through a queue.
        ENQUEUE = 1 << 11;
    }
}

impl ActionKinds {
    /// Every action of the specification.
    pub const ALL: Self = Self((1 << 12) - 1);
}

/// Says who the switch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeaturesReply<'a> {
    /// Its name.
    pub datapath: DatapathId,
    /// How many frames it can keep for the controller.
    pub buffers: u32,
    /// How many flow tables it has.
    pub tables: u8,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Which actions it has.
    pub actions: ActionKinds,
    /// Its ports.
    pub ports: Sequence<'a, PortDescription>,
}

impl<'a> FeaturesReply<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let datapath = DatapathId(reader.u64()?);
        let buffers = reader.u32()?;
        let tables = reader.u8()?;
        reader.skip(3)?;
        Ok(Self {
            datapath,
            buffers,
            tables,
            capabilities: Capabilities(reader.u32()?),
            actions: ActionKinds(reader.u32()?),
            ports: Sequence::from_bytes(reader.rest()),
        })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::FeaturesReply, transaction, out);
        message.u64(self.datapath.0).u32(self.buffers);
        message.u8(self.tables).zeros::<3>();
        message.u32(self.capabilities.0).u32(self.actions.0);
        message.with(|out| self.ports.emit(out));
        finish(&mut message);
    }
}
