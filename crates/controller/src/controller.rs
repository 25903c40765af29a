//! The controller core: takes what happened, says what to do.
//!
//! Nothing is decided here. Each input goes to the module whose concern it is:
//!
//! | what happens | where it is handled |
//! |---|---|
//! | a connection, a message, a switch that comes or goes | `southbound` |
//! | applications that come and go | `applications` |
//! | a frame that a switch hands over | `frames` |
//! | a request | `requests`, `together`, `listing` |
//! | a record of the store | `memory` |
//! | rules that somebody wants | `desired`, `moves` |
//! | rules that a switch refuses | `refusals` |
//! | rules that a switch has or has not | `reconciliation`, `repairs`, `inspection` |
//! | words of version 1.0 | `translation` |
//! | a link that is found or lost | `links` |
//! | a switch that is not heard | `echoes` |
//! | a switch that has another master | `mastery` |
//! | how promises stand | `promises` |
//! | a host that is found | `whereabouts` |
//! | a host that is named or removed | `naming` |
//! | a host that moves | `mobility` |
//! | a host whose cable is out | `ageing` |
//! | a question for paths | `paths` |
//! | what else is programmed, and what it needs when the network changes | `intents`, `upkeep` |
//! | settings that are changed | `settings` |
//! | criticality modes | `modes` |
//! | time | `timers` |

mod adoption;
mod ageing;
mod applications;
mod desired;
mod echoes;
mod frames;
mod inspection;
mod intents;
mod leaving;
mod links;
mod listing;
mod mastery;
mod memory;
mod mobility;
mod modes;
mod names;
mod naming;
mod paths;
mod proactive;
mod promises;
mod rearrangement;
mod reconciliation;
mod refusals;
mod repairs;
mod requests;
mod settings;
mod southbound;
mod staged_updates;
mod timers;
mod together;
mod translation;
mod upkeep;
mod ways;
mod whereabouts;

use std::collections::{BTreeMap, BTreeSet};

use units::Instant;
use wire::openflow::{DatapathId, TransactionId};

use crate::admission::Reservations;
use crate::applications::Applications;
use crate::config::{Config, Metric, Timers};
use crate::confirmation::Confirmations;
use crate::desired::{Desired, EntryOwner};
use crate::discovery::Prober;
use crate::echoes::Echoes;
use crate::flows::Flows;
use crate::forwarding::Forwarding;
use crate::hosts::Hosts;
use crate::hosts::contests::Contests;
use crate::intents::Intents;
use crate::inventory::Inventory;
use crate::link_trust::LinkTrust;
use crate::mastery::Claim;
use crate::northbound::Counters;
use crate::northbound::{Asker, FlowId, Request, RequestId};
use crate::outbox::{Outbox, Output};
use crate::packet_in_classes::{Budgets, PacketInClasses};
use crate::path::Atlas;
use crate::place::LinkEnds;
use crate::routes::Flood;
use crate::session::{ConnectionId, Sessions, Slot};
use crate::store::StoreEvent;
use crate::view::View;
use crate::ways::KnownWays;

use ageing::{Strangers, Unplugged};
use applications::Loading;
use intents::IntentDesk;
use leaving::Leaving;
use links::{Operation, Restoring};
use memory::Memory;
use modes::ModeDesk;
use naming::HostDesk;
use promises::Judging;
use reconciliation::Reconciliation;
use refusals::Refusals;
use requests::Desk;
use settings::SettingsDesk;
use staged_updates::{StagedUpdates, Unasked};
use timers::Schedule;

/// What the controller may be told.
#[derive(Debug)]
pub enum Input<'a> {
    /// A connection was opened; the peer should be a switch.
    Connected(ConnectionId),
    Received {
        connection: ConnectionId,
        bytes: &'a [u8],
    },
    Disconnected(ConnectionId),
    Stored(StoreEvent),
    Request {
        /// By which its reply is known.
        id: RequestId,
        by: Asker,
        request: Request,
    },
    /// Nothing happened, but [`Controller::deadline`] has come.
    Timeout,
}

