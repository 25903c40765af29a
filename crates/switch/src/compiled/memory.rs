//! The words that a switch shares with whoever walks its tables.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::layout::Region;
use super::sizes::Sizes;

/// The words of one region, somewhere in memory: all zero at first, and written by
/// the switch and those who walk its tables only.
pub trait Words: Debug + Send + Sync {
    /// Returns the words: always the same ones.
    fn words(&self) -> &[AtomicU64];
}

impl Words for Vec<AtomicU64> {
    fn words(&self) -> &[AtomicU64] {
        self
    }
}

impl Words for Box<[AtomicU64]> {
    fn words(&self) -> &[AtomicU64] {
        self
    }
}

/// The words of all regions.
#[derive(Debug)]
pub struct Memory {
    sizes: Sizes,
    regions: Vec<Arc<dyn Words>>,
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
            assert!(words.words().len() >= wanted, "{name} is too small");
            Arc::from(words)
        });
        Self {
            sizes,
            regions: regions.into(),
        }
    }

    /// Returns memory of this process, which nobody else sees.
    #[must_use]
    pub fn private(sizes: Sizes) -> Self {
        Self::new(sizes.clone(), |region| {
            let count = sizes.records(region) * region.record_words();
            let words: Vec<_> = (0..count).map(|_| AtomicU64::new(0)).collect();
            Box::new(words)
        })
    }

    /// Returns how many records there are of each kind.
    #[must_use]
    pub const fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// Returns a region for somebody else in the switch, who keeps it.
    pub(crate) fn share(&self, region: Region) -> Arc<dyn Words> {
        Arc::clone(&self.regions[region as usize])
    }

    #[must_use]
    pub fn words(&self, region: Region) -> &[AtomicU64] {
        self.regions[region as usize].words()
    }
}
