//! Capture files of single links, for Wireshark and its relatives.
//!
//! A world that carries a link of which somebody wants a capture enters every
//! frame that it sees there. Links with a host are observed at the host's
//! interface, in both directions and with the stamps that the [`recorder`] goes
//! by. Links between switches are observed at both ends, at each of them what
//! arrives there.
//!
//! A run does not end because a disk is full: what a file lacks is said in its
//! [`CaptureRecord`].
//!
//! Captures that were taken elsewhere are read by a [`CaptureReader`] and compared
//! by an [`Analysis`].
//!
//! [`recorder`]: crate::recorder

pub mod analysis;
mod file;
mod pcapng;
pub mod reader;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use units::Instant;

pub use analysis::Analysis;
pub use file::{CaptureFile, CaptureRecord, MOST_FILE_BYTES};
pub use pcapng::{Direction, Heading, Interface, LONGEST_TEXT, SNAP_LENGTH, Seen};
pub use reader::CaptureReader;

/// The capture files of a run.
#[derive(Debug, Default)]
pub struct Captures {
    unix_origin_ns: u64,
    files: Vec<CaptureFile>,
    /// The place of its file, for each cable that is captured.
    file_of: BTreeMap<usize, usize>,
}

impl Captures {
    /// Returns no captures yet, of a world whose clock began `unix_origin_ns`
    /// nanoseconds after the beginning of 1970.
    #[must_use]
    pub fn new(unix_origin_ns: u64) -> Self {
        Self {
            unix_origin_ns,
            ..Self::default()
        }
    }

    /// Adds the file of a cable, by the number that the world has for it.
    pub fn add(&mut self, cable: usize, file: CaptureFile) {
        self.file_of.insert(cable, self.files.len());
        self.files.push(file);
    }

    /// From now on, what is seen on `cable` goes to the file of `other`, if that
    /// one has a file.
    pub fn join(&mut self, cable: usize, other: usize) {
        if let Some(file) = self.file_of.get(&other) {
            self.file_of.insert(cable, *file);
        }
    }

    /// Tells whether a cable is captured.
    #[must_use]
    pub fn has(&self, cable: usize) -> bool {
        self.file_of.contains_key(&cable)
    }

    /// Returns the time of day at a moment of the world's clock, in nanoseconds
    /// since 1970.
    #[must_use]
    pub fn unix_ns(&self, at: Instant) -> u64 {
        self.unix_origin_ns + at.as_ns()
    }

    /// Enters a frame that was seen on a cable, if that is captured.
    pub fn enter(&mut self, cable: usize, seen: &Seen<'_>) {
        if let Some(file) = self.file(cable) {
            file.enter(seen);
        }
    }

    /// Notes that `frames` went by on a cable without being seen.
    pub fn missed(&mut self, cable: usize, frames: u64) {
        if let Some(file) = self.file(cable) {
            file.missed(frames);
        }
    }

    /// Writes what is not written yet, and returns what became of each file.
    #[must_use]
    pub fn finish(self) -> Vec<CaptureRecord> {
        self.files.into_iter().map(CaptureFile::finish).collect()
    }

    fn file(&mut self, cable: usize) -> Option<&mut CaptureFile> {
        let file = *self.file_of.get(&cable)?;
        Some(&mut self.files[file])
    }
}
