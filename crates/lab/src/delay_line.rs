//! A relay whose delay is known: it hands each frame on at the stamp with which it
//! arrived and a fixed time after it, or when a [`Keeper`] says, who may lose it, too.
//!
//! A thread of its own reads both ports, by packet sockets, and spins, so that a
//! frame leaves within a few microseconds of its moment. When it truly left is told by
//! the stamp of the driver, which is how a tester is calibrated.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use linux::clock::{self, WallClock};
use linux::departures::StampedBy;
use linux::scheduling::{self, HIGHEST_NICE, Placement, Wish};
use linux::tap::{Direction, RING_BYTES, Tap};
use measure::identity::identify;
use units::{Duration, Instant};

use crate::departing::{Departed, Departing, LaterDeparture, MOST_REMEMBERED};

/// The most frames that wait in one direction; more are dropped, and counted.
pub const MOST_HELD: usize = 8_192;
pub const LONGEST_DELAY: Duration = Duration::from_secs(1);
/// Frames that are read before the other direction has its turn.
const BURST: usize = 32;

/// Decides when a relay hands frames on.
pub trait Keeper: Send {
    /// Returns when a frame leaves that arrived then, or nothing if it is lost. The way is
    /// 0 from the first port to the second, and 1 back. Frames that go one way leave in
    /// the order of these moments, and those of one moment as they came.
    fn keep(&mut self, arrived: Instant, way: usize, frame: &[u8]) -> Option<Instant>;
}

/// Holds every frame for the same time.
struct Always(Duration);

impl Keeper for Always {
    fn keep(&mut self, arrived: Instant, _way: usize, _frame: &[u8]) -> Option<Instant> {
        Some(arrived + self.0)
    }
}

/// The relay. It ends with this value.
#[derive(Debug)]
pub struct DelayLine {
    stop: Arc<AtomicBool>,
    dropped: Arc<AtomicU64>,
    left: Arc<Mutex<Vec<LaterDeparture>>>,
    thread: Option<JoinHandle<()>>,
}

impl DelayLine {
    /// Relays between two interfaces of the calling thread's namespace, on this
    /// processor if one is named.
    ///
    /// # Errors
    ///
    /// Without CAP_NET_RAW or the memory.
    pub fn start(ports: [u32; 2], delay: Duration, processor: Option<usize>) -> io::Result<Self> {
        Self::kept_by(Box::new(Always(delay)), ports, processor)
    }

    /// Relays likewise, when this keeper says.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn kept_by(
        mut keeper: Box<dyn Keeper>,
        ports: [u32; 2],
        processor: Option<usize>,
    ) -> io::Result<Self> {
        let [first, second] = ports;
        let mut ways = [
            DelayedDirection::open(first, second)?,
            DelayedDirection::open(second, first)?,
        ];
        let stop = Arc::new(AtomicBool::new(false));
        let dropped = Arc::new(AtomicU64::new(0));
        let left = Arc::new(Mutex::new(Vec::new()));
        let (should_stop, count) = (Arc::clone(&stop), Arc::clone(&dropped));
        let list = Arc::clone(&left);
        let thread = thread::Builder::new().name("delay line".to_owned());
        let thread = thread.spawn(move || {
            scheduling::apply(Wish {
                nice: HIGHEST_NICE,
                placement: processor.map_or(Placement::Anywhere, Placement::Only),
            });
            while !should_stop.load(Ordering::Relaxed) {
                for (number, way) in ways.iter_mut().enumerate() {
                    way.turn(number, &mut *keeper, &count);
                    way.note_departures(&list);
                }
                std::hint::spin_loop();
            }
        })?;
        Ok(Self {
            stop,
            dropped,
            left,
            thread: Some(thread),
        })
    }

    /// Returns when frames with a number have left, and forgets it.
    pub(crate) fn passages(&self) -> Vec<LaterDeparture> {
        std::mem::take(&mut *lock(&self.left))
    }

    /// Returns how many frames it had no room for.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for DelayLine {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock(list: &Mutex<Vec<LaterDeparture>>) -> MutexGuard<'_, Vec<LaterDeparture>> {
    // A list is whole between any two entries.
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

struct DelayedDirection {
    tap: Tap,
    sender: Departing,
    wall: WallClock,
    held: BinaryHeap<Reverse<HeldFrame>>,
    /// How many frames were held so far.
    count: u64,
    /// Buffers of frames that have gone.
    spare: Vec<Vec<u8>>,
}

/// A frame that waits for its moment. No two have the same number.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct HeldFrame {
    due: Instant,
    number: u64,
    frame: Vec<u8>,
}

impl DelayedDirection {
    fn open(from: u32, to: u32) -> io::Result<Self> {
        let tap = Tap::open(from, RING_BYTES)?;
        // What the other way sends would only be copied before it leaves.
        tap.ignore_outgoing()?;
        Ok(Self {
            tap,
            sender: Departing::open(to, StampedBy::Driver)?,
            wall: WallClock::sample(),
            held: BinaryHeap::with_capacity(MOST_HELD),
            count: 0,
            spare: Vec::with_capacity(MOST_HELD),
        })
    }

    fn turn(&mut self, number: usize, keeper: &mut dyn Keeper, dropped: &AtomicU64) {
        for _ in 0..BURST {
            let (held, spare, count) = (&mut self.held, &mut self.spare, &mut self.count);
            let wall = &self.wall;
            let taken = self.tap.take(|frame| {
                if frame.direction == Direction::Out {
                    return;
                }
                if held.len() == MOST_HELD {
                    dropped.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                let arrived = wall.to_monotonic(frame.stamp);
                let Some(due) = keeper.keep(arrived, number, frame.bytes) else {
                    return;
                };
                let mut buffer = spare.pop().unwrap_or_default();
                buffer.clear();
                buffer.extend_from_slice(frame.bytes);
                held.push(Reverse(HeldFrame {
                    due,
                    number: *count,
                    frame: buffer,
                }));
                *count += 1;
            });
            if taken.is_none() {
                break;
            }
        }
        while let Some(next) = self.held.peek_mut() {
            if next.0.due > clock::now() {
                break;
            }
            let Reverse(HeldFrame { due, frame, .. }) = PeekMut::pop(next);
            // A frame that the interface does not take is lost, as at any relay.
            let _ = self.sender.send(&frame, due);
            self.spare.push(frame);
        }
    }

    /// Takes down which frames have left by now.
    fn note_departures(&mut self, list: &Mutex<Vec<LaterDeparture>>) {
        let passage = |gone: Departed<'_>| {
            let number = identify(gone.bytes)?.number;
            let stamp = gone.stamps.kernel?;
            Some(LaterDeparture { number, stamp })
        };
        // What the kernel does not tell of is not known to have left.
        while let Ok(Some(passage)) = self.sender.next(passage) {
            let mut left = lock(list);
            if let Some(passage) = passage
                && left.len() < MOST_REMEMBERED
            {
                left.push(passage);
            }
        }
    }
}
