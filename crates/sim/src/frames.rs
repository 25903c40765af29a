//! Holds the frames that are on the way.
//!
//! A frame in flight is a slot of fixed size, so that a hop copies a frame once
//! and allocates nothing once the network has reached its usual load.

use crate::hop_watch::Trail;

/// The longest frame that can be on the way, without its check sequence: a
/// full one with two VLAN tags, and some room.
pub const FRAME_CAPACITY: usize = 1600;
/// How many frames may be on the way at once, in the whole network.
pub const FRAMES_MAX: usize = 1 << 20;

/// A frame that is on the way; valid until it is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameId(u32);

#[derive(Debug)]
struct Slot {
    bytes: Box<[u8; FRAME_CAPACITY]>,
    length: usize,
    /// What it carries with it if hops are watched.
    trail: Option<Trail>,
}

/// All frames that are on the way.
#[derive(Debug, Default)]
pub struct Frames {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Frames {
    /// Keeps a copy of `frame`, or nothing if it is too long or too many are
    /// on the way.
    pub fn keep(&mut self, frame: &[u8]) -> Option<FrameId> {
        if frame.len() > FRAME_CAPACITY {
            return None;
        }
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.slots.len() < FRAMES_MAX => {
                self.slots.push(Slot {
                    bytes: Box::new([0; FRAME_CAPACITY]),
                    length: 0,
                    trail: None,
                });
                u32::try_from(self.slots.len() - 1).expect("FRAMES_MAX fits in 32 bits")
            }
            None => return None,
        };
        let slot = &mut self.slots[index as usize];
        slot.bytes[..frame.len()].copy_from_slice(frame);
        slot.length = frame.len();
        slot.trail = None;
        Some(FrameId(index))
    }

    #[must_use]
    pub fn bytes(&self, frame: FrameId) -> &[u8] {
        let slot = &self.slots[frame.0 as usize];
        &slot.bytes[..slot.length]
    }

    /// Returns what a frame carries with it.
    pub fn trail(&mut self, frame: FrameId) -> &mut Option<Trail> {
        &mut self.slots[frame.0 as usize].trail
    }

    pub fn bytes_mut(&mut self, frame: FrameId) -> &mut [u8] {
        let slot = &mut self.slots[frame.0 as usize];
        &mut slot.bytes[..slot.length]
    }

    pub fn release(&mut self, frame: FrameId) {
        self.free.push(frame.0);
    }

    /// Returns how many frames are on the way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_kept_until_it_is_released_and_its_slot_used_again() {
        let mut frames = Frames::default();

        let first = frames.keep(b"first").unwrap();
        let second = frames.keep(b"second").unwrap();
        frames.release(first);
        let third = frames.keep(b"3").unwrap();

        assert_eq!(frames.bytes(second), b"second");
        assert_eq!(frames.bytes(third), b"3");
        assert_eq!((third, frames.in_flight()), (first, 2));
    }

    #[test]
    fn a_frame_that_is_too_long_is_not_kept() {
        assert_eq!(Frames::default().keep(&[0; FRAME_CAPACITY + 1]), None);
    }
}
