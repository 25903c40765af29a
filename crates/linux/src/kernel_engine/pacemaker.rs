//! Speaks for sessions with neighbours while the process is late.
//!
//! A program in the kernel (`bpf/stand_in.c`) looks several times an interval which session
//! should have spoken by now, and says in its place that the switch forwards. What wakes it
//! is a frame that goes [round] through a pair of interfaces and waits at one end for
//! its time. The process only keeps in words how and when (`switch::bfd`); this thread makes
//! the pair when there are sessions, and sends new frames round once a second, so that it
//! matters to nobody whether one was lost.
//!
//! When the process is killed the frames go round as long as the kernel forwards; when it ends
//! the pair is taken away. Where the kernel lacks what it takes, the process speaks alone, and
//! the words say so.

mod round;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};

use switch::compiled::layout::{Region, frame_times};
use units::Duration;
use wire::openflow::DatapathId;

use super::SharedTables;
use crate::bpf::attachment::Preference;
use round::Round;
pub(super) use round::remove;

/// How often frames go round in the interval of the quickest session, and how often at most.
const ROUNDS_AN_INTERVAL: u64 = 4;
const SHORTEST_ROUND: Duration = Duration::from_us(100);
const RENEWAL: std::time::Duration = std::time::Duration::from_secs(1);

/// The thread. It ends, with all that it made, when this value is dropped.
#[derive(Debug)]
pub(super) struct Pacemaker {
    /// Nothing once it ends.
    wishes: Option<Sender<Option<Duration>>>,
    thread: Option<JoinHandle<()>>,
}

/// Where frames go round.
#[derive(Debug)]
pub(super) struct Place {
    /// The names of the two interfaces.
    pub(super) names: [String; 2],
    pub(super) preference: Preference,
    /// The name of the program's link, if it is to outlive the process.
    pub(super) pin: Option<PathBuf>,
}

impl Place {
    /// Returns the place of a switch, of those that its processes use alternately.
    pub(super) fn of(
        switch: DatapathId,
        turn: &str,
        preference: Preference,
        pin: Option<PathBuf>,
    ) -> Self {
        // As much of it as a name has room for.
        let number = (switch.0 ^ switch.0 >> 40) & ((1 << 40) - 1);
        let name = |end| format!("tk{number:010x}{turn}{end}");
        Self {
            names: [name(0), name(1)],
            preference,
            pin,
        }
    }
}

impl Pacemaker {
    /// Starts the thread, in the calling thread's namespace; it makes nothing yet.
    pub(super) fn start(tables: SharedTables, place: Place) -> io::Result<Self> {
        let (wishes, heard) = mpsc::channel();
        let keeper = Keeper {
            tables,
            place,
            round: None,
        };
        let thread = thread::Builder::new().name("pacemaker".to_owned());
        let thread = thread.spawn(move || keeper.keep(&heard))?;
        Ok(Self {
            wishes: Some(wishes),
            thread: Some(thread),
        })
    }

    /// Says how often the quickest session sends; nothing if there is none.
    pub(super) fn want(&self, quickest: Option<Duration>) {
        if let Some(wishes) = &self.wishes {
            // It ends by nothing but this value.
            let _ = wishes.send(quickest);
        }
    }
}

impl Drop for Pacemaker {
    fn drop(&mut self) {
        self.wishes = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[derive(Debug)]
struct Keeper {
    tables: SharedTables,
    place: Place,
    round: Option<Round>,
}

impl Keeper {
    fn keep(mut self, wishes: &Receiver<Option<Duration>>) {
        loop {
            let wish = match self.round {
                Some(_) => wishes.recv_timeout(RENEWAL),
                None => wishes.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let done = match wish {
                Ok(quickest) => self.heed(quickest),
                Err(RecvTimeoutError::Timeout) => self.renew(),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            self.tell(done);
        }
    }

    fn heed(&mut self, quickest: Option<Duration>) -> io::Result<()> {
        let Some(quickest) = quickest else {
            self.round = None;
            return Ok(());
        };
        let every = Duration::from_ns(quickest.as_ns() / ROUNDS_AN_INTERVAL).max(SHORTEST_ROUND);
        match &self.round {
            Some(round) => round.change(every),
            None => {
                self.round = Some(Round::begin(&self.tables, &self.place, every)?);
                self.renew()
            }
        }
    }

    /// Sends new frames round in place of those that do.
    fn renew(&mut self) -> io::Result<()> {
        let word = self.word(frame_times::TURN);
        let turn = word.load(Ordering::Relaxed).wrapping_add(1);
        let number = u8::try_from(turn % 256).expect("less than 256");
        if let Some(round) = &self.round {
            round.send(number)?;
        }
        self.word(frame_times::TURN).store(turn, Ordering::Release);
        Ok(())
    }

    /// Says whether somebody stands in, and if not, why.
    fn tell(&mut self, done: io::Result<()>) {
        const SOMETHING: i32 = libc::EOPNOTSUPP;
        let state = match done {
            Ok(()) => u64::from(self.round.is_some()),
            Err(reason) => {
                self.round = None;
                let error = reason.raw_os_error().unwrap_or(SOMETHING);
                frame_times::LACKING + u64::from(error.unsigned_abs())
            }
        };
        let word = self.word(frame_times::PACEMAKER);
        word.store(state, Ordering::Release);
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        &self.tables.array(Region::FrameTimes).words()[at]
    }
}
