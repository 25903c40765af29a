//! What a run left behind of one flow.

use units::{Duration, Instant};

use super::Settings;
use super::outstanding::Settled;
use super::passage::{FramePassage, Passages};
use super::silence::Silences;
use crate::statistics::Distribution;
use crate::time_series::TimeSeries;
use crate::{FlowPlan, Promise, ReceiverIndex};

pub use super::silence::Silence;

/// The most late frames that are kept one by one.
pub const MOST_LATE_KEPT: usize = 1 << 17;
/// The most runs of losses that are kept one by one.
pub const MOST_RUNS_KEPT: usize = 1024;

/// Everything that was observed of a flow.
#[derive(Clone, Debug)]
pub struct FlowRecord {
    pub sent: u64,
    /// Frames that at least one receiver did not get.
    pub lost: u64,
    /// Deliveries later than the guarantee.
    pub late: u64,
    /// Deliveries later than the deadline.
    pub missed_deadline: u64,
    /// The greatest latency that the guarantee allows, of those observed.
    pub highest_in_time: Option<Duration>,
    /// Frames that left while the contract had no tokens for them.
    pub out_of_contract: u64,
    /// When the first and the last of them left.
    pub beyond: Option<(Instant, Instant)>,
    /// Slots of its schedule that the sender left out, because it was called
    /// too late.
    pub skipped: u64,
    /// Arrivals that fit no frame, and sendings out of sequence.
    pub misfits: u64,
    /// Arrivals stamped before their sending: the clocks disagree.
    pub before_sent: u64,
    /// When the first frame was sent.
    pub first_sent: Option<Instant>,
    /// When the last frame was sent.
    pub last_sent: Option<Instant>,
    /// The latency of every delivery.
    pub latency: Distribution,
    /// The longest times in which the sender of a flow of constant period sent nothing.
    pauses: Silences,
    pub series: TimeSeries,
    /// The first [`MOST_LATE_KEPT`] late frames.
    pub late_frames: Vec<LateFrame>,
    /// What became of single frames, as far as [`Settings::passages`] says.
    pub passages: Passages,
    pub receivers: Vec<ReceiverRecord>,
}

/// A delivery that was later than the guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateFrame {
    pub receiver: ReceiverIndex,
    pub sent_at: Instant,
    pub received_at: Instant,
}

impl LateFrame {
    /// Returns how long the frame travelled.
    #[must_use]
    pub fn latency(&self) -> Duration {
        self.received_at.saturating_since(self.sent_at)
    }
}

/// Frames lost one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossRun {
    pub first_sent: Instant,
    pub last_sent: Instant,
    pub count: u64,
}

/// What one receiver saw of a flow.
#[derive(Clone, Debug, Default)]
pub struct ReceiverRecord {
    /// Frames that arrived, copies not counted.
    pub received: u64,
    pub lost: u64,
    /// Copies of frames that had arrived before.
    pub duplicates: u64,
    /// Arrivals with a smaller sequence than an earlier one (RFC 4737 section
    /// 3.3), copies included.
    pub reordered: u64,
    /// The most frames lost one after another.
    pub longest_loss_run: u64,
    /// The first [`MOST_RUNS_KEPT`] runs of losses.
    pub loss_runs: Vec<LossRun>,
    run: Option<LossRun>,
    greatest: Option<u64>,
    last_arrival: Option<Instant>,
    silences: Silences,
}

impl FlowRecord {
    pub(super) fn new(plan: &FlowPlan, start: Instant, settings: &Settings) -> Self {
        Self {
            sent: 0,
            lost: 0,
            late: 0,
            missed_deadline: 0,
            highest_in_time: None,
            out_of_contract: 0,
            beyond: None,
            skipped: 0,
            misfits: 0,
            before_sent: 0,
            first_sent: None,
            last_sent: None,
            latency: Distribution::default(),
            pauses: Silences::default(),
            series: TimeSeries::new(start, settings.interval),
            late_frames: Vec::new(),
            passages: Passages::up_to(settings.passages),
            receivers: vec![ReceiverRecord::default(); plan.receivers],
        }
    }

