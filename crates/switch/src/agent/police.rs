//! Tells controllers who exceeds his contract, and what entries that police have seen
//! (`docs/openflow-extension.md`).
//!
//! Frames are judged by a meter of the entry's own (`meter_table`), here and by those who
//! walk the compiled form alike. A few times a second it is looked whether anything was
//! dropped or demoted by a meter; only then entries are gone through, some at a time.

use units::{Duration, Instant};
use wire::openflow::taktos::{Answer, PoliceEvent, PolicedEntry};
use wire::openflow::{
    Fields, MatchField, Message, PortNumber, PortStatusReason, Sequence, TableId, TransactionId,
};

use super::Agent;
use super::inspection::{Part, send};
use super::session::Session;
use super::statistics::PART_LOOKS;
use super::sweep::{Cursor, SweptPlace};
use crate::meter_table::MeterIndex;
use crate::pipeline::Pipeline;
use crate::timeouts::EntryId;

/// How often it is looked whether meters have dropped anything.
const LOOK: Duration = Duration::from_ms(250);
/// The least time between two events of one entry.
const TOLD_EVERY: Duration = Duration::from_secs(1);
/// The most events of one look through all entries.
const EVENTS_MAX: usize = 64;

/// What is known of entries that police.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// When to look next; nothing while nobody polices.
    due: Option<Instant>,
    /// How many frames meters had dropped or demoted when it was looked last.
    metered: u64,
    /// Whether something is to be told that was not.
    pending: bool,
    /// How far entries were gone through.
    cursor: Option<Cursor>,
    events: usize,
}

/// An answer that lists entries that police.
#[derive(Debug)]
pub(super) struct PolicedDump {
    transaction: TransactionId,
    cursor: Cursor,
}

impl Agent {
    /// Returns when [`tell_of_policers`](Self::tell_of_policers) has something to do.
    pub(crate) fn police_due(&self, pipeline: &Pipeline) -> Option<Instant> {
        let polices = pipeline.egress.meters.policers() > 0;
        self.police.due.filter(|_| polices)
    }

    /// Looks whether somebody has exceeded his contract, if it is time for that.
    pub(crate) fn tell_of_policers(&mut self, now: Instant, pipeline: &mut Pipeline) {
        if pipeline.egress.meters.policers() == 0 {
            self.police = Watch::default();
            return;
        }
        let due = *self.police.due.get_or_insert(now + LOOK);
        if now < due {
            return;
        }
        let cursor = match self.police.cursor.take() {
            Some(cursor) => cursor,
            None => {
                self.police.due = Some(now + LOOK);
                let counters = pipeline.counters();
                let metered = counters.metered + counters.demoted;
                let moved = std::mem::replace(&mut self.police.metered, metered) != metered;
                if !moved && !self.police.pending {
                    return;
                }
                (self.police.pending, self.police.events) = (false, 0);
                Cursor::new(TableId::ALL)
            }
        };
        self.go_through(now, pipeline, cursor);
    }

    /// Goes through the next entries.
    fn go_through(&mut self, now: Instant, pipeline: &mut Pipeline, mut cursor: Cursor) {
        for _ in 0..PART_LOOKS {
            match cursor.step(pipeline) {
                SweptPlace::Entry(id) => self.look_at(now, pipeline, id),
                SweptPlace::Empty => {}
                SweptPlace::End => {
                    self.police.due = Some(now + LOOK);
                    return;
                }
            }
        }
        self.police.cursor = Some(cursor);
        self.police.due = Some(now);
    }

    fn look_at(&mut self, now: Instant, pipeline: &mut Pipeline, id: EntryId) {
        let Some((entry, meter)) = policed(pipeline, id) else {
            return;
        };
        let told = &mut pipeline.egress.meters.meter_mut(meter).told;
        let since_last = entry.exceeded.saturating_sub(told.0);
        if since_last == 0 {
            return;
        }
        let is_soon = told.1.is_some_and(|at| now < at + TOLD_EVERY);
        if is_soon || self.police.events == EVENTS_MAX {
            self.police.pending = true;
            return;
        }
        *told = (entry.exceeded, Some(now));
        self.police.events += 1;
        let event = PoliceEvent {
            entry,
            since_last,
            noticed: now,
        };
        // Whoever hears of ports hears of this.
        let reason = PortStatusReason::Modify.number();
        self.announce(
            |session| session.wants(session.asynchronous.port_status, reason),
            &Message::Police(event),
        );
    }
}

impl PolicedDump {
    pub(super) const fn new(transaction: TransactionId) -> Self {
        Self {
            transaction,
            cursor: Cursor::new(TableId::ALL),
        }
    }

    /// Looks at the next entries, sends those that police, and returns what is left.
    pub(super) fn send_part(mut self, pipeline: &Pipeline, session: &mut Session) -> Option<Self> {
        let mut found = Vec::new();
        let mut part = Part::MoreFollows;
        for _ in 0..PART_LOOKS {
            match self.cursor.step(pipeline) {
                SweptPlace::Entry(id) => {
                    found.extend(policed(pipeline, id).map(|(entry, _)| entry))
                }
                SweptPlace::Empty => {}
                SweptPlace::End => {
                    part = Part::Last;
                    break;
                }
            }
        }
        let answer = Answer::Policed(Sequence::of(&found));
        send(session, self.transaction, part, &answer);
        (part == Part::MoreFollows).then_some(self)
    }
}

/// Returns what an entry that polices has seen, and its meter.
fn policed(pipeline: &Pipeline, id: EntryId) -> Option<(PolicedEntry, MeterIndex)> {
    let entry = pipeline.entry(id);
    let police = entry.program.police?;
    let meter = entry.program.meter?;
    let fields = Fields::from_bytes(&entry.fields);
    let input = fields.iter().find_map(|field| match field {
        Ok(MatchField::InPort(port)) => Some(port),
        Ok(_) | Err(_) => None,
    });
    let judged = pipeline.meter_tally(meter);
    let (mut exceeded, mut exceeded_bytes) = (0, 0);
    for band in pipeline.band_tallies(meter) {
        exceeded += band.frames;
        exceeded_bytes += band.bytes;
    }
    let entry = PolicedEntry {
        table: id.table,
        excess: police.excess,
        priority: entry.rule.priority,
        input: input.unwrap_or(PortNumber::ANY),
        cookie: entry.cookie,
        frames: judged.frames,
        bytes: judged.bytes,
        exceeded,
        exceeded_bytes,
    };
    Some((entry, meter))
}
