//! What was found, for people and for programs.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use measure::measurement::{Conditions, Figure, Measurement, Value};
use measure::method::METHODS;
use measure::statistics::{Distribution, Summary};
use measure::time_series::Interval;
use serde_json::{Value as Json, json};

use crate::measuring::target::TARGETS;

/// Returns which methods and targets there are.
pub fn list() -> String {
    let mut text = "taktos measure METHOD [TARGET] [--set NAME=VALUE]…\n\nmethods\n".to_owned();
    for method in METHODS {
        let _ = writeln!(text, "  {:16}{}", method.name, method.finds);
        for (name, meaning) in method.options {
            let _ = writeln!(text, "  {:16}  {name}: {meaning}", "");
        }
    }
    text += "\ntargets\n";
    for (name, meaning) in TARGETS {
        let _ = writeln!(text, "  {name}\n      {meaning}");
    }
    text + "  --ports IF,IF,…\n      whatever is connected to these interfaces of this machine\n"
}

/// Returns a measurement as a table, with its conditions below.
pub fn as_text(measurement: &Measurement) -> String {
    let mut text = format!("{} · {}\n", measurement.method, measurement.device);
    if measurement.quick {
        text += "SHORTENED: no figure of this is for publication.\n";
    }
    for figure in &measurement.figures {
        let _ = writeln!(text, "{}", line(figure));
    }
    for remark in &measurement.remarks {
        let _ = writeln!(text, "{remark}");
    }
    text + &conditions(&measurement.conditions)
}

fn line(figure: &Figure) -> String {
    let setting: Vec<_> = figure
        .setting
        .iter()
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    let what = match setting.is_empty() {
        true => figure.quantity.clone(),
        false => format!("{} ({})", figure.quantity, setting.join(", ")),
    };
    format!("  {what}: {}", value(&figure.value))
}

fn value(value: &Value) -> String {
    match value {
        Value::Times(distribution) => spread(distribution),
        Value::Time(time) => time.to_string(),
        Value::Rate(rate) => rate.to_string(),
        Value::Size(size) => size.to_string(),
        Value::Count(count) => count.to_string(),
        Value::Share(share) => format!("{:.2} %", share * 100.0),
        Value::Series(series) => format!(
            "{} intervals of {}",
            series.intervals().len(),
            series.length()
        ),
        Value::Unknown(reason) => format!("unknown: {reason}"),
    }
}

fn spread(distribution: &Distribution) -> String {
    let Some(Summary {
        count,
        min,
        mean,
        p50,
        p99,
        p999,
        max,
    }) = distribution.summary()
    else {
        return "none".to_owned();
    };
    format!(
        "median {p50}, mean {mean}, min {min}, p99 {p99}, p99.9 {p999}, max {max}, {count} values"
    )
}

fn conditions(conditions: &Conditions) -> String {
    let mut text = format!(
        "command {} · seed {} · Taktos {} · took {}\n",
        conditions.command, conditions.seed, conditions.version, conditions.took
    );
    if let Some(machine) = &conditions.machine {
        let _ = writeln!(
            text,
            "Linux {} · {} processors ({}) · clock {} · load {} before, {} after",
            machine.kernel,
            machine.processors,
            machine.processor,
            machine.clock_source,
            hundredths(machine.load_before),
            hundredths(machine.load_after)
        );
    }
    let bias = conditions.bias.map(|bias| format!(", bias {bias}"));
    let _ = writeln!(
        text,
        "stamps: {:?}{} · unseen {} · left out {}",
        conditions.stamps,
        bias.unwrap_or_default(),
        conditions.unseen,
        conditions.skipped
    );
    let _ = writeln!(text, "lateness: {}", spread(&conditions.lateness));
    let _ = writeln!(text, "stalls: {}", spread(&conditions.stalls));
    text
}

fn hundredths(load: u32) -> String {
    format!("{}.{:02}", load / 100, load % 100)
}

/// Returns a measurement as one document.
pub fn as_json(measurement: &Measurement) -> Json {
    let figures = measurement.figures.iter().map(|figure| {
        let setting = figure.setting.iter();
        let setting: serde_json::Map<_, _> = setting
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        json!({
            "quantity": figure.quantity,
            "source": figure.source,
            "setting": setting,
            "value": value_as_json(&figure.value),
        })
    });
    json!({
        "method": measurement.method,
        "device": measurement.device,
        "quick": measurement.quick,
        "figures": figures.collect::<Vec<_>>(),
        "remarks": measurement.remarks,
        "conditions": conditions_as_json(&measurement.conditions),
    })
}

fn value_as_json(value: &Value) -> Json {
    match value {
        Value::Times(distribution) => {
            json!({"distribution_ns": distribution_as_json(distribution)})
        }
        Value::Time(time) => json!({"time_ns": time.as_ns()}),
        Value::Rate(rate) => json!({"rate_bps": rate.as_bps()}),
        Value::Size(size) => json!({"size_bytes": size.bytes_up()}),
        Value::Count(count) => json!({"count": count}),
        Value::Share(share) => json!({"share": share}),
        Value::Series(series) => json!({
            "interval_ns": series.length().as_ns(),
            "series": series.intervals().iter().map(interval_as_json).collect::<Vec<_>>(),
        }),
        Value::Unknown(reason) => json!({"unknown": reason}),
    }
}

fn interval_as_json(interval: &Interval) -> Json {
    json!({
        "max_ns": interval.max.as_ns(),
        "received": interval.received,
        "lost": interval.lost,
    })
}

fn distribution_as_json(distribution: &Distribution) -> Json {
    let Some(summary) = distribution.summary() else {
        return json!({"count": 0});
    };
    json!({
        "count": summary.count,
        "min": summary.min.as_ns(),
        "mean": summary.mean.as_ns(),
        "p50": summary.p50.as_ns(),
        "p99": summary.p99.as_ns(),
        "p999": summary.p999.as_ns(),
        "max": summary.max.as_ns(),
    })
}

fn conditions_as_json(conditions: &Conditions) -> Json {
    let machine = conditions.machine.as_ref().map(|machine| {
        json!({
            "kernel": machine.kernel,
            "processor": machine.processor,
            "processors": machine.processors,
            "clock_source": machine.clock_source,
            "load_before": hundredths(machine.load_before),
            "load_after": hundredths(machine.load_after),
        })
    });
    let versions = conditions.versions.iter();
    let versions: serde_json::Map<_, _> = versions
        .map(|(name, version)| (name.clone(), json!(version)))
        .collect();
    json!({
        "command": conditions.command,
        "began_unix_ns": conditions.began_unix_ns,
        "took_ns": conditions.took.as_ns(),
        "seed": conditions.seed,
        "version": conditions.version,
        "versions": versions,
        "machine": machine,
        "stamps": format!("{:?}", conditions.stamps).to_lowercase(),
        "bias_ns": conditions.bias.map(|bias| bias.as_ns()),
        "lateness_ns": distribution_as_json(&conditions.lateness),
        "stalls_ns": distribution_as_json(&conditions.stalls),
        "unseen": conditions.unseen,
        "skipped": conditions.skipped,
    })
}

/// Writes a measurement into a folder, as text and as a document.
pub fn write(folder: &Path, measurement: &Measurement) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("measurement.txt"), as_text(measurement))?;
    let document = format!("{:#}\n", as_json(measurement));
    fs::write(folder.join("measurement.json"), document)
}
