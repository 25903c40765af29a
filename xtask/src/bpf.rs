//! `cargo xtask bpf`: compiles the programs that run in the kernel, and the check
//! that the committed objects are what their sources say.
//!
//! `cargo build` needs no clang since the objects are committed. Beside each
//! stands its origin: the compiler, a hash of the sources and one of the object.
//! Where that very compiler is installed the check compiles again and compares
//! every byte; elsewhere it compares the hashes, and says that it did no more.

mod clang;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::failure::Failure;
use crate::finding::Finding;
use crate::origin::{BuildOrigin, Sources};
use crate::workspace::Workspace;
use clang::Clang;

/// Where the programs stand.
const FOLDER: &str = "crates/linux/bpf";

/// Compiles every program and writes its object and its origin.
///
/// # Errors
///
/// If clang is not there, refuses a program, or a file cannot be written.
pub fn run(workspace: &Workspace) -> Result<ExitCode, Failure> {
    let clang = Clang::find()?;
    for program in programs(workspace) {
        let sources = Sources::read(workspace, program)?;
        let object = clang.compile(workspace, program)?;
        let origin = BuildOrigin::of(clang.version(), &sources, &object);
        let path = program.with_extension("o");
        let absolute = workspace.root().join(&path);
        fs::write(&absolute, &object).map_err(Failure::at(&path))?;
        workspace.write(&origin_path(program), &origin.to_string())?;
        println!("{}: {} bytes", path.display(), object.len());
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks every object against its source and prints how far it could.
///
/// # Errors
///
/// If a file cannot be read or clang cannot be run.
pub fn check(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let clang = Clang::find().ok();
    let mut findings = Vec::new();
    for program in programs(workspace) {
        match check_program(workspace, program, clang.as_ref())? {
            Ok(seen) => println!("{}: {seen}", program.with_extension("o").display()),
            Err(finding) => findings.push(finding),
        }
    }
    Ok(findings)
}

fn check_program(
    workspace: &Workspace,
    program: &Path,
    clang: Option<&Clang>,
) -> Result<Result<String, Finding>, Failure> {
    let path = program.with_extension("o");
    let finding = |text: &str| {
        let text = format!("{text}: run `cargo xtask bpf`");
        Ok(Err(Finding::in_file(&path, text)))
    };
    if !workspace.has(&path) || !workspace.has(&origin_path(program)) {
        return finding("the object or its origin is missing");
    }
    let object = fs::read(workspace.root().join(&path)).map_err(Failure::at(&path))?;
    let told = workspace.read(&origin_path(program))?;
    let Some(origin) = BuildOrigin::parse(&told) else {
        return finding("the origin cannot be read");
    };
    let sources = Sources::read(workspace, program)?;
    if BuildOrigin::of(&origin.compiler, &sources, &object) != origin {
        return finding("the object is not what its sources say");
    }
    let Some(clang) = clang.filter(|clang| clang.version() == origin.compiler) else {
        let compiler = &origin.compiler;
        return Ok(Ok(format!(
            "hash of its sources compared, not compiled: `{compiler}` is not here"
        )));
    };
    if clang.compile(workspace, program)? != object {
        return finding("compiled again it has other bytes");
    }
    Ok(Ok("compiled again, the same bytes".to_owned()))
}

fn programs(workspace: &Workspace) -> impl Iterator<Item = &Path> {
    workspace
        .with_extension("c")
        .filter(|path| path.starts_with(FOLDER))
}

fn origin_path(program: &Path) -> PathBuf {
    program.with_extension("o.origin")
}
