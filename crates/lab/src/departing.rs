//! Frames that were sent, each until the kernel says when it left.
//!
//! A device in the kernel hands on the very buffer that was sent, and so a frame is
//! stamped again where it leaves that device. Who [follows](Departing::follow) learns
//! that, too: it is what such a device truly took.

use std::collections::VecDeque;
use std::io;

use linux::clock::WallTime;
use linux::departures::{Departure, StampedSender};
use linux::sender::Queued;
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
    waiting: VecDeque<Waiting>,
    known: VecDeque<Departure>,
    gone: VecDeque<Waiting>,
    spare: Vec<Vec<u8>>,
    missed: u64,
    /// How many were sent since the kernel was asked.
    unasked: usize,
    further: Option<Vec<Passage>>,
}

#[derive(Debug)]
struct Waiting {
    number: u32,
    due: Instant,
    bytes: Vec<u8>,
}

/// A frame that has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departed<'a> {
    /// When it was to leave.
    pub(crate) due: Instant,
    /// When it left.
    pub(crate) stamp: WallTime,
    pub(crate) bytes: &'a [u8],
}

/// A frame left a further interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    /// Its number in its flow.
    pub(crate) number: u64,
    /// When it left there.
    pub(crate) stamp: WallTime,
}

impl Departing {
    /// Opens the interface of number `index` in the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// Without CAP_NET_RAW and CAP_NET_ADMIN, or without such an interface.
    pub(crate) fn open(index: u32) -> io::Result<Self> {
        Ok(Self {
            sender: StampedSender::open(index)?,
            waiting: VecDeque::with_capacity(MOST_REMEMBERED),
            known: VecDeque::new(),
            gone: VecDeque::with_capacity(FOLLOWED),
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
        let (queued, number) = self.sender.send(frame)?;
        if let Some(number) = number {
            if self.waiting.len() == MOST_REMEMBERED
                && let Some(oldest) = self.waiting.pop_front()
            {
                self.missed += 1;
                self.spare.push(oldest.bytes);
            }
            let mut bytes = self.spare.pop().unwrap_or_default();
            bytes.clear();
            bytes.extend_from_slice(frame);
            self.waiting.push_back(Waiting { number, due, bytes });
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
                    stamp: departure.stamp,
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
        self.spare.extend(forgotten.map(|it| it.bytes));
        if let Some(further) = &mut self.further {
            further.clear();
        }
        Ok(())
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
    pub(crate) fn passages(&mut self) -> io::Result<Vec<Passage>> {
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
    fn first(&mut self, departure: Departure) -> Option<&Waiting> {
        let Some(place) = self.place(departure.number) else {
            self.note(departure);
            return None;
        };
        self.missed += u64::try_from(place).expect("a few thousand");
        let missed = self.waiting.drain(..place);
        self.spare.extend(missed.map(|it| it.bytes));
        if self.gone.len() == FOLLOWED
            && let Some(oldest) = self.gone.pop_front()
        {
            self.spare.push(oldest.bytes);
        }
        let gone = self.waiting.pop_front()?;
        self.gone.push_back(gone);
        self.gone.back()
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
            && let Some(of) = gone.find(|it| it.number == departure.number)
            && let Some(identity) = identify(&of.bytes)
        {
            further.push(Passage {
                number: identity.number,
                stamp: departure.stamp,
            });
        }
    }
}
