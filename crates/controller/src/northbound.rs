//! What applications ask of the controller, what it answers, and what it tells
//! without being asked (S0-6, S1-5).

mod application;
mod hosts;
mod intent;
mod mode;
mod paths;
mod profile;
mod said;
mod tables;

pub use api::{
    Accepted, Alternative, ApplicationId, ApplicationKind, ApplicationSummary, Asker, Cause,
    ContractChange, ContractFigures, ContractOffer, ContractSuggestion, Counters, Cover, Damping,
    Detection, Dispute, DoubtCount, Endpoint, Event, Extent, FlowHops, FlowId, FlowMatch,
    FlowOutlook, ForeignRules, FoundPath, FrameAction, FrameMatch, FrameOrder, HeldMode, HopCount,
    HopDoubt, HopEvidence, HopSeen, IngressSummary, Intent, IntentId, IntentKind, IntentState,
    InterfaceAddress, IpPrefix, MAX_DISPUTES_SHOWN, MAX_OUTLOOKS, MAX_PEERINGS, MAX_PEERS,
    MAX_ROUTE_CHANGES, MAX_ROUTES, MAX_ROUTES_AT_ONCE, Manifest, ModeChange, ModeReport,
    NextHopSummary, PathWish, Peer, Peering, PeeringSummary, Permission, ProcessorProfile,
    ProfileOffer, ProfileStanding, ProfileWish, Promise, PromiseState, Protection, Raised,
    RefusedRoute, Route, RouteChange, RoutePart, RouteRefusal, RouteState, RoutedPrefix,
    RoutesChanged, RoutingStatus, RuleOwner, RuleState, Scope, SdnIp, SdnIpError, Settings,
    SettingsChange, SpeakerState, SwitchMode, SwitchProfile, Transport, TransportProtocol, Travels,
    Waypoint,
};
pub use application::{MAX_APPLICATION_NAME, MAX_APPLICATIONS};
pub use hosts::{HostRefusal, StaticHost};
pub use intent::{IntentDecision, IntentRefusal, IntentSummary, MAX_INTENTS, MAX_WAYPOINTS};
pub use mode::ModeRefusal;
pub use paths::{MAX_PATHS, NoPath, PathLoad, PathQuery};
pub use profile::ProfileRefusal;
pub use said::{Said, Saying};
pub use tables::RuleSummary;

use std::collections::BTreeMap;
use std::sync::Arc;

use calculus::admission::{FrameBucket, Ledger};
use units::{BitRate, DataSize, Delay};
use wire::openflow::DatapathId;
use wire::openflow::multipart::{PortStatistics, TableStatistics};
pub use wire::openflow::taktos::ExceedAction;

use crate::admission::{LedgerPlace, ReservationId};
use crate::budgets::Fitted;
use crate::modes::ModalFlow;
pub use crate::packet_in_classes::{ClassCount, FrameClass};
use crate::place::LinkEnds;
use crate::refusal::Refusal;
use crate::telemetry::FlowCount;
use crate::view::View;

/// The most destinations of one flow.
pub const MAX_DESTINATIONS: usize = 256;
/// The most requirements that wait for their decision, and the most withdrawals
/// that wait for the store.
pub const MAX_WAITING: usize = 65_536;

/// The most flows in one part of a list.
pub const MAX_FLOWS_AT_ONCE: usize = 1_024;

