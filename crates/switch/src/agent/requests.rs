//! Which message asks for what, and the simple answers, OF13 clause 7.

use units::Instant;
use wire::openflow::multipart::RequestBody;
use wire::openflow::{
    BadRequest, Capabilities, ControllerLength, ErrorKind, ErrorMessage, Experimenter,
    FeaturesReply, FlowMod, FragmentHandling, GroupMod, GroupModCommand, Hello, HelloFailed,
    Message, MeterMod, MeterModCommand, ONF_EXPERIMENTER, Role, SwitchConfig, SwitchConfigFailed,
    TableId, TableMod, TableModFailed, TransactionId,
};

use super::flow_mods::Order;
use super::session::{ConnectionId, Session, State, Version};
use super::table_features::DEPRECATED_CONFIG;
use super::{Agent, CloseReason, HELLO};
use crate::pipeline::Pipeline;

impl Agent {
    pub(super) fn handle(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        message: &[u8],
    ) {
        if self.sessions.get(&id).is_some_and(Session::is_old) {
            return self.narrow_handle(now, pipeline, id, message);
        }
        let parsed = Message::parse(message);
        if self
            .sessions
            .get(&id)
            .is_some_and(|session| session.state == State::Greeting)
        {
            return match parsed {
                Ok((header, Message::Hello(hello))) => self.greet(id, header.transaction, hello),
                Ok(_) | Err(_) => self.refuse_greeting(id, TransactionId(0)),
            };
        }
        let result = match parsed {
            Ok((header, message)) => self.dispatch(now, pipeline, id, header.transaction, message),
            Err(error) => Err(error.kind()),
        };
        match result {
            Ok(()) => {
                retain(pipeline, message);
                self.keep_message(id, message);
            }
            Err(kind) => self.refuse(id, message, kind),
        }
    }

    /// Agrees on a version, OF13 clause 6.3.1.
    fn greet(&mut self, id: ConnectionId, transaction: TransactionId, hello: Hello) {
        let version = HELLO.agree(&hello).and_then(Version::from_number);
        let Some(version) = version else {
            return self.refuse_greeting(id, transaction);
        };
        if let Some(session) = self.sessions.get_mut(&id) {
            session.open(version);
        }
    }

    /// Ends a connection that cannot be talked over, OF13 clause 6.3.1.
    pub(super) fn refuse_greeting(&mut self, id: ConnectionId, transaction: TransactionId) {
        self.bad_messages += 1;
        let refusal = ErrorMessage {
            kind: ErrorKind::HelloFailed(HelloFailed::Incompatible),
            data: b"this switch speaks OpenFlow 1.3 and 1.0, wire versions 4 and 1",
        };
        if let Some(session) = self.sessions.get_mut(&id) {
            session.send(transaction, &Message::Error(refusal));
            session.close(CloseReason::NoCommonVersion);
        }
    }

    /// Does what a message asks for, whoever sent it.
    pub(crate) fn dispatch(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        transaction: TransactionId,
        message: Message<'_>,
    ) -> Result<(), ErrorKind> {
        match message {
            Message::Hello(_) | Message::Error(_) | Message::EchoReply(_) => {}
            Message::EchoRequest(echo) => self.reply(id, transaction, &Message::EchoReply(echo)),
            Message::BarrierRequest => self.reply(id, transaction, &Message::BarrierReply),
            Message::FeaturesRequest => {
                let features = self.features(pipeline);
                self.reply(id, transaction, &Message::FeaturesReply(features));
            }
            Message::GetConfigRequest => {
                self.reply(id, transaction, &Message::GetConfigReply(self.config));
            }
            Message::SetConfig(config) => self.set_config(pipeline, id, config)?,
            Message::FlowMod(it) => self.take_flow_mod(now, pipeline, id, &it)?,
            Message::GroupMod(it) => self.begin_group_mod(now, pipeline, id, &it)?,
            Message::MeterMod(it) => self.begin_meter_mod(now, pipeline, id, &it)?,
            Message::PacketOut(packet_out) => {
                self.may_change(id)?;
                self.packet_out(now, pipeline, &packet_out)?;
            }
            Message::PortMod(port_mod) => {
                self.may_change(id)?;
                self.port_mod(pipeline, &port_mod)?;
            }
            Message::TableMod(table_mod) => {
                (self.may_change(id)).and_then(|()| check_table_mod(pipeline, table_mod))?;
            }
            Message::MultipartRequest(request) => {
                if let RequestBody::TableFeatures(tables) = request.body {
                    return self.table_features(pipeline, id, transaction, request.more, tables);
                }
                self.multipart(now, pipeline, id, transaction, request.body)?;
            }
            Message::QueueGetConfigRequest(port) => {
                self.queue_config(pipeline, id, transaction, port)?;
            }
            Message::RoleRequest(request) => self.role_request(id, transaction, request)?,
            Message::GetAsyncRequest => self.get_async(id, transaction),
            Message::SetAsync(wanted) => self.set_async(id, wanted),
            Message::BundleControl(control) => {
                self.bundle_control(now, pipeline, id, transaction, &control)?;
            }
            Message::BundleAdd(add) => self.bundle_add(now, pipeline, id, transaction, &add)?,
            Message::Mode(message) => self.mode_message(now, pipeline, id, &message)?,
            Message::Bfd(config) => self.bfd_config(now, pipeline, id, &config)?,
            Message::Hop(message) => self.hop_message(now, pipeline, id, &message)?,
            Message::Experimenter(message) => return unknown(&message),
            // What only a switch says, and what this switch does not have.
            Message::FeaturesReply(_)
            | Message::GetConfigReply(_)
            | Message::Police(_)
            | Message::Stream(_)
            | Message::PacketIn(_)
            | Message::FlowRemoved(_)
            | Message::PortStatus(_)
            | Message::MultipartReply(_)
            | Message::BarrierReply
            | Message::QueueGetConfigReply(_)
            | Message::RoleReply(_)
            | Message::GetAsyncReply(_) => return bad_request(BadRequest::BadType),
        }
        Ok(())
    }

