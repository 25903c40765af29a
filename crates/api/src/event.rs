//! What the controller tells without being asked.
//!
//! Who adds an event writes it here, with its kind, its words in `words`, and tells it where it
//! happens: documents, the client and the description of the interface follow.

mod words;

use std::fmt;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::DatapathId;
use wire::openflow::taktos::{ExceedAction, SignalFault};

use crate::flow::{FlowId, Promise, Travels};
use crate::intent::{IntentId, IntentState};
use crate::place::{LinkEnds, Place};
use crate::profile::{HopDoubt, ProcessorProfile};

/// Something that happened. As a server-sent event, its number is the `id:`, its
/// kind the `event:`, and this document the `data:`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EventDocument")]
pub struct Occurrence {
    /// Its number, counted since the controller started.
    pub id: u64,
    /// When, in nanoseconds since the beginning of 1970.
    #[serde(rename = "at_ns")]
    #[schemars(with = "u64")]
    pub at: Instant,
    /// What.
    #[serde(flatten)]
    pub what: Event,
}

/// Events that happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EventsDocument")]
pub struct Occurrences {
    /// The latest last.
    pub events: Vec<Occurrence>,
}

/// What happened. Switches and flows have a number and, where it is known, a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[schemars(rename = "EventKind")]
pub enum Event {
    /// All that the store kept is known: from now on requests are decided.
    Ready,
    /// The store holds a switch that cannot be read. It is left alone.
    SwitchUnreadable {
        /// Its datapath id.
        #[schemars(with = "String")]
        datapath: DatapathId,
    },
    /// A switch is connected, and its ports are known.
    SwitchConnected {
        /// Its datapath id.
        #[schemars(with = "String")]
        datapath: DatapathId,
        /// Its name.
        name: String,
        /// How many ports it has.
        ports: usize,
    },
    /// The connection of a switch is gone.
    SwitchLost {
        /// Its datapath id.
        #[schemars(with = "String")]
        datapath: DatapathId,
        /// Its name.
        name: String,
    },
    /// A switch is not heard, and none of its neighbours that are has an echo of it any more:
    /// it does not forward. Its links are lost.
    SwitchGone {
        /// Its datapath id.
        #[schemars(with = "String")]
        datapath: DatapathId,
        /// Its name.
        name: String,
    },
    /// Another controller is the master of a switch: nothing is written there until this one
    /// is started again, and told to take over.
    OtherMaster {
        /// Its datapath id.
        #[schemars(with = "String")]
        datapath: DatapathId,
        /// Its name.
        name: String,
    },
    /// A second connection claimed to be a switch that is connected; it was closed.
    DuplicateSwitch {
        /// Its datapath id.
        #[schemars(with = "String")]
        datapath: DatapathId,
        /// Its name.
        name: String,
    },
    /// The controller closed a connection.
    ConnectionClosed {
        /// The address at the other end.
        peer: String,
        /// Why.
        reason: String,
    },
    /// A link was found, or is back.
    LinkFound {
        /// Its id.
        link: LinkEnds,
    },
    /// A link is gone.
    LinkLost {
        /// Its id.
        link: LinkEnds,
        /// How that was noticed: `port-status`, `silence` or `recabled`.
        detection: Detection,
    },
    /// A link is lost again and again; it is taken to be down for a while, also if it is not,
    /// so that flows do not move forever.
    LinkFlaps {
        /// Its id.
        link: LinkEnds,
        /// For how long.
        #[serde(rename = "wait_ns")]
        #[schemars(with = "u64")]
        wait: Duration,
    },
    /// Probes say that there is a link where hosts are, though no port and no switch came up:
    /// somebody relays them. It is not believed.
    LinkDoubted {
        /// Its id.
        link: LinkEnds,
    },
    /// An application was loaded.
    ApplicationLoaded {
        /// Its name.
        name: String,
    },
    /// An application was unloaded, and its rules and intents with it.
    ApplicationUnloaded {
        /// Its name.
        name: String,
    },
    /// The port of a host is known.
    HostFound {
        /// Its name.
        name: String,
        /// Its port.
        at: Place,
    },
    /// A host appeared at another port.
    HostMoved {
        /// Its name.
        name: String,
        /// Its port before.
        from: Place,
        /// Its port now.
        to: Place,
    },
    /// The IP addresses of a host are others now.
    HostAddressed {
        /// Its name.
        name: String,
        /// Its addresses.
        addresses: Vec<IpAddr>,
    },
    /// A host was removed.
    HostRemoved {
        /// Its name.
        name: String,
    },
    /// The store holds a host that cannot be read, or whose name is that of another
    /// one. It is left alone.
    HostUnusable {
        /// Its address.
        #[schemars(with = "String")]
        mac: MacAddress,
    },
    /// Frames of a host come in at several ports alternately, or elsewhere than where somebody
    /// has said that it is: it loops, or its address is forged. It is not believed for a
    /// while.
    HostDoubted {
        /// Its name.
        name: String,
        /// Where a frame of it came in.
        at: Place,
        /// Where it is taken to be.
        stays: Place,
    },
    /// More stations appear behind a port than reactive forwarding has room for: many
    /// hosts, or addresses that somebody makes up. Told once a minute for a port.
    StationsCrowded {
        /// Which.
        at: Place,
    },
    /// A host claims an IP address that another one has and keeps.
    AddressDisputed {
        /// The address.
        address: IpAddr,
        /// The name of the host that has it.
        holder: String,
        /// The name of the host that claims it.
        claimant: String,
    },
    /// A flow is in force: the store has kept its admission.
    Admitted {
        /// Its number.
        flow: FlowId,
        /// Its name.
        name: String,
    },
    /// A flow is no more.
    Withdrawn {
        /// Its number.
        flow: FlowId,
        /// Its name.
        name: String,
    },
    /// Every switch on the way of a flow has confirmed its entries.
    Installed {
        /// Its number.
        flow: FlowId,
        /// Its name, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// A switch refused an entry.
    EntryRefused {
        /// Its datapath id.
        #[schemars(with = "String")]
        datapath: DatapathId,
        /// The number of the flow, if the entry was one of a flow.
        flow: Option<FlowId>,
        /// Its name, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Why.
        error: String,
    },
    /// The precomputed entries for a broken link are about to be sent.
    RestorationStarted {
        /// The link's id.
        link: LinkEnds,
        /// When the message that reported it arrived.
        #[serde(skip)]
        detected_at: Instant,
    },
    /// The precomputed entries for a broken link have been sent.
    RestorationSent {
        /// The link's id.
        link: LinkEnds,
        /// When the message that reported it arrived.
        #[serde(skip)]
        detected_at: Instant,
        /// How many flows were moved.
        flows: usize,
        /// How many entries were sent.
        flow_mods: usize,
    },
    /// Every switch has confirmed the entries that were sent for a broken link.
    Restored {
        /// The link's id.
        link: LinkEnds,
        /// When the message that reported it arrived.
        #[serde(skip)]
        detected_at: Instant,
        /// From the message that reported it to the last confirmation.
        #[serde(rename = "took_ns")]
        #[schemars(with = "u64")]
        took: Duration,
        /// How many flows were moved.
        flows: usize,
        /// How many entries were sent.
        flow_mods: usize,
        /// How many switches got some.
        switches: usize,
    },
    /// Flows are back on the way on which they were admitted.
    Returned {
        /// How many.
        flows: usize,
    },
    /// The promise of a flow stands otherwise than before.
    PromiseChanged {
        /// The number of the flow.
        flow: FlowId,
        /// Its name, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// How it stands now.
        #[serde(flatten)]
        promise: Promise,
        /// Which way the flow takes now.
        travels: Travels,
    },
    /// Delay budgets were chosen anew, and with them guarantees: all are within deadlines but
    /// those of flows that are told to be late.
    GuaranteesMoved {
        /// How many flows have another guarantee than before.
        flows: usize,
        /// How many times as long as stated every processor may take with no deadline
        /// missed, in thousandths.
        slowdown_thousandths: u32,
    },
    /// Frames of a flow exceeded its contract, and were dropped where they came in, or went
    /// on as best effort.
    ContractExceeded {
        /// Its number.
        flow: FlowId,
        /// Its name, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The host that sends it.
        source: String,
        /// Where they came in.
        at: Place,
        /// How many since this was told last.
        frames: u64,
        /// How many since its entry is there.
        frames_in_all: u64,
        /// What became of them.
        #[serde(default)]
        #[schemars(with = "String", extend("enum" = ["drop", "best-effort"]))]
        excess: ExceedAction,
    },
    /// Frames of a flow stayed longer at a hop than its budget there.
    HopExceeded {
        /// Its number.
        flow: FlowId,
        /// Its name, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The switch, and the port by which they left.
        at: Place,
        /// How long they may stay.
        #[serde(rename = "budget_ns")]
        #[schemars(with = "u64")]
        budget: Duration,
        /// The longest stay since this was told last.
        #[serde(rename = "longest_ns")]
        #[schemars(with = "u64")]
        longest: Duration,
        /// How many stayed too long since then.
        frames: u64,
    },
    /// One of the two ways of a flow brings too few copies of its frames, or too many: nothing
    /// is lost by that, but the next failure may lose something. Told once a minute.
    CopiesMissing {
        /// Its number.
        flow: FlowId,
        /// Its name.
        name: String,
        /// The name of the switch at which the ways meet.
        switch: String,
        /// How many frames were handed on there since it was looked before.
        passed: u64,
        /// How many copies of them came.
        copies: u64,
    },
    /// Frames stayed at a switch for longer than its profile explains.
    ProfileContradicted {
        /// The number of the flow that stayed too long first.
        flow: FlowId,
        /// Its name, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The switch, and the port by which they left.
        at: Place,
        /// How long they may stay by the profile, with all that may come there.
        #[serde(rename = "explained_ns")]
        #[schemars(with = "u64")]
        explained: Duration,
        /// How long they stayed at most.
        #[serde(rename = "longest_ns")]
        #[schemars(with = "u64")]
        longest: Duration,
        /// Whether nothing but the switch can be why: what came to it is known.
        certain: bool,
    },
    /// A switch said of frames what cannot be. It is not believed. Told once for each kind
    /// while its connection stands.
    SwitchDoubted {
        /// Its datapath id.
        #[schemars(with = "String")]
        datapath: DatapathId,
        /// Its name.
        name: String,
        /// What.
        doubt: HopDoubt,
    },
    /// A switch is taken to be slower from now on.
    ProfileAdopted {
        /// Its datapath id.
        #[schemars(with = "String")]
        datapath: DatapathId,
        /// Its name.
        name: String,
        /// What its processor is taken to be.
        #[serde(flatten)]
        processor: ProcessorProfile,
        /// How many flows may be late.
        late: usize,
    },
    /// The store holds a profile of a switch that cannot be read, or with which what is
    /// promised cannot be carried. It is left alone.
    ProfileUnusable {
        /// Its datapath id.
        #[schemars(with = "String")]
        datapath: DatapathId,
        /// Its name.
        name: String,
    },
    /// A flow was decided upon anew, as one of its hosts has moved or it goes another way.
    Readmitted {
        /// Its number.
        flow: FlowId,
        /// Its name, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Links that carry promises are broken at the same time: no promise is in
    /// force until all but one are back.
    PromisesSuspended {
        /// How many are broken.
        broken: usize,
    },
    /// Promises are in force again.
    PromisesResumed,
    /// A switch was given exactly the entries that it should have.
    Synchronised {
        /// Its datapath id.
        #[schemars(with = "String")]
        datapath: DatapathId,
        /// How many entries it lacked.
        added: usize,
        /// How many it had in excess.
        removed: usize,
    },
    /// A switch had other entries than it should, and has those now.
    Mended {
        /// Its datapath id.
        #[schemars(with = "String")]
        datapath: DatapathId,
        /// How many entries it lacked.
        added: usize,
        /// How many it had otherwise.
        changed: usize,
        /// How many it had in excess.
        removed: usize,
    },
    /// A switch was looked at again after it was mended: it has what it should have.
    Consistent {
        /// Its datapath id.
        #[schemars(with = "String")]
        datapath: DatapathId,
    },
    /// A switch was mended several times in a row and has not what it should have.
    NotMended {
        /// Its datapath id.
        #[schemars(with = "String")]
        datapath: DatapathId,
        /// How many entries it lacks.
        lacking: usize,
        /// How many it has otherwise.
        different: usize,
        /// How many it has in excess.
        excess: usize,
    },
    /// A switch says entries in words of its own, even after they were written over; its
    /// words are taken for them from now on. Told once a connection.
    Dialect {
        /// Its datapath id.
        #[schemars(with = "String")]
        datapath: DatapathId,
        /// How many entries.
        entries: usize,
    },
    /// A switch refuses an entry again and again; it is not asked any more until it
    /// comes back or a reconciliation is asked for.
    GivenUp {
        /// Its datapath id.
        #[schemars(with = "String")]
        datapath: DatapathId,
        /// Whose entry: `intent 3`, `application 1`.
        subject: String,
        /// Why.
        error: String,
    },
    /// The rules of an intent or an application are in force, or are not.
    RulesSettled {
        /// Whose: `intent 3`, `application 1`.
        subject: String,
        /// What became of them: `confirmed`, or why they are not in force.
        outcome: String,
    },
    /// The store holds an admission that cannot be read. It is left alone.
    RecordUnreadable {
        /// The number of the flow.
        flow: FlowId,
    },
    /// The store holds settings that cannot be read. They are left alone.
    SettingsUnreadable,
    /// An intent is in another state than before.
    IntentChanged {
        /// Its number.
        intent: IntentId,
        /// Its name.
        name: String,
        /// How far it is, and why it waits or has failed.
        #[serde(flatten)]
        state: IntentState,
    },
    /// The store holds an intent that cannot be read. It is left alone.
    IntentUnreadable {
        /// Its number.
        intent: IntentId,
    },
    /// Routes of other networks have changed. Told at most once a second.
    RoutesChanged {
        /// How many were announced, or have another next hop.
        announced: u64,
        /// How many were withdrawn.
        withdrawn: u64,
        /// How many were not taken.
        refused: u64,
    },
    /// As many routes were taken as settings or tables have room for; others are refused.
    RouteQuotaReached {
        /// How many.
        limit: u32,
    },
    /// A route comes and goes, and is not used for a while. Told at most once a second.
    RoutesDamped {
        /// How many such routes there are now.
        damped: u32,
    },
    /// It is known where a next hop of routes is.
    NextHopResolved {
        /// Its address.
        next_hop: IpAddr,
        /// The address of its interface.
        #[schemars(with = "String")]
        mac: MacAddress,
        /// Its port.
        at: Place,
    },
    /// A next hop of routes does not answer any more, or its port is down.
    NextHopLost {
        /// Its address.
        next_hop: IpAddr,
    },
    /// The BGP speaker is not heard: its routes are kept for a while.
    SpeakerLost {
        /// For how long.
        #[serde(rename = "kept_ns")]
        #[schemars(with = "u64")]
        kept: Duration,
    },
    /// The BGP speaker is heard.
    SpeakerBack,
    /// The BGP speaker was not heard for too long: its routes are withdrawn.
    StaleRoutesWithdrawn {
        /// How many.
        routes: u64,
    },
    /// A switch has entered another criticality mode.
    ModeEntered {
        /// Its name.
        switch: String,
        /// The level that is agreed on.
        level: String,
        /// How often that was lowered.
        era: u32,
        /// The level that is served.
        served: String,
        /// The switch where the mode began.
        origin: String,
        /// From the frame that caused it to the new level, by the clock of the switch.
        #[serde(rename = "change_ns")]
        #[schemars(with = "u64")]
        change: Duration,
        /// When it changed, by the clock of the switch.
        #[serde(skip)]
        changed: Instant,
    },
    /// A flow demands more than the lowest level.
    ModeViolation {
        /// The switch that watches it.
        switch: String,
        /// The flow.
        flow: String,
        /// The level that it asks for.
        level: String,
        /// Whether it keeps no contract at all.
        beyond: bool,
        /// How often since it was last told.
        times: u64,
        /// When it was noticed, by the clock of the switch.
        #[serde(skip)]
        detected: Instant,
    },
    /// Signals of modes did not count.
    ModeSignalsRefused {
        /// The place of the last one.
        at: Place,
        /// Why: `forged`, `misplaced`, `replayed` or `malformed`.
        #[serde(rename = "reason")]
        #[schemars(with = "String")]
        fault: SignalFault,
        /// How many since it was last told.
        times: u64,
    },
    /// A switch does not serve the level that is agreed on: its entries are not
    /// complete.
    ModeIncomplete {
        /// Its name.
        switch: String,
        /// The level that is agreed on.
        level: String,
        /// The level that is served.
        served: String,
    },
    /// The entries of all levels are at a switch.
    ModeComplete {
        /// Its name.
        switch: String,
    },
    /// A switch refused something about modes.
    ModeRefused {
        /// Its name.
        switch: String,
        /// Why.
        reason: String,
    },
    /// All switches have the entries of another level, which the controller wrote.
    ModeRewritten {
        /// The level.
        level: String,
        /// When the controller began to write them.
        #[serde(skip)]
        begun: Instant,
    },
    /// The store failed; what was to be kept has not been done.
    StoreFailed {
        /// What it says.
        reason: String,
    },
    /// The store that failed works again.
    StoreRecovered,
    /// Events are missing before this one: more happened than is kept for clients
    /// that come back, or than this client took in time.
    Gap {
        /// How many are missing at most; nothing if that is not known.
        missed: Option<u64>,
    },
}

/// How the loss of a link was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Detection {
    /// A switch reported that one of its ports lost the carrier.
    PortStatus,
    /// Probes and echoes do not arrive.
    Silence,
    /// One of its ports is joined to another one now.
    Recabled,
}

impl fmt::Display for Detection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PortStatus => "port-status",
            Self::Silence => "silence",
            Self::Recabled => "recabled",
        })
    }
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// Switches and their connections.
    Switches,
    /// Links, and so the ways of everything.
    Links,
    /// Hosts, and so the ways of what goes to them.
    Hosts,
    /// Flows and their promises.
    Flows,
    /// The rules of switches, and intents.
    Rules,
    /// Routes of other networks, and the speaker that learns them.
    Routes,
    /// Criticality modes, and so anything that flows get.
    Modes,
    /// The controller itself, or anything: something was missed.
    Anything,
}

