//! One connection to a switch: handshake, sign of life, protection.
//!
//! Both sides say hello and agree on OpenFlow 1.3, or on 1.0 if the switch speaks
//! nothing newer (OF13 clause 6.3.1), then the
//! switch says who it is and which ports it has; from then on its session is
//! ready. A peer that stays silent is asked for an echo and closed if it gives
//! none (OF13 clause 6.3.3).
//!
//! A peer harms only itself. It can make the controller keep no more than one
//! message, it is closed when it sends what is no OpenFlow, and the frames that
//! it hands over are taken up to budgets ([`crate::packet_in_classes`]).

use std::collections::BTreeMap;
use std::fmt;

use units::Instant;
use wire::openflow::multipart::{MultipartReply, MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::{
    ControllerLength, DatapathId, Echo, ErrorKind, ErrorMessage, FeaturesReply, FragmentHandling,
    Header, Hello, HelloFailed, Message, MessageType, PortDescription, Role, RoleMessage,
    SwitchConfig, TransactionId, VERSION,
};
use wire::openflow10;

use crate::mastery::{self, Standing, Wish};
use crate::packet_in_classes::PacketInClasses;
use crate::store::Epoch;
use crate::telemetry::Telemetry;
use crate::version10::Translator;
use crate::view::{Carrier, MAX_PORTS, Port};

/// The most connections at a time.
pub const MAX_CONNECTIONS: usize = 4_096;
/// The most of them that have not said which switch they lead to. Whoever has waited
/// for longest makes room, so that those who say nothing keep nobody out.
pub const MAX_GREETING: usize = 1_024;
/// The most messages that cannot be read before a connection is closed.
pub const MAX_BAD_MESSAGES: u32 = 16;

/// What is spoken: OpenFlow 1.3, and 1.0 with those that speak nothing newer.
const HELLO: Hello = Hello {
    version: VERSION,
    versions: Some(1 << VERSION | 1 << openflow10::VERSION),
};

/// The longest hello that is taken.
const MAX_HELLO_LENGTH: u16 = 1_024;

/// Names a connection; chosen by the driver, and never used again for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

/// The place of a session among all; used again once it is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(u32);

impl Slot {
    /// Returns the place as an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    TooMany,
    /// The peer sent what is no OpenFlow.
    Garbage,
    /// The peer speaks neither OpenFlow 1.3 nor 1.0.
    Version,
    /// The peer has not said in time which switch it is.
    Handshake,
    /// The peer has been silent for too long, or answers no barrier.
    Silence,
    /// The switch is connected by another connection.
    Duplicate,
    /// The peer has more ports than a switch may have, or is a switch too many.
    TooLarge,
    /// The peer does not read what it is sent.
    Unread,
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooMany => "there are too many connections",
            Self::Garbage => "it sent what is no OpenFlow",
            Self::Version => "it does not speak OpenFlow 1.3",
            Self::Handshake => "it has not said in time which switch it is",
            Self::Silence => "it has been silent for too long",
            Self::Duplicate => "the switch is connected by another connection",
            Self::TooLarge => "it has too many ports, or is a switch too many",
            Self::Unread => "it does not read what it is sent",
        })
    }
}

/// How far a session is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SessionState {
    Hello,
    /// The switch's datapath id is expected.
    Features,
    /// Its ports are expected; some may be there.
    Ports(DatapathId, Vec<Port>),
    /// It was asked who its master is.
    Asked(DatapathId, Vec<Port>),
    /// It was asked to have us as its master.
    Claimed(DatapathId, Vec<Port>),
    /// All is known, and nobody else decides.
    Ready(DatapathId),
    /// Another controller is its master: nothing is said to it.
    Subordinate(DatapathId),
}

/// What a message means for the session.
#[derive(Debug, PartialEq, Eq)]
pub enum SessionStep {
    /// Nothing more needs to be done.
    Done,
    /// The switch is known now.
    Ready(DatapathId, Vec<Port>),
    /// Another controller is the master of the switch.
    OtherMaster(DatapathId),
    /// It knows a later term than the one in which we lead.
    LaterTerm(u64),
    /// The message is not about the session, and the switch is known.
    Pass,
    /// The connection has to be closed.
    Close(CloseReason),
}

