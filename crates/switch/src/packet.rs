//! A frame on its way through the tables, and on whose behalf it is changed and
//! sent.

use wire::ethernet::EtherType;
use wire::mode_signal::Level;
use wire::openflow::taktos::QueuedFrameActions;
use wire::openflow::{Cookie, PacketInReason, PortNumber, TableId};

use crate::action::MetadataChange;
use crate::buffer_pool::{BufferPool, SlotIndex};
use crate::flow_table::EntryIndex;
use crate::headers::{self, Headers, PipelineFields};
use crate::hops::Owner;
use crate::packet_key::{PacketKey, field};
use crate::port::PortIndex;

/// A frame on its way through the tables.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) slot: SlotIndex,
    /// The port it came from; none if a controller made it.
    pub(crate) port: Option<PortIndex>,
    /// What is known besides the bytes of the frame.
    pub(crate) known: PipelineFields,
    pub(crate) key: PacketKey,
    /// On whose behalf actions are executed.
    pub(crate) origin: Origin,
    /// The entry that it met last, in whichever engine.
    pub(crate) owner: Option<Owner>,
    pub(crate) headers: Headers,
    /// The queue for the next output.
    pub(crate) queue: u8,
    /// Whether it leaves without a promise whatever queue is set, as it exceeds a contract.
    pub(crate) exceeds: bool,
    /// What becomes of it while it waits there.
    pub(crate) fates: QueuedFrameActions,
    pub(crate) stale: Stale,
}

/// What is out of date since a frame was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stale {
    Nothing,
    /// The values of its fields.
    Key,
    /// Also where its headers are.
    Headers,
}

impl Packet {
    /// Begins the way of the frame in `slot` while a level is in force.
    pub(crate) fn new(
        port: Option<PortIndex>,
        in_port: PortNumber,
        slot: SlotIndex,
        level: Level,
        frame: &[u8],
    ) -> Self {
        let known = PipelineFields {
            in_port,
            metadata: 0,
            tunnel: 0,
            level,
        };
        let (key, headers) = headers::extract(known, frame);
        Self {
            slot,
            port,
            known,
            key,
            origin: Origin::PACKET_OUT,
            owner: None,
            headers,
            queue: 0,
            exceeds: false,
            fates: QueuedFrameActions::STAY,
            stale: Stale::Nothing,
        }
    }

    /// Brings key and headers up to date.
    #[inline]
    pub(crate) fn refresh(&mut self, pool: &BufferPool) {
        if self.stale != Stale::Nothing {
            self.stale = Stale::Nothing;
            let frame = pool.frame(self.slot);
            (self.key, self.headers) = headers::extract(self.known, frame);
        }
    }

    /// Makes sure that the headers are where they are said to be.
    #[inline]
    pub(crate) fn refresh_headers(&mut self, pool: &BufferPool) {
        if self.stale == Stale::Headers {
            self.refresh(pool);
        }
    }

    /// Returns whether the frame tells about a neighbour.
    pub(crate) fn is_lldp(&self) -> bool {
        self.key.get(field::ETH_TYPE) == u64::from(EtherType::LLDP.0)
    }

    /// Changes the metadata, which the next table sees.
    pub(crate) fn write_metadata(&mut self, change: MetadataChange) {
        self.known.metadata = change.applied_to(self.known.metadata);
        self.key.replace(field::METADATA, self.known.metadata);
    }

    /// Changes the tunnel, which the next table sees.
    pub(crate) fn set_tunnel(&mut self, tunnel: u64) {
        self.known.tunnel = tunnel;
        self.key.replace(field::TUNNEL_ID, tunnel);
    }
}

/// On whose behalf an action is executed: what a packet-in tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) table: TableId,
    /// The entry of that table, if there is one.
    pub(crate) entry: Option<EntryIndex>,
    pub(crate) cookie: Cookie,
    pub(crate) reason: PacketInReason,
}

impl Origin {
    /// A packet-out, which no table and no entry asked for.
    const PACKET_OUT: Self = Self {
        table: TableId(0),
        entry: None,
        cookie: Cookie(u64::MAX),
        reason: PacketInReason::Action,
    };

    /// No entry, in this table.
    pub(crate) const fn miss(table: TableId) -> Self {
        Self {
            table,
            entry: None,
            cookie: Cookie(u64::MAX),
            reason: PacketInReason::NoMatch,
        }
    }

    /// Returns whether a table has no entry for the frame, not even one for such
    /// frames.
    pub(crate) const fn is_miss(self) -> bool {
        self.entry.is_none() && matches!(self.reason, PacketInReason::NoMatch)
    }
}
