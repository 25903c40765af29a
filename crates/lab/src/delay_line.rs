//! A relay whose delay is known: it hands each frame on at the stamp with which it
//! arrived and a fixed time after it.
//!
//! A thread of its own reads both ports, by packet sockets, and spins, so that a
//! frame leaves within a few microseconds of its moment. By how much it misses that
//! moment is seen by who looks at its ports, which is how a tester is calibrated.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use linux::clock::{self, WallClock};
use linux::scheduling::{self, HIGHEST_NICE, Placement, Wish};
use linux::sender::{ClassId, Sender};
use linux::tap::{Direction, RING_BYTES, Tap};
use units::{Duration, Instant};

/// The most frames that wait in one direction; more are dropped, and counted.
pub const MOST_HELD: usize = 8_192;
/// The longest delay.
pub const LONGEST_DELAY: Duration = Duration::from_secs(1);
/// Frames that are read before the other direction has its turn.
const BURST: usize = 32;
/// Every frame has the same rank.
const NO_CLASS: ClassId = ClassId { major: 0, minor: 0 };

/// The relay. It ends with this value.
#[derive(Debug)]
pub struct DelayLine {
    stop: Arc<AtomicBool>,
    dropped: Arc<AtomicU64>,
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
        let (should_stop, count) = (Arc::clone(&stop), Arc::clone(&dropped));
        let thread = thread::Builder::new().name("delay line".to_owned());
        let thread = thread.spawn(move || {
            scheduling::apply(Wish {
                nice: HIGHEST_NICE,
                placement: processor.map_or(Placement::Anywhere, Placement::Only),
            });
            while !should_stop.load(Ordering::Relaxed) {
                for way in &mut ways {
                    way.turn(&count);
                }
                std::hint::spin_loop();
            }
        })?;
        Ok(Self {
            stop,
            dropped,
            thread: Some(thread),
        })
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

/// One direction.
struct Way {
    tap: Tap,
    sender: Sender,
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
            sender: Sender::open(to, NO_CLASS)?,
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
        while let Some((_, frame)) = self.held.pop_front_if(|(due, _)| *due <= clock::now()) {
            // A frame that the interface does not take is lost, as at any relay.
            let _ = self.sender.send(&frame);
            self.spare.push(frame);
        }
    }
}
