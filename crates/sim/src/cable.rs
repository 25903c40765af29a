//! A cable between two ports: it delays, it can break, and it can lose or corrupt frames
//! while both of its ends see a carrier.

use std::num::NonZeroU32;

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use scenario::Impairment;
use units::{Duration, Instant};

use crate::parts::{End, LinkPart};

#[derive(Debug)]
pub struct Cable {
    ends: [End; 2],
    propagation: Duration,
    /// What it does to frames, by the end that these come from.
    impairments: [Impairments; 2],
    whole: bool,
    /// Counts the breaks: what was on the cable when it broke never arrives.
    breaks: u32,
    lost: u64,
}

/// What becomes of the frames of one direction: of how many one is hit, if any is.
#[derive(Clone, Copy, Debug, Default)]
struct Impairments {
    loss: Option<NonZeroU32>,
    corruption: Option<NonZeroU32>,
}

/// What becomes of a frame that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// Its last bit arrives.
    Arrives {
        at: Instant,
        /// What [`arrives`](Cable::arrives) wants to know then.
        breaks: u32,
        /// Whether a bit of it will be another one.
        corrupted: bool,
    },
    /// The cable is broken.
    Broken,
    /// The cable loses it while its ends see a carrier.
    Lost,
}

impl Cable {
    /// Returns a cable that is whole.
    #[must_use]
    pub fn new(part: LinkPart) -> Self {
        Self {
            ends: part.ends,
            propagation: part.propagation.round_up(),
            impairments: [Impairments::default(); 2],
            whole: true,
            breaks: 0,
            lost: 0,
        }
    }

    /// Sends a frame whose last bit leaves one of the ends at `departs`.
    pub fn send(&mut self, departs: Instant, end: u8, random: &mut Xoshiro256PlusPlus) -> Passage {
        let Impairments { loss, corruption } = self.impairments[usize::from(end)];
        if !self.whole {
            self.lost += 1;
            return Passage::Broken;
        }
        if hits(loss, random) {
            self.lost += 1;
            return Passage::Lost;
        }
        Passage::Arrives {
            at: departs + self.propagation,
            breaks: self.breaks,
            corrupted: hits(corruption, random),
        }
    }

    /// Has it lose or corrupt one in so many of the frames that come from an end; none any
    /// more if there is no such number.
    pub fn impair(&mut self, end: usize, impairment: Impairment, one_in: Option<NonZeroU32>) {
        let impairments = &mut self.impairments[end];
        match impairment {
            Impairment::Loss => impairments.loss = one_in,
            Impairment::Corruption => impairments.corruption = one_in,
        }
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

/// Draws whether a frame is hit; nothing is drawn where none or each is.
fn hits(one_in: Option<NonZeroU32>, random: &mut Xoshiro256PlusPlus) -> bool {
    match one_in {
        None => false,
        Some(NonZeroU32::MIN) => true,
        Some(one_in) => random.next_u32() % one_in == 0,
    }
}
