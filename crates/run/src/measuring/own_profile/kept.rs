//! Where the profile of this machine is kept: `taktos/profile-kernel.json` in the
//! user's folder for what can be made again (XDG Base Directory Specification:
//! `$XDG_CACHE_HOME`, else `~/.cache`).
//!
//! The file says for which kernel, processor and program it holds; for others it is
//! measured again. A file that cannot be read, or says what cannot be, is as if there
//! were none, and whoever wants to know is told. It is written whole under another name
//! first, so that two runs at once do no harm.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{Circumstances, OwnProfile};

/// The longest file that is read.
const LONGEST: u64 = 512 << 10;

/// Where a profile may be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    file: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A profile of this machine.
    Profile(Box<OwnProfile>),
    Nothing,
    /// One that was measured under other circumstances, and which differ.
    Other(String),
    /// Something that is no profile, and why.
    Damaged(String),
}

/// Why a profile is not kept.
#[derive(Debug, Error)]
#[error("cannot keep it in {}: {reason}", file.display())]
pub struct KeptError {
    file: PathBuf,
    reason: io::Error,
}

impl Kept {
    /// Returns the place in this user's folder, if there is one.
    #[must_use]
    pub fn of_user() -> Option<Self> {
        let folder = folder(std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME"))?;
        Some(Self::within(&folder))
    }

    /// Returns the place in a folder.
    #[must_use]
    pub fn within(folder: &Path) -> Self {
        let file = folder.join("taktos").join("profile-kernel.json");
        Self { file }
    }

    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns what is kept, if it holds under these circumstances.
    #[must_use]
    pub fn find(&self, here: &Circumstances) -> Found {
        let text = match read(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Found::Nothing,
            Err(error) => return Found::Damaged(error.to_string()),
        };
        // Another version may keep other things: ask for what it was first.
        let whose = serde_json::from_str::<Header>(&text);
        match whose {
            Ok(header) if header.circumstances != *here => {
                return Found::Other(difference(&header.circumstances, here));
            }
            Ok(_) => {}
            Err(error) => return Found::Damaged(error.to_string()),
        }
        match serde_json::from_str::<OwnProfile>(&text) {
            Ok(profile) => match profile.believe() {
                Ok(()) => Found::Profile(Box::new(profile)),
                Err(doubt) => Found::Damaged(doubt.to_string()),
            },
            Err(error) => Found::Damaged(error.to_string()),
        }
    }

    /// Keeps a profile.
    ///
    /// # Errors
    ///
    /// If the system refuses; what was there stays.
    pub fn keep(&self, profile: &OwnProfile) -> Result<(), KeptError> {
        let text = serde_json::to_string_pretty(profile).expect("it has string keys");
        write(&self.file, &text).map_err(|reason| KeptError {
            file: self.file.clone(),
            reason,
        })
    }
}

/// The part of the file that every version has.
#[derive(serde::Deserialize)]
struct Header {
    circumstances: Circumstances,
}

/// Says what is not as it was.
fn difference(then: &Circumstances, now: &Circumstances) -> String {
    let pairs = [
        ("Linux", &then.kernel, &now.kernel),
        ("processor", &then.processor, &now.processor),
        ("Taktos", &then.version, &now.version),
        ("engine", &then.engine, &now.engine),
    ];
    let changed = pairs.iter().find(|(_, then, now)| then != now);
    match changed {
        Some((what, then, now)) => format!("{what} {now}, no longer {then}"),
        None if then.processors != now.processors => {
            format!(
                "{} processors, no longer {}",
                now.processors, then.processors
            )
        }
        None => "it is measured in another way now".to_owned(),
    }
}

/// Returns the folder, by what the environment says of it.
fn folder(cache: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |text: OsString| Some(PathBuf::from(text)).filter(|path| path.is_absolute());
    let home = || home.and_then(absolute).map(|home| home.join(".cache"));
    cache.and_then(absolute).or_else(home)
}

fn read(file: &Path) -> io::Result<String> {
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("not a file"));
    }
    let mut text = String::new();
    let length = File::open(file)?
        .take(LONGEST + 1)
        .read_to_string(&mut text)?;
    match length as u64 > LONGEST {
        true => Err(io::Error::other(format!("longer than {LONGEST} bytes"))),
        false => Ok(text),
    }
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let new = folder.join(format!("profile-kernel.{}.new", std::process::id()));
    let written = File::create(&new)
        .and_then(|mut to| to.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&new, file));
    if written.is_err() {
        // It is of no use to anybody, and may not be there at all.
        let _ = fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_the_one_that_the_environment_names() {
        let text = |text: &str| Some(OsString::from(text));

        assert_eq!(folder(text("/c"), text("/h")), Some("/c".into()));
        assert_eq!(folder(None, text("/h")), Some("/h/.cache".into()));
        assert_eq!(
            folder(text("relative"), text("/h")),
            Some("/h/.cache".into())
        );
        assert_eq!(folder(text(""), None), None);
    }
}
