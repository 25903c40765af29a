//! Frames that were sent, each until the kernel says when it left.
//!
//! A device in the kernel hands on the very buffer that was sent, and so a frame is
//! stamped again where it leaves that device. Who [follows](Departing::follow) learns
//! that, too: it is what such a device truly took.
//!
//! A network card stamps only so many frames a second. Of the others it is known that they
//! were sent, once a later one is stamped, and not when; they are handed over by themselves.

use std::collections::VecDeque;
use std::io;

use linux::clock::{self, WallTime};
use linux::departures::{Departure, StampedBy, StampedSender};
use linux::sender::Queued;
use linux::stamps::Stamps;
use measure::identity::identify;
use units::Instant;

/// The most frames that are remembered: as many as a capture holds.
pub(crate) const MOST_REMEMBERED: usize = 8_192;
/// After so many frames the kernel is asked for stamps in between: it has room for a few
/// hundred where an ordinary user measures, and each frame may have several.
const ASK_AFTER: usize = 64;
/// So many frames back it is known which one left a further interface.
const FOLLOWED: usize = 64;

/// A way onto a link, and what is under way there.
#[derive(Debug)]
pub(crate) struct Departing {
    sender: StampedSender,
    by: StampedBy,
    waiting: VecDeque<DepartingFrame>,
    known: VecDeque<Departure>,
    gone: VecDeque<DepartingFrame>,
    /// Those that the card has not stamped.
    unstamped: VecDeque<DepartingFrame>,
    spare: Vec<Vec<u8>>,
    missed: u64,
    /// How many were sent since the kernel was asked.
    unasked: usize,
    further: Option<Vec<LaterDeparture>>,
}

#[derive(Debug)]
struct DepartingFrame {
    number: u32,
    due: Instant,
    handed: Instant,
    queued: Queued,
    bytes: Vec<u8>,
}

/// A frame that has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departed<'a> {
    /// When it was to leave.
    pub(crate) due: Instant,
    /// Before when it cannot have left: when it was handed over or, where the driver
    /// stamps it, was due.
    pub(crate) handed: Instant,
    pub(crate) stamps: Stamps,
    pub(crate) bytes: &'a [u8],
}

/// A frame left a further interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaterDeparture {
    /// Its number in its flow.
    pub(crate) number: u64,
    pub(crate) stamp: WallTime,
}

impl Departing {
    /// Opens the interface of number `index` in the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// Without CAP_NET_RAW and CAP_NET_ADMIN, or without such an interface.
    pub(crate) fn open(index: u32, by: StampedBy) -> io::Result<Self> {
        Ok(Self {
            sender: StampedSender::open(index, by)?,
            by,
            waiting: VecDeque::with_capacity(MOST_REMEMBERED),
            known: VecDeque::new(),
            gone: VecDeque::with_capacity(FOLLOWED),
            unstamped: VecDeque::new(),
            spare: Vec::with_capacity(MOST_REMEMBERED),
            missed: 0,
            unasked: 0,
            further: None,
        })
    }

    /// Begins to take down when frames leave further interfaces.
    pub(crate) fn follow(&mut self) {
        self.further = Some(Vec::new());
    }

    /// Sends a frame that is due then.
    ///
    /// # Errors
    ///
    /// What the kernel says, other than a full queue or a link that is down.
    pub(crate) fn send(&mut self, frame: &[u8], due: Instant) -> io::Result<Queued> {
        let handed = match self.by {
            StampedBy::Driver => due,
            StampedBy::Card => clock::now(),
        };
        let (queued, number) = self.sender.send(frame)?;
        if let Some(number) = number {
            if self.waiting.len() == MOST_REMEMBERED
                && let Some(oldest) = self.waiting.pop_front()
            {
                self.miss(oldest);
            }
            let mut bytes = self.spare.pop().unwrap_or_default();
            bytes.clear();
            bytes.extend_from_slice(frame);
            self.waiting.push_back(DepartingFrame {
                number,
                due,
                handed,
                queued,
                bytes,
            });
            self.unasked += 1;
        }
        if self.unasked >= ASK_AFTER && self.known.len() < MOST_REMEMBERED {
            while self.learn()? > 0 {}
        }
        Ok(queued)
    }

