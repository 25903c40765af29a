//! What happens because time passes.

use crate::config::PROBE_PHASES;
use crate::confirmation::MAX_UNANSWERED;
use crate::session::{CloseReason, Session};

use super::reconciliation::ROUND_PHASES;
use super::{Controller, HostDesk, Network, Recovery, Southbound};

impl Controller {
    pub(super) fn keep_time(&mut self) {
        let Self { ctx, network, .. } = self;
        let Network { owners, tables, .. } = network;
        tables.settle_some(ctx, owners);
        tables.clear_old_ways(ctx, owners);
        tables.retry_refused(ctx);
        self.programs.keep_intents(ctx, network);
        self.routing.keep(ctx, network);
        network.tables.look_at_losses(ctx, &network.owners);
        self.modes.keep_modes(ctx, network);
        if ctx.now >= ctx.schedule.rounds {
            let part = ctx.timers.audit_interval.as_ns() / ROUND_PHASES;
            ctx.schedule.rounds = ctx.now + units::Duration::from_ns(part.max(1));
            ctx.schedule.round = (ctx.schedule.round + 1) % ROUND_PHASES;
            let round = ctx.schedule.round;
            network.tables.begin_rounds(ctx, &network.owners, round);
        }
        if ctx.now >= ctx.schedule.probes {
            let part = ctx.timers.probe_interval.as_ns() / PROBE_PHASES;
            ctx.schedule.probes = ctx.now + units::Duration::from_ns(part.max(1));
            ctx.schedule.phase = (ctx.schedule.phase + 1) % PROBE_PHASES;
            network.topology.probe_part(ctx);
            self.recovery.ask_suspects(ctx, network);
            self.recovery.lose_silent_links(ctx, network);
            self.recovery.check_expected(ctx, network);
            network.adopt_entries(ctx);
            self.promises.tell_budgets(ctx);
            self.promises.tell_sessions(ctx);
            self.promises.answer_hops(ctx, network);
        }
        let is_echo_due = ctx.now >= ctx.schedule.echoes;
        if is_echo_due {
            ctx.schedule.echoes = ctx.now + ctx.timers.echo_interval;
            self.check_sessions();
        }
        let Self { ctx, network, .. } = self;
        if is_echo_due {
            Southbound::ask_for_roles(ctx);
            HostDesk::forget_unplugged(ctx, network);
            HostDesk::forget_strangers(ctx, network);
            network.tables.give_up_questions(ctx, &mut network.owners);
            ctx.policing.give_up(ctx.now, ctx.timers.echo_timeout);
        }
        if ctx.schedule.returns.is_some_and(|at| ctx.now >= at) {
            ctx.schedule.returns = None;
            Recovery::reconsider_displaced(ctx, network);
        }
        if ctx.schedule.floods.is_some_and(|at| ctx.now >= at) {
            network.owners.follow_links_now(ctx, &network.topology);
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
