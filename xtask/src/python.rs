//! Python packages of others, each set in an environment of its own below
//! `target/neighbours/`, with the versions that `neighbours/NAME.txt` pins.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::target_folder;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// Lies in an environment that is complete: the list of its packages.
const STAMP: &str = "packages.txt";

/// Returns the interpreter of the environment `name`, which is made if it is
/// not there or its list of packages has changed.
///
/// # Errors
///
/// If Python, its module `venv` or a package cannot be had.
pub fn environment(workspace: &Workspace, name: &str) -> Result<PathBuf, Failure> {
    let list = PathBuf::from(format!("neighbours/{name}.txt"));
    let packages = workspace.read(&list)?;
    let folder = target_folder().join("neighbours").join(name);
    let python = folder.join("bin/python");
    if fs::read_to_string(folder.join(STAMP)).is_ok_and(|made| made == packages) {
        return Ok(python);
    }
    println!("{name}: installing its packages into {}", folder.display());
    empty_environment(&folder)?;
    let install = ["-m", "pip", "install", "--quiet", "--no-deps"];
    let mut pip = Command::new(&python);
    pip.args(install)
        .args(["--disable-pip-version-check", "--retries=1"])
        .arg("--requirement")
        .arg(workspace.root().join(&list));
    if !succeeds(&mut pip) {
        let list = list.display();
        let sentence = format!("pip could not install the packages of {list} from PyPI");
        return Err(Failure::Missing(sentence));
    }
    let stamp = folder.join(STAMP);
    fs::write(&stamp, packages).map_err(Failure::at(&stamp))?;
    Ok(python)
}

/// Makes an environment without packages in place of what `folder` was, and returns its
/// interpreter.
///
/// # Errors
///
/// If Python or its module `venv` is not there.
pub fn empty_environment(folder: &Path) -> Result<PathBuf, Failure> {
    let venv = ["-m", "venv", "--clear"];
    if !succeeds(Command::new("python3").args(venv).arg(folder)) {
        let sentence = "there is no Python 3 with its module venv: apt-get install python3-venv";
        return Err(Failure::Missing(sentence.to_owned()));
    }
    Ok(folder.join("bin/python"))
}

/// Returns the folder of a package in the environment of `python`.
///
/// # Errors
///
/// If the interpreter or the package is not there.
pub fn package_folder(python: &Path, package: &str) -> Result<PathBuf, Failure> {
    let program = format!("import {package}; print({package}.__path__[0])");
    let output = Command::new(python)
        .args(["-c", &program])
        .stderr(Stdio::null())
        .output();
    let output = output.map_err(|error| Failure::Program {
        name: python.display().to_string(),
        error,
    })?;
    let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() || folder.is_empty() {
        let sentence = format!("{} knows no package {package}", python.display());
        return Err(Failure::Missing(sentence));
    }
    Ok(PathBuf::from(folder))
}

/// Runs a program, whose complaints the user sees, and returns whether it
/// succeeded.
fn succeeds(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|it| it.success())
}