macro_rules! kinds {
    ($($about:ident: $($variant:ident $kind:literal),*;)*) => {
        impl Event {
            /// The names of all kinds.
            pub const KINDS: &'static [&'static str] = &[$($($kind),*),*];

            /// Returns the name by which a client may ask for this kind alone.
            #[must_use]
            pub const fn kind(&self) -> &'static str {
                match self {
                    $($(Self::$variant { .. } => $kind,)*)*
                }
            }

            /// Returns what it is about.
            #[must_use]
            pub const fn about(&self) -> About {
                match self {
                    $($(Self::$variant { .. })|* => About::$about,)*
                }
            }
        }
    };
}

kinds! {
    Switches:
        SwitchUnreadable "switch-unreadable",
        SwitchConnected "switch-connected",
        SwitchLost "switch-lost",
        SwitchGone "switch-gone",
        OtherMaster "other-master",
        DuplicateSwitch "duplicate-switch",
        ProfileContradicted "profile-contradicted",
        ProfileAdopted "profile-adopted",
        ProfileUnusable "profile-unusable",
        SwitchDoubted "switch-doubted",
        ConnectionClosed "connection-closed";
    Links:
        LinkFound "link-found",
        LinkLost "link-lost",
        LinkFlaps "link-flaps",
        LinkDoubted "link-doubted",
        RestorationStarted "restoration-started",
        RestorationSent "restoration-sent",
        Restored "restored",
        Returned "returned",
        PromisesSuspended "promises-suspended",
        PromisesResumed "promises-resumed";
    Hosts:
        HostFound "host-found",
        HostMoved "host-moved",
        HostAddressed "host-addressed",
        HostRemoved "host-removed",
        HostUnusable "host-unusable",
        HostDoubted "host-doubted",
        StationsCrowded "stations-crowded",
        AddressDisputed "address-disputed";
    Flows:
        Admitted "admitted",
        Withdrawn "withdrawn",
        Installed "installed",
        PromiseChanged "promise-changed",
        GuaranteesMoved "guarantees-moved",
        ContractExceeded "contract-exceeded",
        HopExceeded "hop-exceeded",
        CopiesMissing "copies-missing",
        Readmitted "readmitted",
        RecordUnreadable "record-unreadable";
    Rules:
        EntryRefused "entry-refused",
        Synchronised "synchronised",
        Mended "mended",
        Consistent "consistent",
        NotMended "not-mended",
        Dialect "dialect",
        GivenUp "given-up",
        RulesSettled "rules-settled",
        IntentChanged "intent-changed",
        IntentUnreadable "intent-unreadable";
    Routes:
        RoutesChanged "routes-changed",
        RouteQuotaReached "route-quota-reached",
        RoutesDamped "routes-damped",
        NextHopResolved "next-hop-resolved",
        NextHopLost "next-hop-lost",
        SpeakerLost "speaker-lost",
        SpeakerBack "speaker-back",
        StaleRoutesWithdrawn "stale-routes-withdrawn";
    Modes:
        ModeEntered "mode-entered",
        ModeViolation "mode-violation",
        ModeSignalsRefused "mode-signals-refused",
        ModeIncomplete "mode-incomplete",
        ModeComplete "mode-complete",
        ModeRefused "mode-refused",
        ModeRewritten "mode-rewritten";
    Anything:
        Ready "ready",
        ApplicationLoaded "application-loaded",
        ApplicationUnloaded "application-unloaded",
        SettingsUnreadable "settings-unreadable",
        StoreFailed "store-failed",
        StoreRecovered "store-recovered",
        Gap "gap";
}

