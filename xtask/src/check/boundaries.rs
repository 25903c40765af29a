//! Holds each crate to its boundary: what it depends on, what it bans, and who
//! may be `unsafe`.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::finding::Finding;
use crate::manifest::{all_dependencies, dependencies, entries};
use crate::rooms::{
    BANNED_IN_PURE_ROOMS, CrateBoundary, CrateKind, Outside, PARTS, PARTS_FOLDER, ROOMS,
    UNSAFE_ROOM,
};
use crate::source::RustFile;
use crate::workspace::Workspace;

/// Checks the manifests and lint files of all crates, and the profiles.
///
/// # Errors
///
/// If a file cannot be read.
pub fn check(workspace: &Workspace, sources: &[RustFile]) -> Result<Vec<Finding>, Failure> {
    let mut findings = strangers(workspace);
    for room in &ROOMS {
        let folder = Path::new("crates").join(room.name);
        if !workspace.has(&folder) {
            let text = "the crate is in the table of rooms, but not there".to_owned();
            findings.push(Finding::in_file(&folder, text));
            continue;
        }
        let manifest = folder.join("Cargo.toml");
        let text = workspace.read(&manifest)?;
        findings.extend(check_dependencies(room, &manifest, &text));
        findings.extend(check_lints(room.name, &manifest, &text));
        if room.kind == CrateKind::Pure {
            let lints = folder.join("clippy.toml");
            let text = if workspace.has(&lints) {
                workspace.read(&lints)?
            } else {
                String::new()
            };
            findings.extend(check_bans(&lints, &text));
        }
    }
    let root = Path::new("Cargo.toml");
    let text = workspace.read(root)?;
    findings.extend(check_profiles(root, &text));
    findings.extend(idle(workspace, root, &text, sources)?);
    findings.extend(sources.iter().flat_map(check_unsafe));
    findings.extend(sources.iter().flat_map(check_parts));
    Ok(findings)
}

/// Finds crates that the table of rooms does not know.
fn strangers(workspace: &Workspace) -> Vec<Finding> {
    let known = |path: &&Path| {
        ROOMS
            .iter()
            .any(|it| path.starts_with(format!("crates/{}", it.name)))
    };
    let manifests = workspace.with_extension("toml").filter(|it| {
        it.starts_with("crates") && it.file_name().is_some_and(|name| name == "Cargo.toml")
    });
    manifests
        .filter(|path| !known(path))
        .map(|path| {
            let text = "a crate that the table of rooms (xtask/src/rooms.rs) does not know: a \
                        crate has to earn its boundary with a rule, see ARCHITECTURE.md";
            Finding::in_file(path, text.to_owned())
        })
        .collect()
}

/// Finds packages that the workspace names and no crate takes, and those that a crate
/// takes and its sources do not name.
fn idle(
    workspace: &Workspace,
    root: &Path,
    text: &str,
    sources: &[RustFile],
) -> Result<Vec<Finding>, Failure> {
    let mut taken = Vec::new();
    let mut findings = Vec::new();
    let folders = ROOMS.iter().map(|room| Path::new("crates").join(room.name));
    for folder in folders.chain([PathBuf::from("xtask")]) {
        let manifest = folder.join("Cargo.toml");
        let text = workspace.read(&manifest)?;
        let code = sources.iter().filter(|it| it.path.starts_with(&folder));
        let code: Vec<_> = code.flat_map(|it| &it.code).map(String::as_str).collect();
        findings.extend(unnamed(&manifest, &text, &code));
        taken.extend(all_dependencies(&text).map(|(name, _)| name.to_owned()));
    }
    let entries = entries(text).into_iter();
    let named = entries.filter(|it| it.section == "workspace.dependencies");
    findings.extend(
        named
            .filter(|it| !taken.iter().any(|taken| taken == it.key))
            .map(|it| {
                let text = format!("no crate takes `{}`", it.key);
                Finding::in_line(root, it.line, text)
            }),
    );
    Ok(findings)
}

/// Finds what a manifest takes and no line of code names.
fn unnamed(manifest: &Path, text: &str, code: &[&str]) -> Vec<Finding> {
    let is_named = |name: &str| {
        let name = name.replace('-', "_");
        let is_part = |it: char| it.is_alphanumeric() || it == '_';
        code.iter()
            .any(|line| line.split(|it| !is_part(it)).any(|word| word == name))
    };
    let idle = all_dependencies(text).filter(|(name, _)| !is_named(name));
    let findings = idle.map(|(name, line)| {
        let text = format!("no source of this crate names `{name}`");
        Finding::in_line(manifest, line, text)
    });
    findings.collect()
}

