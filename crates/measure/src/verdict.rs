//! Was the promise kept?
//!
//! A promise is what was asked for: no frame later than the deadline; no frame lost
//! while nothing is broken; after a failure no interruption longer than the flow's
//! protection allows. A loss inside the interruption that is allowed is shown and breaks
//! nothing, and neither does one that the network gave up for something more critical;
//! whatever else goes wrong does.
//!
//! The guarantee is a bound that was calculated from what switches were taken to be. A
//! frame later than the guarantee, and not later than the deadline, breaks no promise:
//! it shows that the switches are not what they were taken to be, and the verdict says
//! that the model was exceeded. A flow that is promised anew while it is sent is held to
//! what was in force while a frame was under way. Where switches do exactly what was
//! calculated with ([`Bound::Certain`]), the calculation is wrong, and that counts as a
//! broken promise.
//!
//! An interruption of the machine excuses what it did to a frame: no more than the time
//! for which a processor was taken within the frame's own flight
//! ([`crate::interruptions`]). What is excused is counted apart and never hidden.
//! Whatever the recorder could not keep one by one counts as unexcused.
//!
//! A frame that a planted fault of a cable took ([`crate::fault_losses`]) was lost to that
//! fault, and to nothing that was promised: nobody promises that a cable which loses frames
//! in silence loses none. It is counted apart, and so is what was lost with it while the flow
//! was led elsewhere.
//!
//! What was not seen ([`crate::unseen`]) or not sent is not judged: as many losses as
//! the observer of a receiver may have missed there and then are none. Where that is
//! most of a flow, nothing is said of it; and where the machine was asked for more than
//! it carries, nothing is said of a flow with which something went wrong.
//!
//! The length of an interruption is, for a flow of constant period, the
//! receiver's longest silence less one period (S0-3); for any other flow it is
//! the time from the first to the last of the frames that were lost in a row:
//! what its frames can prove.

mod latency;

use serde::Serialize;
use units::{Duration, Instant};

use crate::fault_losses::FaultSpell;
use crate::interruptions::Interruptions;
use crate::levels::GivenUp;
use crate::recorder::{FlowRecord, LossRun, ReceiverRecord};
use crate::unseen::Unseen;
use crate::{FlowPlan, Promise};

/// How long after an event an interruption is looked for.
const AFTERMATH: Duration = Duration::from_secs(1);

/// Something that happened to the network during the run, as one flow meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disturbance {
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
    /// When processors that the flow's frames need were taken away.
    pub interruptions: &'a Interruptions,
    /// What the observer of each receiver missed, in the order of the receivers; nothing
    /// of those that are not there.
    pub unseen: &'a [Unseen],
    /// Frames that the observer of the sender missed.
    pub unseen_at_sender: u64,
    /// When the flow was given up.
    pub given_up: &'a [GivenUp],
    /// Guarantees that took the place of that in the plan, and from when on, in order of time.
    pub later_guarantees: &'a [(Instant, Duration)],
    /// When faults of cables took frames of the flow.
    pub fault_spells: &'a [FaultSpell],
    /// What the guarantee is worth.
    pub bound: Bound,
    /// Whether the machine was asked for more than it carries, so that what goes wrong says
    /// nothing of the network.
    pub overloaded: bool,
}

/// What a guarantee is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Switches do exactly what was calculated with: to exceed it is a mistake in the
    /// calculation.
    Certain,
    /// Switches were taken to be what a profile says of them.
    OfProfile,
}

/// The outcome for one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every part of the promise was kept, and no frame was later than calculated.
    Held,
    /// Every part of the promise was kept, and frames were later than calculated.
    Exceeded,
    /// At least one part was not.
    Broken,
    /// Nothing was promised, because the flow was not admitted.
    Refused,
    /// Nothing was promised and nothing had been asked for.
    #[default]
    BestEffort,
    /// Something was promised and nothing was sent.
    Untried,
    /// Most of it was not sent or not seen.
    NotJudged,
}

