//! What is said between the controller and whoever asks it: each noun once.
//!
//! A type here is what the core hands out, what the web server writes as JSON, what the
//! program's own client reads, and what the description of the interface is made from.
//!
//! | module | what of? |
//! |---|---|
//! | [`event`] | what happened |
//! | [`flow`] | flows with a promise |
//! | [`application`] | who asks, and what was granted |
//! | [`mode`] | criticality modes |
//! | [`path`] | paths that were asked for |
//! | [`contract`] | what sources send, and contracts that would do |
//! | [`profile`] | what switches are taken to be |
//! | [`rule`] | rules of switches |
//! | [`routing`] | the network as a router among others |
//! | [`settings`], [`statistics`] | how the controller works, and what it counts |
//! | [`intent`] | what else shall hold |
//! | [`frame_match`] | which frames are meant |
//! | [`place`] | names of ports and links |
//! | [`topology`] | switches, links and hosts |
//!
//! A datapath id is 16 digits of hexadecimal, a link is named by its ports, as in
//! `1:2-3:1`, and keys of numbers end in the unit. A moment is one of the controller's own
//! clock inside, and one since the beginning of 1970 in documents: whoever hands one out
//! moves it there.

#![warn(missing_docs)]

pub mod application;
pub mod contract;
mod count;
pub mod event;
pub mod flow;
pub mod frame_match;
pub mod intent;
mod ip_prefix;
pub mod mode;
pub mod path;
pub mod place;
pub mod profile;
pub mod routing;
pub mod rule;
pub mod settings;
pub mod statistics;
pub mod topology;

pub use application::{
    ApplicationId, ApplicationKind, ApplicationSummary, Asker, Manifest, Permission,
};
pub use contract::{ContractChange, ContractFigures, ContractOffer, ContractSuggestion};
pub use count::Count;
pub use event::{About, Detection, Event, Occurrence, Occurrences};
pub use flow::{
    Accepted, Alternative, Cause, Cover, Dispute, FlowHops, FlowId, FlowSummary, FrameOrder,
    HopCount, HopSeen, MAX_DISPUTES_SHOWN, Promise, PromiseState, Protection, Route,
    TransportProtocol, Travels,
};
pub use frame_match::{FlowMatch, FrameMatch, Transport};
pub use intent::{
    Endpoint, Extent, FrameAction, Intent, IntentId, IntentKind, IntentState, IntentSummary,
    Rename, Scope, Waypoint,
};
pub use ip_prefix::{IpPrefix, IpPrefixError};
pub use mode::{HeldMode, ModeChange, ModeReport, Strategy, SwitchMode};
pub use path::{FoundPath, PathWish};
pub use place::{LinkEnds, Place, PortId};
pub use profile::{
    DoubtCount, FlowOutlook, HopDoubt, HopEvidence, MAX_OUTLOOKS, ProcessorProfile, ProfileOffer,
    ProfileStanding, ProfileWish, Raised, SwitchProfile,
};
pub use routing::{
    Damping, IngressSummary, InterfaceAddress, MAX_PEERINGS, MAX_PEERS, MAX_ROUTE_CHANGES,
    MAX_ROUTES, MAX_ROUTES_AT_ONCE, NextHopSummary, Peer, Peering, PeeringSummary, RefusedRoute,
    RouteChange, RoutePart, RouteRefusal, RouteState, RoutedPrefix, RoutesChanged, RoutingStatus,
    SdnIp, SdnIpError, SpeakerState,
};
pub use rule::{RuleOwner, RuleState};
pub use settings::{ForeignRules, Metric, Settings, SettingsChange};
pub use statistics::Counters;