impl Event {
    /// The kind of the notice that events are missing.
    pub const GAP: &'static str = "gap";

    /// Moves the moments in it that documents show from one clock to another.
    pub fn move_moments(&mut self, moved: impl Fn(Instant) -> Instant) {
        if let Self::PromiseChanged { promise, .. } = self {
            promise.since = moved(promise.since);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::flow::{Cause, PromiseState};

    #[test]
    fn every_kind_is_among_the_names() {
        let schema = schemars::schema_for!(Event).to_value();

        let kinds = schema["oneOf"].as_array().unwrap().iter();
        let kinds = kinds.map(|kind| kind["properties"]["kind"]["const"].as_str().unwrap());
        let kinds: BTreeSet<_> = kinds.collect();

        assert_eq!(kinds, Event::KINDS.iter().copied().collect());
    }

    #[test]
    fn an_event_is_one_flat_object_and_comes_back() {
        let event = Occurrence {
            id: 7,
            at: Instant::from_ns(8),
            what: Event::PromiseChanged {
                flow: FlowId(3),
                name: Some("trip".to_owned()),
                promise: Promise {
                    state: PromiseState::Unknown,
                    since: Instant::from_ns(5),
                    cause: Some(Cause::Said("switch s3 is not heard".to_owned())),
                },
                travels: Travels::Alternative {
                    without: "1:2-2:1".parse().unwrap(),
                },
            },
        };

        let text = serde_json::to_string(&event).unwrap();

        assert_eq!(
            text,
            r#"{"id":7,"at_ns":8,"kind":"promise-changed","flow":3,"name":"trip","promise":"unknown","promise_since_ns":5,"promise_cause":"switch s3 is not heard","travels":{"way":"alternative","without":"1:2-2:1"}}"#
        );
        assert_eq!(serde_json::from_str::<Occurrence>(&text).unwrap(), event);
        assert!(text.contains(&format!(r#""kind":"{}""#, event.what.kind())));
    }

    #[test]
    fn what_happened_is_told_in_words() {
        let link = "1:2-2:1".parse().unwrap();
        let lost = Event::LinkLost {
            link,
            detection: Detection::Silence,
        };
        let restored = Event::Restored {
            link,
            detected_at: Instant::ZERO,
            took: Duration::from_us(1_250),
            flows: 1,
            flow_mods: 4,
            switches: 2,
        };

        assert_eq!(lost.to_string(), "link 1:2-2:1 lost (silence)");
        assert_eq!(
            restored.to_string(),
            "1 flow moved away from link 1:2-2:1 in 1.25 ms, 2 switches confirmed it"
        );
        assert_eq!(restored.about(), About::Links);
    }
}
