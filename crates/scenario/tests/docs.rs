//! What `docs/` says of the format is what the reader does.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

const WRITE: &str = "run: cargo run -p scenario --example format";

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
}

#[test]
fn the_schema_is_up_to_date() {
    let written = fs::read_to_string(folder("docs/scenario.schema.json")).unwrap();

    assert!(written == scenario::json_schema(), "{WRITE}");
}

#[test]
fn the_schema_of_profiles_is_up_to_date() {
    let written = fs::read_to_string(folder("docs/profile.schema.json")).unwrap();

    assert!(written == scenario::profile_schema(), "{WRITE}");
}

#[test]
fn the_schema_of_profiles_takes_those_that_are_there() {
    let schema: Value = serde_json::from_str(&scenario::profile_schema()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();

    for entry in fs::read_dir(folder("profiles")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let file: toml::Value = toml::from_str(&text).unwrap();
        let file = serde_json::to_value(file).unwrap();

        let mistakes = schema.iter_errors(&file).map(|error| error.to_string());

        assert_eq!(mistakes.collect::<Vec<_>>(), [""; 0]);
    }
}

#[test]
fn the_reference_is_up_to_date() {
    let written = fs::read_to_string(folder("docs/scenario.md")).unwrap();

    assert!(
        written
            .trim_end()
            .ends_with(scenario::reference().trim_end()),
        "{WRITE}"
    );
}

#[test]
fn the_schema_takes_what_the_reader_takes() {
    let schema: Value = serde_json::from_str(&scenario::json_schema()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();

    for entry in fs::read_dir(folder("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let file: toml::Value = toml::from_str(&text).unwrap();
        let file = serde_json::to_value(file).unwrap();

        let mistakes: Vec<_> = schema
            .iter_errors(&file)
            .map(|error| error.to_string())
            .collect();

        let malformed = path.ends_with("malformed.toml");
        assert_eq!(
            mistakes.is_empty(),
            !malformed,
            "{}: {mistakes:?}",
            path.display()
        );
    }
}
