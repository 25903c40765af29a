//! The frames of a flow whose fate is open, and arrivals that became known before
//! their sending.

use std::collections::{BTreeSet, VecDeque};

use units::{Duration, Instant};

use crate::ReceiverIndex;

/// The most frames of one flow whose fate may be open. A sender that is faster
/// has its oldest settled early.
const MOST_OUTSTANDING: usize = 1 << 17;
/// The most arrivals of a flow that wait for their sending to become known.
const MOST_EARLY: usize = 1 << 16;

/// Frames in the order in which they were sent, and thus of their sequence.
#[derive(Debug)]
pub(super) struct Outstanding {
    everyone: u64,
    frames: VecDeque<OutstandingFrame>,
    /// How many frames were settled: the place of a frame in the flow is its
    /// place here plus this.
    settled: usize,
    /// Where each receiver's next frame should be.
    expected: Vec<usize>,
    /// The greatest sequence ever sent.
    greatest: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct OutstandingFrame {
    sequence: u64,
    sent_at: Instant,
    /// A bit for each receiver that has not got it.
    missing: u64,
}

/// A frame whose fate is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) sequence: u64,
    pub(super) sent_at: Instant,
    /// A bit for each receiver that did not get it.
    pub(super) missing: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// The first arrival of this frame at this receiver.
    First { sent_at: Instant },
    /// A copy of what had arrived before.
    Again,
    /// A frame that is settled or was never sent.
    Unknown,
}

impl Outstanding {
    pub(super) fn new(receivers: usize) -> Self {
        Self {
            everyone: match receivers {
                0 => 0,
                receivers => u64::MAX >> (u64::BITS as usize - receivers),
            },
            frames: VecDeque::new(),
            settled: 0,
            expected: vec![0; receivers],
            greatest: None,
        }
    }

    /// Adds a frame, unless its sequence does not follow.
    pub(super) fn push(&mut self, sequence: u64, sent_at: Instant) -> bool {
        if !self.is_ahead(sequence) {
            return false;
        }
        self.greatest = Some(sequence);
        self.frames.push_back(OutstandingFrame {
            sequence,
            sent_at,
            missing: self.everyone,
        });
        true
    }

    /// Tells whether a sequence is beyond everything that was sent.
    pub(super) fn is_ahead(&self, sequence: u64) -> bool {
        self.greatest.is_none_or(|greatest| sequence > greatest)
    }

    pub(super) fn deliver(&mut self, receiver: ReceiverIndex, sequence: u64) -> Delivery {
        let Some(place) = self.find(receiver, sequence) else {
            return Delivery::Unknown;
        };
        self.expected[receiver.as_usize()] = self.settled + place + 1;
        let frame = &mut self.frames[place];
        let bit = 1 << receiver.0;
        if frame.missing & bit == 0 {
            return Delivery::Again;
        }
        frame.missing &= !bit;
        Delivery::First {
            sent_at: frame.sent_at,
        }
    }

    /// Takes out the oldest frame if its time is over at `now`.
    pub(super) fn settle(&mut self, now: Instant, patience: Duration) -> Option<Settled> {
        let oldest = self.frames.front()?;
        let over = now.saturating_since(oldest.sent_at) > patience;
        (over || self.frames.len() >= MOST_OUTSTANDING)
            .then(|| self.settle_oldest())
            .flatten()
    }

    /// Takes out the oldest frame.
    pub(super) fn settle_oldest(&mut self) -> Option<Settled> {
        let OutstandingFrame {
            sequence,
            sent_at,
            missing,
        } = self.frames.pop_front()?;
        self.settled += 1;
        Some(Settled {
            sequence,
            sent_at,
            missing,
        })
    }

    /// Frames arrive in order but for a few: look where the next one should be
    /// before searching.
    fn find(&self, receiver: ReceiverIndex, sequence: u64) -> Option<usize> {
        let expected = self.expected[receiver.as_usize()].checked_sub(self.settled);
        if let Some(place) = expected
            && let Some(frame) = self.frames.get(place)
            && frame.sequence == sequence
        {
            return Some(place);
        }
        self.frames
            .binary_search_by_key(&sequence, |frame| frame.sequence)
            .ok()
    }
}

/// Arrivals that became known before their sending, in order of their sequence.
#[derive(Debug, Default)]
pub(super) struct EarlyArrivals {
    arrivals: BTreeSet<(u64, ReceiverIndex, Instant)>,
}

impl EarlyArrivals {
    /// Keeps an arrival, unless there are too many.
    pub(super) fn keep(&mut self, sequence: u64, receiver: ReceiverIndex, at: Instant) -> bool {
        self.arrivals.len() < MOST_EARLY && self.arrivals.insert((sequence, receiver, at))
    }

    /// Takes out an arrival of a frame.
    pub(super) fn take(&mut self, sequence: u64) -> Option<(ReceiverIndex, Instant)> {
        let (_, receiver, at) = self.take_first_if(|arrived| arrived == sequence)?;
        Some((receiver, at))
    }

    /// Drops the arrivals of frames before `sequence`: they were never sent.
    pub(super) fn drop_before(&mut self, sequence: u64) -> u64 {
        let mut dropped = 0;
        while self.take_first_if(|arrived| arrived < sequence).is_some() {
            dropped += 1;
        }
        dropped
    }

    /// Returns how many arrivals belong to no frame that was sent.
    pub(super) fn left(&self) -> u64 {
        self.arrivals.len() as u64
    }

    fn take_first_if(
        &mut self,
        wanted: impl FnOnce(u64) -> bool,
    ) -> Option<(u64, ReceiverIndex, Instant)> {
        let first = *self.arrivals.first()?;
        (wanted(first.0) && self.arrivals.remove(&first)).then_some(first)
    }
}
