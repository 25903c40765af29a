//! Connects a switch to its controller and does so again whenever the connection
//! is lost, on a thread of its own: connecting waits, a packet loop may not.
//!
//! Between attempts that fail the pause doubles, up to a limit (OF13 clause
//! 6.3.2 leaves the manner of reconnecting to the switch).

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};

use units::Duration;

use crate::clock;
use crate::namespace::Namespace;

const PATIENCE: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_ms(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How often the thread looks whether it is still wanted.
const LOOK_INTERVAL: Duration = Duration::from_ms(50);

/// A connection that was made, with the proof that it is still in use.
#[derive(Debug)]
pub struct Dialled {
    /// The connection.
    pub stream: TcpStream,
    /// Drop it when the connection is lost: the dialer then dials again.
    pub lease: Lease,
}

/// Held by whoever uses a connection.
#[derive(Debug)]
pub struct Lease {
    _ends_when_dropped: Sender<()>,
}

/// Whether connections are wanted at the moment.
#[derive(Clone, Debug)]
pub struct Wanted(Arc<AtomicBool>);

impl Wanted {
    /// Begins or ends to want connections.
    pub fn set(&self, wanted: bool) {
        self.0.store(wanted, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The thread that dials one address.
#[derive(Debug)]
pub struct Dialer {
    wanted: Wanted,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Dialer {
    /// Begins to dial `address` from inside `namespace`; `take` gets each
    /// connection that comes about, one at a time.
    #[must_use]
    pub fn start(
        namespace: Namespace,
        address: SocketAddr,
        take: impl FnMut(Dialled) + Send + 'static,
    ) -> Self {
        let wanted = Wanted(Arc::new(AtomicBool::new(true)));
        let stop = Arc::new(AtomicBool::new(false));
        let mut line = Line {
            address,
            wanted: wanted.clone(),
            stop: Arc::clone(&stop),
            take,
        };
        let thread = thread::spawn(move || {
            namespace
                .enter()
                .expect("who made a namespace may enter it");
            line.dial();
        });
        Self {
            wanted,
            stop,
            thread: Some(thread),
        }
    }

    /// Tells the thread to end, without waiting for it.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns the switch by which dialling is stopped and begun again.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        self.wanted.clone()
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

struct Line<T> {
    address: SocketAddr,
    wanted: Wanted,
    stop: Arc<AtomicBool>,
    take: T,
}

impl<T: FnMut(Dialled)> Line<T> {
    fn dial(&mut self) {
        let mut pause = SHORTEST_PAUSE;
        while !self.is_stopped() {
            let connected = self
                .wanted
                .is_set()
                .then(|| TcpStream::connect_timeout(&self.address, PATIENCE.into()));
            if let Some(Ok(stream)) = connected {
                pause = SHORTEST_PAUSE;
                let (lease, in_use) = mpsc::channel();
                let lease = Lease {
                    _ends_when_dropped: lease,
                };
                (self.take)(Dialled { stream, lease });
                self.await_loss(&in_use);
            }
            self.rest(pause);
            pause = LONGEST_PAUSE.min(pause * 2u32);
            if !self.wanted.is_set() {
                pause = SHORTEST_PAUSE;
            }
        }
    }

    /// Sleeps, but not after it was told to stop.
    fn rest(&self, pause: Duration) {
        let end = clock::now() + pause;
        while !self.is_stopped() && clock::now() < end {
            clock::sleep_until(end.min(clock::now() + LOOK_INTERVAL));
        }
    }

    fn await_loss(&self, in_use: &Receiver<()>) {
        while !self.is_stopped() {
            match in_use.recv_timeout(LOOK_INTERVAL.into()) {
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(()) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
