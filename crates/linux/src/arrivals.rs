//! Receives frames with the stamps of the network card.
//!
//! A card that stamps what it receives takes the time when a frame's first bit behind the
//! preamble passes. The kernel's own stamp, when the driver hands the frame up, comes
//! beside it: so it can be seen whether the card's makes sense.
//!
//! This is no ring that is shared with the kernel, as a [`Tap`](crate::tap::Tap) has. Some
//! drivers (igc, tsnep) leave in a frame a reference to where their stamp can be
//! calculated. A socket's ordinary way does that, and the ring does not: it takes the
//! reference for a time. To read 32 frames costs a system call, which matters little where
//! the card has stamped them long before.
//!
//! Source: Documentation/networking/timestamping.rst of Linux; `linux/if_packet.h`,
//! `struct tpacket_auxdata`.
//!
//! # Left out
//!
//! What leaves: [`departures`](crate::departures) has the stamps of that. Frames longer
//! than 2044 bytes are cut off.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use libc::{c_int, c_uint};
use rustix::net::sockopt::set_socket_recv_buffer_size_force;

use crate::message_batch::{Keeps, MessageBatch};
use crate::removed_tag::{RemovedTag, TAG_BYTES};
use crate::socket::{
    Receives, bind, packet_socket, receive_for_anybody, set_option, take_statistics,
};
use crate::stamps::{Entries, Stamps, half};

/// Room for some ten thousand short frames, as the kernel counts them.
const FRAMES_BYTES: usize = 32 << 20;
/// By the card, and by the kernel.
const STAMPS: c_uint = libc::SOF_TIMESTAMPING_RX_HARDWARE
    | libc::SOF_TIMESTAMPING_RAW_HARDWARE
    | libc::SOF_TIMESTAMPING_RX_SOFTWARE
    | libc::SOF_TIMESTAMPING_SOFTWARE;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival<'a> {
    /// Its bytes from the destination address on, with its VLAN tag, without check
    /// sequence.
    pub bytes: &'a [u8],
    /// Its whole length in bytes, tag included.
    pub length: usize,
    pub stamps: Stamps,
}

/// Receives everything that comes in by one interface.
#[derive(Debug)]
pub struct Arrivals {
    socket: OwnedFd,
    batch: MessageBatch,
    /// Which message of the batch is next, and how many there are.
    next: usize,
    count: usize,
    lost: u64,
}

impl Arrivals {
    /// Begins to receive from the interface of number `index` in the calling thread's
    /// namespace, which receives frames for anybody as long as this lasts.
    ///
    /// # Errors
    ///
    /// Without CAP_NET_RAW, without such an interface, or before Linux 4.20.
    pub fn open(index: u32) -> io::Result<Self> {
        let socket = packet_socket()?;
        // An ordinary user keeps the default size, which has room for fewer frames.
        let _ = set_socket_recv_buffer_size_force(&socket, FRAMES_BYTES);
        let stamps = c_int::try_from(STAMPS).expect("low bits");
        let yes: c_int = 1;
        for (level, option, value) in [
            (libc::SOL_SOCKET, libc::SO_TIMESTAMPING, stamps),
            (libc::SOL_PACKET, libc::PACKET_AUXDATA, yes),
            (libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, yes),
        ] {
            set_option(socket.as_fd(), level, option, &value)?;
        }
        receive_for_anybody(socket.as_fd(), index)?;
        bind(socket.as_fd(), index, Receives::Everything)?;
        Ok(Self {
            socket,
            batch: MessageBatch::new(Keeps::Behind(TAG_BYTES)),
            next: 0,
            count: 0,
            lost: 0,
        })
    }

