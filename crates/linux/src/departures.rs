//! Sends frames and says when each of them left, by the kernel's stamp at the driver or by
//! the network card's own.
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
//! A card takes its stamp when the frame passes to the wire, and keeps it until the driver
//! fetches it. Cards have room for one to a few of those, and frames that are sent
//! meanwhile have no departure.
//!
//! Source: Documentation/networking/timestamping.rst of Linux.

use std::io;
use std::os::fd::AsFd;

use libc::{c_int, c_uint};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;

use crate::message_batch::{Keeps, MessageBatch};
use crate::sender::{ClassId, Queued, Sender};
use crate::socket::set_option;
use crate::stamps::{Entries, Stamps, half};

/// Room for the stamps of thousands of frames.
const STAMPS_BYTES: usize = 16 << 20;
/// With a number and without the frame.
const NUMBERED: c_uint = libc::SOF_TIMESTAMPING_OPT_ID | libc::SOF_TIMESTAMPING_OPT_TSONLY;
/// `SCM_TSTAMP_SND`: the driver took it, or the card has sent it.
const TAKEN_BY_DRIVER: u32 = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampedBy {
    /// The driver, when it takes a frame.
    Driver,
    /// The card, which has to be [told](crate::interface_guard::InterfaceGuard::stamp_by_card) to.
    Card,
}

impl StampedBy {
    fn flags(self) -> c_uint {
        NUMBERED
            | match self {
                Self::Driver => {
                    libc::SOF_TIMESTAMPING_TX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE
                }
                Self::Card => {
                    libc::SOF_TIMESTAMPING_TX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE
                }
            }
    }
}

/// A frame left an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Which: [`StampedSender::send`] has given it that number.
    pub number: u32,
    pub stamps: Stamps,
}

/// Sends whole frames through one interface, and learns when they leave.
#[derive(Debug)]
pub struct StampedSender {
    sender: Sender,
    /// What the kernel calls the next frame.
    next: u32,
    batch: MessageBatch,
}

impl StampedSender {
    /// Opens the interface of number `index` in the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// Without CAP_NET_RAW and CAP_NET_ADMIN, or without such an interface.
    pub fn open(index: u32, by: StampedBy) -> io::Result<Self> {
        let sender = Sender::open(index, ClassId { major: 0, minor: 0 })?;
        // An ordinary user keeps the default size, which has room for fewer stamps.
        let _ = set_socket_recv_buffer_size_force(&sender, STAMPS_BYTES);
        let flags = c_int::try_from(by.flags()).expect("low bits");
        let (level, option) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
        set_option(sender.as_fd(), level, option, &flags)?;
        Ok(Self {
            sender,
            next: 0,
            batch: MessageBatch::new(Keeps::Nothing),
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
        let count = self
            .batch
            .receive(self.sender.as_fd(), libc::MSG_ERRQUEUE)?;
        for n in 0..count {
            if let Some(departure) = self.batch.beside(n, parse) {
                tell(departure);
            }
        }
        Ok(count)
    }
}

/// Reads what stands beside a stamp: the stamp, and whose it is.
fn parse(beside: &[u8]) -> Option<Departure> {
    let (mut stamps, mut number) = (Stamps::default(), None);
    for entry in Entries(beside) {
        if entry.is(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) {
            stamps = Stamps::of(entry.data);
        } else if entry.is(libc::SOL_PACKET, libc::PACKET_TX_TIMESTAMP) {
            number = Some(departed(entry.data)?);
        }
    }
    let number = number.filter(|_| stamps != Stamps::default())?;
    Some(Departure { number, stamps })
}

/// Reads the number out of a `struct sock_extended_err`, if the frame was sent.
fn departed(data: &[u8]) -> Option<u32> {
    let (&origin, info, number) = (data.get(4)?, half(data, 8)?, half(data, 12)?);
    (origin == libc::SO_EE_ORIGIN_TIMESTAMPING && info == TAKEN_BY_DRIVER).then_some(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock::WallTime;
    use crate::stamps::CardTime;
    use crate::stamps::tests::{entry, times};

    fn stamp(kernel: [u64; 2], card: [u64; 2]) -> Vec<u8> {
        let data = times(kernel, card);
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
        let (by_driver, by_card) = (stamp([3, 5], [0, 0]), stamp([0, 0], [3, 5]));
        let number = 7;
        let kernel = Some(WallTime::from_ns(3_000_000_005));
        let card = Some(CardTime::from_ns(3_000_000_005));

        let [driver, turned, of_card] = [
            [by_driver.clone(), name(0, number)],
            [name(0, number), by_driver],
            [by_card, name(0, number)],
        ]
        .map(|parts| parse(&parts.concat()));

        let expected = |stamps| Some(Departure { number, stamps });
        let of_driver = expected(Stamps { kernel, card: None });
        assert_eq!([driver, turned], [of_driver, of_driver]);
        assert_eq!(of_card, expected(Stamps { kernel: None, card }));
    }

    #[test]
    fn a_stamp_of_another_place_or_without_a_number_is_none() {
        let by_driver = stamp([3, 5], [0, 0]);

        assert_eq!(parse(&[by_driver.clone(), name(1, 7)].concat()), None);
        assert_eq!(parse(&by_driver), None);
        assert_eq!(parse(&[stamp([0, 0], [0, 0]), name(0, 7)].concat()), None);
    }

    proptest! {
        #[test]
        fn no_bytes_beside_a_message_make_it_panic(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..192),
            length in 0usize..256,
        ) {
            parse(&bytes);
            if let Some(first) = bytes.get_mut(..size_of::<usize>()) {
                first.copy_from_slice(&length.to_ne_bytes());
            }
            parse(&bytes);
        }
    }
}
