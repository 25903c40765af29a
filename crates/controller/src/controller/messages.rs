//! What switches say: connections, messages, ports, frames.

use wire::openflow::taktos::HopMessage;
use wire::openflow::{
    BadRequest, DatapathId, ErrorKind, ErrorMessage, GroupModFailed, HEADER_LENGTH, Header,
    Message, PortState, PortStatus, PortStatusReason, TransactionId,
};

use crate::northbound::{Detection, Event};
use crate::place::PortId;
use crate::session::{CloseReason, ConnectionId, Session, SessionStep, Slot, port_of};
use crate::view::{Carrier, Control, Port};

use super::context::Memory;
use super::{Controller, HostDesk, Network, Programs, Southbound, Topology};

impl Controller {
    pub(super) fn connected(&mut self, connection: ConnectionId) {
        if let Some(slot) = self.ctx.sessions.in_the_way() {
            self.close(slot, CloseReason::Handshake);
        }
        let Some(slot) = self
            .ctx
            .sessions
            .open(self.ctx.now, connection, self.southbound.standing)
        else {
            self.ctx.counters.closed += 1;
            self.ctx.outbox.refuse(connection, CloseReason::TooMany);
            return;
        };
        self.ctx.outbox.open(slot, connection);
        Session::greet(self.ctx.outbox.to(slot));
    }

    pub(super) fn disconnected(&mut self, connection: ConnectionId) {
        if let Some(slot) = self.ctx.sessions.of_connection(connection) {
            self.ctx.outbox.discard(slot);
            self.forget(slot);
        }
    }

    /// Closes a connection for what its peer did.
    pub(super) fn close(&mut self, slot: Slot, reason: CloseReason) {
        self.ctx.counters.closed += 1;
        Southbound::translate_last_words(&mut self.ctx, slot);
        self.ctx.outbox.close(slot, reason);
        self.forget(slot);
    }

    fn forget(&mut self, slot: Slot) {
        let Some(session) = self.ctx.sessions.close(slot) else {
            return;
        };
        self.southbound.punts.add(&session.punts);
        if let Some(forwarding) = &mut self.network.owners.forwarding {
            forwarding.close(session.connection);
        }
        match session.datapath() {
            Some(datapath) if self.ctx.sessions.of_switch(datapath).is_none() => {
                self.switch_lost(slot, datapath);
            }
            Some(_) | None => self.abandon(slot),
        }
    }

    /// Takes in that a switch is not spoken with any more.
    pub(super) fn switch_lost(&mut self, slot: Slot, datapath: DatapathId) {
        let Self { ctx, network, .. } = self;
        ctx.policing.lose(datapath);
        let lost = network.tables.desired.disconnect(datapath);
        if let Some(switch) = network.topology.view.switch(datapath) {
            let Network {
                topology,
                owners,
                tables,
            } = network;
            topology.view.disconnect(switch);
            topology.note_away(ctx, datapath);
            owners.switch_concerns_intents(topology, datapath);
            let name = ctx.name_of_switch(datapath);
            ctx.outbox.notify(Event::SwitchLost { datapath, name });
            tables.stall_moves(datapath);
            tables.stop_watching(ctx, owners, datapath);
            self.modes.lose(ctx, datapath);
            topology.suspect(ctx, datapath);
            ctx.promises_changed();
            ctx.are_routes_stale = true;
        }
        self.abandon(slot);
        for subject in lost {
            let (owners, tables) = (&mut self.network.owners, &mut self.network.tables);
            tables.entries_answered(&mut self.ctx, owners, subject);
        }
    }

    /// Waits for nothing any more that was sent over a connection.
    fn abandon(&mut self, slot: Slot) {
        let tables = &mut self.network.tables;
        tables.refused_bundles.retain(|(at, _)| *at != slot);
        tables.unasked.forget(slot);
        for operation in tables.confirmations.abandon(slot) {
            self.confirmed(operation);
        }
    }

