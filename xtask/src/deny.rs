//! `cargo xtask deny`: holds the packages that are built in to `deny.toml`.

use std::process::ExitCode;

use crate::cargo::Cargo;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// Checks licences, sources and bans. Advisories are not asked for: they are fetched from
/// elsewhere each time.
///
/// # Errors
///
/// If `cargo-deny` is missing.
pub fn run(workspace: &Workspace) -> Result<ExitCode, Failure> {
    if !Cargo::new(workspace).run(&["deny", "--version"])? {
        let sentence = "this needs cargo-deny: cargo install cargo-deny --locked";
        return Err(Failure::Missing(sentence.to_owned()));
    }
    let held = Cargo::new(workspace).run(&["deny", "check", "licenses", "sources", "bans"])?;
    Ok(ExitCode::from(u8::from(!held)))
}
