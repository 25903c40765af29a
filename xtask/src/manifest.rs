//! Reads as much of a TOML manifest as the checks need: sections, keys and
//! values on one line. Anything richer is left as text.

/// One `key = value` line.
#[derive(Debug, PartialEq, Eq)]
pub struct ManifestLine<'a> {
    /// The section's name, without brackets; empty above the first one.
    pub section: &'a str,
    /// The key as written, so `units.workspace` for `units.workspace = true`.
    pub key: &'a str,
    /// The value as written.
    pub value: &'a str,
    /// The line, counted from 1.
    pub line: usize,
}

/// Returns the entries of a manifest, in order.
pub fn entries(text: &str) -> Vec<ManifestLine<'_>> {
    let mut section = "";
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            section = name.trim();
        } else if let Some((key, value)) = line.split_once('=')
            && !line.starts_with('#')
        {
            found.push(ManifestLine {
                section,
                key: key.trim(),
                value: value.trim(),
                line: index + 1,
            });
        }
    }
    found
}

/// Returns the packages under `[dependencies]` with their lines.
pub fn dependencies(text: &str) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    for entry in entries(text) {
        let target = entry.section.starts_with("target.");
        if entry.section == "dependencies" || target && entry.section.ends_with(".dependencies") {
            let name = entry.key.split('.').next().unwrap_or(entry.key);
            found.push((name, entry.line));
        }
    }
    found
}

/// Returns the packages of every kind of dependency with their lines.
pub fn all_dependencies(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let entries = entries(text).into_iter();
    let taken = entries.filter(move |it| kinds.iter().any(|kind| it.section.ends_with(kind)));
    taken.map(|it| (it.key.split('.').next().unwrap_or(it.key), it.line))
}

#[cfg(test)]
mod tests {
    use super::dependencies;

    #[test]
    fn only_what_ships_is_a_dependency() {
        let text = "\
[package]
name = \"lab\"

[dependencies]
units.workspace = true
# wire.workspace = true
miette = { workspace = true, features = [\"fancy\"] }

[dev-dependencies]
proptest.workspace = true
";

        assert_eq!(dependencies(text), [("units", 5), ("miette", 7)]);
    }
}
