//! What walks of the compiled form change of modes, as the core sees it.
//!
//! The mode, what flows demanded, what neighbours said and what monitors remember are
//! in words that both change: the mode by compare-and-swap, a monitor under its lock.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use units::Instant;
use wire::mode_signal::Mode;
use wire::openflow::taktos::ModeCounters;

use super::agreement::{Agreement, mode_of, word_of};
use super::outbox::{Flood, Outbox};
use crate::compiled::layout::{Region, modes, monitor, port};
use crate::compiled::{Memory, Words};
use crate::port::PortIndex;

#[derive(Debug)]
pub(crate) struct SharedModes {
    modes: Arc<dyn Words>,
    monitors: Arc<dyn Words>,
    ports: Arc<dyn Words>,
    /// How often walks could not tell all neighbours, as far as was seen to.
    unsent: u64,
    /// What walks counted of each flood, as far as it was taken.
    counted: [u64; Flood::ALL.len()],
}

/// A mode that a walk has entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entered {
    pub(super) came_by: Option<PortIndex>,
    pub(super) detected: Instant,
    pub(super) changed: Instant,
}

impl SharedModes {
    pub(crate) fn of(memory: &Memory) -> Self {
        Self {
            modes: memory.share(Region::Modes),
            monitors: memory.share(Region::Monitors),
            ports: memory.share(Region::Ports),
            unsent: 0,
            counted: [0; Flood::ALL.len()],
        }
    }

    /// Begins with what is agreed on.
    pub(super) fn begin(&self, agreement: &Agreement) {
        let words = self.state();
        words[modes::ORIGIN].store(agreement.origin().0, Relaxed);
        words[modes::MODE].store(word_of(agreement.mode()), Release);
    }

    /// Returns the words of the mode.
    pub(super) fn state(&self) -> &[AtomicU64] {
        self.modes.words()
    }

    pub(super) fn mode(&self) -> Mode {
        mode_of(self.state()[modes::MODE].load(Acquire))
    }

    /// Returns what walks said about the mode that they entered last.
    pub(super) fn entered(&self) -> Entered {
        let came_by = self.get(modes::CAME_BY).checked_sub(1);
        let came_by = came_by.and_then(|place| u16::try_from(place).ok());
        Entered {
            came_by: came_by.map(PortIndex),
            detected: Instant::from_ns(self.get(modes::DETECTED)),
            changed: Instant::from_ns(self.get(modes::CHANGED)),
        }
    }

    /// Returns whether walks could not tell all neighbours since this was asked last.
    pub(super) fn take_unsent(&mut self) -> bool {
        let unsent = self.get(modes::UNSENT);
        std::mem::replace(&mut self.unsent, unsent) != unsent
    }

    /// Says to walks from when on the core wants to hear of a violation, and of a signal
    /// that does not count.
    pub(super) fn want(&self, outbox: &Outbox) {
        for flood in Flood::ALL {
            let from = outbox.wants(flood).as_ns();
            self.state()[flood.wanted].store(from, Relaxed);
        }
    }

    /// Has the outbox count what walks saw meanwhile and told nobody.
    pub(super) fn tell_counted(&mut self, outbox: &mut Outbox) {
        for (at, flood) in Flood::ALL.into_iter().enumerate() {
            let counted = self.get(flood.counted);
            let before = std::mem::replace(&mut self.counted[at], counted);
            outbox.leave_out(flood, counted.saturating_sub(before));
        }
    }

    /// Returns when flows last demanded anything.
    pub(super) fn demanded(&self) -> Option<Instant> {
        instant(self.get(modes::DEMANDED))
    }

    pub(super) fn add_counters(&self, to: &mut ModeCounters) {
        to.entered += self.get(modes::ENTERED);
        to.sent += self.get(modes::SENT);
        to.received += self.get(modes::RECEIVED);
        to.beats_received += self.get(modes::BEATS_RECEIVED);
        to.duplicate += self.get(modes::DUPLICATE);
        to.stale += self.get(modes::STALE);
        to.demanded += self.get(modes::DEMANDS);
        to.disregarded += self.get(modes::DISREGARDED);
        to.forged += self.get(modes::FORGED);
        to.misplaced += self.get(modes::MISPLACED);
        to.replayed += self.get(modes::REPLAYED);
        to.malformed += self.get(modes::MALFORMED);
    }

    /// Notes what was heard from a neighbour, as walks do.
    pub(super) fn note_heard(&self, at: PortIndex, now: Instant, mode: Mode) {
        let words = self.port(at);
        words[port::HEARD].store(now.as_ns(), Relaxed);
        words[port::HEARD_MODE].store(word_of(mode), Relaxed);
    }

    /// Returns what was last heard from a neighbour.
    pub(super) fn heard(&self, at: PortIndex) -> Option<(Instant, Mode)> {
        let words = self.port(at);
        let heard = instant(words[port::HEARD].load(Relaxed))?;
        Some((heard, mode_of(words[port::HEARD_MODE].load(Relaxed))))
    }

    /// Forgets what was heard from a neighbour.
    pub(super) fn forget(&self, at: PortIndex) {
        self.port(at)[port::HEARD].store(0, Relaxed);
    }

    /// Returns the words of the monitor at a place, if they are of this turn.
    pub(super) fn monitor(&self, place: usize, turn: u32) -> Option<&[AtomicU64]> {
        let count = Region::Monitors.record_words();
        let words = self.monitors.words().get(place * count..)?.get(..count)?;
        let shown = words[monitor::CONTRACTS].load(Acquire) >> 32;
        (shown == u64::from(turn)).then_some(words)
    }

    fn port(&self, at: PortIndex) -> &[AtomicU64] {
        let count = Region::Ports.record_words();
        &self.ports.words()[at.at() * count..][..count]
    }

    fn get(&self, at: usize) -> u64 {
        self.state()[at].load(Relaxed)
    }
}

/// Does something with the words of a monitor that nobody else changes meanwhile.
pub(crate) fn locked<R>(words: &[AtomicU64], work: impl FnOnce() -> R) -> R {
    let lock = &words[monitor::LOCK];
    // A walk holds it for less than a microsecond and is not interrupted.
    while lock.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
        std::hint::spin_loop();
    }
    let result = work();
    lock.store(0, Release);
    result
}

/// Returns the time that a word stands for, if it is not zero.
pub(super) fn instant(ns: u64) -> Option<Instant> {
    (ns != 0).then(|| Instant::from_ns(ns))
}