fn check_dependencies(room: &CrateBoundary, manifest: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, line) in dependencies(text) {
        let ours = ROOMS.iter().any(|it| it.name == name);
        let (allowed, list) = match room.outside {
            _ if ours => (room.may_know.contains(&name), room.may_know),
            Outside::Only(list) => (list.contains(&name), list),
            Outside::Any => (true, [].as_slice()),
        };
        if !allowed {
            let list = if list.is_empty() {
                "nothing".to_owned()
            } else {
                list.join(", ")
            };
            let whose = if ours {
                "of our crates"
            } else {
                "from outside"
            };
            let text = format!(
                "`{}` may not depend on `{name}`: {whose} only {list}",
                room.name
            );
            findings.push(Finding::in_line(manifest, line, text));
        }
    }
    findings
}

fn check_lints(crate_name: &str, manifest: &Path, text: &str) -> Option<Finding> {
    let entries = entries(text);
    let has = |section: &str, key: &str, value: &str| {
        entries
            .iter()
            .any(|it| it.section == section && it.key == key && it.value == value)
    };
    if crate_name == UNSAFE_ROOM {
        let strict = has("lints.rust", "unsafe_code", "\"deny\"");
        let text = "`unsafe_code` has to be denied, so that each use is allowed by name";
        return (!strict).then(|| Finding::in_file(manifest, text.to_owned()));
    }
    let text = "the crate has to take the workspace's lints: `[lints]` with `workspace = true`";
    (!has("lints", "workspace", "true")).then(|| Finding::in_file(manifest, text.to_owned()))
}

fn check_bans(lints: &Path, text: &str) -> Vec<Finding> {
    let banned = |path: &&str| text.contains(&format!("path = \"{path}\""));
    let missing = BANNED_IN_PURE_ROOMS
        .into_iter()
        .filter(|path| !banned(path));
    missing
        .map(|path| Finding::in_file(lints, format!("a pure crate has to ban `{path}`")))
        .collect()
}

fn check_profiles(manifest: &Path, text: &str) -> Vec<Finding> {
    let entries = entries(text);
    let has = |section: &str, key: &str, value: &str| {
        entries
            .iter()
            .any(|it| it.section == section && it.key == key && it.value == value)
    };
    let mut findings = Vec::new();
    for profile in ["profile.dev", "profile.release"] {
        if !has(profile, "overflow-checks", "true") {
            let text = format!("[{profile}] has to set `overflow-checks = true`");
            findings.push(Finding::in_file(manifest, text));
        }
    }
    if !has("workspace.lints.rust", "unsafe_code", "\"forbid\"") {
        let text = "[workspace.lints.rust] has to forbid `unsafe_code`".to_owned();
        findings.push(Finding::in_file(manifest, text));
    }
    findings
}

fn check_unsafe(source: &RustFile) -> Vec<Finding> {
    let home: PathBuf = ["crates", UNSAFE_ROOM].iter().collect();
    if source.path.starts_with(home) {
        return Vec::new();
    }
    let relaxed = source.code.iter().enumerate().filter(|(_, line)| {
        line.contains("(unsafe_code)") && (line.contains("allow") || line.contains("expect"))
    });
    relaxed
        .map(|(index, _)| {
            let text = format!("only `{UNSAFE_ROOM}` may relax `unsafe_code`");
            Finding::in_line(&source.path, index + 1, text)
        })
        .collect()
}