    /// Hands the next frame to `read`, if one waits.
    ///
    /// # Errors
    ///
    /// What the kernel says, as that the interface is down.
    pub fn take<R>(&mut self, read: impl FnOnce(Arrival<'_>) -> R) -> io::Result<Option<R>> {
        if self.next == self.count {
            (self.next, self.count) = (0, 0);
            self.count = match self.batch.receive(self.socket.as_fd(), 0) {
                // Said once when the interface goes down: what it received was handed over.
                Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => 0,
                received => received?,
            };
        }
        if self.next == self.count {
            return Ok(None);
        }
        let n = self.next;
        self.next += 1;
        let beside = self.batch.beside(n, Beside::of);
        let (room, place) = self.batch.message(n);
        let begin = match beside.tag {
            Some(tag) => tag.put_back(room, place.start, place.end),
            None => place.start,
        };
        let whole = beside.length.unwrap_or(place.len());
        Ok(Some(read(Arrival {
            bytes: &room[begin..place.end],
            length: whole + (place.start - begin),
            stamps: beside.stamps,
        })))
    }

    /// Returns how many frames were lost since there was no room for them.
    pub fn lost(&mut self) -> u64 {
        if let Ok((_, dropped)) = take_statistics(self.socket.as_fd()) {
            self.lost += u64::from(dropped);
        }
        self.lost
    }
}

/// What the kernel says beside a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Beside {
    stamps: Stamps,
    /// The length of the frame on its way, without the tag.
    length: Option<usize>,
    tag: Option<RemovedTag>,
}

impl Beside {
    fn of(bytes: &[u8]) -> Self {
        let mut beside = Self::default();
        for entry in Entries(bytes) {
            if entry.is(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) {
                beside.stamps = Stamps::of(entry.data);
            } else if entry.is(libc::SOL_PACKET, libc::PACKET_AUXDATA) {
                beside.length = half(entry.data, 4).and_then(|it| usize::try_from(it).ok());
                beside.tag = tag(entry.data);
            }
        }
        beside
    }
}

/// Reads the tag out of a `struct tpacket_auxdata`: status, two lengths, two offsets of 16
/// bits, then the words of the tag.
fn tag(data: &[u8]) -> Option<RemovedTag> {
    let quarter = |at: usize| {
        let bytes = data.get(at..at + 2)?;
        Some(u16::from_ne_bytes(bytes.try_into().ok()?))
    };
    RemovedTag::of(half(data, 0)?, quarter(16)?, quarter(18)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock::WallTime;
    use crate::stamps::CardTime;
    use crate::stamps::tests::{entry, times};

    fn auxiliary(status: u32, length: u32, tag: [u16; 2]) -> Vec<u8> {
        let mut data = status.to_ne_bytes().to_vec();
        data.extend(length.to_ne_bytes());
        data.extend(length.to_ne_bytes());
        for half in [0, 14, tag[0], tag[1]] {
            data.extend(half.to_ne_bytes());
        }
        entry(libc::SOL_PACKET, libc::PACKET_AUXDATA, &data)
    }

    #[test]
    fn both_stamps_the_length_and_the_tag_stand_beside_a_frame() {
        let status = libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID;
        let stamps = times([3, 5], [7, 11]);
        let bytes = [
            auxiliary(status, 1_500, [100, 0x88a8]),
            entry(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &stamps),
        ]
        .concat();

        let beside = Beside::of(&bytes);

        assert_eq!(beside.stamps.kernel, Some(WallTime::from_ns(3_000_000_005)));
        assert_eq!(beside.stamps.card, Some(CardTime::from_ns(7_000_000_011)));
        assert_eq!(beside.length, Some(1_500));
        assert_eq!(beside.tag, RemovedTag::of(status, 100, 0x88a8));
    }

    #[test]
    fn a_frame_without_a_tag_or_a_stamp_has_none() {
        let beside = Beside::of(&auxiliary(0, 60, [0, 0]));

        assert_eq!((beside.tag, beside.stamps), (None, Stamps::default()));
        assert_eq!(beside.length, Some(60));
    }

    proptest! {
        #[test]
        fn no_bytes_beside_a_frame_make_it_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..64),
        ) {
            Beside::of(&bytes);
            Beside::of(&entry(libc::SOL_PACKET, libc::PACKET_AUXDATA, &bytes));
            Beside::of(&entry(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &bytes));
        }
    }
}
