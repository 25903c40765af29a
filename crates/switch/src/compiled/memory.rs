//! The words that a switch shares with whoever walks its tables.
//!
//! How words are shared is the affair of whoever provides them: with programs in the
//! kernel by mapped memory and instructions that no other can interrupt, within a run
//! in virtual time by plain words.

use std::cell::Cell;
use std::fmt::Debug;

use super::layout::Region;
use super::sizes::Sizes;

/// The words of one region, all zero at first.
///
/// Whoever walks the tables may read and change them at any time, and sees every one
/// of them change as a whole, in the order in which they are written.
pub trait Words: Debug + Send {
    /// Returns how many there are.
    fn count(&self) -> usize;

    fn get(&self, at: usize) -> u64;

    fn set(&self, at: usize, value: u64);

    /// Puts `after` in the place of `before`, and returns whether that stood there.
    fn replace(&self, at: usize, before: u64, after: u64) -> bool;

    /// Waits until nobody holds the lock that this word is, then holds it.
    fn lock(&self, at: usize);

    fn unlock(&self, at: usize);

    /// Lets everybody see what was written before, ahead of anything that is read
    /// after, in whichever region.
    fn fence(&self);

    fn read(&self, from: usize, into: &mut [u64]) {
        for (at, word) in (from..).zip(into) {
            *word = self.get(at);
        }
    }

    fn write(&self, from: usize, words: &[u64]) {
        for (at, word) in (from..).zip(words) {
            self.set(at, *word);
        }
    }
}

/// Words that nobody changes at the same time as the switch.
impl Words for Vec<Cell<u64>> {
    fn count(&self) -> usize {
        self.len()
    }

    fn get(&self, at: usize) -> u64 {
        self[at].get()
    }

    fn set(&self, at: usize, value: u64) {
        self[at].set(value);
    }

    fn replace(&self, at: usize, before: u64, after: u64) -> bool {
        let is_there = self.get(at) == before;
        if is_there {
            self.set(at, after);
        }
        is_there
    }

    fn lock(&self, at: usize) {
        assert!(self.replace(at, 0, 1), "nobody else could unlock it");
    }

    fn unlock(&self, at: usize) {
        self.set(at, 0);
    }

    fn fence(&self) {}
}

/// A record of a region.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    words: &'a dyn Words,
    first: usize,
}

impl<'a> Record<'a> {
    pub(crate) fn of(words: &'a dyn Words, region: Region, record: usize) -> Self {
        let first = record * region.record_words();
        Self { words, first }
    }

    #[must_use]
    pub fn get(self, at: usize) -> u64 {
        self.words.get(self.first + at)
    }

    pub fn set(self, at: usize, value: u64) {
        self.words.set(self.first + at, value);
    }

    /// Returns the words from a place on.
    #[must_use]
    pub fn read<const COUNT: usize>(self, from: usize) -> [u64; COUNT] {
        let mut words = [0; COUNT];
        self.words.read(self.first + from, &mut words);
        words
    }

    /// Writes words from a place on.
    pub fn write(self, from: usize, words: &[u64]) {
        self.words.write(self.first + from, words);
    }

    /// Adds to a word that others add to as well.
    pub(crate) fn add(self, at: usize, more: u64) {
        loop {
            let before = self.get(at);
            if self.replace(at, before, before.wrapping_add(more)) {
                return;
            }
        }
    }

    pub(crate) fn replace(self, at: usize, before: u64, after: u64) -> bool {
        self.words.replace(self.first + at, before, after)
    }

    /// Puts this value into a word unless a greater one stands there; returns whether
    /// it did.
    pub(crate) fn raise(self, at: usize, value: u64) -> bool {
        loop {
            let before = self.get(at);
            if before >= value {
                return false;
            }
            if self.replace(at, before, value) {
                return true;
            }
        }
    }

    /// Does something while nobody else holds the lock that a word is.
    pub(crate) fn locked<R>(self, at: usize, work: impl FnOnce() -> R) -> R {
        self.words.lock(self.first + at);
        let result = work();
        self.words.unlock(self.first + at);
        result
    }
}

/// Who sees when frames leave that walks have sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departures {
    /// Whoever sends them: the core, or others, who enter it in [`Region::Hops`].
    Seen,
    /// Nobody.
    Unseen,
}

/// What the words that a switch begins with mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// Nothing: they are zero.
    Empty,
    /// What another process knew of modes and streams, which walks go on using.
    Resumed,
}

/// The words of all regions.
#[derive(Debug)]
pub struct Memory {
    sizes: Sizes,
    departures: Departures,
    beginning: Beginning,
    regions: [Box<dyn Words>; Region::ALL.len()],
}

impl Memory {
    /// Returns the memory that `provide` provides, region by region: each time at
    /// least as many words as the region has records of these sizes, times the
    /// words of a record.
    ///
    /// # Panics
    ///
    /// If a region is too small.
    #[must_use]
    pub fn new(sizes: Sizes, mut provide: impl FnMut(Region) -> Box<dyn Words>) -> Self {
        let regions = Region::ALL.map(|region| {
            let words = provide(region);
            let wanted = sizes.records(region) * region.record_words();
            let name = region.name();
            assert!(words.count() >= wanted, "{name} is too small");
            words
        });
        Self {
            sizes,
            departures: Departures::Seen,
            beginning: Beginning::Empty,
            regions,
        }
    }

    /// Returns memory of this process: the same run writes the same words.
    #[must_use]
    pub fn private(sizes: Sizes) -> Self {
        Self::new(sizes.clone(), |region| {
            let count = sizes.records(region) * region.record_words();
            Box::new(vec![Cell::new(0); count])
        })
    }

    /// Says who sees when frames leave that walks have sent.
    #[must_use]
    pub fn with_departures(self, departures: Departures) -> Self {
        Self { departures, ..self }
    }

    /// Says that another process knew what stands in the regions of modes and streams, and
    /// that walks go on by it.
    #[must_use]
    pub(crate) fn resumed(self) -> Self {
        let beginning = Beginning::Resumed;
        Self { beginning, ..self }
    }

    pub(crate) const fn beginning(&self) -> Beginning {
        self.beginning
    }

    pub(crate) const fn departures(&self) -> Departures {
        self.departures
    }

    /// Returns how many records there are of each kind.
    #[must_use]
    pub const fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// Gives a region to somebody else in the switch, who keeps it.
    pub(crate) fn give(&mut self, region: Region) -> Box<dyn Words> {
        std::mem::replace(&mut self.regions[region as usize], Box::new(Vec::new()))
    }

    pub(crate) fn words(&self, region: Region) -> &dyn Words {
        self.regions[region as usize].as_ref()
    }

    /// Returns a record of a region that the switch keeps here: those about ports and
    /// modes it keeps elsewhere.
    ///
    /// # Panics
    ///
    /// If there is no such record.
    #[must_use]
    pub fn record(&self, region: Region, record: usize) -> Record<'_> {
        Record::of(self.words(region), region, record)
    }
}
