//! What is counted, as Prometheus reads it (its text format, version 0.0.4).
//!
//! Counting costs a few additions a request and takes no lock.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::StatusCode;
use linux::time_histogram::TimeHistogram;
use units::Duration;

const NS_PER_SECOND: f64 = 1e9;

/// What is counted of each operation.
#[derive(Debug)]
pub struct Meters {
    operations: Vec<Meter>,
    /// Requirements that were accepted, and those that were not.
    accepted: AtomicU64,
    refused: AtomicU64,
    missed: AtomicU64,
}

/// What is counted of one operation.
#[derive(Debug, Default)]
struct Meter {
    name: &'static str,
    /// By hundreds of the status: 2xx, 3xx, 4xx, 5xx.
    answers: [AtomicU64; 4],
    times: TimeHistogram,
}

impl Meters {
    #[must_use]
    pub fn new(names: &[&'static str]) -> Self {
        let operations = names.iter().map(|name| Meter {
            name,
            ..Meter::default()
        });
        Self {
            operations: operations.collect(),
            accepted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            missed: AtomicU64::new(0),
        }
    }

    /// Counts a request that was answered.
    pub fn answered(&self, operation: usize, status: StatusCode, took: Duration) {
        let Some(meter) = self.operations.get(operation) else {
            return;
        };
        let hundreds = usize::from(status.as_u16() / 100).clamp(2, 5) - 2;
        add(&meter.answers[hundreds], 1);
        meter.times.add(1, took);
    }

    pub fn decided(&self, accepted: usize, refused: usize) {
        add(&self.accepted, accepted as u64);
        add(&self.refused, refused as u64);
    }

    /// Counts events that a watcher missed.
    pub fn missed(&self, events: u64) {
        add(&self.missed, events);
    }

    pub fn write(&self, page: &mut Page) {
        self.write_answers(page);
        self.write_times(page);
        page.begin(
            "taktos_admission_decisions_total",
            "counter",
            "Requirements that were decided upon over HTTP.",
        );
        page.line("{decision=\"accepted\"}", load(&self.accepted));
        page.line("{decision=\"refused\"}", load(&self.refused));
        page.begin(
            "taktos_events_missed_total",
            "counter",
            "Events that watchers missed as they did not keep up.",
        );
        page.line("", load(&self.missed));
    }

    fn write_answers(&self, page: &mut Page) {
        page.begin(
            "taktos_http_requests_total",
            "counter",
            "Requests that were answered.",
        );
        for meter in &self.operations {
            for (hundreds, count) in (2..).zip(&meter.answers) {
                let count = load(count);
                if count > 0 {
                    let name = meter.name;
                    let labels = format!("{{operation=\"{name}\",status=\"{hundreds}xx\"}}");
                    page.line(&labels, count);
                }
            }
        }
    }

    fn write_times(&self, page: &mut Page) {
        page.begin(
            "taktos_http_request_duration_seconds",
            "histogram",
            "From the head of a request to its answer.",
        );
        for meter in &self.operations {
            if meter.times.counted().count > 0 {
                page.times(&format!("operation=\"{}\"", meter.name), &meter.times);
            }
        }
    }
}

#[derive(Debug, Default)]
pub struct Page {
    text: String,
    name: &'static str,
}

impl Page {
    /// Begins a metric: what follows are its lines.
    pub fn begin(&mut self, name: &'static str, kind: &str, help: &str) {
        self.name = name;
        self.put(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    /// Adds a line of the metric, with what follows its name.
    pub fn line(&mut self, labels: &str, value: impl fmt::Display) {
        let name = self.name;
        self.put(format_args!("{name}{labels} {value}\n"));
    }

    /// Adds a metric that has one line.
    pub fn single(&mut self, name: &'static str, kind: &str, help: &str, value: u64) {
        self.begin(name, kind, help);
        self.line("", value);
    }

    /// Adds the lines of a histogram, in seconds, with these labels.
    pub fn times(&mut self, labels: &str, times: &TimeHistogram) {
        let counted = times.counted();
        let (comma, braced) = match labels.is_empty() {
            true => ("", String::new()),
            false => (",", format!("{{{labels}}}")),
        };
        for (end, count) in counted.up_to {
            let end = seconds(end);
            self.line(&format!("_bucket{{{labels}{comma}le=\"{end}\"}}"), count);
        }
        let all = counted.count;
        self.line(&format!("_bucket{{{labels}{comma}le=\"+Inf\"}}"), all);
        self.line(&format!("_sum{braced}"), seconds(counted.total));
        self.line(&format!("_count{braced}"), all);
    }

    #[must_use]
    pub fn text(self) -> String {
        self.text
    }

    fn put(&mut self, arguments: fmt::Arguments<'_>) {
        let written = self.text.write_fmt(arguments);
        written.expect("memory takes every text");
    }
}

/// Returns a text as the value of a label: a flow may have any name.
#[must_use]
pub fn label(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    escaped.replace('\n', "\\n")
}

/// Returns a time as Prometheus has it.
#[must_use]
pub fn seconds(time: Duration) -> f64 {
    time.as_ns() as f64 / NS_PER_SECOND
}

fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up_from_part_to_part() {
        let meters = Meters::new(&["show-topology", "list-flows"]);
        for us in [50, 300, 300, 60_000_000] {
            meters.answered(0, StatusCode::OK, Duration::from_us(us));
        }
        meters.answered(0, StatusCode::NOT_FOUND, Duration::from_us(1));

        let mut page = Page::default();
        meters.write(&mut page);
        let text = page.text();

        let part = |end: &str| {
            format!(
                "taktos_http_request_duration_seconds_bucket{{operation=\"show-topology\",le=\"{end}\"}}"
            )
        };
        assert!(text.contains(&format!("{} 2\n", part("0.0001"))), "{text}");
        assert!(text.contains(&format!("{} 4\n", part("0.0005"))), "{text}");
        assert!(text.contains(&format!("{} 4\n", part("10"))), "{text}");
        assert!(text.contains(&format!("{} 5\n", part("+Inf"))), "{text}");
        assert!(text.contains("_requests_total{operation=\"show-topology\",status=\"4xx\"} 1\n"));
        assert!(!text.contains("list-flows"), "{text}");
    }
}
