//! One port of the tester: sends, captures, and knows what it still expects to see
//! leaving.
//!
//! | at | what leaves is stamped | what arrives is stamped |
//! |---|---|---|
//! | a virtual cable | by its driver, which is known to | when its driver hands it up |
//! | a borrowed interface | by a capture, before the driver takes it | when the driver hands it up |
//! | one whose card stamps | by the card | by the card |

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use linux::arrivals::{Arrival, Arrivals};
use linux::clock::{self, WallClock};
use linux::departures::StampedBy;
use linux::interface::Interface;
use linux::interface_guard::InterfaceGuard;
use linux::namespace::Namespace;
use linux::sender::{ClassId, Queued, Sender};
use linux::tap::{Captured, Direction, RING_BYTES, Tap};
use measure::trial::Way;
use units::Instant;

use super::TesterError;
use super::card_clocks::{self, CardClocks, ClockPlace};
use crate::departing::{Departing, LaterDeparture, MOST_REMEMBERED};

/// Frames leave through no class of their own.
const NO_CLASS: ClassId = ClassId { major: 0, minor: 0 };
/// The most frames that are remembered between their sending and their stamp.
const MOST_EXPECTED: usize = MOST_REMEMBERED;
/// How far a stamped frame is searched among those expected: what the driver took
/// without showing it.
const SEARCH: usize = 64;
/// By so many bytes a frame is recognised.
const PRINT_BYTES: usize = 96;

#[derive(Debug)]
pub(super) struct TesterPort {
    pub(super) name: String,
    pub(super) room: Namespace,
    pub(super) index: u32,
    exit: DepartureStamping,
    entry: ArrivalStamping,
    /// While it is set, nothing that arrives is told.
    pub(super) muted: Arc<AtomicBool>,
    /// How many frames the ring had lost before the trial.
    lost_before: u64,
    guard: Option<InterfaceGuard>,
}

/// How frames leave, and how it is known when.
#[derive(Debug)]
enum DepartureStamping {
    /// The driver stamps them, or the card.
    Stamped(Box<Departing>),
    /// The capture does, which copies them afterwards.
    Captured {
        sender: Sender,
        expected: VecDeque<Expected>,
    },
}

#[derive(Debug)]
enum ArrivalStamping {
    Captured(Tap),
    /// The card does, by this clock.
    ByCard(Arrivals, ClockPlace),
}

/// What an interface is to the tester.
#[derive(Debug)]
pub(super) enum InterfaceKind {
    /// The end of a virtual cable, in a room of ours.
    Cable,
    /// It belongs to the user; its card stamps if there is a clock.
    Borrowed(InterfaceGuard, Option<ClockPlace>),
}

/// The clocks by which frames are stamped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks<'a> {
    pub(super) wall: &'a WallClock,
    pub(super) cards: &'a CardClocks,
}

/// A frame that was sent and has not been seen leaving.
#[derive(Clone, Copy, Debug)]
struct Expected {
    due: Instant,
    print: u64,
}

/// A frame that passed a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed<'a> {
    /// Whether it came or went.
    pub(super) way: Way,
    /// When, unless the card that was to stamp it has not, or not so that it could be.
    pub(super) at: Option<Instant>,
    /// When it was to leave, if it is one that this port sent.
    pub(super) due: Option<Instant>,
    /// Its length without check sequence, in bytes.
    pub(super) length: usize,
    /// Its bytes, fewer than its length if it was cut off.
    pub(super) bytes: &'a [u8],
}

impl TesterPort {
    /// Opens an interface of `room`.
    pub(super) fn open(
        room: &Namespace,
        name: &str,
        kind: InterfaceKind,
    ) -> Result<Self, TesterError> {
        let failed = |reason| TesterError::Port {
            interface: name.to_owned(),
            reason,
        };
        let open = || -> io::Result<_> {
            let index = Interface::named(name)?.index();
            let (exit, entry) = ways(index, &kind)?;
            Ok((index, exit, entry))
        };
        let (index, exit, entry) = room.run(open).map_err(failed)?;
        Ok(Self {
            name: name.to_owned(),
            room: room.try_clone()?,
            index,
            exit,
            entry,
            muted: Arc::new(AtomicBool::new(false)),
            lost_before: 0,
            guard: match kind {
                InterfaceKind::Cable => None,
                InterfaceKind::Borrowed(guard, _) => Some(guard),
            },
        })
    }

