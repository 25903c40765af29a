//! A control connection on its way to the switch that will use it.
//!
//! Whoever makes a connection wants to know when it is no longer used: a dialer
//! to dial again, a listener to let the next one in. So a connection travels with
//! a [`Lease`], and its maker keeps the other end of it.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};

use units::Duration;

use crate::stream::Stream;

/// A connection that stands, with the proof that it is still in use.
#[derive(Debug)]
pub struct Connection {
    /// The connection.
    pub stream: Stream,
    /// To be dropped when the connection is no longer used.
    pub lease: Lease,
    /// Who wanted it.
    pub origin: Origin,
}

/// Who wanted a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The switch: at the other end is a controller that it was told to serve.
    Dialled,
    /// The other end, which looks or tests and may leave at any time.
    Accepted,
}

/// Held by whoever uses a connection.
#[derive(Debug)]
pub struct Lease {
    _ends_when_dropped: Sender<()>,
}

/// Held by whoever made a connection.
#[derive(Debug)]
pub(crate) struct Tenancy {
    ended: Receiver<()>,
}

/// Makes the two ends of a lease.
pub(crate) fn lease() -> (Lease, Tenancy) {
    let (lease, ended) = mpsc::channel();
    let lease = Lease {
        _ends_when_dropped: lease,
    };
    (lease, Tenancy { ended })
}

impl Tenancy {
    /// Tells whether the connection is in use.
    pub(crate) fn lasts(&self) -> bool {
        self.ended.try_recv() != Err(TryRecvError::Disconnected)
    }

    /// Waits for the end of the use, at most for `patience`. Tells whether the
    /// connection is still in use.
    pub(crate) fn outlasts(&self, patience: Duration) -> bool {
        self.ended.recv_timeout(patience.into()) != Err(RecvTimeoutError::Disconnected)
    }
}
