//! When entries expire, OF13 clause 5.5.
//!
//! A frame only notes when it used an entry. The timer of an entry with an idle
//! timeout therefore often comes too early; it is then set anew, to the instant
//! at which the entry expires if it is not used again. So a frame pays nothing
//! for the timeout of its entry.

use std::collections::BTreeSet;

use units::Instant;
use wire::openflow::TableId;

use crate::entry::{Entry, Expiry};
use crate::flow_table::EntryIndex;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntryId {
    pub(crate) table: TableId,
    pub(crate) index: EntryIndex,
}

/// The timers of all entries of a switch.
#[derive(Debug, Default)]
pub(crate) struct Timeouts {
    timers: BTreeSet<(Instant, EntryId)>,
}

/// What a timer that went off means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The entry was used in the meantime.
    Lives,
    Expires(Expiry),
}

impl Timeouts {
    /// Sets the timer of an entry, if it has a timeout.
    pub(crate) fn start(&mut self, id: EntryId, entry: &mut Entry) {
        entry.timer = entry.expiry().map(|(at, _)| at);
        if let Some(at) = entry.timer {
            self.timers.insert((at, id));
        }
    }

    /// Takes the timer of an entry away.
    pub(crate) fn stop(&mut self, id: EntryId, entry: &mut Entry) {
        if let Some(at) = entry.timer.take() {
            self.timers.remove(&(at, id));
        }
    }

    /// Returns when the next timer goes off.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Returns an entry whose timer has gone off.
    pub(crate) fn due(&self, now: Instant) -> Option<EntryId> {
        let (at, id) = self.timers.first()?;
        (*at <= now).then_some(*id)
    }

    /// Says what a timer that went off means; sets it anew if the entry lives.
    pub(crate) fn judge(&mut self, now: Instant, id: EntryId, entry: &mut Entry) -> Verdict {
        self.stop(id, entry);
        match entry.expiry() {
            Some((at, expiry)) if at <= now => Verdict::Expires(expiry),
            Some(_) | None => {
                self.start(id, entry);
                Verdict::Lives
            }
        }
    }
}
