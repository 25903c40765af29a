//! `cargo xtask cites`: which equations and requirements does the code cite,
//! where, and which test checks them?
//!
//! A test counts for a source if it cites it, or if it stands in the same file
//! as a function whose comment cites it, and calls that function.

use std::collections::BTreeMap;
use std::process::ExitCode;

use crate::check::sources;
use crate::citation::citations;
use crate::failure::Failure;
use crate::source::RustFile;
use crate::workspace::Workspace;

/// Names that many types share: calling one does not show which was meant.
const SHARED_NAMES: [&str; 12] = [
    "new", "default", "from", "fmt", "parse", "emit", "handle", "poll", "deadline", "next", "main",
    "check",
];

/// Which sources to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// All that are cited.
    All,
    /// Those that no test checks.
    Missing,
}

/// Where one source is cited.
#[derive(Debug, Default, PartialEq, Eq)]
struct Places {
    code: Vec<String>,
    tests: Vec<String>,
}

/// Prints the table.
///
/// # Errors
///
/// If a source cannot be read.
pub fn run(workspace: &Workspace, listing: Listing) -> Result<ExitCode, Failure> {
    let sources = sources(workspace)?;
    let cited = cited(
        sources
            .iter()
            .filter(|source| !source.path.starts_with("xtask")),
    );
    let untested = cited
        .values()
        .filter(|places| places.tests.is_empty())
        .count();
    let listed: Vec<(&str, &Places)> = cited
        .iter()
        .filter(|(_, places)| listing == Listing::All || places.tests.is_empty())
        .map(|((_, text), places)| (text.as_str(), places))
        .collect();
    print!("{}", table(&listed));
    println!("{} sources cited, {untested} without a test", cited.len());
    Ok(ExitCode::SUCCESS)
}

/// Collects the places of every source, in the order of their numbers.
fn cited<'a>(sources: impl Iterator<Item = &'a RustFile>) -> BTreeMap<(String, String), Places> {
    let mut cited: BTreeMap<(String, String), Places> = BTreeMap::new();
    for source in sources {
        for (citation, line) in citations(source) {
            let text = citation.text();
            let places = cited.entry((sort_key(&text), text)).or_default();
            let function = source.function_at(line).map(|it| it.name.as_str());
            let place = place(source, line, function);
            if source.is_test(line) {
                push_once(&mut places.tests, place);
            } else {
                push_once(&mut places.code, place);
                let tests = function
                    .map(|name| tests_that_call(source, name))
                    .unwrap_or_default();
                tests
                    .into_iter()
                    .for_each(|test| push_once(&mut places.tests, test));
            }
        }
    }
    cited
}

fn tests_that_call(source: &RustFile, name: &str) -> Vec<String> {
    if SHARED_NAMES.contains(&name) {
        return Vec::new();
    }
    let call = format!("{name}(");
    let tests = source
        .functions
        .iter()
        .filter(|it| source.is_test(*it.lines.start()));
    let calling = tests.filter(|test| {
        let body = &source.code[*test.lines.start()..*test.lines.end()];
        body.iter().any(|line| line.contains(&call))
    });
    calling
        .map(|it| place(source, *it.lines.start(), Some(&it.name)))
        .collect()
}

fn place(source: &RustFile, line: usize, function: Option<&str>) -> String {
    let path = source.path.display();
    function.map_or_else(
        || format!("{path}:{line}"),
        |name| format!("{path}:{line} {name}"),
    )
}

fn push_once(places: &mut Vec<String>, place: String) {
    if !places.contains(&place) {
        places.push(place);
    }
}

/// Pads numbers, so that `Eq. (9)` comes before `Eq. (10)`.
fn sort_key(text: &str) -> String {
    let mut key = String::new();
    let mut digits = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_ascii_digit() {
            digits.push(c);
        } else {
            if !digits.is_empty() {
                key.push_str(&format!("{digits:0>6}"));
                digits.clear();
            }
            key.push(c);
        }
    }
    key
}

fn table(rows: &[(&str, &Places)]) -> String {
    let source_width = width(rows.iter().map(|(text, _)| *text), "source");
    let code = rows
        .iter()
        .flat_map(|(_, places)| places.code.iter().map(String::as_str));
    let code_width = width(code, "cited in");
    let mut out = String::new();
    let mut push = |source: &str, code: &str, test: &str| {
        let line = format!("{source:source_width$}  {code:code_width$}  {test}");
        out.push_str(line.trim_end());
        out.push('\n');
    };
    push("source", "cited in", "tested by");
    for (text, places) in rows {
        for row in 0..places.code.len().max(places.tests.len()) {
            let cell = |column: &'_ [String]| column.get(row).cloned().unwrap_or_default();
            let none = row == 0 && places.tests.is_empty();
            let test = if none {
                "no test".to_owned()
            } else {
                cell(&places.tests)
            };
            push(if row == 0 { text } else { "" }, &cell(&places.code), &test);
        }
    }
    out
}

fn width<'a>(cells: impl Iterator<Item = &'a str>, title: &str) -> usize {
    cells
        .map(|cell| cell.chars().count())
        .max()
        .unwrap_or(0)
        .max(title.len())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Places, cited, sort_key, table};
    use crate::source::RustFile;

    const TEXT: &str = "\
/// The queue bound, LOKO Eq. (9).
fn queue_bound() {}

/// LOKO Eq. (10), S4-7.
fn new() {}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_bounded() {
        queue_bound();
        new();
    }

    // LOKO Table 2.
    #[test]
    fn figures() {}
}
";

    #[test]
    fn a_test_counts_if_it_cites_or_calls() {
        let source = RustFile::parse(Path::new("a.rs"), TEXT);

        let cited = cited([&source].into_iter());

        let found: Vec<_> = cited
            .iter()
            .map(|((_, text), it)| (text.as_str(), it))
            .collect();
        let expect = |code: &[&str], tests: &[&str]| Places {
            code: code.iter().map(ToString::to_string).collect(),
            tests: tests.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(
            found,
            [
                (
                    "LOKO Eq. (9)",
                    &expect(&["a.rs:1 queue_bound"], &["a.rs:10 it_is_bounded"])
                ),
                ("LOKO Eq. (10)", &expect(&["a.rs:4 new"], &[])),
                ("LOKO Table 2", &expect(&[], &["a.rs:15 figures"])),
                ("S4-7", &expect(&["a.rs:4 new"], &[])),
            ]
        );
    }

    #[test]
    fn the_table_has_a_line_a_place() {
        let places = Places {
            code: vec!["a.rs:1 f".to_owned(), "b.rs:22 g".to_owned()],
            tests: vec![],
        };

        let table = table(&[("S4-7", &places)]);

        assert_eq!(
            table,
            "source  cited in   tested by\nS4-7    a.rs:1 f   no test\n        b.rs:22 g\n"
        );
    }

    #[test]
    fn nine_comes_before_ten() {
        assert!(sort_key("LOKO Eq. (9)") < sort_key("LOKO Eq. (10)"));
    }
}