/// One connection to a switch.
#[derive(Debug)]
pub struct Session {
    pub connection: ConnectionId,
    pub opened_at: Instant,
    pub heard_at: Instant,
    /// Since when it was never silent for so long that it would be suspected.
    pub heard_since: Instant,
    /// The beginning of a message whose end has not arrived.
    pub unfinished: Vec<u8>,
    /// What stands between, if the switch speaks version 1.0.
    pub translator: Option<Box<Translator>>,
    /// How we stand to switches.
    standing: Standing,
    /// Whether the switch has us as its master.
    pub is_master: bool,
    state: SessionState,
    bad_messages: u32,
    /// The frames that the switch has handed over.
    pub punts: PacketInClasses,
    /// What the switch last said of itself.
    pub telemetry: Telemetry,
}

impl Session {
    fn new(now: Instant, connection: ConnectionId, standing: Standing) -> Self {
        Self {
            connection,
            opened_at: now,
            heard_at: now,
            heard_since: now,
            unfinished: Vec::new(),
            translator: None,
            standing,
            is_master: false,
            state: SessionState::Hello,
            bad_messages: 0,
            punts: PacketInClasses::new(now),
            telemetry: Telemetry::default(),
        }
    }

    /// Returns the switch at the other end, once it is ready.
    #[must_use]
    pub const fn datapath(&self) -> Option<DatapathId> {
        match self.state {
            SessionState::Ready(datapath) => Some(datapath),
            SessionState::Hello
            | SessionState::Features
            | SessionState::Ports(..)
            | SessionState::Asked(..)
            | SessionState::Claimed(..)
            | SessionState::Subordinate(_) => None,
        }
    }

