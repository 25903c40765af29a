//! `cargo xtask fuzz [SECONDS]`: feeds each fuzz target with bytes for a while.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::failure::Failure;
use crate::finding::Finding;
use crate::manifest::entries;
use crate::workspace::Workspace;

/// How long each target runs if nothing else is asked for.
const SECONDS_EACH: u32 = 20;

/// Where the inputs are that a target begins with, each in a folder of its own.
const SEEDS: &str = "fuzz/seeds";
const TARGETS: &str = "fuzz/fuzz_targets";
/// A target that begins with files which the project has anyway.
const BORROWED: [(&str, &str); 1] = [("scenario_text", "scenarios")];

/// Runs every target of `fuzz/`.
///
/// # Errors
///
/// If `fuzz/` has no manifest, `cargo-fuzz` is missing, or the number of seconds
/// is not one.
pub fn run(workspace: &Workspace, seconds: Option<&str>) -> Result<ExitCode, Failure> {
    let seconds = match seconds {
        None => SECONDS_EACH,
        Some(text) => {
            let usage = || Failure::Usage(format!("`{text}` is not a number of seconds"));
            text.parse().map_err(|_| usage())?
        }
    };
    let targets = targets(&workspace.read(Path::new("fuzz/Cargo.toml"))?);
    if !cargo_fuzz_is_there() {
        let sentence = "fuzzing needs a nightly toolchain and cargo-fuzz: rustup toolchain install \
                        nightly; cargo install cargo-fuzz --locked";
        return Err(Failure::Missing(sentence.to_owned()));
    }
    let mut broken = Vec::new();
    for target in &targets {
        println!("{target}: {seconds} s");
        let mut fuzz = nightly();
        fuzz.current_dir(workspace.root())
            .args(["fuzz", "run", target]);
        if let Some(seeds) = seeds(workspace, target) {
            let grown = format!("fuzz/corpus/{target}");
            let folder = workspace.root().join(&grown);
            fs::create_dir_all(&folder).map_err(Failure::at(&folder))?;
            fuzz.args([grown, seeds]);
        }
        fuzz.arg("--");
        fuzz.args([
            format!("-max_total_time={seconds}"),
            "-rss_limit_mb=2048".to_owned(),
        ]);
        let status = fuzz.status().map_err(not_started)?;
        if !status.success() {
            broken.push(target.as_str());
        }
    }
    println!(
        "{} targets, {} broken {}",
        targets.len(),
        broken.len(),
        broken.join(", ")
    );
    Ok(if broken.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Returns the folder of the inputs that a target begins with, if it has any.
fn seeds(workspace: &Workspace, target: &str) -> Option<String> {
    let own = format!("{SEEDS}/{target}");
    let borrowed = BORROWED.iter().find(|(of, _)| *of == target);
    match workspace.root().join(&own).is_dir() {
        true => Some(own),
        false => borrowed.map(|(_, folder)| (*folder).to_owned()),
    }
}

/// Returns the names of the programs in the manifest.
/// Returns which files of targets the manifest does not name: nobody would run them.
///
/// # Errors
///
/// If there is no manifest.
pub fn check(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let manifest = Path::new("fuzz/Cargo.toml");
    let named = targets(&workspace.read(manifest)?);
    let files = workspace.with_extension("rs");
    let mut findings = Vec::new();
    for path in files.filter(|path| path.parent() == Some(Path::new(TARGETS))) {
        let name = path.file_stem().and_then(|name| name.to_str());
        let is_named = name.is_some_and(|name| named.iter().any(|named| named == name));
        if !is_named && workspace.read(path)?.contains("fuzz_target!") {
            let text = "a target that `fuzz/Cargo.toml` does not name: add a `[[bin]]`".to_owned();
            findings.push(Finding::in_file(path, text));
        }
    }
    Ok(findings)
}

fn targets(manifest: &str) -> Vec<String> {
    let names = entries(manifest)
        .into_iter()
        .filter(|it| it.section == "[bin]" && it.key == "name");
    names
        .map(|it| it.value.trim_matches('"').to_owned())
        .collect()
}

fn nightly() -> Command {
    let mut cargo = Command::new("cargo");
    cargo
        .arg("+nightly")
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO");
    cargo
}

fn cargo_fuzz_is_there() -> bool {
    let mut fuzz = nightly();
    let status = fuzz
        .args(["fuzz", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|it| it.success())
}

fn not_started(error: std::io::Error) -> Failure {
    Failure::Program {
        name: "cargo".to_owned(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::targets;

    #[test]
    fn every_program_of_the_manifest_is_a_target() {
        let manifest = "\
[package]
name = \"fuzz\"

[[bin]]
name = \"lldp\"
path = \"fuzz_targets/lldp.rs\"

[[bin]]
name = \"openflow\"
";

        assert_eq!(targets(manifest), ["lldp", "openflow"]);
    }
}
