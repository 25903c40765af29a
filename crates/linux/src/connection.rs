//! A control connection on its way to the switch that will use it.
//!
//! Whoever makes a connection wants to know when it is no longer used: a dialer
//! to dial again, a listener to let the next one in. So a connection travels with
//! a [`Lease`], and its maker keeps the other end of it.

use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::Thread;

use crate::stream::Stream;

/// A connection that stands, with the proof that it is still in use.
#[derive(Debug)]
pub struct Connection {
    pub stream: Stream,
    /// To be dropped when the connection is no longer used.
    pub lease: Lease,
    pub origin: ConnectionOrigin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionOrigin {
    /// The switch: at the other end is a controller that it was told to serve.
    Dialled,
    /// The other end, which looks or tests and may leave at any time.
    Accepted,
}

/// Held by whoever uses a connection.
#[derive(Debug)]
pub struct Lease {
    _ends_when_dropped: Sender<()>,
    /// Dropped last, so that who wakes sees that the use has ended.
    _alarm: Option<Alarm>,
}

/// Wakes a parked thread when it is dropped.
#[derive(Debug)]
struct Alarm(Thread);

impl Drop for Alarm {
    fn drop(&mut self) {
        self.0.unpark();
    }
}

/// Held by whoever made a connection.
#[derive(Debug)]
pub(crate) struct Tenancy {
    ended: Receiver<()>,
}

/// Makes the two ends of a lease.
pub(crate) fn lease() -> (Lease, Tenancy) {
    make(None)
}

/// Makes the two ends of a lease whose end unparks `tenant`.
pub(crate) fn lease_of(tenant: Thread) -> (Lease, Tenancy) {
    make(Some(Alarm(tenant)))
}

fn make(alarm: Option<Alarm>) -> (Lease, Tenancy) {
    let (lease, ended) = mpsc::channel();
    let lease = Lease {
        _ends_when_dropped: lease,
        _alarm: alarm,
    };
    (lease, Tenancy { ended })
}

impl Tenancy {
    /// Tells whether the connection is in use.
    pub(crate) fn lasts(&self) -> bool {
        self.ended.try_recv() != Err(TryRecvError::Disconnected)
    }
}
