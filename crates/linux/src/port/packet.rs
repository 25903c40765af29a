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
use crate::socket::{receive_for_anybody, set_option};

/// Survives stalls of tens of milliseconds at full speed: 8192 frames.
pub const RING_BYTES: usize = 16 << 20;
const ON: c_int = 1;

/// One interface as a port of a switch.
#[derive(Debug)]
pub struct PacketPort {
    ring: Ring,
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
        Ok(Self { ring })
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

    /// Sends one frame now, or drops it: never waits.
    pub fn send(&mut self, frame: &[u8]) -> Sent {
        match send(&self.ring, frame, SendFlags::DONTWAIT) {
            Ok(_) => Sent::Taken,
            // The first send after the interface came back reports that it was
            // down; the frame is still good.
            Err(Errno::NETDOWN) => match send(&self.ring, frame, SendFlags::DONTWAIT) {
                Ok(_) => Sent::Taken,
                Err(_) => Sent::Dropped,
            },
            Err(_) => Sent::Dropped,
        }
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