    /// Changes entries; what looks at many of them in slices.
    fn take_flow_mod(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        flow_mod: &FlowMod<'_>,
    ) -> Result<(), ErrorKind> {
        self.may_change(id)?;
        pipeline.make_room_for_monitors();
        let order = Order::compile(pipeline, flow_mod)?;
        self.begin_flow_mod(now, pipeline, id, order)
    }

    /// Changes groups; a deletion in slices.
    fn begin_group_mod(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        group_mod: &GroupMod<'_>,
    ) -> Result<(), ErrorKind> {
        self.may_change(id)?;
        match group_mod.command {
            GroupModCommand::Delete => {
                self.begin_group_deletion(now, pipeline, id, group_mod.group)
            }
            GroupModCommand::Add | GroupModCommand::Modify => {
                self.group_mod(now, pipeline, group_mod)
            }
        }
    }

    /// Changes meters; a deletion in slices.
    fn begin_meter_mod(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        meter_mod: &MeterMod<'_>,
    ) -> Result<(), ErrorKind> {
        self.may_change(id)?;
        match meter_mod.command {
            MeterModCommand::Delete => {
                self.begin_meter_deletion(now, pipeline, id, meter_mod.meter)
            }
            MeterModCommand::Add | MeterModCommand::Modify => {
                self.meter_mod(now, pipeline, meter_mod)
            }
        }
    }

    /// Appends an answer to what is sent to a controller.
    pub(super) fn reply(
        &mut self,
        id: ConnectionId,
        transaction: TransactionId,
        message: &Message<'_>,
    ) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.send(transaction, message);
        }
    }

    /// Refuses a slave what changes the switch, OF13 clause 6.3.4.
    pub(super) fn may_change(&self, id: ConnectionId) -> Result<(), ErrorKind> {
        match self.sessions.get(&id).map(|session| session.role) {
            Some(Role::Slave) => bad_request(BadRequest::IsSlave),
            Some(Role::Equal | Role::Master | Role::NoChange) | None => Ok(()),
        }
    }

    pub(super) fn features(&self, pipeline: &Pipeline) -> FeaturesReply {
        FeaturesReply {
            datapath: self.datapath_id,
            buffers: u32::try_from(self.buffers.capacity()).expect("at most 2^16"),
            tables: u8::try_from(pipeline.tables.len()).expect("made from a u8"),
            auxiliary: 0,
            capabilities: Capabilities::FLOW_STATISTICS
                .with(Capabilities::TABLE_STATISTICS)
                .with(Capabilities::PORT_STATISTICS)
                .with(Capabilities::GROUP_STATISTICS)
                .with(Capabilities::QUEUE_STATISTICS),
        }
    }

    /// Takes a configuration, OF13 clause 7.3.2. Fragments are never put together.
    pub(super) fn set_config(
        &mut self,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        config: SwitchConfig,
    ) -> Result<(), ErrorKind> {
        self.may_change(id)?;
        // Between the most that can be kept and the whole frame is nothing.
        let length = config.miss_send_length;
        if length > ControllerLength::MAX && length != ControllerLength::NO_BUFFER {
            let code = SwitchConfigFailed::BadLength;
            return Err(ErrorKind::SwitchConfigFailed(code));
        }
        match config.fragments {
            FragmentHandling::Normal | FragmentHandling::Drop => {
                self.config = config;
                pipeline.fragments = config.fragments;
                pipeline.egress.miss_send_length = config.miss_send_length;
                pipeline.retain(&Message::SetConfig(config), |out| {
                    config.emit_set(TransactionId(0), out);
                });
                self.listen(id);
                Ok(())
            }
            FragmentHandling::Reassemble => {
                Err(ErrorKind::SwitchConfigFailed(SwitchConfigFailed::BadFlags))
            }
        }
    }
}

/// Has a message that was obeyed written down, if it says what holds from then on and is not
/// in the tables.
fn retain(pipeline: &mut Pipeline, message: &[u8]) {
    // What others say is noted where it is done, for every version.
    if pipeline.form.is_some()
        && let Ok((_, parsed @ (Message::Mode(_) | Message::Bfd(_) | Message::Hop(_)))) =
            Message::parse(message)
    {
        pipeline.retain(&parsed, |out| out.extend(message));
    }
}

/// Refuses what an experimenter defined, OF13 clause 7.5.4.
fn unknown(message: &Experimenter<'_>) -> Result<(), ErrorKind> {
    bad_request(match message.experimenter {
        ONF_EXPERIMENTER => BadRequest::BadExperimenterType,
        _ => BadRequest::BadExperimenter,
    })
}

fn bad_request(code: BadRequest) -> Result<(), ErrorKind> {
    Err(ErrorKind::BadRequest(code))
}

/// Checks the table; there is nothing about it to change, OF13 clause 7.3.3.
fn check_table_mod(pipeline: &Pipeline, table_mod: TableMod) -> Result<(), ErrorKind> {
    let table = table_mod.table;
    if table != TableId::ALL && usize::from(table.0) >= pipeline.tables.len() {
        return Err(ErrorKind::TableModFailed(TableModFailed::BadTable));
    }
    if table_mod.config & !DEPRECATED_CONFIG != 0 {
        return Err(ErrorKind::TableModFailed(TableModFailed::BadConfig));
    }
    Ok(())
}
