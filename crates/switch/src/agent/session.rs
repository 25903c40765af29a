//! One connection to a controller: what arrived, what is to be sent, and what
//! the controller may do.

use units::Instant;
use wire::openflow::multipart::{MultipartReply, ReplyBody};
use wire::openflow::{
    self, AsyncConfig, Element, Framer, FramingError, Message, MessageType, Role, Sequence,
    TransactionId,
};
use wire::openflow10;

use super::bundles::Bundles;
use super::dump::Dump;
use super::sweep::Sweep;
use super::table_features::Wanted;
use super::{CloseReason, SENDING_PAUSE, version10};
use crate::packet::Origin;

/// How many bytes of items go into one message, give or take one.
const PART_BYTES: usize = 24 * 1024;

pub(super) const NOTHING_UNASKED: AsyncConfig = AsyncConfig {
    packet_in: [0; 2],
    port_status: [0; 2],
    flow_removed: [0; 2],
};

/// Names a connection. The world chooses the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A controller that the switch is told to work for.
    Controller,
    /// Somebody who only wants to look or to change something by hand. The
    /// switch does not count it as a controller, OF13 clause 6.3.2, and tells it
    /// nothing unasked before it has said how much of a frame it wants
    /// (OF13 clause 7.3.2) or which messages (OF13 clause 7.3.10).
    Management,
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// No version is agreed on yet.
    Greeting,
    Open,
    /// What is left to send is sent, then the connection is closed.
    Closing(CloseReason),
}

/// Whether a connection takes what is sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlet {
    Free,
    Congested,
}

/// The version of the protocol that is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// OpenFlow 1.0.
    Old,
    /// OpenFlow 1.3, also as long as no version is agreed on.
    New,
}

impl Version {
    /// Returns the version with this number on the wire.
    pub(super) const fn from_number(number: u8) -> Option<Self> {
        match number {
            openflow10::VERSION => Some(Self::Old),
            openflow::VERSION => Some(Self::New),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) peer: Peer,
    pub(super) state: State,
    version: Version,
    /// When it last gave a sign of life, or the switch had no time for it.
    pub(super) heard: Instant,
    /// When it was asked for one since.
    pub(super) asked: Option<Instant>,
    pub(super) role: Role,
    pub(super) asynchronous: AsyncConfig,
    pub(super) outlet: Outlet,
    /// Bytes for the controller that nobody has taken yet.
    sending: Vec<u8>,
    /// A long answer, of which a part is sent already.
    pub(super) dump: Option<Dump>,
    /// Work on many entries, of which a part is done already.
    pub(super) sweep: Option<Box<Sweep>>,
    /// Tables asked for in a request of which more is to come.
    pub(super) wanted_tables: Option<Wanted>,
    pub(super) bundles: Bundles,
    /// Whether there may be a message that has not been looked at.
    pub(super) busy: bool,
    framer: Framer,
    /// How many bytes arrived and have not been looked at.
    pub(super) unread: usize,
}

impl Session {
    pub(super) fn new(now: Instant, peer: Peer) -> Self {
        Self {
            peer,
            state: State::Greeting,
            version: Version::New,
            heard: now,
            asked: None,
            role: Role::Equal,
            asynchronous: match peer {
                Peer::Controller => AsyncConfig::DEFAULT,
                Peer::Management => NOTHING_UNASKED,
            },
            outlet: Outlet::Free,
            sending: Vec::new(),
            dump: None,
            sweep: None,
            wanted_tables: None,
            bundles: Bundles::default(),
            busy: false,
            framer: Framer::new(),
            unread: 0,
        }
    }

    pub(super) fn receive(&mut self, now: Instant, bytes: &[u8]) {
        self.heard = now;
        self.asked = None;
        self.framer.push(bytes);
        self.unread += bytes.len();
        self.busy = true;
    }

    /// Appends a message to what is sent to the controller. Everything that a
    /// controller is told goes through here.
    #[inline]
    pub(super) fn send(&mut self, transaction: TransactionId, message: &Message<'_>) {
        match self.version {
            Version::New => message.emit(transaction, &mut self.sending),
            Version::Old => version10::emit(message, transaction, &mut self.sending),
        }
    }

