//! `cargo xtask etcd`: the tests of the store in etcd beside newer versions of it than
//! Debian has, and what writing through it costs.
//!
//! Each version is built once, from the Go module proxy, and lies below
//! `target/neighbours/etcd/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::cargo::{Cargo, target_folder};
use crate::failure::Failure;
use crate::workspace::Workspace;

const VERSIONS: [&str; 2] = ["3.6.6", "3.7.3"];
/// Where Go is if it is not on the path.
const GO: &str = "/usr/local/go/bin/go";
const MAIN: &str = "package main

import (
\t\"os\"

\t\"go.etcd.io/etcd/server/v3/etcdmain\"
)

func main() { etcdmain.Main(os.Args) }
";

/// Runs the tests with each version, and then the measurement with the last.
///
/// # Errors
///
/// If a version cannot be built or `cargo` not be started.
pub fn run(workspace: &Workspace) -> Result<ExitCode, Failure> {
    for version in VERSIONS {
        let program = program(version)?.display().to_string();
        println!("etcd {version}");
        let tests = [
            "test",
            "--workspace",
            "--lib",
            "--test",
            "cli",
            "--",
            "etcd",
        ];
        let cargo = Cargo::new(workspace)
            .with("TAKTOS_ETCD", &program)
            .with("TAKTOS_REQUIRE_NEIGHBOURS", "1");
        if !cargo.run(&tests)? {
            return Ok(ExitCode::FAILURE);
        }
    }
    let last = program(VERSIONS[VERSIONS.len() - 1])?.display().to_string();
    let bench = ["bench", "--package", "store", "--bench", "group_commit"];
    let measured = Cargo::new(workspace)
        .with("TAKTOS_ETCD", &last)
        .run(&bench)?;
    Ok(match measured {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Returns a version's program, which is built if it is not there.
fn program(version: &str) -> Result<PathBuf, Failure> {
    let folder = target_folder().join("neighbours/etcd").join(version);
    let program = folder.join("etcd");
    if program.exists() {
        return Ok(program);
    }
    println!("building etcd {version} in {}", folder.display());
    fs::create_dir_all(&folder).map_err(Failure::at(&folder))?;
    for (name, text) in [("main.go", MAIN), ("go.mod", "module etcd\n")] {
        let path = folder.join(name);
        fs::write(&path, text).map_err(Failure::at(&path))?;
    }
    let server = format!("go.etcd.io/etcd/server/v3@v{version}");
    go(&folder, &["get", &server])?;
    // The program appears under its name when it is complete.
    go(&folder, &["build", "-o", "etcd.new", "."])?;
    fs::rename(folder.join("etcd.new"), &program).map_err(Failure::at(&program))?;
    Ok(program)
}

fn go(folder: &Path, arguments: &[&str]) -> Result<(), Failure> {
    let on_path = Command::new("go").arg("version").output().is_ok();
    let status = Command::new(if on_path { "go" } else { GO })
        .args(arguments)
        .current_dir(folder)
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Failure::Missing(format!(
            "go {} failed: it needs the Go module proxy",
            arguments.join(" ")
        ))),
        Err(_) => Err(Failure::Missing(
            "there is no Go: see https://go.dev/dl".to_owned(),
        )),
    }
}
