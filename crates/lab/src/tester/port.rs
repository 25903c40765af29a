//! One port of the tester: sends, captures, and knows what it still expects to see
//! leaving.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use linux::clock::WallClock;
use linux::interface::Interface;
use linux::loan::Loan;
use linux::namespace::Namespace;
use linux::sender::{ClassId, Queued, Sender};
use linux::tap::{Captured, Direction, RING_BYTES, Tap};
use measure::trial::{PortIndex, Sighting, Way};
use units::Instant;

use super::TesterError;

/// Frames leave through no class of their own.
const NO_CLASS: ClassId = ClassId { major: 0, minor: 0 };
/// The most frames that are remembered between their sending and their stamp: as
/// many as the capture holds.
const MOST_EXPECTED: usize = 8_192;
/// How far a stamped frame is searched among those expected: what the driver took
/// without showing it.
const SEARCH: usize = 64;
/// By so many bytes a frame is recognised.
const PRINT_BYTES: usize = 96;

/// One port.
#[derive(Debug)]
pub(super) struct TesterPort {
    pub(super) name: String,
    pub(super) room: Namespace,
    pub(super) index: u32,
    sender: Sender,
    tap: Tap,
    expected: VecDeque<Expected>,
    /// While it is set, nothing that arrives is told.
    pub(super) muted: Arc<AtomicBool>,
    /// How many frames the ring had lost before the trial.
    lost_before: u64,
    loan: Option<Loan>,
}

/// A frame that was sent and has not been seen leaving.
#[derive(Clone, Copy, Debug)]
struct Expected {
    due: Instant,
    print: u64,
}

/// What was seen at a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Whether it came or went.
    pub(super) way: Way,
    /// When.
    pub(super) at: Instant,
    /// When it was to leave, if it is one that this port sent.
    pub(super) due: Option<Instant>,
}

impl TesterPort {
    /// Opens an interface of `room`.
    pub(super) fn open(
        room: &Namespace,
        name: &str,
        loan: Option<Loan>,
    ) -> Result<Self, TesterError> {
        let failed = |reason| TesterError::Port {
            interface: name.to_owned(),
            reason,
        };
        let open = || -> io::Result<_> {
            let index = Interface::named(name)?.index();
            let tap = Tap::open(index, RING_BYTES)?;
            tap.receive_for_anybody(index)?;
            Ok((index, tap, Sender::open(index, NO_CLASS)?))
        };
        let (index, tap, sender) = room.run(open).map_err(failed)?;
        Ok(Self {
            name: name.to_owned(),
            room: room.try_clone()?,
            index,
            sender,
            tap,
            expected: VecDeque::with_capacity(MOST_EXPECTED),
            muted: Arc::new(AtomicBool::new(false)),
            lost_before: 0,
            loan,
        })
    }

    /// Forgets what happened before a trial.
    pub(super) fn begin(&mut self) {
        while self.tap.take(|_| ()).is_some() {}
        self.expected.clear();
        self.lost_before = self.tap.lost();
    }

    /// Sends a frame that was due then.
    pub(super) fn send(&mut self, frame: &[u8], due: Instant) -> io::Result<Queued> {
        let queued = self.sender.send(frame)?;
        if queued == Queued::Taken {
            if self.expected.len() == MOST_EXPECTED {
                self.expected.pop_front();
            }
            let print = print(frame);
            self.expected.push_back(Expected { due, print });
        }
        Ok(queued)
    }

    /// Reads one frame that passed, and hands it to `tell` unless the port is muted.
    /// Returns whether there was one.
    pub(super) fn read(
        &mut self,
        port: PortIndex,
        wall: &WallClock,
        mut tell: impl FnMut(&Sighting<'_>, Seen),
    ) -> bool {
        let (expected, muted) = (&mut self.expected, &self.muted);
        let read = |frame: Captured<'_>| {
            let at = wall.to_monotonic(frame.stamp);
            let (way, due) = match frame.direction {
                Direction::Out => (Way::Sent, recognise(expected, frame.bytes)),
                Direction::In if muted.load(Ordering::Relaxed) => return,
                Direction::In => (Way::Received, None),
            };
            let sighting = Sighting {
                port,
                way,
                at,
                length: frame.length,
                bytes: frame.bytes,
            };
            tell(&sighting, Seen { way, at, due });
        };
        self.tap.take(read).is_some()
    }

    /// Returns how many frames went by uncaptured in this trial.
    pub(super) fn unseen(&mut self) -> u64 {
        self.tap.lost().saturating_sub(self.lost_before)
    }

    /// Tells whether the interface is still the one that was opened.
    pub(super) fn is_there(&self) -> bool {
        // From a room of ours nobody takes an interface away.
        if self.loan.is_none() {
            return true;
        }
        let found = Interface::named(&self.name);
        found.is_ok_and(|found| found.index() == self.index)
    }
}

/// Finds the frame among those that were sent, and with it when it was due. Frames
/// leave in the order in which they were sent.
fn recognise(expected: &mut VecDeque<Expected>, frame: &[u8]) -> Option<Instant> {
    let print = print(frame);
    let place = expected
        .iter()
        .take(SEARCH)
        .position(|it| it.print == print)?;
    expected.drain(..place);
    expected.pop_front().map(|it| it.due)
}

/// Returns a number that frames seldom share: FNV-1a, by words.
fn print(frame: &[u8]) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let beginning = &frame[..frame.len().min(PRINT_BYTES)];
    let words = beginning.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    let length = u64::try_from(frame.len()).expect("a frame is short");
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(PRIME);
    words.fold(mix(BASIS, length), mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_left_unseen_is_passed_over() {
        let mut expected: VecDeque<_> = (1..=3)
            .map(|number| Expected {
                due: Instant::from_ns(number),
                print: print(&[u8::try_from(number).expect("few"); 60]),
            })
            .collect();

        assert_eq!(recognise(&mut expected, &[9; 60]), None);
        assert_eq!(
            recognise(&mut expected, &[2; 60]),
            Some(Instant::from_ns(2))
        );
        assert_eq!(expected.len(), 1);
    }

    #[test]
    fn frames_that_differ_in_length_or_in_one_byte_have_other_prints() {
        let frame = [7; 60];
        let mut other = frame;
        other[41] = 8;

        assert_ne!(print(&frame), print(&other));
        assert_ne!(print(&frame), print(&frame[..59]));
    }
}