    /// Appends a message that only version 1.0 has.
    pub(super) fn send_narrow(
        &mut self,
        transaction: TransactionId,
        message: &openflow10::Message<'_>,
    ) {
        message.emit(transaction, &mut self.sending);
    }

    /// Begins to talk in this version.
    pub(super) fn open(&mut self, version: Version) {
        self.version = version;
        self.state = State::Open;
    }

    /// Returns whether version 1.0 is spoken.
    pub(super) fn is_old(&self) -> bool {
        self.version == Version::Old && self.is_open()
    }

    /// Returns whether frames of this origin are for the controller: one that no
    /// entry matches is for those of version 1.0.
    #[inline]
    pub(super) const fn hears_of(&self, origin: Origin) -> bool {
        match self.version {
            Version::New => !origin.is_miss(),
            Version::Old => true,
        }
    }

    /// Appends an answer that lists items, in as many messages as it takes.
    pub(super) fn send_list<'a, T: Element<'a>>(
        &mut self,
        transaction: TransactionId,
        items: &'a [T],
        body: impl Fn(Sequence<'a, T>) -> ReplyBody<'a>,
    ) {
        let mut rest = items;
        loop {
            let (part, later) = rest.split_at(first_part(rest));
            rest = later;
            let reply = MultipartReply {
                more: !rest.is_empty(),
                body: body(Sequence::of(part)),
            };
            self.send(transaction, &Message::MultipartReply(reply));
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Returns how many bytes wait to be sent.
    pub(super) const fn unsent(&self) -> usize {
        self.sending.len()
    }

    /// Puts what waits to be sent into `bytes`, if there is any.
    pub(super) fn take_unsent(&mut self, bytes: &mut Vec<u8>) -> bool {
        let held = self.outlet == Outlet::Congested && self.is_open();
        if self.sending.is_empty() || held {
            return false;
        }
        bytes.clear();
        std::mem::swap(bytes, &mut self.sending);
        true
    }

    /// Returns whether the first message turns out not to be a hello.
    pub(super) fn does_not_greet(&self) -> bool {
        let first = self.framer.next_header();
        self.state == State::Greeting
            && first.is_some_and(|header| header.kind != MessageType::Hello.number())
    }

    /// Copies the next message to `message`, if there is one.
    pub(super) fn next_message(&mut self, message: &mut Vec<u8>) -> Result<bool, FramingError> {
        message.clear();
        match self.framer.next_message()? {
            Some(next) => {
                message.extend_from_slice(next);
                self.unread -= next.len();
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Returns whether there is something to do for the controller, and room for
    /// the answer.
    pub(super) fn may_step(&self) -> bool {
        self.busy && self.outlet == Outlet::Free && self.sending.len() < SENDING_PAUSE
    }

    /// Returns whether the message handled last is not finished.
    pub(super) const fn is_at_work(&self) -> bool {
        self.dump.is_some() || self.sweep.is_some()
    }

    /// Stops listening. The connection is closed once everything is sent.
    pub(super) fn close(&mut self, reason: CloseReason) {
        let (version, sending) = (self.version, std::mem::take(&mut self.sending));
        *self = Self::new(self.heard, self.peer);
        self.version = version;
        self.sending = sending;
        self.state = State::Closing(reason);
    }

    pub(super) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Returns whether the controller wants to hear of something unasked, OF13
    /// clause 6.3.4. The mask has a bit for every reason.
    pub(super) fn wants(&self, masks: [u32; 2], reason: u8) -> bool {
        let [master, slave] = masks;
        let mask = match self.role {
            Role::Slave => slave,
            Role::Equal | Role::Master | Role::NoChange => master,
        };
        self.is_open() && mask >> reason & 1 == 1
    }
}

/// Returns how many of the items go into the next message.
fn first_part<'a, T: Element<'a>>(items: &[T]) -> usize {
    let mut bytes = Vec::new();
    let fitting = items.iter().take_while(|item| {
        let fits = bytes.len() < PART_BYTES;
        item.emit(&mut bytes);
        fits
    });
    fitting.count()
}
