//! A comparison for programs.

use serde_json::{Value as Json, json};

use super::effect::{Basis, Effect};
use super::{Comparison, Row, Verdict};
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
        "effect": row.effect.as_ref().map(effect),
        "better": match row.verdict {
            Verdict::First => "first",
            Verdict::Second => "second",
            Verdict::Alike => "alike",
            Verdict::Open => "open",
        },
    })
}

fn effect(effect: &Effect) -> Json {
    let bounds = effect.bounds.map(|(low, high)| json!([low, high]));
    let superiority = effect.superiority.map(|it| {
        let (low, high) = it.bounds;
        json!({"share": it.share, "bounds": [low, high]})
    });
    json!({
        "ratio": effect.ratio,
        "bounds": bounds,
        "basis": match effect.basis {
            Basis::Rounds => "rounds",
            Basis::Values => "values",
        },
        "superiority": superiority,
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
