//! What is said of one flow.

use std::collections::BTreeMap;

use serde::Serialize;
use units::Duration;

use super::modes::LevelReport;
use crate::recorder::FlowRecord;
use crate::statistics::Distribution;
use crate::time_series::TimeSeries;
use crate::verdict::{Assessment, Breach, Verdict};
use crate::{FlowPlan, Promise};

/// What kind of traffic a flow is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowKind {
    /// Samples at a constant rate.
    SampledValues,
    /// State changes and their repetitions.
    Goose,
    /// Datagrams within a token bucket.
    Udp,
    /// Periodic messages of many packets.
    Message,
    /// The frames of a recording.
    Trace,
    /// Reads of a value over TCP.
    Mms,
    /// As much as the network takes.
    #[default]
    BestEffort,
}

impl FlowKind {
    /// Returns the name that people use.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::SampledValues => "SV",
            Self::Goose => "GOOSE",
            Self::Udp => "UDP",
            Self::Message => "message",
            Self::Trace => "trace",
            Self::Mms => "MMS",
            Self::BestEffort => "best effort",
        }
    }
}

/// What is known of a flow before it runs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FlowFacts {
    /// Its name in the scenario.
    pub name: String,
    /// What kind of traffic it is.
    pub kind: FlowKind,
    pub source: String,
    /// The hosts that receive, in the order of the recorder's receivers.
    pub destinations: Vec<String>,
    /// The queue that serves it, 7 the most urgent.
    pub queue: Option<u8>,
    /// The protection that it asked for, in the scenario's words.
    pub protection: String,
    /// The switches on the way to the first receiver.
    pub path: Vec<String>,
    /// For each receiver the nodes from host to host.
    pub routes: Vec<Vec<String>>,
    /// The routes that failures may lead it over.
    pub alternatives: Vec<Vec<String>>,
    /// How the guarantee was calculated, hop by hop.
    pub calculation: Vec<CalculationRow>,
}

/// One term of a guarantee.
#[derive(Clone, Debug, Serialize)]
pub struct CalculationRow {
    /// Where: a link, a switch, a port.
    pub at: String,
    pub term: String,
    /// The formula with its values.
    pub formula: String,
    pub delay_ns: u64,
}

/// Everything that is said of one flow.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FlowReport {
    #[serde(flatten)]
    pub facts: FlowFacts,
    pub admitted: bool,
    pub reason: Option<String>,
    /// The latency that it asked for.
    pub deadline_ns: Option<u64>,
    /// The latency that it was promised; the longest, if it was promised anew.
    pub guarantee_ns: Option<u64>,
    /// How many times as long as stated all switches may take with this flow in time, in
    /// thousandths; nothing where that is not known.
    pub slowdown_thousandths: Option<u32>,
    /// The longest interruption that a failure may cause; nothing if it asked
    /// for no protection.
    pub interruption_allowed_ns: Option<u64>,
    /// The longest interruption that there was after an event.
    pub interruption_ns: u64,
    /// The time between two frames, where it is constant.
    pub period_ns: Option<u64>,
    /// The rate that it may send at.
    pub rate_bps: Option<u64>,
    /// What it may send at once.
    pub burst_bytes: Option<u64>,
    pub sent: u64,
    /// Frames that every receiver got.
    pub received: u64,
    /// Frames that at least one receiver did not get.
    pub lost: u64,
    /// Deliveries lost within an interruption that the protection allows.
    pub lost_in_interruptions: u64,
    /// Deliveries that the network gave up for something more critical; they are in
    /// `lost`, too, and break no promise.
    pub given_up: u64,
    /// Deliveries lost to planted faults of cables; they are in `lost`, too, and break no
    /// promise.
    pub lost_to_faults: u64,
    /// Copies of frames, at all receivers.
    pub duplicates: u64,
    /// Arrivals out of order, at all receivers.
    pub reordered: u64,
    /// The most frames lost one after another.
    pub longest_loss_run: u64,
    /// Deliveries later than the guarantee.
    pub late: u64,
    /// Deliveries later than the deadline.
    pub missed_deadline: u64,
    /// How far frames were beyond the guarantee, where no interruption of the machine
    /// accounts for it.
    pub exceeded: Option<ExceededReport>,
    /// Deliveries set apart because a processor was taken away while they were under
    /// way; they are in `late` and `lost`, too, and break no promise.
    pub stalled: Stalled,
    /// Deliveries that did not happen for all that was seen, where the observer had no
    /// room for as many frames; they are in `lost`, too, and are not judged.
    pub unseen: u64,
    /// Deliveries of which nothing is known: of frames that were not sent, or that were
    /// not seen.
    pub not_judged: u64,
    /// Frames that the sender left out, because it was called too late.
    pub skipped: u64,
    /// Frames that left the sender beyond its contract.
    pub out_of_contract: u64,
    /// Arrivals that fit no frame.
    pub misfits: u64,
    /// The latency of all deliveries.
    pub latency_ns: Option<Latency>,
    /// The highest latency, without the deliveries that are set apart because a processor
    /// was taken away.
    pub highest_ns: Option<u64>,
    pub receivers: Vec<ReceiverReport>,
    pub verdict: Verdict,
    /// Why the promise was broken, a sentence each.
    pub breaches: Vec<String>,
    /// The upper edge of each bucket of latencies in nanoseconds, and how many
    /// deliveries are in it.
    pub histogram: Vec<(u64, u64)>,
    pub time_line: Option<TimeLine>,
    /// The same at each level of criticality, the lowest first, if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<LevelReport>,
}