    /// Takes bytes: whole messages at once, the beginning of one is kept.
    pub(super) fn received(&mut self, connection: ConnectionId, bytes: &[u8]) {
        let Some(slot) = self.ctx.sessions.of_connection(connection) else {
            return;
        };
        let (now, silence_allowed) = (self.ctx.now, self.ctx.timers.silence_allowed());
        let Some(session) = self.ctx.sessions.get_mut(slot) else {
            return;
        };
        if now.saturating_since(session.heard_at) >= silence_allowed {
            session.heard_since = now;
        }
        session.heard_at = now;
        let mut unfinished = std::mem::take(&mut session.unfinished);
        if unfinished.is_empty() {
            let taken = self.take_messages(slot, bytes);
            unfinished.extend_from_slice(&bytes[taken..]);
        } else {
            unfinished.extend_from_slice(bytes);
            let taken = self.take_messages(slot, &unfinished);
            unfinished.drain(..taken);
        }
        if let Some(session) = self.ctx.sessions.get_mut(slot)
            && session.connection == connection
        {
            session.unfinished = unfinished;
        }
    }

    /// Takes all whole messages that `stream` begins with and returns how many
    /// bytes they have, or all of them if the connection was closed.
    fn take_messages(&mut self, slot: Slot, stream: &[u8]) -> usize {
        let mut taken = 0;
        loop {
            let rest = &stream[taken..];
            let Ok(header) = Header::parse(rest) else {
                return taken;
            };
            let length = usize::from(header.length);
            if length < HEADER_LENGTH {
                self.ctx.counters.bad_messages += 1;
                self.close(slot, CloseReason::Garbage);
                return stream.len();
            }
            let Some(message) = rest.get(..length) else {
                let session = self.ctx.sessions.get_mut(slot);
                if session.is_some_and(|session| session.may_begin_with(header)) {
                    return taken;
                }
                self.ctx.counters.bad_messages += 1;
                self.close(slot, CloseReason::Garbage);
                return stream.len();
            };
            taken += length;
            if !self.take_message(slot, message) {
                return stream.len();
            }
        }
    }

    /// Takes one message. Returns whether the connection is still there.
    pub(super) fn take_message(&mut self, slot: Slot, bytes: &[u8]) -> bool {
        let Some(session) = self.ctx.sessions.get_mut(slot) else {
            return false;
        };
        match session.translator {
            None => self.take_wide_message(slot, bytes),
            Some(_) => self.take_narrow_message(slot, bytes),
        }
    }

    /// Takes one message of version 1.3. Returns whether the connection is still
    /// there.
    pub(super) fn take_wide_message(&mut self, slot: Slot, bytes: &[u8]) -> bool {
        let Some(session) = self.ctx.sessions.get_mut(slot) else {
            return false;
        };
        // What was read stays where it is: to move it takes longer than to read it.
        let parsed = Message::parse(bytes);
        let (header, message) = match &parsed {
            Ok((header, message)) => (*header, message),
            Err(error) => return self.take_unreadable(slot, bytes, error.kind()),
        };
        self.ctx.counters.messages += 1;
        let step = match message {
            // Nothing about the session, and by far the most frequent.
            Message::PacketIn(_) if session.datapath().is_some() => SessionStep::Pass,
            _ => session.take(header, message, || self.ctx.outbox.to(slot)),
        };
        let known = session.datapath();
        if matches!(message, Message::Hello(_)) && session.translator.is_some() {
            self.ctx.sessions.note_narrow(slot);
        }
        match step {
            SessionStep::Done => true,
            SessionStep::Pass => {
                if let Some(datapath) = known {
                    self.take_from_switch(slot, datapath, header, message);
                }
                true
            }
            SessionStep::Ready(datapath, ports) => self.ready(slot, datapath, &ports),
            SessionStep::OtherMaster(datapath) => {
                self.southbound
                    .other_master(&mut self.ctx, &mut self.network.topology, datapath);
                true
            }
            SessionStep::LaterTerm(term) => {
                self.southbound.later_term = self.southbound.later_term.max(Some(term));
                true
            }
            SessionStep::Close(reason) => {
                self.close(slot, reason);
                false
            }
        }
    }