/// One part of a promise that was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breach {
    /// Frames were later than the deadline.
    Late { count: u64 },
    /// Frames were later than a guarantee that is [certain](Bound::Certain).
    AboveBound { count: u64 },
    /// Frames were lost that no failure excuses.
    Lost {
        /// How many, over all receivers.
        count: u64,
    },
    /// A failure interrupted the flow for too long.
    Interrupted {
        /// For how long, the interruptions of the machine, the gaps of observers and the
        /// pauses of the sender taken off.
        length: Duration,
        allowed: Duration,
    },
}

/// Frames that were later than their guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    pub count: u64,
    /// By how much at most, interruptions of the machine taken off.
    pub most: Duration,
}

/// What the observations of one flow mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assessment {
    pub verdict: Verdict,
    pub breaches: Vec<Breach>,
    /// The longest guarantee of those that were in force while it was sent.
    pub guarantee: Option<Duration>,
    /// Deliveries later than the guarantee that was in force.
    pub late: u64,
    /// The deliveries that no interruption excuses and that were later than calculated.
    pub exceeded: Option<Exceeded>,
    /// The interruption after each disturbance, in their order.
    pub outages: Vec<Duration>,
    /// Deliveries lost within an interruption that a failure excuses.
    pub lost_in_interruptions: u64,
    /// Deliveries that the network gave up for something more critical.
    pub given_up: u64,
    /// Deliveries lost to planted faults of cables.
    pub lost_to_faults: u64,
    /// The greatest latency, without what is set apart because a processor was taken
    /// away while the frame was under way.
    pub highest: Option<Duration>,
    /// Deliveries set apart because they would have been in time, had no processor been
    /// taken away while they were under way.
    pub held_up: u64,
    /// Deliveries that were lost while a processor was taken away.
    pub held_up_lost: u64,
    /// Losses that the observers of receivers may have missed instead.
    pub unseen: u64,
    /// Deliveries of which nothing is known: not sent, or not seen.
    pub unjudged: u64,
}

impl Verdict {
    /// Returns the word for it, for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Exceeded => "held, model exceeded",
            Self::Broken => "broken",
            Self::Refused => "refused",
            Self::BestEffort => "best effort",
            Self::Untried => "nothing sent",
            Self::NotJudged => "not judged",
        }
    }

    /// Tells whether every part of the promise was kept.
    #[must_use]
    pub fn is_held(self) -> bool {
        match self {
            Self::Held | Self::Exceeded => true,
            Self::Broken | Self::Refused | Self::BestEffort | Self::Untried | Self::NotJudged => {
                false
            }
        }
    }
}

impl Assessment {
    /// Returns the assessment of a flow that was not admitted.
    #[must_use]
    pub fn refused() -> Self {
        Self {
            verdict: Verdict::Refused,
            ..Self::default()
        }
    }

    #[must_use]
    pub fn longest_outage(&self) -> Duration {
        self.outages.iter().copied().max().unwrap_or_default()
    }
}

/// Compares what was observed of a flow with what was promised to it.
#[must_use]
pub fn assess(plan: &FlowPlan, record: &FlowRecord, amid: Circumstances<'_>) -> Assessment {
    let observed = ObservedFlow { plan, record, amid };
    let outages = observed.outages();
    let mut assessment = Assessment {
        outages: outages.iter().map(|outage| outage.length).collect(),
        highest: record.latency.max(),
        ..Assessment::default()
    };
    let Some(promise) = plan.promise else {
        return assessment;
    };
    observed.judge_latency(promise, &mut assessment);
    observed.judge_losses(promise, &mut assessment);
    observed.judge_interruptions(promise, &outages, &mut assessment);
    assessment.unjudged = assessment.unseen + observed.unsent();
    assessment.verdict = observed.conclude(&assessment);
    assessment
}

#[derive(Clone, Copy)]
struct ObservedFlow<'a> {
    plan: &'a FlowPlan,
    record: &'a FlowRecord,
    amid: Circumstances<'a>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Outage {
    length: Duration,
    /// The same without the time in which a processor was taken away, or nothing if the
    /// observer missed frames meanwhile.
    undisturbed: Duration,
}

/// What excuses a run of losses.
enum Excuse {
    Failure,
    GivenUp,
    Interruption,
    Nothing,
}

