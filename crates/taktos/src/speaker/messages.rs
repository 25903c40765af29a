//! What is said to GoBGP: those messages of its `gobgp.proto` and `attribute.proto`
//! (package `apipb`, versions 3.0 to 3.37) that we need, with the fields that we read or set.

use prost::{Enumeration, Message, Oneof};

/// A message of any kind, named by what stands behind the last `/` of its address.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Any {
    #[prost(string, tag = "1")]
    pub type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// An address family; the numbers are IANA's (RFC 4760 section 3).
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Family {
    #[prost(int32, tag = "1")]
    pub afi: i32,
    #[prost(int32, tag = "2")]
    pub safi: i32,
}

impl Family {
    pub const IPV4_UNICAST: Self = Self { afi: 1, safi: 1 };
    pub const IPV6_UNICAST: Self = Self { afi: 2, safi: 1 };
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct Path {
    #[prost(message, optional, tag = "1")]
    pub nlri: Option<Any>,
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<Any>,
    /// Set in lists alone: watchers are sent best paths that do not say so.
    #[prost(bool, tag = "4")]
    pub best: bool,
    #[prost(bool, tag = "5")]
    pub is_withdraw: bool,
    #[prost(message, optional, tag = "9")]
    pub family: Option<Family>,
    /// Who told of it; no address if it is the speaker's own.
    #[prost(string, tag = "15")]
    pub neighbor_ip: String,
}

/// The NLRI of IPv4 and IPv6 unicast.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct IpAddressPrefix {
    #[prost(uint32, tag = "1")]
    pub prefix_len: u32,
    #[prost(string, tag = "2")]
    pub prefix: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct NextHopAttribute {
    #[prost(string, tag = "1")]
    pub next_hop: String,
}

/// Of RFC 4760: the global address, and perhaps a link-local one after it (RFC 2545).
#[derive(Clone, PartialEq, Eq, Message)]
pub struct MpReachNlriAttribute {
    #[prost(string, repeated, tag = "2")]
    pub next_hops: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct WatchEventRequest {
    #[prost(message, optional, tag = "1")]
    pub peer: Option<WatchPeers>,
    #[prost(message, optional, tag = "2")]
    pub table: Option<WatchTable>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct WatchPeers {}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct WatchTable {
    #[prost(message, repeated, tag = "1")]
    pub filters: Vec<TableFilter>,
}

/// By default the best paths, and no list of those that there are.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct TableFilter {}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct WatchEventResponse {
    #[prost(oneof = "WatchedEvent", tags = "2, 3")]
    pub event: Option<WatchedEvent>,
}

#[derive(Clone, PartialEq, Eq, Oneof)]
pub enum WatchedEvent {
    #[prost(message, tag = "2")]
    Peer(PeerEvent),
    #[prost(message, tag = "3")]
    Table(TableEvent),
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct PeerEvent {
    #[prost(enumeration = "PeerEventKind", tag = "1")]
    pub kind: i32,
    #[prost(message, optional, tag = "2")]
    pub peer: Option<Peer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum PeerEventKind {
    Unknown = 0,
    /// A peer that there was when the watch began.
    Init = 1,
    EndOfInit = 2,
    State = 3,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct TableEvent {
    #[prost(message, repeated, tag = "2")]
    pub paths: Vec<Path>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct Peer {
    #[prost(message, optional, tag = "2")]
    pub configured: Option<PeerConfiguration>,
    #[prost(message, optional, tag = "5")]
    pub state: Option<PeerState>,
    #[prost(message, repeated, tag = "10")]
    pub families: Vec<PeerFamily>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct PeerConfiguration {
    #[prost(string, tag = "4")]
    pub neighbor_address: String,
    #[prost(uint32, tag = "5")]
    pub peer_as: u32,
    #[prost(bool, tag = "15")]
    pub admin_down: bool,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct PeerState {
    #[prost(string, tag = "5")]
    pub neighbor_address: String,
    #[prost(uint32, tag = "6")]
    pub peer_as: u32,
    #[prost(enumeration = "SessionState", tag = "13")]
    pub session_state: i32,
}

/// The states of a session (RFC 4271 section 8.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum SessionState {
    Unknown = 0,
    Idle = 1,
    Connect = 2,
    Active = 3,
    OpenSent = 4,
    OpenConfirm = 5,
    Established = 6,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct PeerFamily {
    #[prost(message, optional, tag = "1")]
    pub graceful_restart: Option<FamilyRestart>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct FamilyRestart {
    #[prost(message, optional, tag = "2")]
    pub state: Option<FamilyRestartState>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct FamilyRestartState {
    /// Whether the peer said that it restarts gracefully.
    #[prost(bool, tag = "2")]
    pub received: bool,
    /// Whether the peer has said all that it has to say (End-of-RIB, RFC 4724 section 2).
    #[prost(bool, tag = "4")]
    pub end_of_rib_received: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct ListPathRequest {
    /// By default of the global table.
    #[prost(message, optional, tag = "3")]
    pub family: Option<Family>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct ListPathResponse {
    #[prost(message, optional, tag = "1")]
    pub destination: Option<Destination>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct Destination {
    #[prost(message, repeated, tag = "2")]
    pub paths: Vec<Path>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct ListPeerRequest {}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct ListPeerResponse {
    #[prost(message, optional, tag = "1")]
    pub peer: Option<Peer>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct GetBgpRequest {}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct GetBgpResponse {
    #[prost(message, optional, tag = "1")]
    pub global: Option<Global>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct Global {
    /// Zero while BGP has not been started.
    #[prost(uint32, tag = "1")]
    pub as_number: u32,
    #[prost(string, tag = "2")]
    pub router_id: String,
}