    /// Hands over the next frame that has left, if one is known to.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub(crate) fn next<R>(
        &mut self,
        tell: impl FnOnce(Departed<'_>) -> R,
    ) -> io::Result<Option<R>> {
        while !self.waiting.is_empty() {
            let Some(departure) = self.known.pop_front() else {
                match self.learn()? {
                    0 => return Ok(None),
                    _ => continue,
                }
            };
            if let Some(told) = self.first(departure) {
                let told = tell(Departed {
                    due: told.due,
                    handed: told.handed,
                    stamps: departure.stamps,
                    bytes: &told.bytes,
                });
                return Ok(Some(told));
            }
        }
        Ok(None)
    }

    /// Forgets what is under way.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub(crate) fn forget(&mut self) -> io::Result<()> {
        while self.learn()? > 0 {
            self.known.clear();
        }
        self.known.clear();
        let forgotten = self.waiting.drain(..).chain(self.gone.drain(..));
        let forgotten = forgotten.chain(self.unstamped.drain(..));
        self.spare.extend(forgotten.map(|it| it.bytes));
        if let Some(further) = &mut self.further {
            further.clear();
        }
        Ok(())
    }

    /// Hands over the next frame that has left without a stamp of the card, if one is
    /// known to.
    pub(crate) fn next_unstamped<R>(&mut self, tell: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let waiting = self.unstamped.pop_front()?;
        let told = tell(&waiting.bytes);
        self.spare.push(waiting.bytes);
        Some(told)
    }

    /// Waits no longer for the stamps of frames that were sent.
    pub(crate) fn give_up(&mut self) {
        while let Some(waiting) = self.waiting.pop_front() {
            self.miss(waiting);
        }
    }

    /// Returns of how many frames it never became known whether they left: the kernel had
    /// no room for their stamps, or the link lost them before the driver.
    pub(crate) fn missed(&self) -> u64 {
        self.missed
    }

    /// Returns which frames have left further interfaces, and forgets them.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub(crate) fn passages(&mut self) -> io::Result<Vec<LaterDeparture>> {
        while self.learn()? > 0 {}
        while let Some(departure) = self.known.pop_front() {
            self.first(departure);
        }
        Ok(self
            .further
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default())
    }

    fn learn(&mut self) -> io::Result<usize> {
        let known = &mut self.known;
        self.unasked = 0;
        self.sender
            .departures(|departure| known.push_back(departure))
    }

    /// Finds the frame that has left, unless it had left before. Frames leave in the
    /// order in which they were sent; what was lost before the driver never does.
    fn first(&mut self, departure: Departure) -> Option<&DepartingFrame> {
        let Some(place) = self.place(departure.number) else {
            self.note(departure);
            return None;
        };
        for _ in 0..place {
            if let Some(missed) = self.waiting.pop_front() {
                self.miss(missed);
            }
        }
        if self.gone.len() == FOLLOWED
            && let Some(oldest) = self.gone.pop_front()
        {
            self.spare.push(oldest.bytes);
        }
        let gone = self.waiting.pop_front()?;
        self.gone.push_back(gone);
        self.gone.back()
    }

    /// Takes down that a frame was not stamped. The driver stamps all that it takes; the
    /// card sends more than it stamps.
    fn miss(&mut self, waiting: DepartingFrame) {
        let is_told = match (self.by, waiting.queued) {
            (StampedBy::Driver, _) => false,
            (StampedBy::Card, Queued::Taken) => self.unstamped.len() < MOST_REMEMBERED,
            (StampedBy::Card, Queued::Overflowed | Queued::Down) => {
                self.spare.push(waiting.bytes);
                return;
            }
        };
        if is_told {
            self.unstamped.push_back(waiting);
        } else {
            self.missed += 1;
            self.spare.push(waiting.bytes);
        }
    }

    /// Finds a frame among those that wait. Their numbers have no gaps.
    fn place(&self, number: u32) -> Option<usize> {
        let first = self.waiting.front()?.number;
        let place = usize::try_from(number.wrapping_sub(first)).ok()?;
        (place < self.waiting.len()).then_some(place)
    }

    /// Takes down that a frame left a further interface, if somebody wants to know.
    fn note(&mut self, departure: Departure) {
        let Some(further) = &mut self.further else {
            return;
        };
        let mut gone = self.gone.iter().rev();
        if further.len() < MOST_REMEMBERED
            && let Some(stamp) = departure.stamps.kernel
            && let Some(of) = gone.find(|it| it.number == departure.number)
            && let Some(identity) = identify(&of.bytes)
        {
            further.push(LaterDeparture {
                number: identity.number,
                stamp,
            });
        }
    }
}