/// Finds where a part of the controller names one below its own (decision 0028).
fn check_parts(source: &RustFile) -> Vec<Finding> {
    let part = |word: &str| PARTS.iter().position(|part| *part == word);
    let own = source.code.iter().filter_map(|line| {
        let owner = line.strip_prefix("impl ")?.strip_suffix(" {")?;
        part(owner)
    });
    let Some(own) = own.max().filter(|_| source.path.starts_with(PARTS_FOLDER)) else {
        return Vec::new();
    };
    let lines = source.code.iter().enumerate();
    let named = lines.flat_map(|(index, line)| {
        // Behind another name it is a variant of that.
        let line = line.replace("super::", "super ");
        let words = line.split(|it: char| !it.is_alphanumeric() && it != '_' && it != ':');
        let named: Vec<_> = words
            .filter_map(|word| part(word.split(':').next()?))
            .collect();
        named.into_iter().map(move |named| (index, named))
    });
    let findings = named
        .filter(|(_, named)| *named > own)
        .map(|(index, named)| {
            let text = format!(
                "`{}` may not know `{}`, which is below it (xtask/src/rooms.rs)",
                PARTS[own], PARTS[named]
            );
            Finding::in_line(&source.path, index + 1, text)
        });
    findings.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{
        check_bans, check_dependencies, check_lints, check_parts, check_profiles, check_unsafe,
        unnamed,
    };
    use crate::rooms::{BANNED_IN_PURE_ROOMS, CrateBoundary, ROOMS};
    use crate::source::RustFile;

    #[test]
    fn a_dependency_is_named_in_the_sources_or_goes() {
        let text = "[dependencies]\nserde-json.workspace = true\n[dev-dependencies]\nrand.workspace = true\n";
        let code = ["use serde_json::Value;", "let operand = 1;"];

        let findings = unnamed(Path::new("Cargo.toml"), text, &code);

        assert_eq!(findings.len(), 1);
        assert!(format!("{:?}", findings[0]).contains("rand"));
    }

    #[test]
    fn the_controller_never_sees_the_switch() {
        let text = "[dependencies]\nunits.workspace = true\nswitch.workspace = true\n";

        let findings = check_dependencies(room("controller"), Path::new("Cargo.toml"), text);

        let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "error: Cargo.toml:3: `controller` may not depend on `switch`: of our crates only \
              units, wire, api, calculus"
            ]
        );
    }

    #[test]
    fn heavy_packages_live_in_the_program_alone() {
        let text = "[dependencies]\nclap.workspace = true\n";

        let in_core = check_dependencies(room("calculus"), Path::new("Cargo.toml"), text);
        let in_program = check_dependencies(room("taktos"), Path::new("Cargo.toml"), text);

        assert_eq!((in_core.len(), in_program.len()), (1, 0));
    }

    #[test]
    fn every_missing_ban_is_named() {
        let all: String = BANNED_IN_PURE_ROOMS
            .iter()
            .map(|it| format!("{{ path = \"{it}\" }},\n"))
            .collect();

        let none_missing = check_bans(Path::new("clippy.toml"), &all);
        let all_missing = check_bans(Path::new("clippy.toml"), "");

        assert_eq!(none_missing, []);
        assert_eq!(all_missing.len(), BANNED_IN_PURE_ROOMS.len());
    }

    #[test]
    fn a_crate_takes_the_lints_of_the_workspace() {
        let path = Path::new("Cargo.toml");

        assert_eq!(
            check_lints("wire", path, "[lints]\nworkspace = true\n"),
            None
        );
        assert!(check_lints("wire", path, "[lints.rust]\nunsafe_code = \"allow\"\n").is_some());
        assert_eq!(
            check_lints("linux", path, "[lints.rust]\nunsafe_code = \"deny\"\n"),
            None
        );
    }

    #[test]
    fn both_profiles_check_for_overflow() {
        let text = "[workspace.lints.rust]\nunsafe_code = \"forbid\"\n[profile.dev]\n\
                    overflow-checks = true\n[profile.release]\noverflow-checks = false\n";

        let findings = check_profiles(Path::new("Cargo.toml"), text);

        assert_eq!(findings.len(), 1);
        assert!(findings[0].text.contains("profile.release"));
    }

    #[test]
    fn only_linux_relaxes_unsafe() {
        let text = "#[allow(unsafe_code)]\nfn f() {}\n";

        let in_wire = check_unsafe(&RustFile::parse(Path::new("crates/wire/src/a.rs"), text));
        let in_linux = check_unsafe(&RustFile::parse(Path::new("crates/linux/src/a.rs"), text));

        assert_eq!((in_wire.len(), in_linux.len()), (1, 0));
    }

    #[test]
    fn a_part_of_the_controller_knows_none_below() {
        let path = Path::new("crates/controller/src/controller/tables.rs");
        let text = "use super::Promises;\nimpl Tables {\n    fn f(owners: &Owners) {}\n}\n";

        let findings = check_parts(&RustFile::parse(path, text));
        let elsewhere = check_parts(&RustFile::parse(Path::new("crates/sim/src/a.rs"), text));

        let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "error: crates/controller/src/controller/tables.rs:1: `Tables` may not know \
              `Promises`, which is below it (xtask/src/rooms.rs)"
            ]
        );
        assert_eq!(elsewhere, []);
    }

    fn room(name: &str) -> &'static CrateBoundary {
        ROOMS.iter().find(|it| it.name == name).unwrap()
    }
}