    /// Answers a message that cannot be read. Returns whether the connection is
    /// still there.
    pub(super) fn take_unreadable(&mut self, slot: Slot, bytes: &[u8], kind: ErrorKind) -> bool {
        let Some(session) = self.ctx.sessions.get_mut(slot) else {
            return false;
        };
        self.ctx.counters.bad_messages += 1;
        let is_last = session.take_bad(bytes, kind, self.ctx.outbox.to(slot));
        if is_last {
            self.close(slot, CloseReason::Garbage);
        }
        !is_last
    }

    /// Takes a message of a switch that is known. What only a switch receives,
    /// and what was not asked for, is of no concern.
    fn take_from_switch(
        &mut self,
        slot: Slot,
        datapath: DatapathId,
        header: Header,
        message: &Message<'_>,
    ) {
        let Self { ctx, network, .. } = self;
        let transaction = header.transaction;
        match message {
            Message::PacketIn(packet_in) => self.punted(slot, datapath, packet_in),
            Message::PortStatus(status) => self.port_changed(datapath, status),
            Message::BarrierReply => self.barrier_answered(slot, datapath, transaction),
            Message::FlowRemoved(removed) => network.tables.entry_gone(ctx, datapath, removed),
            Message::BundleControl(said) => {
                let tables = &mut network.tables;
                tables.bundle_controlled(ctx, slot, datapath, transaction, said);
            }
            Message::Error(error) => self.refused(slot, datapath, transaction, error),
            Message::Mode(said) => self.modes.mode_said(ctx, network, datapath, said),
            Message::RoleReply(said) => self.role_said(slot, datapath, *said),
            Message::Police(said) => network.contract_exceeded(ctx, datapath, said),
            Message::Stream(said) => self.promises.copies_missing(ctx, network, datapath, said),
            Message::Hop(HopMessage::Event(said)) => {
                self.promises.hop_exceeded(ctx, network, datapath, said);
            }
            Message::MultipartReply(reply) if self.modes.mode_reported(ctx, datapath, reply) => {}
            Message::MultipartReply(reply)
                if network.policing_answered(ctx, slot, (datapath, transaction), reply) => {}
            Message::MultipartReply(reply)
                if self.routing.reported(datapath, transaction, reply) => {}
            Message::MultipartReply(reply) => {
                let Network { tables, owners, .. } = network;
                match tables.counts_reported(ctx, slot, datapath, transaction, reply) {
                    true => {
                        self.promises.hops_reported(ctx, network, datapath);
                        self.promises.sent_reported(ctx, datapath);
                    }
                    false => tables.reported(ctx, owners, datapath, transaction, reply),
                }
            }
            Message::Hello(_)
            | Message::EchoRequest(_)
            | Message::EchoReply(_)
            | Message::Experimenter(_)
            | Message::BundleAdd(_)
            | Message::FeaturesRequest
            | Message::FeaturesReply(_)
            | Message::GetConfigRequest
            | Message::GetConfigReply(_)
            | Message::SetConfig(_)
            | Message::PacketOut(_)
            | Message::FlowMod(_)
            | Message::GroupMod(_)
            | Message::PortMod(_)
            | Message::TableMod(_)
            | Message::MultipartRequest(_)
            | Message::BarrierRequest
            | Message::QueueGetConfigRequest(_)
            | Message::QueueGetConfigReply(_)
            | Message::RoleRequest(_)
            | Message::GetAsyncRequest
            | Message::GetAsyncReply(_)
            | Message::SetAsync(_)
            | Message::MeterMod(_)
            | Message::Bfd(_)
            | Message::Hop(_) => {}
        }
    }

