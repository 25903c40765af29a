//! What a check found, and where.

use std::fmt;
use std::path::{Path, PathBuf};

/// Whether a finding stops the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Worth a look; does not fail the check.
    Warning,
    /// Breaks a rule; fails the check.
    Error,
}

/// One thing that a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it stops the job.
    pub severity: Severity,
    /// The file, relative to the root of the workspace.
    pub path: PathBuf,
    /// The line, counted from 1, or `None` if the whole file is meant.
    pub line: Option<usize>,
    /// What is wrong and what would be right.
    pub text: String,
}

impl Finding {
    /// Returns an error about a whole file.
    pub fn in_file(path: &Path, text: String) -> Self {
        Self {
            severity: Severity::Error,
            path: path.to_path_buf(),
            line: None,
            text,
        }
    }

    /// Returns an error about one line, counted from 1.
    pub fn in_line(path: &Path, line: usize, text: String) -> Self {
        Self {
            line: Some(line),
            ..Self::in_file(path, text)
        }
    }

    /// Returns the same finding as a warning.
    pub fn into_warning(self) -> Self {
        Self {
            severity: Severity::Warning,
            ..self
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let path = self.path.display();
        match self.line {
            Some(line) => write!(f, "{severity}: {path}:{line}: {}", self.text),
            None => write!(f, "{severity}: {path}: {}", self.text),
        }
    }
}
