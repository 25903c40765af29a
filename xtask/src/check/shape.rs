//! Holds files and functions to a size that can be read, and to names that say
//! what is in them.

use crate::finding::Finding;
use crate::source::RustFile;

/// A file without its tests above this many lines is two things.
const FILE_LINES_MAX: usize = 1_000;
/// A file without its tests above this many lines probably has a seam.
const FILE_LINES_SEAM: usize = 600;
/// A function above this many lines cannot be read without scrolling.
const FUNCTION_LINES_MAX: usize = 70;
/// Names under which anything could be found.
const EMPTY_NAMES: [&str; 5] = ["utils", "common", "helpers", "misc", "manager"];
/// Macros for work that is not done.
const UNFINISHED: [&str; 3] = ["todo!", "unimplemented!", "dbg!"];
/// Words in a comment for work that is not done.
const PROMISES: [&str; 2] = ["TODO", "FIXME"];

/// Checks one file.
pub fn check(source: &RustFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(check_name(source));
    findings.extend(check_length(source));
    findings.extend(check_functions(source));
    findings.extend(check_words(source));
    findings
}

fn check_name(source: &RustFile) -> Option<Finding> {
    let names = source.path.iter().filter_map(|part| part.to_str());
    let mut stems = names.map(|name| name.strip_suffix(".rs").unwrap_or(name));
    let empty = stems.find(|stem| EMPTY_NAMES.contains(stem))?;
    let text = format!("`{empty}` could hold anything: name the file after what it holds");
    Some(Finding::in_file(&source.path, text))
}

fn check_length(source: &RustFile) -> Option<Finding> {
    let lines = (1..=source.lines.len())
        .filter(|&line| !source.is_test(line))
        .count();
    let text = format!("{lines} lines without tests");
    if lines > FILE_LINES_MAX {
        Some(Finding::in_file(
            &source.path,
            format!("{text}: at most {FILE_LINES_MAX}"),
        ))
    } else if lines > FILE_LINES_SEAM {
        let text = format!("{text}: look for the seam above {FILE_LINES_SEAM}");
        Some(Finding::in_file(&source.path, text).into_warning())
    } else {
        None
    }
}

fn check_functions(source: &RustFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for function in &source.functions {
        let lines = function.lines.clone().count();
        if lines > FUNCTION_LINES_MAX {
            let text = format!(
                "`{}` has {lines} lines: at most {FUNCTION_LINES_MAX}",
                function.name
            );
            findings.push(Finding::in_line(
                &source.path,
                *function.lines.start(),
                text,
            ));
        }
    }
    findings
}

fn check_words(source: &RustFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, (line, code)) in source.lines.iter().zip(&source.code).enumerate() {
        if let Some(word) = UNFINISHED.iter().find(|word| code.contains(**word)) {
            let text = format!("`{word}` marks unfinished work");
            findings.push(Finding::in_line(&source.path, index + 1, text));
        }
        let comment = line
            .find("//")
            .filter(|&at| code.get(at..).is_none_or(|it| it.trim().is_empty()));
        let comment = comment.map_or("", |at| &line[at..]);
        if let Some(word) = PROMISES.iter().find(|word| comment.contains(**word)) {
            let text = format!("`{word}`: open an issue, or do it");
            findings.push(Finding::in_line(&source.path, index + 1, text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{FILE_LINES_MAX, FILE_LINES_SEAM, FUNCTION_LINES_MAX, check};
    use crate::finding::{Finding, Severity};
    use crate::source::RustFile;

    #[test]
    fn a_name_that_says_nothing_is_refused() {
        assert_eq!(findings_in("crates/a/src/utils.rs", "").len(), 1);
        assert_eq!(findings_in("crates/a/src/helpers/x.rs", "").len(), 1);
        assert_eq!(findings_in("crates/a/src/flow_table.rs", "").len(), 0);
    }

    #[test]
    fn a_long_file_is_warned_of_and_a_longer_one_refused() {
        let seam = findings_in("src/a.rs", &"\n".repeat(FILE_LINES_SEAM + 1));
        let long = findings_in("src/a.rs", &"\n".repeat(FILE_LINES_MAX + 1));

        assert_eq!(
            seam.iter().map(|it| it.severity).collect::<Vec<_>>(),
            [Severity::Warning]
        );
        assert_eq!(
            long.iter().map(|it| it.severity).collect::<Vec<_>>(),
            [Severity::Error]
        );
    }

    #[test]
    fn tests_do_not_count_towards_the_length_of_a_file() {
        let body = "\n".repeat(FILE_LINES_MAX);
        let text = format!("fn f() {{}}\n\n#[cfg(test)]\nmod tests {{{body}}}\n");

        assert_eq!(findings_in("src/a.rs", &text), []);
    }

    #[test]
    fn a_function_may_just_fill_a_screen() {
        let fits = format!("fn f() {{{}}}\n", "\n".repeat(FUNCTION_LINES_MAX - 1));
        let scrolls = format!("fn f() {{{}}}\n", "\n".repeat(FUNCTION_LINES_MAX));

        assert_eq!(findings_in("src/a.rs", &fits), []);
        assert_eq!(findings_in("src/a.rs", &scrolls).len(), 1);
    }

    #[test]
    fn unfinished_work_is_found_in_code_and_comments_and_nowhere_else() {
        assert_eq!(findings_in("src/a.rs", "fn f() { todo!() }\n").len(), 1);
        assert_eq!(
            findings_in("src/a.rs", "let x = 1; // TODO: more\n").len(),
            1
        );
        assert_eq!(
            findings_in("src/a.rs", "let x = \"todo!() // TODO\";\n"),
            []
        );
    }

    fn findings_in(path: &str, text: &str) -> Vec<Finding> {
        check(&RustFile::parse(Path::new(path), text))
    }
}
