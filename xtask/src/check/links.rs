//! Holds the documents to their links: what a Markdown file points to in this
//! repository has to be there.

use std::path::{Component, Path, PathBuf};

use crate::failure::Failure;
use crate::finding::Finding;
use crate::workspace::Workspace;

/// Checks every relative link of every Markdown file.
///
/// # Errors
///
/// If a file cannot be read.
pub fn check(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for path in workspace.with_extension("md") {
        for (target, line) in relative_links(&workspace.read(path)?) {
            if !workspace.has(&resolve(path, &target)) {
                let text = format!("the link to `{target}` leads nowhere");
                findings.push(Finding::in_line(path, line, text));
            }
        }
    }
    Ok(findings)
}

/// Returns the targets of `[text](target)` outside code, with their lines,
/// without anchors and without links to other sites.
fn relative_links(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect();
        for after in prose.split("](").skip(1) {
            let target = after.split(')').next().unwrap_or_default();
            let file = target.split('#').next().unwrap_or_default();
            if !file.is_empty() && !file.contains("://") && !file.starts_with("mailto:") {
                found.push((file.to_owned(), index + 1));
            }
        }
    }
    found
}

/// Returns the path that `target` means in the file at `from`.
fn resolve(from: &Path, target: &str) -> PathBuf {
    let mut path = from.parent().unwrap_or(Path::new("")).to_path_buf();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::Normal(name) => path.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{relative_links, resolve};

    #[test]
    fn links_into_the_repository_are_found() {
        let text = "\
See [this](docs/a.md#top) and [that](../b.md).
Not [there](https://example.org/c.md), not [here](#top), not `[code](d.md)`.
```
[nor](e.md)
```
";

        let found = relative_links(text);

        assert_eq!(
            found,
            [("docs/a.md".to_owned(), 1), ("../b.md".to_owned(), 1)]
        );
    }

    #[test]
    fn a_link_is_relative_to_its_file() {
        let from = Path::new("docs/decisions/0001.md");

        assert_eq!(
            resolve(from, "../papers.md"),
            PathBuf::from("docs/papers.md")
        );
        assert_eq!(
            resolve(from, "0002.md"),
            PathBuf::from("docs/decisions/0002.md")
        );
    }
}