/// The controller. Knows no clock, no socket and no file.
///
/// Drive it in a loop: call [`handle`](Self::handle) with one input, then
/// [`poll`](Self::poll) until it returns `None`, then wait for the next input or
/// for [`deadline`](Self::deadline), whichever comes first. Outputs are to be
/// carried out in the order in which they come: what is sent between
/// [`RestorationStarted`](crate::northbound::Event::RestorationStarted) and
/// [`RestorationSent`](crate::northbound::Event::RestorationSent) is the
/// restoration, so a driver with a clock can measure it.
#[derive(Debug)]
pub struct Controller {
    now: Instant,
    /// The application that forwards what no flow claims, if one is to.
    forwarding: Option<Forwarding>,
    applications: Applications,
    /// Applications that wait for the store.
    loading: Loading,
    seed: u64,
    metric: Metric,
    timers: Timers,
    schedule: Schedule,
    sessions: Sessions,
    /// What is claimed of switches.
    claim: Claim,
    /// The switches of which another controller is the master.
    others: BTreeSet<DatapathId>,
    outbox: Outbox,
    view: View,
    hosts: Hosts,
    host_desk: HostDesk,
    /// Who else claims to be hosts that frames do not move.
    contests: Contests,
    unplugged: Unplugged,
    strangers: Strangers,
    prober: Prober,
    link_trust: LinkTrust,
    echoes: Echoes,
    /// How many switches were not heard when that was last looked at.
    suspects: usize,
    judging: Judging,
    flows: Flows,
    /// The ways that were found for flows in the network as it is.
    known_ways: KnownWays,
    desired: Desired,
    reservations: Reservations,
    desk: Desk,
    leaving: Leaving,
    intents: Intents,
    intent_desk: IntentDesk,
    settings_desk: SettingsDesk,
    modes: ModeDesk,
    /// The network as the searches for intents see it, by this metric.
    atlas: Option<(Metric, Atlas)>,
    is_proactive: bool,
    /// By which ports proactive routes send what goes to all.
    flood: Flood,
    /// Whether what was kept is known.
    memory: Memory,
    /// When the network has been found after the start.
    settled_at: Instant,
    /// What the store knows of the network.
    inventory: Inventory,
    confirmations: Confirmations<Operation>,
    moves: StagedUpdates,
    unasked: Unasked,
    refusals: Refusals,
    reconciliation: Reconciliation,
    /// Bundles that failed, whose errors may still arrive.
    refused_bundles: BTreeSet<(Slot, TransactionId)>,
    /// The break that is being made up for.
    restoring: Option<Restoring>,
    /// Flows whose prepared entries were sent and are not in the desired state
    /// yet.
    unrecorded: BTreeSet<FlowId>,
    /// Those whose entries are to be looked at, as a switch was given what it lacked.
    unsettled: BTreeSet<EntryOwner>,
    /// The links that went down and did not come back.
    broken: BTreeSet<LinkEnds>,
    /// The links that flows from the store rely on and that are not confirmed
    /// yet, with the time since when they could have been.
    expected: BTreeMap<LinkEnds, Option<Instant>>,
    counters: Counters,
    /// What a switch of version 1.0 has said, in words of 1.3; kept for its memory.
    heard: Vec<u8>,
    /// The frames of switches whose connections are gone.
    punts: PacketInClasses,
    /// What is taken of the frames that switches hand over.
    budgets: Budgets,
}

