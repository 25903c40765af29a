//! What the controller tells without being asked.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PlaceDocument;
use super::flow::{PromiseDocument, TravelsDocument};

/// Something that happened. As a server-sent event, its number is the `id:`, its
/// kind the `event:`, and this document the `data:`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventDocument {
    /// Its number, counted since the controller started.
    pub id: u64,
    /// When, in nanoseconds since the beginning of 1970.
    pub at_ns: u64,
    /// What.
    #[serde(flatten)]
    pub what: EventKind,
}

/// Events that happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventsDocument {
    /// The latest last.
    pub events: Vec<EventDocument>,
}

/// What happened. Flows have both a number and, where it is known, a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum EventKind {
    /// All that the store kept is known: from now on requests are decided.
    Ready,
    /// The store holds a switch that cannot be read. It is left alone.
    SwitchUnreadable {
        /// Its datapath id.
        datapath: String,
    },
    /// A switch is connected, and its ports are known.
    SwitchConnected {
        /// Its datapath id.
        datapath: String,
        /// Its name.
        name: String,
        /// How many ports it has.
        ports: usize,
    },
    /// The connection of a switch is gone.
    SwitchLost {
        /// Its datapath id.
        datapath: String,
        /// Its name.
        name: String,
    },
    /// A switch is not heard, and no neighbour has an echo of it any more: it does not
    /// forward. Its links are lost.
    SwitchGone {
        /// Its datapath id.
        datapath: String,
        /// Its name.
        name: String,
    },
    /// Another controller is the master of a switch: nothing is written there.
    OtherMaster {
        /// Its datapath id.
        datapath: String,
        /// Its name.
        name: String,
    },
    /// A second connection claimed to be a switch that is connected; it was closed.
    DuplicateSwitch {
        /// Its datapath id.
        datapath: String,
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
        link: String,
    },
    /// A link is gone.
    LinkLost {
        /// Its id.
        link: String,
        /// How that was noticed: `port-status`, `silence` or `recabled`.
        detection: String,
    },
    /// A link is lost again and again, and is taken to be down for a while.
    LinkFlaps {
        /// Its id.
        link: String,
        /// For how long.
        wait_ns: u64,
    },
    /// Probes say that there is a link where hosts are; it is not believed.
    LinkDoubted {
        /// Its id.
        link: String,
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
        at: PlaceDocument,
    },
    /// A host appeared at another port.
    HostMoved {
        /// Its name.
        name: String,
        /// Its port before.
        from: PlaceDocument,
        /// Its port now.
        to: PlaceDocument,
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
        mac: String,
    },
    /// A host is seen elsewhere than where it is: it loops, or its address is
    /// forged. It is not believed for a while.
    HostDoubted {
        /// Its name.
        name: String,
        /// Where a frame of it came in.
        at: PlaceDocument,
        /// Where it is taken to be.
        stays: PlaceDocument,
    },
    /// More stations appear behind a port than reactive forwarding has room for: many
    /// hosts, or addresses that somebody makes up. Told once a minute for a port.
    StationsCrowded {
        /// Which.
        at: PlaceDocument,
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
    /// A flow is in force.
    Admitted {
        /// Its number.
        flow: u32,
        /// Its name.
        name: String,
    },
    /// A flow is no more.
    Withdrawn {
        /// Its number.
        flow: u32,
        /// Its name.
        name: String,
    },
    /// Every switch on the way of a flow has confirmed its entries.
    Installed {
        /// Its number.
        flow: u32,
        /// Its name, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// A switch refused an entry.
    EntryRefused {
        /// Its datapath id.
        datapath: String,
        /// The number of the flow, if the entry was one of a flow.
        flow: Option<u32>,
        /// Its name, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Why.
        error: String,
    },
    /// The precomputed entries for a broken link are about to be sent.
    RestorationStarted {
        /// The link's id.
        link: String,
    },
    /// The precomputed entries for a broken link have been sent.
    RestorationSent {
        /// The link's id.
        link: String,
        /// How many flows were moved.
        flows: usize,
        /// How many entries were sent.
        flow_mods: usize,
    },
    /// Every switch has confirmed the entries that were sent for a broken link.
    Restored {
        /// The link's id.
        link: String,
        /// From the message that reported it to the last confirmation.
        took_ns: u64,
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
        flow: u32,
        /// Its name, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// How it stands now.
        #[serde(flatten)]
        promise: PromiseDocument,
        /// Which way the flow takes now.
        travels: TravelsDocument,
    },
    /// Delay budgets were chosen anew, and with them guarantees: all are within deadlines.
    GuaranteesMoved {
        /// How many flows have another guarantee than before.
        flows: usize,
        /// How many times as long as stated every processor may take with no deadline
        /// missed, in thousandths.
        slowdown_thousandths: u32,
    },
    /// A flow was decided upon anew, as one of its hosts has moved.
    Readmitted {
        /// Its number.
        flow: u32,
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
        datapath: String,
        /// How many entries it lacked.
        added: usize,
        /// How many it had in excess.
        removed: usize,
    },
    /// A switch had other entries than it should, and has those now.
    Mended {
        /// Its datapath id.
        datapath: String,
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
        datapath: String,
    },
    /// A switch was mended several times in a row and has not what it should have.
    NotMended {
        /// Its datapath id.
        datapath: String,
        /// How many entries it lacks.
        lacking: usize,
        /// How many it has otherwise.
        different: usize,
        /// How many it has in excess.
        excess: usize,
    },
    /// A switch says entries in words of its own, which are taken for them from now
    /// on.
    Dialect {
        /// Its datapath id.
        datapath: String,
        /// How many entries.
        entries: usize,
    },
    /// A switch refuses an entry again and again; it is not asked any more until it
    /// comes back or a reconciliation is asked for.
    GivenUp {
        /// Its datapath id.
        datapath: String,
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
        flow: u32,
    },
    /// The store holds settings that cannot be read. They are left alone.
    SettingsUnreadable,
    /// An intent is in another state than before.
    IntentChanged {
        /// Its number.
        intent: u32,
        /// Its name.
        name: String,
        /// How far it is: `installed`, `installing`, `waiting` or `failed`.
        state: String,
        /// Why it waits or has failed.
        reason: Option<String>,
    },
    /// The store holds an intent that cannot be read. It is left alone.
    IntentUnreadable {
        /// Its number.
        intent: u32,
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
        change_ns: u64,
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
    },
    /// Signals of modes did not count.
    ModeSignalsRefused {
        /// The place of the last one.
        at: PlaceDocument,
        /// Why: `forged`, `misplaced`, `replayed` or `malformed`.
        reason: String,
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

impl EventKind {
    /// The kind of the notice that events are missing.
    pub const GAP: &'static str = "gap";
    /// Returns the number of the flow that it is about, and where its name goes, where
    /// the controller does not say it.
    pub fn unnamed_flow(&mut self) -> Option<(u32, &mut Option<String>)> {
        match self {
            Self::Installed { flow, name }
            | Self::PromiseChanged { flow, name, .. }
            | Self::Readmitted { flow, name } => Some((*flow, name)),
            Self::EntryRefused { flow, name, .. } => flow.map(|flow| (flow, name)),
            _ => None,
        }
    }

    /// The names of all kinds.
    pub const NAMES: [&'static str; 56] = [
        "ready",
        "switch-unreadable",
        "switch-connected",
        "switch-lost",
        "switch-gone",
        "other-master",
        "duplicate-switch",
        "connection-closed",
        "link-found",
        "link-lost",
        "host-found",
        "host-moved",
        "host-addressed",
        "link-flaps",
        "link-doubted",
        "application-loaded",
        "application-unloaded",
        "host-removed",
        "host-unusable",
        "host-doubted",
        "stations-crowded",
        "address-disputed",
        "admitted",
        "withdrawn",
        "installed",
        "entry-refused",
        "restoration-started",
        "restoration-sent",
        "restored",
        "returned",
        "promise-changed",
        "guarantees-moved",
        "readmitted",
        "promises-suspended",
        "promises-resumed",
        "synchronised",
        "mended",
        "consistent",
        "not-mended",
        "dialect",
        "given-up",
        "rules-settled",
        "record-unreadable",
        "settings-unreadable",
        "intent-changed",
        "intent-unreadable",
        "mode-entered",
        "mode-violation",
        "mode-signals-refused",
        "mode-incomplete",
        "mode-complete",
        "mode-refused",
        "mode-rewritten",
        "store-failed",
        "store-recovered",
        "gap",
    ];

    /// Returns the name by which a client may ask for this kind alone.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::SwitchUnreadable { .. } => "switch-unreadable",
            Self::SwitchConnected { .. } => "switch-connected",
            Self::SwitchLost { .. } => "switch-lost",
            Self::SwitchGone { .. } => "switch-gone",
            Self::OtherMaster { .. } => "other-master",
            Self::DuplicateSwitch { .. } => "duplicate-switch",
            Self::ConnectionClosed { .. } => "connection-closed",
            Self::LinkFound { .. } => "link-found",
            Self::LinkLost { .. } => "link-lost",
            Self::HostFound { .. } => "host-found",
            Self::HostMoved { .. } => "host-moved",
            Self::HostAddressed { .. } => "host-addressed",
            Self::LinkFlaps { .. } => "link-flaps",
            Self::LinkDoubted { .. } => "link-doubted",
            Self::ApplicationLoaded { .. } => "application-loaded",
            Self::ApplicationUnloaded { .. } => "application-unloaded",
            Self::HostRemoved { .. } => "host-removed",
            Self::HostUnusable { .. } => "host-unusable",
            Self::HostDoubted { .. } => "host-doubted",
            Self::StationsCrowded { .. } => "stations-crowded",
            Self::AddressDisputed { .. } => "address-disputed",
            Self::Admitted { .. } => "admitted",
            Self::Withdrawn { .. } => "withdrawn",
            Self::Installed { .. } => "installed",
            Self::EntryRefused { .. } => "entry-refused",
            Self::RestorationStarted { .. } => "restoration-started",
            Self::RestorationSent { .. } => "restoration-sent",
            Self::Restored { .. } => "restored",
            Self::Returned { .. } => "returned",
            Self::PromiseChanged { .. } => "promise-changed",
            Self::GuaranteesMoved { .. } => "guarantees-moved",
            Self::Readmitted { .. } => "readmitted",
            Self::PromisesSuspended { .. } => "promises-suspended",
            Self::PromisesResumed => "promises-resumed",
            Self::Synchronised { .. } => "synchronised",
            Self::Mended { .. } => "mended",
            Self::Consistent { .. } => "consistent",
            Self::NotMended { .. } => "not-mended",
            Self::Dialect { .. } => "dialect",
            Self::GivenUp { .. } => "given-up",
            Self::RulesSettled { .. } => "rules-settled",
            Self::RecordUnreadable { .. } => "record-unreadable",
            Self::SettingsUnreadable => "settings-unreadable",
            Self::IntentChanged { .. } => "intent-changed",
            Self::IntentUnreadable { .. } => "intent-unreadable",
            Self::ModeEntered { .. } => "mode-entered",
            Self::ModeViolation { .. } => "mode-violation",
            Self::ModeSignalsRefused { .. } => "mode-signals-refused",
            Self::ModeIncomplete { .. } => "mode-incomplete",
            Self::ModeComplete { .. } => "mode-complete",
            Self::ModeRefused { .. } => "mode-refused",
            Self::ModeRewritten { .. } => "mode-rewritten",
            Self::StoreFailed { .. } => "store-failed",
            Self::StoreRecovered => "store-recovered",
            Self::Gap { .. } => "gap",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::flow::PromiseState;
    use super::*;

    #[test]
    fn every_kind_is_among_the_names() {
        let schema = schemars::schema_for!(EventKind).to_value();

        let kinds = schema["oneOf"].as_array().unwrap().iter();
        let kinds = kinds.map(|kind| kind["properties"]["kind"]["const"].as_str().unwrap());
        let kinds: BTreeSet<_> = kinds.collect();

        assert_eq!(kinds, BTreeSet::from(EventKind::NAMES));
    }

    #[test]
    fn an_event_is_one_flat_object_and_comes_back() {
        let event = EventDocument {
            id: 7,
            at_ns: 8,
            what: EventKind::PromiseChanged {
                flow: 3,
                name: Some("trip".to_owned()),
                promise: PromiseDocument {
                    promise: PromiseState::Unknown,
                    promise_since_ns: 5,
                    promise_cause: Some("switch s3 is not heard".to_owned()),
                },
                travels: TravelsDocument::Alternative {
                    without: "1:2-2:1".to_owned(),
                },
            },
        };

        let text = serde_json::to_string(&event).unwrap();

        assert_eq!(
            text,
            r#"{"id":7,"at_ns":8,"kind":"promise-changed","flow":3,"name":"trip","promise":"unknown","promise_since_ns":5,"promise_cause":"switch s3 is not heard","travels":{"way":"alternative","without":"1:2-2:1"}}"#
        );
        assert_eq!(serde_json::from_str::<EventDocument>(&text).unwrap(), event);
        assert!(text.contains(&format!(r#""kind":"{}""#, event.what.name())));
    }
}
