//! What the run found: tables for people, one document for machines.

use std::fmt::Write;
use std::io;

use measure::statistics::{Distribution, Summary};
use serde_json::{Value, json};
use units::Duration;

use crate::control_plane::{Finding, Load, SPACING};
use crate::disturbance::Disturbance;
use crate::run::{Results, Shown};
use crate::subject::{Ports, Subject, Turns};
use crate::throughput::{Bound, Rate, SIZES};
use crate::traffic::{ENTRIES, MASKS};

/// The report of one run.
#[derive(Debug)]
pub struct Report<'a> {
    results: &'a Results,
}

impl<'a> Report<'a> {
    /// Makes the report of `results`.
    pub fn new(results: &'a Results) -> Self {
        Self { results }
    }

    /// Returns the tables.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        self.latency_table(&mut text);
        self.throughput_table(&mut text);
        self.cost_table(&mut text);
        self.control_table(&mut text);
        self.verdict_table(&mut text);
        self.absences(&mut text);
        text
    }

    /// Returns every figure of every round.
    pub fn json(&self) -> io::Result<String> {
        let subjects: Vec<Value> = self.results.shown.iter().map(shown_to_json).collect();
        let absent = self.results.absent.iter();
        let absent: Vec<Value> = absent
            .map(|(subject, why)| json!({ "subject": subject.to_string(), "why": why }))
            .collect();
        let document = json!({
            "entries": ENTRIES,
            "masks": MASKS,
            "took_ns": self.results.took.as_ns(),
            "subjects": subjects,
            "absent": absent,
            "verdicts": self.verdicts().iter().map(Verdict::to_json).collect::<Vec<_>>(),
        });
        Ok(serde_json::to_string_pretty(&document)? + "\n")
    }

    fn latency_table(&self, text: &mut String) {
        let spacings = &self.results.plan.spacings;
        for (spacing, _) in spacings {
            let rows = self.results.shown.iter();
            let rows: Vec<String> = rows
                .filter_map(|shown| self.latency_row(shown, *spacing))
                .collect();
            if rows.is_empty() {
                continue;
            }
            let _ = writeln!(
                text,
                "\nOne-way latency, one frame every {spacing}, us; {ENTRIES} entries, {MASKS} masks\n\n\
                 | | p50 | p99 | p99.9 | max | lost | p50 / floor | p50 / OVS AF_XDP | subject waited |\n\
                 | --- | --: | --: | --: | --: | --: | --: | --: | --: |"
            );
            rows.iter().for_each(|row| {
                let _ = writeln!(text, "{row}");
            });
        }
    }

    fn latency_row(&self, shown: &Shown, spacing: Duration) -> Option<String> {
        let pooled = Pooled::of(shown, spacing)?;
        let Summary {
            p50,
            p99,
            p999,
            max,
            count,
            ..
        } = pooled.summary;
        let ratio = |other: Subject| {
            let ratio = self.latency_ratio(shown.subject, other, (spacing, P50));
            ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"))
        };
        Some(format!(
            "| {} | {} | {} | {} | {} | {} of {} | {} | {} | {:.1} ms |",
            shown.subject,
            us(p50),
            us(p99),
            us(p999),
            us(max),
            pooled.lost,
            pooled.lost + count,
            ratio(shown.subject.floor()),
            ratio(Subject::OpenVswitch(Ports::Xdp)),
            ms(pooled.disturbance.waited),
        ))
    }

    fn throughput_table(&self, text: &mut String) {
        let shown = self.results.shown.iter();
        let shown: Vec<&Shown> = shown.filter(|shown| !shown.throughput.is_empty()).collect();
        if shown.is_empty() {
            return;
        }
        let columns = SIZES
            .map(|size| format!("| {size} bytes | / floor "))
            .concat();
        let _ = writeln!(
            text,
            "\nFrames a second without loss, thousands (>: the sender sends no more)\n\n\
             | {columns}|\n| ---{} |",
            " | --: | --:".repeat(SIZES.len())
        );
        for shown in shown {
            let cells = SIZES.map(|size| self.throughput_cells(shown, size));
            let _ = writeln!(text, "| {} {}|", shown.subject, cells.concat());
        }
    }

    fn throughput_cells(&self, shown: &Shown, size: usize) -> String {
        let Some(rate) = typical_rate(shown, size) else {
            return "| | ".to_owned();
        };
        let bound = match rate.bound_by {
            Bound::Sender => "> ",
            Bound::Subject => "",
        };
        let ratio = self.rate_ratio(shown.subject, shown.subject.floor(), size);
        let ratio = ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
        format!("| {bound}{} | {ratio} ", rate.frames_per_second / 1000)
    }

    fn cost_table(&self, text: &mut String) {
        let shown = self.results.shown.iter();
        let shown: Vec<&Shown> = shown.filter(|shown| !shown.cost.is_empty()).collect();
        if shown.is_empty() {
            return;
        }
        let columns = SIZES.map(|size| format!("| {size} bytes ")).concat();
        let _ = writeln!(
            text,
            "\nProcessor time of a frame out of a full ring, ns\n\n| {columns}|\n| ---{} |",
            " | --:".repeat(SIZES.len())
        );
        for shown in shown {
            let cells = SIZES.map(|size| {
                let cost = shown.cost.get(&size);
                cost.map_or_else(|| "| ".to_owned(), |cost| format!("| {} ", cost.as_ns()))
            });
            let _ = writeln!(text, "| {} {}|", shown.subject, cells.concat());
        }
    }

    fn control_table(&self, text: &mut String) {
        let findings = || {
            let shown = self.results.shown.iter();
            shown.flat_map(|shown| shown.control.iter().map(|found| (shown.subject, found)))
        };
        if findings().next().is_none() {
            return;
        }
        let _ = writeln!(
            text,
            "\nOne flow-mod changes so many entries, then a barrier; frames every {SPACING}. Stale: \
             sent after the barrier reply, treated by the old rules\n\n\
             | | entries | frames | changes | stale after | stale frames | lost | reply p50 / p99, us | effect p50 / p99, us |\n\
             | --- | --: | --- | --: | --: | --: | --: | --: | --: |"
        );
        for (subject, found) in findings() {
            let _ = writeln!(text, "{}", control_row(subject, found));
        }
    }

    fn verdict_table(&self, text: &mut String) {
        let verdicts = self.verdicts();
        if verdicts.is_empty() {
            return;
        }
        let _ = writeln!(
            text,
            "\n| target | reached | limit | |\n| --- | --: | --: | --- |"
        );
        for verdict in verdicts {
            let kept = if verdict.kept() { "kept" } else { "**missed**" };
            let _ = writeln!(
                text,
                "| {} | {:.2} | {:.2} | {kept} |",
                verdict.target, verdict.reached, verdict.limit
            );
        }
    }

    fn absences(&self, text: &mut String) {
        for (subject, why) in &self.results.absent {
            let _ = writeln!(text, "\n**Left out: {subject}**: {why}");
        }
        for shown in &self.results.shown {
            for failure in &shown.failures {
                let _ = writeln!(text, "\n**Failed: {}**: {failure}", shown.subject);
            }
        }
    }

    fn find(&self, subject: Subject) -> Option<&Shown> {
        self.results
            .shown
            .iter()
            .find(|shown| shown.subject == subject)
    }

    /// Returns the median over the rounds of the ratio of two subjects in one
    /// round: what disturbs a round disturbs both.
    fn latency_ratio(
        &self,
        subject: Subject,
        other: Subject,
        (spacing, per_mille): (Duration, u32),
    ) -> Option<f64> {
        let slots = |subject| self.find(subject)?.latency.get(&spacing);
        let rounds = slots(subject)?.iter().zip(slots(other)?);
        let ratios = rounds.filter_map(|(one, two)| {
            let value = |distribution: &Distribution| distribution.quantile(per_mille);
            Some(ratio(
                value(&one.latency)?.as_ns(),
                value(&two.latency)?.as_ns(),
            ))
        });
        median(ratios.collect())
    }

    fn rate_ratio(&self, subject: Subject, other: Subject, size: usize) -> Option<f64> {
        let rates = |subject| self.find(subject)?.throughput.get(&size);
        let rounds = rates(subject)?.iter().zip(rates(other)?);
        let ratios = rounds.map(|(one, two)| ratio(one.frames_per_second, two.frames_per_second));
        median(ratios.collect())
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for turns in [Turns::Spin, Turns::Sleep] {
            for ports in [Ports::Xdp, Ports::Packet] {
                let ours = Subject::Taktos(ports, turns);
                self.judge_latency(ours, &mut verdicts);
                self.judge_rate(ours, &mut verdicts);
            }
        }
        self.judge_barriers(&mut verdicts);
        verdicts
    }

    fn judge_latency(&self, ours: Subject, verdicts: &mut Vec<Verdict>) {
        let rival = Subject::OpenVswitch(Ports::Xdp);
        let slow_rival = Subject::OpenVswitch(Ports::Packet);
        for spacing in [Duration::from_us(125), Duration::from_ms(1)] {
            let mut judge = |other: Subject, (per_mille, name), limit| {
                if let Some(reached) = self.latency_ratio(ours, other, (spacing, per_mille)) {
                    verdicts.push(Verdict {
                        target: format!("{ours}: {name} at {spacing} / {other}"),
                        reached,
                        limit,
                        better: Better::Less,
                    });
                }
            };
            judge(ours.floor(), (P50, "p50"), 1.2);
            if ours.sleeps() {
                continue;
            }
            judge(rival, (P50, "p50"), 1.0);
            judge(rival, (P99, "p99"), 1.0);
            judge(slow_rival, (P50, "p50"), 0.1);
        }
    }

    fn judge_rate(&self, ours: Subject, verdicts: &mut Vec<Verdict>) {
        for size in SIZES {
            if let Some(reached) = self.rate_ratio(ours, ours.floor(), size) {
                let rate = self.find(ours).and_then(|shown| typical_rate(shown, size));
                let bound = match rate.map(|rate| rate.bound_by) {
                    Some(Bound::Sender) => " (the sender sends no more)",
                    Some(Bound::Subject) | None => "",
                };
                verdicts.push(Verdict {
                    target: format!("{ours}: rate at {size} bytes / {}{bound}", ours.floor()),
                    reached,
                    limit: 0.9,
                    better: Better::More,
                });
            }
        }
    }

    fn judge_barriers(&self, verdicts: &mut Vec<Verdict>) {
        for shown in &self.results.shown {
            if !matches!(shown.subject, Subject::Taktos(..)) || shown.control.is_empty() {
                continue;
            }
            let stale: u64 = shown.control.iter().map(|found| found.stale).sum();
            let frames: u64 = shown.control.iter().map(|found| found.frames).sum();
            verdicts.push(Verdict {
                target: format!("{}: stale frames of {frames}", shown.subject),
                reached: as_f64(stale),
                limit: 0.0,
                better: Better::Less,
            });
        }
    }
}

