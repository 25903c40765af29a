//! What the controller tells without being asked, and how that travels together
//! with its replies.

use std::net::IpAddr;

use units::{Duration, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, ErrorKind};

use crate::desired::{Outcome, Subject};
use crate::place::{LinkEnds, PortId};

use super::{
    ApplicationId, FlowId, IntentId, IntentState, ModeNotice, Promise, Reply, RequestId, Travels,
};

/// What the controller tells without being asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Mode(ModeNotice),
    /// All that the store kept is known: from now on requests are decided.
    Ready,
    /// The store holds a switch that cannot be read. It is left alone.
    SwitchUnreadable {
        datapath: DatapathId,
    },
    /// A switch is connected, and its ports are known.
    SwitchConnected {
        datapath: DatapathId,
        /// How many ports it has.
        ports: usize,
    },
    /// The connection of a switch is gone.
    SwitchLost {
        datapath: DatapathId,
    },
    /// A switch is not heard, and none of its neighbours that are has an echo of it any
    /// more: it does not forward. Its links are lost.
    SwitchGone {
        datapath: DatapathId,
    },
    /// Another controller is the master of a switch. Nothing is written there until this
    /// one is started again, and told to take over.
    OtherMaster {
        datapath: DatapathId,
    },
    /// A second connection claimed to be a switch that is connected; it was
    /// closed.
    DuplicateSwitch {
        datapath: DatapathId,
    },
    /// A link was found, or is back.
    LinkFound {
        link: LinkEnds,
    },
    LinkLost {
        link: LinkEnds,
        detection: Detection,
    },
    /// A link is lost again and again; it is taken to be down for a while, also if
    /// it is not, so that flows do not move forever.
    LinkFlaps {
        link: LinkEnds,
        wait: Duration,
    },
    /// Probes say that there is a link where hosts are, though no port and no
    /// switch came up: somebody relays them. The link is not believed.
    LinkDoubted {
        link: LinkEnds,
    },
    /// The port of a host is known.
    HostFound {
        name: String,
        port: PortId,
    },
    /// A host appeared at another port.
    HostMoved {
        name: String,
        from: PortId,
        to: PortId,
    },
    /// An application was loaded while the controller ran, or by the store.
    ApplicationLoaded {
        id: ApplicationId,
        name: String,
    },
    /// An application was unloaded, and its rules and intents with it.
    ApplicationUnloaded {
        id: ApplicationId,
        name: String,
    },
    /// The IP addresses of a host are others now.
    HostAddressed {
        name: String,
        addresses: Vec<IpAddr>,
    },
    HostRemoved {
        name: String,
    },
    /// The store holds a host that cannot be read, or whose name is that of another
    /// one. It is left alone.
    HostUnusable {
        mac: MacAddress,
    },
    /// Frames of a host come in at several ports alternately, or elsewhere than
    /// where somebody has said that it is: it loops, or its address is forged. It
    /// is not believed for a while.
    HostDoubted {
        name: String,
        /// Where the last of them came in.
        at: PortId,
        /// Where the host is taken to be.
        stays: PortId,
    },
    /// More stations appear behind a port than reactive forwarding has room for: many
    /// hosts, or addresses that somebody makes up. Told once a minute for a port.
    StationsCrowded {
        port: PortId,
    },
    /// A host claims an IP address that another one has and keeps.
    AddressDisputed {
        address: IpAddr,
        /// The name of the host that has it.
        holder: String,
        /// The name of the host that claims it.
        claimant: String,
    },
    /// A flow is in force: the store has kept its admission.
    Admitted {
        flow: FlowId,
        name: String,
    },
    /// A flow is no more.
    Withdrawn {
        flow: FlowId,
        name: String,
    },
    /// Every switch on the way of a flow has confirmed its entries.
    Installed {
        flow: FlowId,
    },
    /// A switch refused an entry.
    EntryRefused {
        datapath: DatapathId,
        /// The flow, if the entry was one of a flow.
        flow: Option<FlowId>,
        error: ErrorKind,
    },
    /// The precomputed entries for a broken link follow; the next outputs are
    /// what is sent to the switches.
    RestorationStarted {
        link: LinkEnds,
        /// When the message that reported it arrived.
        detected_at: Instant,
    },
    /// All entries have been handed over; nothing more is sent for this link.
    RestorationSent {
        link: LinkEnds,
        /// When the message that reported it arrived.
        detected_at: Instant,
        /// How many flows were moved.
        flows: usize,
        /// How many entries were sent.
        flow_mods: usize,
    },
    /// Every switch has confirmed the entries that were sent for a broken link.
    Restored {
        link: LinkEnds,
        /// When the message that reported it arrived.
        detected_at: Instant,
        /// When the last confirmation arrived.
        confirmed_at: Instant,
        /// How many flows were moved.
        flows: usize,
        /// How many entries were sent.
        flow_mods: usize,
        /// How many switches got some.
        switches: usize,
    },
    /// Flows are back on the way on which they were admitted.
    Returned {
        flows: usize,
    },
    /// The promise of a flow stands otherwise than before.
    PromiseChanged {
        flow: FlowId,
        promise: Promise,
        /// Which way the flow takes now.
        travels: Travels,
    },
    /// Delay budgets were chosen anew, and with them the guarantees of flows: all are
    /// within their deadlines, and each flow tells its own.
    GuaranteesMoved {
        /// How many flows have another guarantee than before.
        flows: usize,
        /// How many times as long as stated every processor may take with no deadline
        /// missed, in thousandths.
        slowdown_thousandths: u32,
    },
    /// A flow was decided upon anew, as one of its hosts has moved, and is in
    /// force again.
    Readmitted {
        flow: FlowId,
    },
    /// Links that carry promises are broken at the same time. A promise covers
    /// one: none is in force until all but one are back.
    PromisesSuspended {
        broken: usize,
    },
    /// Promises are in force again.
    PromisesResumed,
    /// A switch was given exactly the entries that it should have.
    Synchronised {
        datapath: DatapathId,
        /// How many entries it lacked.
        added: usize,
        /// How many it had in excess.
        removed: usize,
    },
    /// A switch had other entries than it should, and has those now.
    Mended {
        datapath: DatapathId,
        /// How many entries it lacked.
        added: usize,
        /// How many it had otherwise.
        changed: usize,
        /// How many it had in excess.
        removed: usize,
    },
    /// A switch was looked at again after it was mended: it has what it should
    /// have.
    Consistent {
        datapath: DatapathId,
    },
    /// A switch was mended several times in a row, and has not what it should
    /// have. It is left until the next round.
    NotMended {
        datapath: DatapathId,
        /// How many entries it lacks.
        lacking: usize,
        /// How many it has otherwise.
        different: usize,
        /// How many it has in excess.
        excess: usize,
    },
    /// A switch says entries in words of its own, even after they were written
    /// over. Its words are taken for them from now on. Told once a connection.
    Dialect {
        datapath: DatapathId,
        entries: usize,
    },
    /// A switch refuses an entry again and again; it is not asked any more until
    /// it comes back or a reconciliation is asked for.
    GivenUp {
        datapath: DatapathId,
        subject: Subject,
        error: ErrorKind,
    },
    /// The rules of an intent or an application are in force, or are not.
    RulesSettled {
        subject: Subject,
        outcome: Outcome,
    },
    /// The store holds an admission that cannot be read. It is left alone.
    RecordUnreadable {
        flow: FlowId,
    },
    /// The store holds settings that cannot be read. They are left alone.
    SettingsUnreadable,
    /// An intent is in another state than before.
    IntentChanged {
        intent: IntentId,
        name: String,
        state: IntentState,
    },
    /// The store holds an intent that cannot be read. It is left alone.
    IntentUnreadable {
        intent: IntentId,
    },
}

/// Something that the controller said, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub at: Instant,
    pub what: Saying,
}

/// What a controller says to those around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saying {
    Notice(Event),
    /// The answer to a request.
    Reply(RequestId, Reply),
}

/// How the loss of a link was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// A switch reported that one of its ports lost the carrier.
    PortStatus,
    Silence,
    /// One of its ports is joined to another one now.
    Recabled,
}
