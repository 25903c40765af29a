//! Which of many sockets is ready for what is wished there.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::time::Timespec;

use super::relay::Wish;

/// How many sockets are reported by one wait.
const MOST_AT_ONCE: usize = 64;

/// By which a socket is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(pub u64);

/// A socket that was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Happened {
    pub mark: Mark,
    /// Whether it is broken, or closed in both directions.
    pub hung_up: bool,
}

/// A set of sockets, each with a mark and a wish.
#[derive(Debug)]
pub struct Watch {
    epoll: OwnedFd,
    found: Vec<Happened>,
}

impl Watch {
    /// Makes an empty set.
    ///
    /// # Errors
    ///
    /// If the process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            found: Vec::with_capacity(MOST_AT_ONCE),
        })
    }

    /// Has a socket watched for what is wished `now` instead of `before`; `None` is
    /// not to be watched at all. A socket that is closed need not be taken out.
    ///
    /// # Errors
    ///
    /// If the kernel has no memory for it.
    pub fn set(
        &self,
        socket: impl AsFd,
        mark: Mark,
        before: Option<Wish>,
        now: Option<Wish>,
    ) -> io::Result<()> {
        let data = EventData::new_u64(mark.0);
        match (before, now) {
            (before, now) if before == now => {}
            (None, Some(wish)) => epoll::add(&self.epoll, socket, data, flags(wish))?,
            (Some(_), Some(wish)) => epoll::modify(&self.epoll, socket, data, flags(wish))?,
            (_, None) => epoll::delete(&self.epoll, socket)?,
        }
        Ok(())
    }

    /// Waits until a socket is ready, at most for `patience`; then
    /// [`found`](Self::found) tells which.
    pub fn wait(&mut self, patience: Option<Duration>) {
        self.found.clear();
        // Longer than a clock can count is for ever.
        let timeout = patience.and_then(|patience| Timespec::try_from(patience).ok());
        let mut room = [MaybeUninit::<Event>::uninit(); MOST_AT_ONCE];
        // An interrupted wait found nothing; the next one will.
        if let Ok((events, _)) = epoll::wait(&self.epoll, &mut room[..], timeout.as_ref()) {
            let gone = EventFlags::HUP | EventFlags::ERR;
            self.found.extend(events.iter().map(|event| {
                // Copied, since the kernel does not align them.
                let (mark, flags) = (event.data, event.flags);
                Happened {
                    mark: Mark(mark.u64()),
                    hung_up: flags.intersects(gone),
                }
            }));
        }
    }

    /// Returns the next socket that the wait found.
    pub fn found(&mut self) -> Option<Happened> {
        self.found.pop()
    }
}

fn flags(wish: Wish) -> EventFlags {
    let mut flags = EventFlags::empty();
    flags.set(EventFlags::IN, wish.reading);
    flags.set(EventFlags::OUT, wish.writing);
    flags
}
