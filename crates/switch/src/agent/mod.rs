//! The OpenFlow agent: what controllers ask of the switch.
//!
//! Messages of one connection are handled strictly in their order, and a
//! message is handled completely before the next one is looked at, so that a
//! barrier (OF13 clause 6.2) has nothing to wait for: at its turn everything
//! before it is done.
//!
//! What is received is handled in slices, so that frames wait for a bounded time
//! only: one call takes at most [`SLICE_STEPS`] messages, in turn of all
//! connections, and ends early with the first that has to look at many entries,
//! which is done in slices of its own (`sweep`, `dump`). Of a connection that
//! sends faster than that no more than [`UNREAD_MAX`] bytes wait; what is beyond
//! is handled at once. So a world that wants frames to wait little hands in no
//! more than there is [`room`](Agent::room) for.
//!
//! Sources: OF13 clauses 6 and 7.

mod bfd;
mod bundles;
mod contact;
mod dump;
mod engine_dump;
mod errors;
mod flow_mods;
mod group_mods;
mod group_statistics;
mod hops;
mod inspection;
mod journal;
mod meter_mods;
mod meter_statistics;
mod modes;
mod packet_buffers;
mod packet_in;
mod packet_out;
mod police;
mod ports;
mod requests;
mod roles;
mod session;
mod statistics;
mod streams;
mod sweep;
mod table_features;
mod version10;

pub use session::{ConnectionId, Peer};

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;

use units::Instant;
use wire::openflow::{
    self, DatapathId, FragmentHandling, FramingError, Hello, Message, SwitchConfig, TransactionId,
};
use wire::openflow10;

use crate::config::{Config, FailMode, KeepAlive};
use crate::egress::MISS_SEND_LENGTH;
use crate::pipeline::Pipeline;
use crate::timeouts::Timeouts;
use journal::Journal;
use packet_buffers::PacketBuffers;
use session::{Session, State};

/// How many connections an agent has at a time.
pub const CONNECTIONS_MAX: usize = 16;
/// How many messages are handled in one call.
const SLICE_STEPS: usize = 16;
/// How many received bytes of a connection wait for their turn.
const UNREAD_MAX: usize = 128 * 1024;
/// From how many bytes on a connection has to take what is sent to it before
/// its next message is looked at.
const SENDING_PAUSE: usize = 256 * 1024;
/// How many bytes wait to be sent at most, give or take one message.
const SENDING_MAX: usize = 8 * 1024 * 1024;
/// How many entries expire in one call.
const EXPIRIES_MAX: usize = 16;

/// The versions that a switch speaks: 1.3 and 1.0.
const HELLO: Hello = Hello {
    version: openflow::VERSION,
    versions: Some(1 << openflow::VERSION | 1 << openflow10::VERSION),
};

/// Why the agent closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// There are [`CONNECTIONS_MAX`] others.
    TooManyConnections,
    /// It did not begin with a hello, or no version is common to both.
    NoCommonVersion,
    /// Nobody can say where its next message begins.
    Framing,
    /// It asks for more than it takes.
    SendsUnread,
    /// It gave no sign of life, though it was asked for one.
    Silent,
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooManyConnections => "there are too many others",
            Self::NoCommonVersion => "it speaks no version of OpenFlow that this switch speaks",
            Self::Framing => "it says what is no OpenFlow",
            Self::SendsUnread => "it asks for more than it takes",
            Self::Silent => "it gives no sign of life",
        })
    }
}

/// All connections of a switch and what they have in common.
#[derive(Debug)]
pub(crate) struct Agent {
    datapath_id: DatapathId,
    hardware: String,
    fail_mode: FailMode,
    keep_alive: Option<KeepAlive>,
    config: SwitchConfig,
    buffers: PacketBuffers,
    sessions: BTreeMap<ConnectionId, Session>,
    /// The youngest election of a master that was seen, OF13 clause 6.3.4.
    generation: Option<u64>,
    timeouts: Timeouts,
    /// What a bundle has changed so far, while it is committed.
    journal: Option<Journal>,
    /// The connection that had its turn last.
    served: ConnectionId,
    refused: Vec<ConnectionId>,
    /// Whether a connection may have something to send.
    unsent: bool,
    /// Whether somebody asks for what the world has counted.
    asks_world: bool,
    message: Vec<u8>,
    pub(crate) bad_messages: u64,
    pub(crate) bad_connections: u64,
    pub(crate) lost_contacts: u64,
    /// Whether a controller was there when it was last looked.
    in_contact: bool,
    /// What controllers are to hear of those who exceed their contracts.
    police: police::Watch,
    /// When it is looked next whether streams have copies from all ways.
    streams_due: Option<Instant>,
}

/// How much a step took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Short,
    /// A slice of something long.
    Long,
}

/// What the agent wants its world to do.
pub(crate) enum Demand {
    /// Send what was put into the buffer.
    Send(ConnectionId),
    Close(ConnectionId, CloseReason),
    /// Say what only the world has counted.
    Count,
}

