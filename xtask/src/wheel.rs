//! `cargo xtask wheel` and `notebooks`: makes the package for Python, tries it in an
//! environment of its own, and runs the notebooks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::cargo::target_folder;
use crate::failure::Failure;
use crate::python;
use crate::workspace::Workspace;

/// What builds the wheel.
const BUILDER: &str = "maturin>=1.9,<2";
/// What the tests need beside the wheel.
const FOR_TESTS: [&str; 3] = ["pytest", "pandas", "networkx"];
/// What the notebooks need beside that.
const FOR_NOTEBOOKS: [&str; 3] = ["nbclient", "ipykernel", "matplotlib"];

/// Makes the wheel, of the profile `dist` or, with `--quick`, of `release`; with `--try`
/// installs it in a fresh environment and runs its tests there.
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
            other => return Err(Failure::Usage(format!("`{other}` is no option of wheel"))),
        }
    }
    let wheel = build(workspace, profile)?;
    let bytes = fs::metadata(&wheel).map_or(0, |it| it.len());
    println!("{}: {:.1} MB", wheel.display(), bytes as f64 / 1e6);
    if tries {
        try_out(workspace, &wheel)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the notebooks with the wheel that was made last, and compares nothing: their own
/// assertions have to hold.
///
/// # Errors
///
/// What is missing, or the notebook that fails.
pub fn notebooks(workspace: &Workspace) -> Result<ExitCode, Failure> {
    let Some(wheel) = wheels().pop() else {
        let sentence = "there is no wheel: cargo xtask wheel makes one";
        return Err(Failure::Missing(sentence.to_owned()));
    };
    let python = environment("notebooks", &[&FOR_TESTS[1..], &FOR_NOTEBOOKS].concat())?;
    install(&python, &["--force-reinstall", "--no-deps"], &wheel)?;
    let script = workspace.root().join("python/run_notebooks.py");
    run_to_end(
        Command::new(&python)
            .arg(script)
            .current_dir(workspace.root()),
    )?;
    Ok(ExitCode::SUCCESS)
}

fn build(workspace: &Workspace, profile: &str) -> Result<PathBuf, Failure> {
    let python = environment("maturin", &[BUILDER])?;
    for old in wheels() {
        fs::remove_file(&old).map_err(Failure::at(&old))?;
    }
    let mut maturin = Command::new(&python);
    maturin
        .args(["-m", "maturin", "build", "--locked", "--profile", profile])
        .arg("--manifest-path")
        .arg(workspace.root().join("python/Cargo.toml"))
        .arg("--out")
        .arg(wheel_folder())
        .env("CARGO_TARGET_DIR", target_folder());
    run_to_end(&mut maturin)?;
    let sentence = || Failure::Missing("maturin made no wheel".to_owned());
    wheels().pop().ok_or_else(sentence)
}

/// Installs the wheel where nothing else is, and says how long it takes until a scenario is
/// judged; then runs the tests, with what they need.
fn try_out(workspace: &Workspace, wheel: &Path) -> Result<(), Failure> {
    let begun = Instant::now();
    let python = python::empty_environment(&environments().join("fresh"))?;
    install(&python, &[], wheel)?;
    let scenario = workspace.root().join("scenarios/diamond.toml");
    let program = python.with_file_name("taktos");
    run_to_end(Command::new(program).arg("check").arg(scenario))?;
    println!("installed and judged in {:.1?}", begun.elapsed());
    pip(&python, &FOR_TESTS)?;
    let tests = workspace.root().join("python/tests");
    let mut pytest = Command::new(&python);
    pytest
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .arg(tests)
        .current_dir(target_folder());
    run_to_end(&mut pytest)
}

fn wheel_folder() -> PathBuf {
    target_folder().join("wheels")
}

/// Returns the wheels that there are.
fn wheels() -> Vec<PathBuf> {
    let entries = fs::read_dir(wheel_folder()).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_wheel = |path: &PathBuf| path.extension().is_some_and(|it| it == "whl");
    paths.filter(is_wheel).collect()
}

/// Returns the interpreter of an environment with these packages, which is kept.
fn environment(name: &str, packages: &[&str]) -> Result<PathBuf, Failure> {
    let folder = environments().join(name);
    let stamp = folder.join("packages.txt");
    let wanted = packages.join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
        return Ok(folder.join("bin/python"));
    }
    let python = python::empty_environment(&folder)?;
    pip(&python, packages)?;
    fs::write(&stamp, wanted).map_err(Failure::at(&stamp))?;
    Ok(python)
}

fn environments() -> PathBuf {
    target_folder().join("python")
}

fn pip(python: &Path, packages: &[&str]) -> Result<(), Failure> {
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ];
    run_to_end(Command::new(python).args(install).args(packages))
}

fn install(python: &Path, options: &[&str], wheel: &Path) -> Result<(), Failure> {
    let wheel = wheel.display().to_string();
    pip(python, &[options, &[wheel.as_str()]].concat())
}

/// Runs a command to its end.
pub fn run_to_end(command: &mut Command) -> Result<(), Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::Missing(format!("{name} ended with {status}"))),
        Err(error) => Err(Failure::Program { name, error }),
    }
}
