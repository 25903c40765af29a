//! Lets others connect to a switch, on a thread of its own: a packet loop does
//! not accept.

use std::io;
use std::net::TcpListener;
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

/// A socket on which others connect.
#[derive(Debug)]
pub enum Door {
    /// From a network.
    Tcp(TcpListener),
    /// From within the machine.
    Unix(UnixListener),
}

impl Door {
    fn open(&self) -> io::Result<()> {
        match self {
            Self::Tcp(listener) => listener.set_nonblocking(true),
            Self::Unix(listener) => listener.set_nonblocking(true),
        }
    }

    fn accept(&self) -> io::Result<Stream> {
        Ok(match self {
            Self::Tcp(listener) => Stream::Tcp(listener.accept()?.0),
            Self::Unix(listener) => Stream::Unix(listener.accept()?.0),
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
    /// that are in use there are `most` at most; who comes beyond is shown out.
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
        poller.add(&door, 0)?;
        poller.add(&waker, 1)?;
        let mut doorkeeper = Doorkeeper {
            door,
            most,
            inside: Vec::with_capacity(most),
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
    inside: Vec<Tenancy>,
    poller: Poller,
    stop: Arc<AtomicBool>,
    take: T,
}

impl<T: FnMut(Stream, Lease)> Doorkeeper<T> {
    fn keep(&mut self) {
        while !self.stop.load(Ordering::Relaxed) {
            self.poller.wait(None);
            match self.door.accept() {
                Ok(stream) => self.let_in(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Of descriptors, or memory: who knocks is still there afterwards.
                Err(_) => clock::sleep_until(clock::now() + SHORTAGE_PAUSE),
            }
        }
    }

    fn let_in(&mut self, stream: Stream) {
        self.inside.retain(Tenancy::lasts);
        if self.inside.len() < self.most {
            let (lease, tenancy) = lease();
            self.inside.push(tenancy);
            (self.take)(stream, lease);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{SocketAddr, TcpStream};
    use std::sync::mpsc::{self, Receiver};

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
        let _first = TcpStream::connect(address).unwrap();
        let inside = came.recv().unwrap();

        let mut second = TcpStream::connect(address).unwrap();
        let shown_out = second.read(&mut [0; 1]);
        drop(inside);
        let _third = TcpStream::connect(address).unwrap();

        assert_eq!(shown_out.unwrap(), 0);
        assert!(came.recv().is_ok());
    }

    #[test]
    fn a_listener_that_ends_leaves_its_address_to_others() {
        let (listener, address, _came) = open(1);

        drop(listener);

        assert!(TcpListener::bind(address).is_ok());
    }
}