    /// Takes in that a switch has done all that it was sent before a barrier.
    fn barrier_answered(&mut self, slot: Slot, datapath: DatapathId, transaction: TransactionId) {
        let Network { owners, tables, .. } = &mut self.network;
        if self.routing.barrier_answered(datapath, transaction) {
            return;
        }
        if let Some(confirmed) = tables.confirmations.confirm(slot, transaction) {
            tables.messages_confirmed(&mut self.ctx, owners, datapath, confirmed.covers);
            if let Some(operation) = confirmed.operation {
                self.confirmed(operation);
            }
        }
    }

    /// Takes in a switch that has said who it is: its ports are probed, and it
    /// is asked which entries it has. Returns whether its connection stays.
    fn ready(&mut self, slot: Slot, datapath: DatapathId, ports: &[Port]) -> bool {
        if !self.ctx.sessions.claim(datapath, slot) {
            let name = self.ctx.name_of_switch(datapath);
            let event = Event::DuplicateSwitch { datapath, name };
            self.ctx.outbox.notify(event);
            if let Some(first) = self.ctx.sessions.of_switch(datapath) {
                Session::ask_for_echo(self.ctx.outbox.to(first));
            }
            self.close(slot, CloseReason::Duplicate);
            return false;
        }
        self.make_place(datapath);
        self.network.topology.strangers.away_since.remove(&datapath);
        let view = &mut self.network.topology.view;
        let Some((_, lost)) = view.connect(self.ctx.now, datapath, ports) else {
            self.close(slot, CloseReason::TooLarge);
            return false;
        };
        let Self { ctx, network, .. } = self;
        let Network {
            topology,
            owners,
            tables,
        } = network;
        if let (Some(forwarding), Some(session)) = (&mut owners.forwarding, ctx.sessions.get(slot))
        {
            forwarding.expect_entries(session.connection);
        }
        tables.desired.connect(datapath);
        topology.others.remove(&datapath);
        topology.doubt_echoes(ctx, datapath);
        let ports_up = ports.iter().filter(|port| port.carrier == Carrier::Up);
        let count = ports.len();
        topology.link_trust.switch_up(ctx.now, datapath);
        ctx.outbox.notify(Event::SwitchConnected {
            datapath,
            name: ctx.name_of_switch(datapath),
            ports: count,
        });
        tables.want_services(ctx, slot, datapath);
        for port in ports_up {
            topology.probe(ctx, PortId::new(datapath, port.number));
        }
        for link in lost {
            let detection = Detection::PortStatus;
            self.recovery.link_lost(ctx, network, link, detection);
        }
        let Topology { hosts, view, .. } = &mut network.topology;
        for change in hosts.attach(view, datapath) {
            self.tell_of_host(change);
        }
        self.include(slot, datapath);
        true
    }

    /// Lets all that concerns every switch include one that is new.
    fn include(&mut self, slot: Slot, datapath: DatapathId) {
        let Self { ctx, network, .. } = self;
        network.topology.note_carriers(ctx, datapath);
        ctx.promises_changed();
        self.recovery.check_expected(ctx, network);
        let (topology, owners) = (&mut network.topology, &mut network.owners);
        owners.switch_concerns_intents(topology, datapath);
        Programs::extend_intents(ctx, network, datapath);
        network.owners.follow_links(ctx, &network.topology);
        let transaction = network.tables.confirmations.transaction();
        ctx.ask_for_policing(slot, datapath, transaction);
        self.promises.forget_told_budgets(datapath);
        self.modes.begin_modes(ctx, network, slot, datapath);
        if ctx.memory == Memory::Complete {
            network.topology.keep_switch(ctx, datapath);
        }
    }

