//! The frames that a switch holds: slots of a fixed size, made once.
//!
//! A frame that leaves by several ports is kept once and counted by reference;
//! an action that changes it while others hold it makes a copy first. Headroom
//! before the frame lets a tag be pushed without moving the payload.

use units::{Duration, Instant};

/// How many bytes a slot has, headroom included.
pub(crate) const SLOT_BYTES: usize = 2048;
/// How many bytes are free in front of a frame that just arrived.
pub(crate) const HEADROOM: usize = 64;
/// The longest frame that a switch takes, without frame check sequence.
pub const FRAME_BYTES_MAX: usize = SLOT_BYTES - HEADROOM;

/// The number of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotIndex(u32);

impl SlotIndex {
    fn at(self) -> usize {
        usize::try_from(self.0).expect("32 bits fit")
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    references: u32,
    start: usize,
    end: usize,
    /// When the last bit of the frame arrived.
    arrived: Instant,
}

/// A frame as it arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    /// The frame without check sequence.
    pub(crate) bytes: &'a [u8],
    /// When its last bit arrived.
    pub(crate) at: Instant,
}

/// All slots of a switch.
#[derive(Debug)]
pub(crate) struct BufferPool {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    free: Vec<SlotIndex>,
    /// So many of them are kept for the frames of the switch itself, and for those that are
    /// set aside.
    kept: usize,
}

impl BufferPool {
    /// Returns a pool for `frames` frames.
    pub(crate) fn new(frames: usize) -> Self {
        let frames_u32 = u32::try_from(frames).expect("a pool has less than 2^32 slots");
        Self {
            bytes: vec![0; frames * SLOT_BYTES],
            slots: vec![Slot::default(); frames],
            free: (0..frames_u32).rev().map(SlotIndex).collect(),
            kept: 0,
        }
    }

    /// Returns a pool for `frames` frames, and `kept` of the switch's own or set aside that find
    /// room whatever others there are.
    pub(crate) fn keeping(kept: usize, frames: usize) -> Self {
        Self {
            kept,
            ..Self::new(frames + kept)
        }
    }

    /// Keeps a copy of `frame`, held once; `None` if no slot is free.
    ///
    /// # Panics
    ///
    /// If the frame is longer than [`FRAME_BYTES_MAX`].
    pub(crate) fn store(&mut self, frame: Arrival<'_>) -> Option<SlotIndex> {
        let index = self.take_free()?;
        self.fill(index, frame);
        Some(index)
    }

    /// Keeps a copy of a frame of the switch itself, held once.
    ///
    /// # Panics
    ///
    /// Like [`store`](Self::store).
    pub(crate) fn store_own(&mut self, frame: Arrival<'_>) -> Option<SlotIndex> {
        let index = self.free.pop()?;
        self.fill(index, frame);
        Some(index)
    }

    fn take_free(&mut self) -> Option<SlotIndex> {
        if self.free.len() <= self.kept {
            return None;
        }
        self.free.pop()
    }

    fn fill(&mut self, index: SlotIndex, frame: Arrival<'_>) {
        let Arrival { bytes, at: arrived } = frame;
        assert!(
            bytes.len() <= FRAME_BYTES_MAX,
            "the caller refuses such frames"
        );
        let at = index.at();
        let end = HEADROOM + bytes.len();
        self.slots[at] = Slot {
            references: 1,
            start: HEADROOM,
            end,
            arrived,
        };
        let begin = at * SLOT_BYTES;
        self.bytes[begin + HEADROOM..begin + end].copy_from_slice(bytes);
    }

    /// Returns a slot with the same frame that nobody else holds: the slot
    /// itself if so, else a copy, for which the hold on the slot is given up.
    /// `None` if no slot is free; the hold then remains.
    pub(crate) fn make_unique(&mut self, index: SlotIndex) -> Option<SlotIndex> {
        let slot = self.slots[index.at()];
        if slot.references == 1 {
            return Some(index);
        }
        let copy = self.take_free()?;
        let from = index.at() * SLOT_BYTES;
        self.bytes.copy_within(
            from + slot.start..from + slot.end,
            copy.at() * SLOT_BYTES + slot.start,
        );
        self.slots[copy.at()] = Slot {
            references: 1,
            ..slot
        };
        self.release(index);
        Some(copy)
    }

    /// Holds a slot once more.
    pub(crate) fn hold(&mut self, index: SlotIndex) {
        self.slots[index.at()].references += 1;
    }

    /// Gives up one hold; the last one frees the slot.
    pub(crate) fn release(&mut self, index: SlotIndex) {
        let slot = &mut self.slots[index.at()];
        slot.references -= 1;
        if slot.references == 0 {
            self.free.push(index);
        }
    }

    /// Holds a slot once more, out of those that are kept.
    pub(crate) fn set_aside(&mut self, index: SlotIndex) {
        self.hold(index);
        self.kept -= 1;
    }

    /// Takes a frame back that was set aside, as if it had arrived so much later.
    pub(crate) fn take_back(&mut self, index: SlotIndex, later: Duration) {
        self.slots[index.at()].arrived += later;
        self.kept += 1;
    }

