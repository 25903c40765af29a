//! `cargo xtask release`: makes what is given away, of the commit that is checked out.
//!
//! All of it is built from what is committed, in a folder that is the same on every machine
//! and with the time of the commit for a clock, so that the same toolchain makes the same
//! bytes of the same commit, wherever it is checked out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::cargo::target_folder;
use crate::deny;
use crate::failure::Failure;
use crate::wheel::run_to_end;
use crate::workspace::Workspace;

/// Where sources are while they are built. Cargo puts a digest of this path into the names of
/// what it builds of packages beside each other.
const BUILDING: &str = "/var/tmp/taktos-release";
/// What lists the packages that are built in.
const LISTER: &str = "cargo-cyclonedx";
const SUMS: &str = "SHA256SUMS";

/// How a release is made.
#[derive(Clone, Copy, Debug, Default)]
struct Options {
    /// Without link-time optimisation.
    is_quick: bool,
    /// Again, to compare.
    is_twice: bool,
}

/// A commit that is released.
#[derive(Debug)]
struct Commit {
    version: String,
    id: String,
    /// Seconds since 1970.
    time: String,
}

/// Makes a release below `target/release-VERSION`: an archive of the program, a Debian
/// package, a wheel, a bill of materials, notes, and the digests of all.
///
/// # Errors
///
/// What is missing, or which step does not succeed.
pub fn run(workspace: &Workspace, words: &[&str]) -> Result<ExitCode, Failure> {
    let mut options = Options::default();
    for word in words {
        match *word {
            "--quick" => options.is_quick = true,
            "--twice" => options.is_twice = true,
            other => return Err(Failure::Usage(format!("`{other}` is no option of release"))),
        }
    }
    let commit = Commit::checked_out(workspace)?;
    if deny::run(workspace)? != ExitCode::SUCCESS {
        return Ok(ExitCode::FAILURE);
    }
    let folder = target_folder().join(format!("release-{}", commit.version));
    make(workspace, &commit, options, &folder)?;
    let sums = sum(&folder)?;
    println!("{}:\n{sums}", folder.display());
    if !options.is_twice {
        return Ok(ExitCode::SUCCESS);
    }
    let again = target_folder().join(format!("release-{}-again", commit.version));
    make(workspace, &commit, options, &again)?;
    let differing = differing(&sums, &sum(&again)?);
    match differing.is_empty() {
        true => println!("made twice, the same bytes"),
        false => println!("not the same the second time: {}", differing.join(", ")),
    }
    Ok(ExitCode::from(u8::from(!differing.is_empty())))
}

impl Commit {
    fn checked_out(workspace: &Workspace) -> Result<Self, Failure> {
        let root = workspace.root();
        let changed = said(git(root).args(["status", "--porcelain"]))?;
        if !changed.is_empty() {
            let sentence =
                format!("a release is made of what is committed; this is not:\n{changed}");
            return Err(Failure::Missing(sentence));
        }
        let manifest = workspace.read(Path::new("Cargo.toml"))?;
        let mut lines = manifest.lines();
        let version = lines.find_map(|line| line.strip_prefix("version = \""));
        let version = version.map(|it| it.trim_end_matches('"').to_owned());
        let none = || Failure::Missing("Cargo.toml has no version".to_owned());
        Ok(Self {
            version: version.ok_or_else(none)?,
            id: said(git(root).args(["rev-parse", "HEAD"]))?,
            time: said(git(root).args(["log", "-1", "--format=%ct"]))?,
        })
    }
}

