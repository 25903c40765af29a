//! What controllers want of criticality modes, and what they hear of them
//! (`docs/openflow-extension.md`).

use units::Instant;
use wire::mode_signal::Level;
use wire::openflow::oxm::Masked;
use wire::openflow::taktos::{
    Answer, ModeConfig, ModeFailed, ModeFlags, ModeMessage, MonitorCommand, MonitorId, MonitorMod,
    ShadowMod,
};
use wire::openflow::{
    BadRequest, ErrorKind, Fields, FlowMod, MatchField, Message, PortStatusReason, Sequence,
    TransactionId,
};

use super::Agent;
use super::flow_mods::Order;
use super::inspection::{Part, send};
use super::session::{ConnectionId, Session};
use crate::modes::{Contract, Contracts, TooManyMonitors};
use crate::pipeline::Pipeline;

const FLAGS: ModeFlags = ModeFlags::LOCKED.with(ModeFlags::ASK);
/// How many monitors go into one message.
const REPORTS_A_PART: usize = 256;

impl Agent {
    /// Does what a message about modes asks for.
    pub(super) fn mode_message(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        message: &ModeMessage<'_>,
    ) -> Result<(), ErrorKind> {
        self.may_change(id)?;
        match message {
            ModeMessage::ShadowMod(shadow) => self.shadow_mod(now, pipeline, id, shadow),
            ModeMessage::MonitorMod(monitor) => monitor_mod(pipeline, monitor),
            ModeMessage::Config(config) => mode_config(now, pipeline, config),
            ModeMessage::Set(set) => Ok(pipeline.egress.set_mode(now, *set)?),
            // Only a switch says so.
            ModeMessage::Event(_) => Err(ErrorKind::BadRequest(BadRequest::BadType)),
        }
    }

    /// Changes the entries of some levels, those of all or of none; what looks at many of
    /// them in slices.
    fn shadow_mod(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        shadow: &ShadowMod<'_>,
    ) -> Result<(), ErrorKind> {
        pipeline.make_room_for_monitors();
        let matching: Vec<_> = shadow.levels.levels().map(|it| at(it, shadow)).collect();
        let at_level = |matching| FlowMod {
            matching: Fields::from_bytes(matching),
            ..shadow.entry
        };
        let flow_mods: Vec<_> = matching.iter().map(|it| at_level(it)).collect();
        let orders = flow_mods.iter().map(|it| Order::compile(pipeline, it));
        let orders = orders.collect::<Result<Vec<_>, ErrorKind>>()?;
        self.begin_flow_mods(now, pipeline, id, orders)
    }

    /// Tells the controllers that listen what became of the mode.
    pub(crate) fn send_mode_events(&mut self, pipeline: &mut Pipeline) {
        // Whoever hears of ports hears of modes.
        let reason = PortStatusReason::Modify.number();
        while let Some(event) = pipeline.egress.modes.outbox.take() {
            self.announce(
                |session| session.wants(session.asynchronous.port_status, reason),
                &Message::Mode(ModeMessage::Event(event)),
            );
        }
    }
}

/// Returns what an entry matches at a level.
fn at(level: Level, shadow: &ShadowMod<'_>) -> Vec<u8> {
    let mut matching = Vec::new();
    shadow.entry.matching.emit(&mut matching);
    MatchField::Level(Masked::exact(level.number())).emit(&mut matching);
    matching
}

pub(super) fn send_monitors(
    now: Instant,
    pipeline: &Pipeline,
    session: &mut Session,
    transaction: TransactionId,
) {
    let reports = pipeline
        .egress
        .modes
        .monitors
        .reports(now, pipeline.egress.modes.shared.as_ref());
    let mut parts = reports.chunks(REPORTS_A_PART).peekable();
    if parts.peek().is_none() {
        let nothing = Answer::Monitors(Sequence::EMPTY);
        return send(session, transaction, Part::Last, &nothing);
    }
    while let Some(reports) = parts.next() {
        let part = match parts.peek() {
            Some(_) => Part::MoreFollows,
            None => Part::Last,
        };
        let answer = Answer::Monitors(Sequence::of(reports));
        send(session, transaction, part, &answer);
    }
}

fn monitor_mod(pipeline: &mut Pipeline, wanted: &MonitorMod<'_>) -> Result<(), ErrorKind> {
    let id = wanted.monitor;
    if id == MonitorId::NONE {
        return Err(ModeFailed::UnknownMonitor.into());
    }
    pipeline.egress.modes.changes += 1;
    match wanted.command {
        MonitorCommand::Add => {
            let contracts = contracts(wanted)?;
            pipeline.make_room_for_monitors();
            let added = pipeline.egress.modes.monitors.add(id, contracts);
            added.map_err(|TooManyMonitors| ModeFailed::TooManyMonitors.into())
        }
        MonitorCommand::Delete => {
            if pipeline.egress.modes.monitors.watch_mut(id).is_none() {
                return Err(ModeFailed::UnknownMonitor.into());
            }
            let named = |program: &crate::action::Program| program.monitors().any(|it| it == id);
            if !pipeline.entries_with(1, named).is_empty() {
                return Err(ModeFailed::MonitorInUse.into());
            }
            pipeline.egress.modes.monitors.remove(id);
            Ok(())
        }
    }
}

fn contracts(wanted: &MonitorMod<'_>) -> Result<Contracts, ErrorKind> {
    let mut contracts = Vec::new();
    for contract in wanted.contracts.iter() {
        let contract = contract.map_err(|error| error.kind())?;
        contracts.push(Contract {
            period: contract.period,
            size_bytes: contract.size_bytes,
        });
    }
    let checked = Contracts::new(&contracts, wanted.jitter);
    checked.map_err(|_| ModeFailed::BadContracts.into())
}

fn mode_config(
    now: Instant,
    pipeline: &mut Pipeline,
    config: &ModeConfig<'_>,
) -> Result<(), ErrorKind> {
    if !FLAGS.contains(config.flags) {
        return Err(ModeFailed::BadFlags.into());
    }
    let egress = &mut pipeline.egress;
    let mut trunks = Vec::new();
    for trunk in config.trunks.iter() {
        let trunk = trunk.map_err(|error| error.kind())?;
        if trunks.len() == egress.ports.len() {
            return Err(ModeFailed::TooManyPorts.into());
        }
        let port = egress.find_port(trunk.port).ok_or(ModeFailed::BadPort)?;
        trunks.push((port, trunk));
    }
    egress.configure_modes(now, config, &trunks);
    Ok(())
}
