//! The relation of a card's clock to the monotonic one: straight pieces without a gap.
//!
//! Both clocks are read together now and then, each time with an error of up to half the
//! width of the reading. Between readings the relation runs at the rate at which the two
//! clocks ran over the last readings. A reading never moves what has been said: from it
//! on, the relation runs so much faster or slower that its error is gone after [`SLEWING`],
//! and then at the rate again. So stamps of one clock keep their order, and differences
//! between them are off by no more than the rate is. Only a reading that is too far off to
//! be an error, since somebody set the card's clock, makes the relation jump.
//!
//! ```text
//! |relation - truth| <= w (1 + x / 2) + 2 x SLEWING dr,    x = max(gap / SLEWING, 1)
//! ```
//!
//! where `w` is the greatest error of the readings, `gap` the longest time between two of
//! them, and `dr` by how much the rate of the card's clock wanders around its mean: from a
//! reading with an error of `w` on, a rate that was found between readings at least
//! [`LEAST_BASE`] apart adds `2 w SLEWING / LEAST_BASE = w / 2` for each `SLEWING`. The
//! property test below holds it to that.

use std::collections::VecDeque;

use units::{Duration, Instant};

use crate::stamps::CardTime;

/// An error is gone after so long. Readings are to be about as far apart.
pub const SLEWING: Duration = Duration::from_ms(50);
/// The rate is found between readings at least so far apart.
pub const LEAST_BASE: Duration = Duration::from_ms(200);
/// So many readings are kept to find it.
const KEPT: usize = 8;
/// Pieces that are kept for stamps that are read late: those of two seconds.
const MOST_PIECES: usize = 96;
/// A reading that is further off, apart from its own error, is a step of the card's clock.
const STEP_AT_LEAST: Duration = Duration::from_us(100);
/// What one clock gains on the other in this many parts is one unit of the rate.
const RATE_PARTS: i128 = 1_000_000_000_000;
/// No two working clocks run further apart: 1000 ppm.
const MOST_RATE: i128 = RATE_PARTS / 1_000;
/// However wide readings are, the relation never stands still to make up for an error.
const MOST_GAIN: i128 = RATE_PARTS / 2;

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    pub card: CardTime,
    pub at: Instant,
    /// By how much that may be off.
    pub within: Duration,
}

/// What a reading said of the relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    On,
    /// The reading took much longer than others and was passed over.
    PassedOver,
    /// The card's clock was set: by so many nanoseconds, negative if it went back.
    Stepped(i64),
}

/// A straight piece, from a moment on.
#[derive(Clone, Copy, Debug)]
struct Piece {
    card: i128,
    at: i128,
    /// How much faster the monotonic clock runs, in [`RATE_PARTS`].
    rate: i128,
}

impl Piece {
    fn at(&self, card: i128) -> i128 {
        let past = card - self.card;
        self.at + past + (past * self.rate).div_euclid(RATE_PARTS)
    }
}

/// The relation of a card's clock to the monotonic one.
#[derive(Clone, Debug)]
pub struct Relation {
    /// In the order in which they begin; never empty. The last one may begin later than
    /// now.
    pieces: VecDeque<Piece>,
    /// What the rate is found from; never empty.
    readings: VecDeque<Reading>,
    rate: i128,
    /// The errors of the last readings, passed over or not.
    errors: VecDeque<Duration>,
}

impl Relation {
    /// Begins with one reading and clocks that run alike.
    #[must_use]
    pub fn begin(reading: Reading) -> Self {
        let mut relation = Self {
            pieces: VecDeque::with_capacity(MOST_PIECES),
            readings: VecDeque::with_capacity(KEPT),
            rate: 0,
            errors: VecDeque::with_capacity(KEPT),
        };
        relation.note_error(reading);
        relation.set(reading);
        relation
    }

    /// Returns `stamp` on the monotonic clock, or nothing if that is before its origin.
    #[must_use]
    pub fn to_monotonic(&self, stamp: CardTime) -> Option<Instant> {
        let ns = self.at(i128::from(stamp.as_ns()));
        u64::try_from(ns).ok().map(Instant::from_ns)
    }

    /// Returns by how much it may be off, while readings come every [`SLEWING`] and the
    /// rate of the card's clock keeps still: twice the greatest error of those that count.
    #[must_use]
    pub fn uncertainty(&self) -> Duration {
        let greatest = self.readings.iter().map(|it| it.within).max();
        greatest.unwrap_or_default() * 2u64
    }