/// Pairs a request with its reply; chosen by who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// What an application may ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Admit these flows, one by one, in this order.
    Admit(Vec<Requirement>),
    /// Admit all of these flows, or none of them.
    AdmitTogether(Vec<Requirement>),
    /// Say what would be decided about these flows, one by one, in this order.
    /// Nothing is admitted; the numbers of those that would be accepted mean
    /// nothing.
    WhatIf(Vec<Requirement>),
    /// Where this flow is refused, and would not be if one that is admitted went another
    /// way, have that go there, make before break. Nothing is reserved for it.
    MakeRoom(Requirement),
    /// End the flow with this name.
    Withdraw(String),
    /// Choose delay budgets for these flows, the most important first, where budgets are
    /// fitted; without flows, budgets stay as they are. Nothing is admitted.
    Prepare(Vec<Requirement>),
    /// Say in which class each of these flows should travel, where budgets are fitted and
    /// not all fit in their own. Nothing is admitted, and budgets stay as they are.
    AssignClasses {
        /// The flows, the most important first.
        requirements: Vec<Requirement>,
        /// Of each whether it may have another class; those of which nothing is said may not.
        free: Vec<bool>,
        /// The classes that it may have then.
        classes: Vec<u8>,
    },
    Flows,
    /// List the flows with numbers above this one (0 for all), at most so many and
    /// at most [`MAX_FLOWS_AT_ONCE`]: a list of any length costs the network nothing
    /// if it is asked for in parts.
    FlowsAfter {
        /// The last number of the part before.
        after: FlowId,
        most: usize,
    },
    /// List how long frames stayed at the hops of the flows with numbers above this one, at
    /// most so many and at most [`MAX_FLOWS_AT_ONCE`]. Switches are asked before that were not
    /// within the last second, and those are waited for that answer soon.
    HopsAfter {
        /// The last number of the part before.
        after: FlowId,
        most: usize,
    },
    /// Show the flow with this name.
    Flow(String),
    /// Count what the view holds.
    Topology,
    /// Show what all promises rest on.
    Promises,
    /// Show what switches are taken to be, and whether what is seen of them agrees with it.
    /// They are asked anew.
    Profiles,
    /// Offer a profile that explains what was seen of a switch, and adopt it unless this is a
    /// question.
    CorrectProfile {
        /// The switch.
        datapath: DatapathId,
        /// How it is to be corrected.
        wish: ProfileWish,
        /// Whether nothing is to change.
        is_dry: bool,
    },
    /// Say which contracts what the source of this flow was seen to send keeps. Its switch is
    /// asked anew.
    SuggestContract(String),
    /// Forget a switch that is away and will not come back, with its links.
    ForgetSwitch(DatapathId),
    /// Show switches, ports, links and hosts.
    View,
    /// List the rules of a switch: those that it should have, and whether it has
    /// them, and those that it has beside them.
    Rules(DatapathId),
    /// Compare the rules of this switch, or of all, with what they should be, and
    /// mend them.
    Reconcile(Option<DatapathId>),
    /// Show how the controller goes about its work.
    Settings,
    Configure(SettingsChange),
    /// Show in which mode the network is.
    Mode,
    /// Change that, or what may change it.
    SetMode(ModeChange),
    Statistics,
    /// Find paths. Nothing is reserved.
    Paths(PathQuery),
    /// Name a host, or say anew what is known of it.
    SetHost(StaticHost),
    Load(Manifest),
    /// Unload the application with this name, with its rules and intents.
    Unload(String),
    /// Let the application with this name begin anew; its rules stay.
    Reload(String),
    Applications,
    /// Forget the host with this name. A frame of it makes it known again.
    RemoveHost(String),
    /// Accept these intents, one by one, in this order.
    AddIntents(Vec<Intent>),
    /// End the intent with this name.
    RemoveIntent(String),
    Intents,
    /// Be a router like this from now on, or no longer, while `sdn-ip` is loaded.
    ConfigureSdnIp(Option<Box<SdnIp>>),
    /// Take changes of routes, at most [`MAX_ROUTE_CHANGES`]. Who asks has at most two of
    /// these unanswered.
    ChangeRoutes {
        changes: Vec<RouteChange>,
        part: RoutePart,
    },
    /// List the routes behind this prefix, in the order of prefixes, at most so many and at
    /// most [`MAX_ROUTES_AT_ONCE`].
    RoutesAfter {
        after: Option<IpPrefix>,
        most: usize,
    },
    /// Show how the network is as a router.
    RoutingStatus,
    /// Take in whether the speaker is heard.
    SpeakerState(SpeakerState),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// To [`Request::Admit`] and [`Request::AdmitTogether`]: one decision for each
    /// requirement, in order, once all are made and kept by the store; to
    /// [`Request::WhatIf`] what they would be.
    Decisions(Vec<Decision>),
    /// To [`Request::MakeRoom`]: the name of the flow that goes another way, once what it had
    /// reserved before is free; nothing if there is room already or none was found.
    RoomMade(Option<String>),
    /// To [`Request::Withdraw`]: the flow is gone from the store; its entries
    /// are on their way out.
    Withdrawn(FlowId),
    /// To [`Request::Prepare`]: the switches with the budgets that there are.
    Budgets(Box<Fitted>),
    /// To [`Request::AssignClasses`]: a class for each flow, in their order.
    Classes(Vec<u8>),
    /// To [`Request::Flows`] and [`Request::FlowsAfter`], by number; to
    /// [`Request::Flow`] with one flow.
    Flows(Vec<FlowSummary>),
    /// To [`Request::Topology`].
    Topology(TopologyCount),
    /// To [`Request::Promises`].
    Promises(Box<Promises>),
    /// To [`Request::Profiles`].
    Profiles(Vec<SwitchProfile>),
    /// To [`Request::CorrectProfile`]: the profile, adopted if the store has kept it.
    ProfileOffered(Box<ProfileOffer>),
    /// To [`Request::CorrectProfile`]: why not; nothing has changed.
    ProfileRefused(ProfileRefusal),
    /// To [`Request::SuggestContract`].
    ContractSuggested(Box<ContractSuggestion>),
    /// To [`Request::SuggestContract`]: no switch counts what its source sends.
    ContractUnseen,
    /// To [`Request::ForgetSwitch`]: it is forgotten until it connects again.
    Forgotten,
    StillConnected(DatapathId),
    /// No switch that is known has this datapath id.
    UnknownSwitch(DatapathId),
    /// To [`Request::View`]: a copy that nothing changes.
    View(Box<View>),
    /// To [`Request::Rules`].
    Rules(Vec<RuleSummary>),
    /// To [`Request::Reconcile`]: it has begun.
    Reconciling {
        /// How many switches are compared.
        switches: usize,
    },
    /// To [`Request::Settings`], and to [`Request::Configure`] once the store has kept
    /// them: the settings now.
    Settings(Settings),
    /// To [`Request::Mode`], and to [`Request::SetMode`] once the switch that was asked
    /// has answered; nothing if the network has no modes.
    Mode(Option<Box<ModeReport>>),
    /// To [`Request::SetMode`]: why not; nothing has changed.
    ModeRefused(ModeRefusal),
    /// To [`Request::Statistics`].
    Statistics(Box<Statistics>),
    /// Who asks was not granted it; nothing has changed.
    Denied {
        application: String,
        needs: Permission,
    },
    /// To [`Request::SetHost`]: it is known.
    HostSet,
    /// To [`Request::RemoveHost`]: it is forgotten.
    HostRemoved,
    /// To [`Request::SetHost`] and [`Request::RemoveHost`]; nothing has changed.
    HostRefused(HostRefusal),
    /// No host has this name.
    UnknownHost(String),
    /// To [`Request::Load`]: the store has kept it.
    Loaded(ApplicationId),
    /// To [`Request::Load`]: why not; nothing has changed.
    ApplicationRefused(String),
    /// To [`Request::Unload`].
    Unloaded,
    /// To [`Request::Reload`].
    Reloaded,
    /// To [`Request::Applications`].
    Applications(Vec<ApplicationSummary>),
    /// No application has this name.
    UnknownApplication(String),
    /// To [`Request::HopsAfter`], by number.
    Hops(Vec<FlowHops>),
    /// No flow has this name.
    UnknownFlow(String),
    /// The store could not keep the change; nothing has changed.
    NotStored,
    /// Too many requests wait already; nothing has changed.
    Busy,
    /// The store has not told all yet that it kept: ask again after
    /// [`Event::Ready`]. Nothing has changed.
    Starting,
    /// To [`Request::Paths`].
    Paths(Result<Vec<FoundPath>, NoPath>),
    /// To [`Request::AddIntents`]: one decision for each intent, in order, once all
    /// are made and kept by the store.
    IntentDecisions(Vec<IntentDecision>),
    /// To [`Request::RemoveIntent`]: the intent is gone from the store; its rules are
    /// on their way out.
    IntentRemoved(IntentId),
    /// No intent of this name is there, or it is somebody else's.
    UnknownIntent(String),
    /// To [`Request::Intents`].
    Intents(Vec<IntentSummary>),
    /// To [`Request::ConfigureSdnIp`].
    SdnIpConfigured,
    /// To [`Request::ConfigureSdnIp`]: why not; nothing has changed.
    SdnIpRefused(SdnIpError),
    /// To requests about routes: `sdn-ip` is not loaded, or has no settings.
    NotRouting,
    /// To [`Request::ChangeRoutes`], once all are looked at.
    RoutesChanged(RoutesChanged),
    /// To [`Request::ChangeRoutes`]: there are too many in it; nothing has changed.
    TooManyRouteChanges,
    /// To [`Request::RoutesAfter`].
    Routes(Vec<RoutedPrefix>),
    /// To [`Request::RoutingStatus`].
    RoutingStatus(Box<RoutingStatus>),
    /// To [`Request::SpeakerState`].
    SpeakerNoted,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// All together, since the start.
    pub counters: Counters,
    /// The frames that switches have handed over since the start, by class.
    pub frames: Vec<ClassCount>,
    /// The switches that are connected.
    pub switches: Vec<SwitchStatistics>,
}

