//! An entry of a flow table, OF13 clause 5.2.

use units::{Duration, Instant};
use wire::openflow::taktos::EntryContent;
use wire::openflow::{Cookie, FlowModFlags, PacketInReason, TableId};

use crate::action::Program;
use crate::counters::EntryCounters;
use crate::flow_table::{EntryIndex, Rule};
use crate::packet::Origin;

/// An entry with everything that its controller said about it.
///
/// What a frame needs stands first and together: a table is larger than the
/// caches, and the lines that a lookup touches are what it costs.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Entry {
    pub(crate) rule: Rule,
    pub(crate) counters: EntryCounters,
    pub(crate) program: Program,
    pub(crate) cookie: Cookie,
    pub(crate) flags: FlowModFlags,
    /// In seconds; zero for never.
    pub(crate) idle_timeout: u16,
    /// In seconds; zero for never.
    pub(crate) hard_timeout: u16,
    pub(crate) created: Instant,
    /// When [`timeouts`](crate::timeouts) looks at it next.
    pub(crate) timer: Option<Instant>,
    /// The match as the controller wrote it.
    pub(crate) fields: Box<[u8]>,
    /// The instructions as the controller wrote them.
    pub(crate) instructions: Box<[u8]>,
}

impl Entry {
    /// Counts a frame that matched.
    #[inline]
    pub(crate) fn count(&mut self, now: Instant, bytes: usize) {
        let bytes = u64::try_from(bytes).expect("a frame is short");
        self.counters.frames = self.counters.frames.wrapping_add(1);
        self.counters.bytes = self.counters.bytes.wrapping_add(bytes);
        self.counters.last_used = now;
    }

    /// Returns what its controller said.
    pub(crate) fn content(&self) -> EntryContent<'_> {
        EntryContent {
            cookie: self.cookie,
            priority: self.rule.priority,
            flags: self.flags,
            idle_timeout_s: self.idle_timeout,
            hard_timeout_s: self.hard_timeout,
            fields: &self.fields,
            instructions: &self.instructions,
        }
    }

    /// Returns what a packet-in on behalf of this entry says. The entry that
    /// matches everything at the lowest priority is the table-miss entry, OF13
    /// clause 5.4.
    #[inline]
    pub(crate) fn origin(&self, table: TableId, index: EntryIndex) -> Origin {
        let misses = self.rule.priority == 0 && self.fields.is_empty();
        Origin {
            table,
            entry: Some(index),
            cookie: self.cookie,
            reason: match misses {
                true => PacketInReason::NoMatch,
                false => PacketInReason::Action,
            },
        }
    }

    /// Returns when the entry expires if it is not used any more, and why.
    pub(crate) fn expiry(&self) -> Option<(Instant, Expiry)> {
        let after = |start: Instant, seconds: u16| {
            (seconds > 0).then(|| start + Duration::from_secs(u64::from(seconds)))
        };
        let hard = after(self.created, self.hard_timeout).map(|at| (at, Expiry::Hard));
        let idle = after(self.counters.last_used, self.idle_timeout).map(|at| (at, Expiry::Idle));
        match (hard, idle) {
            (Some(hard), Some(idle)) => Some(if hard.0 <= idle.0 { hard } else { idle }),
            (hard, idle) => hard.or(idle),
        }
    }
}

/// Which of the two timeouts of an entry passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    Idle,
    Hard,
}
