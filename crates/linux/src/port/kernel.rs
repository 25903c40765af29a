//! A port whose frames the kernel forwards itself: this end only sends.
//!
//! Frames go through the interface's queueing discipline, behind those that the
//! kernel forwards, each in the class of its queue. The discipline keeps the rate
//! and the order; what it has no room for is dropped, and counted there.
//!
//! One socket serves all queues. To change its class costs 0.3 µs where a frame
//! costs 2.5 µs (a virtual machine of two processors, Linux 6.18), and only if the queue is
//! another one than that of the frame before. A socket for each queue would save
//! that and cost eight descriptors a port, of which a process has 1,024.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::sockopt::set_socket_send_buffer_size_force;
use rustix::net::{SendFlags, send};

use switch::{QUEUES, QueueTally};

use super::Sent;
use crate::kernel_engine::Hung;
use crate::qdisc;
use crate::sender::{SEND_BUFFER_BYTES, set_class};
use crate::socket::{Receives, bind, packet_socket, receive_for_anybody};

/// One interface whose frames the kernel forwards.
#[derive(Debug)]
pub struct KernelPort {
    socket: OwnedFd,
    /// The queue whose class the socket has.
    queue: u8,
    hung: Option<Hung>,
}

impl KernelPort {
    /// Opens the interface of number `index` in the calling thread's namespace. It
    /// receives frames for anybody as long as the port is open.
    ///
    /// # Errors
    ///
    /// Without CAP_NET_RAW and CAP_NET_ADMIN, or without such an interface.
    pub fn open(index: u32) -> io::Result<Self> {
        let socket = packet_socket()?;
        let queue = 0;
        set_class(socket.as_fd(), qdisc::class(queue))?;
        // An ordinary user keeps the default size, which queues fewer frames.
        let _ = set_socket_send_buffer_size_force(&socket, SEND_BUFFER_BYTES);
        receive_for_anybody(socket.as_fd(), index)?;
        bind(socket.as_fd(), index, Receives::Nothing)?;
        Ok(Self {
            socket,
            queue,
            hung: None,
        })
    }

    /// Keeps what was put at the interface for as long as the port is open.
    pub(crate) fn keeping(mut self, hung: Hung) -> Self {
        self.hung = Some(hung);
        self
    }

    /// Returns what is at the interface, if anything is.
    pub(crate) fn hung(&self) -> Option<&Hung> {
        self.hung.as_ref()
    }

    pub(crate) fn hung_mut(&mut self) -> Option<&mut Hung> {
        self.hung.as_mut()
    }

    /// Asks what its queues have carried and lost, if it is paced. Waits while
    /// another thread changes the network's configuration.
    pub(crate) fn read_queues(&mut self) -> Option<[QueueTally; QUEUES]> {
        self.hung.as_mut()?.read_queues()
    }

    /// Tells whether a discipline of the kernel keeps its rate.
    #[must_use]
    pub fn is_paced(&self) -> bool {
        self.hung().is_some_and(Hung::is_paced)
    }

    /// Returns what is at the interface, in words.
    #[must_use]
    pub fn describe(&self) -> String {
        self.hung().map_or_else(String::new, Hung::describe)
    }

    /// Sends one frame through `queue`, or drops it: never waits.
    pub fn send(&mut self, queue: u8, frame: &[u8]) -> Sent {
        if self.change_queue(queue).is_err() {
            return Sent::Dropped;
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

    fn change_queue(&mut self, queue: u8) -> io::Result<()> {
        if queue != self.queue {
            set_class(self.socket.as_fd(), qdisc::class(queue))?;
            self.queue = queue;
        }
        Ok(())
    }

    fn send_alone(&self, frame: &[u8]) -> Result<usize, Errno> {
        send(&self.socket, frame, SendFlags::DONTWAIT)
    }
}

impl AsFd for KernelPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
