//! What applications program beside flows with a promise: connectivity, flow
//! paths, match and action (S1-7). Nothing is reserved for an intent: it travels
//! with best effort.

use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};

use super::{Extent, FlowMatch, IntentId};
use crate::place::{LinkEnds, PortId};

/// The most intents at a time.
pub const MAX_INTENTS: usize = 1 << 16;
/// The most places through which one flow path is led.
pub const MAX_WAYPOINTS: usize = 64;

/// Something that is to hold until it is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Its name, unique among all intents.
    pub name: String,
    pub kind: IntentKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntentKind {
    /// Two hosts reach each other, wherever they are.
    HostToHost {
        /// The name of one host.
        one: String,
        /// The name of the other.
        other: String,
    },
    /// What enters at one place and matches leaves at another.
    PointToPoint {
        from: Endpoint,
        to: Endpoint,
        matching: FrameMatch,
    },
    /// What enters at one place and matches leaves at several.
    Multicast {
        from: Endpoint,
        to: Vec<Endpoint>,
        matching: FrameMatch,
    },
    /// What enters at one place and matches leaves at another and passes certain
    /// places in this order.
    Path {
        from: Endpoint,
        to: Endpoint,
        through: Vec<Waypoint>,
        /// Whether that is the whole path.
        extent: Extent,
        matching: FrameMatch,
        /// What is done with them at the last switch before they leave.
        actions: Vec<FrameAction>,
    },
    /// Switches do something with the frames that match.
    MatchAction {
        at: Scope,
        /// Above which others, 0 to 99.
        priority: u8,
        matching: FrameMatch,
        /// What is done with them, in this order; nothing: they are dropped.
        actions: Vec<FrameAction>,
    },
}

/// Where frames enter or leave the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Where the host of this name is, now and wherever it moves.
    Host(String),
    Port(PortId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waypoint {
    Switch(DatapathId),
    Link(LinkEnds),
}

/// The switches that are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All, and those to come.
    Everywhere,
    Switches(Vec<DatapathId>),
}

/// Which frames are meant. Fields that are `None` do not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameMatch {
    /// The port by which they come in.
    pub input: Option<PortNumber>,
    /// The address they come from.
    pub source: Option<MacAddress>,
    pub flow: FlowMatch,
}

/// What a switch does with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameAction {
    /// Sends it out by a port.
    Output(PortNumber),
    /// Sends it out by all ports but the one by which it came in.
    Flood,
    /// Hands it to the controller.
    Controller,
    /// Puts it into a queue, 0 to 7, wherever it goes out afterwards.
    Queue(u8),
    /// Tags it with a VLAN id, or changes that of its tag.
    SetVlan(u16),
    /// Takes its VLAN tag away.
    StripVlan,
    /// Changes the address it comes from.
    SetSource(MacAddress),
    /// Changes the address it goes to.
    SetDestination(MacAddress),
}

/// Whether an intent is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntentDecision {
    /// It is, and holds as soon and as long as the network lets it.
    Accepted {
        id: IntentId,
        name: String,
    },
    Refused {
        name: String,
        reason: IntentRefusal,
    },
}

/// Why an intent is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IntentRefusal {
    /// Another intent has its name.
    #[error("another intent is called {name}")]
    NameTaken { name: String },
    #[error("there are {limit} intents, and there cannot be more")]
    TooMany { limit: usize },
    /// Nobody knows a host of this name.
    #[error("host {name} is not known")]
    UnknownHost { name: String },
    #[error("{0}")]
    Senseless(&'static str),
    /// The store did not keep it.
    #[error("the store could not keep it")]
    NotStored,
    /// Its frames are claimed by rules of somebody else, at the same priority.
    #[error("{owner} has rules for the same frames at switch {datapath:x}, with the same priority")]
    Conflict { owner: String, datapath: u64 },
}

/// An intent in a list.
pub type IntentSummary = api::IntentSummary<Intent>;