    pub(crate) fn frame(&self, index: SlotIndex) -> &[u8] {
        let slot = self.slots[index.at()];
        let begin = index.at() * SLOT_BYTES;
        &self.bytes[begin + slot.start..begin + slot.end]
    }

    /// Returns when the frame in a slot arrived.
    pub(crate) fn arrived(&self, index: SlotIndex) -> Instant {
        self.slots[index.at()].arrived
    }

    /// Returns the frame in a slot, to be changed in place.
    pub(crate) fn frame_mut(&mut self, index: SlotIndex) -> &mut [u8] {
        let slot = self.slots[index.at()];
        let begin = index.at() * SLOT_BYTES;
        &mut self.bytes[begin + slot.start..begin + slot.end]
    }

    /// Makes room for `bytes` more in front of the frame; fails if the headroom
    /// is used up.
    pub(crate) fn grow_front(&mut self, index: SlotIndex, bytes: usize) -> Result<(), NoRoom> {
        let slot = &mut self.slots[index.at()];
        slot.start = slot.start.checked_sub(bytes).ok_or(NoRoom)?;
        Ok(())
    }

    /// Takes `bytes` off the front of the frame, or all that it has.
    pub(crate) fn shrink_front(&mut self, index: SlotIndex, bytes: usize) {
        let slot = &mut self.slots[index.at()];
        slot.start = slot.end.min(slot.start + bytes);
    }

    /// Takes all but the first `bytes` off the frame.
    pub(crate) fn truncate(&mut self, index: SlotIndex, bytes: usize) {
        let slot = &mut self.slots[index.at()];
        slot.end = slot.end.min(slot.start + bytes);
    }

    /// Lengthens the frame with zeros to `bytes`, if it is shorter; fails if that is longer than
    /// any frame.
    pub(crate) fn pad(&mut self, index: SlotIndex, bytes: usize) -> Result<(), NoRoom> {
        let slot = &mut self.slots[index.at()];
        let length = slot.end - slot.start;
        if length >= bytes {
            return Ok(());
        }
        if bytes > FRAME_BYTES_MAX {
            return Err(NoRoom);
        }
        let begin = index.at() * SLOT_BYTES;
        if slot.start + bytes > SLOT_BYTES {
            let frame = begin + slot.start..begin + slot.end;
            self.bytes.copy_within(frame, begin + HEADROOM);
            slot.start = HEADROOM;
        }
        slot.end = slot.start + bytes;
        self.bytes[begin + slot.start + length..begin + slot.end].fill(0);
        Ok(())
    }

    /// Returns how many slots are free.
    pub(crate) fn free(&self) -> usize {
        self.free.len().saturating_sub(self.kept)
    }
}

/// The room of a slot is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_again_after_the_last_hold() {
        let mut pool = BufferPool::new(1);
        let slot = store(&mut pool, b"frame").unwrap();
        pool.hold(slot);

        pool.release(slot);
        assert_eq!(store(&mut pool, b"other"), None);
        pool.release(slot);

        assert!(store(&mut pool, b"other").is_some());
    }

    #[test]
    fn a_change_leaves_what_others_hold_untouched() {
        let mut pool = BufferPool::new(2);
        let slot = store(&mut pool, b"frame").unwrap();
        pool.hold(slot);

        let copy = pool.make_unique(slot).unwrap();
        pool.frame_mut(copy)[0] = b'F';

        assert_eq!(
            (pool.frame(slot), pool.frame(copy)),
            (&b"frame"[..], &b"Frame"[..])
        );
        assert_eq!(pool.make_unique(slot), Some(slot));
    }

    #[test]
    fn a_short_frame_is_padded_wherever_it_lies() {
        let mut pool = BufferPool::new(1);
        let slot = store(&mut pool, &[7; FRAME_BYTES_MAX]).unwrap();

        pool.shrink_front(slot, FRAME_BYTES_MAX - 3);
        assert_eq!(pool.pad(slot, 5), Ok(()));
        assert_eq!(pool.pad(slot, 4), Ok(()));

        assert_eq!(pool.frame(slot), [7, 7, 7, 0, 0]);
        assert_eq!(pool.pad(slot, FRAME_BYTES_MAX + 1), Err(NoRoom));
    }

    #[test]
    fn headroom_ends() {
        let mut pool = BufferPool::new(1);
        let slot = store(&mut pool, b"frame").unwrap();

        assert_eq!(pool.grow_front(slot, HEADROOM), Ok(()));
        assert_eq!(pool.grow_front(slot, 1), Err(NoRoom));
        assert_eq!(pool.frame(slot).len(), HEADROOM + 5);
        pool.shrink_front(slot, HEADROOM);
        assert_eq!(pool.frame(slot), b"frame");
    }

    fn store(pool: &mut BufferPool, bytes: &[u8]) -> Option<SlotIndex> {
        let at = Instant::ZERO;
        pool.store(Arrival { bytes, at })
    }
}
