//! Sends frames and says when each of them left, by the kernel's stamp at the driver.
//!
//! A capture of what leaves takes its stamp, too, but copies the frame between the
//! stamp and the driver: on a virtual cable that copy is longer than the way over the
//! cable, and takes the longer the colder the caches are. The stamp here is taken by the
//! driver itself, and nothing but its entry in a list lies behind it. It comes back by
//! the socket's queue of errors, with the number of the frame.
//!
//! A frame keeps the wish for stamps as long as the kernel carries it on in the same
//! buffer. Where a device in the kernel hands it on, it is stamped again, with the same
//! number: [`Departure`]s of one number come in the order of the interfaces.
//!
//! Source: Documentation/networking/timestamping.rst of Linux.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use libc::{c_int, c_uint};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;

use crate::clock::WallTime;
use crate::sender::{ClassId, Queued, Sender};
use crate::socket::{done, set_option};

/// Room for the stamps of thousands of frames.
const STAMPS_BYTES: usize = 16 << 20;
/// The most stamps that one system call brings.
const AT_ONCE: usize = 32;
/// What stands beside a stamp takes less.
const CONTROL_BYTES: usize = 192;
/// `struct cmsghdr`: length, level, type.
const HEADER_BYTES: usize = size_of::<libc::cmsghdr>();
const WORD_BYTES: usize = size_of::<usize>();
/// `SOF_TIMESTAMPING_TX_SOFTWARE`, `_SOFTWARE`, `_OPT_ID` and `_OPT_TSONLY`: at the
/// driver, with a number and without the frame.
const STAMPS: c_uint = libc::SOF_TIMESTAMPING_TX_SOFTWARE
    | libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_TSONLY;
/// `SCM_TSTAMP_SND`: the driver took it.
const TAKEN_BY_DRIVER: u32 = 0;
const NS_PER_SECOND: u64 = 1_000_000_000;

/// A frame left an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Which: [`StampedSender::send`] has given it that number.
    pub number: u32,
    /// When.
    pub stamp: WallTime,
}

/// Sends whole frames through one interface, and learns when they leave.
#[derive(Debug)]
pub struct StampedSender {
    sender: Sender,
    /// What the kernel calls the next frame.
    next: u32,
    controls: Vec<[u64; CONTROL_BYTES / 8]>,
}

impl StampedSender {
    /// Opens the interface of number `index` in the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// Without CAP_NET_RAW and CAP_NET_ADMIN, or without such an interface.
    pub fn open(index: u32) -> io::Result<Self> {
        let sender = Sender::open(index, ClassId { major: 0, minor: 0 })?;
        // An ordinary user keeps the default size, which has room for fewer stamps.
        let _ = set_socket_recv_buffer_size_force(&sender, STAMPS_BYTES);
        let stamps = c_int::try_from(STAMPS).expect("low bits");
        let (level, option) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
        set_option(sender.as_fd(), level, option, &stamps)?;
        Ok(Self {
            sender,
            next: 0,
            controls: vec![[0; CONTROL_BYTES / 8]; AT_ONCE],
        })
    }

    /// Queues one frame; never waits. Returns its number, too, if it has one: that is
    /// what the kernel has begun to send, even if the link lost it afterwards.
    ///
    /// # Errors
    ///
    /// As [`Sender::send`].
    pub fn send(&mut self, frame: &[u8]) -> io::Result<(Queued, Option<u32>)> {
        let queued = match self.sender.try_send(frame) {
            Ok(()) => Queued::Taken,
            // By the queueing discipline or the driver, which comes after the number.
            Err(Errno::NOBUFS) => Queued::Overflowed,
            Err(Errno::AGAIN) => return Ok((Queued::Overflowed, None)),
            Err(Errno::NETDOWN | Errno::NXIO) => return Ok((Queued::Down, None)),
            Err(error) => return Err(error.into()),
        };
        let number = self.next;
        self.next = number.wrapping_add(1);
        Ok((queued, Some(number)))
    }

    /// Hands over some departures that are known by now, in the order in which they
    /// happened. Returns how many there were; none if no more is known.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub fn departures(&mut self, mut tell: impl FnMut(Departure)) -> io::Result<usize> {
        let (count, lengths) = receive(self.sender.as_fd(), &mut self.controls)?;
        for (control, length) in self.controls.iter().zip(lengths).take(count) {
            let mut bytes = [0; CONTROL_BYTES];
            for (place, word) in bytes.chunks_exact_mut(8).zip(control) {
                place.copy_from_slice(&word.to_ne_bytes());
            }
            if let Some(departure) = parse(&bytes[..length.min(CONTROL_BYTES)]) {
                tell(departure);
            }
        }
        Ok(count)
    }
}

