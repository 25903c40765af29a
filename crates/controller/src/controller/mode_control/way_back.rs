//! When the level falls, and what an operator asks for.
//!
//! The level falls when the flows of every switch have been quiet for the hold time and
//! the queues are drained. One switch is asked to begin a new era; it refuses if its own
//! flows were not quiet, and any other switch whose flows were not raises the level again
//! as soon as it hears of that era. So the controller may be wrong about what it knows
//! and nothing is lost by it.

use units::Instant;
use wire::mode_signal::Level;
use wire::openflow::multipart::{MultipartRequest, RequestBody};
use wire::openflow::taktos::{ModeCommand, ModeMessage, ModeSet, Question};
use wire::openflow::{DatapathId, TransactionId};

use crate::modes::{Modes, Strategy};
use crate::northbound::{
    Event, HeldMode, ModeChange, ModeRefusal, ModeReport, Reply, RequestId, SwitchMode,
};

use super::super::tables::Operation;
use super::super::{Context, ModeDesk, Network, Tables};
use super::desk::{Asked, Held, Lock};
use super::orders::Orders;

/// As many frames may wait at a switch whose queues are drained: those that are just
/// being served.
const DRAINED_FRAMES: u64 = 16;

impl ModeDesk {
    /// Asks switches for their mode, if it is time.
    pub(super) fn poll_modes(&mut self, ctx: &mut Context, tables: &mut Tables) {
        if ctx.now < self.next_poll() {
            return;
        }
        self.polled = ctx.now;
        let able: Vec<DatapathId> = self.able().collect();
        for datapath in able {
            let Some(slot) = ctx.sessions.of_switch(datapath) else {
                continue;
            };
            let transaction = tables.confirmations.transaction();
            let question = RequestBody::Experimenter(Question::Modes.body());
            MultipartRequest::new(question).emit(transaction, ctx.outbox.to(slot));
        }
    }

    /// Lowers the level if every flow is quiet.
    pub(super) fn find_way_back(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        modes: &Modes,
    ) {
        let Some(hold) = modes.hold else {
            return;
        };
        let is_free =
            self.lock != Lock::Locked && self.forced.is_none() && self.orders.is_settled();
        if !is_free || self.asked.is_some() || !self.is_given_up(modes) {
            return;
        }
        let (mode, origin) = self.agreed();
        let is_calm = |held: &Held| {
            held.quiet.is_none_or(|quiet| quiet >= hold)
                && held.waiting <= DRAINED_FRAMES
                && (held.mode == mode || modes.strategy == Strategy::StdSdn)
        };
        let mut members = self.members.values();
        let all_calm = members.all(|member| member.held.as_ref().is_none_or(is_calm));
        if !all_calm {
            return;
        }
        match modes.strategy {
            Strategy::StdSdn => self.write_level(ctx, network, modes, Level::LOWEST),
            Strategy::Taktos | Strategy::McAgnostic => {
                if let Some(datapath) = self.whom_to_ask(origin) {
                    self.ask_for_level(
                        ctx,
                        &mut network.tables,
                        datapath,
                        ModeCommand::Lower,
                        Level::LOWEST,
                        None,
                    );
                }
            }
        }
    }

    fn is_given_up(&self, modes: &Modes) -> bool {
        let (mode, _) = self.agreed();
        match modes.strategy {
            Strategy::StdSdn => self.written > Level::LOWEST,
            Strategy::Taktos | Strategy::McAgnostic => mode.level > Level::LOWEST,
        }
    }

    /// Returns the switch where the mode began, or another one that knows modes.
    pub(super) fn whom_to_ask(&self, origin: Option<DatapathId>) -> Option<DatapathId> {
        let is_able = |asked: &DatapathId| self.able().any(|able| able == *asked);
        let first = self.able().next();
        origin.filter(is_able).or(first)
    }

    pub(super) fn ask_for_level(
        &mut self,
        ctx: &mut Context,
        tables: &mut Tables,
        datapath: DatapathId,
        command: ModeCommand,
        level: Level,
        by: Option<RequestId>,
    ) {
        let Some(slot) = ctx.sessions.of_switch(datapath) else {
            return;
        };
        let transaction = tables.confirmations.transaction();
        let order = ModeMessage::Set(ModeSet { command, level });
        order.emit(transaction, ctx.outbox.to(slot));
        self.asked = Some(Asked {
            transaction,
            datapath,
            by,
            forces: (command == ModeCommand::Force).then_some(level),
            failed: None,
        });
        // What the switch holds then is what whoever asks is told.
        let question = RequestBody::Experimenter(Question::Modes.body());
        let report = tables.confirmations.transaction();
        MultipartRequest::new(question).emit(report, ctx.outbox.to(slot));
        tables.await_one(ctx, Operation::Level(transaction), slot);
    }

    /// Takes in that a switch has done or refused what it was asked for.
    pub fn level_answered(&mut self, ctx: &mut Context, transaction: TransactionId) {
        let asked = self.asked.take();
        let Some(asked) = asked.filter(|asked| asked.transaction == transaction) else {
            return;
        };
        let datapath = asked.datapath;
        let is_away = ctx.sessions.of_switch(datapath).is_none();
        let refusal = match asked.failed {
            Some(failed) => Some(ModeRefusal::BySwitch { datapath, failed }),
            None => is_away.then_some(ModeRefusal::Away(datapath)),
        };
        match (asked.by, refusal) {
            (Some(id), Some(refusal)) => ctx.outbox.reply(id, Reply::ModeRefused(refusal)),
            (Some(id), None) => self.keep_orders(ctx, id, |orders| orders.forced = asked.forces),
            (None, _) => {
                if let Some(failed) = asked.failed {
                    let switch = ctx.name_of_switch(datapath);
                    let reason = format!("{failed:?}");
                    ctx.outbox.notify(Event::ModeRefused { switch, reason });
                }
            }
        }
    }

