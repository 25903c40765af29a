//! Many messages by one system call, each with what stands beside it.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{c_int, c_uint};

use crate::socket::done;

/// The most messages that one system call brings.
pub(crate) const AT_ONCE: usize = 32;
/// What stands beside a message takes less.
const CONTROL_BYTES: usize = 192;
const CONTROL_WORDS: usize = CONTROL_BYTES / 8;
/// Room for any frame of an interface with the usual 1500 bytes of payload.
pub(crate) const ROOM_BYTES: usize = 2048;

/// Whether the messages themselves are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// Only what stands beside them.
    Nothing,
    /// As much as there is [room](ROOM_BYTES) for behind so many bytes that stay free.
    Behind(usize),
}

/// Receives messages. Allocates nothing once it has been made.
#[derive(Debug)]
pub(crate) struct MessageBatch {
    /// Words, since the kernel puts words beside a message.
    controls: Vec<[u64; CONTROL_WORDS]>,
    rooms: Vec<[u8; ROOM_BYTES]>,
    /// Where messages begin in their rooms.
    begin: usize,
    /// Of each message, and of what stands beside it.
    lengths: Vec<(usize, usize)>,
}

impl MessageBatch {
    pub(crate) fn new(keeps: Keeps) -> Self {
        let (rooms, begin) = match keeps {
            Keeps::Nothing => (0, 0),
            Keeps::Behind(begin) => (AT_ONCE, begin),
        };
        assert!(begin < ROOM_BYTES, "{begin} free bytes before a message");
        Self {
            controls: vec![[0; CONTROL_WORDS]; AT_ONCE],
            rooms: vec![[0; ROOM_BYTES]; rooms],
            begin,
            lengths: vec![(0, 0); AT_ONCE],
        }
    }

    /// Receives what waits, by `flags` from the queue of errors or the ordinary one.
    /// Returns how many messages there were; never waits.
    pub(crate) fn receive(&mut self, socket: BorrowedFd<'_>, flags: c_int) -> io::Result<usize> {
        let mut pieces = [libc::iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: 0,
        }; AT_ONCE];
        for (piece, room) in pieces.iter_mut().zip(&mut self.rooms) {
            let room = &mut room[self.begin..];
            piece.iov_base = room.as_mut_ptr().cast();
            piece.iov_len = room.len();
        }
        let each = usize::from(!self.rooms.is_empty());
        let mut messages: [libc::mmsghdr; AT_ONCE] = std::array::from_fn(|n| libc::mmsghdr {
            msg_hdr: libc::msghdr {
                msg_name: std::ptr::null_mut(),
                msg_namelen: 0,
                msg_iov: &raw mut pieces[n],
                msg_iovlen: each,
                msg_control: (&raw mut self.controls[n]).cast(),
                msg_controllen: CONTROL_BYTES,
                msg_flags: 0,
            },
            msg_len: 0,
        });
        let number = c_uint::try_from(AT_ONCE).expect("32");
        // SAFETY: every message points to `CONTROL_BYTES` bytes of its own, and either to
        // no piece or to one that leads to a room of its own of that length; they and the
        // messages live until the call returns.
        #[expect(unsafe_code, reason = "recvmmsg")]
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                messages.as_mut_ptr(),
                number,
                flags | libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        let count = match done(received) {
            Ok(()) => usize::try_from(received).expect("not negative"),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        for (lengths, message) in self.lengths.iter_mut().zip(&messages[..count]) {
            let length = usize::try_from(message.msg_len).expect("32 bits");
            *lengths = (length, message.msg_hdr.msg_controllen.min(CONTROL_BYTES));
        }
        Ok(count)
    }

    /// Hands over what stands beside the n-th message of those that were received last.
    pub(crate) fn beside<R>(&self, n: usize, read: impl FnOnce(&[u8]) -> R) -> R {
        let mut bytes = [0; CONTROL_BYTES];
        for (place, word) in bytes.chunks_exact_mut(8).zip(&self.controls[n]) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        read(&bytes[..self.lengths[n].1])
    }

    /// Returns the room of the n-th message, and where in it the message stands.
    pub(crate) fn message(&mut self, n: usize) -> (&mut [u8], std::ops::Range<usize>) {
        let end = (self.begin + self.lengths[n].0).min(ROOM_BYTES);
        (&mut self.rooms[n], self.begin..end)
    }
}
