//! A comparison for programs.

use serde_json::{Value as Json, json};

use super::{Comparison, Row};
use crate::measurement::Value;

#[must_use]
pub fn document(comparison: &Comparison) -> Json {
    let [first, second] = &comparison.devices;
    json!({
        "devices": [first, second],
        "quick": comparison.quick,
        "headline": super::headline::headline(comparison),
        "conditions": {
            "first": comparison.sides[0].document(),
            "second": comparison.sides[1].document(),
        },
        "rows": comparison.rows.iter().map(row).collect::<Vec<_>>(),
        "only_first": comparison.only[0],
        "only_second": comparison.only[1],
        "remarks": comparison.remarks,
    })
}

fn row(row: &Row) -> Json {
    let setting = row.setting.iter();
    let setting = setting.map(|(name, value)| (name.clone(), Json::from(value.as_str())));
    json!({
        "method": row.method,
        "quantity": row.quantity,
        "source": row.source,
        "setting": setting.collect::<serde_json::Map<_, _>>(),
        "first": value(&row.values[0]),
        "second": value(&row.values[1]),
        "effect": row.effect,
        "better": row.verdict,
    })
}

/// Returns a value under a key that names its unit; of lengths of time the median.
fn value(value: &Value) -> Json {
    match value {
        Value::Times(times) => json!({"median_ns": times.quantile(500).map(|it| it.as_ns())}),
        Value::Series(_) => Json::Null,
        _ => json!(value),
    }
}
