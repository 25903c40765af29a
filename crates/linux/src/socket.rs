//! The few calls on packet sockets that no safe wrapper offers.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::{c_int, c_void, sockaddr_ll, socklen_t};

/// Which frames a packet socket receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receives {
    /// Every frame of the interface.
    Everything,
    /// None: the socket only sends.
    Nothing,
}

impl Receives {
    /// Returns the protocol number in network byte order, as packet sockets
    /// want it.
    fn protocol(self) -> u16 {
        match self {
            Self::Everything => 0x0003_u16.to_be(), // ETH_P_ALL
            Self::Nothing => 0,
        }
    }
}

/// Opens a packet socket that is bound to nothing yet and receives nothing.
pub(crate) fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: `socket` takes no pointers.
    #[expect(unsafe_code, reason = "socket")]
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor and nobody else has it.
    #[expect(unsafe_code, reason = "own the new descriptor")]
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Binds a packet socket to an interface.
pub(crate) fn bind(socket: BorrowedFd<'_>, index: u32, receives: Receives) -> io::Result<()> {
    let index = c_int::try_from(index).map_err(|_| io::ErrorKind::InvalidInput)?;
    let address = sockaddr_ll {
        sll_family: u16::try_from(libc::AF_PACKET).expect("17"),
        sll_protocol: receives.protocol(),
        sll_ifindex: index,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let length = socklen_t::try_from(size_of::<sockaddr_ll>()).expect("20");
    // SAFETY: `address` is a whole `sockaddr_ll` of `length` bytes, and lives
    // until the call returns.
    #[expect(unsafe_code, reason = "bind")]
    let result = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    done(result)
}

/// Has the interface of number `index` receive frames for anybody, for as long as
/// `socket`, a packet socket, is open.
pub(crate) fn receive_for_anybody(socket: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    let membership = libc::packet_mreq {
        mr_ifindex: c_int::try_from(index).map_err(|_| io::ErrorKind::InvalidInput)?,
        mr_type: u16::try_from(libc::PACKET_MR_PROMISC).expect("1"),
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_option(
        socket,
        libc::SOL_PACKET,
        libc::PACKET_ADD_MEMBERSHIP,
        &membership,
    )
}

/// Sets a socket option whose value is plain data without padding.
pub(crate) fn set_option<T: Plain>(
    socket: BorrowedFd<'_>,
    level: c_int,
    option: c_int,
    value: &T,
) -> io::Result<()> {
    let length = socklen_t::try_from(size_of::<T>()).expect("options are small");
    // SAFETY: `value` points to `length` readable bytes, all initialised because
    // `Plain` types have no padding.
    #[expect(unsafe_code, reason = "setsockopt")]
    let result = unsafe {
        let value = std::ptr::from_ref(value).cast::<c_void>();
        libc::setsockopt(socket.as_raw_fd(), level, option, value, length)
    };
    done(result)
}

/// The most frames that [`send_many`] takes.
pub(crate) const MOST_AT_ONCE: usize = 32;

/// Sends frames by one system call, without waiting. Returns how many the kernel
/// took, which are the first ones; at least one.
pub(crate) fn send_many<'a>(
    socket: BorrowedFd<'_>,
    frames: impl Iterator<Item = &'a [u8]>,
) -> io::Result<usize> {
    let mut pieces = [libc::iovec {
        iov_base: std::ptr::null_mut(),
        iov_len: 0,
    }; MOST_AT_ONCE];
    let mut count = 0;
    for (piece, frame) in pieces.iter_mut().zip(frames) {
        piece.iov_base = frame.as_ptr().cast_mut().cast();
        piece.iov_len = frame.len();
        count += 1;
    }
    let mut messages: [libc::mmsghdr; MOST_AT_ONCE] = std::array::from_fn(|n| libc::mmsghdr {
        msg_hdr: libc::msghdr {
            msg_name: std::ptr::null_mut(),
            msg_namelen: 0,
            msg_iov: &raw mut pieces[n],
            msg_iovlen: 1,
            msg_control: std::ptr::null_mut(),
            msg_controllen: 0,
            msg_flags: 0,
        },
        msg_len: 0,
    });
    let number = u32::try_from(count).expect("at most 32");
    // SAFETY: the first `number` messages point to one piece each, the pieces to
    // frames of their length; all live until the call returns, and the kernel only
    // reads the frames.
    #[expect(unsafe_code, reason = "sendmmsg")]
    let sent = unsafe {
        libc::sendmmsg(
            socket.as_raw_fd(),
            messages.as_mut_ptr(),
            number,
            libc::MSG_DONTWAIT,
        )
    };
    done(sent)?;
    Ok(usize::try_from(sent).expect("not negative"))
}

/// Reads the counters of a packet socket, which resets them: frames seen, and
/// frames dropped because its ring was full.
pub(crate) fn take_statistics(socket: BorrowedFd<'_>) -> io::Result<(u32, u32)> {
    let mut counters = [0u32; 2];
    let mut length = socklen_t::try_from(size_of::<[u32; 2]>()).expect("8");
    // SAFETY: `counters` has room for the `length` bytes of a `tpacket_stats`,
    // which is two 32-bit words.
    #[expect(unsafe_code, reason = "getsockopt")]
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut counters).cast(),
            &raw mut length,
        )
    };
    done(result)?;
    let [seen, dropped] = counters;
    Ok((seen, dropped))
}

/// Returns who has bound the name that a local socket is connected to.
pub(crate) fn peer(socket: BorrowedFd<'_>) -> io::Result<libc::ucred> {
    let mut peer = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut length = socklen_t::try_from(size_of::<libc::ucred>()).expect("12");
    // SAFETY: `peer` has room for the `length` bytes of a `ucred`, three numbers of 32
    // bits of which every value is one.
    #[expect(unsafe_code, reason = "getsockopt")]
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    done(result)?;
    Ok(peer)
}

/// Returns by what the namespace of a socket is told from all others that there ever were
/// (Linux 5.14).
pub(crate) fn namespace_cookie(socket: BorrowedFd<'_>) -> io::Result<u64> {
    const NAMESPACE_COOKIE: c_int = 71;
    let mut cookie = 0_u64;
    let mut length = socklen_t::try_from(size_of::<u64>()).expect("8");
    // SAFETY: the kernel writes at most `length` bytes, as many as the cookie has.
    #[expect(unsafe_code, reason = "getsockopt")]
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            NAMESPACE_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    done(result)?;
    Ok(cookie)
}

/// Types without padding, whose every byte may be handed to the kernel.
pub(crate) trait Plain: Copy {}

impl Plain for c_int {}
impl Plain for libc::tpacket_req {}
impl Plain for libc::packet_mreq {}

/// Returns the error that a system call left behind, if it failed.
pub(crate) fn done(result: c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
