//! A controller that runs as a process of its own and can be told to stand still.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use units::Duration;

/// Where the kernel says for how long a thread has run, and waited, and how often.
const RAN: usize = 0;
const WAITED: usize = 1;

/// A running controller. It ends with this value, and with this process.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts a program on one processor, as urgently as the machine allows. To be
    /// called by a thread that lives as long as the program is to run.
    pub fn start(
        processor: usize,
        command: &[String],
        environment: &[(&str, &str)],
    ) -> io::Result<Self> {
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "nice", "-n", "-20"])
            .args(["taskset", "--cpu-list", &processor.to_string()])
            .args(command)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { child })
    }

    pub fn pause(&self) -> io::Result<()> {
        Ok(kill_process(self.id(), Signal::STOP)?)
    }

    pub fn resume(&self) -> io::Result<()> {
        Ok(kill_process(self.id(), Signal::CONT)?)
    }

    /// Tells whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))
    }

    /// Returns for how long its threads stood ready while something else had the
    /// processor.
    pub fn waited(&self) -> Duration {
        self.of_all_threads(WAITED)
    }

    /// Returns for how long its threads have run.
    pub fn ran(&self) -> Duration {
        self.of_all_threads(RAN)
    }

    /// Returns how much memory it occupies, in bytes.
    pub fn resident_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|rest| rest.split_whitespace().next());
        kib.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) << 10
    }

    /// Adds up one of the kernel's figures about each thread.
    fn of_all_threads(&self, figure: usize) -> Duration {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let threads = threads.into_iter().flatten().flatten();
        let figures = threads.filter_map(|thread| of_thread(&thread.path(), figure));
        figures.fold(Duration::ZERO, |sum, one| sum + one)
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

fn of_thread(thread: &Path, figure: usize) -> Option<Duration> {
    let text = fs::read_to_string(thread.join("schedstat")).ok()?;
    let ns = text.split_whitespace().nth(figure)?.parse::<u64>().ok()?;
    Some(Duration::from_ns(ns))
}
