//! A port by packet socket: works on every interface, with every driver.
//!
//! Frames come in through a ring that absorbs stalls of the process, with the
//! kernel's stamp, and go out past the interface's queueing discipline, which the
//! switch replaces by its own queues. The copies of what we send ourselves are
//! not received (`PACKET_IGNORE_OUTGOING`).
//!
//! What a sender has left to a card that is not there is done here
//! ([`Cutter`]): the switch sees frames as they would be on a wire.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

use libc::c_int;
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};

use super::{Arrived, Frame, Sent};
use crate::clock::WallTime;
use crate::offloads::Cutter;
use crate::ring::{OFFLOADS_BYTES, Offloads, Ring};
use crate::socket::{MOST_AT_ONCE, receive_for_anybody, send_many, set_option};

/// Survives stalls of tens of milliseconds at full speed: 8192 frames.
pub const RING_BYTES: usize = 16 << 20;
const ON: c_int = 1;
/// Stands in front of every frame that is sent: nothing is left to a card.
const NOTHING_LEFT: [u8; OFFLOADS_BYTES] = [0; OFFLOADS_BYTES];

/// One interface as a port of a switch.
#[derive(Debug)]
pub struct PacketPort {
    ring: Ring,
    queue: Queue,
    cutter: Cutter,
    /// When the piece came that is being cut.
    stamp: WallTime,
}

/// Frames that are kept until they are sent together.
#[derive(Debug)]
struct Queue {
    /// Room for each frame behind [`NOTHING_LEFT`], one behind the other.
    bytes: Box<[u8]>,
    /// The lengths of both together, of those that are there.
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
        let end = OFFLOADS_BYTES + frame.len();
        let Some(room) = room.get_mut(OFFLOADS_BYTES..end) else {
            return Sent::Dropped;
        };
        room.copy_from_slice(frame);
        self.lengths.push(end);
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
        let ring = Ring::open(ring_bytes, Offloads::Told)?;
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
            cutter: Cutter::default(),
            stamp: WallTime::from_ns(0),
        })
    }

    /// Tells whether a frame waits.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ring.is_ready() || self.cutter.is_ready()
    }

    /// Hands the next frame to `read`, if one waits.
    #[inline]
    pub fn receive<R>(&mut self, read: impl FnOnce(Arrived<'_>) -> R) -> Option<R> {
        if self.cutter.is_ready() {
            return self.receive_cut(read);
        }
        let (cutter, stamp) = (&mut self.cutter, &mut self.stamp);
        let mut read = Some(read);
        let result = self.ring.take(|captured| {
            let frame = if captured.bytes.len() < captured.length {
                Frame::Overrun(captured.left.frames(captured.length))
            } else if captured.left.is_nothing() {
                Frame::Whole(captured.bytes)
            } else if cutter.take(captured.bytes, captured.left).is_ok() {
                *stamp = captured.stamp;
                return None;
            } else {
                Frame::TooLong(captured.left.frames(captured.length))
            };
            let read = read.take().expect("it is taken once");
            Some(read(Arrived {
                frame,
                stamp: Some(captured.stamp),
            }))
        })?;
        result.or_else(|| self.receive_cut(read?))
    }

    /// Hands over the next frame of a piece.
    fn receive_cut<R>(&mut self, read: impl FnOnce(Arrived<'_>) -> R) -> Option<R> {
        let stamp = Some(self.stamp);
        let frame = Frame::Whole(self.cutter.next_frame()?);
        Some(read(Arrived { frame, stamp }))
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
        let parts = [IoSlice::new(&NOTHING_LEFT), IoSlice::new(frame)];
        let mut beside = SendAncillaryBuffer::default();
        sendmsg(&self.ring, &parts, &mut beside, SendFlags::DONTWAIT)
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
