//! A program that runs in a namespace and can be told to stand still.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use linux::namespace::Namespace;
use rustix::process::{Pid, Signal, kill_process};
use units::Duration;

/// Where the kernel says for how long a thread has run, and waited.
const RAN: usize = 0;
const WAITED: usize = 1;

/// Where a program may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processors {
    Only(usize),
    /// On all that there are.
    All,
}

/// A running program. It ends with this value, and with this process.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

/// Ends a program at once, as a failure would.
#[derive(Clone, Copy, Debug)]
pub struct Killer(Pid);

impl Killer {
    /// Ends it.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn kill(self) -> io::Result<()> {
        Ok(kill_process(self.0, Signal::KILL)?)
    }
}

/// How a program is started.
#[derive(Debug)]
pub struct Start<'a> {
    pub room: &'a Namespace,
    pub processors: Processors,
    /// The program and what it is told.
    pub command: &'a [&'a str],
    pub environment: &'a [(&'a str, &'a str)],
    /// Where what it says goes.
    pub log: &'a Path,
}

impl Process {
    /// Starts a program as urgently as the machine allows. To be called by a
    /// thread that lives as long as the program is to run.
    ///
    /// # Errors
    ///
    /// If the log cannot be written, or `nsenter` is not there.
    pub fn start(start: &Start<'_>) -> io::Result<Self> {
        let log = fs::File::create(start.log)?;
        let processors = match start.processors {
            Processors::Only(processor) => processor.to_string(),
            Processors::All => format!(
                "0-{}",
                std::thread::available_parallelism()?.get().max(2) - 1
            ),
        };
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net={}", start.room.path()))
            .args(["setpriv", "--pdeathsig", "KILL"])
            .args(["nice", "-n", "-20"])
            .args(["taskset", "--cpu-list", &processors])
            .args(start.command)
            .envs(start.environment.iter().copied())
            .stdin(Stdio::null())
            .stderr(log.try_clone()?)
            .stdout(log);
        let child = command.spawn()?;
        Ok(Self { child })
    }

    /// Makes it stand still.
    ///
    /// # Errors
    ///
    /// If it has ended.
    pub fn pause(&self) -> io::Result<()> {
        Ok(kill_process(self.id(), Signal::STOP)?)
    }

    /// Lets it go on.
    ///
    /// # Errors
    ///
    /// If it has ended.
    pub fn resume(&self) -> io::Result<()> {
        Ok(kill_process(self.id(), Signal::CONT)?)
    }

    /// Tells whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))
    }

    /// Returns for how long its threads stood ready while something else had the
    /// processor.
    #[must_use]
    pub fn waited(&self) -> Duration {
        let waits = self.threads(WAITED).into_values();
        waits.fold(Duration::ZERO, |sum, wait| sum + wait)
    }

    /// Returns for how long each of its threads has run.
    #[must_use]
    pub fn busy(&self) -> BTreeMap<PathBuf, Duration> {
        self.threads(RAN)
    }

    /// Reads one of the kernel's figures about each thread.
    fn threads(&self, figure: usize) -> BTreeMap<PathBuf, Duration> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let figures = threads
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|thread| Some((thread.path(), of_thread(&thread.path(), figure)?)));
        figures.collect()
    }

    /// Returns what ends it, from another thread. Not to be used once it has been
    /// seen to have ended.
    #[must_use]
    pub fn killer(&self) -> Killer {
        Killer(self.id())
    }

    fn id(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A program that has ended already needs no end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns for how long the calling thread has run.
#[must_use]
pub fn own_time() -> Duration {
    of_thread(Path::new("/proc/thread-self"), RAN).unwrap_or_default()
}

/// Reads one of the kernel's figures about a thread.
fn of_thread(thread: &Path, figure: usize) -> Option<Duration> {
    let text = fs::read_to_string(thread.join("schedstat")).ok()?;
    let ns = text.split_whitespace().nth(figure)?.parse::<u64>().ok()?;
    Some(Duration::from_ns(ns))
}

/// Runs a program in a namespace to its end.
///
/// # Errors
///
/// If it is not there or says that it failed; the error has what it said.
pub fn run(room: &Namespace, command: &[&str]) -> io::Result<()> {
    let output = Command::new("nsenter")
        .arg(format!("--net={}", room.path()))
        .args(command)
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let told = command.join(" ");
    Err(io::Error::other(format!("`{told}`: {}", said.trim())))
}

/// Tells whether a program is installed.
#[must_use]
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(["/usr/sbin", "/sbin"]);
    folders
        .map(|folder| Path::new(folder).join(program))
        .any(|file| file.is_file())
}
