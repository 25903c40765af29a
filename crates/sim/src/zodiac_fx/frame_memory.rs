//! Where frames wait for the processor: one in hand, the others in buffers of
//! one shared pool (LOKO section 3.5).
//!
//! A frame takes as many whole buffers as it needs. With 24 buffers of 128 bytes
//! there is room for `1 + floor(24 / ceil(l / 128))` frames of `l` bytes.

use std::collections::VecDeque;

use units::DataSize;

use super::Arrival;

/// Frames that wait for the processor.
#[derive(Debug)]
pub(super) struct FrameMemory {
    waiting: VecDeque<(Arrival, usize)>,
    free: usize,
    buffer: DataSize,
}

impl FrameMemory {
    /// Returns a memory of so many empty buffers of one size.
    pub(super) fn new(buffers: usize, buffer: DataSize) -> Self {
        Self {
            waiting: VecDeque::new(),
            free: buffers,
            buffer,
        }
    }

    /// Keeps an arrival, or gives it back if there is no room.
    pub(super) fn keep(&mut self, arrival: Arrival) -> Result<(), Arrival> {
        let bits = arrival.size().as_bits();
        let needed = bits.div_ceil(self.buffer.as_bits());
        match usize::try_from(needed) {
            Ok(needed) if needed <= self.free => {
                self.free -= needed;
                self.waiting.push_back((arrival, needed));
                Ok(())
            }
            Ok(_) | Err(_) => Err(arrival),
        }
    }

    /// Removes what has waited longest, and frees its buffers.
    pub(super) fn next(&mut self) -> Option<Arrival> {
        let (arrival, buffers) = self.waiting.pop_front()?;
        self.free += buffers;
        Some(arrival)
    }
}
