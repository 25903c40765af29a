//! A relay whose delay is known: it hands each frame on at the stamp with which it
//! arrived and a fixed time after it.
//!
//! A thread of its own reads both ports, by packet sockets, and spins, so that a
//! frame leaves within a few microseconds of its moment. When it truly left is told by
//! the stamp of the driver, which is how a tester is calibrated.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use linux::clock::{self, WallClock};
use linux::scheduling::{self, HIGHEST_NICE, Placement, Wish};
use linux::tap::{Direction, RING_BYTES, Tap};
use measure::identity::identify;
use units::{Duration, Instant};

use crate::departing::{Departed, Departing, MOST_REMEMBERED, Passage};

/// The most frames that wait in one direction; more are dropped, and counted.
pub const MOST_HELD: usize = 8_192;
/// The longest delay.
pub const LONGEST_DELAY: Duration = Duration::from_secs(1);
/// Frames that are read before the other direction has its turn.
const BURST: usize = 32;

/// The relay. It ends with this value.
#[derive(Debug)]
pub struct DelayLine {
    stop: Arc<AtomicBool>,
    dropped: Arc<AtomicU64>,
    left: Arc<Mutex<Vec<Passage>>>,
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
        let [first, second] = ports;
        let mut ways = [
            Way::open(first, second, delay)?,
            Way::open(second, first, delay)?,
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
                for way in &mut ways {
                    way.turn(&count);
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
    pub(crate) fn passages(&self) -> Vec<Passage> {
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

fn lock(list: &Mutex<Vec<Passage>>) -> MutexGuard<'_, Vec<Passage>> {
    // A list is whole between any two entries.
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One direction.
struct Way {
    tap: Tap,
    sender: Departing,
    delay: Duration,
    wall: WallClock,
    held: VecDeque<(Instant, Vec<u8>)>,
    /// Buffers of frames that have gone.
    spare: Vec<Vec<u8>>,
}

impl Way {
    fn open(from: u32, to: u32, delay: Duration) -> io::Result<Self> {
        let tap = Tap::open(from, RING_BYTES)?;
        // What the other way sends would only be copied before it leaves.
        tap.ignore_outgoing()?;
        Ok(Self {
            tap,
            sender: Departing::open(to)?,
            delay,
            wall: WallClock::sample(),
            held: VecDeque::with_capacity(MOST_HELD),
            spare: Vec::with_capacity(MOST_HELD),
        })
    }

    fn turn(&mut self, dropped: &AtomicU64) {
        for _ in 0..BURST {
            let (held, spare) = (&mut self.held, &mut self.spare);
            let (wall, delay) = (&self.wall, self.delay);
            let taken = self.tap.take(|frame| {
                if frame.direction == Direction::Out {
                    return;
                }
                if held.len() == MOST_HELD {
                    dropped.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                let mut buffer = spare.pop().unwrap_or_default();
                buffer.clear();
                buffer.extend_from_slice(frame.bytes);
                held.push_back((wall.to_monotonic(frame.stamp) + delay, buffer));
            });
            if taken.is_none() {
                break;
            }
        }
        while let Some((due, frame)) = self.held.pop_front_if(|(due, _)| *due <= clock::now()) {
            // A frame that the interface does not take is lost, as at any relay.
            let _ = self.sender.send(&frame, due);
            self.spare.push(frame);
        }
    }

    /// Takes down which frames have left by now.
    fn note_departures(&mut self, list: &Mutex<Vec<Passage>>) {
        let passage = |gone: Departed<'_>| {
            let number = identify(gone.bytes)?.number;
            let stamp = gone.stamp;
            Some(Passage { number, stamp })
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
