//! A folder in which the program is started, and what it did there.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};
use serde_json::Value;
use tempfile::TempDir;

/// Two hosts behind a switch each, and one flow.
pub const PAIR: &str = r#"
[scenario]
title = "A pair"
duration = "1 s"

[network]
generator = "line"
size = 2
hosts_per_switch = 1
link_rate = "100 Mbit/s"

[flows.control]
kind = "udp"
from = "h1"
to = "h2"
frame = "306 B"
rate = "1 Mbit/s"
deadline = "10 ms"
"#;

/// A folder of its own, which vanishes with this value.
pub struct Workplace {
    folder: TempDir,
}

impl Workplace {
    /// Makes one in which [`PAIR`] is the file `pair.toml`.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("pair.toml"), PAIR).unwrap();
        Self { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.path(name), contents).unwrap();
    }

    /// Returns the program, about to be started here.
    pub fn taktos<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taktos"));
        command.args(arguments);
        self.prepare(command)
    }

    /// Lets `command` start here, without a terminal.
    pub fn prepare(&self, mut command: Command) -> Command {
        command
            .current_dir(self.folder.path())
            .env_remove("NO_COLOR")
            .env("XDG_CACHE_HOME", self.folder.path().join("cache"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Ended {
        Ended::from(self.taktos(arguments).output().unwrap())
    }

    pub fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Reads the report of the scenario `pair`.
    pub fn report(&self) -> Value {
        let text = fs::read(self.path("out/pair/report.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }
}

#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let ended = Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        ended
    }
}

impl Ended {
    /// Asserts that it was refused as bad input, with this in the message and
    /// nothing else done.
    #[track_caller]
    pub fn is_refused(&self, saying: &str) {
        assert_eq!(self.code, Some(2), "{}", self.stderr);
        assert_eq!(self.stdout, "");
        assert!(
            self.stderr.contains(saying),
            "no `{saying}` in: {}",
            self.stderr
        );
    }
}

/// The program while it runs.
pub struct Running {
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self {
            child,
            stderr,
            said: String::new(),
        }
    }

    /// Returns what the kernel says of each of its threads.
    pub fn threads(&self) -> Vec<String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let statuses = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("status")));
        statuses.map(Result::unwrap).collect()
    }

    /// Lets no file that the program writes grow beyond so many bytes, or all again.
    pub fn limit_files_to(&self, bytes: Option<u64>) {
        let pid = Pid::from_child(&self.child);
        let maximum = prlimit(Some(pid), Resource::Fsize, getrlimit(Resource::Fsize))
            .unwrap()
            .maximum;
        let limits = Rlimit {
            current: bytes.or(maximum),
            maximum,
        };
        prlimit(Some(pid), Resource::Fsize, limits).unwrap();
    }

    /// Waits for a line with `words` on standard error; says whether it came.
    pub fn says(&mut self, words: &str) -> bool {
        self.line_with(words).is_some()
    }

    /// Waits for a line with `words` on standard error and returns it.
    pub fn line_with(&mut self, words: &str) -> Option<String> {
        loop {
            let before = self.said.len();
            if self.stderr.read_line(&mut self.said).unwrap() == 0 {
                return None;
            }
            let line = &self.said[before..];
            if line.contains(words) {
                return Some(line.to_owned());
            }
        }
    }

    /// Returns what it has said so far, as far as anybody waited for it.
    pub fn said(&self) -> &str {
        &self.said
    }

    /// Returns the number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub fn end(mut self) -> Ended {
        let output = self.child.wait_with_output().unwrap();
        std::io::Read::read_to_string(&mut self.stderr, &mut self.said).unwrap();
        Ended {
            stderr: self.said,
            ..Ended::from(output)
        }
    }
}

/// Returns a scenario that comes with the program.
pub fn scenario(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    folder.join(name).display().to_string()
}
