//! What a run of the tests has found, for people and as JSON.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::Target;
use super::family::Family;
use super::transcript::CaseVerdict;
use crate::failure::Failure;

/// The result of a run.
#[derive(Debug)]
pub struct Summary {
    /// What was tested.
    pub target: Target,
    /// What took part, with its version.
    pub versions: Vec<String>,
    /// The pause after each case.
    pub interval_s: u32,
    /// How long it took.
    pub took: Duration,
    /// Every case that came to a verdict.
    pub cases: Vec<CaseVerdict>,
}

impl Summary {
    /// Returns the cases that failed, in the order in which they did.
    pub fn failures(&self) -> impl Iterator<Item = &CaseVerdict> {
        self.cases.iter().filter(|case| case.failure.is_some())
    }

    /// Prints the failures, the families and the sum.
    pub fn show(&self) {
        let mut files: Vec<&str> = self.failures().map(|case| case.file.as_str()).collect();
        files.sort_unstable();
        files.dedup();
        if !files.is_empty() {
            println!("\nfailed, with how many cases:");
        }
        for file in files {
            let count = self.failures().filter(|case| case.file == file).count();
            println!("  {count:4} {file}");
        }
        println!("\n| {} | cases | passed | failed |", self.target.word());
        println!("| --- | --: | --: | --: |");
        for (family, passed, failed) in self.families() {
            let (name, cases) = (family.name(), passed + failed);
            println!("| {name} | {cases} | {passed} | {failed} |");
        }
        let (cases, failed) = (self.cases.len(), self.failures().count());
        println!("| together | {cases} | {} | {failed} |", cases - failed);
        println!(
            "\nin {} s, {} s between cases, {}",
            self.took.as_secs(),
            self.interval_s,
            self.versions.join(", ")
        );
    }

    /// Writes it as JSON.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        fs::write(path, self.to_json()).map_err(Failure::at(path))?;
        println!("written to {}", path.display());
        Ok(())
    }

    /// Returns each family that has run, with how many cases passed and failed.
    fn families(&self) -> impl Iterator<Item = (Family, usize, usize)> {
        let count = |family, failed| {
            let cases = self.cases.iter();
            let counted =
                |case: &&CaseVerdict| case.family == family && case.failure.is_some() == failed;
            cases.filter(counted).count()
        };
        let all = Family::ALL.into_iter();
        let counts = all.map(move |family| (family, count(family, false), count(family, true)));
        counts.filter(|(_, passed, failed)| passed + failed > 0)
    }

    fn to_json(&self) -> String {
        let families = self.families().map(|(family, passed, failed)| {
            let name = text(family.name());
            format!("    {{\"name\": {name}, \"passed\": {passed}, \"failed\": {failed}}}")
        });
        let failures = self.failures().map(|case| {
            let [family, file, name] = [case.family.name(), &case.file, &case.name].map(text);
            let reason = text(case.failure.as_deref().unwrap_or_default());
            format!(
                "    {{\"family\": {family}, \"file\": {file}, \"case\": {name}, \"reason\": {reason}}}"
            )
        });
        let versions = self.versions.iter().map(|version| text(version));
        format!(
            "{{\n  \"target\": {},\n  \"versions\": [{}],\n  \"interval_s\": {},\n  \
             \"took_s\": {},\n  \"families\": [\n{}\n  ],\n  \"failures\": [\n{}\n  ]\n}}\n",
            text(self.target.word()),
            joined(versions, ", "),
            self.interval_s,
            self.took.as_secs(),
            joined(families, ",\n"),
            joined(failures, ",\n"),
        )
    }
}

fn joined(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.collect::<Vec<_>>().join(separator)
}

/// Returns a text as JSON writes it.
fn text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control < ' ' => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::{CaseVerdict, Duration, Family, Summary, Target, text};

    #[test]
    fn families_that_did_not_run_are_left_out() {
        let case = |family, failure: Option<&str>| CaseVerdict {
            family,
            file: "a file".to_owned(),
            name: "a case".to_owned(),
            failure: failure.map(str::to_owned),
        };
        let summary = Summary {
            target: Target::OpenVswitch,
            versions: Vec::new(),
            interval_s: 0,
            took: Duration::from_secs(1),
            cases: vec![
                case(Family::Match, None),
                case(Family::Match, Some("it is late")),
                case(Family::Group, None),
            ],
        };

        let families: Vec<_> = summary.families().collect();

        assert_eq!(families, [(Family::Match, 1, 1), (Family::Group, 1, 0)]);
        assert!(summary.to_json().contains("\"reason\": \"it is late\""));
    }

    #[test]
    fn quotes_and_controls_are_escaped() {
        assert_eq!(text("a\"b\\c\td"), r#""a\"b\\c\u0009d""#);
    }
}
