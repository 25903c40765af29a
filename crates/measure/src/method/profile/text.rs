//! A measured profile as a file of the form of those in `profiles/`.

use std::fmt::Write as _;

use crate::measurement::{Figure, Measurement, Value};

/// The tables of a profile, in the order of the file.
const TABLES: [&str; 4] = ["processing", "lookup", "buffers", "control"];

/// What the name of a figure begins with that is a value of a profile.
pub(super) const PREFIX: &str = "profile ";

/// Returns the file, or nothing if the measurement is none of a profile or lacks a
/// value.
#[must_use]
pub fn to_toml(measurement: &Measurement) -> Option<String> {
    let mut text = String::new();
    let about = format!("{}, measured from outside", measurement.device);
    writeln!(text, "about = {}", quoted(&about)).ok()?;
    for table in TABLES {
        let mut values = measurement.figures.iter().filter_map(|figure| {
            let name = figure.quantity.strip_prefix(PREFIX)?;
            let (of, key) = name.split_once('.')?;
            (of == table).then_some((key, figure))
        });
        let Some(first) = values.next() else {
            if table == "lookup" {
                continue;
            }
            return None;
        };
        write!(text, "\n[{table}]\n").ok()?;
        for (key, figure) in std::iter::once(first).chain(values) {
            writeln!(text, "{key} = {}", stated(figure)?).ok()?;
        }
    }
    Some(text)
}

fn stated(figure: &Figure) -> Option<String> {
    let value = match &figure.value {
        Value::Time(time) => format!("\"{} ns\"", time.as_ns()),
        Value::Count(count) => count.to_string(),
        Value::Times(_)
        | Value::Series(_)
        | Value::Rate(_)
        | Value::RateAtLeast(_)
        | Value::CountAtLeast(_)
        | Value::Size(_)
        | Value::Share(_)
        | Value::Unknown(_) => {
            return None;
        }
    };
    let origin = figure.setting.iter().find(|(name, _)| name == "origin");
    let origin = origin.map_or("measured", |(_, value)| value.as_str());
    let note = quoted(&figure.source);
    Some(format!(
        "{{ value = {value}, origin = \"{origin}\", note = {note} }}"
    ))
}

/// Returns a basic string of TOML.
fn quoted(text: &str) -> String {
    let plain = text.chars().map(|character| match character {
        '"' => '\'',
        '\\' => '/',
        character if character.is_control() => ' ',
        character => character,
    });
    format!("\"{}\"", plain.collect::<String>())
}
