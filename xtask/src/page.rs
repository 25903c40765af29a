//! `cargo xtask page`: builds the page for browsers and tests it in one, and the check that
//! the files that are committed are what their sources say.
//!
//! `cargo build` needs no Node since the built files are committed, compressed. Beside them
//! stands their origin: a hash of the sources and one of what was built. Where Node and the
//! packages from npm are there, the check builds again and compares; elsewhere it compares the
//! hashes, and says that it did no more.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::cargo::Cargo;
use crate::failure::Failure;
use crate::finding::Finding;
use crate::origin::{BuildOrigin, Sources};
use crate::workspace::Workspace;

const SOURCES: &str = "page";
const TESTS: &str = "page/test";
const PACKAGES: &str = "page/node_modules";
const BUILT: &str = "crates/taktos/page";
const ORIGIN: &str = "crates/taktos/page/origin";
/// What builds it; the packages that it needs are among the sources.
const BUILDER: &str = "vite, by page/build.js";

const USAGE: &str = "page [--build | --pictures]: `--build` tests nothing, `--pictures` keeps pictures \
                     in docs/images";

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Build,
    Test,
    Pictures,
}

/// Installs the packages, builds the page, and tests it in Chromium.
///
/// # Errors
///
/// If Node is not there, or a file cannot be written.
pub fn run(workspace: &Workspace, words: &[&str]) -> Result<ExitCode, Failure> {
    let extent = match words {
        [] => Extent::Test,
        ["--build"] => Extent::Build,
        ["--pictures"] => Extent::Pictures,
        _ => return Err(Failure::Usage(USAGE.to_owned())),
    };
    let install = ["ci", "--no-audit", "--no-fund", "--ignore-scripts"];
    if !ran(&mut tool(workspace, "npm", &install))?
        || !ran(&mut tool(workspace, "node", &["build.js"]))?
    {
        return Ok(ExitCode::FAILURE);
    }
    let origin = origin(workspace)?;
    workspace.write(Path::new(ORIGIN), &origin.to_string())?;
    if extent == Extent::Build {
        return Ok(ExitCode::SUCCESS);
    }
    if !Cargo::new(workspace).run(&["build", "--workspace", "--bin", "taktos"])? {
        return Ok(ExitCode::FAILURE);
    }
    let mut tests = tool(workspace, "npm", &["test"]);
    if extent == Extent::Pictures {
        tests.env("PICTURES", "1");
    }
    Ok(match ran(&mut tests)? {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Checks that what is committed is built from its sources, and prints how far it could.
///
/// # Errors
///
/// If a file cannot be read.
pub fn check(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let finding = |text: &str| {
        let text = format!("{text}: run `cargo xtask page`");
        Ok(vec![Finding::in_file(Path::new(BUILT), text)])
    };
    if !workspace.has(Path::new(ORIGIN)) {
        return finding("the origin is missing");
    }
    let told = workspace.read(Path::new(ORIGIN))?;
    if BuildOrigin::parse(&told) != Some(origin(workspace)?) {
        return finding("the page is not what its sources say");
    }
    if !workspace.has(Path::new(PACKAGES)) {
        println!("{BUILT}: hash of its sources compared, not built: {PACKAGES} is not here");
        return Ok(Vec::new());
    }
    match ran(&mut tool(workspace, "node", &["build.js", "--check"])) {
        Ok(true) => println!("{BUILT}: built again, the same bytes"),
        Ok(false) => return finding("built again it has other bytes"),
        Err(_) => println!("{BUILT}: hash of its sources compared, not built: Node is not here"),
    }
    Ok(Vec::new())
}

fn origin(workspace: &Workspace) -> Result<BuildOrigin, Failure> {
    let below = |folder: &str| -> Vec<PathBuf> {
        let files = workspace.files().iter();
        let below = files.filter(|path| path.starts_with(folder) && !path.starts_with(TESTS));
        below
            .filter(|path| **path != Path::new(ORIGIN))
            .cloned()
            .collect()
    };
    let read = |path: PathBuf| -> Result<(PathBuf, Vec<u8>), Failure> {
        let bytes = fs::read(workspace.root().join(&path)).map_err(Failure::at(&path))?;
        Ok((path, bytes))
    };
    let sources = below(SOURCES).into_iter().map(read);
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    let files = sources
        .iter()
        .map(|(path, bytes)| (path.as_path(), &bytes[..]));
    let built = below(BUILT).into_iter().map(read);
    let built = built.collect::<Result<Vec<_>, _>>()?;
    let bytes: Vec<u8> = built.into_iter().flat_map(|(_, bytes)| bytes).collect();
    Ok(BuildOrigin::of(BUILDER, &Sources::of(files), &bytes))
}

fn tool(workspace: &Workspace, program: &str, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(words)
        .current_dir(workspace.root().join(SOURCES));
    command
}

fn ran(command: &mut Command) -> Result<bool, Failure> {
    let status = command.status().map_err(|_| {
        let text = "needs Node 20.19 or newer with npm, and Chromium for the tests: Debian packages \
                    nodejs, npm and chromium";
        Failure::Missing(text.to_owned())
    })?;
    Ok(status.success())
}
