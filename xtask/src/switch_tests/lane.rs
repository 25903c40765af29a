//! One tester at work: its stage as a process of its own, and the lines that it
//! sends us.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::Sender;
use std::thread;

use super::stage::TesterRun;
use crate::failure::Failure;
use crate::namespaces::Namespaces;

/// What comes from a lane.
#[derive(Debug)]
pub enum News {
    /// The tester said this.
    Line(String),
    /// Nothing more will come.
    Ended,
}

/// A tester at work. Its stage is struck when this is dropped.
#[derive(Debug)]
pub struct Lane {
    child: Child,
}

impl Lane {
    /// Sets the stage in namespaces of its own, and sends everything that its
    /// tester says to `news` under the number `lane`. A copy goes to the file
    /// `transcript.txt` of its folder.
    ///
    /// # Errors
    ///
    /// If the process cannot be started.
    pub fn start(
        namespaces: Namespaces,
        stage: &TesterRun,
        lane: usize,
        news: Sender<(usize, News)>,
    ) -> Result<Self, Failure> {
        let program = std::env::current_exe().unwrap_or_default();
        let command = namespaces.command(&program.display().to_string());
        let mut command = command.ok_or_else(|| {
            let sentence =
                "the tests need network namespaces: run as root, or allow user namespaces";
            Failure::Missing(sentence.to_owned())
        })?;
        let path = stage.folder.join("transcript.txt");
        let mut copy = File::create(&path).map_err(Failure::at(&path))?;
        let child = command
            .arg("switch-tests-stage")
            .args(stage.words())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|error| Failure::Program {
            name: "unshare".to_owned(),
            error,
        })?;
        let output = child.stdout.take().expect("the output was piped above");
        thread::spawn(move || {
            for bytes in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&bytes).into_owned();
                // The copy is for people who look into a failure.
                let _ = writeln!(copy, "{line}");
                if news.send((lane, News::Line(line))).is_err() {
                    return;
                }
            }
            let _ = news.send((lane, News::Ended));
        });
        Ok(Self { child })
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        // The stage ends with its standard input, whoever holds its output.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