    /// Takes a reading in the middle of use.
    pub fn follow(&mut self, reading: Reading) -> Followed {
        self.note_error(reading);
        if self.is_poor(reading) {
            return Followed::PassedOver;
        }
        let card = i128::from(reading.card.as_ns());
        let error = self.error(reading);
        if self.is_a_step(reading, error, Duration::ZERO) {
            self.readings.clear();
            self.set(reading);
            // The relation is ahead by as much as the card's clock went forward.
            let by_ns = i64::try_from(-error).unwrap_or(i64::MAX);
            return Followed::Stepped(by_ns);
        }
        self.learn(reading);
        let said = self.at(card);
        self.pieces.retain(|piece| piece.card < card);
        let gain = error * RATE_PARTS / i128::from(SLEWING.as_ns());
        let slewed = Piece {
            card,
            at: said,
            rate: self.rate + gain.clamp(-MOST_GAIN, MOST_GAIN),
        };
        let afterwards = card + i128::from(SLEWING.as_ns());
        self.add(slewed);
        self.add(Piece {
            card: afterwards,
            at: slewed.at(afterwards),
            rate: self.rate,
        });
        Followed::On
    }

    /// Takes a reading after a time in which nobody asked: the relation need not be
    /// without a gap there, and what happened to the card's clock meanwhile is of no
    /// interest.
    pub fn resume(&mut self, reading: Reading) {
        self.note_error(reading);
        let last = self.readings.back().map_or(reading.at, |it| it.at);
        let unobserved = reading.at.saturating_since(last);
        match self.is_a_step(reading, self.error(reading), unobserved) {
            true => self.readings.clear(),
            false => self.learn(reading),
        }
        self.set(reading);
    }

    /// Returns how much later a reading says it is.
    fn error(&self, reading: Reading) -> i128 {
        i128::from(reading.at.as_ns()) - self.at(i128::from(reading.card.as_ns()))
    }

    fn is_a_step(&self, reading: Reading, error: i128, unobserved: Duration) -> bool {
        // A rate that is known does not become another by more than 50 ppm.
        let known = match self.readings.len() {
            0 | 1 => 1,
            _ => 20,
        };
        let wandered = i128::from(unobserved.as_ns()) * MOST_RATE / RATE_PARTS / known;
        let errors = i128::from(reading.within.as_ns()) * 8;
        let last = self.readings.back().map(|it| it.card);
        last.is_some_and(|last| reading.card <= last)
            || error.abs() > i128::from(STEP_AT_LEAST.as_ns()) + errors + wandered
    }

    /// Tells whether others were much better of late.
    fn is_poor(&self, reading: Reading) -> bool {
        let best = self.errors.iter().min().copied().unwrap_or_default();
        reading.within > best * 2u64 + Duration::from_ns(100)
    }

    fn note_error(&mut self, reading: Reading) {
        if self.errors.len() == KEPT {
            self.errors.pop_front();
        }
        self.errors.push_back(reading.within);
    }

    /// Finds the rate from the oldest reading that is kept to this one.
    fn learn(&mut self, reading: Reading) {
        if self.readings.len() == KEPT {
            self.readings.pop_front();
        }
        self.readings.push_back(reading);
        let Some(oldest) = self.readings.front() else {
            return;
        };
        let base = i128::from(reading.card.as_ns()) - i128::from(oldest.card.as_ns());
        if base >= i128::from(LEAST_BASE.as_ns()) {
            let passed = i128::from(reading.at.as_ns()) - i128::from(oldest.at.as_ns());
            let rate = (passed - base) * RATE_PARTS / base;
            self.rate = rate.clamp(-MOST_RATE, MOST_RATE);
        }
    }

    /// Begins anew at a reading.
    fn set(&mut self, reading: Reading) {
        if self.readings.is_empty() {
            self.readings.push_back(reading);
        }
        self.pieces.clear();
        self.add(Piece {
            card: i128::from(reading.card.as_ns()),
            at: i128::from(reading.at.as_ns()),
            rate: self.rate,
        });
    }

    fn add(&mut self, piece: Piece) {
        if self.pieces.len() == MOST_PIECES {
            self.pieces.pop_front();
        }
        self.pieces.push_back(piece);
    }

    /// Returns the moment of a time of the card, in nanoseconds. What is older than all
    /// pieces goes with the first.
    fn at(&self, card: i128) -> i128 {
        let mut latest = self.pieces.iter().rev();
        let piece = latest
            .find(|piece| piece.card <= card)
            .or(self.pieces.front());
        piece.expect("there is always a piece").at(card)
    }
}

#[cfg(test)]
mod tests;
