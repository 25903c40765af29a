//! A measurement as a table for spreadsheets: a row for each figure (RFC 4180).
//!
//! Every row repeats the device and the method, so that tables of several measurements
//! can be put below each other. Numbers are in the unit of their row.

use super::{Figure, Measurement, Value};
use crate::document::Table;
use crate::document::table::left;
use crate::method::point_name;

/// The heads of the columns.
const COLUMNS: [&str; 21] = [
    "device",
    "method",
    "quick",
    "quantity",
    "source",
    "setting",
    "unit",
    "value",
    "count",
    "min",
    "mean",
    "deviation",
    "p1",
    "p25",
    "p50",
    "p75",
    "p99",
    "p999",
    "max",
    "p50_low",
    "p50_high",
];

impl Measurement {
    /// Returns the figures as a table. A series of times has a row of its own only in
    /// the JSON document.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let rows = self.figures.iter().filter_map(|figure| {
            let head = [
                self.device.clone(),
                self.method.clone(),
                self.quick.to_string(),
                figure.quantity.clone(),
                figure.source.clone(),
                point_name(&figure.setting),
            ];
            Some(head.into_iter().chain(cells(figure)?))
        });
        Table::new(COLUMNS.map(left)).rows(rows).to_csv()
    }
}

/// Returns the unit, the value, and of lengths of time the figures of the distribution.
fn cells(figure: &Figure) -> Option<Vec<String>> {
    let one = |unit: &str, value: String| Some(vec![unit.to_owned(), value]);
    match &figure.value {
        Value::Times(times) => {
            let Some(summary) = times.summary() else {
                return one("ns", "none".to_owned());
            };
            let mut cells = vec!["ns".to_owned(), summary.p50.as_ns().to_string()];
            cells.push(summary.count.to_string());
            let deviation = times.deviation().map(|it| it.as_ns().to_string());
            cells.push(summary.min.as_ns().to_string());
            cells.push(summary.mean.as_ns().to_string());
            cells.push(deviation.unwrap_or_default());
            for per_mille in [10, 250, 500, 750, 990, 999] {
                let quantile = times.quantile(per_mille).unwrap_or_default();
                cells.push(quantile.as_ns().to_string());
            }
            cells.push(summary.max.as_ns().to_string());
            if let Some((low, high)) = times.confidence(500) {
                cells.extend([low, high].map(|bound| bound.as_ns().to_string()));
            }
            Some(cells)
        }
        Value::Time(time) => one("ns", time.as_ns().to_string()),
        Value::Rate(rate) => one("bit/s", rate.as_bps().to_string()),
        Value::RateAtLeast(rate) => one("bit/s at least", rate.as_bps().to_string()),
        Value::Size(size) => one("bytes", size.bytes_up().to_string()),
        Value::Count(count) => one("", count.to_string()),
        Value::CountAtLeast(count) => one("at least", count.to_string()),
        Value::Share(share) => one("of 1", share.to_string()),
        Value::Unknown(reason) => one("", format!("unknown: {reason}")),
        Value::Series(_) => None,
    }
}
