//! Hears from the kernel that something has changed about the links of a
//! namespace; what, is to be asked for.
//!
//! The kernel tells it within a fraction of a millisecond where the two ends of a
//! virtual cable have different numbers, and otherwise up to a second late. So
//! this is a reason to ask at once, and silence none not to ask.
//!
//! Sources: `linux/rtnetlink.h`; `net/core/link_watch.c`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};

/// The group of those who want to hear of links, `RTMGRP_LINK`.
const LINKS: u32 = 1;
/// What is not read of a message is thrown away.
const READ_BYTES: usize = 16;

/// The news of one namespace.
#[derive(Debug)]
pub(crate) struct LinkEvents {
    socket: OwnedFd,
}

impl LinkEvents {
    /// Listens in the calling thread's namespace.
    pub(crate) fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        // Protocol zero, the default, is rtnetlink.
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        let sender_of_its_choice = 0;
        bind(
            &socket,
            &SocketAddrNetlink::new(sender_of_its_choice, LINKS),
        )?;
        Ok(Self { socket })
    }

    pub(crate) fn clear(&self) {
        loop {
            match recv(&self.socket, &mut [0; READ_BYTES][..], RecvFlags::empty()) {
                // Too much was to be heard: it is said once, by an error.
                Ok(_) | Err(rustix::io::Errno::NOBUFS | rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}

impl AsFd for LinkEvents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
