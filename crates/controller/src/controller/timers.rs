//! What happens because time passes.

use crate::config::PROBE_PHASES;
use crate::confirmation::MAX_UNANSWERED;
use crate::session::{CloseReason, Session};

use super::Controller;
use super::reconciliation::ROUND_PHASES;

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
        let Self { ctx, network, .. } = self;
        let (now, timers) = (ctx.now, ctx.timers);
        let mut late = Vec::new();
        for (slot, session) in ctx.sessions.iter() {
            let is_ready = session.is_settled();
            let is_stalled = network.tables.confirmations.unanswered(slot) > MAX_UNANSWERED;
            if is_stalled || now.saturating_since(session.heard_at) >= timers.echo_timeout {
                late.push((slot, CloseReason::Silence));
            } else if !is_ready
                && now.saturating_since(session.opened_at) >= timers.handshake_timeout
            {
                late.push((slot, CloseReason::Handshake));
            } else if now.saturating_since(session.heard_at) >= timers.echo_interval {
                Session::ask_for_echo(ctx.outbox.to(slot));
            }
        }
        for (slot, reason) in late {
            self.close(slot, reason);
        }
    }
}