    /// Returns whether nothing more is expected of the handshake.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        matches!(
            self.state,
            SessionState::Ready(_) | SessionState::Subordinate(_)
        )
    }

    /// Says nothing more to the switch: another controller is its master.
    fn subordinate(&mut self, datapath: DatapathId) {
        self.is_master = false;
        self.state = SessionState::Subordinate(datapath);
    }

    /// Leads from now on: a switch that was left to others is asked for its ports again,
    /// since slaves are not told all, and then to have us as its master.
    fn lead(&mut self, now: Instant, epoch: Epoch, out: &mut Vec<u8>) {
        self.standing = Standing::Leads(epoch);
        if let SessionState::Subordinate(datapath) = self.state {
            self.opened_at = now;
            self.ask_for_ports(datapath, out);
        }
    }

    /// Returns whether a message that begins like this can be one: it is not
    /// worth waiting for the end of others.
    #[must_use]
    pub const fn may_begin_with(&self, header: Header) -> bool {
        match self.state {
            SessionState::Hello => {
                header.kind == MessageType::Hello.number() && header.length <= MAX_HELLO_LENGTH
            }
            SessionState::Features
            | SessionState::Ports(..)
            | SessionState::Asked(..)
            | SessionState::Claimed(..)
            | SessionState::Ready(_)
            | SessionState::Subordinate(_) => match self.translator {
                None => header.version == VERSION,
                Some(_) => header.version == openflow10::VERSION,
            },
        }
    }

    pub fn greet(out: &mut Vec<u8>) {
        HELLO.emit(TransactionId(0), out);
    }

    /// Takes a message, answers what concerns the session, and says what is left
    /// to do.
    pub fn take<'a>(
        &mut self,
        header: Header,
        message: &Message<'_>,
        out: impl FnOnce() -> &'a mut Vec<u8>,
    ) -> SessionStep {
        match (&mut self.state, message) {
            (_, Message::EchoRequest(echo)) => {
                echo.emit_reply(header.transaction, out());
                SessionStep::Done
            }
            (_, Message::EchoReply(_)) => SessionStep::Done,
            (SessionState::Ready(_), _) => SessionStep::Pass,
            (SessionState::Hello, Message::Hello(hello)) => {
                self.agree(hello, header.transaction, out())
            }
            (SessionState::Features, Message::FeaturesReply(features)) => {
                self.identify(features, out())
            }
            (SessionState::Ports(_, ports), Message::MultipartReply(reply)) => {
                if !take_ports(ports, reply) {
                    return SessionStep::Close(CloseReason::TooLarge);
                }
                self.complete(reply.more, out)
            }
            (SessionState::Asked(..), Message::RoleReply(role)) => {
                self.claim(role.generation, out())
            }
            // It has no roles, and says so or says nothing.
            (SessionState::Asked(..), Message::BarrierReply | Message::Error(_)) => {
                self.ready_without_roles()
            }
            (SessionState::Claimed(..), Message::RoleReply(role)) => match role.role {
                Role::Master => self.ready(true),
                Role::NoChange | Role::Equal | Role::Slave => self.give_way(),
            },
            (SessionState::Claimed(..), Message::Error(_)) => self.give_way(),
            (_, Message::Error(error)) => match error.kind {
                ErrorKind::HelloFailed(_) => SessionStep::Close(CloseReason::Version),
                _ => SessionStep::Done,
            },
            (SessionState::Hello, _) => SessionStep::Close(CloseReason::Garbage),
            // A switch may tell of ports and frames before it was asked; what
            // it says of its ports afterwards is newer.
            (
                SessionState::Features
                | SessionState::Ports(..)
                | SessionState::Asked(..)
                | SessionState::Claimed(..)
                | SessionState::Subordinate(_),
                _,
            ) => SessionStep::Done,
        }
    }

    /// Counts a message that cannot be read and answers it. Returns whether
    /// that was one too many.
    pub fn take_bad(&mut self, message: &[u8], kind: ErrorKind, out: &mut Vec<u8>) -> bool {
        self.bad_messages += 1;
        if let Ok(header) = Header::parse(message) {
            ErrorMessage::about(message, kind).emit(header.transaction, out);
        }
        self.bad_messages > MAX_BAD_MESSAGES || self.datapath().is_none()
    }

    /// Asks for a sign of life.
    pub fn ask_for_echo(out: &mut Vec<u8>) {
        Echo { data: &[] }.emit_request(TransactionId(0), out);
    }

    fn agree(
        &mut self,
        hello: &Hello,
        transaction: TransactionId,
        out: &mut Vec<u8>,
    ) -> SessionStep {
        match HELLO.agree(hello) {
            Some(VERSION) => {}
            Some(openflow10::VERSION) => self.translator = Some(Box::default()),
            Some(_) | None => {
                let error = ErrorMessage {
                    kind: ErrorKind::HelloFailed(HelloFailed::Incompatible),
                    data: b"OpenFlow 1.3 or 1.0 only",
                };
                error.emit(transaction, out);
                return SessionStep::Close(CloseReason::Version);
            }
        }
        self.state = SessionState::Features;
        FeaturesReply::emit_request(TransactionId(0), out);
        SessionStep::Done
    }

    fn identify(&mut self, features: &FeaturesReply, out: &mut Vec<u8>) -> SessionStep {
        let config = SwitchConfig {
            fragments: FragmentHandling::Normal,
            miss_send_length: ControllerLength::NO_BUFFER,
        };
        config.emit_set(TransactionId(0), out);
        self.ask_for_ports(features.datapath, out);
        SessionStep::Done
    }

    fn ask_for_ports(&mut self, datapath: DatapathId, out: &mut Vec<u8>) {
        self.state = SessionState::Ports(datapath, Vec::new());
        let question = MultipartRequest::new(RequestBody::PortDescription);
        question.emit(TransactionId(0), out);
    }

    /// Goes on once all ports are known: whoever has roles is asked for its master. What
    /// has none answers the barrier alone.
    fn complete<'a>(&mut self, more: bool, out: impl FnOnce() -> &'a mut Vec<u8>) -> SessionStep {
        let SessionState::Ports(datapath, ports) = &mut self.state else {
            return SessionStep::Done;
        };
        if more {
            return SessionStep::Done;
        }
        self.state = SessionState::Asked(*datapath, std::mem::take(ports));
        if self.translator.is_some() {
            return self.ready_without_roles();
        }
        let out = out();
        mastery::QUESTION.emit_request(TransactionId(0), out);
        Message::BarrierRequest.emit(TransactionId(0), out);
        SessionStep::Done
    }

    /// Claims a switch that knows this generation, or leaves it to whoever is its master.
    fn claim(&mut self, known: u64, out: &mut Vec<u8>) -> SessionStep {
        let SessionState::Asked(datapath, ports) = &mut self.state else {
            return SessionStep::Done;
        };
        let (role, generation) = match self.standing.wish(known) {
            Wish::Nothing => return self.give_way(),
            Wish::Later(term) => {
                let datapath = *datapath;
                self.subordinate(datapath);
                return SessionStep::LaterTerm(term);
            }
            Wish::Master(generation) => {
                self.state = SessionState::Claimed(*datapath, std::mem::take(ports));
                (Role::Master, generation)
            }
            Wish::Slave(generation) => {
                let datapath = *datapath;
                self.subordinate(datapath);
                (Role::Slave, generation)
            }
        };
        RoleMessage { role, generation }.emit_request(TransactionId(0), out);
        SessionStep::Done
    }

    fn give_way(&mut self) -> SessionStep {
        match self.state {
            SessionState::Asked(datapath, _) | SessionState::Claimed(datapath, _) => {
                self.subordinate(datapath);
                SessionStep::OtherMaster(datapath)
            }
            _ => SessionStep::Done,
        }
    }

    /// Goes on with a switch that has no roles: whoever stands by keeps silent.
    fn ready_without_roles(&mut self) -> SessionStep {
        if self.standing != Standing::Standby {
            return self.ready(false);
        }
        if let SessionState::Asked(datapath, _) = self.state {
            self.subordinate(datapath);
        }
        SessionStep::Done
    }

    fn ready(&mut self, is_master: bool) -> SessionStep {
        match &mut self.state {
            SessionState::Asked(datapath, ports) | SessionState::Claimed(datapath, ports) => {
                let (datapath, ports) = (*datapath, std::mem::take(ports));
                self.is_master = is_master;
                self.state = SessionState::Ready(datapath);
                SessionStep::Ready(datapath, ports)
            }
            _ => SessionStep::Done,
        }
    }
}

