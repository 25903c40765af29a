//! The folder of a run: it holds the store of the controller and the report.
//!
//! A run claims its folder before anything else happens, so that nobody waits
//! for half a minute to hear that the report cannot be written. The claim is a
//! lock on the folder itself, which the kernel takes back however the program
//! ends; nothing of it stays on disk.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process;

use measure::document::{self, Document};
use measure::report::{Report, ShownFlows};
use measure::reproduction::{Reproduction, documents};
use thiserror::Error;

use run::experiment::capture;

/// How the files of drawings end.
const PICTURE: &str = "svg";

/// Why a run cannot have its folder.
#[derive(Debug, Error)]
pub enum ReportFolderError {
    #[error(
        "another run writes to {}: wait for its end, or choose another folder with --out",
        path.display()
    )]
    InUse { path: PathBuf },
    /// It cannot be made, or nothing can be written there.
    #[error("cannot write to the report folder {}: {reason}", path.display())]
    Unwritable { path: PathBuf, reason: io::Error },
}

/// The folder of a run, which no other run may have at the same time.
#[derive(Debug)]
pub struct ReportFolder {
    path: PathBuf,
    _claim: File,
}

impl ReportFolder {
    /// Makes the folder if it is not there, claims it, and removes what an
    /// earlier run left: what stands there afterwards is of this run.
    ///
    /// # Errors
    ///
    /// If another run has it, or nothing can be written there.
    pub fn claim(path: PathBuf) -> Result<Self, ReportFolderError> {
        let claim = match fs::create_dir_all(&path).and_then(|()| File::open(&path)) {
            Ok(claim) => claim,
            Err(reason) => return Err(ReportFolderError::Unwritable { path, reason }),
        };
        match claim.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ReportFolderError::InUse { path }),
            Err(TryLockError::Error(reason)) => {
                return Err(ReportFolderError::Unwritable { path, reason });
            }
        }
        let folder = Self {
            path,
            _claim: claim,
        };
        match folder.clear() {
            Ok(()) => Ok(folder),
            Err(reason) => Err(ReportFolderError::Unwritable {
                path: folder.path,
                reason,
            }),
        }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file in which the controller keeps its decisions.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        self.path.join("controller.redb")
    }

    /// Returns the folder of the captures.
    #[must_use]
    pub fn captures(&self) -> PathBuf {
        self.path.join("captures")
    }

    /// Writes both forms of the report, with as many of its flows, and returns where people
    /// find theirs.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn write(
        &self,
        document: &Document,
        report: &Report,
        extent: ShownFlows,
    ) -> io::Result<PathBuf> {
        write_whole(&self.machine_readable(), &report.to_json(extent))?;
        write_whole(&self.page(), &document.to_page())?;
        Ok(self.page())
    }

    /// Writes what came out of experiments of a paper, and returns where people
    /// find it.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn write_reproductions(
        &self,
        document: &Document,
        all: &[Reproduction],
    ) -> io::Result<PathBuf> {
        write_whole(&self.machine_readable(), &document::json(&documents(all)))?;
        let mut pictures = all.iter().flat_map(|one| &one.pictures).peekable();
        if pictures.peek().is_some() {
            fs::create_dir_all(self.figures())?;
        }
        for picture in pictures {
            let file = self.figures().join(picture.name());
            write_whole(&file.with_extension(PICTURE), &picture.to_svg())?;
        }
        write_whole(&self.page(), &document.to_page())?;
        Ok(self.page())
    }

    fn figures(&self) -> PathBuf {
        self.path.join("figures")
    }

    fn machine_readable(&self) -> PathBuf {
        self.path.join("report.json")
    }

    fn page(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// Removes what an earlier run left.
    fn clear(&self) -> io::Result<()> {
        prove_writable(&self.path)?;
        for file in [self.store(), self.machine_readable(), self.page()] {
            match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        clear_files(&self.captures(), capture::EXTENSION)?;
        clear_files(&self.figures(), PICTURE)
    }
}

/// Makes a folder if it is not there, writes a byte and removes it: only that shows that
/// a result can be kept there.
pub(super) fn prove_writable(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let trial = folder.join(format!(".{}.trial", process::id()));
    fs::write(&trial, [0])?;
    fs::remove_file(trial)
}

/// Removes the files of a folder that end in `extension`, and the folder if
/// nothing else is in it.
fn clear_files(folder: &Path, extension: &str) -> io::Result<()> {
    let files = match fs::read_dir(folder) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for file in files {
        let file = file?.path();
        if file.extension().is_some_and(|end| end == extension) {
            fs::remove_file(file)?;
        }
    }
    match fs::remove_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes a file whole, or leaves the place as it was: half a report could be taken for
/// one. What is no file, such as a device or a pipe, is written to as it is.
pub(super) fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    // Where it leads is what is written, not the link.
    let there = path.canonicalize();
    let path = there.as_deref().unwrap_or(path);
    if path.exists() && !path.is_file() {
        return fs::write(path, text);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", process::id()));
    let part = path.with_file_name(name);
    let written = fs::write(&part, text).and_then(|()| fs::rename(&part, path));
    written.inspect_err(|_| {
        // Who cannot remove it is told already that nothing was written.
        let _ = fs::remove_file(&part);
    })
}

#[cfg(test)]
mod tests {
    use super::{ReportFolder, ReportFolderError};

    #[test]
    fn a_folder_is_claimed_once_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("out").join("ring");

        let first = ReportFolder::claim(path.clone()).unwrap();
        let meanwhile = ReportFolder::claim(path.clone()).unwrap_err();
        drop(first);
        let afterwards = ReportFolder::claim(path);

        assert!(
            matches!(meanwhile, ReportFolderError::InUse { .. }),
            "{meanwhile}"
        );
        assert!(afterwards.is_ok());
    }

    #[test]
    fn what_an_earlier_run_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["report.json", "report.html", "controller.redb", "notes.txt"] {
            std::fs::write(folder.path().join(name), "left").unwrap();
        }

        let captures = folder.path().join("captures");
        std::fs::create_dir(&captures).unwrap();
        for name in ["s1-s2.pcapng", "mine.txt"] {
            std::fs::write(captures.join(name), "left").unwrap();
        }

        let _claimed = ReportFolder::claim(folder.path().to_owned()).unwrap();
        let left = [folder.path(), &captures].map(|folder| std::fs::read_dir(folder).unwrap());

        let left = left.into_iter().flatten();
        let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["captures", "mine.txt", "notes.txt"]);
    }

    #[test]
    fn what_is_no_file_is_written_to_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report.json");
        std::os::unix::fs::symlink("/dev/full", &file).unwrap();

        let written = super::write_whole(&file, "{}");

        assert_eq!(written.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
        assert!(file.symlink_metadata().unwrap().is_symlink());
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_take_its_place_is_not_left_beside() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("report.json");
        std::fs::create_dir(&taken).unwrap();
        std::fs::write(taken.join("other"), "").unwrap();

        assert!(super::write_whole(&taken, "{}").is_err());

        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }
}