/// Receives from the queue of errors: how many, and the length of what stands beside each.
fn receive(
    socket: BorrowedFd<'_>,
    controls: &mut [[u64; CONTROL_BYTES / 8]],
) -> io::Result<(usize, [usize; AT_ONCE])> {
    let mut messages: [libc::mmsghdr; AT_ONCE] = std::array::from_fn(|n| libc::mmsghdr {
        msg_hdr: libc::msghdr {
            msg_name: std::ptr::null_mut(),
            msg_namelen: 0,
            msg_iov: std::ptr::null_mut(),
            msg_iovlen: 0,
            msg_control: (&raw mut controls[n]).cast(),
            msg_controllen: CONTROL_BYTES,
            msg_flags: 0,
        },
        msg_len: 0,
    });
    let number = c_uint::try_from(AT_ONCE).expect("32");
    // SAFETY: every message points to `CONTROL_BYTES` bytes of its own and to no others;
    // they and the messages live until the call returns.
    #[expect(unsafe_code, reason = "recvmmsg")]
    let received = unsafe {
        libc::recvmmsg(
            socket.as_raw_fd(),
            messages.as_mut_ptr(),
            number,
            libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT,
            std::ptr::null_mut(),
        )
    };
    let count = match done(received) {
        Ok(()) => usize::try_from(received).expect("not negative"),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
        Err(error) => return Err(error),
    };
    Ok((count, messages.map(|it| it.msg_hdr.msg_controllen)))
}

/// Reads what stands beside a stamp: the stamp, and whose it is.
fn parse(mut control: &[u8]) -> Option<Departure> {
    let (mut stamp, mut number) = (None, None);
    while let Some(length) = word(control, 0).filter(|it| *it >= HEADER_BYTES) {
        let data = control.get(HEADER_BYTES..length)?;
        match (half(control, WORD_BYTES)?, half(control, WORD_BYTES + 4)?) {
            (level, kind) if is(level, libc::SOL_SOCKET) && is(kind, libc::SCM_TIMESTAMPING) => {
                stamp = Some(software_stamp(data)?);
            }
            (level, kind) if is(level, libc::SOL_PACKET) && is(kind, libc::PACKET_TX_TIMESTAMP) => {
                number = Some(departed(data)?);
            }
            _ => {}
        }
        control = control
            .get(length.next_multiple_of(WORD_BYTES)..)
            .unwrap_or(&[]);
    }
    Some(Departure {
        number: number?,
        stamp: stamp?,
    })
}

/// Reads the first of the three stamps of a `struct scm_timestamping`.
fn software_stamp(data: &[u8]) -> Option<WallTime> {
    let [seconds, ns] = [word(data, 0)?, word(data, WORD_BYTES)?];
    let [seconds, ns] = [u64::try_from(seconds).ok()?, u64::try_from(ns).ok()?];
    let at = seconds.checked_mul(NS_PER_SECOND)?.checked_add(ns)?;
    (at > 0).then(|| WallTime::from_ns(at))
}

/// Reads the number out of a `struct sock_extended_err`, if the driver took the frame.
fn departed(data: &[u8]) -> Option<u32> {
    let (&origin, info, number) = (data.get(4)?, half(data, 8)?, half(data, 12)?);
    (origin == libc::SO_EE_ORIGIN_TIMESTAMPING && info == TAKEN_BY_DRIVER).then_some(number)
}

fn is(number: u32, name: c_int) -> bool {
    number == name.cast_unsigned()
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..at + WORD_BYTES)?;
    Some(usize::from_ne_bytes(word.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    let half = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes(half.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One entry, as the kernel puts it beside a message.
    fn entry(level: c_int, kind: c_int, data: &[u8]) -> Vec<u8> {
        let mut bytes = (HEADER_BYTES + data.len()).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(WORD_BYTES), 0);
        bytes
    }

    fn stamp(seconds: u64, ns: u64) -> Vec<u8> {
        let words = [seconds, ns, 0, 0, 0, 0];
        let data: Vec<u8> = words.iter().flat_map(|it| it.to_ne_bytes()).collect();
        entry(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &data)
    }

    fn name(info: u32, number: u32) -> Vec<u8> {
        // ENOMSG, then origin, type, code and padding.
        let mut data = 42_u32.to_ne_bytes().to_vec();
        data.extend([libc::SO_EE_ORIGIN_TIMESTAMPING, 0, 0, 0]);
        data.extend(info.to_ne_bytes());
        data.extend(number.to_ne_bytes());
        entry(libc::SOL_PACKET, libc::PACKET_TX_TIMESTAMP, &data)
    }

    #[test]
    fn a_stamp_and_the_number_beside_it_are_a_departure() {
        let expected = Departure {
            number: 7,
            stamp: WallTime::from_ns(3_000_000_005),
        };

        assert_eq!(parse(&[stamp(3, 5), name(0, 7)].concat()), Some(expected));
        assert_eq!(parse(&[name(0, 7), stamp(3, 5)].concat()), Some(expected));
    }

    #[test]
    fn a_stamp_of_another_place_or_without_a_number_is_none() {
        assert_eq!(parse(&[stamp(3, 5), name(1, 7)].concat()), None);
        assert_eq!(parse(&stamp(3, 5)), None);
        assert_eq!(parse(&[stamp(0, 0), name(0, 7)].concat()), None);
    }

    proptest! {
        #[test]
        fn no_bytes_beside_a_message_make_it_panic(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..CONTROL_BYTES),
            length in 0usize..256,
        ) {
            parse(&bytes);
            if let Some(first) = bytes.get_mut(..WORD_BYTES) {
                first.copy_from_slice(&length.to_ne_bytes());
            }
            parse(&bytes);
        }
    }
}
