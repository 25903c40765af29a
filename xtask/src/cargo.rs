//! Starts `cargo` as the user would, in the root of the workspace.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::failure::Failure;
use crate::workspace::Workspace;

/// A `cargo` about to be started.
#[derive(Debug)]
pub struct Cargo {
    command: Command,
}

impl Cargo {
    /// Returns the `cargo` that runs this program, without what that one tells this program of
    /// its package: a dependency (`ring`) is built anew, and all that need it, where it differs.
    pub fn new(workspace: &Workspace) -> Self {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let mut command = Command::new(cargo);
        command.current_dir(workspace.root());
        for (name, _) in std::env::vars_os() {
            let told = ["CARGO_PKG_", "CARGO_MANIFEST_"];
            if let Some(text) = name.to_str()
                && told.iter().any(|prefix| text.starts_with(prefix))
            {
                command.env_remove(&name);
            }
        }
        Self { command }
    }

    /// Returns the same `cargo` as root of a user namespace of its own, where
    /// an ordinary user may make network namespaces.
    pub fn in_user_namespace(workspace: &Workspace) -> Self {
        let inner = Self::new(workspace).command;
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user"])
            .arg(inner.get_program());
        command.current_dir(workspace.root());
        Self { command }
    }

    /// Sets an environment variable.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it to its end and returns whether it succeeded.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn run(mut self, arguments: &[&str]) -> Result<bool, Failure> {
        let status = self.command.args(arguments).status().map_err(not_started)?;
        Ok(status.success())
    }

    /// Runs it to its end, hands each line of its output to `line`, and returns
    /// whether it succeeded.
    ///
    /// # Errors
    ///
    /// If it cannot be started, or its output cannot be read.
    pub fn run_lines(
        mut self,
        arguments: &[&str],
        mut line: impl FnMut(&str),
    ) -> Result<bool, Failure> {
        let command = self.command.args(arguments).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(not_started)?;
        let output = child.stdout.take().expect("the output was piped above");
        for bytes in BufReader::new(output).split(b'\n') {
            let bytes = bytes.map_err(not_started)?;
            line(&String::from_utf8_lossy(&bytes));
        }
        Ok(child.wait().map_err(not_started)?.success())
    }
}

/// Returns the folder that `cargo` builds into: this program stands two folders
/// below it.
pub fn target_folder() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let folder = program.ancestors().nth(2);
    folder.map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

fn not_started(error: std::io::Error) -> Failure {
    Failure::Program {
        name: "cargo".to_owned(),
        error,
    }
}
