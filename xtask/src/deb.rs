//! `cargo xtask deb`: makes the Debian package, and tries it in a fresh Debian.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::cargo::Cargo;
use crate::failure::Failure;
use crate::wheel::run_to_end;
use crate::workspace::Workspace;

/// What is put into the package beside the program, by `Cargo.toml` of `taktos`.
const MADE: &str = "target/package";
/// What completes commands in each shell, by the name of its file.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "taktos.bash"),
    ("zsh", "_taktos"),
    ("fish", "taktos.fish"),
];

/// Makes the package, of the profile `dist` or, with `--quick`, of `release`; with `--try`
/// installs it in a fresh root.
///
/// # Errors
///
/// What is missing, or which step does not succeed.
pub fn run(workspace: &Workspace, words: &[&str]) -> Result<ExitCode, Failure> {
    let (mut profile, mut tries) = ("dist", false);
    for word in words {
        match *word {
            "--quick" => profile = "release",
            "--try" => tries = true,
            other => return Err(Failure::Usage(format!("`{other}` is no option of deb"))),
        }
    }
    if !Cargo::new(workspace).run(&["deb", "--version"])? {
        let sentence = "this needs cargo-deb: cargo install cargo-deb --locked";
        return Err(Failure::Missing(sentence.to_owned()));
    }
    let built =
        Cargo::new(workspace).run(&["build", "-p", "taktos", "--locked", "--profile", profile])?;
    if !built {
        return Ok(ExitCode::FAILURE);
    }
    let program = workspace.root().join("target").join(profile).join("taktos");
    write_beside(workspace.root(), &program)?;
    let package = workspace.root().join("target/taktos.deb");
    let output = package.display().to_string();
    let pack = [
        "deb",
        "-p",
        "taktos",
        "--no-build",
        "--profile",
        profile,
        "--output",
        &output,
    ];
    if !Cargo::new(workspace).run(&pack)? {
        return Ok(ExitCode::FAILURE);
    }
    let bytes = fs::metadata(&package).map_or(0, |it| it.len());
    println!("{output}: {:.1} MB", bytes as f64 / 1e6);
    match tries {
        true => try_out(workspace.root(), &package),
        false => Ok(ExitCode::SUCCESS),
    }
}

/// Writes manual pages and completions.
fn write_beside(root: &Path, program: &Path) -> Result<(), Failure> {
    let folder = root.join(MADE);
    let pages = folder.join("man");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&pages).map_err(Failure::at(&pages))?;
    run_to_end(Command::new(program).arg("manual").arg(&pages))?;
    for (shell, file) in SHELLS {
        let path = folder.join(file);
        let script = fs::File::create(&path).map_err(Failure::at(&path))?;
        run_to_end(
            Command::new(program)
                .args(["completions", shell])
                .stdout(script),
        )?;
    }
    Ok(())
}

/// Installs, runs, upgrades and removes the package in a root made by `mmdebstrap`.
fn try_out(root: &Path, package: &Path) -> Result<ExitCode, Failure> {
    let has_it = Command::new("mmdebstrap")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if !has_it.is_ok_and(|status| status.success()) {
        let sentence = "trying it needs root and the Debian package mmdebstrap";
        return Err(Failure::Missing(sentence.to_owned()));
    }
    let fresh: PathBuf = root.join("target/fresh-root");
    let _ = fs::remove_dir_all(&fresh);
    println!("a fresh Debian:");
    let suite = ["--variant=minbase", "--include=procps", "bookworm"];
    run_to_end(
        Command::new("mmdebstrap")
            .arg("--quiet")
            .args(suite)
            .arg(&fresh),
    )?;
    let script = root.join("packaging/deb/try.sh");
    let mut apart = Command::new("unshare");
    apart.args(["--mount", "--net", "--pid", "--fork", "--kill-child"]);
    let tried = run_to_end(apart.arg(script).arg(package).arg(&fresh));
    let _ = fs::remove_dir_all(&fresh);
    tried.map(|()| ExitCode::SUCCESS)
}
