//! How much one queue holds before it drops.
//!
//! A queue of the kernel counts either frames (`pfifo`) or bytes (`bfifo`).

use std::fmt;

use wire::ethernet::{LONGEST_FRAME, SHORTEST_FRAME};

/// The bound of one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// So many frames, of any size.
    Frames(u32),
    /// So many bytes of frames, without check sequences.
    Bytes(u32),
}

impl Length {
    /// Returns a bound under which a queue never holds more than `frames` frames
    /// nor more than `bytes` bytes.
    ///
    /// Where one of the two implies the other it is that one. Otherwise the number
    /// of frames is lowered to as many of the longest as there is room for.
    #[must_use]
    pub fn within(frames: u32, bytes: u32) -> Self {
        let (shortest, longest) = (size(SHORTEST_FRAME), size(LONGEST_FRAME));
        if bytes / shortest <= frames {
            return Self::Bytes(bytes);
        }
        Self::Frames(frames.min(bytes / longest))
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frames(frames) => write!(f, "{frames} frames"),
            Self::Bytes(bytes) => write!(f, "{bytes} bytes"),
        }
    }
}

fn size(frame: usize) -> u32 {
    u32::try_from(frame).expect("a frame is short")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_tighter_of_two_bounds_is_taken() {
        assert_eq!(Length::within(100, 1_000_000), Length::Frames(100));
        assert_eq!(Length::within(10_000, 150_000), Length::Bytes(150_000));
        // Neither implies the other: 98 frames of 1518 bytes are 148,764 bytes.
        assert_eq!(Length::within(256, 150_000), Length::Frames(98));
    }

    proptest! {
        /// Whatever frames come: neither bound is ever exceeded.
        #[test]
        fn neither_bound_is_exceeded(frames in 0..5_000_u32, bytes in 0..5_000_000_u32) {
            let (most_frames, most_bytes) = match Length::within(frames, bytes) {
                Length::Frames(count) => (count, count * size(LONGEST_FRAME)),
                Length::Bytes(amount) => (amount / size(SHORTEST_FRAME), amount),
            };
            prop_assert!(most_frames <= frames);
            prop_assert!(most_bytes <= bytes);
        }
    }
}
