//! The ordering function: frames leave in the order of their numbers (RFC 9550 section 4,
//! the basic algorithm).
//!
//! Behind the recovery function each number comes once; where the quicker way lost frames,
//! these come by the slower one, behind later ones. The frame with the next number leaves at
//! once. One that is ahead of missing ones is held until they have left, or for the hold
//! (`POFMaxDelay`): then it leaves, behind those that are held before it, and what is missing
//! before it is given up. What comes after that is late, and dropped. Numbers so far behind
//! that the recovery function would take them for rogue are not waited for, so no more frames
//! are held than its history is long.
//!
//! # Differs from the RFC
//!
//! There a frame that is late is forwarded, out of order. And after `POFTakeAnyTime` without
//! a frame, the next one is forwarded whatever its number is, so what the quicker way lost
//! just then would be late. Here, after the reset time of the recovery function, the number
//! that would have been next leaves at once, and another one is held as any frame is that is
//! ahead: no longer, and nothing is lost.

use units::Instant;
use wire::openflow::taktos::Eliminate;

/// Where a frame stands among those that have left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing is missing before it: it leaves.
    Next,
    /// Earlier ones are missing: it is to be held.
    Ahead,
    /// A later one has left: it is dropped.
    Late,
}

/// A frame that is held.
#[derive(Debug)]
struct Waiting<T> {
    number: u16,
    /// When it leaves whatever is missing.
    due: Instant,
    frame: T,
}

/// The frames of a stream that are held, and which number is the next.
#[derive(Debug)]
pub(super) struct Ordering<T> {
    /// One more than the last that left (`POFLastSent`).
    next: u16,
    /// Whether nothing before that may come; else the numbers may begin anew.
    is_sure: bool,
    /// When the frame arrived that came last.
    heard: Instant,
    /// How many numbers back from the greatest may still come.
    history: u8,
    waiting: Vec<Waiting<T>>,
    pub(super) held: u64,
    pub(super) gave_up: u64,
    pub(super) late: u64,
}

impl<T> Ordering<T> {
    pub(super) const fn new() -> Self {
        Self {
            next: 0,
            is_sure: false,
            heard: Instant::ZERO,
            history: 0,
            waiting: Vec::new(),
            held: 0,
            gave_up: 0,
            late: 0,
        }
    }

    /// Makes room for that many frames.
    pub(super) fn make_room(&mut self, frames: usize) {
        let more = frames.saturating_sub(self.waiting.len());
        self.waiting.reserve(more);
    }

    /// Takes the number of a frame that the recovery function has just handed on, which
    /// forgets what it knew at the same moment.
    pub(super) fn take(&mut self, how: &Eliminate, arrived: Instant, number: u16) -> Standing {
        if arrived.saturating_since(self.heard) >= how.reset {
            self.is_sure = false;
        }
        (self.heard, self.history) = (arrived, how.history);
        let mut waiting = self.waiting.iter();
        let is_first = self.is_sure || waiting.all(|it| is_before(number, it.number));
        if number == self.next && is_first {
            self.leave(number);
            return Standing::Next;
        }
        if self.is_sure && is_before(number, self.next) {
            self.late += 1;
            return Standing::Late;
        }
        Standing::Ahead
    }

    /// Holds a frame that is ahead.
    pub(super) fn hold(&mut self, (number, due): (u16, Instant), frame: T) {
        self.held += 1;
        self.waiting.push(Waiting { number, due, frame });
    }

    /// Returns the next frame that need not wait any more.
    pub(super) fn let_go(&mut self, now: Instant) -> Option<T> {
        let anchor = self.waiting.first()?.number;
        let ahead = |it: &Waiting<T>| it.number.wrapping_sub(anchor).cast_signed();
        let all = || self.waiting.iter().enumerate();
        let (at, first) = all().min_by_key(|(_, it)| ahead(it))?;
        let (_, last) = all().max_by_key(|(_, it)| ahead(it))?;
        let may_come = last.number.wrapping_sub(u16::from(self.history) - 1);
        let is_next = first.number == self.next || !is_before(may_come, first.number);
        let is_due = self.waiting.iter().any(|it| it.due <= now);
        if !is_next && !is_due {
            return None;
        }
        self.gave_up += u64::from(first.number != self.next);
        let Waiting { number, frame, .. } = self.waiting.swap_remove(at);
        self.leave(number);
        Some(frame)
    }

    /// Returns when the first of the frames that are held is to leave at the latest.
    pub(super) fn due(&self) -> Option<Instant> {
        self.waiting.iter().map(|it| it.due).min()
    }

    /// Returns how many frames are held.
    pub(super) const fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Takes all frames that are held.
    pub(super) fn give_up(&mut self) -> impl Iterator<Item = T> {
        self.waiting.drain(..).map(|it| it.frame)
    }

    const fn leave(&mut self, number: u16) {
        (self.next, self.is_sure) = (number.wrapping_add(1), true);
    }
}

/// Returns whether a number comes before another one, of two that are close to each other.
const fn is_before(number: u16, other: u16) -> bool {
    number.wrapping_sub(other).cast_signed() < 0
}

#[cfg(test)]
mod tests;
