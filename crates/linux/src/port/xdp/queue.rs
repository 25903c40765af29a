//! One of the four queues that an AF_XDP socket shares with the kernel.
//!
//! Each has one producer and one consumer, of which we are one. Indices count up
//! and wrap; the entry of index `i` stands at `i` modulo the queue's size, a power
//! of two.

use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::net::xdp::XdpRingOffset;

use crate::mapping::Mapping;

/// A queue of entries `T`.
#[derive(Debug)]
pub(super) struct Queue<T> {
    mapping: Mapping,
    producer: usize,
    consumer: usize,
    entries: usize,
    size: u32,
    /// Our own index, which the kernel sees when we publish it.
    own: u32,
    /// The kernel's index when it was last looked at: to look again costs a trip to
    /// the processor that changed it.
    theirs: Cell<u32>,
    entry: PhantomData<T>,
}

impl<T: Copy> Queue<T> {
    /// Maps the queue that lies at `page_offset` of `socket`.
    pub(super) fn map(
        socket: BorrowedFd<'_>,
        size: u32,
        at: XdpRingOffset,
        page_offset: u64,
    ) -> io::Result<Self> {
        let place = |offset: u64| usize::try_from(offset).map_err(|_| io::ErrorKind::InvalidData);
        let entries = place(at.desc)?;
        let length = entries + size as usize * size_of::<T>();
        Ok(Self {
            mapping: Mapping::shared(socket, length, page_offset)?,
            producer: place(at.producer)?,
            consumer: place(at.consumer)?,
            entries,
            size,
            own: 0,
            theirs: Cell::new(0),
            entry: PhantomData,
        })
    }

    /// As producer: appends an entry, if there is room.
    #[inline]
    pub(super) fn push(&mut self, entry: T) -> bool {
        if self.is_full() {
            self.look_at(self.consumer);
            if self.is_full() {
                return false;
            }
        }
        let place = self.mapping.at::<T>(self.place(self.own));
        // SAFETY: the entry is ours until its index is published, plain data, and
        // within the mapping, as `at` checks.
        #[expect(unsafe_code, reason = "entry of the queue")]
        unsafe {
            place.write(entry);
        }
        self.own = self.own.wrapping_add(1);
        self.index(self.producer).store(self.own, Ordering::Release);
        true
    }

    /// As consumer: tells whether an entry waits.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        if self.theirs.get() == self.own {
            self.look_at(self.producer);
        }
        self.theirs.get() != self.own
    }

    /// As consumer: takes the next entry.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        let entry = self.peek()?;
        self.own = self.own.wrapping_add(1);
        self.index(self.consumer).store(self.own, Ordering::Release);
        Some(entry)
    }

    /// As consumer: returns the entry that the next [`pop`](Self::pop) will take, and
    /// leaves it there.
    #[inline]
    pub(super) fn peek(&self) -> Option<T> {
        if !self.is_ready() {
            return None;
        }
        let place = self.mapping.at::<T>(self.place(self.own));
        // SAFETY: the kernel has published this entry and does not write it again
        // before we give it back; it is plain data, whatever its bits.
        #[expect(unsafe_code, reason = "entry of the queue")]
        Some(unsafe { place.read() })
    }

    fn is_full(&self) -> bool {
        self.own.wrapping_sub(self.theirs.get()) == self.size
    }

    fn look_at(&self, offset: usize) {
        self.theirs.set(self.index(offset).load(Ordering::Acquire));
    }

    fn place(&self, index: u32) -> usize {
        self.entries + (index & (self.size - 1)) as usize * size_of::<T>()
    }

    fn index(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: at this offset lies an index of 32 bits, aligned, and only ever
        // accessed atomically by both sides.
        #[expect(unsafe_code, reason = "shared index")]
        unsafe {
            self.mapping.at::<AtomicU32>(offset).as_ref()
        }
    }
}