impl ObservedFlow<'_> {
    fn judge_losses(&self, promise: Promise, assessment: &mut Assessment) {
        let reach = self.reach(promise);
        let mut unexcused = 0;
        for (place, receiver) in self.record.receivers.iter().enumerate() {
            let mut unseen = self.amid.unseen.get(place).cloned().unwrap_or_default();
            let mut spells = self.amid.fault_spells.to_vec();
            let mut kept = 0;
            for run in &receiver.loss_runs {
                kept += run.count;
                let excuse = self.excuse(promise, run);
                // Which frames a fault took is known, what an interruption did is not.
                let by_faults = match excuse {
                    Excuse::Failure | Excuse::GivenUp => 0,
                    Excuse::Interruption | Excuse::Nothing => {
                        self.lost_to_faults(promise, run, &mut spells)
                    }
                };
                assessment.lost_to_faults += by_faults;
                let others = run.count - by_faults;
                match excuse {
                    Excuse::Failure => assessment.lost_in_interruptions += others,
                    Excuse::GivenUp => assessment.given_up += others,
                    Excuse::Interruption => assessment.held_up_lost += others,
                    Excuse::Nothing => {
                        let until = run.last_sent + reach.max(promise.deadline);
                        let missed = unseen.take(run.first_sent, until, others);
                        assessment.unseen += missed;
                        unexcused += others - missed;
                    }
                }
            }
            let others = receiver.lost - kept;
            let left: u64 = spells.iter().map(|spell| spell.frames).sum();
            let by_faults = left.min(others);
            assessment.lost_to_faults += by_faults;
            let missed = unseen.frames().min(others - by_faults);
            assessment.unseen += missed;
            unexcused += others - by_faults - missed;
        }
        if unexcused > 0 {
            assessment.breaches.push(Breach::Lost { count: unexcused });
        }
    }

    /// Returns how many losses of a run are those of planted faults of cables: as many as
    /// these took meanwhile, and all of it if the run was over within the interruption that is
    /// allowed after the last of them.
    fn lost_to_faults(&self, promise: Promise, run: &LossRun, spells: &mut [FaultSpell]) -> u64 {
        let until = run.last_sent + self.reach(promise);
        let (mut found, mut last) = (0, None);
        for spell in spells {
            if spell.from <= until && spell.to >= run.first_sent && spell.frames > 0 {
                let here = spell.frames.min(run.count - found);
                spell.frames -= here;
                found += here;
                last = last.max(Some(spell.to));
            }
        }
        let moved = promise.interruption.unwrap_or_default();
        match last.is_some_and(|last| run.last_sent <= last + moved) {
            true => run.count,
            false => found,
        }
    }

    /// A failure excuses the run of losses that begins with a frame that was
    /// under way when it happened, or was sent within the interruption that is
    /// allowed. What was under way longer than it should have been was held up
    /// by an interruption. An interruption excuses no more than what was sent in it, or
    /// just before.
    fn excuse(&self, promise: Promise, run: &LossRun) -> Excuse {
        let reach = self.reach(promise);
        let begun_by_failure = self.amid.disturbances.iter().any(|disturbance| {
            let since = disturbance.at.saturating_since(run.first_sent);
            let after = run.first_sent.saturating_since(disturbance.at);
            let taken = self.amid.interruptions;
            let under_way = since <= reach
                || taken.within(run.first_sent, disturbance.at) > Duration::ZERO
                    && run.last_sent + reach >= disturbance.at;
            let in_window = promise.interruption.is_none_or(|allowed| after <= allowed);
            match disturbance.effect {
                Effect::Failure => under_way && in_window,
                Effect::Harmless => false,
            }
        });
        let was_given_up = self.amid.given_up.iter().any(|it| {
            it.covers(
                run.first_sent,
                run.last_sent,
                self.longest_guarantee(promise),
            )
        });
        if begun_by_failure {
            Excuse::Failure
        } else if was_given_up {
            Excuse::GivenUp
        } else if self.is_interrupted(run, reach) {
            Excuse::Interruption
        } else {
            Excuse::Nothing
        }
    }

    /// Tells whether all of a run was sent while a processor was taken away, or under way
    /// when it was.
    fn is_interrupted(&self, run: &LossRun, reach: Duration) -> bool {
        let end = run.last_sent + reach;
        let taken = self.amid.interruptions.within(run.first_sent, end);
        taken > Duration::ZERO && run.last_sent - run.first_sent <= taken
    }

    /// Returns the deliveries that never came to pass: the sender left the frames out, or
    /// its observer missed them, so that their arrivals fit nothing.
    fn unsent(&self) -> u64 {
        let receivers = self.record.receivers.len() as u64;
        let missed = self.amid.unseen_at_sender * receivers;
        self.record.skipped * receivers + self.record.misfits.min(missed)
    }

    fn conclude(&self, assessment: &Assessment) -> Verdict {
        let receivers = self.record.receivers.len() as u64;
        let due = self.record.sent * receivers + self.unsent();
        if !assessment.breaches.is_empty() {
            match self.amid.overloaded {
                true => Verdict::NotJudged,
                false => Verdict::Broken,
            }
        } else if assessment.unjudged.saturating_mul(2) > due {
            Verdict::NotJudged
        } else if self.record.sent == 0 {
            Verdict::Untried
        } else if assessment.exceeded.is_some() {
            Verdict::Exceeded
        } else {
            Verdict::Held
        }
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
        for (disturbance, outage) in self.amid.disturbances.iter().zip(outages) {
            match disturbance.effect {
                Effect::Failure if outage.undisturbed > allowed => {
                    assessment.breaches.push(Breach::Interrupted {
                        length: outage.undisturbed,
                        allowed,
                    });
                }
                Effect::Failure | Effect::Harmless => {}
            }
        }
    }

    fn outages(&self) -> Vec<Outage> {
        let ends = self.amid.disturbances.iter().skip(1).map(|next| next.at);
        let ends = ends.chain([Instant::FAR_FUTURE]);
        self.amid
            .disturbances
            .iter()
            .zip(ends)
            .map(|(disturbance, next)| {
                let end = next.min(disturbance.at + AFTERMATH);
                let receivers = self.record.receivers.iter().enumerate();
                receivers
                    .map(|(place, receiver)| self.outage((place, receiver), disturbance.at, end))
                    .max_by_key(|outage| (outage.undisturbed, outage.length))
                    .unwrap_or_default()
            })
            .collect()
    }

    /// Returns the longest interruption at a receiver that began between an
    /// event and `end`. Without losses there is none: a silence alone may be
    /// jitter.
    fn outage(
        &self,
        (place, receiver): (usize, &ReceiverRecord),
        event: Instant,
        end: Instant,
    ) -> Outage {
        let reach = self
            .plan
            .promise
            .map_or(Duration::ZERO, |promise| self.reach(promise));
        let concerns = |run: &&LossRun| run.last_sent + reach >= event && run.first_sent < end;
        let by_losses = receiver.loss_runs.iter().filter(concerns).map(|run| {
            let length = match self.plan.period {
                Some(period) => period * run.count,
                None => run.last_sent - run.first_sent,
            };
            self.undisturbed(place, run.first_sent, run.first_sent + length)
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
            .map(|silence| {
                let unsent = self.paused(silence.from + period, silence.to);
                let outage = self.undisturbed(place, silence.from + period, silence.to);
                Outage {
                    undisturbed: outage.undisturbed.saturating_sub(unsent),
                    ..outage
                }
            });
        by_losses
            .chain(by_silence)
            .max_by_key(|outage| (outage.undisturbed, outage.length))
            .unwrap_or_default()
    }

    /// Returns for how long the sender paused between two moments: nobody could hear it.
    fn paused(&self, from: Instant, to: Instant) -> Duration {
        let period = self.plan.period.unwrap_or_default();
        let pauses = self.record.pauses().into_iter();
        pauses
            .map(|pause| {
                let begun = from.max(pause.from + period);
                to.min(pause.to).saturating_since(begun)
            })
            .sum()
    }

    /// Returns an interruption at a receiver. What its observer missed meanwhile may
    /// have arrived at any moment.
    fn undisturbed(&self, place: usize, from: Instant, to: Instant) -> Outage {
        let length = to.saturating_since(from);
        let unseen = self.amid.unseen.get(place);
        Outage {
            length,
            undisturbed: match unseen.is_some_and(|unseen| unseen.touches(from, to)) {
                true => Duration::ZERO,
                false => length.saturating_sub(self.amid.interruptions.within(from, to)),
            },
        }
    }
}

#[cfg(test)]
mod tests;