impl Controller {
    /// Starts with no connection, and with nothing decided until the store has
    /// [told all](StoreEvent::Replayed) that it kept.
    ///
    /// # Panics
    ///
    /// If two hosts of the configuration share a name or an address, its
    /// applications cannot be loaded together, or a stage is beyond the limits of [`calculus::admission`].
    #[must_use]
    pub fn new(now: Instant, config: Config) -> Self {
        let mut view = View::default();
        let reservations = Reservations::new(&config);
        let strangers = Strangers::new(config.switches.keys().copied());
        let mut controller = Self {
            now,
            forwarding: None,
            applications: Applications::configured(config.applications)
                .unwrap_or_else(|error| panic!("the configuration cannot be: {error}")),
            loading: Loading::default(),
            seed: config.seed,
            metric: config.metric,
            timers: config.timers,
            schedule: Schedule::new(now, &config.timers),
            sessions: Sessions::default(),
            claim: config.claim,
            others: BTreeSet::new(),
            outbox: Outbox::default(),
            prober: Prober::new(config.probe_key, config.seed),
            link_trust: LinkTrust::default(),
            echoes: Echoes::default(),
            suspects: 0,
            judging: Judging::new(now),
            flows: Flows::default(),
            known_ways: KnownWays::default(),
            desired: Desired::default(),
            reservations,
            hosts: Hosts::new(config.hosts, &mut view),
            view,
            host_desk: HostDesk::default(),
            contests: Contests::default(),
            unplugged: Unplugged::default(),
            strangers,
            desk: Desk::default(),
            leaving: Leaving::default(),
            intents: Intents::default(),
            intent_desk: IntentDesk::default(),
            settings_desk: SettingsDesk::default(),
            modes: ModeDesk::new(now, config.modes, (config.probe_key, config.seed)),
            atlas: None,
            is_proactive: false,
            flood: Flood::new(),
            memory: Memory::Incomplete,
            settled_at: now,
            inventory: Inventory::default(),
            confirmations: Confirmations::default(),
            moves: StagedUpdates::default(),
            unasked: Unasked::default(),
            refusals: Refusals::default(),
            reconciliation: Reconciliation::new(config.foreign_rules),
            refused_bundles: BTreeSet::new(),
            restoring: None,
            unrecorded: BTreeSet::new(),
            unsettled: BTreeSet::new(),
            broken: BTreeSet::new(),
            expected: BTreeMap::new(),
            counters: Counters::default(),
            heard: Vec::new(),
            punts: PacketInClasses::new(now),
            budgets: Budgets::LEARNING,
        };
        controller.follow_applications();
        controller
    }

    /// Takes one input, at the time it happened.
    ///
    /// # Panics
    ///
    /// If `now` is earlier than in an earlier call.
    pub fn handle(&mut self, now: Instant, input: Input<'_>) {
        assert!(now >= self.now, "time ran backwards");
        self.now = now;
        // What the store keeps at once is asked about at once.
        let is_stored = matches!(input, Input::Stored(_));
        if !is_stored {
            self.ask_now();
        }
        if self.restoring.is_some() {
            match input {
                Input::Timeout => self.restore_some(),
                _ => self.restore_rest(),
            }
            if self.restoring.is_some() {
                return self.translate();
            }
        }
        match input {
            Input::Connected(connection) => self.connected(connection),
            Input::Received { connection, bytes } => self.received(connection, bytes),
            Input::Disconnected(connection) => self.disconnected(connection),
            Input::Stored(event) => self.stored(event),
            Input::Request { id, by, request } => self.requested(id, &by, request),
            Input::Timeout if self.desk.is_deciding() => self.decide_some(),
            Input::Timeout => {
                self.record_some();
                self.guard_some();
            }
        }
        if self.restoring.is_some() {
            return self.translate();
        }
        if now >= self.deadline() {
            self.keep_time();
        }
        self.release_some();
        self.judge_some();
        if !is_stored {
            self.ask_now();
            self.translate();
        }
    }

    /// Returns the next thing to do, or `None` once all is done.
    pub fn poll(&mut self) -> Option<Output<'_>> {
        if !self.unasked.is_empty() {
            self.ask_now();
        }
        self.translate();
        self.outbox.pop()
    }

    /// Returns when to call [`handle`](Self::handle) if nothing happens before.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        let unrecorded = (!self.unrecorded.is_empty()).then_some(self.now);
        let unguarded = self.flows.has_altered().then_some(self.now);
        let unsettled = (!self.unsettled.is_empty()).then_some(self.now);
        let unfinished = (self.desk.is_deciding() || self.restoring.is_some()).then_some(self.now);
        let others = [
            unrecorded,
            unguarded,
            unsettled,
            unfinished,
            self.moves.deadline(),
            self.refusals.deadline(),
            self.intents_deadline(),
            self.reconciliation.deadline(),
            self.modes.deadline(),
            self.judging.deadline(self.now),
            self.leaving.deadline(),
        ];
        let due = self.schedule.deadline();
        others.into_iter().flatten().fold(due, Instant::min)
    }

    /// Returns the network as it is known.
    #[must_use]
    pub const fn view(&self) -> &View {
        &self.view
    }

    /// Returns what was counted since the start.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }
}
