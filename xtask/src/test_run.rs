//! `cargo xtask test`: runs every test and sums the results in one line.

use std::process::ExitCode;

use crate::cargo::Cargo;
use crate::failure::Failure;
use crate::namespaces::Namespaces;
use crate::neighbours;
use crate::workspace::Workspace;

/// The sum over all test programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    passed: u64,
    failed: u64,
    ignored: u64,
}

/// Runs every test of the workspace.
///
/// # Errors
///
/// If `cargo` cannot be started, or in continuous integration if a package of a
/// neighbour cannot be installed.
pub fn run(workspace: &Workspace, filter: &[String]) -> Result<ExitCode, Failure> {
    let unattended = std::env::var("CI").is_ok_and(|it| it == "true" || it == "1");
    let namespaces = Namespaces::of_this_user();
    let mut cargo = match namespaces {
        Namespaces::Direct | Namespaces::None => Cargo::new(workspace),
        Namespaces::InUserNamespace => Cargo::in_user_namespace(workspace),
    };
    match namespaces {
        Namespaces::Direct | Namespaces::InUserNamespace if unattended => {
            cargo = cargo.with("TAKTOS_REQUIRE_NAMESPACES", "1");
        }
        Namespaces::Direct | Namespaces::InUserNamespace => {}
        Namespaces::None => {
            eprintln!(
                "note: this user may make no network namespaces: tests with real frames skip"
            );
        }
    }
    if unattended {
        neighbours::demand(workspace)?;
        cargo = cargo.with("TAKTOS_REQUIRE_NEIGHBOURS", "1");
    } else {
        neighbours::offer(workspace);
    }
    let mut arguments = vec!["test", "--workspace", "--locked", "--no-fail-fast"];
    if !filter.is_empty() {
        arguments.push("--");
        arguments.extend(filter.iter().map(String::as_str));
    }
    let mut totals = Totals::default();
    let succeeded = cargo.run_lines(&arguments, |line| {
        println!("{line}");
        totals.add(line);
    })?;
    if !succeeded && totals.failed == 0 {
        println!("something did not build, or a test program ended without a result: one failed");
        totals.failed = 1;
    }
    if totals.ignored > 0 {
        println!("{} ignored", totals.ignored);
    }
    println!("{} passed, {} failed", totals.passed, totals.failed);
    Ok(if succeeded {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

impl Totals {
    /// Adds the counts of a line if it is the last line of a test program.
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line.split_once("test result: ") else {
            return;
        };
        for count in counts.split([';', '.']) {
            let mut words = count.split_whitespace();
            let number = words.next().and_then(|it| it.parse::<u64>().ok());
            match (number, words.next()) {
                (Some(number), Some("passed")) => self.passed += number,
                (Some(number), Some("failed")) => self.failed += number,
                (Some(number), Some("ignored")) => self.ignored += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Totals;

    #[test]
    fn results_add_up_over_all_test_programs() {
        let mut totals = Totals::default();

        for line in [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
        ] {
            totals.add(line);
        }

        assert_eq!(
            totals,
            Totals {
                passed: 13,
                failed: 2,
                ignored: 1
            }
        );
    }
}
