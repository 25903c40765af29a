//! A publisher's frame, of which only a few numbers change.

use super::{ApplicationHeader, Goose, Offsets, UtcTime};
use crate::ethernet;

/// A whole frame that is patched instead of built anew.
#[derive(Clone, Debug)]
pub struct Template {
    frame: Vec<u8>,
    offsets: Offsets,
}

impl Template {
    /// Builds the frame.
    ///
    /// # Panics
    ///
    /// If that is longer than a frame can be.
    #[must_use]
    pub fn new(ethernet: &ethernet::Header, header: ApplicationHeader, goose: &Goose<'_>) -> Self {
        let mut frame = Vec::new();
        ethernet.emit(&mut frame);
        let offsets = goose.write(header, &mut frame);
        Self { frame, offsets }
    }

    /// Returns the frame.
    #[must_use]
    pub fn frame(&self) -> &[u8] {
        &self.frame
    }

    /// Sets when the state changed and how often it did.
    pub fn set_state(&mut self, t: UtcTime, st_num: u32) {
        let Offsets { t: at, .. } = self.offsets;
        self.frame[at..at + 8].copy_from_slice(&t.to_bytes());
        self.set_number(self.offsets.st_num, st_num);
    }

    /// Sets the number of the frame since the last change, and for how long it
    /// holds.
    pub fn set_repetition(&mut self, sq_num: u32, time_allowed_to_live_ms: u32) {
        self.set_number(self.offsets.sq_num, sq_num);
        self.set_number(self.offsets.time_allowed_to_live, time_allowed_to_live_ms);
    }

    /// Returns the data, to be overwritten by others of the same length.
    pub fn data_mut(&mut self) -> &mut [u8] {
        &mut self.frame[self.offsets.all_data..]
    }

    fn set_number(&mut self, at: usize, number: u32) {
        self.frame[at..at + 4].copy_from_slice(&number.to_be_bytes());
    }
}
