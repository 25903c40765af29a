//! Whether the two texts that say where everything stands say the same.

use std::collections::BTreeMap;

use super::super::layout::Region;

/// The files, each with the module that it is.
const RUST: [(Option<&str>, &str); 8] = [
    (None, include_str!("../layout.rs")),
    (
        Some("FRAME_TIMES"),
        include_str!("../layout/frame_times.rs"),
    ),
    (Some("STREAM"), include_str!("../layout/stream.rs")),
    (Some("HANDED"), include_str!("../layout/handed.rs")),
    (Some("OPERATION"), include_str!("../layout/operation.rs")),
    (Some("HOP"), include_str!("../layout/hop.rs")),
    (Some("MODES"), include_str!("../layout/modes.rs")),
    (Some("MONITOR"), include_str!("../layout/monitor.rs")),
];
const C: &str = include_str!("../../../../linux/bpf/layout.h");

#[test]
fn the_layout_is_the_same_in_rust_and_in_c() {
    assert_eq!(rust(), c());
}

/// Returns the constants of modules, by the names that they have in C, and the
/// lengths of records.
fn rust() -> BTreeMap<String, String> {
    let mut constants = BTreeMap::new();
    for (module, text) in RUST {
        add_all(&mut constants, module.map(str::to_owned), text);
    }
    for region in Region::ALL {
        let name = format!("{}_RECORD_WORDS", region.name().to_uppercase());
        constants.insert(name, region.record_words().to_string());
    }
    constants
}

/// Adds the constants of a file and of the modules in it.
fn add_all(constants: &mut BTreeMap<String, String>, mut prefix: Option<String>, file: &str) {
    for line in file.lines() {
        let text = line.trim();
        if let Some(module) = text.strip_prefix("pub mod ") {
            prefix = module.strip_suffix(" {").map(str::to_uppercase);
        } else if line == "}" {
            prefix = None;
        } else if let Some(constant) = text.strip_prefix("pub const ")
            && let Some((name, value)) = constant.split_once(" = ")
            && let Some((name, _)) = name.split_once(": ")
        {
            add(constants, prefix.as_deref(), name, value);
        }
    }
}

/// Adds a constant; of an array, each of its elements.
fn add(constants: &mut BTreeMap<String, String>, module: Option<&str>, name: &str, value: &str) {
    let name = match (module, name) {
        (Some(module), name) => format!("{module}_{name}"),
        (None, "ALL") => return,
        (None, "VERSION") => "LAYOUT_VERSION".to_owned(),
        (None, name) => name.to_owned(),
    };
    let value = value.trim_end_matches(';');
    match value.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
        Some(elements) => {
            for (at, element) in elements.split(", ").enumerate() {
                constants.insert(format!("{name}_{at}"), element.to_owned());
            }
        }
        None => {
            constants.insert(name, value.replace("u64::MAX", "~0"));
        }
    }
}

fn c() -> BTreeMap<String, String> {
    let defines = C.lines().filter_map(|line| line.strip_prefix("#define "));
    let pairs = defines.filter_map(|line| line.split_once(' '));
    pairs
        .map(|(name, value)| (name.to_owned(), plain(value)))
        .collect()
}

/// Returns a constant of C as Rust writes it: without type and parentheses.
fn plain(value: &str) -> String {
    let value = value.trim().trim_matches(['(', ')']);
    let parts = value.split(' ');
    let parts = parts.map(|part| part.trim_end_matches("ull").trim_end_matches('u'));
    parts.collect::<Vec<_>>().join(" ")
}
