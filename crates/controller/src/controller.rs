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
mod context;
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
mod network;
mod owners;
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
mod tables;
mod timers;
mod together;
mod topology;
mod translation;
mod upkeep;
mod ways;
mod whereabouts;

use units::Instant;

use crate::admission::Reservations;
use crate::config::Config;
use crate::northbound::Counters;
use crate::northbound::{Asker, Request, RequestId};
use crate::outbox::Output;
use crate::session::ConnectionId;
use crate::store::StoreEvent;
use crate::view::View;

use applications::Loading;
use context::Context;
use intents::Programs;
use links::Recovery;
use modes::ModeDesk;
use naming::HostDesk;
use network::Network;
use owners::Owners;
use promises::Promises;
use settings::SettingsDesk;
use southbound::Southbound;
use tables::Tables;
use topology::Topology;

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
    ctx: Context,
    network: Network,
    recovery: Recovery,
    modes: ModeDesk,
    promises: Promises,
    programs: Programs,
    southbound: Southbound,
    host_desk: HostDesk,
    /// Applications that wait for the store.
    loading: Loading,
    settings_desk: SettingsDesk,
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
        let ctx = Context::new(now, &config);
        let reservations = Reservations::with(&config, ctx.parameters.clone());
        let mut controller = Self {
            ctx,
            promises: Promises::new(now, reservations),
            network: Network {
                topology: Topology::new(
                    config.hosts,
                    config.switches.keys().copied(),
                    (config.probe_key, config.seed),
                ),
                owners: Owners::new(config.applications),
                tables: Tables::new(config.foreign_rules),
            },
            recovery: Recovery::default(),
            modes: ModeDesk::new(now, config.modes, (config.probe_key, config.seed)),
            programs: Programs::new(),
            southbound: Southbound::new(now, config.claim),
            host_desk: HostDesk::default(),
            loading: Loading::default(),
            settings_desk: SettingsDesk::default(),
        };
        controller
            .loading
            .follow_applications(&mut controller.ctx, &mut controller.network);
        controller
    }

    /// Takes one input, at the time it happened.
    ///
    /// # Panics
    ///
    /// If `now` is earlier than in an earlier call.
    pub fn handle(&mut self, now: Instant, input: Input<'_>) {
        assert!(now >= self.ctx.now, "time ran backwards");
        self.ctx.now = now;
        // What the store keeps at once is asked about at once.
        let is_stored = matches!(input, Input::Stored(_));
        if !is_stored {
            self.ask_unless_deciding();
        }
        if self.recovery.restoring.is_some() {
            match input {
                Input::Timeout => self.recovery.restore_some(&mut self.ctx, &mut self.network),
                _ => self.recovery.restore_rest(&mut self.ctx, &mut self.network),
            }
            if self.recovery.restoring.is_some() {
                return self.translate();
            }
        }
        match input {
            Input::Connected(connection) => self.connected(connection),
            Input::Received { connection, bytes } => self.received(connection, bytes),
            Input::Disconnected(connection) => self.disconnected(connection),
            Input::Stored(event) => self.stored(event),
            Input::Request { id, by, request } => self.requested(id, &by, request),
            Input::Timeout if self.promises.desk.is_deciding() => {
                self.promises
                    .decide_some(&mut self.ctx, &mut self.network, &self.modes)
            }
            Input::Timeout => {
                self.network.tables.record_some(&self.network.owners);
                self.network.guard_some(&mut self.ctx);
            }
        }
        if self.recovery.restoring.is_some() {
            return self.translate();
        }
        if now >= self.deadline() {
            self.keep_time();
        }
        self.promises
            .release_some(&mut self.ctx, &mut self.network, &self.modes);
        self.promises.judge_some(&mut self.ctx, &mut self.network);
        if !is_stored {
            self.ask_unless_deciding();
            self.translate();
        }
    }

    /// Has each switch asked once to confirm all that it was sent: of a request that is
    /// decided in slices, when all of it is.
    fn ask_unless_deciding(&mut self) {
        if !self.promises.desk.is_deciding() {
            self.network
                .tables
                .ask_now(&mut self.ctx, &mut self.network.owners);
        }
    }

    /// Returns the next thing to do, or `None` once all is done.
    pub fn poll(&mut self) -> Option<Output<'_>> {
        self.ask_unless_deciding();
        self.translate();
        self.ctx.outbox.pop()
    }

    /// Returns when to call [`handle`](Self::handle) if nothing happens before.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        let unrecorded = (!self.network.tables.unrecorded.is_empty()).then_some(self.ctx.now);
        let unguarded = self
            .network
            .owners
            .flows
            .has_altered()
            .then_some(self.ctx.now);
        let unsettled = (!self.network.tables.unsettled.is_empty()).then_some(self.ctx.now);
        let unfinished = (self.promises.desk.is_deciding() || self.recovery.restoring.is_some())
            .then_some(self.ctx.now);
        let others = [
            unrecorded,
            unguarded,
            unsettled,
            unfinished,
            self.network.tables.moves.deadline(),
            self.network.tables.refusals.deadline(),
            self.network.owners.intents_deadline(&self.ctx),
            self.network.tables.reconciliation.deadline(),
            self.modes.deadline(self.ctx.are_modes_stale),
            self.promises
                .judging
                .deadline(self.ctx.now, self.ctx.are_promises_stale),
            self.network.owners.leaving.deadline(),
        ];
        let due = self.ctx.schedule.deadline();
        others.into_iter().flatten().fold(due, Instant::min)
    }

    /// Returns the network as it is known.
    #[must_use]
    pub const fn view(&self) -> &View {
        &self.network.topology.view
    }

    /// Returns what was counted since the start.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.ctx.counters
    }
}
