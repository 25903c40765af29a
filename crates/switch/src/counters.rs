//! What a switch counts, OF13 clause 5.8.

use units::Instant;

use crate::compiled::Counted;

/// What a port has carried and what it has lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    pub received_frames: u64,
    /// Bytes received, without check sequence.
    pub received_bytes: u64,
    /// Frames received and given up before the first table: too long, too
    /// short, not wanted by the port's configuration, no buffer free, or faster than
    /// they were taken.
    pub received_dropped: u64,
    /// Frames whose transmission began. Where the world paces the port, those that
    /// left its queues.
    pub sent_frames: u64,
    /// Bytes of those, without check sequence.
    pub sent_bytes: u64,
    /// Frames that should have left here and did not: queue full, link down,
    /// or not wanted by the port's configuration.
    pub sent_dropped: u64,
}

/// Frames that came to a port and were not handed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unreceived {
    /// Those that were longer than any that is carried.
    pub oversized: u64,
    /// Those that came faster than they were taken.
    pub overrun: u64,
}

/// What one queue of a port has carried and what it has lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Frames of this queue whose transmission began. Where the world paces the
    /// port, those that left the world's queue.
    pub sent_frames: u64,
    /// Bytes of those, without check sequence.
    pub sent_bytes: u64,
    /// Frames dropped since the queue was full or the link went down.
    pub dropped_frames: u64,
}

/// What one of the world's queues has carried and lost since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueTally {
    pub sent_frames: u64,
    /// Bytes of those, without check sequence.
    pub sent_bytes: u64,
    /// Frames that it had no room for.
    pub dropped_frames: u64,
}

impl QueueTally {
    /// Returns what came on top of `before`. A queue that has counted less than
    /// before is another one, made since.
    pub(crate) fn since(self, before: Self) -> Self {
        let parts = [
            (self.sent_frames, before.sent_frames),
            (self.sent_bytes, before.sent_bytes),
            (self.dropped_frames, before.dropped_frames),
        ];
        match parts.map(|(now, before)| now.checked_sub(before)) {
            [Some(sent_frames), Some(sent_bytes), Some(dropped_frames)] => Self {
                sent_frames,
                sent_bytes,
                dropped_frames,
            },
            [..] => self,
        }
    }
}

/// What a switch has done with frames, all ports together.
///
/// Every frame that enters is given up at once (`refused`) or walks the tables.
/// Every copy that an output asks for begins to leave (`sent`), waits in a
/// queue, or is dropped (`dropped`); so `outputs = sent + waiting + dropped`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchCounters {
    /// Frames handed in, those for unknown ports included.
    pub frames: u64,
    /// Frames given up before the first table.
    pub refused: u64,
    /// Of those, the ones that were longer than any that is carried.
    pub oversized: u64,
    /// Of those, the ones that came faster than they were taken.
    pub overrun: u64,
    /// Frames that a table had no entry for.
    pub missed: u64,
    /// Frames given up half-way: no buffer or headroom for a change, or a time
    /// to live that ended.
    pub abandoned: u64,
    /// Frames that a meter dropped.
    pub metered: u64,
    /// Frames that lost the queue of their entry, as they exceeded a contract.
    pub demoted: u64,
    /// Buckets that were not executed, since groups had made
    /// [`GROUP_COPIES_A_FRAME`](crate::GROUP_COPIES_A_FRAME) of the frame.
    pub buckets_skipped: u64,
    /// Copies that outputs to ports asked for.
    pub outputs: u64,
    /// Copies whose transmission began, or that the world took into its queues.
    pub sent: u64,
    /// Copies dropped at the port, by the switch itself.
    pub dropped: u64,
    /// Copies for the controller that are on their way to it.
    pub punted: u64,
    /// Copies for the controller beyond the budget.
    pub punts_dropped: u64,
    /// Frames treated like a bridge does since no controller was there.
    pub standalone: u64,
    /// How often the last controller was lost.
    pub lost_contacts: u64,
    /// Messages from controllers that were refused or could not be read.
    pub bad_messages: u64,
    /// Connections closed for what came over them.
    pub bad_connections: u64,
}

/// What went through a group, a bucket, a meter or a band.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
}

impl Tally {
    pub(crate) fn count(&mut self, bytes: usize) {
        self.frames += 1;
        self.bytes += u64::try_from(bytes).expect("a frame is short");
    }
}

/// What an entry has matched, as far as the core knows; modulo 2^64, since others
/// may count too ([`Pipeline::entry_counters`](crate::pipeline::Pipeline::entry_counters)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EntryCounters {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    /// Copies that were to leave and were dropped at the port.
    pub(crate) dropped: u64,
    pub(crate) last_used: Instant,
}

impl EntryCounters {
    /// Adds what others have counted who count no more.
    pub(crate) fn add(&mut self, others: Counted) {
        self.frames = self.frames.wrapping_add(others.frames);
        self.bytes = self.bytes.wrapping_add(others.bytes);
        self.dropped = self.dropped.wrapping_add(others.dropped);
        self.last_used = self.last_used.max(Instant::from_ns(others.last));
    }

    /// Begins to count frames anew, though others go on from what they counted.
    pub(crate) const fn begin_anew(&mut self, others: Counted) {
        self.frames = others.frames.wrapping_neg();
        self.bytes = others.bytes.wrapping_neg();
        self.dropped = others.dropped.wrapping_neg();
    }
}

/// What a table was asked, as far as the core knows; modulo 2^64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableCounters {
    pub(crate) lookups: u64,
    pub(crate) matches: u64,
}
