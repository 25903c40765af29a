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
/// The most bytes that wait for one switch, such as the entries that it lacks. One
/// that lets more pile up does not read; its connection is closed.
pub const MOST_UNSENT_BYTES: usize = 64 << 20;
/// The most bytes that wait for all switches together. Beyond, whoever has more than
/// an equal share of them is closed.
pub const MOST_UNSENT_BYTES_OF_ALL: usize = 512 << 20;
/// With so much unsent, a switch is heard only as fast as it reads: what it sends is
/// answered, and answers that nobody reads would pile up.
const UNHEARD_BYTES: usize = 1 << 20;
/// The marks of what is no connection; those count up from zero.
const LISTENER: u64 = u64::MAX;
const WAKER: u64 = u64::MAX - 1;

/// Something that happened at the doorway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    Listener,
    Waker,
    /// A connection has something to read, or room to write.
    Connection(ConnectionId),
}

/// The listening socket and all connections.
#[derive(Debug)]
pub(super) struct ConnectionListener {
    listener: Option<TcpListener>,
    poller: Poller,
    lines: BTreeMap<ConnectionId, Line>,
    next: u64,
    /// How many bytes wait for all together.
    unsent: usize,
}

#[derive(Debug)]
struct Line {
    channel: Channel,
    peer: SocketAddr,
    /// What the kernel is asked to report.
    interest: Interest,
}

impl ConnectionListener {
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
            unsent: 0,
        })
    }

    /// Waits until something happens, at most for `patience`; then
    /// [`knock`](Self::knock) tells what.
    pub(super) fn wait(&mut self, patience: Option<Duration>) {
        self.poller.wait(patience);
    }

    /// Returns the next thing that happened.
    pub(super) fn knock(&mut self) -> Option<Readiness> {
        Some(match self.poller.next()? {
            LISTENER => Readiness::Listener,
            WAKER => Readiness::Waker,
            mark => Readiness::Connection(ConnectionId(mark)),
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
        let channel = Channel::new(stream).ok()?.holding(MOST_UNSENT_BYTES);
        self.poller.add(&channel, self.next).ok()?;
        let id = ConnectionId(self.next);
        self.next += 1;
        let line = Line {
            channel,
            peer,
            interest: Interest::Reading,
        };
        self.lines.insert(id, line);
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
            self.unsent += bytes.len();
        }
    }

    /// Sends `bytes` now, behind what waits.
    pub(super) fn send(&mut self, id: ConnectionId, bytes: &[u8]) -> Unsent {
        self.work(id, |channel| channel.send(bytes))
    }

    /// Sends what waits, as far as it fits.
    pub(super) fn flush(&mut self, id: ConnectionId) -> Unsent {
        self.work(id, Channel::flush)
    }

    /// Tells whether something waits for a connection.
    pub(super) fn is_behind(&self, id: ConnectionId) -> bool {
        let line = self.lines.get(&id);
        line.is_some_and(|line| line.channel.waiting() > 0)
    }

    /// Lets a channel send, and has the kernel report what matters afterwards.
    fn work(&mut self, id: ConnectionId, send: impl FnOnce(&mut Channel) -> Unsent) -> Unsent {
        let connections = self.lines.len();
        let Some(line) = self.lines.get_mut(&id) else {
            return Unsent::Nothing;
        };
        let before = line.channel.waiting();
        let unsent = send(&mut line.channel);
        let waiting = line.channel.waiting();
        self.unsent = self.unsent + waiting - before;
        let interest = match waiting {
            0 => Interest::Reading,
            1..=UNHEARD_BYTES => Interest::ReadingAndWriting,
            _ => Interest::Writing,
        };
        if interest != line.interest {
            line.interest = interest;
            if self.poller.change(&line.channel, id.0, interest).is_err() {
                return Unsent::Closed;
            }
        }
        let has_its_share = waiting <= MOST_UNSENT_BYTES_OF_ALL / connections;
        match unsent {
            Unsent::Something if self.unsent > MOST_UNSENT_BYTES_OF_ALL && !has_its_share => {
                Unsent::TooMuch
            }
            Unsent::Nothing | Unsent::Something | Unsent::TooMuch | Unsent::Closed => unsent,
        }
    }

    /// Closes all connections.
    pub(super) fn close_all(&mut self) {
        while let Some((_, line)) = self.lines.pop_first() {
            self.poller.remove(&line.channel);
        }
        self.unsent = 0;
    }

    /// Closes a connection and returns whose it was.
    pub(super) fn close(&mut self, id: ConnectionId) -> Option<SocketAddr> {
        let line = self.lines.remove(&id)?;
        self.unsent -= line.channel.waiting();
        self.poller.remove(&line.channel);
        Some(line.peer)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    fn doorway_with_one() -> (ConnectionListener, ConnectionId, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut doorway = ConnectionListener::open(None, &Waker::new().unwrap()).unwrap();
        let peer = TcpStream::connect(address).unwrap();
        let (stream, from) = listener.accept().unwrap();
        let id = doorway.take(stream, from).unwrap();
        (doorway, id, peer)
    }

    #[test]
    fn what_waits_for_all_is_known_while_it_comes_and_goes() {
        let (mut doorway, id, _peer) = doorway_with_one();
        let bytes = vec![0; MOST_UNSENT_BYTES / 2];

        doorway.queue(id, &bytes);
        let queued = doorway.unsent;
        doorway.flush(id);
        let flushed = doorway.unsent;
        doorway.close(id);

        assert_eq!(queued, bytes.len());
        assert!(0 < flushed && flushed < queued, "{flushed}");
        assert_eq!(doorway.unsent, 0);
    }

    #[test]
    fn for_one_switch_waits_so_much_and_no_more() {
        let (mut doorway, id, _peer) = doorway_with_one();
        let bytes = vec![0; MOST_UNSENT_BYTES];

        let first = doorway.send(id, &bytes);
        let second = doorway.send(id, &bytes);

        assert_eq!((first, second), (Unsent::Something, Unsent::TooMuch));
    }
}
