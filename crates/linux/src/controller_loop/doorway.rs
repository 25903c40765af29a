//! Where switches come in: the listening socket and all connections.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};

use controller::ConnectionId;
use units::Duration;

use crate::channel::{Channel, Found, Unsent};
use crate::poller::{Interest, Poller};
use crate::stream::Stream;
use crate::waker::Waker;

/// The most connections at once; further ones are closed as they come.
pub const MOST_CONNECTIONS: usize = 4096;
/// The marks of what is no connection; those count up from zero.
const LISTENER: u64 = u64::MAX;
const WAKER: u64 = u64::MAX - 1;

/// Something that happened at the doorway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Knock {
    /// Someone may want in.
    Listener,
    /// The waker was used.
    Waker,
    /// A connection has something to read, or room to write.
    Connection(ConnectionId),
}

/// The listening socket and all connections.
#[derive(Debug)]
pub(super) struct Doorway {
    listener: Option<TcpListener>,
    poller: Poller,
    lines: BTreeMap<ConnectionId, Line>,
    next: u64,
}

#[derive(Debug)]
struct Line {
    channel: Channel,
    peer: SocketAddr,
    /// Whether the kernel is asked to report room to write.
    awaits_room: bool,
}

impl Doorway {
    /// Opens the doorway.
    pub(super) fn open(listener: Option<TcpListener>, waker: &Waker) -> io::Result<Self> {
        let poller = Poller::new()?;
        if let Some(listener) = &listener {
            listener.set_nonblocking(true)?;
            poller.add(listener, LISTENER)?;
        }
        poller.add(waker, WAKER)?;
        Ok(Self {
            listener,
            poller,
            lines: BTreeMap::new(),
            next: 0,
        })
    }

    /// Waits until something happens, at most for `patience`; then
    /// [`knock`](Self::knock) tells what.
    pub(super) fn wait(&mut self, patience: Option<Duration>) {
        self.poller.wait(patience);
    }

    /// Returns the next thing that happened.
    pub(super) fn knock(&mut self) -> Option<Knock> {
        Some(match self.poller.next()? {
            LISTENER => Knock::Listener,
            WAKER => Knock::Waker,
            mark => Knock::Connection(ConnectionId(mark)),
        })
    }

    /// Lets one waiting switch in.
    pub(super) fn accept(&mut self) -> Option<ConnectionId> {
        let (stream, peer) = self.listener.as_ref()?.accept().ok()?;
        self.take(stream, peer)
    }

    /// Takes over a connection, unless there are too many.
    pub(super) fn take(
        &mut self,
        stream: impl Into<Stream>,
        peer: SocketAddr,
    ) -> Option<ConnectionId> {
        if self.lines.len() == MOST_CONNECTIONS {
            return None;
        }
        let channel = Channel::new(stream).ok()?;
        self.poller.add(&channel, self.next).ok()?;
        let id = ConnectionId(self.next);
        self.next += 1;
        let awaits_room = false;
        self.lines.insert(
            id,
            Line {
                channel,
                peer,
                awaits_room,
            },
        );
        Some(id)
    }

    /// Reads what is there into `room`. A connection that is gone is closed.
    pub(super) fn read(&mut self, id: ConnectionId, room: &mut [u8]) -> Found {
        self.lines
            .get_mut(&id)
            .map_or(Found::Nothing, |line| line.channel.read(room))
    }

    /// Has `bytes` sent with the next [`flush`](Self::flush).
    pub(super) fn queue(&mut self, id: ConnectionId, bytes: &[u8]) {
        if let Some(line) = self.lines.get_mut(&id) {
            line.channel.queue(bytes);
        }
    }

    /// Sends what waits, as far as it fits.
    pub(super) fn flush(&mut self, id: ConnectionId) -> Unsent {
        let Some(line) = self.lines.get_mut(&id) else {
            return Unsent::Nothing;
        };
        let unsent = line.channel.flush();
        let awaits_room = unsent == Unsent::Something;
        if awaits_room != line.awaits_room {
            line.awaits_room = awaits_room;
            let interest = match unsent {
                Unsent::Something => Interest::ReadingAndWriting,
                Unsent::Nothing | Unsent::Closed => Interest::Reading,
            };
            if self.poller.change(&line.channel, id.0, interest).is_err() {
                return Unsent::Closed;
            }
        }
        unsent
    }

    /// Closes a connection and returns whose it was.
    pub(super) fn close(&mut self, id: ConnectionId) -> Option<SocketAddr> {
        let line = self.lines.remove(&id)?;
        self.poller.remove(&line.channel);
        Some(line.peer)
    }
}
