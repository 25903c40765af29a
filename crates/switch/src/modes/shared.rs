//! What walks of the compiled form change of modes, as the core sees it.
//!
//! The mode, what flows demanded, what neighbours said and what monitors remember are
//! in words that both change: the mode by compare-and-swap, a monitor under its lock.

use units::Instant;
use wire::mode_signal::Mode;
use wire::openflow::taktos::ModeCounters;

use super::mode_consensus::{ModeConsensus, mode_of, word_of};
use super::outbox::{Flood, Outbox};
use crate::compiled::layout::{Region, modes, monitor, port};
use crate::compiled::{Memory, Record, Words};
use crate::port::PortIndex;

#[derive(Debug)]
pub(crate) struct SharedModes {
    modes: Box<dyn Words>,
    monitors: Box<dyn Words>,
    ports: Box<dyn Words>,
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
    /// Takes the regions that are about modes out of the others.
    pub(crate) fn of(memory: &mut Memory) -> Self {
        Self {
            modes: memory.give(Region::Modes),
            monitors: memory.give(Region::Monitors),
            ports: memory.give(Region::Ports),
            unsent: 0,
            counted: [0; Flood::ALL.len()],
        }
    }

    /// Begins with what is agreed on.
    pub(super) fn begin(&self, agreement: &ModeConsensus) {
        let words = self.state();
        words.set(modes::ORIGIN, agreement.origin().0);
        words.set(modes::MODE, word_of(agreement.mode()));
    }

    /// Returns the words of the mode.
    pub(crate) fn state(&self) -> Record<'_> {
        Record::of(self.modes.as_ref(), Region::Modes, 0)
    }

    pub(super) fn mode(&self) -> Mode {
        mode_of(self.get(modes::MODE))
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
            self.state().set(flood.wanted, from);
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
        words.set(port::HEARD, now.as_ns());
        words.set(port::HEARD_MODE, word_of(mode));
    }

    /// Returns what was last heard from a neighbour.
    pub(super) fn heard(&self, at: PortIndex) -> Option<(Instant, Mode)> {
        let words = self.port(at);
        let heard = instant(words.get(port::HEARD))?;
        Some((heard, mode_of(words.get(port::HEARD_MODE))))
    }

    /// Forgets what was heard from a neighbour.
    pub(super) fn forget(&self, at: PortIndex) {
        self.port(at).set(port::HEARD, 0);
    }

    /// Returns the words of the monitor at a place, if they are of this turn.
    pub(super) fn monitor(&self, place: usize, turn: u32) -> Option<Record<'_>> {
        let end = (place + 1) * Region::Monitors.record_words();
        if end > self.monitors.count() {
            return None;
        }
        let words = self.monitor_at(place);
        let shown = words.get(monitor::CONTRACTS) >> 32;
        (shown == u64::from(turn)).then_some(words)
    }

    pub(crate) fn monitor_at(&self, place: usize) -> Record<'_> {
        Record::of(self.monitors.as_ref(), Region::Monitors, place)
    }

    pub(crate) fn port(&self, at: PortIndex) -> Record<'_> {
        Record::of(self.ports.as_ref(), Region::Ports, at.at())
    }

    fn get(&self, at: usize) -> u64 {
        self.state().get(at)
    }
}

/// Returns the time that a word stands for, if it is not zero.
pub(super) fn instant(ns: u64) -> Option<Instant> {
    (ns != 0).then(|| Instant::from_ns(ns))
}
