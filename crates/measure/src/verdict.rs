//! Was the promise kept?
//!
//! A promise has three parts: no frame later than the guarantee; no frame lost
//! while nothing is broken; after a failure no interruption longer than the
//! flow's protection allows. A loss inside the interruption that is allowed is
//! shown and breaks nothing, and neither does one that the network gave up for something
//! more critical; whatever else goes wrong does.
//!
//! What went wrong while the machine stood still, or in the shadow of that, is
//! counted apart ([`crate::stalls`]): it says nothing of the network, and it is
//! never hidden. Whatever the recorder could not keep one by one counts as
//! unexcused.
//!
//! The length of an interruption is, for a flow of constant period, the
//! receiver's longest silence less one period (S0-3); for any other flow it is
//! the time from the first to the last of the frames that were lost in a row:
//! what its frames can prove.

use units::{Duration, Instant};

use crate::levels::GivenUp;
use crate::recorder::{FlowRecord, LateFrame, LossRun, ReceiverRecord};
use crate::stalls::Shadows;
use crate::{FlowPlan, Promise};

/// How long after an event an interruption is looked for.
const AFTERMATH: Duration = Duration::from_secs(1);

/// Something that happened to the network during the run, as one flow meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disturbance {
    /// When it happened.
    pub at: Instant,
    /// What it may do to the flow.
    pub effect: Effect,
}

/// What an event may do to a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It broke what the flow was using: the flow may be interrupted.
    Failure,
    /// It touched nothing of the flow, or was a repair: nothing may be lost.
    Harmless,
}

/// What has to be known to judge what was observed.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances<'a> {
    /// What happened to the network, in order of time.
    pub disturbances: &'a [Disturbance],
    /// When the machine stood still.
    pub shadows: &'a Shadows,
    /// When the flow was given up.
    pub given_up: &'a [GivenUp],
}

/// The outcome for one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every part of the promise was kept.
    Held,
    /// At least one part was not.
    Broken,
    /// Nothing was promised, because the flow was not admitted.
    Refused,
    /// Nothing was promised and nothing had been asked for.
    BestEffort,
    /// Something was promised and nothing was sent.
    Untried,
}

/// One part of a promise that was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breach {
    /// Frames were later than the guarantee.
    Late {
        /// How many.
        count: u64,
    },
    /// Frames were lost that no failure excuses.
    Lost {
        /// How many, over all receivers.
        count: u64,
    },
    /// A failure interrupted the flow for too long.
    Interrupted {
        /// For how long, the stalls of the machine taken off.
        length: Duration,
        /// What the protection allows.
        allowed: Duration,
    },
}

/// What the observations of one flow mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// The outcome.
    pub verdict: Verdict,
    /// Why it was broken.
    pub breaches: Vec<Breach>,
    /// The interruption after each disturbance, in their order.
    pub outages: Vec<Duration>,
    /// Deliveries lost within an interruption that a failure excuses.
    pub lost_in_interruptions: u64,
    /// Deliveries that the network gave up for something more critical.
    pub given_up: u64,
    /// The greatest latency, without the deliveries that are set aside because
    /// the machine stood still.
    pub highest: Option<Duration>,
    /// Deliveries that were late while the machine stood still.
    pub stalled_late: u64,
    /// Deliveries that were lost while the machine stood still.
    pub stalled_lost: u64,
}

impl Assessment {
    /// Returns the assessment of a flow that was not admitted.
    #[must_use]
    pub fn refused() -> Self {
        Self {
            verdict: Verdict::Refused,
            breaches: Vec::new(),
            outages: Vec::new(),
            lost_in_interruptions: 0,
            given_up: 0,
            highest: None,
            stalled_late: 0,
            stalled_lost: 0,
        }
    }

    /// Returns the longest interruption.
    #[must_use]
    pub fn longest_outage(&self) -> Duration {
        self.outages.iter().copied().max().unwrap_or_default()
    }
}

/// Compares what was observed of a flow with what was promised to it.
#[must_use]
pub fn assess(plan: &FlowPlan, record: &FlowRecord, amid: Circumstances<'_>) -> Assessment {
    let observed = Observed {
        plan,
        record,
        disturbances: amid.disturbances,
        shadows: amid.shadows,
        given_up: amid.given_up,
    };
    let outages = observed.outages();
    let mut assessment = Assessment {
        verdict: Verdict::BestEffort,
        breaches: Vec::new(),
        outages: outages.iter().map(|outage| outage.length).collect(),
        lost_in_interruptions: 0,
        given_up: 0,
        highest: record.latency.max(),
        stalled_late: 0,
        stalled_lost: 0,
    };
    let Some(promise) = plan.promise else {
        return assessment;
    };
    observed.judge_latency(&mut assessment);
    observed.judge_losses(promise, &mut assessment);
    observed.judge_interruptions(promise, &outages, &mut assessment);
    assessment.verdict = match (assessment.breaches.is_empty(), record.sent) {
        (true, 0) => Verdict::Untried,
        (true, _) => Verdict::Held,
        (false, _) => Verdict::Broken,
    };
    assessment
}

#[derive(Clone, Copy)]
struct Observed<'a> {
    plan: &'a FlowPlan,
    record: &'a FlowRecord,
    disturbances: &'a [Disturbance],
    shadows: &'a Shadows,
    given_up: &'a [GivenUp],
}

/// An interruption.
#[derive(Clone, Copy, Debug, Default)]
struct Outage {
    length: Duration,
    /// The same without the time in which the machine stood still.
    unstalled: Duration,
}

/// What excuses a run of losses.
enum Excuse {
    Failure,
    GivenUp,
    Stall,
    Nothing,
}