impl Agent {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            datapath_id: config.datapath_id,
            hardware: config.hardware.clone(),
            fail_mode: config.fail_mode,
            keep_alive: config.keep_alive,
            config: SwitchConfig {
                fragments: FragmentHandling::Normal,
                miss_send_length: MISS_SEND_LENGTH,
            },
            buffers: PacketBuffers::new(config.packet_buffers),
            sessions: BTreeMap::new(),
            generation: None,
            timeouts: Timeouts::default(),
            journal: None,
            served: ConnectionId(0),
            refused: Vec::new(),
            unsent: false,
            asks_world: false,
            message: Vec::new(),
            bad_messages: 0,
            bad_connections: 0,
            lost_contacts: 0,
            in_contact: false,
            police: police::Watch::default(),
            streams_due: None,
        }
    }

    pub(crate) fn connected(&mut self, now: Instant, id: ConnectionId, peer: Peer) {
        self.unsent = true;
        self.sessions.remove(&id);
        if self.sessions.len() >= CONNECTIONS_MAX {
            self.refused.push(id);
            return;
        }
        let mut session = Session::new(now, peer);
        session.send(TransactionId(0), &Message::Hello(HELLO));
        self.sessions.insert(id, session);
    }

    pub(crate) fn disconnected(&mut self, id: ConnectionId) {
        self.sessions.remove(&id);
        self.refused.retain(|refused| *refused != id);
    }

    /// Takes bytes of a connection. Bytes of an unknown one are ignored: it was
    /// closed while they were under way.
    pub(crate) fn received(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        bytes: &[u8],
    ) {
        let Some(session) = self.sessions.get_mut(&id) else {
            return;
        };
        if matches!(session.state, State::Closing(_)) {
            return;
        }
        session.receive(now, bytes);
        self.catch_up(now, pipeline, id);
    }

    /// Returns how many bytes of a connection may come without being handled at
    /// once. What nobody listens to any more is taken and forgotten.
    pub(crate) fn room(&self, id: ConnectionId) -> usize {
        let unread = self.sessions.get(&id).map_or(0, |session| session.unread);
        UNREAD_MAX.saturating_sub(unread)
    }

    /// Handles messages until no more than [`UNREAD_MAX`] bytes are unread.
    fn catch_up(&mut self, now: Instant, pipeline: &mut Pipeline, id: ConnectionId) {
        while let Some(session) = self.sessions.get_mut(&id)
            && session.unread > UNREAD_MAX
        {
            if session.unsent() > SENDING_MAX {
                return session.close(CloseReason::SendsUnread);
            }
            self.step(now, pipeline, id);
        }
    }

    /// Does what controllers asked for, up to a limit, and lets entries expire.
    pub(crate) fn work(&mut self, now: Instant, pipeline: &mut Pipeline) {
        self.expire(now, pipeline);
        self.keep_alive(now);
        for _ in 0..SLICE_STEPS {
            let Some(id) = self.next_in_turn() else {
                return;
            };
            self.served = id;
            if self.step(now, pipeline, id) == Step::Long {
                return;
            }
        }
    }

    /// Returns the connection whose turn it is among those with something to do.
    fn next_in_turn(&self) -> Option<ConnectionId> {
        let later = (Bound::Excluded(self.served), Bound::Unbounded);
        let later = self.sessions.range(later);
        let mut turns = later.chain(self.sessions.range(..=self.served));
        let next = turns.find(|(_, session)| session.may_step());
        next.map(|(id, _)| *id)
    }

    /// Returns when [`work`](Self::work) has something to do.
    pub(crate) fn deadline(&self, now: Instant) -> Option<Instant> {
        match self.sessions.values().any(Session::may_step) {
            true => Some(now),
            false => earlier(self.timeouts.next(), self.next_sign_of_life()),
        }
    }

    /// Returns the next thing for the world to do. Bytes to send are put into
    /// `bytes`.
    pub(crate) fn poll(&mut self, bytes: &mut Vec<u8>) -> Option<Demand> {
        if !self.unsent {
            return None;
        }
        if std::mem::take(&mut self.asks_world) {
            return Some(Demand::Count);
        }
        if let Some(id) = self.refused.pop() {
            self.bad_connections += 1;
            return Some(Demand::Close(id, CloseReason::TooManyConnections));
        }
        for (&id, session) in &mut self.sessions {
            if session.take_unsent(bytes) {
                return Some(Demand::Send(id));
            }
            if let State::Closing(reason) = session.state {
                self.sessions.remove(&id);
                self.bad_connections += 1;
                return Some(Demand::Close(id, reason));
            }
        }
        self.unsent = false;
        None
    }

    /// Does the next step of a connection: a part of a long answer, or the next
    /// message.
    fn step(&mut self, now: Instant, pipeline: &mut Pipeline, id: ConnectionId) -> Step {
        let Some(session) = self.sessions.get_mut(&id) else {
            return Step::Short;
        };
        self.unsent = true;
        if let Some(dump) = session.dump.take() {
            session.dump = dump.send_part(now, pipeline, session);
            return Step::Long;
        }
        if let Some(sweep) = session.sweep.take() {
            self.go_on(now, pipeline, id, *sweep);
            return Step::Long;
        }
        if session.does_not_greet() {
            self.refuse_greeting(id, TransactionId(0));
            return Step::Short;
        }
        let mut message = std::mem::take(&mut self.message);
        match session.next_message(&mut message) {
            Ok(true) => self.handle(now, pipeline, id, &message),
            Ok(false) => session.busy = false,
            Err(FramingError::Length { .. }) => session.close(CloseReason::Framing),
        }
        self.message = message;
        match self.sessions.get(&id) {
            Some(session) if session.is_at_work() => Step::Long,
            Some(_) | None => Step::Short,
        }
    }

    /// Sends a message that nobody asked for to the controllers that want it.
    fn announce(&mut self, wanted: impl Fn(&Session) -> bool, message: &Message<'_>) {
        for session in self.sessions.values_mut().filter(|session| wanted(session)) {
            session.send(TransactionId(0), message);
            self.unsent = true;
            if session.unsent() > SENDING_MAX {
                session.close(CloseReason::SendsUnread);
            }
        }
    }
}

/// Returns the earlier of two deadlines.
pub(crate) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