/// Builds all of a release and puts it into `folder`.
fn make(
    workspace: &Workspace,
    commit: &Commit,
    options: Options,
    folder: &Path,
) -> Result<(), Failure> {
    let source = &unpack(workspace.root(), commit)?;
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(Failure::at(folder))?;
    for job in ["deb", "wheel"] {
        println!("{job}:");
        let mut cargo = build(source, commit);
        cargo.args(["xtask", job]);
        run_to_end(cargo.args(options.is_quick.then_some("--quick")))?;
    }
    let version = &commit.version;
    let (target, package) = (source.join("target"), format!("taktos_{version}_amd64.deb"));
    take(&target.join("taktos.deb"), &folder.join(package))?;
    let wheels = target.join("wheels");
    for entry in fs::read_dir(&wheels)
        .map_err(Failure::at(&wheels))?
        .flatten()
    {
        take(&entry.path(), &folder.join(entry.file_name()))?;
    }
    let profile = if options.is_quick { "release" } else { "dist" };
    let program = target.join(profile).join("taktos");
    archive(source, &program, (commit, folder))?;
    list_packages(source, (commit, folder))?;
    let rust = said(Command::new("rustc").arg("--version").current_dir(source))?;
    let libc = said(Command::new("ldd").arg("--version"))?;
    let libc = libc.lines().next().unwrap_or_default();
    let made = format!("commit {}\n{rust}\n{libc}\n", commit.id);
    let changes = source.join("CHANGELOG.md");
    let changes = fs::read_to_string(&changes).map_err(Failure::at(&changes))?;
    let notes = notes(&changes, version)?;
    for (name, text) in [("BUILT-WITH", made), ("NOTES.md", notes)] {
        let path = folder.join(name);
        fs::write(&path, text).map_err(Failure::at(&path))?;
    }
    fs::remove_dir_all(source).map_err(Failure::at(source))
}

/// Writes the bill of materials.
fn list_packages(source: &Path, (commit, folder): (&Commit, &Path)) -> Result<(), Failure> {
    let bill = format!("taktos-{}.cdx", commit.version);
    let mut lister = build(source, commit);
    lister
        .args(["cyclonedx", "--format", "json", "--spec-version", "1.5"])
        .args(["--override-filename", &bill])
        .args(["--manifest-path", "crates/taktos/Cargo.toml"]);
    if !lister.status().is_ok_and(|it| it.success()) {
        let sentence = format!("this needs {LISTER}: cargo install {LISTER} --locked");
        return Err(Failure::Missing(sentence));
    }
    let bill = format!("{bill}.json");
    let written = source.join("crates/taktos").join(&bill);
    take(&written, &folder.join(bill))
}

/// Puts what is committed where it is built.
fn unpack(root: &Path, commit: &Commit) -> Result<PathBuf, Failure> {
    let source = PathBuf::from(BUILDING);
    if source.exists() {
        fs::remove_dir_all(&source).map_err(Failure::at(&source))?;
    }
    // Fails if somebody else has made it meanwhile.
    fs::create_dir(&source).map_err(Failure::at(&source))?;
    let mut packed = git(root)
        .args(["archive", &commit.id])
        .stdout(Stdio::piped())
        .spawn();
    let unpacked = packed.as_mut().map(|packing| {
        let packed = packing.stdout.take().expect("the output was piped above");
        run_to_end(
            Command::new("tar")
                .arg("-x")
                .arg("-C")
                .arg(&source)
                .stdin(packed),
        )
    });
    unpacked.map_err(|_| Failure::Missing("this needs git".to_owned()))??;
    Ok(source)
}

/// Returns a `cargo` whose results do not tell where and when it ran.
fn build(source: &Path, commit: &Commit) -> Command {
    let home = match std::env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo"),
    };
    let home = home.display();
    let source_name = source.display();
    let mut cargo = Command::new("cargo");
    cargo
        .current_dir(source)
        .env("SOURCE_DATE_EPOCH", &commit.time)
        .env("CARGO_INCREMENTAL", "0")
        .env(
            "RUSTFLAGS",
            format!("--remap-path-prefix={home}=/cargo --remap-path-prefix={source_name}=/taktos"),
        )
        .env(
            "CFLAGS",
            format!("-ffile-prefix-map={home}=/cargo -ffile-prefix-map={source_name}=/taktos"),
        )
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .env_remove("CARGO")
        .env_remove("CARGO_TARGET_DIR");
    cargo
}

