//! The report as a table: a service a row.

use super::METHOD;
use crate::document::Table;
use crate::document::table::{Column, left, right};
use crate::measurement::{Figure, Measurement, Value};

const COLUMNS: [Column; 11] = [
    left("phase"),
    left("service"),
    right("committed"),
    right("received"),
    right("lost"),
    right("delay, median"),
    right("99.9 %"),
    right("greatest"),
    right("variation"),
    right("availability"),
    left(""),
];

/// Returns the report of an acceptance, or nothing for another method.
#[must_use]
pub fn table(measurement: &Measurement) -> Option<String> {
    let is_service = |figure: &&Figure| figure.quantity == "accepted";
    let services = measurement.figures.iter().filter(is_service);
    let table = Table::new(COLUMNS).rows(services.map(|verdict| row(measurement, verdict)));
    (measurement.method == METHOD.name).then(|| table.to_text())
}

fn row(measurement: &Measurement, verdict: &Figure) -> [String; 11] {
    let value = |quantity: &str| {
        let mut all = measurement.figures.iter();
        let found = all.find(|it| it.quantity == quantity && it.setting == verdict.setting);
        found.map(|figure| &figure.value)
    };
    let text = |quantity: &str| value(quantity).map_or_else(String::new, cell);
    let delay = |per_mille: u32| match value("frame transfer delay") {
        Some(Value::Times(times)) => times
            .quantile(per_mille)
            .map_or_else(String::new, |it| it.to_string()),
        Some(_) | None => "none".to_owned(),
    };
    let setting = |place: usize| {
        let chosen = verdict.setting.get(place);
        chosen.map_or_else(String::new, |(_, value)| value.clone())
    };
    [
        setting(0),
        setting(1),
        text("committed rate"),
        text("rate received"),
        text("frame loss ratio"),
        delay(500),
        delay(999),
        delay(1_000),
        text("frame delay variation"),
        text("availability"),
        match &verdict.value {
            Value::Count(1) => "accepted".to_owned(),
            Value::Unknown(reason) => reason.clone(),
            _ => "NOT ACCEPTED".to_owned(),
        },
    ]
}

fn cell(value: &Value) -> String {
    match value {
        Value::Time(length) => length.to_string(),
        Value::Rate(rate) | Value::RateAtLeast(rate) => rate.to_string(),
        Value::Size(size) => size.to_string(),
        Value::Count(count) | Value::CountAtLeast(count) => count.to_string(),
        Value::Share(share) => format!("{:.4} %", share * 100.0),
        Value::Unknown(_) => "none".to_owned(),
        Value::Times(_) | Value::Series(_) => String::new(),
    }
}
