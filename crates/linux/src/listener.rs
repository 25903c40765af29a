//! Lets others connect to a switch, on a thread of its own: a packet loop does
//! not accept.
//!
//! Who comes from a network and says nothing takes no place: both sides of a connection
//! speak first (OF13 clause 6.3.1), so it is let in when it has. Until then it waits in
//! the lobby, where whoever has waited for longest makes room. And no address has all
//! the places.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use units::Duration;

use crate::clock;
use crate::connection::{Lease, Tenancy, lease};
use crate::poller::Poller;
use crate::stream::Stream;
use crate::waker::Waker;

/// How long the thread rests when the kernel has nothing left to accept with.
const SHORTAGE_PAUSE: Duration = Duration::from_ms(100);
/// How many may wait that have said nothing.
const LOBBY: usize = 256;
/// How many are accepted before those who speak have their turn.
const MOST_ACCEPTED_AT_ONCE: usize = 16;
const DOOR: u64 = u64::MAX;
const WAKER: u64 = u64::MAX - 1;

/// A socket on which others connect.
#[derive(Debug)]
pub enum Door {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Door {
    fn open(&self) -> io::Result<()> {
        match self {
            Self::Tcp(listener) => listener.set_nonblocking(true),
            Self::Unix(listener) => listener.set_nonblocking(true),
        }
    }

    /// Returns who has come, with the address if it came from a network.
    fn accept(&self) -> io::Result<(Stream, Option<IpAddr>)> {
        Ok(match self {
            Self::Tcp(listener) => {
                let (stream, from) = listener.accept()?;
                (Stream::Tcp(stream), Some(from.ip()))
            }
            Self::Unix(listener) => (Stream::Unix(listener.accept()?.0), None),
        })
    }
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener) => listener.as_fd(),
        }
    }
}