/// Packs the program with what belongs to it.
fn archive(
    source: &Path,
    program: &Path,
    (commit, folder): (&Commit, &Path),
) -> Result<(), Failure> {
    let name = format!("taktos-{}-x86_64-linux", commit.version);
    let content = source.join("target").join(&name);
    fs::create_dir_all(&content).map_err(Failure::at(&content))?;
    let mut copy = Command::new("cp");
    copy.arg("-r").arg(program);
    for beside in [
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "scenarios",
        "target/package",
    ] {
        copy.arg(source.join(beside));
    }
    run_to_end(copy.arg(&content))?;
    let mut tar = Command::new("tar");
    tar.args([
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mode=go=rX,u+rw",
    ])
    .arg(format!("--mtime=@{}", commit.time))
    .args(["-I", "gzip -n -9", "-cf"])
    .arg(folder.join(format!("{name}.tar.gz")))
    .arg("-C")
    .arg(source.join("target"))
    .arg(&name);
    run_to_end(&mut tar)
}

fn take(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::copy(from, to).map(drop).map_err(Failure::at(from))
}

/// Writes down the digests of what is in a folder, and returns them, a line each.
fn sum(folder: &Path) -> Result<String, Failure> {
    let entries = fs::read_dir(folder).map_err(Failure::at(folder))?.flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    names.retain(|name| name != SUMS);
    names.sort();
    let sums = said(Command::new("sha256sum").args(names).current_dir(folder))?;
    let path = folder.join(SUMS);
    fs::write(&path, format!("{sums}\n")).map_err(Failure::at(&path))?;
    Ok(sums)
}

/// Returns the names of what differs, of two lists of digests.
fn differing(one: &str, other: &str) -> Vec<String> {
    let other: Vec<&str> = other.lines().collect();
    let unlike = one.lines().filter(|line| !other.contains(line));
    let names = unlike.filter_map(|line| line.split_whitespace().nth(1));
    names.map(str::to_owned).collect()
}

/// Returns what the changelog says of a version, or of what is not released yet where it says
/// nothing of that.
fn notes(changelog: &str, version: &str) -> Result<String, Failure> {
    let part = |heading: &str| {
        let mut lines = changelog.lines();
        lines.find(|line| line.starts_with(heading))?;
        let part: Vec<&str> = lines.take_while(|line| !line.starts_with("## ")).collect();
        Some(part.join("\n").trim().to_owned())
    };
    if let Some(part) = part(&format!("## [{version}]")) {
        return Ok(format!("# Taktos {version}\n\n{part}\n"));
    }
    let part = part("## [Unreleased]").ok_or_else(|| {
        Failure::Missing(format!(
            "CHANGELOG.md has no part `## [{version}]`: what is new in it?"
        ))
    })?;
    Ok(format!(
        "# Taktos, before the release of {version}\n\n{part}\n"
    ))
}

fn git(root: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(root);
    git
}

/// Returns what a program prints.
fn said(command: &mut Command) -> Result<String, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| Failure::Program {
        name: name.clone(),
        error,
    })?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(Failure::Missing(format!(
            "{name}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGELOG: &str = "# Changelog\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- This.\n\n\
                             ## [0.1.0] - 2026-11-01\n\n- That.\n";

    #[test]
    fn notes_are_the_part_of_their_version() {
        let first = notes(CHANGELOG, "0.1.0").unwrap();
        let second = notes(CHANGELOG, "0.2.0").unwrap();

        assert_eq!(first, "# Taktos 0.1.0\n\n- That.\n");
        assert_eq!(second, "# Taktos 0.2.0\n\n### Added\n\n- This.\n");
        assert!(notes(CHANGELOG, "0.3.0").is_err());
        let early = CHANGELOG.replace("[0.2.0] - 2026-12-01", "[Unreleased]");
        let early = notes(&early, "0.2.0").unwrap();
        assert!(early.starts_with("# Taktos, before the release of 0.2.0\n\n### Added"));
    }

    #[test]
    fn what_differs_is_named() {
        let (one, other) = ("aa  x.deb\nbb  y.whl", "aa  x.deb\ncc  y.whl");

        assert_eq!(differing(one, other), ["y.whl"]);
        assert!(differing(one, one).is_empty());
    }
}
