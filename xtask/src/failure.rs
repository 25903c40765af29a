//! Why a job could not be done, as opposed to what it found.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a job stopped before it had a result.
#[derive(Debug)]
pub enum Failure {
    /// A file or folder could not be read or written.
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A program could not be started.
    Program {
        /// The program.
        name: String,
        /// What the system said.
        error: io::Error,
    },
    /// The machine lacks something, in one sentence with the way to get it.
    Missing(String),
    /// The command line asks for something that does not exist.
    Usage(String),
}

impl Failure {
    /// Returns a function that names `path` in an error about it.
    pub fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |error| Self::File { path, error }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Program { name, error } => write!(f, "cannot start `{name}`: {error}"),
            Self::Missing(sentence) | Self::Usage(sentence) => f.write_str(sentence),
        }
    }
}
