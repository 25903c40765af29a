//! A passive capture of everything that an interface receives and sends, with
//! the kernel's software stamps.
//!
//! An outgoing frame is stamped right before the driver takes it, behind the
//! queueing discipline; an incoming one when the driver hands it up. The
//! difference between the stamps of one frame at two taps on one machine is its
//! one-way latency.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use libc::c_int;

use crate::clock::WallTime;
use crate::ring::{Offloads, Ring};
use crate::socket::{receive_for_anybody, set_option};

pub use crate::ring::{Captured, Direction};

/// Holds 8192 frames: a quarter of a second at 30,000 frames/s.
pub const RING_BYTES: usize = 16 << 20;

/// A capture on one interface.
#[derive(Debug)]
pub struct Tap {
    ring: Ring,
}

impl Tap {
    /// Begins to capture on the interface of number `index` in the calling
    /// thread's namespace, or on all of them if it is 0, with a ring of about
    /// `ring_bytes`.
    ///
    /// # Errors
    ///
    /// Without CAP_NET_RAW, without such an interface, without the memory.
    pub fn open(index: u32, ring_bytes: usize) -> io::Result<Self> {
        let ring = Ring::open(ring_bytes, Offloads::Ignored)?;
        ring.stamp_at_driver()?;
        ring.bind(index)?;
        Ok(Self { ring })
    }

    /// Has the interface of number `index` receive frames for anybody, for as long as
    /// this capture lasts.
    ///
    /// # Errors
    ///
    /// If the interface has gone.
    pub fn receive_for_anybody(&self, index: u32) -> io::Result<()> {
        receive_for_anybody(self.ring.as_fd(), index)
    }

    /// Takes no more notice of what leaves by the interface.
    ///
    /// # Errors
    ///
    /// If the kernel does not know that, as before Linux 4.20.
    pub fn ignore_outgoing(&self) -> io::Result<()> {
        let yes: c_int = 1;
        set_option(
            self.ring.as_fd(),
            libc::SOL_PACKET,
            libc::PACKET_IGNORE_OUTGOING,
            &yes,
        )
    }

    /// Hands the next captured frame to `read`, if one waits.
    pub fn take<R>(&mut self, read: impl FnOnce(Captured<'_>) -> R) -> Option<R> {
        self.ring.take(read)
    }

    /// Returns the stamp of the frame that [`take`](Self::take) would hand over,
    /// if one waits.
    #[must_use]
    pub fn next_stamp(&self) -> Option<WallTime> {
        self.ring.next_stamp()
    }

    /// Tells whether one of the frames that were taken has the kernel's mark that others
    /// went by uncaptured, since [`lost`](Self::lost) was last asked for.
    #[must_use]
    pub fn is_losing(&self) -> bool {
        self.ring.is_losing()
    }

    /// Returns how many frames went by uncaptured because the ring was full.
    pub fn lost(&mut self) -> u64 {
        self.ring.lost()
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }
}
