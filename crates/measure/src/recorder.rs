//! Pairs what was sent with what arrived, and counts.
//!
//! A world tells the recorder of each frame that left a sender's interface and
//! of each that arrived at a receiver, with stamps of one clock. The order of
//! the two calls is free: a world that reads the stamps of sender and receiver
//! from different sockets learns of some arrivals first. Within one sender's
//! flow, and within one receiver, the order is that of the stamps.
//!
//! A frame that has not arrived [`Settings::patience`] after it was sent is
//! lost. Counts are exact. What is kept one by one (late frames, runs of losses,
//! long silences) is kept in bounded lists, so that it can be compared with
//! failures and with stalls of the machine once the run is over; what the lists
//! do not hold counts as unexcused.
//!
//! Sources: losses, duplicates and reordering by sequence number as in RFC 4737
//! and RFC 5560; interruption as the receiver's longest gap less one period
//! (S0-3).

mod outstanding;
mod passage;
mod record;
mod silence;

pub use passage::{FramePassage, Passages};
pub use record::{
    FlowRecord, LateFrame, LossRun, MOST_LATE_KEPT, MOST_RUNS_KEPT, ReceiverRecord, Silence,
};

use units::{DataSize, Duration, Instant};

use crate::token_bucket::{Conformance, PacingBucket};
use crate::{FlowIndex, FlowPlan, MOST_RECEIVERS, Promise, ReceiverIndex};
use outstanding::{Delivery, EarlyArrivals, Outstanding, Settled};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a frame may travel before it counts as lost. Longer than any
    /// queue of the network is, and longer than a world takes to tell of the
    /// other end.
    pub patience: Duration,
    /// The length of an interval of the time line.
    pub interval: Duration,
    /// How many passages of each flow are kept one by one.
    pub passages: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(1),
            interval: Duration::from_ms(100),
            passages: 0,
        }
    }
}

/// Collects what happened to the flows of a run.
#[derive(Debug)]
pub struct Recorder {
    start: Instant,
    settings: Settings,
    flows: Vec<RecordedFlow>,
}

#[derive(Debug)]
struct RecordedFlow {
    plan: FlowPlan,
    bucket: Option<PacingBucket>,
    outstanding: Outstanding,
    early: EarlyArrivals,
    record: FlowRecord,
}

/// What can be said of a flow while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowProgress {
    pub sent: u64,
    pub delivered: u64,
    /// Frames known to be lost.
    pub lost: u64,
    /// Frames later than the guarantee.
    pub late: u64,
}

impl Recorder {
    /// Returns a recorder for a run that starts at `start`.
    #[must_use]
    pub fn new(start: Instant, settings: Settings) -> Self {
        Self {
            start,
            settings,
            flows: Vec::new(),
        }
    }

    /// Adds a flow.
    ///
    /// # Panics
    ///
    /// If the flow has more than [`MOST_RECEIVERS`] receivers.
    pub fn add(&mut self, plan: FlowPlan) -> FlowIndex {
        assert!(plan.receivers <= MOST_RECEIVERS, "too many receivers");
        let index = u32::try_from(self.flows.len()).expect("fewer than 2^32 flows");
        self.flows.push(RecordedFlow {
            bucket: plan.contract.map(PacingBucket::new),
            outstanding: Outstanding::new(plan.receivers),
            early: EarlyArrivals::default(),
            record: FlowRecord::new(&plan, self.start, &self.settings),
            plan,
        });
        FlowIndex(index)
    }

