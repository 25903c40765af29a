//! What happens because time passes.

use units::Instant;

use crate::config::{PROBE_PHASES, Timers};
use crate::confirmation::MAX_UNANSWERED;
use crate::northbound::Detection;
use crate::place::PortId;
use crate::session::{CloseReason, Session, Slot};
use crate::view::{Carrier, LinkId};

use super::reconciliation::ROUND_PHASES;
use super::{Context, Controller, Network, Recovery, Topology};

#[derive(Debug)]
pub(super) struct Schedule {
    probes: Instant,
    phase: u64,
    echoes: Instant,
    rounds: Instant,
    round: u64,
    /// When flows may return to links that are back.
    pub(super) returns: Option<Instant>,
    /// When floods are to follow the links.
    pub(super) floods: Option<Instant>,
    pub(super) floods_followed: Option<Instant>,
}

impl Schedule {
    pub(super) fn new(now: Instant, timers: &Timers) -> Self {
        Self {
            probes: now + timers.probe_interval,
            phase: 0,
            echoes: now + timers.echo_interval,
            rounds: now + timers.audit_interval,
            round: 0,
            returns: None,
            floods: None,
            floods_followed: None,
        }
    }

    /// Returns whose turn it is to send probes.
    pub(super) const fn phase(&self) -> u64 {
        self.phase
    }

    pub(super) fn deadline(&self) -> Instant {
        let next = self.probes.min(self.echoes).min(self.rounds);
        let others = [self.returns, self.floods].into_iter().flatten();
        others.fold(next, Instant::min)
    }
}

impl Controller {
    pub(super) fn keep_time(&mut self) {
        self.network
            .tables
            .settle_some(&mut self.ctx, &mut self.network.owners);
        self.network
            .tables
            .clear_old_ways(&mut self.ctx, &mut self.network.owners);
        self.network.tables.retry_refused(&mut self.ctx);
        self.programs.keep_intents(&mut self.ctx, &mut self.network);
        self.network
            .tables
            .look_at_losses(&mut self.ctx, &self.network.owners);
        self.modes.keep_modes(&mut self.ctx, &mut self.network);
        if self.ctx.now >= self.ctx.schedule.rounds {
            let part = self.ctx.timers.audit_interval.as_ns() / ROUND_PHASES;
            self.ctx.schedule.rounds = self.ctx.now + units::Duration::from_ns(part.max(1));
            self.ctx.schedule.round = (self.ctx.schedule.round + 1) % ROUND_PHASES;
            let round = self.ctx.schedule.round;
            self.network
                .tables
                .begin_rounds(&mut self.ctx, &self.network.owners, round);
        }
        if self.ctx.now >= self.ctx.schedule.probes {
            let part = self.ctx.timers.probe_interval.as_ns() / PROBE_PHASES;
            self.ctx.schedule.probes = self.ctx.now + units::Duration::from_ns(part.max(1));
            self.ctx.schedule.phase = (self.ctx.schedule.phase + 1) % PROBE_PHASES;
            self.network.topology.probe_part(&mut self.ctx);
            self.recovery.ask_suspects(&mut self.ctx, &mut self.network);
            self.recovery
                .lose_silent_links(&mut self.ctx, &mut self.network);
            self.recovery
                .check_expected(&mut self.ctx, &mut self.network);
            self.network.adopt_entries(&mut self.ctx);
        }
        if self.ctx.now >= self.ctx.schedule.echoes {
            self.ctx.schedule.echoes = self.ctx.now + self.ctx.timers.echo_interval;
            self.check_sessions();
            self.southbound.ask_for_roles(&mut self.ctx);
            self.host_desk
                .forget_unplugged(&mut self.ctx, &mut self.network);
            self.host_desk
                .forget_strangers(&mut self.ctx, &mut self.network);
            self.network
                .tables
                .give_up_questions(&mut self.ctx, &mut self.network.owners);
        }
        if self
            .ctx
            .schedule
            .returns
            .is_some_and(|returns| self.ctx.now >= returns)
        {
            self.ctx.schedule.returns = None;
            self.recovery
                .reconsider_displaced(&mut self.ctx, &mut self.network);
        }
        if self
            .ctx
            .schedule
            .floods
            .is_some_and(|floods| self.ctx.now >= floods)
        {
            self.network
                .owners
                .follow_links_now(&mut self.ctx, &self.network.topology);
        }
    }

    /// Asks silent peers for a sign of life and closes those that gave none.
    fn check_sessions(&mut self) {
        let (now, timers) = (self.ctx.now, self.ctx.timers);
        let mut late = Vec::new();
        for (slot, session) in self.ctx.sessions.iter() {
            let is_ready = session.is_settled();
            let is_stalled = self.network.tables.confirmations.unanswered(slot) > MAX_UNANSWERED;
            if is_stalled || now.saturating_since(session.heard_at) >= timers.echo_timeout {
                late.push((slot, CloseReason::Silence));
            } else if !is_ready
                && now.saturating_since(session.opened_at) >= timers.handshake_timeout
            {
                late.push((slot, CloseReason::Handshake));
            } else if now.saturating_since(session.heard_at) >= timers.echo_interval {
                Session::ask_for_echo(self.ctx.outbox.to(slot));
            }
        }
        for (slot, reason) in late {
            self.close(slot, reason);
        }
    }
}

impl Topology {
    /// Sends probes from the ports of the switches whose turn it is.
    fn probe_part(&mut self, ctx: &mut Context) {
        let turn = ctx.schedule.phase;
        let is_due = |slot: &Slot| slot.index() as u64 % PROBE_PHASES == turn;
        let due: Vec<_> = ctx
            .sessions
            .ready()
            .filter(|(_, slot)| is_due(slot))
            .collect();
        for (datapath, _) in due {
            let Some(switch) = self.view.switch(datapath) else {
                continue;
            };
            let ports = self.view.switches()[switch.index()].ports.iter();
            let up = ports.filter(|port| port.carrier == Carrier::Up);
            let up: Vec<PortId> = up.map(|port| PortId::new(datapath, port.number)).collect();
            for port in up {
                self.probe(ctx, port);
            }
        }
    }
}

impl Recovery {
    fn lose_silent_links(&mut self, ctx: &mut Context, network: &mut Network) {
        let timeout = ctx.timers.link_timeout.as_ns();
        let Some(limit) = ctx.now.as_ns().checked_sub(timeout) else {
            return;
        };
        let limit = Instant::from_ns(limit);
        if network.topology.view.trust(limit) {
            network.owners.follow_links(ctx, &network.topology);
        }
        let silent: Vec<LinkId> = network.topology.view.silent_since(limit).collect();
        for link in silent {
            if ctx.is_unheard(network.topology.view.links()[link.index()].ends) {
                continue;
            }
            network.topology.view.lose(ctx.now, link);
            self.link_lost(ctx, network, link, Detection::Silence);
        }
    }
}