/// Takes one part of the list of ports. Returns whether it is one and fits.
fn take_ports(ports: &mut Vec<Port>, reply: &MultipartReply<'_>) -> bool {
    let ReplyBody::PortDescription(list) = reply.body else {
        return true;
    };
    for port in list {
        let Ok(port) = port else { return false };
        if port.number.is_ordinary() {
            ports.push(port_of(&port));
        }
    }
    ports.len() <= MAX_PORTS
}

/// Returns a port as the view keeps it.
#[must_use]
pub fn port_of(description: &PortDescription) -> Port {
    Port {
        number: description.number,
        mac: description.address,
        carrier: match description.is_up() {
            true => Carrier::Up,
            false => Carrier::Down,
        },
        link: None,
    }
}

#[derive(Debug, Default)]
pub struct Sessions {
    slots: Vec<Option<Session>>,
    by_connection: BTreeMap<ConnectionId, Slot>,
    by_datapath: BTreeMap<DatapathId, Slot>,
    /// Those that lead to switches of version 1.0.
    narrow: Vec<Slot>,
}

impl Sessions {
    /// Opens a session. Returns `None` if there are too many.
    pub fn open(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        standing: Standing,
    ) -> Option<Slot> {
        let free = self.slots.iter().position(Option::is_none);
        let index = free.unwrap_or(self.slots.len());
        if index >= MAX_CONNECTIONS {
            return None;
        }
        if index == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[index] = Some(Session::new(now, connection, standing));
        let slot = Slot(u32::try_from(index).expect("bounded by MAX_CONNECTIONS"));
        self.by_connection.insert(connection, slot);
        Some(slot)
    }

