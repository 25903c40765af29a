//! A Rust file, with its functions and its tests found.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::blank::{blank, is_word};

/// One Rust file.
#[derive(Debug)]
pub struct RustFile {
    /// The file, relative to the root of the workspace.
    pub path: PathBuf,
    /// Its lines as written.
    pub lines: Vec<String>,
    /// Its lines without comments and literals.
    pub code: Vec<String>,
    /// Its functions, in order of their first line.
    pub functions: Vec<Function>,
    tests: Vec<RangeInclusive<usize>>,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Where its comment and attributes begin, counted from 1.
    pub top: usize,
    /// The lines from `fn` to the closing brace, counted from 1.
    pub lines: RangeInclusive<usize>,
}

impl RustFile {
    /// Reads `text` as the Rust file at `path`.
    pub fn parse(path: &Path, text: &str) -> Self {
        let blanked = blank(text);
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let functions = functions(&blanked, &lines);
        Self {
            path: path.to_path_buf(),
            lines,
            code: blanked.lines().map(str::to_owned).collect(),
            functions,
            tests: test_items(&blanked),
        }
    }

    /// Returns whether the line, counted from 1, is part of a test.
    pub fn is_test(&self, line: usize) -> bool {
        is_test_file(&self.path) || self.tests.iter().any(|lines| lines.contains(&line))
    }

    /// Returns the innermost function that the line belongs to, its comment
    /// and attributes included.
    pub fn function_at(&self, line: usize) -> Option<&Function> {
        let holds = |it: &&Function| (it.top..=*it.lines.end()).contains(&line);
        self.functions.iter().filter(holds).max_by_key(|it| it.top)
    }
}

/// Returns whether the whole file at `path` is test code.
fn is_test_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "tests.rs")
        || path.iter().any(|part| part == "tests")
}

/// Finds every `fn name … { … }` in blanked code.
fn functions(blanked: &str, lines: &[String]) -> Vec<Function> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut previous = ' ';
    for (at, c) in blanked.char_indices() {
        let rest = &blanked[at..];
        if !is_word(previous)
            && let Some(after) = rest.strip_prefix("fn ")
            && let name = after
                .trim_start()
                .split(|c| !is_word(c))
                .next()
                .unwrap_or_default()
            && !name.is_empty()
            && let Some(body) = body_lines(rest)
        {
            let top = top_of_item(lines, line);
            found.push(Function {
                name: name.to_owned(),
                top,
                lines: line..=line + body,
            });
        }
        line += usize::from(c == '\n');
        previous = c;
    }
    found
}

/// Returns the number of line breaks from the start of `code` to the brace that
/// closes the first block, or `None` if a `;` ends the item before any block.
fn body_lines(code: &str) -> Option<usize> {
    let mut line_breaks = 0;
    let mut braces = 0_usize;
    let mut brackets = 0_i32;
    for c in code.chars() {
        match c {
            '\n' => line_breaks += 1,
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            '{' => braces += 1,
            '}' if braces <= 1 => return (braces == 1).then_some(line_breaks),
            '}' => braces -= 1,
            ';' if braces == 0 && brackets == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Returns the line where the comment and attributes above `line` begin.
fn top_of_item(lines: &[String], line: usize) -> usize {
    let above = lines.iter().take(line - 1).rev();
    let attached = above.take_while(|it| {
        let it = it.trim_start();
        it.starts_with("///") || it.starts_with("// ") || it.starts_with("#[")
    });
    line - attached.count()
}

/// Finds the lines of every item under `#[cfg(test)]`.
fn test_items(blanked: &str) -> Vec<RangeInclusive<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for (index, line) in blanked.lines().enumerate() {
        let attribute = line.trim_start();
        let applies =
            attribute.starts_with("#[cfg(test)]") || attribute.starts_with("#[cfg(all(test");
        if applies {
            let body = blanked.get(start..).and_then(body_lines).unwrap_or(1);
            found.push(index + 1..=index + 1 + body);
        }
        start += line.len() + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::RustFile;

    const TEXT: &str = "\
//! A module.

/// Returns two, S4-7.
#[must_use]
pub fn two(of: [u8; 2]) -> u32 {
    fn inner() {}
    2
}

trait Empty {
    fn nothing(&self);
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_is_two() {
        assert_eq!(super::two([1, 2]), 2, \"}\");
    }
}
";

    #[test]
    fn functions_are_found_with_their_comments() {
        let source = RustFile::parse(Path::new("src/two.rs"), TEXT);

        let found: Vec<_> = source
            .functions
            .iter()
            .map(|it| (it.name.as_str(), it.top, it.lines.clone()))
            .collect();

        assert_eq!(
            found,
            [
                ("two", 3, 5..=8),
                ("inner", 6, 6..=6),
                ("two_is_two", 16, 17..=19)
            ]
        );
        assert_eq!(
            source.function_at(3).map(|it| it.name.as_str()),
            Some("two")
        );
        assert_eq!(source.function_at(1), None);
    }

    #[test]
    fn the_test_part_begins_at_its_attribute() {
        let source = RustFile::parse(Path::new("src/two.rs"), TEXT);

        let tests: Vec<usize> = (1..=source.lines.len())
            .filter(|&it| source.is_test(it))
            .collect();

        assert_eq!(tests, (14..=20).collect::<Vec<_>>());
    }

    #[test]
    fn a_file_of_tests_is_all_test() {
        for path in ["crates/sim/tests/cut.rs", "crates/wire/src/lldp/tests.rs"] {
            assert!(
                RustFile::parse(Path::new(path), "fn f() {}\n").is_test(1),
                "{path}"
            );
        }
    }
}
