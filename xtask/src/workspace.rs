//! The files of the workspace, as the jobs see them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Folders that hold nothing written by hand, wherever they stand.
const GENERATED: [&str; 6] = [
    "target",
    ".git",
    "out",
    "corpus",
    "artifacts",
    "node_modules",
];

/// The workspace on disk.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    files: Vec<PathBuf>,
}

impl Workspace {
    /// Lists the files of the workspace that this program was built from.
    ///
    /// # Errors
    ///
    /// If a folder cannot be listed.
    pub fn open() -> Result<Self, Failure> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = manifest
            .parent()
            .expect("xtask stands in the root of the workspace");
        Self::at(root)
    }

    /// Lists the files below `root`.
    ///
    /// # Errors
    ///
    /// If a folder cannot be listed.
    pub fn at(root: &Path) -> Result<Self, Failure> {
        let mut files = Vec::new();
        walk(root, Path::new(""), &mut files)?;
        files.sort();
        Ok(Self {
            root: root.to_path_buf(),
            files,
        })
    }

    /// Returns the folder that holds the workspace.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns every file, relative to the root, in order of its path.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns the files whose name ends in `.extension`.
    pub fn with_extension<'a>(&'a self, extension: &'a str) -> impl Iterator<Item = &'a Path> {
        let ends = move |path: &&PathBuf| path.extension().is_some_and(|it| it == extension);
        self.files.iter().filter(ends).map(PathBuf::as_path)
    }

    /// Returns whether there is a file or folder at `path`.
    pub fn has(&self, path: &Path) -> bool {
        self.root.join(path).exists()
    }

    /// Reads a file of the workspace.
    ///
    /// # Errors
    ///
    /// If it cannot be read or is not UTF-8.
    pub fn read(&self, path: &Path) -> Result<String, Failure> {
        fs::read_to_string(self.root.join(path)).map_err(Failure::at(path))
    }

    /// Writes a file of the workspace.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write(&self, path: &Path, text: &str) -> Result<(), Failure> {
        fs::write(self.root.join(path), text).map_err(Failure::at(path))
    }
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let here = root.join(folder);
    for entry in fs::read_dir(&here).map_err(Failure::at(&here))? {
        let entry = entry.map_err(Failure::at(&here))?;
        let path = folder.join(entry.file_name());
        let kind = entry.file_type().map_err(Failure::at(&path))?;
        if kind.is_dir() {
            if !GENERATED.iter().any(|name| entry.file_name() == *name) {
                walk(root, &path, files)?;
            }
        } else if kind.is_file() {
            files.push(path);
        }
    }
    Ok(())
}
