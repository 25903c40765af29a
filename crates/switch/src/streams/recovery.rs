//! The sequence recovery function: which frames are copies of others (IEEE 802.1CB clause
//! 7.4.3).
//!
//! The vector algorithm remembers the greatest number and which of the ones before it have
//! come. Numbers are compared modulo 2^16. A number as far away as the history is long, or
//! farther, is that of a *rogue* frame and dropped: it is older than what is remembered, or
//! forged, or the sender has begun anew. Who is not handed anything for the time of a reset
//! forgets all and takes the next frame whatever its number is, so a sender that begins
//! anew, or comes back after longer than numbers last, is heard again.
//!
//! Duplicate discard remembers the numbers of the last frames that were handed on, as many as
//! the history is long. A sender of PRP (IEC 62439-3) counts all that it sends by one counter,
//! so that the next number of a stream may be any; and any is new that is not remembered.
//! There are no rogue frames, then, and nobody knows how many are lost.
//!
//! # Differs from the standard
//!
//! A reset is noticed when the next frame comes, not by a timer: nobody could tell the
//! difference. Numbers from before a reset do not count as lost when they go out of the
//! history, as nobody knows whether they were sent.

use units::Instant;
use wire::openflow::taktos::{Eliminate, RecoveryAlgorithm};

use crate::compiled::layout::stream::RECENT_WORDS;

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passing {
    /// It is new.
    Passes,
    /// It is a copy, or nobody knows what it is.
    Dropped,
}

/// What is remembered of a stream, and counted (clause 7.4.3.2 and clause 10.8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recovery {
    /// Bit `n` is set if the frame came whose number is `n` below the greatest.
    pub(crate) history: u64,
    /// The greatest number (`RecovSeqNum`); nothing if any number is taken (`TakeAny`).
    pub(crate) last: Option<u16>,
    /// How many bits of the history are about numbers since the last reset.
    pub(crate) span: u32,
    /// When a frame was handed on last.
    pub(crate) heard: Instant,
    pub(crate) passed: u64,
    pub(crate) discarded: u64,
    pub(crate) out_of_order: u64,
    pub(crate) rogue: u64,
    pub(crate) lost: u64,
    pub(crate) unnumbered: u64,
    pub(crate) resets: u64,
    /// The numbers that were handed on last, the last one in the lowest bits of the first word:
    /// as many as `span` says.
    pub(crate) recent: [u64; RECENT_WORDS],
}

impl Recovery {
    /// Takes a frame that came at a time with a number, or without one.
    pub(crate) fn take(&mut self, how: &Eliminate, at: Instant, number: Option<u16>) -> Passing {
        let Some(number) = number else {
            self.unnumbered += 1;
            if how.takes_unnumbered {
                self.passed += 1;
                return Passing::Passes;
            }
            return Passing::Dropped;
        };
        if self.last.is_some() && at.saturating_since(self.heard) >= how.reset {
            (self.last, self.history, self.span) = (None, 0, 0);
            self.resets += 1;
        }
        let Some(last) = self.last else {
            (self.history, self.span) = (1, 1);
            self.recent[0] = u64::from(number);
            return self.pass(at, number);
        };
        let step = number.wrapping_sub(last).cast_signed();
        match how.algorithm {
            RecoveryAlgorithm::Match => self.compare(at, number, step),
            RecoveryAlgorithm::Vector => self.look_up(how, at, number, step),
            RecoveryAlgorithm::DuplicateDiscard => self.discard(how, at, number, step),
        }
    }

    /// The match algorithm, clause 7.4.3.5.
    fn compare(&mut self, at: Instant, number: u16, step: i16) -> Passing {
        if step == 0 {
            self.discarded += 1;
            return Passing::Dropped;
        }
        self.out_of_order += u64::from(step != 1);
        self.pass(at, number)
    }

    /// The vector algorithm, clause 7.4.3.4.
    fn look_up(&mut self, how: &Eliminate, at: Instant, number: u16, step: i16) -> Passing {
        let length = u32::from(how.history);
        let distance = u32::from(step.unsigned_abs());
        if distance >= length {
            self.rogue += 1;
            return Passing::Dropped;
        }
        if step > 0 {
            self.advance(length, distance);
            self.out_of_order += u64::from(step != 1);
            return self.pass(at, number);
        }
        let bit = 1 << distance;
        if self.history & bit != 0 {
            self.discarded += 1;
            return Passing::Dropped;
        }
        self.history |= bit;
        self.out_of_order += 1;
        self.heard = at;
        self.passed += 1;
        Passing::Passes
    }

    /// Duplicate discard, IEC 62439-3 clause 4.2.7.
    fn discard(&mut self, how: &Eliminate, at: Instant, number: u16, step: i16) -> Passing {
        let known = self.span.min(u32::from(how.history));
        if self.recent_numbers(known).any(|recent| recent == number) {
            self.discarded += 1;
            return Passing::Dropped;
        }
        self.out_of_order += u64::from(step < 0);
        let mut carried = u64::from(number);
        for word in &mut self.recent {
            (*word, carried) = (
                *word << u16::BITS | carried,
                *word >> (u64::BITS - u16::BITS),
            );
        }
        self.span = u64::BITS.min(self.span + 1);
        self.pass(at, number)
    }

    /// Returns that many of the numbers that were handed on last, the last one first.
    fn recent_numbers(&self, count: u32) -> impl Iterator<Item = u16> {
        let words = self.recent.iter().copied();
        let numbers = words.flat_map(|word| {
            let [a, b, c, d, e, f, g, h] = word.to_le_bytes();
            [[a, b], [c, d], [e, f], [g, h]].map(u16::from_le_bytes)
        });
        numbers.take(usize::try_from(count).expect("32 bits fit"))
    }

    /// Moves the history on, counts what goes out of it without having come, and notes the
    /// number that is the greatest now.
    fn advance(&mut self, length: u32, distance: u32) {
        let going = ones(length) & !ones(length - distance) & ones(self.span);
        self.lost += u64::from((going & !self.history).count_ones());
        self.history = (self.history << distance | 1) & ones(length);
        self.span = u64::BITS.min(self.span + distance);
    }

    fn pass(&mut self, at: Instant, number: u16) -> Passing {
        (self.last, self.heard) = (Some(number), at);
        self.passed += 1;
        Passing::Passes
    }
}

/// Returns the lowest `count` bits, set.
const fn ones(count: u32) -> u64 {
    match count {
        0 => 0,
        count => u64::MAX >> (u64::BITS - count),
    }
}

#[cfg(test)]
mod tests;
