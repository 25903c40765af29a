//! Has a cable lose or corrupt frames while both of its ends see a carrier.
//!
//! A program in the kernel (`bpf/impair.c`) takes the frames that arrive at an interface
//! before taps, filters and the network stack do (XDP in the driver of virtual Ethernet):
//! whatever engine carries them on, what is lost was lost on the cable. A corrupted frame has one bit flipped, at
//! random. Each frame that is hit is handed over as it was ([`HitFrames`]).
//!
//! # Left out
//!
//! Where a driver hands frames to a socket (AF_XDP), the same place is taken.

use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;
use units::Instant;

use crate::bpf::attributes::{Attributes, Command};
use crate::bpf::map::{MapError, MappedArray};
use crate::bpf::object::Object;
use crate::bpf::program::{LoadError, Program};
use crate::bpf::record_ring::RecordRing;

const OBJECT: &[u8] = include_bytes!("../bpf/impair.o");
/// `BPF_XDP`
const ATTACH_XDP: u32 = 37;
/// `XDP_FLAGS_DRV_MODE`: the network stack would pass by frames that were redirected before,
/// as switches in the kernel do.
const BY_DRIVER: u32 = 1 << 2;
/// The words of `struct impairment`.
const WORDS: u32 = 6;
const LOSE: usize = 0;
const CORRUPT: usize = 1;
const NUMBER: usize = 2;
const LOST: usize = 3;
const CORRUPTED: usize = 4;
const UNTOLD: usize = 5;
/// Time, number, length and harm stand before the frame.
const HEADER_WORDS: usize = 4;
/// Some thousand frames wait until somebody looks.
const RING_BYTES: u32 = 1 << 22;

/// Why frames cannot be impaired.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImpairError {
    /// There is not the memory, or not the right to it.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The kernel does not take the program.
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("cannot put the program that impairs frames at interface {interface}: {source}")]
    Attach { interface: u32, source: io::Error },
}

/// The frames that were hit, of all interfaces that are impaired with it.
#[derive(Debug)]
pub struct HitFrames {
    ring: RecordRing,
}

/// A frame that was lost or corrupted, as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HitFrame<'a> {
    /// When, on the monotonic clock.
    pub at: Instant,
    /// The number of the interface's [`ImpairedInterface`].
    pub number: u64,
    /// Whether it went on, with one bit flipped.
    pub is_corrupted: bool,
    pub bytes: &'a [u8],
}

impl HitFrames {
    /// # Errors
    ///
    /// If the kernel has no memory, or this process no right to it.
    pub fn create() -> Result<Self, MapError> {
        let ring = RecordRing::create("hits", RING_BYTES)?;
        Ok(Self { ring })
    }

    /// Hands all frames that wait to `take`.
    ///
    /// # Errors
    ///
    /// If the ring holds what cannot be a record.
    pub fn drain(&mut self, mut take: impl FnMut(HitFrame<'_>)) -> io::Result<()> {
        let mut read = |record: &[u8]| {
            if let Some(hit) = read(record) {
                take(hit);
            }
        };
        while self.ring.receive(&mut read)?.is_some() {}
        Ok(())
    }
}

impl AsFd for HitFrames {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }
}

/// Reads what `struct hit` holds; nothing if it is cut short.
fn read(record: &[u8]) -> Option<HitFrame<'_>> {
    let (header, frame) = record.split_at_checked(HEADER_WORDS * 8)?;
    let (words, _) = header.as_chunks::<8>();
    let word = |place: usize| u64::from_ne_bytes(words[place]);
    Some(HitFrame {
        at: Instant::from_ns(word(0)),
        number: word(1),
        is_corrupted: word(3) != 0,
        bytes: frame.get(..usize::try_from(word(2)).ok()?)?,
    })
}

/// What becomes of the frames that arrive at one interface; of none anything until it is
/// said. All is as before once this value is dropped.
#[derive(Debug)]
pub struct ImpairedInterface {
    words: MappedArray,
    _link: OwnedFd,
}

impl ImpairedInterface {
    /// Takes the place at the interface of number `interface`, of the calling thread's
    /// namespace. Frames that are hit are handed to `hits`, a [`HitFrames`], under `number`.
    ///
    /// # Errors
    ///
    /// Without CAP_BPF and CAP_NET_ADMIN, or if another program has that place.
    pub fn attach(interface: u32, number: u64, hits: BorrowedFd<'_>) -> Result<Self, ImpairError> {
        let words = MappedArray::create("rates", 1, WORDS)?;
        words.words()[NUMBER].store(number, Ordering::Release);
        let maps = [("rates", words.as_fd()), ("hits", hits)].into();
        let object = Object::parse(OBJECT).map_err(LoadError::from)?;
        let program = Program::load_for_raw_frames(&object, "impair", &maps)?;
        let mut attach = Attributes::default();
        attach.descriptor(0, program.as_fd());
        attach.word(4, interface);
        attach.word(8, ATTACH_XDP);
        attach.word(12, BY_DRIVER);
        let link = attach.open(Command::LinkCreate);
        let link = link.map_err(|source| ImpairError::Attach { interface, source })?;
        Ok(Self { words, _link: link })
    }

    /// Loses one frame in so many from now on; none any more without a number.
    pub fn lose(&self, one_in: Option<NonZeroU32>) {
        self.set(LOSE, one_in);
    }

    /// Corrupts one frame in so many from now on; none any more without a number.
    pub fn corrupt(&self, one_in: Option<NonZeroU32>) {
        self.set(CORRUPT, one_in);
    }

    /// Returns how many frames were lost.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.word(LOST).load(Ordering::Acquire)
    }

    /// Returns how many frames were corrupted.
    #[must_use]
    pub fn corrupted(&self) -> u64 {
        self.word(CORRUPTED).load(Ordering::Acquire)
    }

    /// Returns how many frames that were hit could not be handed over.
    #[must_use]
    pub fn untold(&self) -> u64 {
        self.word(UNTOLD).load(Ordering::Acquire)
    }

    fn set(&self, place: usize, one_in: Option<NonZeroU32>) {
        let one_in = one_in.map_or(0, |one_in| u64::from(one_in.get()));
        self.word(place).store(one_in, Ordering::Release);
    }

    fn word(&self, place: usize) -> &AtomicU64 {
        &self.words.words()[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_the_program_writes_it_and_one_cut_short_is_not() {
        let mut record = Vec::new();
        for word in [7_u64, 3, 2, 1] {
            record.extend(word.to_ne_bytes());
        }
        record.extend([0xaa, 0xbb, 0xcc]);

        let hit = HitFrame {
            at: Instant::from_ns(7),
            number: 3,
            is_corrupted: true,
            bytes: &[0xaa, 0xbb],
        };
        assert_eq!(read(&record), Some(hit));
        for length in 0..34 {
            assert_eq!(read(&record[..length]), None, "{length}");
        }
    }
}
