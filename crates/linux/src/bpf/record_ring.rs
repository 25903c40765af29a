//! The ring through which programs in the kernel hand records to this process.
//!
//! Programs on all processors reserve room, write, and submit; records arrive in
//! the order of their reservations. The kernel maps the ring's bytes twice in a
//! row, so that a record that goes over the end is still one piece. The positions
//! of producer and consumer are bytes since the beginning and never go back.
//!
//! Source: Documentation/bpf/ringbuf.rst of Linux.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use super::map::{Map, MapError, MapKind, MapShape};
use crate::mapping::Mapping;

/// Before each record stand its length and a word of the kernel's.
const HEADER_BYTES: u64 = 8;
/// The record is reserved and not yet submitted.
const BUSY: u32 = 1 << 31;
/// The record was given up.
const DISCARDED: u32 = 1 << 30;

/// A ring of records, read by this process alone.
#[derive(Debug)]
pub struct RecordRing {
    map: Map,
    /// One page with the position up to which all was read.
    consumer: Mapping,
    /// One page with the position up to which was reserved, and the bytes, twice.
    producer: Mapping,
    page_bytes: usize,
    ring_bytes: u64,
    /// Up to where all was read; the kernel's copy is written and never read.
    position: u64,
}

/// What stands at the consumer's position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    /// Nothing, or what is not finished.
    Nothing,
    /// A record that was given up, with its length.
    Discarded(u64),
    /// A record, with its length.
    Record(u64),
    /// What cannot be a record. The kernel has never been seen to write it.
    Nonsense,
}

impl Head {
    /// Reads the length before a record, of which all lies within the `waiting`
    /// bytes that the ring has for this process.
    fn of(length: u32, waiting: u64) -> Self {
        let record = u64::from(length & !(BUSY | DISCARDED));
        if length & BUSY != 0 {
            Self::Nothing
        } else if whole(record) > waiting {
            Self::Nonsense
        } else if length & DISCARDED != 0 {
            Self::Discarded(record)
        } else {
            Self::Record(record)
        }
    }
}

impl RecordRing {
    /// Makes a ring of `bytes`: a power of two, and whole pages.
    ///
    /// # Errors
    ///
    /// If the length is another, the kernel has no memory, or this process no right
    /// to it.
    pub fn create(name: &str, bytes: u32) -> Result<Self, MapError> {
        let shape = MapShape {
            kind: MapKind::Ring,
            key_bytes: 0,
            value_bytes: 0,
            entries: bytes,
        };
        let map = Map::create(name, shape)?;
        let page_bytes = rustix::param::page_size();
        let data_bytes = 2 * bytes as usize;
        let consumer = Mapping::shared(&map, page_bytes, 0);
        let producer = Mapping::shared_to_read(&map, page_bytes + data_bytes, page_bytes as u64);
        match (consumer, producer) {
            (Ok(consumer), Ok(producer)) => Ok(Self {
                map,
                consumer,
                producer,
                page_bytes,
                ring_bytes: bytes.into(),
                position: 0,
            }),
            (Err(error), _) | (_, Err(error)) => Err(map.refusal(name, error)),
        }
    }

    /// Tells whether a record waits that [`receive`](Self::receive) would read.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        match self.head() {
            Head::Record(_) | Head::Discarded(_) | Head::Nonsense => true,
            Head::Nothing => false,
        }
    }

    /// Hands the next record to `read` and its room back to the kernel; `None` if
    /// no record waits. A descriptor that is waited for becomes ready with the next
    /// record after this has said `None`.
    ///
    /// # Errors
    ///
    /// `InvalidData` if the ring holds what cannot be a record; everything in it is
    /// then passed over.
    pub fn receive<R>(&mut self, read: impl FnOnce(&[u8]) -> R) -> io::Result<Option<R>> {
        loop {
            match self.head() {
                Head::Nothing => return Ok(None),
                Head::Discarded(length) => self.pass_over(length),
                Head::Record(length) => {
                    let result = read(self.record(length));
                    self.pass_over(length);
                    return Ok(Some(result));
                }
                Head::Nonsense => {
                    self.move_to(self.produced());
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
        }
    }

    fn head(&self) -> Head {
        let waiting = self.produced().wrapping_sub(self.position);
        if waiting == 0 {
            return Head::Nothing;
        }
        let length = self.length_word().load(Ordering::Acquire);
        Head::of(length, waiting.min(self.ring_bytes))
    }

    /// The record at the consumer's position, of which [`head`](Self::head) has
    /// said that it is there.
    fn record(&self, length: u64) -> &[u8] {
        let offset = self.offset() + in_memory(HEADER_BYTES);
        let place = self.producer.range(offset, in_memory(length));
        // SAFETY: the record was submitted: nobody writes it until its room is
        // given back, which needs `&mut self`.
        #[expect(unsafe_code, reason = "record of the ring")]
        unsafe {
            place.as_ref()
        }
    }

    fn pass_over(&mut self, length: u64) {
        self.move_to(self.position + whole(length));
    }

    /// Gives all before `position` back to the kernel.
    fn move_to(&mut self, position: u64) {
        self.position = position;
        self.consumed().store(position, Ordering::Release);
        // The kernel wakes whoever waits if the consumer stood at a record when it
        // was submitted: it sees our position, or we see its record.
        fence(Ordering::SeqCst);
    }

    /// Where the next record's header stands in the mapping.
    fn offset(&self) -> usize {
        self.page_bytes + in_memory(self.position & (self.ring_bytes - 1))
    }

    fn length_word(&self) -> &AtomicU32 {
        // SAFETY: records begin at whole words of 64 bits; their length is shared
        // with the kernel and only ever accessed atomically.
        #[expect(unsafe_code, reason = "shared length")]
        unsafe {
            self.producer.at::<AtomicU32>(self.offset()).as_ref()
        }
    }

    fn produced(&self) -> u64 {
        // SAFETY: the first word of the producer's page, only ever loaded here.
        #[expect(unsafe_code, reason = "shared position")]
        let position = unsafe { self.producer.at::<AtomicU64>(0).as_ref() };
        position.load(Ordering::Acquire)
    }

    fn consumed(&self) -> &AtomicU64 {
        // SAFETY: the first word of the consumer's page, accessed atomically by
        // both sides.
        #[expect(unsafe_code, reason = "shared position")]
        unsafe {
            self.consumer.at::<AtomicU64>(0).as_ref()
        }
    }
}

impl AsFd for RecordRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}

/// Returns what a record of `length` takes in the ring.
fn whole(length: u64) -> u64 {
    (length + HEADER_BYTES).next_multiple_of(HEADER_BYTES)
}

fn in_memory(bytes: u64) -> usize {
    usize::try_from(bytes).expect("the ring lies in memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_takes_its_length_its_header_and_what_fills_the_last_word() {
        assert_eq!([0, 1, 8, 9].map(whole), [8, 16, 16, 24]);
    }

    #[test]
    fn a_length_is_believed_only_within_what_the_ring_has() {
        assert_eq!(Head::of(56, 64), Head::Record(56));
        assert_eq!(Head::of(57, 64), Head::Nonsense);
        assert_eq!(Head::of(56 | DISCARDED, 64), Head::Discarded(56));
        assert_eq!(Head::of(57 | DISCARDED, 64), Head::Nonsense);
        assert_eq!(Head::of(!BUSY, 1 << 20), Head::Nonsense);
    }

    #[test]
    fn a_record_under_construction_is_not_there() {
        assert_eq!(Head::of(56 | BUSY, 64), Head::Nothing);
        assert_eq!(Head::of(u32::MAX, 64), Head::Nothing);
    }
}
