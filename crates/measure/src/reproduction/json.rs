//! Experiments for programs.

use serde_json::{Value, json};

use super::Reproduction;

/// Returns one experiment as a JSON document.
///
/// # Panics
///
/// Never: there is nothing in it that JSON cannot say.
#[must_use]
pub fn document(reproduction: &Reproduction) -> Value {
    serde_json::to_value(reproduction).expect("it has string keys and is written to memory")
}

/// Returns all experiments of one call as a JSON document: that of the only one,
/// or a list.
#[must_use]
pub fn documents(reproductions: &[Reproduction]) -> Value {
    match reproductions {
        [only] => document(only),
        several => json!(several.iter().map(document).collect::<Vec<_>>()),
    }
}