    /// Forgets what happened before a trial.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        match &mut self.entry {
            ArrivalStamping::Captured(tap) => while tap.take(|_| ()).is_some() {},
            ArrivalStamping::ByCard(arrivals, _) => while arrivals.take(|_| ())?.is_some() {},
        }
        match &mut self.exit {
            DepartureStamping::Stamped(departing) => departing.forget()?,
            DepartureStamping::Captured { expected, .. } => expected.clear(),
        }
        self.lost_before = self.lost();
        Ok(())
    }

    /// Sends a frame that was due then.
    pub(super) fn send(&mut self, frame: &[u8], due: Instant) -> io::Result<Queued> {
        match &mut self.exit {
            DepartureStamping::Stamped(departing) => departing.send(frame, due),
            DepartureStamping::Captured { sender, expected } => {
                let queued = sender.send(frame)?;
                if queued == Queued::Taken {
                    if expected.len() == MOST_EXPECTED {
                        expected.pop_front();
                    }
                    let print = print(frame);
                    expected.push_back(Expected { due, print });
                }
                Ok(queued)
            }
        }
    }

    /// Reads one frame that passed, and hands it to `tell` unless the port is muted.
    /// Returns whether there was one.
    pub(super) fn read(
        &mut self,
        clocks: Clocks<'_>,
        mut tell: impl FnMut(&Passed<'_>),
    ) -> io::Result<bool> {
        if self.read_departed(clocks, &mut tell)? {
            return Ok(true);
        }
        let (exit, muted) = (&mut self.exit, &self.muted);
        let is_muted = || muted.load(Ordering::Relaxed);
        match &mut self.entry {
            ArrivalStamping::Captured(tap) => {
                let read = |frame: Captured<'_>| {
                    let (way, due) = match (frame.direction, exit) {
                        (Direction::Out, DepartureStamping::Captured { expected, .. }) => {
                            (Way::Sent, recognise(expected, frame.bytes))
                        }
                        (Direction::Out, DepartureStamping::Stamped(_)) => return,
                        (Direction::In, _) if is_muted() => return,
                        (Direction::In, _) => (Way::Received, None),
                    };
                    tell(&Passed {
                        way,
                        at: Some(clocks.wall.to_monotonic(frame.stamp)),
                        due,
                        length: frame.length,
                        bytes: frame.bytes,
                    });
                };
                Ok(tap.take(read).is_some())
            }
            ArrivalStamping::ByCard(arrivals, place) => {
                let relation = clocks.cards.relation(*place);
                let read = |frame: Arrival<'_>| {
                    if is_muted() {
                        return;
                    }
                    tell(&Passed {
                        way: Way::Received,
                        at: card_clocks::arrival(relation, clocks.wall, frame.stamps, clock::now()),
                        due: None,
                        length: frame.length,
                        bytes: frame.bytes,
                    });
                };
                Ok(arrivals.take(read)?.is_some())
            }
        }
    }

    /// Reads one frame that has left with a stamp, or should have.
    fn read_departed(
        &mut self,
        clocks: Clocks<'_>,
        tell: &mut impl FnMut(&Passed<'_>),
    ) -> io::Result<bool> {
        let DepartureStamping::Stamped(departing) = &mut self.exit else {
            return Ok(false);
        };
        let entry = &self.entry;
        let left = departing.next(|frame| {
            tell(&Passed {
                way: Way::Sent,
                at: match entry {
                    ArrivalStamping::Captured(_) => {
                        frame.stamps.kernel.map(|it| clocks.wall.to_monotonic(it))
                    }
                    ArrivalStamping::ByCard(_, place) => {
                        let relation = clocks.cards.relation(*place);
                        card_clocks::departure(relation, frame.stamps, frame.handed, clock::now())
                    }
                },
                due: Some(frame.due),
                length: frame.bytes.len(),
                bytes: frame.bytes,
            });
        })?;
        let unstamped = |bytes: &[u8]| {
            tell(&Passed {
                way: Way::Sent,
                at: None,
                due: None,
                length: bytes.len(),
                bytes,
            });
        };
        Ok(left
            .or_else(|| departing.next_unstamped(unstamped))
            .is_some())
    }

    /// Waits no longer for stamps of the card.
    pub(super) fn give_up(&mut self) {
        match (&mut self.exit, &self.entry) {
            (DepartureStamping::Stamped(departing), ArrivalStamping::ByCard(..)) => {
                departing.give_up()
            }
            (DepartureStamping::Stamped(_) | DepartureStamping::Captured { .. }, _) => {}
        }
    }

    /// Begins to take down when frames leave further interfaces, of devices that hand on
    /// what was sent.
    pub(super) fn follow(&mut self) {
        match &mut self.exit {
            DepartureStamping::Stamped(departing) => departing.follow(),
            DepartureStamping::Captured { .. } => {}
        }
    }

    /// Returns which frames have left further interfaces.
    pub(super) fn passages(&mut self) -> io::Result<Vec<LaterDeparture>> {
        match &mut self.exit {
            DepartureStamping::Stamped(departing) => departing.passages(),
            DepartureStamping::Captured { .. } => Ok(Vec::new()),
        }
    }

    /// Returns how many frames went by uncaptured in this trial.
    pub(super) fn unseen(&mut self) -> u64 {
        self.lost().saturating_sub(self.lost_before)
    }

    fn lost(&mut self) -> u64 {
        let missed = match &self.exit {
            DepartureStamping::Stamped(departing) => departing.missed(),
            DepartureStamping::Captured { .. } => 0,
        };
        missed
            + match &mut self.entry {
                ArrivalStamping::Captured(tap) => tap.lost(),
                ArrivalStamping::ByCard(arrivals, _) => arrivals.lost(),
            }
    }

    /// Tells whether the interface is still the one that was opened.
    pub(super) fn is_there(&self) -> bool {
        // From a room of ours nobody takes an interface away.
        if self.guard.is_none() {
            return true;
        }
        let found = Interface::named(&self.name);
        found.is_ok_and(|found| found.index() == self.index)
    }
}

/// Opens the ways out and in.
fn ways(index: u32, kind: &InterfaceKind) -> io::Result<(DepartureStamping, ArrivalStamping)> {
    if let InterfaceKind::Borrowed(_, Some(clock)) = kind {
        let exit = DepartureStamping::Stamped(Box::new(Departing::open(index, StampedBy::Card)?));
        return Ok((
            exit,
            ArrivalStamping::ByCard(Arrivals::open(index)?, *clock),
        ));
    }
    let tap = Tap::open(index, RING_BYTES)?;
    tap.receive_for_anybody(index)?;
    let exit = match kind {
        InterfaceKind::Borrowed(..) => DepartureStamping::Captured {
            sender: Sender::open(index, NO_CLASS)?,
            expected: VecDeque::with_capacity(MOST_EXPECTED),
        },
        InterfaceKind::Cable => {
            tap.ignore_outgoing()?;
            DepartureStamping::Stamped(Box::new(Departing::open(index, StampedBy::Driver)?))
        }
    };
    Ok((exit, ArrivalStamping::Captured(tap)))
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
