//! A cable between two ports: it delays, it can break, and it can lose.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{Duration, Instant};

use crate::parts::{End, LinkPart};

#[derive(Debug)]
pub struct Cable {
    ends: [End; 2],
    propagation: Duration,
    loss_ppm: u32,
    whole: bool,
    /// Counts the breaks: what was on the cable when it broke never arrives.
    breaks: u32,
    lost: u64,
}

impl Cable {
    /// Returns a cable that is whole.
    #[must_use]
    pub fn new(part: LinkPart) -> Self {
        Self {
            ends: part.ends,
            propagation: part.propagation.round_up(),
            loss_ppm: part.loss_ppm,
            whole: true,
            breaks: 0,
            lost: 0,
        }
    }

    /// Sends a frame whose last bit leaves at `departs`. Returns when that bit
    /// arrives, and what [`arrives`](Self::arrives) wants to know then.
    pub fn send(
        &mut self,
        departs: Instant,
        random: &mut Xoshiro256PlusPlus,
    ) -> Option<(Instant, u32)> {
        let unlucky = self.loss_ppm > 0 && random.next_u32() % 1_000_000 < self.loss_ppm;
        if !self.whole || unlucky {
            self.lost += 1;
            return None;
        }
        Some((departs + self.propagation, self.breaks))
    }

    /// Tells whether a frame that was sent after `breaks` breaks arrives.
    pub fn arrives(&mut self, breaks: u32) -> bool {
        let arrives = self.whole && self.breaks == breaks;
        self.lost += u64::from(!arrives);
        arrives
    }

    /// Breaks it, or makes it whole. Returns whether that changed anything.
    pub fn set_whole(&mut self, whole: bool) -> bool {
        let changed = self.whole != whole;
        self.whole = whole;
        if changed && !whole {
            self.breaks += 1;
        }
        changed
    }

    /// Tells whether the cable is whole.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Returns what the cable joins.
    #[must_use]
    pub fn ends(&self) -> [End; 2] {
        self.ends
    }

    /// Plugs one of its ends in elsewhere.
    pub fn set_end(&mut self, end: u8, to: End) {
        self.ends[usize::from(end)] = to;
    }

    /// Returns how many frames were lost on it.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }
}
