//! Wakes a thread that waits in the kernel.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};

/// One waker; its clones wake the same thread.
#[derive(Clone, Debug)]
pub(crate) struct Waker {
    counter: Arc<OwnedFd>,
}

impl Waker {
    /// Makes a waker; its descriptor is readable once it was used.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self {
            counter: Arc::new(eventfd(0, flags)?),
        })
    }

    pub(crate) fn wake(&self) {
        // A full counter is readable already.
        let _ = rustix::io::write(&self.counter, &1u64.to_ne_bytes());
    }

    /// Makes the descriptor unreadable until the next call of
    /// [`wake`](Self::wake).
    pub(crate) fn clear(&self) {
        let _ = rustix::io::read(&self.counter, &mut [0; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.counter.as_fd()
    }
}
