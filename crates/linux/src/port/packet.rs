//! A port by packet socket: works on every interface, with every driver.
//!
//! Frames come in through a ring that absorbs stalls of the process, with the
//! kernel's stamp, and go out past the interface's queueing discipline, which the
//! switch replaces by its own queues. The copies of what we send ourselves are
//! not received (`PACKET_IGNORE_OUTGOING`).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use libc::c_int;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::Sent;
use crate::ring::{Captured, Ring};
use crate::socket::{MOST_AT_ONCE, receive_for_anybody, send_many, set_option};

/// Survives stalls of tens of milliseconds at full speed: 8192 frames.
pub const RING_BYTES: usize = 16 << 20;
const ON: c_int = 1;

/// One interface as a port of a switch.
#[derive(Debug)]
pub struct PacketPort {
    ring: Ring,
    queue: Queue,
}

/// Frames that are kept until they are sent together.
#[derive(Debug)]
struct Queue {
    /// Room for each frame, one behind the other.
    bytes: Box<[u8]>,
    /// The lengths of those that are there.
    lengths: Vec<usize>,
}

/// An interface that came back is told to be down once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tries {
    First,
    Second,
}

impl Queue {
    const ROOM_BYTES: usize = 2048;

    fn new() -> Self {
        Self {
            bytes: vec![0; MOST_AT_ONCE * Self::ROOM_BYTES].into_boxed_slice(),
            lengths: Vec::with_capacity(MOST_AT_ONCE),
        }
    }

    fn len(&self) -> usize {
        self.lengths.len()
    }

    fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    fn is_full(&self) -> bool {
        self.lengths.len() == MOST_AT_ONCE
    }

    /// Copies a frame to the end, where there is room, unless it is too long.
    fn push(&mut self, frame: &[u8]) -> Sent {
        let begin = self.lengths.len() * Self::ROOM_BYTES;
        let room = &mut self.bytes[begin..begin + Self::ROOM_BYTES];
        let Some(room) = room.get_mut(..frame.len()) else {
            return Sent::Dropped;
        };
        room.copy_from_slice(frame);
        self.lengths.push(frame.len());
        Sent::Taken
    }

    /// Returns the frames from the `first`th on.
    fn iter(&self, first: usize) -> impl Iterator<Item = &[u8]> {
        let frames = self.bytes.chunks_exact(Self::ROOM_BYTES).zip(&self.lengths);
        frames.skip(first).map(|(room, length)| &room[..*length])
    }

    fn clear(&mut self) {
        self.lengths.clear();
    }
}

impl PacketPort {
    /// Opens the interface of number `index` in the calling thread's namespace,
    /// with a ring of about `ring_bytes`.
    ///
    /// # Errors
    ///
    /// Without CAP_NET_RAW, without such an interface, without the memory.
    pub fn open(index: u32, ring_bytes: usize) -> io::Result<Self> {
        let ring = Ring::open(ring_bytes)?;
        set_option(
            ring.as_fd(),
            libc::SOL_PACKET,
            libc::PACKET_IGNORE_OUTGOING,
            &ON,
        )?;
        set_option(
            ring.as_fd(),
            libc::SOL_PACKET,
            libc::PACKET_QDISC_BYPASS,
            &ON,
        )?;
        ring.stamp_at_driver()?;
        receive_for_anybody(ring.as_fd(), index)?;
        ring.bind(index)?;
        Ok(Self {
            ring,
            queue: Queue::new(),
        })
    }

    /// Tells whether a frame waits.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ring.is_ready()
    }

    /// Hands the next frame to `read`, if one waits.
    pub fn receive<R>(&mut self, read: impl FnOnce(Captured<'_>) -> R) -> Option<R> {
        self.ring.take(read)
    }

    /// Sends one frame now, behind those that were enqueued, or drops it: never
    /// waits.
    #[inline]
    pub fn send(&mut self, frame: &[u8]) -> Sent {
        if !self.queue.is_empty() {
            self.flush();
        }
        match self.send_alone(frame) {
            // The first send after the interface came back reports that it was
            // down; the frame is still good.
            Err(Errno::NETDOWN) => match self.send_alone(frame) {
                Ok(_) => Sent::Taken,
                Err(_) => Sent::Dropped,
            },
            Ok(_) => Sent::Taken,
            Err(_) => Sent::Dropped,
        }
    }

    /// Keeps one frame, to be sent together with others by the next
    /// [`flush`](Self::flush).
    #[inline]
    pub fn enqueue(&mut self, frame: &[u8]) -> Sent {
        if self.queue.is_full() {
            self.flush();
        }
        self.queue.push(frame)
    }

    /// Sends what was enqueued. Returns how many of the frames it drops.
    #[inline]
    pub fn flush(&mut self) -> u64 {
        let (mut first, mut dropped, mut tried) = (0, 0, Tries::First);
        while first < self.queue.len() {
            match (send_many(self.ring.as_fd(), self.queue.iter(first)), tried) {
                (Ok(count), _) => first += count,
                (Err(error), Tries::First) if is_down(&error) => tried = Tries::Second,
                (Err(_), _) => {
                    dropped += 1;
                    first += 1;
                }
            }
        }
        self.queue.clear();
        dropped
    }

    fn send_alone(&self, frame: &[u8]) -> Result<usize, Errno> {
        send(&self.ring, frame, SendFlags::DONTWAIT)
    }

    /// Returns how many frames came while the ring was full, since the port was
    /// opened.
    pub fn lost(&mut self) -> u64 {
        self.ring.lost()
    }
}

impl AsFd for PacketPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }
}

fn is_down(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENETDOWN)
}