    /// Returns who is to make room for one more that has not said which switch it is.
    #[must_use]
    pub fn in_the_way(&self) -> Option<Slot> {
        if self.by_connection.len() - self.by_datapath.len() < MAX_GREETING {
            return None;
        }
        let greeting = self.iter().filter(|(_, session)| !session.is_settled());
        let mut greeting: Vec<_> = greeting.collect();
        if greeting.len() < MAX_GREETING {
            return None;
        }
        greeting.sort_unstable_by_key(|(_, session)| session.connection);
        greeting.first().map(|(slot, _)| *slot)
    }

    /// Ends a session and returns it.
    pub fn close(&mut self, slot: Slot) -> Option<Session> {
        let session = self.slots.get_mut(slot.index())?.take()?;
        self.by_connection.remove(&session.connection);
        self.narrow.retain(|narrow| *narrow != slot);
        if let Some(datapath) = session.datapath()
            && self.by_datapath.get(&datapath) == Some(&slot)
        {
            self.by_datapath.remove(&datapath);
        }
        Some(session)
    }

    /// Notes which switch a session leads to. Returns `false` if another one
    /// does already.
    pub fn claim(&mut self, datapath: DatapathId, slot: Slot) -> bool {
        *self.by_datapath.entry(datapath).or_insert(slot) == slot
    }

    /// Leaves the switch of a session to another controller; its connection stays.
    pub fn give_up(&mut self, slot: Slot) {
        let session = self.slots.get_mut(slot.index()).and_then(Option::as_mut);
        let Some(session) = session else {
            return;
        };
        if let Some(datapath) = session.datapath() {
            self.by_datapath.remove(&datapath);
            session.subordinate(datapath);
        }
    }

    /// Leads from now on, at all switches; `out` is what is said over a connection.
    pub fn lead(&mut self, now: Instant, epoch: Epoch, mut out: impl FnMut(Slot, &[u8])) {
        let mut words = Vec::new();
        for (session, index) in self.slots.iter_mut().zip(0..) {
            if let Some(session) = session {
                session.lead(now, epoch, &mut words);
                if !words.is_empty() {
                    out(Slot(index), &words);
                    words.clear();
                }
            }
        }
    }

    /// Notes that a session leads to a switch of version 1.0.
    pub fn note_narrow(&mut self, slot: Slot) {
        if !self.narrow.contains(&slot) {
            self.narrow.push(slot);
        }
    }

    /// Returns the sessions that lead to switches of version 1.0.
    #[must_use]
    pub fn narrow(&self) -> &[Slot] {
        &self.narrow
    }

    /// Returns the session of a connection.
    #[must_use]
    pub fn of_connection(&self, connection: ConnectionId) -> Option<Slot> {
        self.by_connection.get(&connection).copied()
    }

    /// Returns the session of a switch, if it is ready.
    #[must_use]
    pub fn of_switch(&self, datapath: DatapathId) -> Option<Slot> {
        self.by_datapath.get(&datapath).copied()
    }

    #[must_use]
    pub fn get(&self, slot: Slot) -> Option<&Session> {
        self.slots.get(slot.index())?.as_ref()
    }

    /// Returns a session, to be changed.
    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut Session> {
        self.slots.get_mut(slot.index())?.as_mut()
    }

    pub fn iter(&self) -> impl Iterator<Item = (Slot, &Session)> {
        let slots = self.slots.iter().zip(0..);
        slots.filter_map(|(session, index)| Some((Slot(index), session.as_ref()?)))
    }

    /// Returns the sessions of all switches that are ready, by datapath id.
    pub fn ready(&self) -> impl Iterator<Item = (DatapathId, Slot)> + '_ {
        self.by_datapath
            .iter()
            .map(|(datapath, slot)| (*datapath, *slot))
    }
}