    fn port_changed(&mut self, datapath: DatapathId, status: &PortStatus) {
        let Self { ctx, network, .. } = self;
        let Some(switch) = network.topology.view.switch(datapath) else {
            return;
        };
        let mut port = port_of(&status.port);
        // A switch of ours says so of a port behind which it hears nobody any more.
        let is_dead = !status.port.state.contains(PortState::LIVE);
        if is_dead && ctx.policing.is_able(datapath) {
            port.carrier = Carrier::Down;
        }
        if !port.number.is_ordinary() {
            return;
        }
        match status.reason {
            PortStatusReason::Delete => port.carrier = Carrier::Down,
            PortStatusReason::Add | PortStatusReason::Modify => {}
        }
        let id = PortId::new(datapath, port.number);
        match port.carrier {
            Carrier::Down => network.topology.link_trust.port_down(id),
            Carrier::Up if network.topology.view.port(id).is_some_and(is_up) => {}
            Carrier::Up => network.topology.link_trust.port_up(ctx.now, id),
        }
        if let Some(link) = network.topology.view.set_port(ctx.now, switch, port) {
            self.recovery
                .link_lost(ctx, network, link, Detection::PortStatus);
        }
        network.topology.note_carrier(ctx, id);
        ctx.promises_changed();
        if port.carrier == Carrier::Up {
            self.routing.port_up(ctx.now, id);
            network
                .topology
                .probe(ctx, PortId::new(datapath, port.number));
        }
        network.owners.follow_links(ctx, &network.topology);
    }

    fn refused(
        &mut self,
        slot: Slot,
        datapath: DatapathId,
        transaction: TransactionId,
        error: &ErrorMessage<'_>,
    ) {
        let Self { ctx, network, .. } = self;
        if error.kind == ErrorKind::GroupModFailed(GroupModFailed::GroupExists) {
            // As it may, from before: it is made what it should be (`Failover::emit`).
            return;
        }
        if error.kind == ErrorKind::BadRequest(BadRequest::IsSlave) {
            return self.leave_to_other(slot, datapath);
        }
        let is_other = self.routing.refused(datapath, transaction, error)
            || network.policing_refused(ctx, (datapath, transaction))
            || self
                .modes
                .mode_refused(ctx, datapath, transaction, error.kind)
            || network
                .tables
                .question_refused(ctx, &mut network.owners, datapath, transaction)
            || network
                .tables
                .bundle_refused(ctx, slot, datapath, transaction);
        if !is_other {
            network
                .tables
                .entry_refused(ctx, &mut network.owners, datapath, transaction, error);
        }
    }

    /// Makes a place for a switch that is new, if there is none.
    pub(super) fn make_place(&mut self, datapath: DatapathId) {
        if !self.network.topology.view.is_full()
            || self.network.topology.view.switch(datapath).is_some()
        {
            return;
        }
        let away = self.network.topology.strangers.away_since.iter();
        let mut away: Vec<_> = away.map(|(other, since)| (*since, *other)).collect();
        away.sort_unstable();
        let is_stranger = |other: &DatapathId| {
            self.network
                .owners
                .is_stranger(&self.network.topology, *other, Control::Lost)
        };
        if let Some(oldest) = away.into_iter().map(|(_, it)| it).find(is_stranger) {
            self.network.topology.strangers.away_since.remove(&oldest);
            return HostDesk::drop_stranger(&mut self.ctx, &mut self.network, oldest);
        }
        if self
            .network
            .topology
            .strangers
            .configured
            .contains(&datapath)
        {
            let is_stranger = |(other, _): &(DatapathId, _)| {
                self.network
                    .owners
                    .is_stranger(&self.network.topology, *other, Control::Connected)
            };
            let stranger = self.ctx.sessions.ready().find(is_stranger);
            if let Some((stranger, slot)) = stranger {
                self.close(slot, CloseReason::TooLarge);
                HostDesk::drop_stranger(&mut self.ctx, &mut self.network, stranger);
            }
        }
    }
}

fn is_up(port: &Port) -> bool {
    port.carrier == Carrier::Up
}
