//! The controller core: takes what happened, says what to do.
//!
//! Nothing is decided here. Each input goes to the part whose concern it is:
//!
//! | part | what it keeps, and does | where |
//! |---|---|---|
//! | `Context` | time, settings, connections, what goes out | `context`, `names` |
//! | `Topology` | what is known of the network | `topology`, `suspects` |
//! | `Owners` | who has entries: flows, intents, applications | `owners`, `leaving`, `stale_intents` |
//! | `Tables` | what the tables of switches should be | `tables`, `staged_updates`, `refusals`, `reconciliation`, `claims`, `repairs`, `inspection` |
//! | `Network` | the three before, and what concerns all of them | `network`, `adoption` |
//! | `Recovery` | what is done about links that break and come back | `recovery` |
//! | `ModeDesk` | criticality modes | `mode_control` |
//! | `Promises` | who is promised what, and how promises stand | `requests`, `together`, `flow_ways`, `rearrangement`, `second_ways`, `mobility`, `promises`, `listing`, `paths`, `hops`, `profile_watch`, `correction`, `contracts`, `copy_watch` |
//! | `Programs` | what else is programmed, as the network changes | `programs`, `upkeep`, `proactive` |
//! | `Routing` | routes of other networks, and what leads packets along them | `routing` |
//! | `Southbound` | how we speak with switches | `southbound` |
//! | `HostDesk` | hosts that are named, removed or gone | `naming`, `ageing` |
//! | `Loading` | applications that come and go | `loading` |
//! | `SettingsDesk` | settings that are changed | `settings` |
//!
//! A part owns its state and is given those above it in this table, never one below: so no
//! part waits for another that waits for it, and `&` and `&mut` say who writes what. What
//! the parts above are to be told goes through what they keep: a flow or an intent notes
//! what became of its entries in `Owners`, and that promises or modes are to be looked at
//! again is a mark in `Context`.
//!
//! What concerns nearly all parts is dispatched by the controller itself: what switches say
//! (`messages`, `frames`, `translation`, `other_masters`), records of the store (`memory`),
//! hosts that are found (`whereabouts`) and time (`timers`).

mod adoption;
mod ageing;
mod claims;
mod context;
mod contracts;
mod copy_watch;
mod correction;
mod flow_ways;
mod frames;
mod hops;
mod inspection;
mod leaving;
mod listing;
mod loading;
mod memory;
mod messages;
mod mobility;
mod mode_control;
mod names;
mod naming;
mod neighbours;
mod network;
mod other_masters;
mod owners;
mod paths;
pub(crate) mod policing;
mod proactive;
mod profile_watch;
mod programs;
mod promises;
mod rearrangement;
mod reconciliation;
mod recovery;
mod refusals;
mod repairs;
mod requests;
mod routing;
mod second_ways;
mod settings;
mod southbound;
mod staged_updates;
mod stale_intents;
mod suspects;
mod tables;
mod timers;
mod together;
mod topology;
mod translation;
mod upkeep;
mod whereabouts;

use context::Context;
use loading::Loading;
use mode_control::ModeDesk;
use naming::HostDesk;
use network::Network;
use owners::Owners;
use programs::Programs;
use promises::Promises;
use recovery::Recovery;
use routing::Routing;
use settings::SettingsDesk;
use southbound::Southbound;
use tables::{Operation, Tables};
use topology::Topology;
use units::Instant;

