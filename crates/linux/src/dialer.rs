//! Connects a switch to its controller and does so again whenever the connection
//! is lost, on a thread of its own: connecting waits, a packet loop may not. The
//! thread sleeps while a connection lasts.
//!
//! Between attempts that fail, and after connections that did not last, the pause
//! doubles, up to a limit, and a random part of it is left out, so that many
//! switches do not come back at the same moment (OF13 clause 6.3.2 leaves the
//! manner of reconnecting to the switch).

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, Thread};

use units::{Duration, Instant};

use crate::clock;
use crate::connection::{Connection, ConnectionOrigin, Tenancy, lease_of};
use crate::stream::Stream;

/// How long a controller may take to answer an attempt to connect.
pub const PATIENCE: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_ms(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// A connection that was of use for this long was no failure.
const LASTING: Duration = Duration::from_secs(1);

/// Connects to `address` over TCP.
///
/// # Errors
///
/// If nobody answers there within [`PATIENCE`].
pub fn connect(address: SocketAddr) -> io::Result<Stream> {
    TcpStream::connect_timeout(&address, PATIENCE.into()).map(Stream::Tcp)
}

/// Whether connections are wanted at the moment.
#[derive(Clone, Debug)]
pub struct Wanted {
    flag: Arc<AtomicBool>,
    dialer: Thread,
}

impl Wanted {
    /// Begins or ends to want connections.
    pub fn set(&self, wanted: bool) {
        self.flag.store(wanted, Ordering::Relaxed);
        self.dialer.unpark();
    }
}

/// The thread that dials one controller.
#[derive(Debug)]
pub struct Dialer {
    wanted: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    dialer: Thread,
    thread: Option<JoinHandle<()>>,
}

impl Dialer {
    /// Begins to call `connect`, in the calling thread's namespace; `take` gets
    /// each connection that comes about, one at a time.
    #[must_use]
    pub fn start(
        connect: impl FnMut() -> io::Result<Stream> + Send + 'static,
        take: impl FnMut(Connection) + Send + 'static,
    ) -> Self {
        let wanted = Arc::new(AtomicBool::new(true));
        let stop = Arc::new(AtomicBool::new(false));
        let mut line = Line {
            connect,
            wanted: Arc::clone(&wanted),
            stop: Arc::clone(&stop),
            take,
        };
        let thread = thread::spawn(move || line.dial());
        Self {
            wanted,
            stop,
            dialer: thread.thread().clone(),
            thread: Some(thread),
        }
    }

    /// Tells the thread to end, without waiting for it.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.dialer.unpark();
    }

    /// Tells the thread to end and leaves it to itself: an attempt that is under way
    /// may take seconds, and what comes of it is nobody's.
    pub fn abandon(mut self) {
        self.stop();
        self.thread = None;
    }

    /// Returns the switch by which dialling is stopped and begun again.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        Wanted {
            flag: Arc::clone(&self.wanted),
            dialer: self.dialer.clone(),
        }
    }
}

impl Drop for Dialer {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Line<C, T> {
    connect: C,
    wanted: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    take: T,
}

impl<C, T> Line<C, T>
where
    C: FnMut() -> io::Result<Stream>,
    T: FnMut(Connection),
{
    fn dial(&mut self) {
        let mut pause = SHORTEST_PAUSE;
        while !self.is_stopped() {
            if !self.is_wanted() {
                thread::park();
                pause = SHORTEST_PAUSE;
                continue;
            }
            let began = clock::now();
            self.serve();
            if clock::now() >= began + LASTING {
                pause = SHORTEST_PAUSE;
            }
            self.rest(clock::now() + shortened(pause));
            pause = LONGEST_PAUSE.min(pause * 2u32);
        }
    }

    /// Tries to connect once, and waits for the end of the connection.
    fn serve(&mut self) {
        let Ok(stream) = (self.connect)() else {
            return;
        };
        let (lease, tenancy) = lease_of(thread::current());
        let origin = ConnectionOrigin::Dialled;
        (self.take)(Connection {
            stream,
            lease,
            origin,
        });
        self.await_loss(&tenancy);
    }

    /// Sleeps until `end`, but not after it was told to stop.
    fn rest(&self, end: Instant) {
        while !self.is_stopped() && clock::now() < end {
            thread::park_timeout(end.saturating_since(clock::now()).into());
        }
    }

    fn await_loss(&self, tenancy: &Tenancy) {
        while !self.is_stopped() && tenancy.lasts() {
            thread::park();
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }
}

/// Leaves out up to half of a pause, at random.
fn shortened(pause: Duration) -> Duration {
    let half = pause.as_ns() / 2;
    // Every state of the standard library's hasher is seeded anew.
    let random = RandomState::new().hash_one(0);
    Duration::from_ns(pause.as_ns() - random % (half + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_shortened_by_up_to_half() {
        for _ in 0..1_000 {
            let pause = shortened(LONGEST_PAUSE);

            assert!(pause * 2u32 >= LONGEST_PAUSE && pause <= LONGEST_PAUSE);
        }
    }
}