const P50: u32 = 500;
const P99: u32 = 990;

/// A target of ours, and what was reached.
struct Verdict {
    target: String,
    reached: f64,
    limit: f64,
    better: Better,
}

enum Better {
    Less,
    More,
}

impl Verdict {
    fn kept(&self) -> bool {
        match self.better {
            Better::Less => self.reached <= self.limit,
            Better::More => self.reached >= self.limit,
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "target": self.target,
            "reached": self.reached,
            "limit": self.limit,
            "kept": self.kept(),
        })
    }
}

/// The rounds of one subject at one spacing, together.
struct Pooled {
    summary: Summary,
    lost: u64,
    disturbance: Disturbance,
}

impl Pooled {
    fn of(shown: &Shown, spacing: Duration) -> Option<Self> {
        let mut all = Distribution::default();
        let (mut lost, mut disturbance) = (0, Disturbance::NONE);
        for slot in shown.latency.get(&spacing)? {
            all.merge(&slot.latency);
            lost += slot.lost;
            disturbance = disturbance.and(slot.disturbance);
        }
        Some(Self {
            summary: all.summary()?,
            lost,
            disturbance,
        })
    }
}

/// Returns the better of the two middle rounds, or the middle one.
fn typical_rate(shown: &Shown, size: usize) -> Option<Rate> {
    let mut rates = shown.throughput.get(&size)?.clone();
    rates.sort_unstable();
    rates.get(rates.len() / 2).copied()
}

