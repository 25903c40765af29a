//! A terminal that nobody sits at.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::testbed::PATIENCE;

/// What a program writes to a terminal.
pub struct Terminal {
    pieces: Receiver<String>,
}

impl Terminal {
    /// Opens one, with the end that a program gets.
    pub fn open() -> (Self, Stdio) {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(ours.as_fd(), Vec::new()).unwrap();
        let theirs: OwnedFd = open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let (tell, pieces) = channel();
        thread::spawn(move || {
            let mut ours = File::from(ours);
            let mut room = [0; 4096];
            // It is an error to read when no program has the other end any more.
            while let Ok(count @ 1..) = ours.read(&mut room) {
                let piece = String::from_utf8_lossy(&room[..count]).into_owned();
                if tell.send(piece).is_err() {
                    return;
                }
            }
        });
        (Self { pieces }, Stdio::from(theirs))
    }

    /// Returns what is written until `words` stand there.
    #[track_caller]
    pub fn read_until(&self, words: &str) -> String {
        let mut written = String::new();
        while !written.contains(words) {
            match self.pieces.recv_timeout(PATIENCE) {
                Ok(piece) => written.push_str(&piece),
                Err(_) => panic!("no `{words}` in: {written:?}"),
            }
        }
        written
    }

    /// Returns what is written until no program is left.
    pub fn read_to_end(&self) -> String {
        self.pieces.iter().collect()
    }
}
