//! A frame on its way through the tables, and on whose behalf it is changed and
//! sent.

use wire::ethernet::EtherType;
use wire::openflow::{Cookie, PacketInReason, PortNumber, TableId};

use crate::action::MetadataChange;
use crate::buffer_pool::{BufferPool, SlotIndex};
use crate::packet_key::{self, Headers, PacketKey, field};
use crate::port::PortIndex;

/// A frame on its way through the tables.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) slot: SlotIndex,
    /// The port it came from; none if a controller made it.
    pub(crate) port: Option<PortIndex>,
    pub(crate) in_port: PortNumber,
    pub(crate) metadata: u64,
    pub(crate) key: PacketKey,
    /// On whose behalf actions are executed.
    pub(crate) origin: Origin,
    pub(crate) headers: Headers,
    /// The queue for the next output.
    pub(crate) queue: u8,
    /// Whether the key is out of date.
    pub(crate) changed: bool,
}

impl Packet {
    /// Begins the way of the frame in `slot`.
    pub(crate) fn new(
        port: Option<PortIndex>,
        in_port: PortNumber,
        slot: SlotIndex,
        frame: &[u8],
    ) -> Self {
        let (key, headers) = packet_key::extract(in_port, 0, frame);
        Self {
            slot,
            port,
            in_port,
            metadata: 0,
            key,
            origin: Origin::PACKET_OUT,
            headers,
            queue: 0,
            changed: false,
        }
    }

    /// Brings the key up to date.
    #[inline]
    pub(crate) fn refresh(&mut self, pool: &BufferPool) {
        if self.changed {
            self.changed = false;
            let frame = pool.frame(self.slot);
            (self.key, self.headers) = packet_key::extract(self.in_port, self.metadata, frame);
        }
    }

    /// Returns whether the frame tells about a neighbour.
    pub(crate) fn is_lldp(&self) -> bool {
        self.key.get(field::ETH_TYPE) == u64::from(EtherType::LLDP.0)
    }

    /// Changes the metadata, which the next table sees.
    pub(crate) fn write_metadata(&mut self, change: MetadataChange) {
        self.metadata = change.applied_to(self.metadata);
        self.key.replace(field::METADATA, self.metadata);
    }
}

/// On whose behalf an action is executed: what a packet-in tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) table: TableId,
    pub(crate) cookie: Cookie,
    pub(crate) reason: PacketInReason,
}

impl Origin {
    /// A packet-out, which no table and no entry asked for.
    const PACKET_OUT: Self = Self {
        table: TableId(0),
        cookie: Cookie(u64::MAX),
        reason: PacketInReason::Action,
    };
}
