//! A publisher's frame, of which only counters and values change.

use super::asdu::Offsets;
use super::{ApplicationHeader, Asdu, write};
use crate::ethernet;

/// A whole frame that is patched instead of built anew.
#[derive(Clone, Debug)]
pub struct Template {
    frame: Vec<u8>,
    offsets: Vec<Offsets>,
}

impl Template {
    /// Builds the frame.
    ///
    /// # Panics
    ///
    /// If there are more than 127 samples, or they are longer than a frame can
    /// be.
    #[must_use]
    pub fn new(ethernet: &ethernet::Header, header: ApplicationHeader, asdus: &[Asdu<'_>]) -> Self {
        let (mut frame, mut offsets) = (Vec::new(), Vec::new());
        ethernet.emit(&mut frame);
        write(header, asdus, &mut frame, |sample| offsets.push(sample));
        Self { frame, offsets }
    }

    /// Returns the frame.
    #[must_use]
    pub fn frame(&self) -> &[u8] {
        &self.frame
    }

    /// Sets the counter of the sample at `index`.
    ///
    /// # Panics
    ///
    /// If the frame has no such sample.
    #[inline]
    pub fn set_smp_cnt(&mut self, index: usize, smp_cnt: u16) {
        let Offsets { smp_cnt: at, .. } = self.offsets[index];
        self.frame[at..at + 2].copy_from_slice(&smp_cnt.to_be_bytes());
    }

    /// Returns the values of the sample at `index`, to be overwritten.
    ///
    /// # Panics
    ///
    /// If the frame has no such sample.
    pub fn sample_mut(&mut self, index: usize) -> &mut [u8] {
        let Offsets {
            sample,
            sample_length,
            ..
        } = self.offsets[index];
        &mut self.frame[sample..sample + sample_length]
    }
}