    /// Writes the entries of a level at all switches.
    pub(super) fn write_level(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        modes: &Modes,
        level: Level,
    ) {
        self.written = level;
        let begun = ctx.now;
        self.give_levels(ctx, network, modes);
        let able = self.able();
        let slots: Vec<_> = able.filter_map(|at| ctx.sessions.of_switch(at)).collect();
        let written = Operation::Written { level, begun };
        if network.tables.await_all(ctx, written, slots).is_some() {
            ctx.promises_changed();
            self.level_written(ctx, level, begun);
        }
    }

    /// Takes in that all switches have the entries of another level.
    pub fn level_written(&self, ctx: &mut Context, level: Level, begun: Instant) {
        let Some(modes) = self.active() else {
            return;
        };
        let level = modes.name(level);
        ctx.outbox.notify(Event::ModeRewritten { level, begun });
    }

    /// Does what an operator asks for.
    pub fn set_mode(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        id: RequestId,
        change: &ModeChange,
    ) {
        let Some(modes) = self.active() else {
            return Self::refuse_mode(ctx, id, ModeRefusal::NoModes);
        };
        match change {
            ModeChange::Locked(true) => {
                self.keep_orders(ctx, id, |orders| orders.lock = Lock::Locked)
            }
            ModeChange::Locked(false) => self.keep_orders(ctx, id, |orders| {
                let lock = Lock::Open;
                *orders = Orders { lock, forced: None };
            }),
            ModeChange::Force(name) => match level_named(&modes, name) {
                Some(level) => self.order_level(ctx, network, id, (ModeCommand::Force, level)),
                None => Self::refuse_mode(ctx, id, ModeRefusal::UnknownLevel(name.clone())),
            },
            ModeChange::Lower(name) => match level_named(&modes, name) {
                Some(level) => self.order_level(ctx, network, id, (ModeCommand::Lower, level)),
                None => Self::refuse_mode(ctx, id, ModeRefusal::UnknownLevel(name.clone())),
            },
        }
    }

    fn order_level(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        id: RequestId,
        (command, level): (ModeCommand, Level),
    ) {
        let Some(modes) = self.active() else {
            return;
        };
        if self.asked.is_some() {
            ctx.outbox.reply(id, Reply::Busy);
            return;
        }
        if modes.strategy == Strategy::StdSdn {
            self.write_level(ctx, network, &modes, level);
            let forced = (command == ModeCommand::Force).then_some(level);
            return self.keep_orders(ctx, id, |orders| orders.forced = forced);
        }
        let (_, origin) = self.agreed();
        match self.whom_to_ask(origin) {
            Some(datapath) => {
                self.ask_for_level(ctx, &mut network.tables, datapath, command, level, Some(id))
            }
            None => Self::refuse_mode(ctx, id, ModeRefusal::NoSwitch),
        }
    }

    fn refuse_mode(ctx: &mut Context, id: RequestId, refusal: ModeRefusal) {
        ctx.outbox.reply(id, Reply::ModeRefused(refusal));
    }

    pub fn show_mode(&self, ctx: &mut Context, id: RequestId) {
        let report = self.mode_report(ctx);
        ctx.outbox.reply(id, Reply::Mode(report));
    }

    /// Returns in which mode the network is; nothing if it has none.
    pub fn mode_report(&self, ctx: &Context) -> Option<Box<ModeReport>> {
        let modes = self.settings.as_ref()?;
        let (mut mode, origin) = self.agreed();
        if modes.strategy == Strategy::StdSdn {
            mode.level = self.written;
        }
        let members = self.members.iter();
        let switches = members.map(|(datapath, member)| SwitchMode {
            name: ctx.name_of_switch(*datapath),
            holds: member.held.map(|held| told(modes, &held)),
        });
        Some(Box::new(ModeReport {
            levels: modes.levels.clone(),
            strategy: modes.strategy,
            level: modes.name(mode.level),
            era: mode.era,
            origin: origin.map(|origin| ctx.name_of_switch(origin)),
            locked: self.lock == Lock::Locked,
            forced: self.forced.map(|level| modes.name(level)),
            hold: modes.hold,
            default: modes.name(modes.default),
            switches: switches.collect(),
        }))
    }
}

fn told(modes: &Modes, held: &Held) -> HeldMode {
    let counters = held.counters;
    HeldMode {
        level: modes.name(held.mode.level),
        era: held.mode.era,
        served: modes.name(held.served),
        complete: held.complete.levels().map(|it| modes.name(it)).collect(),
        quiet: held.quiet,
        waiting: held.waiting,
        entered: counters.entered,
        demanded: counters.demanded,
        signals_refused: counters.forged
            + counters.misplaced
            + counters.replayed
            + counters.malformed,
        queued_dropped: counters.queued_dropped,
        queued_moved: counters.queued_moved,
        counters,
    }
}

/// Returns the level that a name or a number names.
fn level_named(modes: &Modes, name: &str) -> Option<Level> {
    let numbered = || Level::new(name.parse().ok()?).filter(|level| modes.has(*level));
    modes.named(name).or_else(numbered)
}