/// The thread that lets others in.
#[derive(Debug)]
pub struct Listener {
    waker: Waker,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Begins to let in who comes to `door`; `take` gets each connection. Of those
    /// that are in use there are `most` at most, and three quarters of them from one
    /// address of a network; who comes beyond is shown out.
    ///
    /// # Errors
    ///
    /// If the process has no descriptors left.
    pub fn start(
        door: Door,
        most: usize,
        take: impl FnMut(Stream, Lease) + Send + 'static,
    ) -> io::Result<Self> {
        let (waker, stop) = (Waker::new()?, Arc::new(AtomicBool::new(false)));
        let poller = Poller::new()?;
        door.open()?;
        poller.add(&door, DOOR)?;
        poller.add(&waker, WAKER)?;
        let mut doorkeeper = Doorkeeper {
            door,
            most,
            inside: Vec::with_capacity(most),
            lobby: VecDeque::new(),
            next: 0,
            poller,
            stop: Arc::clone(&stop),
            take,
        };
        let thread = thread::Builder::new()
            .name("listener".to_owned())
            .spawn(move || doorkeeper.keep())?;
        Ok(Self {
            waker,
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Doorkeeper<T> {
    door: Door,
    most: usize,
    inside: Vec<(Tenancy, Option<IpAddr>)>,
    /// Who has said nothing yet, the latest last; in order of their marks.
    lobby: VecDeque<Silent>,
    next: u64,
    poller: Poller,
    stop: Arc<AtomicBool>,
    take: T,
}

/// Who has come, and said nothing yet.
struct Silent {
    mark: u64,
    stream: Stream,
    from: Option<IpAddr>,
}

impl<T: FnMut(Stream, Lease)> Doorkeeper<T> {
    fn keep(&mut self) {
        while !self.stop.load(Ordering::Relaxed) {
            self.poller.wait(None);
            while let Some(mark) = self.poller.next() {
                match mark {
                    DOOR => self.open(),
                    // It is looked at in a moment.
                    WAKER => {}
                    mark => self.hear(mark),
                }
            }
        }
    }

    fn open(&mut self) {
        for _ in 0..MOST_ACCEPTED_AT_ONCE {
            match self.door.accept() {
                Ok((stream, None)) => self.let_in(stream, None),
                Ok((stream, from)) => self.let_wait(stream, from),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Of descriptors, or memory: who knocks is still there afterwards.
                Err(_) => return clock::sleep_until(clock::now() + SHORTAGE_PAUSE),
            }
        }
    }

    fn let_wait(&mut self, stream: Stream, from: Option<IpAddr>) {
        let mark = self.next;
        self.next += 1;
        if self.poller.add(&stream, mark).is_ok() {
            self.lobby.push_back(Silent { mark, stream, from });
        }
        if self.lobby.len() > LOBBY {
            self.lobby.pop_front();
        }
    }

    /// Lets somebody in who has said something, or has gone.
    fn hear(&mut self, mark: u64) {
        let found = self.lobby.binary_search_by_key(&mark, |silent| silent.mark);
        let Some(silent) = found.ok().and_then(|index| self.lobby.remove(index)) else {
            return;
        };
        self.poller.remove(&silent.stream);
        self.let_in(silent.stream, silent.from);
    }

    fn let_in(&mut self, stream: Stream, from: Option<IpAddr>) {
        self.inside.retain(|(tenancy, _)| tenancy.lasts());
        let of_one = self.inside.iter().filter(|(_, other)| *other == from);
        let is_fair = from.is_none() || of_one.count() < (self.most * 3).div_ceil(4);
        if self.inside.len() < self.most && is_fair {
            let (lease, tenancy) = lease();
            self.inside.push((tenancy, from));
            (self.take)(stream, lease);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::sync::mpsc::{self, Receiver};

    use rustix::net::{AddressFamily, SocketType};

    use super::*;

    fn open(most: usize) -> (Listener, SocketAddr, Receiver<(Stream, Lease)>) {
        let door = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = door.local_addr().unwrap();
        let (inside, came) = mpsc::channel();
        let listener = Listener::start(Door::Tcp(door), most, move |stream, lease| {
            let _ = inside.send((stream, lease));
        });
        (listener.unwrap(), address, came)
    }

    #[test]
    fn who_comes_beyond_the_limit_is_shown_out_until_somebody_leaves() {
        let (_listener, address, came) = open(1);
        let _first = speaker(address, 1);
        let inside = came.recv().unwrap();

        let mut second = speaker(address, 1);
        let shown_out = second.read(&mut [0; 1]);
        drop(inside);
        let _third = speaker(address, 1);

        // What it has said was not read: the kernel resets the connection.
        assert!(matches!(shown_out, Ok(0) | Err(_)), "{shown_out:?}");
        assert!(came.recv().is_ok());
    }

    /// Connects from the loopback address with this number, and says something.
    fn speaker(address: SocketAddr, number: u8) -> TcpStream {
        let mut stream = silent(address, number);
        stream.write_all(b"hello").unwrap();
        stream
    }

    fn silent(address: SocketAddr, number: u8) -> TcpStream {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        let from = SocketAddr::from(([127, 0, 0, number], 0));
        rustix::net::bind(&socket, &from).unwrap();
        rustix::net::connect(&socket, &address).unwrap();
        TcpStream::from(socket)
    }

    #[test]
    fn a_thousand_who_say_nothing_keep_nobody_out() {
        let (_listener, address, came) = open(4);
        let mut first = silent(address, 1);
        let _idle: Vec<_> = (0..999).map(|_| silent(address, 1)).collect();

        let _speaker = speaker(address, 1);

        assert!(came.recv().is_ok());
        assert_eq!(first.read(&mut [0; 1]).unwrap(), 0, "it has made room");
    }

    #[test]
    fn one_address_does_not_have_all_the_places() {
        let (_listener, address, came) = open(4);
        let _talkers: Vec<_> = (0..8).map(|_| speaker(address, 1)).collect();
        let mut inside: Vec<_> = (0..3).map(|_| came.recv().unwrap()).collect();

        let _other = speaker(address, 2);
        inside.push(came.recv().unwrap());

        let froms = inside.iter().map(|(stream, _)| match stream {
            Stream::Tcp(stream) => stream.peer_addr().unwrap().ip(),
            Stream::Unix(_) => unreachable!("it is a door to a network"),
        });
        let others = froms.filter(|from| *from == IpAddr::from([127, 0, 0, 2]));
        assert_eq!(others.count(), 1);
    }

    #[test]
    fn a_listener_that_ends_leaves_its_address_to_others() {
        let (listener, address, _came) = open(1);

        drop(listener);

        assert!(TcpListener::bind(address).is_ok());
    }
}