/// What was counted of one switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchStatistics {
    pub datapath: DatapathId,
    /// The frames that it has handed over since it is connected, by class.
    pub frames: Vec<ClassCount>,
    /// How many entries it should have.
    pub wanted_entries: usize,
    /// What it last said of its ports.
    pub ports: Vec<PortStatistics>,
    /// What it last said of its tables.
    pub tables: Vec<TableStatistics>,
    /// What it last said of the entries of flows, by the flow.
    pub flows: BTreeMap<FlowId, FlowCount>,
}

/// Whether a requirement is met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is, and a promise is given.
    Accepted(Accepted),
    Refused {
        /// The name of the requirement.
        name: String,
        reason: Refusal,
    },
}

/// A flow in a list.
pub type FlowSummary = api::FlowSummary<Requirement>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopologyCount {
    /// The switches that are connected.
    pub switches: usize,
    /// The links that are up, between switches that are connected.
    pub links: usize,
    /// The hosts whose port is known.
    pub hosts: usize,
    /// The flows that are admitted.
    pub flows: usize,
}

/// All promises and what they rest on, as a copy that nothing changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promises {
    /// The stages of the network, what is reserved there, and for whom.
    pub ledger: Ledger,
    /// The same at each level of criticality above the lowest, the lowest of them first.
    pub levels: Vec<Ledger>,
    /// Where each stage is, by its number.
    pub places: Vec<LedgerPlace>,
    /// The links whose failures are provided for, by the number of the failure.
    pub failures: Vec<LinkEnds>,
    /// The flows that have a promise, in the order of their numbers. What the
    /// ledger holds beside them are the controller's own probes.
    pub flows: Vec<PromisedFlow>,
}

