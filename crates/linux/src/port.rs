//! A switch's port on a network interface.
//!
//! Frames come and go whole, with their VLAN tag and without check sequence.

pub mod kernel;
pub mod packet;
pub mod xdp;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

pub use kernel::KernelPort;
pub use packet::PacketPort;
pub use xdp::{Attachment, XdpPort};

use crate::clock::WallTime;

/// What became of a frame that was to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    Taken,
    /// The interface is down, its carrier lost, or its queue full.
    Dropped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// By packet sockets with rings of about this many bytes.
    Packet {
        /// The size of each ring.
        ring_bytes: usize,
    },
    Xdp(Attachment),
    /// By the kernel, which forwards what it can and hands the rest over elsewhere.
    Kernel,
}

/// A port, whichever way it is carried.
#[derive(Debug)]
pub enum Port {
    Packet(Box<PacketPort>),
    Xdp(Box<XdpPort>),
    /// By the kernel; only sends.
    Kernel(Box<KernelPort>),
}

/// A frame that came in.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'a> {
    pub frame: Frame<'a>,
    /// When the driver handed it to the kernel, where the kernel says so.
    pub stamp: Option<WallTime>,
}

#[derive(Clone, Copy, Debug)]
pub enum Frame<'a> {
    Whole(&'a [u8]),
    /// None: so many went by that are longer than the port carries.
    TooLong(u64),
    /// None: so many came faster than they were taken, in one piece that its sender has
    /// left to a card to cut.
    Overrun(u64),
}

impl<'a> Frame<'a> {
    /// Returns what came, if it came whole.
    #[must_use]
    pub fn whole(self) -> Option<&'a [u8]> {
        match self {
            Self::Whole(bytes) => Some(bytes),
            Self::TooLong(_) | Self::Overrun(_) => None,
        }
    }
}

impl Port {
    /// Opens the interface of number `index` in the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// Without the privilege, without such an interface, without the memory.
    pub fn open(engine: Engine, index: u32) -> io::Result<Self> {
        match engine {
            Engine::Packet { ring_bytes } => PacketPort::open(index, ring_bytes)
                .map(Box::new)
                .map(Self::Packet),
            Engine::Xdp(attachment) => XdpPort::open(index, attachment)
                .map(Box::new)
                .map(Self::Xdp),
            Engine::Kernel => KernelPort::open(index).map(Box::new).map(Self::Kernel),
        }
    }

    /// Tells whether frames come by it at all.
    #[must_use]
    #[inline]
    pub fn receives(&self) -> bool {
        match self {
            Self::Packet(_) | Self::Xdp(_) => true,
            Self::Kernel(_) => false,
        }
    }

    /// Hands the next frame to `read`, if one waits.
    #[inline]
    pub fn receive<R>(&mut self, read: impl FnOnce(Arrived<'_>) -> R) -> Option<R> {
        match self {
            Self::Packet(port) => port.receive(read),
            Self::Xdp(port) => port.receive(|bytes| {
                read(Arrived {
                    frame: Frame::Whole(bytes),
                    stamp: None,
                })
            }),
            Self::Kernel(_) => None,
        }
    }

    /// Sends one frame now, behind those that were enqueued, or drops it: never
    /// waits. Its queue matters where the interface has queues of its own.
    #[inline]
    pub fn send(&mut self, queue: u8, frame: &[u8]) -> Sent {
        match self {
            Self::Packet(port) => port.send(frame),
            Self::Xdp(port) => port.send(frame),
            Self::Kernel(port) => port.send(queue, frame),
        }
    }

    /// Tells whether a frame waits.
    #[must_use]
    #[inline]
    pub fn is_ready(&self) -> bool {
        match self {
            Self::Packet(port) => port.is_ready(),
            Self::Xdp(port) => port.is_ready(),
            Self::Kernel(_) => false,
        }
    }

    /// Takes one frame to be sent, or drops it. It goes with the next
    /// [`flush`](Self::flush), at the latest.
    #[inline]
    pub fn enqueue(&mut self, queue: u8, frame: &[u8]) -> Sent {
        match self {
            Self::Packet(port) => port.enqueue(frame),
            Self::Xdp(port) => port.enqueue(frame),
            Self::Kernel(port) => port.send(queue, frame),
        }
    }

    /// Sends what [`enqueue`](Self::enqueue) has taken, by one system call. Returns
    /// how many of the frames it drops.
    #[inline]
    pub fn flush(&mut self) -> u64 {
        match self {
            Self::Packet(port) => port.flush(),
            Self::Xdp(port) => port.flush(),
            Self::Kernel(_) => 0,
        }
    }

    /// Takes note of the error that an interface leaves behind when it goes down.
    /// Until then the kernel reports the port as ready, without a frame.
    pub fn take_error(&self) {
        let _ = rustix::net::sockopt::socket_error(self);
    }

    /// Returns how many frames came and found no room, since the port was opened.
    pub fn lost(&mut self) -> u64 {
        match self {
            Self::Packet(port) => port.lost(),
            Self::Xdp(port) => port.lost(),
            Self::Kernel(_) => 0,
        }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Packet(port) => port.as_fd(),
            Self::Xdp(port) => port.as_fd(),
            Self::Kernel(port) => port.as_fd(),
        }
    }
}
