//! `cargo xtask check`: holds the code to its rules, as far as a machine can.

mod boundaries;
mod links;
mod references;
mod shape;

use std::process::ExitCode;

use crate::bpf;
use crate::cargo::Cargo;
use crate::failure::Failure;
use crate::finding::{Finding, Severity};
use crate::fuzz;
use crate::page;
use crate::source::RustFile;
use crate::workspace::Workspace;

/// Runs all checks, the quick ones first, and prints what they found.
///
/// # Errors
///
/// If a file cannot be read or `cargo` cannot be started.
pub fn run(workspace: &Workspace) -> Result<ExitCode, Failure> {
    let findings = findings(workspace)?;
    for finding in &findings {
        eprintln!("{finding}");
    }
    let errors = findings
        .iter()
        .filter(|it| it.severity == Severity::Error)
        .count();
    println!(
        "rules: {errors} broken, {} warnings",
        findings.len() - errors
    );

    let formatted = Cargo::new(workspace).run(&["fmt", "--all", "--check"])?;
    let linted = Cargo::new(workspace).run(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ])?;
    let documented = Cargo::new(workspace)
        .with("RUSTDOCFLAGS", "-D warnings")
        .run(&[
            "doc",
            "--workspace",
            "--no-deps",
            "--locked",
            "--quiet",
            "--document-private-items",
        ])?;
    for (what, passed) in [
        ("format", formatted),
        ("clippy", linted),
        ("documentation", documented),
    ] {
        println!("{what}: {}", if passed { "fine" } else { "not fine" });
    }
    let passed = errors == 0 && formatted && linted && documented;
    Ok(if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn findings(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let sources = sources(workspace)?;
    let mut findings = boundaries::check(workspace, &sources)?;
    findings.extend(sources.iter().flat_map(shape::check));
    findings.extend(links::check(workspace)?);
    findings.extend(references::check(workspace, &sources)?);
    findings.extend(bpf::check(workspace)?);
    findings.extend(page::check(workspace)?);
    findings.extend(fuzz::check(workspace)?);
    Ok(findings)
}

/// Reads every Rust file of the workspace.
///
/// # Errors
///
/// If one cannot be read.
pub fn sources(workspace: &Workspace) -> Result<Vec<RustFile>, Failure> {
    let paths = workspace.with_extension("rs");
    paths
        .map(|path| Ok(RustFile::parse(path, &workspace.read(path)?)))
        .collect()
}