/// How far a flow was beyond what was calculated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ExceededReport {
    /// Deliveries later than the guarantee.
    pub count: u64,
    /// By how much at most, interruptions of the machine taken off.
    pub by_ns: u64,
}

/// What happened while a processor was taken away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stalled {
    /// Deliveries later than the guarantee.
    pub late: u64,
    /// Deliveries that did not happen.
    pub lost: u64,
}

/// The figures of a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Latency {
    pub min: u64,
    pub mean: u64,
    pub p50: u64,
    /// What 99 % do not exceed.
    pub p99: u64,
    /// What 99.9 % do not exceed.
    pub p999: u64,
    pub max: u64,
    /// Holds the true 99th percentile with 95 % confidence; nothing if there
    /// are too few values to say.
    pub p99_confidence: Option<(u64, u64)>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ReceiverReport {
    pub host: String,
    pub received: u64,
    pub lost: u64,
    pub duplicates: u64,
    pub reordered: u64,
    /// The most frames missed one after another.
    pub longest_loss_run: u64,
}

/// The greatest latency and the losses in each interval of the run.
#[derive(Clone, Debug, Serialize)]
pub struct TimeLine {
    /// The length of an interval.
    pub interval_ns: u64,
    /// The greatest latency of the frames sent in each; 0 where none arrived.
    pub max_ns: Vec<u64>,
    /// The intervals with losses, and how many deliveries each lost.
    pub lost: BTreeMap<usize, u32>,
}

impl FlowReport {
    /// Returns the report of a flow that was not admitted and sent nothing.
    #[must_use]
    pub fn refused(facts: FlowFacts, reason: String, deadline: Option<Duration>) -> Self {
        Self {
            admitted: false,
            reason: Some(reason),
            deadline_ns: deadline.map(Duration::as_ns),
            verdict: Verdict::Refused,
            ..Self::silent(facts)
        }
    }

