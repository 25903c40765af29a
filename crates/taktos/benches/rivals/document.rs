//! Every figure of every round, for machines.

use std::io;

use measure::method::throughput::LimitedBy;
use measure::statistics::Distribution;
use serde_json::{Value, json};

use crate::control_plane::{Finding, Load, Means};
use crate::latency::Slot;
use crate::overload::Overload;
use crate::run::{Results, SHORTEST, Shown};
use crate::throughput::Rate;
use crate::traffic::{ENTRIES, MASKS};
use crate::verdict::{self, Verdict};

pub fn write(results: &Results) -> io::Result<String> {
    let subjects: Vec<Value> = results.shown.iter().map(of_subject).collect();
    let absent = results.absent.iter();
    let absent: Vec<Value> = absent
        .map(|(subject, why)| json!({ "subject": subject.to_string(), "why": why }))
        .collect();
    let verdicts = verdict::all(results);
    let document = json!({
        "entries": ENTRIES,
        "masks": MASKS,
        "took_ns": results.took.as_ns(),
        "subjects": subjects,
        "absent": absent,
        "verdicts": verdicts.iter().map(Verdict::to_json).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn of_subject(shown: &Shown) -> Value {
    let latency = shown.latency.iter().flat_map(|(spacing, slots)| {
        let spacing = json!({ "spacing_ns": spacing.as_ns() });
        rounds(slots, move |slot| with(&spacing, of_slot(slot)))
    });
    let overload = shown.overload.iter().flat_map(|(overload, slots)| {
        let overloaded = json!({ "overloaded": match overload {
            Overload::LowestClass => "lowest_class",
            Overload::EveryLowerClass => "every_lower_class",
        } });
        rounds(slots, move |slot| with(&overloaded, of_slot(slot)))
    });
    let throughput = shown.throughput.iter().flat_map(|(size, rates)| {
        let size = json!({ "frame_bytes": size });
        rounds(rates, move |rate| with(&size, of_rate(rate)))
    });
    let one_processor = shown.one_processor.iter().flat_map(|(arrangement, rates)| {
        let place = json!({ "frame_bytes": SHORTEST, "processors": arrangement.to_json() });
        rounds(rates, move |rate| with(&place, of_rate(rate)))
    });
    let cost = shown.cost.iter();
    let cost = cost.map(|(size, cost)| json!({ "frame_bytes": size, "ns": cost.as_ns() }));
    json!({
        "subject": shown.subject.to_string(),
        "latency": latency.collect::<Vec<_>>(),
        "overload": overload.collect::<Vec<_>>(),
        "throughput": throughput.collect::<Vec<_>>(),
        "one_processor": one_processor.collect::<Vec<_>>(),
        "cost": cost.collect::<Vec<_>>(),
        "control": shown.control.iter().map(of_finding).collect::<Vec<_>>(),
        "failures": shown.failures,
    })
}

/// Numbers what `of` makes of each round.
fn rounds<'a, T>(
    rounds: &'a [T],
    of: impl Fn(&'a T) -> Value + 'a,
) -> impl Iterator<Item = Value> + 'a {
    let numbered = rounds.iter().enumerate();
    numbered.map(move |(round, one)| with(&json!({ "round": round }), of(one)))
}

/// Returns an object with the members of both.
fn with(one: &Value, mut other: Value) -> Value {
    if let (Some(members), Some(more)) = (one.as_object(), other.as_object_mut()) {
        more.extend(members.clone());
    }
    other
}

fn of_slot(slot: &Slot) -> Value {
    json!({
        "latency": of_distribution(&slot.latency),
        "lost": slot.lost,
        "disturbance": slot.disturbance.to_json(),
    })
}

fn of_rate(rate: &Rate) -> Value {
    json!({
        "frames_per_second": rate.frames_per_second,
        "sender_bound": rate.limited_by == LimitedBy::Tester,
    })
}

fn of_finding(found: &Finding) -> Value {
    json!({
        "entries": found.condition.entries,
        "bundle": found.condition.means == Means::Bundle,
        "stream": found.condition.load == Load::Stream,
        "changes": found.changes,
        "inexact_changes": found.inexact,
        "frames_after_reply": found.frames,
        "stale_frames": found.stale,
        "lost": found.lost,
        "reply": of_distribution(&found.reply),
        "last_old": of_distribution(&found.last_old),
        "first_new": of_distribution(&found.first_new),
    })
}

/// Returns the usual figures of a distribution.
pub fn of_distribution(distribution: &Distribution) -> Value {
    distribution.summary().map_or(Value::Null, |summary| {
        json!({
            "count": summary.count,
            "min_ns": summary.min.as_ns(),
            "mean_ns": summary.mean.as_ns(),
            "p50_ns": summary.p50.as_ns(),
            "p99_ns": summary.p99.as_ns(),
            "p999_ns": summary.p999.as_ns(),
            "max_ns": summary.max.as_ns(),
        })
    })
}
