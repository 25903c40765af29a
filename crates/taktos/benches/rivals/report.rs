//! What the run found, in tables for people.

use std::fmt::Write;

use measure::method::throughput::LimitedBy;
use measure::statistics::{self, Distribution};
use run::measuring::conditions;
use units::Duration;

use crate::arrangement::Arrangement;
use crate::control_plane::{Finding, SPACING};
use crate::disturbance::Disturbance;
use crate::overload::{self, Overload};
use crate::ratios::{Pooled, Quantile, typical};
use crate::run::{Results, SHORTEST, Shown};
use crate::subject::{Ports, Subject};
use crate::throughput::{Rate, SIZES};
use crate::traffic::{ENTRIES, MASKS};
use crate::verdict;

/// The rival that ratios are to.
const RIVAL: Subject = Subject::OpenVswitch(Ports::Xdp);

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

    pub fn markdown(&self) -> String {
        let seconds = self.results.took.as_ns() / 1_000_000_000;
        let mut text = format!("{} The run took {seconds} s.\n", machine());
        for (spacing, _) in &self.results.plan.spacings {
            self.latency_table(&mut text, *spacing);
        }
        for overload in Overload::ALL {
            self.overload_table(&mut text, overload);
        }
        self.one_processor_table(&mut text);
        self.throughput_table(&mut text);
        self.cost_table(&mut text);
        self.control_table(&mut text);
        self.verdict_table(&mut text);
        self.absences(&mut text);
        text
    }

    fn latency_table(&self, text: &mut String, spacing: Duration) {
        let title = format!(
            "One-way latency, a frame of 64 bytes every {spacing}, us; {ENTRIES} entries, {MASKS} \
             masks"
        );
        let columns = [
            "p50",
            "p99",
            "p99.9",
            "max",
            "frames",
            "lost",
            "p50 / floor",
            "p50, p99, p99.9 / OVS AF_XDP",
            "subject waited",
            "sender late p50 / p99 / max",
            "processors busy",
        ];
        let rows = self.results.shown.iter();
        let rows = rows.filter_map(|shown| self.latency_row(shown, spacing));
        table(text, &title, &columns, rows.collect());
    }

    fn latency_row(&self, shown: &Shown, spacing: Duration) -> Option<Row> {
        let subject = shown.subject;
        let pooled = Pooled::of(shown.latency.get(&spacing)?)?;
        let ratio = |other: Subject, quantile| {
            let ratio = self
                .results
                .latency_ratio([subject, other], spacing, quantile);
            ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"))
        };
        let to_rival = [Quantile::P50, Quantile::P99, Quantile::P999].map(|it| ratio(RIVAL, it));
        let disturbance = &pooled.disturbance;
        let busy = statistics::ratio(disturbance.ran.as_ns(), disturbance.took.as_ns().max(1));
        let mut cells = quantiles(&pooled);
        cells.extend([
            ratio(subject.floor(), Quantile::P50),
            to_rival.join(" / "),
            format!("{} ms", ms(disturbance.waited)),
            lateness(disturbance),
            format!("{busy:.2}"),
        ]);
        Some((subject.to_string(), cells))
    }

    fn overload_table(&self, text: &mut String, overload: Overload) {
        let title = format!(
            "One-way latency of sparse frames of the most urgent class, us; port of {}, {overload}, \
             1514-byte frames; one of them keeps the port for {} us",
            overload::RATE,
            us(overload::blocking())
        );
        let columns = [
            "p50",
            "p99",
            "p99.9",
            "max",
            "frames",
            "lost",
            "p99 beyond one frame",
            "subject waited",
            "sender late p50 / p99 / max",
        ];
        let row = |shown: &Shown| {
            let pooled = Pooled::of(shown.overload.get(&overload)?)?;
            let mut cells = quantiles(&pooled);
            cells.extend([
                us(pooled.summary.p99.saturating_sub(overload::blocking())),
                format!("{} ms", ms(pooled.disturbance.waited)),
                lateness(&pooled.disturbance),
            ]);
            Some((shown.subject.to_string(), cells))
        };
        let rows = self.results.shown.iter().filter_map(row);
        table(text, &title, &columns, rows.collect());
    }

    fn one_processor_table(&self, text: &mut String) {
        let title = format!(
            "Frames of {SHORTEST} bytes a second without loss, thousands, of what the kernel \
             carries (>: the sender sends no more)"
        );
        let columns = Arrangement::ALL.map(|it| [it.to_string(), "/ bridge".to_owned()]);
        let columns = columns.concat();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let rows = self.results.shown.iter();
        let rows = rows.filter(|shown| !shown.one_processor.is_empty());
        let rows = rows.map(|shown| {
            let cells = Arrangement::ALL.map(|arrangement| {
                let rates = shown.one_processor.get(&arrangement);
                let pair = [shown.subject, Subject::Bridge];
                let ratio = self.results.one_processor_ratio(pair, arrangement);
                rate_cells(rates.and_then(|it| typical(it)), ratio)
            });
            (shown.subject.to_string(), cells.concat())
        });
        table(text, &title, &columns, rows.collect());
    }

    fn throughput_table(&self, text: &mut String) {
        let title = "Frames a second without loss, thousands (>: the sender sends no more)";
        let columns = SIZES.map(|size| [format!("{size} bytes"), "/ floor".to_owned()]);
        let columns = columns.concat();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let rows = self.results.shown.iter();
        let rows = rows.filter(|shown| !shown.throughput.is_empty());
        let rows = rows.map(|shown| {
            let cells = SIZES.map(|size| {
                let rates = shown.throughput.get(&size);
                let pair = [shown.subject, shown.subject.floor()];
                let ratio = self.results.rate_ratio(pair, size);
                rate_cells(rates.and_then(|it| typical(it)), ratio)
            });
            (shown.subject.to_string(), cells.concat())
        });
        table(text, title, &columns, rows.collect());
    }

    fn cost_table(&self, text: &mut String) {
        let title = "Processor time of a frame, ns: out of a full ring for programs, beyond that \
                     of a frame which nothing carries on for what the kernel carries";
        let columns = SIZES.map(|size| format!("{size} bytes"));
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let rows = self.results.shown.iter();
        let rows = rows.filter(|shown| !shown.cost.is_empty()).map(|shown| {
            let cells = SIZES.map(|size| {
                let cost = shown.cost.get(&size);
                cost.map_or_else(String::new, |cost| cost.as_ns().to_string())
            });
            (shown.subject.to_string(), cells.to_vec())
        });
        table(text, title, &columns, rows.collect());
    }

    fn control_table(&self, text: &mut String) {
        let title = format!(
            "So many entries are changed, then a barrier; frames every {SPACING}. Stale: sent after \
             the barrier reply, treated by the old rules. In effect: between the last frame by the \
             old rules and the first after it"
        );
        let columns = [
            "entries",
            "by",
            "load",
            "changes",
            "stale after",
            "stale frames",
            "lost",
            "reply p50 / p99, us",
            "last old p50 / p99, us",
            "first new p50 / p99, us",
        ];
        let rows = self.results.shown.iter().flat_map(|shown| {
            let findings = shown.control.iter();
            findings.map(|found| (shown.subject.to_string(), control_cells(found)))
        });
        table(text, &title, &columns, rows.collect());
    }

    fn verdict_table(&self, text: &mut String) {
        let rows = verdict::all(self.results).into_iter().map(|verdict| {
            let kept = if verdict.kept() { "kept" } else { "**missed**" };
            let cells = vec![
                format!("{:.2}", verdict.reached),
                format!("{:.2}", verdict.limit),
                kept.to_owned(),
            ];
            (verdict.target, cells)
        });
        table(text, "Targets", &["reached", "limit", ""], rows.collect());
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
}