use crate::admission::Reservations;
use crate::config::Config;
use crate::mastery::Standing;
use crate::northbound::{
    ApplicationKind, Asker, Counters, FlowId, MAX_FLOWS_AT_ONCE, Reply, Request, RequestId,
};
use crate::outbox::Output;
use crate::session::ConnectionId;
use crate::store::{Epoch, StoreEvent};
use crate::view::View;

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
    /// This instance of a cluster leads from now on, in this epoch: its records come next,
    /// unless it led before.
    Lead(Epoch),
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
    routing: Routing,
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
            promises: Promises::new(now, reservations, &config),
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
            routing: Routing::new(now),
            southbound: Southbound::new(now, config.claim),
            host_desk: HostDesk::default(),
            loading: Loading::default(),
            settings_desk: SettingsDesk::default(),
        };
        Loading::follow_applications(&mut controller.ctx, &mut controller.network);
        controller
    }

    /// Starts as an instance of a cluster: it stands by until it is to [lead](Input::Lead).
    /// When it leads no more, another one takes its place.
    ///
    /// # Panics
    ///
    /// As [`new`](Self::new).
    #[must_use]
    pub fn stand_by(now: Instant, config: Config) -> Self {
        let mut controller = Self::new(now, config);
        controller.southbound.standing = Standing::Standby;
        controller
    }

    /// Returns the latest term that a switch knows beyond that in which this instance leads:
    /// it has been replaced, or its office has to be claimed anew.
    #[must_use]
    pub const fn later_term(&self) -> Option<u64> {
        self.southbound.later_term
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
            Input::Lead(epoch) => self.lead(epoch),
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
        self.promises
            .look_for_second_ways(&mut self.ctx, &mut self.network);
        self.network.follow_policing(&mut self.ctx);
        if !is_stored {
            self.ask_unless_deciding();
            self.translate();
        }
    }

    /// Has each switch asked once to confirm all that it was sent: of a request that is
    /// decided in slices, when all of it is.
    fn ask_unless_deciding(&mut self) {
        let (owners, tables) = (&mut self.network.owners, &mut self.network.tables);
        if !tables.unasked.is_empty() && !self.promises.desk.is_deciding() {
            tables.ask_now(&mut self.ctx, owners);
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
        let Self { ctx, network, .. } = self;
        let unrecorded = (!network.tables.unrecorded.is_empty()).then_some(ctx.now);
        let unguarded = network.owners.flows.has_altered() || ctx.policing.has_followers();
        let unguarded = unguarded.then_some(ctx.now);
        let unsettled = (!network.tables.unsettled.is_empty()).then_some(ctx.now);
        let unfinished = (self.promises.desk.is_deciding() || self.recovery.restoring.is_some())
            .then_some(ctx.now);
        let others = [
            unrecorded,
            unguarded,
            unsettled,
            unfinished,
            network.tables.moves.deadline(),
            network.tables.refusals.deadline(),
            network.owners.intents_deadline(ctx),
            network.tables.reconciliation.deadline(),
            self.modes.deadline(ctx.are_modes_stale),
            self.promises
                .judging
                .deadline(ctx.now, ctx.are_promises_stale),
            network.owners.leaving.deadline(),
            self.promises.second_ways_deadline(ctx, &network.topology),
            self.routing.deadline(ctx, network),
        ];
        let due = ctx.schedule.deadline();
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

    /// Completes an operation that all its switches have confirmed.
    fn confirmed(&mut self, operation: Operation) {
        let Self { ctx, network, .. } = self;
        ctx.promises_changed();
        match operation {
            Operation::StagedUpdate(id) => {
                network.tables.move_confirmed(ctx, &mut network.owners, id)
            }
            Operation::Restore(restoration) => {
                network
                    .tables
                    .restored(ctx, &mut network.owners, restoration)
            }
            Operation::Repair(datapath, repair) => {
                network
                    .tables
                    .mended(ctx, &mut network.owners, datapath, repair)
            }
            Operation::Level(asked) => self.modes.level_answered(ctx, asked),
            Operation::Written { level, begun } => self.modes.level_written(ctx, level, begun),
        }
    }

    fn requested(&mut self, id: RequestId, by: &Asker, request: Request) {
        let Self { ctx, network, .. } = self;
        while self.promises.desk.is_deciding() {
            self.promises.decide_some(ctx, network, &self.modes);
        }
        match network.owners.not_looked_at(ctx, by, &request) {
            Some(refusal) => ctx.outbox.reply(id, refusal),
            None => self.look_at(id, by, request),
        }
    }

    fn look_at(&mut self, id: RequestId, by: &Asker, request: Request) {
        let Self { ctx, network, .. } = self;
        let (promises, modes) = (&mut self.promises, &mut self.modes);
        let (topology, owners) = (&network.topology, &mut network.owners);
        let reply = match request {
            of_admission @ (Request::Admit(_)
            | Request::AdmitTogether(_)
            | Request::WhatIf(_)
            | Request::MakeRoom(_)
            | Request::Withdraw(_)) => return self.look_at_admissions(id, of_admission),
            of_switch @ (Request::ForgetSwitch(_)
            | Request::HopsAfter { .. }
            | Request::Profiles
            | Request::CorrectProfile { .. }
            | Request::SuggestContract(_)) => return self.look_at_switches(id, of_switch),
            Request::Prepare(asked) => return promises.prepare(ctx, network, id, &asked),
            Request::AssignClasses {
                requirements,
                free,
                classes,
            } => Reply::Classes(promises.assign_classes(
                ctx,
                topology,
                &requirements,
                &free,
                &classes,
            )),
            Request::Flows => Promises::list_flows(ctx, network, FlowId(0), usize::MAX),
            Request::FlowsAfter { after, most } => {
                Promises::list_flows(ctx, network, after, most.min(MAX_FLOWS_AT_ONCE))
            }
            Request::Flow(name) => Promises::show_flow(ctx, network, name),
            Request::Topology => Reply::Topology(owners.topology_summary(topology)),
            Request::Promises => Reply::Promises(Box::new(promises.promises(owners))),
            of_intents @ (Request::AddIntents(_) | Request::RemoveIntent(_) | Request::Intents) => {
                return self.look_at_intents(id, by, of_intents);
            }
            Request::Paths(query) => {
                Reply::Paths(promises.find_paths(ctx, topology, modes, &query))
            }
            Request::View => owners.show_view(topology, by),
            Request::SetHost(host) => return self.host_desk.set_host(ctx, network, id, host),
            of_applications @ (Request::Load(_)
            | Request::Unload(_)
            | Request::Reload(_)
            | Request::Applications) => return self.look_at_applications(id, of_applications),
            Request::RemoveHost(name) => return self.host_desk.remove_host(ctx, network, id, name),
            Request::Rules(datapath) => return network.list_rules(ctx, id, datapath),
            Request::Reconcile(datapath) => return network.reconcile(ctx, id, datapath),
            Request::Settings => Reply::Settings(SettingsDesk::settings(ctx, &network.tables)),
            Request::Configure(change) => {
                return (self.settings_desk).configure(ctx, &network.tables, id, change);
            }
            Request::Mode => Reply::Mode(modes.mode_report(ctx)),
            Request::SetMode(change) => return modes.set_mode(ctx, network, id, &change),
            of_routes @ (Request::ConfigureSdnIp(_)
            | Request::ChangeRoutes { .. }
            | Request::RoutesAfter { .. }
            | Request::RoutingStatus
            | Request::SpeakerState(_)) => {
                return self.routing.requested(ctx, network, id, of_routes);
            }
            Request::Statistics => {
                let statistics = self.southbound.statistics(ctx, &mut network.tables);
                Reply::Statistics(Box::new(statistics))
            }
        };
        ctx.outbox.reply(id, reply);
    }

    /// Decides about flows.
    fn look_at_admissions(&mut self, id: RequestId, request: Request) {
        let Self { ctx, network, .. } = self;
        let (promises, modes) = (&mut self.promises, &mut self.modes);
        match request {
            Request::Admit(asked) => promises.admit(ctx, network, modes, id, asked),
            Request::AdmitTogether(asked) => {
                promises.admit_together(ctx, network, modes, id, asked);
            }
            Request::WhatIf(asked) => promises.what_if(ctx, network, modes, id, asked),
            Request::MakeRoom(asked) => promises.make_room(ctx, network, id, &asked),
            Request::Withdraw(name) => promises.withdraw(ctx, &mut network.owners, id, name),
            _ => unreachable!("nothing else is asked of it"),
        }
    }

    /// Answers what is asked of intents.
    fn look_at_intents(&mut self, id: RequestId, by: &Asker, request: Request) {
        let Self { ctx, network, .. } = self;
        match request {
            Request::AddIntents(intents) => {
                self.programs.add_intents(ctx, network, (id, by), intents);
            }
            Request::RemoveIntent(name) => {
                self.programs
                    .remove_intent(ctx, &network.owners, id, by, name);
            }
            Request::Intents => {
                let all = Programs::intent_summaries(ctx, network);
                ctx.outbox.reply(id, Reply::Intents(all));
            }
            _ => unreachable!("nothing else is asked of it"),
        }
    }

    /// Answers what is asked of applications.
    fn look_at_applications(&mut self, id: RequestId, request: Request) {
        let Self { ctx, network, .. } = self;
        match request {
            Request::Load(manifest) => self.loading.load(ctx, &mut network.owners, id, manifest),
            Request::Unload(name) => self.loading.unload(ctx, &network.owners, id, name),
            Request::Reload(name) => {
                if name == ApplicationKind::SdnIp.name() {
                    self.routing.reload();
                }
                Loading::reload(ctx, network, id, name);
            }
            Request::Applications => {
                let routes = self.routing.count_entries(network);
                let all = Loading::application_summaries(network, routes);
                ctx.outbox.reply(id, Reply::Applications(all));
            }
            _ => unreachable!("nothing else is asked of it"),
        }
    }

    /// Answers what is asked of switches and of what they have seen of frames.
    fn look_at_switches(&mut self, id: RequestId, request: Request) {
        let Self { ctx, network, .. } = self;
        let (promises, modes) = (&mut self.promises, &self.modes);
        let reply = match request {
            Request::ForgetSwitch(datapath) => {
                promises.profiles.forget(ctx, datapath);
                return network.forget_switch(ctx, id, datapath);
            }
            Request::HopsAfter { after, most } => {
                let part = (after, most.min(MAX_FLOWS_AT_ONCE));
                return promises.list_hops(ctx, network, id, part);
            }
            Request::Profiles => promises.list_profiles(ctx, network),
            Request::SuggestContract(name) => promises.suggest_contract(ctx, network, modes, name),
            Request::CorrectProfile {
                datapath,
                wish,
                is_dry,
            } => return promises.correct_profile(ctx, network, id, (datapath, wish, is_dry)),
            _ => unreachable!("nothing else is asked of it"),
        };
        ctx.outbox.reply(id, reply);
    }
}