    /// Returns the frames that every receiver got.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.sent - self.lost
    }

    /// Returns the copies at all receivers.
    #[must_use]
    pub fn duplicates(&self) -> u64 {
        self.receivers.iter().map(|one| one.duplicates).sum()
    }

    /// Returns the reordered arrivals at all receivers.
    #[must_use]
    pub fn reordered(&self) -> u64 {
        self.receivers.iter().map(|one| one.reordered).sum()
    }

    /// Returns the most frames that one receiver missed one after another.
    #[must_use]
    pub fn longest_loss_run(&self) -> u64 {
        let runs = self.receivers.iter().map(|one| one.longest_loss_run);
        runs.max().unwrap_or(0)
    }

    /// Returns the longest pauses of the sender, in order of time. Only flows of constant
    /// period have any.
    #[must_use]
    pub fn pauses(&self) -> Vec<Silence> {
        self.pauses.in_order()
    }

    /// Takes down when a frame left.
    pub(super) fn leave(&mut self, at: Instant, period: Option<Duration>) {
        self.sent += 1;
        self.first_sent.get_or_insert(at);
        if let (Some(period), Some(last)) = (period, self.last_sent)
            && is_silence(last, at, period)
        {
            self.pauses.add(last, at);
        }
        self.last_sent = Some(at);
    }

    pub(super) fn judge(&mut self, promise: Promise, frame: LateFrame) {
        let latency = frame.latency();
        if latency > promise.deadline {
            self.missed_deadline += 1;
        }
        if latency <= promise.guarantee {
            self.highest_in_time = self.highest_in_time.max(Some(latency));
        } else {
            self.late += 1;
            if self.late_frames.len() < MOST_LATE_KEPT {
                self.late_frames.push(frame);
            }
        }
    }

    /// Takes down the fate of a frame.
    pub(super) fn settle(&mut self, settled: Settled) {
        let Settled {
            sequence,
            sent_at,
            missing,
        } = settled;
        if missing != 0 {
            self.lost += 1;
        }
        for (place, receiver) in self.receivers.iter_mut().enumerate() {
            match missing >> place & 1 {
                0 => receiver.end_run(),
                _ => {
                    receiver.lose(sent_at);
                    self.series.lost(sent_at);
                    let place = u8::try_from(place).expect("at most 64 receivers");
                    self.passages.add(FramePassage {
                        sequence,
                        receiver: ReceiverIndex(place),
                        sent_at,
                        latency: None,
                    });
                }
            }
        }
    }

    /// Ends the record: a receiver that fell silent for good did so until the
    /// sender stopped.
    pub(super) fn close(&mut self, period: Option<Duration>) {
        for receiver in &mut self.receivers {
            receiver.end_run();
            let (Some(period), Some(first), Some(last)) = (period, self.first_sent, self.last_sent)
            else {
                continue;
            };
            let heard = receiver.last_arrival.unwrap_or(first);
            let until = last + period;
            if is_silence(heard, until, period) {
                receiver.silences.add(heard, until);
            }
        }
    }
}

impl ReceiverRecord {
    /// Returns the longest silences, in order of time. Only flows of constant
    /// period have any.
    #[must_use]
    pub fn silences(&self) -> Vec<Silence> {
        self.silences.in_order()
    }

    pub(super) fn notice(&mut self, sequence: u64, at: Instant, period: Option<Duration>) {
        match self.greatest {
            Some(greatest) if sequence < greatest => self.reordered += 1,
            Some(_) | None => self.greatest = Some(sequence),
        }
        if let (Some(period), Some(last)) = (period, self.last_arrival)
            && is_silence(last, at, period)
        {
            self.silences.add(last, at);
        }
        self.last_arrival = self.last_arrival.max(Some(at));
    }

    fn lose(&mut self, sent_at: Instant) {
        self.lost += 1;
        let run = self.run.get_or_insert(LossRun {
            first_sent: sent_at,
            last_sent: sent_at,
            count: 0,
        });
        run.last_sent = sent_at;
        run.count += 1;
        self.longest_loss_run = self.longest_loss_run.max(run.count);
    }

    fn end_run(&mut self) {
        if let Some(run) = self.run.take()
            && self.loss_runs.len() < MOST_RUNS_KEPT
        {
            self.loss_runs.push(run);
        }
    }
}

/// A gap of up to two periods is ordinary: one frame early, the next late.
fn is_silence(from: Instant, to: Instant, period: Duration) -> bool {
    to.saturating_since(from) > period * 2u64
}
