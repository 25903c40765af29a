//! The memory in which the compiled form of a switch's tables lies, seen by the
//! switch and by the program in the kernel.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use switch::compiled::layout::{Region, busy, settings};
use switch::compiled::{Departures, Memory, Sizes, Words};

use crate::bpf::map::{MapError, MappedArray};
use crate::clock;
use crate::hop_watch::HopSpace;
use units::Duration;

/// A walk takes microseconds; a processor that does not end one for so long is
/// stopped as a whole.
const LONGEST_WALK: Duration = Duration::from_ms(100);

/// The arrays of all regions.
#[derive(Clone, Debug)]
pub struct SharedTables {
    sizes: Sizes,
    /// In the order of [`Region::ALL`].
    arrays: [Arc<MappedArray>; Region::ALL.len()],
}

impl SharedTables {
    /// Makes the arrays, all zero.
    pub(super) fn create(sizes: Sizes) -> Result<Self, MapError> {
        Self::of(sizes, |region, records, words| {
            Ok(Arc::new(match region {
                Region::Hops => HopSpace::records(records)?,
                _ => MappedArray::create(region.name(), records, words)?,
            }))
        })
    }

    /// Makes the arrays of a process that goes on from what another one has: what walks
    /// remember of modes and streams both have.
    pub(super) fn beside(other: &Self) -> Result<Self, MapError> {
        let mut tables = Self::create(other.sizes.clone())?;
        for region in [Region::Modes, Region::Streams] {
            tables.arrays[region as usize] = Arc::clone(other.array(region));
        }
        Ok(tables)
    }

    /// Opens the arrays that have names in a folder.
    pub(super) fn pinned(sizes: Sizes, folder: &Path) -> Result<Self, MapError> {
        Self::of(sizes, |region, records, words| {
            let name = region.name();
            let array = MappedArray::pinned(name, records, words, &folder.join(name))?;
            Ok(Arc::new(array))
        })
    }

    fn of(
        sizes: Sizes,
        array: impl Fn(Region, u32, u32) -> Result<Arc<MappedArray>, MapError>,
    ) -> Result<Self, MapError> {
        let arrays = Region::ALL.into_iter().map(|region| {
            let records = u32::try_from(sizes.records(region)).expect("a few million at most");
            let words = u32::try_from(region.record_words()).expect("a few dozen");
            array(region, records, words)
        });
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            sizes,
            arrays: arrays.try_into().expect("one for each region"),
        })
    }

    /// Returns how large they are.
    #[must_use]
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// Returns the arrays with their names.
    pub(super) fn arrays(&self) -> impl Iterator<Item = (&'static str, BorrowedFd<'_>)> {
        let names = Region::ALL.map(Region::name);
        names
            .into_iter()
            .zip(self.arrays.iter().map(|it| it.as_fd()))
    }

    /// Empties the arrays and returns them as a switch takes them. No switch uses
    /// them any more, and no frame comes to the program for the first time: those
    /// on their way are waited for. Those who see frames leave know the switch by `hops`;
    /// without it nobody sees them.
    #[must_use]
    pub fn empty(&self, hops: Option<&HopSpace>) -> Memory {
        self.await_walks();
        for array in &self.arrays {
            for word in array.words() {
                word.store(0, Ordering::Relaxed);
            }
        }
        self.seen_by(hops)
    }

    /// Returns the arrays, as they are, as a switch takes them whose frames are seen to
    /// leave by `hops`.
    pub(crate) fn seen_by(&self, hops: Option<&HopSpace>) -> Memory {
        let number = hops.map_or(0, |hops| u64::from(hops.number()) + 1);
        let words = self.array(Region::Settings).words();
        words[settings::HOP_SPACE].store(number, Ordering::Relaxed);
        self.provide().with_departures(match hops {
            Some(_) => Departures::Seen,
            None => Departures::Unseen,
        })
    }

    /// Returns the arrays as they are.
    pub(crate) fn provide(&self) -> Memory {
        Memory::new(self.sizes.clone(), |region| {
            Box::new(SharedWords(Arc::clone(self.array(region))))
        })
    }

    /// Says that nobody can go on from here: others do.
    pub(crate) fn put_out_of_force(&self) {
        let words = self.array(Region::Settings).words();
        for at in [settings::STATE, settings::STATE_NEXT] {
            words[at].store(0, Ordering::Release);
        }
    }

    pub(super) fn array(&self, region: Region) -> &Arc<MappedArray> {
        &self.arrays[region as usize]
    }

    /// Waits until every walk is over that was under way.
    pub(crate) fn await_walks(&self) {
        fence(Ordering::SeqCst);
        let give_up = clock::now() + LONGEST_WALK;
        let walks = self.array(Region::Busy).words();
        for record in walks.chunks(Region::Busy.record_words()) {
            let walks = &record[busy::WALKS];
            let before = walks.load(Ordering::SeqCst);
            let under_way = |count: u64| count % 2 == 1;
            while under_way(before)
                && walks.load(Ordering::SeqCst) == before
                && clock::now() < give_up
            {
                std::thread::yield_now();
            }
        }
    }
}

/// The words of one array, which stays as long as anybody uses it.
#[derive(Debug)]
pub struct SharedWords(pub Arc<MappedArray>);

impl Words for SharedWords {
    fn count(&self) -> usize {
        self.0.words().len()
    }

    fn get(&self, at: usize) -> u64 {
        self.0.words()[at].load(Ordering::Acquire)
    }

    fn set(&self, at: usize, value: u64) {
        self.0.words()[at].store(value, Ordering::Release);
    }

    fn replace(&self, at: usize, before: u64, after: u64) -> bool {
        let word = &self.0.words()[at];
        let replaced = word.compare_exchange(before, after, Ordering::AcqRel, Ordering::Relaxed);
        replaced.is_ok()
    }

    fn lock(&self, at: usize) {
        // A walk holds it for less than a microsecond and is not interrupted.
        while !self.replace(at, 0, 1) {
            std::hint::spin_loop();
        }
    }

    fn unlock(&self, at: usize) {
        self.set(at, 0);
    }

    fn fence(&self) {
        fence(Ordering::SeqCst);
    }
}
