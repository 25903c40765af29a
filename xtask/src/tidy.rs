//! `cargo xtask tidy`: mends what a machine can mend: the format of the code,
//! and spaces at the end of lines and missing line ends in other text files.

use std::path::Path;
use std::process::ExitCode;

use crate::cargo::Cargo;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// Files whose lines are ours to trim. Rust is left to `cargo fmt`, which knows
/// where a string begins.
const TEXT: [&str; 6] = ["toml", "md", "css", "html", "js", "sh"];
/// Folders that hold others' bytes, which stay as they came.
const AS_THEY_CAME: [&str; 2] = ["vectors", "imports"];

/// Tidies the workspace and prints each file that changed.
///
/// # Errors
///
/// If a file cannot be read or written, or `cargo` cannot be started.
pub fn run(workspace: &Workspace) -> Result<ExitCode, Failure> {
    let formatted = Cargo::new(workspace).run(&["fmt", "--all"])?;
    for path in workspace.files().iter().filter(|path| is_ours(path)) {
        let text = workspace.read(path)?;
        let mended = mend(&text);
        if mended != text {
            workspace.write(path, &mended)?;
            println!("mended {}", path.display());
        }
    }
    Ok(if formatted {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn is_ours(path: &Path) -> bool {
    let extension = path
        .extension()
        .and_then(|it| it.to_str())
        .unwrap_or_default();
    let foreign = path
        .iter()
        .any(|part| AS_THEY_CAME.iter().any(|folder| part == *folder));
    TEXT.contains(&extension) && !foreign
}

/// Removes spaces before line ends and empty lines at the end of a file, and
/// ends the last line.
fn mend(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let last = lines
        .iter()
        .rposition(|line| !line.is_empty())
        .map_or(0, |at| at + 1);
    lines[..last]
        .iter()
        .flat_map(|line| [*line, "\n"])
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{is_ours, mend};

    #[test]
    fn line_ends_are_mended() {
        for (text, mended) in [
            ("a  \nb", "a\nb\n"),
            ("a\r\n\n\n", "a\n"),
            ("", ""),
            ("a\n\nb\n", "a\n\nb\n"),
        ] {
            assert_eq!(mend(text), mended, "of {text:?}");
        }
    }

    #[test]
    fn the_bytes_of_others_stay_as_they_came() {
        assert!(is_ours(Path::new("docs/glossary.md")));
        assert!(!is_ours(Path::new("crates/wire/tests/vectors/origin.md")));
        assert!(!is_ours(Path::new("crates/wire/src/lib.rs")));
    }
}
