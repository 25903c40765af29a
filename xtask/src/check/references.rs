//! Holds citations to their lists: a requirement or a paper that the code cites
//! has to be in `docs/requirements.md` or `docs/papers.md`.

use std::collections::BTreeSet;
use std::path::Path;

use crate::citation::{citations, is_listed, listed_keys};
use crate::failure::Failure;
use crate::finding::Finding;
use crate::source::RustFile;
use crate::workspace::Workspace;

const REQUIREMENTS: &str = "docs/requirements.md";
const PAPERS: &str = "docs/papers.md";

/// Checks every citation of every source.
///
/// # Errors
///
/// If one of the two lists cannot be read.
pub fn check(workspace: &Workspace, sources: &[RustFile]) -> Result<Vec<Finding>, Failure> {
    let requirements = listed_keys(&workspace.read(Path::new(REQUIREMENTS))?);
    let papers = listed_keys(&workspace.read(Path::new(PAPERS))?);
    let ours = sources
        .iter()
        .filter(|source| !source.path.starts_with("xtask"));
    Ok(ours
        .flat_map(|source| check_source(source, &requirements, &papers))
        .collect())
}

fn check_source(
    source: &RustFile,
    requirements: &BTreeSet<String>,
    papers: &BTreeSet<String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (citation, line) in citations(source) {
        let (listed, list) = if citation.is_requirement() {
            (requirements.contains(&citation.key), REQUIREMENTS)
        } else {
            (is_listed(&citation.key, papers), PAPERS)
        };
        if !listed {
            let text = format!("cites `{}`, which {list} does not list", citation.key);
            findings.push(Finding::in_line(&source.path, line, text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::check_source;
    use crate::source::RustFile;

    #[test]
    fn what_is_cited_has_to_be_listed() {
        let text = "/// LOKO Eq. (9), S4-7.\n/// SILO Eq. (1), S9-9.\n";
        let source = RustFile::parse(Path::new("src/a.rs"), text);

        let findings = check_source(&source, &set("S4-7"), &set("LOKO"));

        let texts: Vec<&str> = findings.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "cites `SILO`, which docs/papers.md does not list",
                "cites `S9-9`, which docs/requirements.md does not list",
            ]
        );
    }

    fn set(key: &str) -> BTreeSet<String> {
        BTreeSet::from([key.to_owned()])
    }
}