    /// Returns the report of a flow that ran.
    #[must_use]
    pub fn observed(
        facts: FlowFacts,
        plan: &FlowPlan,
        record: &FlowRecord,
        assessment: &Assessment,
    ) -> Self {
        let promise = plan.promise;
        let hosts = facts.destinations.clone();
        Self {
            deadline_ns: promise.map(|promise| promise.deadline.as_ns()),
            guarantee_ns: assessment.guarantee.map(Duration::as_ns),
            interruption_allowed_ns: promise.and_then(allowed_ns),
            interruption_ns: assessment.longest_outage().as_ns(),
            period_ns: plan.period.map(Duration::as_ns),
            rate_bps: plan.contract.map(|contract| contract.rate.as_bps()),
            burst_bytes: plan.contract.map(|contract| contract.burst.bytes_up()),
            sent: record.sent,
            received: record.received(),
            lost: record.lost,
            lost_in_interruptions: assessment.lost_in_interruptions,
            given_up: assessment.given_up,
            lost_to_faults: assessment.lost_to_faults,
            duplicates: record.duplicates(),
            reordered: record.reordered(),
            longest_loss_run: record.longest_loss_run(),
            late: assessment.late,
            missed_deadline: record.missed_deadline,
            exceeded: assessment.exceeded.map(|it| ExceededReport {
                count: it.count,
                by_ns: it.most.as_ns(),
            }),
            stalled: Stalled {
                late: assessment.held_up,
                lost: assessment.held_up_lost,
            },
            unseen: assessment.unseen,
            not_judged: assessment.unjudged,
            skipped: record.skipped,
            out_of_contract: record.out_of_contract,
            misfits: record.misfits,
            latency_ns: Latency::of(&record.latency),
            highest_ns: assessment.highest.map(Duration::as_ns),
            receivers: receivers(&hosts, record),
            verdict: assessment.verdict,
            breaches: assessment.breaches.iter().map(sentence).collect(),
            histogram: record
                .latency
                .buckets()
                .map(|(edge, count)| (edge.as_ns(), count))
                .collect(),
            time_line: Some(TimeLine::of(&record.series)),
            ..Self::silent(facts)
        }
    }

    /// Returns what the guarantee leaves of the deadline, if there are both.
    #[must_use]
    pub fn margin_ns(&self) -> Option<u64> {
        Some(self.deadline_ns?.saturating_sub(self.guarantee_ns?))
    }

    /// Returns the safety factor in hundredths, rounded down: how often the highest
    /// latency that was observed fits into the deadline.
    #[must_use]
    pub fn safety_hundredths(&self) -> Option<u64> {
        let hundredths = u128::from(self.deadline_ns?) * 100;
        u64::try_from(hundredths / u128::from(self.highest_ns?.max(1))).ok()
    }

    /// Returns the margin in thousandths of the deadline.
    #[must_use]
    pub fn margin_per_mille(&self) -> Option<u64> {
        let thousandths = u128::from(self.margin_ns()?) * 1000;
        u64::try_from(thousandths / u128::from(self.deadline_ns?.max(1))).ok()
    }

    fn silent(facts: FlowFacts) -> Self {
        Self {
            facts,
            admitted: true,
            verdict: Verdict::Untried,
            ..Self::default()
        }
    }
}

impl Latency {
    pub(super) fn of(latency: &Distribution) -> Option<Self> {
        let summary = latency.summary()?;
        Some(Self {
            min: summary.min.as_ns(),
            mean: summary.mean.as_ns(),
            p50: summary.p50.as_ns(),
            p99: summary.p99.as_ns(),
            p999: summary.p999.as_ns(),
            max: summary.max.as_ns(),
            p99_confidence: latency
                .confidence(990)
                .map(|(low, high)| (low.as_ns(), high.as_ns())),
        })
    }
}

impl TimeLine {
    fn of(series: &TimeSeries) -> Self {
        let intervals = series.intervals();
        let losses = intervals.iter().enumerate();
        Self {
            interval_ns: series.length().as_ns(),
            max_ns: intervals.iter().map(|one| one.max.as_ns()).collect(),
            lost: losses
                .filter(|(_, one)| one.lost > 0)
                .map(|(place, one)| (place, one.lost))
                .collect(),
        }
    }
}

fn allowed_ns(promise: Promise) -> Option<u64> {
    promise.interruption.map(Duration::as_ns)
}

fn receivers(hosts: &[String], record: &FlowRecord) -> Vec<ReceiverReport> {
    let seen = hosts.iter().zip(&record.receivers);
    seen.map(|(host, seen)| ReceiverReport {
        host: host.clone(),
        received: seen.received,
        lost: seen.lost,
        duplicates: seen.duplicates,
        reordered: seen.reordered,
        longest_loss_run: seen.longest_loss_run,
    })
    .collect()
}

fn sentence(breach: &Breach) -> String {
    match breach {
        Breach::Late { count } => format!("{count} late"),
        Breach::AboveBound { count } => format!("{count} later than calculated"),
        Breach::Lost { count } => format!("{count} lost"),
        Breach::Interrupted { length, allowed } => {
            format!("interrupted for {length}, {allowed} allowed")
        }
    }
}