/// Says in one sentence what the machine is: without it figures say nothing.
fn machine() -> String {
    let (kernel, processor, _) = conditions::identity();
    // All of them: this program has left one to the subject.
    let facts = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processors = facts.lines().filter(|line| line.starts_with("processor"));
    let processors = processors.count();
    let version = lab::open_vswitch::version();
    let version = version.map_or_else(String::new, |it| format!(", Open vSwitch {it}"));
    format!("{processors} processors ({processor}), Linux {kernel}{version}.")
}

/// What stands first in a row, and the rest of it.
type Row = (String, Vec<String>);

/// Writes a table, unless it has no rows.
fn table(text: &mut String, title: &str, columns: &[&str], rows: Vec<Row>) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}:\n\n| | {} |", columns.join(" | "));
    let _ = writeln!(text, "| ---{} |", " | --:".repeat(columns.len()));
    for (first, cells) in rows {
        let _ = writeln!(text, "| {first} | {} |", cells.join(" | "));
    }
}

/// The quantiles of slots, their frames and losses.
fn quantiles(pooled: &Pooled) -> Vec<String> {
    let summary = pooled.summary;
    vec![
        us(summary.p50),
        us(summary.p99),
        us(summary.p999),
        us(summary.max),
        (summary.count + pooled.lost).to_string(),
        pooled.lost.to_string(),
    ]
}

/// By how much the sender was late, in microseconds.
fn lateness(disturbance: &Disturbance) -> String {
    let summary = disturbance.sender_late.summary();
    summary.map_or_else(String::new, |it| {
        format!("{} / {} / {}", us(it.p50), us(it.p99), us(it.max))
    })
}

fn rate_cells(rate: Option<Rate>, ratio: Option<f64>) -> Vec<String> {
    let rate = rate.map_or_else(String::new, |rate| {
        let bound = match rate.limited_by {
            LimitedBy::Tester => "> ",
            LimitedBy::Device | LimitedBy::Plan => "",
        };
        format!("{bound}{}", rate.frames_per_second / 1000)
    });
    let ratio = ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
    vec![rate, ratio]
}

fn control_cells(found: &Finding) -> Vec<String> {
    let both = |distribution: &Distribution| {
        let summary = distribution.summary();
        summary.map_or_else(String::new, |it| format!("{} / {}", us(it.p50), us(it.p99)))
    };
    vec![
        found.condition.entries.to_string(),
        found.condition.means.to_string(),
        found.condition.load.to_string(),
        found.changes.to_string(),
        found.inexact.to_string(),
        format!("{} of {}", found.stale, found.frames),
        found.lost.to_string(),
        both(&found.reply),
        both(&found.last_old),
        both(&found.first_new),
    ]
}

fn us(time: Duration) -> String {
    let ns = time.as_ns();
    format!("{}.{:02}", ns / 1000, ns % 1000 / 10)
}

fn ms(time: Duration) -> String {
    format!("{:.1}", statistics::ratio(time.as_ns(), 1_000_000))
}