impl Observed<'_> {
    fn judge_latency(&self, assessment: &mut Assessment) {
        let (stalled, unexcused): (Vec<LateFrame>, Vec<LateFrame>) = self
            .record
            .late_frames
            .iter()
            .partition(|late| self.shadows.touch(late.sent_at, late.received_at));
        assessment.stalled_late = stalled.len() as u64;
        let count = self.record.late - assessment.stalled_late;
        if count > 0 {
            assessment.breaches.push(Breach::Late { count });
        }
        let all_kept = self.record.late == self.record.late_frames.len() as u64;
        if all_kept {
            let late = unexcused.iter().map(LateFrame::latency).max();
            assessment.highest = late.or(self.record.highest_in_time);
        }
    }

    fn judge_losses(&self, promise: Promise, assessment: &mut Assessment) {
        let mut unexcused = 0;
        for receiver in &self.record.receivers {
            let mut kept = 0;
            for run in &receiver.loss_runs {
                kept += run.count;
                match self.excuse(promise, run) {
                    Excuse::Failure => assessment.lost_in_interruptions += run.count,
                    Excuse::GivenUp => assessment.given_up += run.count,
                    Excuse::Stall => assessment.stalled_lost += run.count,
                    Excuse::Nothing => unexcused += run.count,
                }
            }
            unexcused += receiver.lost - kept;
        }
        if unexcused > 0 {
            assessment.breaches.push(Breach::Lost { count: unexcused });
        }
    }

    /// A failure excuses the run of losses that begins with a frame that was
    /// under way when it happened, or was sent within the interruption that is
    /// allowed. What was under way longer than it should have been was held up
    /// by a stall. A stall excuses no more than what was sent in its shadow.
    fn excuse(&self, promise: Promise, run: &LossRun) -> Excuse {
        let begun_by_failure = self.disturbances.iter().any(|disturbance| {
            let since = disturbance.at.saturating_since(run.first_sent);
            let after = run.first_sent.saturating_since(disturbance.at);
            let under_way = since <= promise.guarantee
                || self.shadows.touch(run.first_sent, disturbance.at)
                    && run.last_sent + promise.guarantee >= disturbance.at;
            let in_window = promise.interruption.is_none_or(|allowed| after <= allowed);
            match disturbance.effect {
                Effect::Failure => under_way && in_window,
                Effect::Harmless => false,
            }
        });
        let was_given_up = self
            .given_up
            .iter()
            .any(|it| it.covers(run.first_sent, run.last_sent, promise.guarantee));
        if begun_by_failure {
            Excuse::Failure
        } else if was_given_up {
            Excuse::GivenUp
        } else if self.is_in_shadow(run, promise.guarantee) {
            Excuse::Stall
        } else {
            Excuse::Nothing
        }
    }

    /// Tells whether all of a run was sent while the machine stood still, or in
    /// the shadow of that.
    fn is_in_shadow(&self, run: &LossRun, guarantee: Duration) -> bool {
        let end = run.last_sent + guarantee;
        let shadow = self.shadows.within(run.first_sent, end);
        self.shadows.touch(run.first_sent, end) && run.last_sent - run.first_sent <= shadow
    }

    fn judge_interruptions(
        &self,
        promise: Promise,
        outages: &[Outage],
        assessment: &mut Assessment,
    ) {
        let Some(allowed) = promise.interruption else {
            return;
        };
        for (disturbance, outage) in self.disturbances.iter().zip(outages) {
            match disturbance.effect {
                Effect::Failure if outage.unstalled > allowed => {
                    assessment.breaches.push(Breach::Interrupted {
                        length: outage.unstalled,
                        allowed,
                    });
                }
                Effect::Failure | Effect::Harmless => {}
            }
        }
    }

    fn outages(&self) -> Vec<Outage> {
        let ends = self.disturbances.iter().skip(1).map(|next| next.at);
        let ends = ends.chain([Instant::FAR_FUTURE]);
        self.disturbances
            .iter()
            .zip(ends)
            .map(|(disturbance, next)| {
                let end = next.min(disturbance.at + AFTERMATH);
                let receivers = self.record.receivers.iter();
                receivers
                    .map(|receiver| self.outage(receiver, disturbance.at, end))
                    .max_by_key(|outage| (outage.unstalled, outage.length))
                    .unwrap_or_default()
            })
            .collect()
    }

    /// Returns the longest interruption at a receiver that began between an
    /// event and `end`. Without losses there is none: a silence alone may be
    /// jitter.
    fn outage(&self, receiver: &ReceiverRecord, event: Instant, end: Instant) -> Outage {
        let reach = self
            .plan
            .promise
            .map_or(Duration::ZERO, |promise| promise.guarantee);
        let concerns = |run: &&LossRun| run.last_sent + reach >= event && run.first_sent < end;
        let by_losses = receiver.loss_runs.iter().filter(concerns).map(|run| {
            let length = match self.plan.period {
                Some(period) => period * run.count,
                None => run.last_sent - run.first_sent,
            };
            self.without_stalls(run.first_sent, run.first_sent + length)
        });
        let period = self.plan.period.unwrap_or_default();
        let lost = receiver.loss_runs.iter().any(|run| concerns(&run));
        let silences = if lost {
            receiver.silences()
        } else {
            Vec::new()
        };
        let by_silence = silences
            .into_iter()
            .filter(|silence| silence.to > event && silence.from < end)
            .map(|silence| self.without_stalls(silence.from + period, silence.to));
        by_losses
            .chain(by_silence)
            .max_by_key(|outage| (outage.unstalled, outage.length))
            .unwrap_or_default()
    }

    fn without_stalls(&self, from: Instant, to: Instant) -> Outage {
        let length = to.saturating_since(from);
        Outage {
            length,
            unstalled: length.saturating_sub(self.shadows.within(from, to)),
        }
    }
}

#[cfg(test)]
mod tests;
