//! What switches say of modes.

use wire::openflow::multipart::{MultipartReply, ReplyBody};
use wire::openflow::taktos::{
    Answer, Demanded, ModeEvent, ModeEventKind, ModeFailed, ModeFlags, ModeMessage, ModeStatus,
    MonitorId,
};
use wire::openflow::{DatapathId, ErrorKind, TransactionId};

use crate::modes::{Modes, Strategy};
use crate::northbound::{Event, FlowId};
use crate::place::{Place, PortId};

use super::super::{Context, ModeDesk, Network, Owners};
use super::desk::{Ability, Held, Lock};

impl ModeDesk {
    /// Takes in what a switch reports, and returns whether it is of concern here.
    pub fn mode_reported(
        &mut self,
        ctx: &mut Context,
        datapath: DatapathId,
        reply: &MultipartReply<'_>,
    ) -> bool {
        let ReplyBody::Experimenter(body) = &reply.body else {
            return false;
        };
        let Ok(Some(Answer::Modes(status))) = Answer::parse(body) else {
            return false;
        };
        self.note_status(ctx, datapath, &status);
        true
    }

    fn note_status(&mut self, ctx: &mut Context, datapath: DatapathId, status: &ModeStatus<'_>) {
        let Some(member) = self.members.get_mut(&datapath) else {
            return;
        };
        let is_first = member.ability != Ability::Has;
        if is_first {
            member.inherited = status.complete;
        }
        member.ability = Ability::Has;
        member.asked = None;
        member.held = Some(Held {
            mode: status.mode,
            origin: status.origin,
            served: status.served,
            complete: status.complete,
            quiet: status.quiet,
            waiting: status.waiting,
            counters: status.counters,
        });
        if self.lock == Lock::Unsaid {
            self.lock = match status.flags.contains(ModeFlags::LOCKED) {
                true => Lock::Locked,
                false => Lock::Open,
            };
        }
        if is_first || status.mode.level.number() > 0 {
            ctx.modes_changed();
        }
    }

    /// Takes in that a switch refuses something, and returns whether it is of concern
    /// here.
    pub fn mode_refused(
        &mut self,
        ctx: &mut Context,
        datapath: DatapathId,
        transaction: TransactionId,
        kind: ErrorKind,
    ) -> bool {
        let failed = ModeFailed::of(kind);
        if let (Some(asked), Some(failed)) = (&mut self.asked, failed)
            && asked.transaction == transaction
        {
            asked.failed = Some(failed);
            return true;
        }
        if let Some(member) = self.members.get_mut(&datapath)
            && failed.is_none()
            && member.asked == Some(transaction)
        {
            member.ability = Ability::Lacks;
            return true;
        }
        let Some(failed) = failed else {
            return false;
        };
        let switch = ctx.name_of_switch(datapath);
        let reason = format!("{failed:?}");
        ctx.outbox.notify(Event::ModeRefused { switch, reason });
        true
    }

    /// Takes in what a switch tells unasked.
    pub fn mode_said(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        datapath: DatapathId,
        said: &ModeMessage<'_>,
    ) {
        let (ModeMessage::Event(event), Some(modes)) = (said, self.active()) else {
            return;
        };
        if let Some(member) = self.members.get_mut(&datapath)
            && let Some(held) = &mut member.held
        {
            held.mode = event.mode;
            held.origin = event.origin;
            held.served = event.served;
            if matches!(event.kind, ModeEventKind::Violation(_)) {
                held.quiet = Some(units::Duration::default());
            }
        }
        let notice = Self::notice(ctx, &network.owners, &modes, datapath, event);
        ctx.outbox.notify(notice);
        if let ModeEventKind::Violation(demanded) = event.kind
            && modes.strategy == Strategy::StdSdn
            && self.lock != Lock::Locked
            && demanded.level() > self.written
        {
            self.write_level(ctx, network, &modes, demanded.level());
        }
        ctx.modes_changed();
    }

    fn notice(
        ctx: &Context,
        owners: &Owners,
        modes: &Modes,
        datapath: DatapathId,
        event: &ModeEvent,
    ) -> Event {
        let switch = ctx.name_of_switch(datapath);
        match event.kind {
            ModeEventKind::Entered => Event::ModeEntered {
                switch,
                level: modes.name(event.mode.level),
                era: event.mode.era,
                served: modes.name(event.served),
                origin: ctx.name_of_switch(event.origin),
                change: event.changed.saturating_since(event.detected),
                changed: event.changed,
            },
            ModeEventKind::Violation(demanded) => Event::ModeViolation {
                switch,
                flow: Self::watched_by(owners, event.monitor),
                level: modes.name(demanded.level()),
                beyond: matches!(demanded, Demanded::Beyond(_)),
                times: event.count,
                detected: event.detected,
            },
            ModeEventKind::SignalsRefused(fault) => Event::ModeSignalsRefused {
                at: Place::new(PortId::new(datapath, event.port), switch),
                fault,
                times: event.count,
            },
            ModeEventKind::Incomplete => Event::ModeIncomplete {
                switch,
                level: modes.name(event.mode.level),
                served: modes.name(event.served),
            },
        }
    }

    /// Returns the name of the flow that a monitor watches.
    fn watched_by(owners: &Owners, monitor: MonitorId) -> String {
        let flow = owners.flows.get(FlowId(monitor.0));
        let name = flow.map(|flow| flow.admission.requirement.name.clone());
        name.unwrap_or_default()
    }
}
