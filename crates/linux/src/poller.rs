//! Waits for many descriptors at once.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use units::Duration;

/// How many descriptors are reported by one wait.
const MOST_AT_ONCE: usize = 64;

/// What of a descriptor is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    Reading,
    /// Something to read, or room to write.
    ReadingAndWriting,
    Writing,
}

impl Interest {
    fn flags(self) -> EventFlags {
        match self {
            Self::Reading => EventFlags::IN,
            Self::ReadingAndWriting => EventFlags::IN | EventFlags::OUT,
            Self::Writing => EventFlags::OUT,
        }
    }
}

/// A set of descriptors, each with a mark by which it is reported.
#[derive(Debug)]
pub(crate) struct Poller {
    epoll: OwnedFd,
    marks: Vec<u64>,
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            marks: Vec::with_capacity(MOST_AT_ONCE),
        })
    }

    /// Adds a descriptor that is reported as `mark` when there is something to
    /// read.
    pub(crate) fn add(&self, descriptor: impl AsFd, mark: u64) -> io::Result<()> {
        let (mark, flags) = (EventData::new_u64(mark), Interest::Reading.flags());
        Ok(epoll::add(&self.epoll, descriptor, mark, flags)?)
    }

    /// Changes what of a descriptor is waited for.
    pub(crate) fn change(
        &self,
        descriptor: impl AsFd,
        mark: u64,
        interest: Interest,
    ) -> io::Result<()> {
        let mark = EventData::new_u64(mark);
        Ok(epoll::modify(
            &self.epoll,
            descriptor,
            mark,
            interest.flags(),
        )?)
    }

    /// Takes a descriptor out of the set.
    pub(crate) fn remove(&self, descriptor: impl AsFd) {
        // It is in the set as long as it is open, and its owner still has it.
        let _ = epoll::delete(&self.epoll, descriptor);
    }

    /// Waits until something happens, at most for `patience`; then
    /// [`next`](Self::next) tells what.
    pub(crate) fn wait(&mut self, patience: Option<Duration>) {
        self.marks.clear();
        let timeout = patience.and_then(|patience| {
            // Longer than a clock can count is for ever.
            Timespec::try_from(std::time::Duration::from(patience)).ok()
        });
        let mut room = [MaybeUninit::<Event>::uninit(); MOST_AT_ONCE];
        // An interrupted wait found nothing; the next one will.
        if let Ok((events, _)) = epoll::wait(&self.epoll, &mut room[..], timeout.as_ref()) {
            self.marks
                .extend(events.iter().map(|event| event.data.u64()));
        }
    }

    /// Waits until one of the set, or one of `others`, has something to read, at
    /// most for `patience`. Unlike those of the set, others cost nothing while
    /// nobody waits.
    pub(crate) fn wait_beside<'a, T: AsFd + 'a>(
        &self,
        others: impl Iterator<Item = &'a T>,
        patience: Duration,
    ) {
        let mut all: Vec<_> = others
            .map(|other| PollFd::new(other, PollFlags::IN))
            .chain([PollFd::new(&self.epoll, PollFlags::IN)])
            .collect();
        if let Ok(timeout) = Timespec::try_from(std::time::Duration::from(patience)) {
            // An interrupted wait found nothing; the next one will.
            let _ = poll(&mut all, Some(&timeout));
        }
    }

    /// Returns whether the wait found anything that nobody has asked for.
    pub(crate) fn has_found(&self) -> bool {
        !self.marks.is_empty()
    }

    /// Returns the mark of the next descriptor that the wait found.
    pub(crate) fn next(&mut self) -> Option<u64> {
        self.marks.pop()
    }
}