fn control_row(subject: Subject, found: &Finding) -> String {
    let load = match found.load {
        Load::Idle => "after the reply",
        Load::Stream => "all the time",
    };
    let both = |distribution: &Distribution| {
        let summary = distribution.summary();
        summary.map_or_else(String::new, |it| format!("{} / {}", us(it.p50), us(it.p99)))
    };
    format!(
        "| {subject} | {} | {load} | {} | {} | {} of {} | {} | {} | {} |",
        found.entries,
        found.changes,
        found.inexact,
        found.stale,
        found.frames,
        found.lost,
        both(&found.reply),
        both(&found.effect),
    )
}

fn shown_to_json(shown: &Shown) -> Value {
    let latency = shown.latency.iter().flat_map(|(spacing, slots)| {
        let entry = move |(round, slot): (usize, &crate::latency::Slot)| {
            json!({
                "spacing_ns": spacing.as_ns(),
                "round": round,
                "latency": distribution_to_json(&slot.latency),
                "lost": slot.lost,
                "disturbance": slot.disturbance.to_json(),
            })
        };
        slots.iter().enumerate().map(entry)
    });
    let throughput = shown.throughput.iter().flat_map(|(size, rates)| {
        let entry = move |(round, rate): (usize, &Rate)| {
            json!({
                "frame_bytes": size,
                "round": round,
                "frames_per_second": rate.frames_per_second,
                "sender_bound": rate.bound_by == Bound::Sender,
            })
        };
        rates.iter().enumerate().map(entry)
    });
    let cost = shown.cost.iter();
    let cost = cost.map(|(size, cost)| json!({ "frame_bytes": size, "ns": cost.as_ns() }));
    let control = shown.control.iter().map(|found| {
        json!({
            "entries": found.entries,
            "stream": found.load == Load::Stream,
            "changes": found.changes,
            "inexact_changes": found.inexact,
            "frames_after_reply": found.frames,
            "stale_frames": found.stale,
            "lost": found.lost,
            "reply": distribution_to_json(&found.reply),
            "effect": distribution_to_json(&found.effect),
        })
    });
    json!({
        "subject": shown.subject.to_string(),
        "latency": latency.collect::<Vec<_>>(),
        "throughput": throughput.collect::<Vec<_>>(),
        "cost": cost.collect::<Vec<_>>(),
        "control": control.collect::<Vec<_>>(),
        "failures": shown.failures,
    })
}

fn distribution_to_json(distribution: &Distribution) -> Value {
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

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn ratio(one: u64, two: u64) -> f64 {
    as_f64(one) / as_f64(two.max(1))
}

fn us(time: Duration) -> String {
    let ns = time.as_ns();
    format!("{}.{:02}", ns / 1000, ns % 1000 / 10)
}

fn ms(time: Duration) -> f64 {
    as_f64(time.as_ns()) / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "for statistics only")]
fn as_f64(value: u64) -> f64 {
    value as f64
}