    /// Takes down that a frame of `size` on the wire left its sender.
    pub fn sent(&mut self, flow: FlowIndex, sequence: u64, size: DataSize, at: Instant) {
        let flow = &mut self.flows[flow.as_usize()];
        while let Some(settled) = flow.outstanding.settle(at, self.settings.patience) {
            flow.settle(settled);
        }
        if !flow.outstanding.push(sequence, at) {
            flow.record.misfits += 1;
            return;
        }
        flow.record.leave(at, flow.plan.period);
        if let Some(bucket) = &mut flow.bucket {
            match bucket.take(at, size) {
                Conformance::Within => {}
                Conformance::Beyond => {
                    flow.record.out_of_contract += 1;
                    let (first, _) = flow.record.beyond.unwrap_or((at, at));
                    flow.record.beyond = Some((first, at));
                }
            }
        }
        flow.record.misfits += flow.early.drop_before(sequence);
        while let Some((receiver, arrived)) = flow.early.take(sequence) {
            flow.deliver(receiver, sequence, arrived);
        }
    }

    /// Takes down that a frame arrived.
    pub fn received(
        &mut self,
        flow: FlowIndex,
        receiver: ReceiverIndex,
        sequence: u64,
        at: Instant,
    ) {
        let flow = &mut self.flows[flow.as_usize()];
        if receiver.as_usize() >= flow.plan.receivers {
            flow.record.misfits += 1;
            return;
        }
        flow.notice(receiver, sequence, at);
        if flow.outstanding.is_ahead(sequence) {
            if !flow.early.keep(sequence, receiver, at) {
                flow.record.misfits += 1;
            }
            return;
        }
        flow.deliver(receiver, sequence, at);
    }

    /// Takes down that a sender left out `slots` of its schedule.
    pub fn skipped(&mut self, flow: FlowIndex, slots: u64) {
        self.flows[flow.as_usize()].record.skipped += slots;
    }

    /// Returns what can be said of a flow so far.
    #[must_use]
    pub fn progress(&self, flow: FlowIndex) -> FlowProgress {
        let record = &self.flows[flow.as_usize()].record;
        FlowProgress {
            sent: record.sent,
            delivered: record.latency.count(),
            lost: record.lost,
            late: record.late,
        }
    }

    /// Returns what was promised to a flow.
    #[must_use]
    pub fn promise(&self, flow: FlowIndex) -> Option<Promise> {
        self.flows[flow.as_usize()].plan.promise
    }

    /// Ends the run. What has not arrived by now is lost: let the network drain
    /// before.
    #[must_use]
    pub fn finish(self) -> Vec<FlowRecord> {
        self.flows.into_iter().map(RecordedFlow::finish).collect()
    }
}

impl RecordedFlow {
    /// Takes down what the arrival alone tells: order and silence.
    fn notice(&mut self, receiver: ReceiverIndex, sequence: u64, at: Instant) {
        let record = &mut self.record.receivers[receiver.as_usize()];
        record.notice(sequence, at, self.plan.period);
    }

    fn deliver(&mut self, receiver: ReceiverIndex, sequence: u64, at: Instant) {
        let record = &mut self.record.receivers[receiver.as_usize()];
        match self.outstanding.deliver(receiver, sequence) {
            Delivery::First { sent_at } => {
                let latency = at.saturating_since(sent_at);
                if at < sent_at {
                    self.record.before_sent += 1;
                }
                record.received += 1;
                self.record.latency.record(latency);
                self.record.passages.add(FramePassage {
                    sequence,
                    receiver,
                    sent_at,
                    latency: Some(latency),
                });
                self.record.series.received(sent_at, latency);
                if let Some(promise) = self.plan.promise {
                    self.record.judge(
                        promise,
                        LateFrame {
                            receiver,
                            sent_at,
                            received_at: at,
                        },
                    );
                }
            }
            Delivery::Again => record.duplicates += 1,
            Delivery::Unknown => self.record.misfits += 1,
        }
    }

    fn settle(&mut self, settled: Settled) {
        self.record.settle(settled);
    }

    fn finish(mut self) -> FlowRecord {
        while let Some(settled) = self.outstanding.settle_oldest() {
            self.settle(settled);
        }
        self.record.misfits += self.early.left();
        self.record.close(self.plan.period);
        self.record
    }
}

#[cfg(test)]
mod tests;
