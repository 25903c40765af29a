//! The formats of a scenario and of a device profile as JSON Schemas, for editors and other programs.
//!
//! They follow from the same tables as the reader. What they cannot say, such as
//! that a flow's `from` is a host of the file, only the reader checks.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::format::{FILE, PROFILE};
use crate::mistake::LONGEST_NAME;
use crate::shape::{Keys, NEVER, Need, TableShape, ValueShape, Zero};

/// A number as the reader takes it: digits, with `_` between them if wanted,
/// and decimals.
const NUMBER: &str = r"[0-9][0-9_]*(\.[0-9_]*[0-9][0-9_]*)?";
const TIMES: &str = "ns|us|µs|μs|ms|s|min|h";
const RATES: &str = "bit/s|kbit/s|Mbit/s|Gbit/s|Tbit/s";
const SIZES: &str = "bit|kbit|Mbit|Gbit|B|kB|KiB|MB|MiB|GB";
const LENGTHS: &str = "km|m";

/// Returns the JSON Schema of a scenario file, as its text.
#[must_use]
pub fn json_schema() -> String {
    document("Taktos scenario", &FILE)
}

/// Returns the JSON Schema of a device profile, as its text.
#[must_use]
pub fn profile_schema() -> String {
    document("Taktos device profile", &PROFILE)
}

fn document(title: &str, table: &'static TableShape) -> String {
    let mut tables = BTreeMap::new();
    let mut schema = Map::new();
    schema.insert(
        "$schema".to_owned(),
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    schema.insert("title".to_owned(), json!(title));
    for (key, value) in object(table, &mut tables) {
        schema.insert(key, value);
    }
    let definitions = tables
        .into_iter()
        .map(|(name, table)| (name, Value::Object(table)));
    schema.insert("$defs".to_owned(), Value::Object(definitions.collect()));
    let text = serde_json::to_string_pretty(&Value::Object(schema));
    text.expect("a schema of texts and numbers can be written") + "\n"
}

/// Returns the schema of a table; adds those that it refers to.
fn object(
    table: &TableShape,
    tables: &mut BTreeMap<String, Map<String, Value>>,
) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in table.keys {
        let mut schema = schema_of(&key.shape, tables);
        schema.insert("description".to_owned(), json!(key.about));
        properties.insert(key.name.to_owned(), Value::Object(schema));
        match key.need {
            Need::Required => required.push(key.name),
            Need::Optional => {}
        }
    }
    fields([
        ("type", json!("object")),
        ("properties", Value::Object(properties)),
        ("required", json!(required)),
        ("additionalProperties", json!(false)),
    ])
}

fn schema_of(
    shape: &ValueShape,
    tables: &mut BTreeMap<String, Map<String, Value>>,
) -> Map<String, Value> {
    match shape {
        ValueShape::Text => fields([("type", json!("string"))]),
        ValueShape::Time(_) | ValueShape::Delay(_) => quantity(TIMES, shape),
        ValueShape::TimeOrNever => fields([(
            "anyOf",
            json!([quantity(TIMES, &ValueShape::Time(Zero::Refused)), { "const": NEVER }]),
        )]),
        ValueShape::Rate => quantity(RATES, shape),
        ValueShape::Size => quantity(SIZES, shape),
        ValueShape::Length => quantity(LENGTHS, shape),
        ValueShape::Integer { least, most } => fields([
            ("type", json!("integer")),
            ("minimum", json!(least)),
            ("maximum", json!(most)),
        ]),
        ValueShape::Number => fields([("type", json!("integer")), ("minimum", json!(0))]),
        ValueShape::Factor => fields([
            ("type", json!("number")),
            ("exclusiveMinimum", json!(1)),
            ("maximum", json!(1000)),
        ]),
        ValueShape::Percent => quantity("%", shape),
        ValueShape::Choice(choice) => fields([("enum", json!(choice.words))]),
        ValueShape::Mac => pattern("^([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}$", shape),
        ValueShape::Address => pattern(r"^([0-9]{1,3}\.){3}[0-9]{1,3}$", shape),
        ValueShape::Table(table) => {
            let name = definition_name(table);
            if !tables.contains_key(&name) {
                let schema = object(table, tables);
                tables.insert(name.clone(), schema);
            }
            fields([("$ref", json!(format!("#/$defs/{name}")))])
        }
        ValueShape::Map(keys, shape) => fields([
            ("type", json!("object")),
            ("propertyNames", json!({ "pattern": key_pattern(*keys) })),
            (
                "additionalProperties",
                Value::Object(schema_of(shape, tables)),
            ),
        ]),
        ValueShape::List(shape) => fields([
            ("type", json!("array")),
            ("items", Value::Object(schema_of(shape, tables))),
        ]),
        ValueShape::AnyOf(shapes) => {
            let schemas = shapes
                .iter()
                .map(|shape| Value::Object(schema_of(shape, tables)));
            fields([("anyOf", schemas.collect())])
        }
    }
}

fn quantity(units: &str, shape: &ValueShape) -> Map<String, Value> {
    pattern(&format!(r"^\s*{NUMBER}\s*({units})\s*$"), shape)
}

fn pattern(pattern: &str, shape: &ValueShape) -> Map<String, Value> {
    fields([
        ("type", json!("string")),
        ("pattern", json!(pattern)),
        ("examples", json!([shape.example().1])),
    ])
}

fn key_pattern(keys: Keys) -> String {
    match keys {
        Keys::Names => format!(
            r"^[\p{{L}}\p{{N}}][\p{{L}}\p{{N}}_.-]{{0,{}}}$",
            LONGEST_NAME - 1
        ),
        Keys::Rates => format!(r"^\s*{NUMBER}\s*({RATES})\s*$"),
    }
}

/// Returns the name of a table's definition: its title without what makes it a
/// phrase.
fn definition_name(table: &TableShape) -> String {
    let title = table.title.trim_matches(['[', ']']);
    let noun = ["a ", "an ", "the "]
        .iter()
        .find_map(|article| title.strip_prefix(article));
    noun.unwrap_or(title).replace(' ', "_")
}

fn fields<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    let fields = fields.into_iter();
    fields.map(|(key, value)| (key.to_owned(), value)).collect()
}