/// A flow that has a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromisedFlow {
    pub id: FlowId,
    pub name: String,
    /// Its number in the ledger.
    pub reservation: ReservationId,
    /// The longest delay on any way that it may take.
    pub guarantee: Delay,
    /// The same at each level of criticality, the lowest first; nothing at those that
    /// give it up.
    pub at_levels: Vec<Option<Delay>>,
}

/// What an application requires of the network for one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Its name, unique among all flows.
    pub name: String,
    /// The name of the host that sends.
    pub source: String,
    /// The names of the hosts that receive.
    pub destinations: Vec<String>,
    /// How its frames are recognised, beside the source's port and address.
    pub matching: FlowMatch,
    /// The queue in which it travels: 7 is the most urgent, 0 best effort.
    pub class: u8,
    /// Whether it may have another one where a promise is refused in this: the least urgent
    /// in which its deadline can be kept. Of a flow that was admitted it is not asked again.
    pub is_class_free: bool,
    /// Whether it is refused where its source would have to be trusted to keep its contract.
    /// Of a flow that was admitted it is not asked again.
    pub must_be_enforced: bool,
    /// What becomes of frames that exceed its contract, where that is policed.
    pub excess: ExceedAction,
    /// What it never exceeds, sizes as they occupy the wire.
    pub traffic: Traffic,
    /// How late a frame may be; `None` for best effort.
    pub deadline: Option<Delay>,
    /// What happens when a link breaks.
    pub protection: Protection,
    /// What it says of the levels of criticality; `None` if it is as on the lowest at
    /// all of them.
    pub modes: Option<Arc<ModalFlow>>,
}

/// What a flow never exceeds: in every window of length `t`, at most
/// `rate * t + burst` of data leaves the source's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    pub rate: BitRate,
    /// The amount by which it may exceed the rate at any time.
    pub burst: DataSize,
    pub largest_frame: DataSize,
    pub smallest_frame: DataSize,
    /// How many frames it is, if that is known better than by their sizes.
    pub frames: Option<FrameBucket>,
}

impl Traffic {
    /// Returns whether whoever keeps `other` keeps this, too.
    #[must_use]
    pub fn grants(&self, other: &Self) -> bool {
        let is_enough = self.rate >= other.rate && self.burst >= other.burst;
        let fits = self.largest_frame >= other.largest_frame
            && self.smallest_frame <= other.smallest_frame;
        is_enough && fits
    }
}
