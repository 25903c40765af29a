//! A host's way onto its link: through the queueing discipline that paces it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use libc::c_int;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_send_buffer_size_force;
use rustix::net::{SendFlags, send};

use crate::socket::{Receives, bind, packet_socket, set_option};

/// The discipline's own limit is to be the one that is felt, not the socket's.
pub(crate) const SEND_BUFFER_BYTES: usize = 8 << 20;

/// A class of a queueing discipline, as `major:minor` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassId {
    /// The number of the discipline.
    pub major: u16,
    /// The number of the class within it.
    pub minor: u16,
}

impl ClassId {
    /// Returns the 32 bits by which the kernel knows the class.
    #[must_use]
    pub fn as_u32(self) -> u32 {
        u32::from(self.major) << 16 | u32::from(self.minor)
    }
}

/// What became of a frame that a host wanted to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queued {
    /// It waits in its class, or has left already.
    Taken,
    /// Its class was full: the host lost it before it reached the wire.
    Overflowed,
    Down,
}

/// Sends whole frames through the classes of one interface.
///
/// To close one waits until nobody in the kernel reads what it had: some
/// milliseconds.
#[derive(Debug)]
pub struct Sender {
    socket: OwnedFd,
    /// Where the next frame goes.
    class: ClassId,
}

impl Sender {
    /// Opens the interface of number `index` in the calling thread's namespace;
    /// every frame goes to `class`.
    ///
    /// # Errors
    ///
    /// Without CAP_NET_RAW and CAP_NET_ADMIN, or without such an interface.
    pub fn open(index: u32, class: ClassId) -> io::Result<Self> {
        let socket = packet_socket()?;
        set_class(socket.as_fd(), class)?;
        // An ordinary user keeps the default size, which queues fewer frames.
        let _ = set_socket_send_buffer_size_force(&socket, SEND_BUFFER_BYTES);
        bind(socket.as_fd(), index, Receives::Nothing)?;
        Ok(Self { socket, class })
    }

    /// Queues one frame in `class`, as [`send`](Self::send) does. Further frames go
    /// there as well.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub fn send_through(&mut self, class: ClassId, frame: &[u8]) -> io::Result<Queued> {
        if class != self.class {
            set_class(self.socket.as_fd(), class)?;
            self.class = class;
        }
        self.send(frame)
    }

    /// Queues one frame; never waits.
    ///
    /// # Errors
    ///
    /// What the kernel says, other than a full queue or a link that is down.
    pub fn send(&mut self, frame: &[u8]) -> io::Result<Queued> {
        match self.try_send(frame) {
            Ok(()) => Ok(Queued::Taken),
            Err(Errno::NOBUFS | Errno::AGAIN) => Ok(Queued::Overflowed),
            Err(Errno::NETDOWN | Errno::NXIO) => Ok(Queued::Down),
            Err(error) => Err(error.into()),
        }
    }

    /// Queues one frame, and says what the kernel says.
    pub(crate) fn try_send(&self, frame: &[u8]) -> Result<(), Errno> {
        send(&self.socket, frame, SendFlags::DONTWAIT).map(|_| ())
    }
}

impl AsFd for Sender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Has every frame that `socket` sends go to `class`.
pub(crate) fn set_class(socket: BorrowedFd<'_>, class: ClassId) -> io::Result<()> {
    // A queueing discipline with classes takes a priority that is the number of
    // one of its classes as the choice of that class.
    let priority = c_int::try_from(class.as_u32()).map_err(|_| io::ErrorKind::InvalidInput)?;
    set_option(socket, libc::SOL_SOCKET, libc::SO_PRIORITY, &priority)
}
