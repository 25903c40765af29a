//! What all requests share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use controller::northbound::{Asker, Reply, Request};
use linux::clock;
use linux::controller_loop::{Desk, Told};

use super::describe::{self, Names};
use super::document::EventKind;
use super::feed::Feed;
use super::kept::Kept;
use super::office::Office;
use super::problem::Problem;

/// What all requests share.
pub type Site = Arc<Inside>;

/// What is behind the interface.
#[derive(Debug)]
pub struct Inside {
    /// Where requests wait for the controller.
    pub office: Office,
    /// The events.
    pub feed: Feed,
    /// What switches are called.
    pub names: Names,
    /// The topology, written down.
    pub topology: Kept,
    /// The list of flows, written down.
    pub flows: Kept,
    /// How often something was told.
    changes: AtomicU64,
}

impl Inside {
    /// Returns what is behind the interface of a controller.
    #[must_use]
    pub fn new(desk: Desk, names: Names) -> Self {
        Self {
            office: Office::new(desk),
            feed: Feed::default(),
            names,
            topology: Kept::default(),
            flows: Kept::default(),
            changes: AtomicU64::new(0),
        }
    }

    /// Passes on what the controller tells: answers to those who wait, events to
    /// those who watch.
    pub fn take(&self, told: Told) {
        let now = clock::now();
        let (at, what) = match told {
            Told::Reply { id, reply, .. } => return self.office.answer(id, reply),
            Told::Notice { at, notice } => (at, self.names.event(&notice)),
            Told::Closed { peer, reason } => {
                let (peer, reason) = (peer.to_string(), describe::why_closed(reason).to_owned());
                (now, EventKind::ConnectionClosed { peer, reason })
            }
            Told::StoreFailed { reason } => (now, EventKind::StoreFailed { reason }),
        };
        self.changes.fetch_add(1, Ordering::Relaxed);
        self.feed.publish(describe::unix_ns(at), what);
    }

    /// Returns how often something was told.
    #[must_use]
    pub fn change(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Asks the controller.
    ///
    /// # Errors
    ///
    /// As [`Office::ask`].
    pub async fn ask(&self, by: Asker, request: Request) -> Result<Reply, Problem> {
        self.office.ask(by, request).await
    }
}
