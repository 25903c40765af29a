//! Tables that a program writes into a document, between two markers.

use std::fs;
use std::path::Path;

use crate::failure::Failure;

/// Puts the tables of a file where those of an earlier run stand.
///
/// # Errors
///
/// If a file cannot be read or written, or the document has no such place.
pub fn record(name: &str, tables: &Path, document: &Path) -> Result<(), Failure> {
    let tables = fs::read_to_string(tables).map_err(Failure::at(tables))?;
    let text = fs::read_to_string(document).map_err(Failure::at(document))?;
    let text = replace(name, &text, &tables).ok_or_else(|| {
        Failure::Missing(format!(
            "{} has no place between {:?} and {:?}",
            document.display(),
            begin(name),
            end(name)
        ))
    })?;
    fs::write(document, text).map_err(Failure::at(document))
}

fn begin(name: &str) -> String {
    format!("<!-- {name}: begin -->\n")
}

fn end(name: &str) -> String {
    format!("<!-- {name}: end -->")
}

/// Puts `tables` where those of an earlier run stand.
fn replace(name: &str, text: &str, tables: &str) -> Option<String> {
    let (begin, end) = (begin(name), end(name));
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!(
        "{before}{begin}\n{}\n\n{end}{after}",
        tables.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_take_the_place_of_earlier_ones_and_of_nothing_else() {
        let (begin, end) = (begin("x"), end("x"));
        let text = format!("before\n{begin}\nold\n\n{end}\nafter\n");

        let replaced = replace("x", &text, "new\n").unwrap();

        assert_eq!(replaced, format!("before\n{begin}\nnew\n\n{end}\nafter\n"));
        assert_eq!(replace("x", "no place", "new"), None);
    }
}
