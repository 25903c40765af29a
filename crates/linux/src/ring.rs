//! The receive ring that a packet socket shares with the kernel, TPACKET_V2.
//!
//! The kernel writes each frame with its stamp into the next slot and then sets
//! the slot's status to "user"; reading a frame costs no system call. The slot
//! goes back by setting the status to "kernel". When all slots are full the
//! kernel drops, and counts.
//!
//! The kernel takes the outer VLAN tag out of a received frame and reports it
//! beside the frame; [`Ring::take`] puts it back, in place, into the room that the
//! socket asked the kernel to leave in front of each frame.
//!
//! What a sender has left to a card that is not there, a checksum or the cutting of
//! a piece, the kernel tells whoever asks ([`Offloads::Told`]): in ten bytes in front
//! of the frame, `linux/virtio_net.h`. Such a piece is longer than a slot, which then
//! has its beginning, while the whole waits in the queue of the socket.
//!
//! Source: Documentation/networking/packet_mmap.rst of Linux.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use rustix::net::{RecvFlags, recv};

use libc::{c_int, sockaddr_ll, tpacket_req, tpacket2_hdr};

use crate::clock::WallTime;
use crate::mapping::Mapping;
use crate::offloads::{LONGEST_PIECE, Left, Sum};
use crate::removed_tag::{RemovedTag, TAG_BYTES};
use crate::socket::{Receives, bind, packet_socket, set_option, take_statistics};

const TPACKET_V2: c_int = 1;
/// One kernel allocation; whole pages, and whole slots of each size in use.
const BLOCK_BYTES: usize = 1 << 16;
/// The size of a slot: any frame of an interface with the usual 1500 bytes of
/// payload, and the kernel's bookkeeping.
const SLOT_BYTES: usize = 2048;
/// Where the kernel puts the address behind the slot's header.
const ADDRESS_OFFSET: usize = size_of::<tpacket2_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);
/// Where the address ends: nothing of ours may be written before.
const RESERVE_OFFSET: usize = ADDRESS_OFFSET + size_of::<sockaddr_ll>();

/// How many bytes tell what a sender has left to be done: `struct virtio_net_hdr`.
pub(crate) const OFFLOADS_BYTES: usize = 10;
/// Pieces that wait in the queue of the socket: about a hundred of the longest.
const PIECES_BYTES: usize = 8 << 20;

/// Whether the kernel tells what a sender has left to a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offloads {
    /// It does; so does every frame that is sent by the socket have to, by
    /// [`OFFLOADS_BYTES`] in front of it.
    Told,
    /// It does not: frames are seen as they pass.
    Ignored,
}

/// Whether a frame came in or went out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It arrived at the interface.
    In,
    /// It left through the interface: stamped behind the queueing discipline.
    Out,
}

/// A frame as the kernel delivered it.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// Its bytes from the destination address on, with its VLAN tag, without
    /// check sequence; cut off where the slot ends.
    pub bytes: &'a [u8],
    /// Its whole length in bytes, tag included.
    pub length: usize,
    /// When the kernel saw it.
    pub stamp: WallTime,
    pub direction: Direction,
    /// The number of the interface.
    pub interface: u32,
    /// What its sender has left to be done, where that was asked for.
    pub left: Left,
}

/// A packet socket with its ring.
#[derive(Debug)]
pub(crate) struct Ring {
    socket: OwnedFd,
    mapping: Mapping,
    slots: usize,
    next: usize,
    lost: u64,
    /// Whether a frame was taken before which others were dropped.
    losing: bool,
    /// Room for a piece that is longer than a slot, if the kernel tells what is left.
    piece: Option<Box<[u8]>>,
}

impl Ring {
    /// Opens a socket with a ring of about `bytes`, not bound yet: set options,
    /// then [`bind`](Self::bind).
    pub(crate) fn open(bytes: usize, offloads: Offloads) -> io::Result<Self> {
        let socket = packet_socket()?;
        let piece = match offloads {
            Offloads::Told => Some(ask_for_offloads(socket.as_fd())?),
            Offloads::Ignored => None,
        };
        let blocks = (bytes / BLOCK_BYTES).max(1);
        let slots = blocks * (BLOCK_BYTES / SLOT_BYTES);
        let narrow = |n: usize| u32::try_from(n).map_err(|_| io::ErrorKind::InvalidInput);
        let request = tpacket_req {
            tp_block_size: narrow(BLOCK_BYTES)?,
            tp_block_nr: narrow(blocks)?,
            tp_frame_size: narrow(SLOT_BYTES)?,
            tp_frame_nr: narrow(slots)?,
        };
        let reserve = c_int::try_from(TAG_BYTES).expect("4");
        set_option(
            socket.as_fd(),
            libc::SOL_PACKET,
            libc::PACKET_VERSION,
            &TPACKET_V2,
        )?;
        set_option(
            socket.as_fd(),
            libc::SOL_PACKET,
            libc::PACKET_RESERVE,
            &reserve,
        )?;
        set_option(
            socket.as_fd(),
            libc::SOL_PACKET,
            libc::PACKET_RX_RING,
            &request,
        )?;
        let length = blocks * BLOCK_BYTES;
        let mapping = Mapping::shared(&socket, length, 0)?;
        Ok(Self {
            socket,
            mapping,
            slots,
            next: 0,
            lost: 0,
            losing: false,
            piece,
        })
    }

    /// Has the kernel stamp frames at the driver, not when it fills the ring.
    pub(crate) fn stamp_at_driver(&self) -> io::Result<()> {
        let stamps = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
        let stamps = c_int::try_from(stamps).expect("two low bits");
        let (level, option) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
        set_option(self.socket.as_fd(), level, option, &stamps)
    }

    /// Begins to receive from the interface of number `index`.
    pub(crate) fn bind(&self, index: u32) -> io::Result<()> {
        bind(self.socket.as_fd(), index, Receives::Everything)
    }

    /// Tells whether a frame waits.
    pub(crate) fn is_ready(&self) -> bool {
        self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// Hands the next frame to `read` and the slot back to the kernel.
    pub(crate) fn take<R>(&mut self, read: impl FnOnce(Captured<'_>) -> R) -> Option<R> {
        let status = self.status().load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        self.losing |= status & libc::TP_STATUS_LOSING != 0;
        self.prefetch_following();
        let result = read(self.captured());
        self.status()
            .store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.slots;
        Some(result)
    }

    /// Fetches the frame after the next one, which another processor has written,
    /// and the header after that.
    #[inline]
    fn prefetch_following(&self) {
        let following = (self.next + 1) % self.slots;
        if self.status_of(following).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0 {
            let header = self.header(following * SLOT_BYTES);
            let (begin, length) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
            let offset = following * SLOT_BYTES + begin;
            self.mapping.prefetch(offset, length);
        }
        let header = (self.next + 2) % self.slots * SLOT_BYTES;
        self.mapping.prefetch(header, size_of::<tpacket2_hdr>());
    }

    /// Returns the stamp of the next frame, if one waits.
    pub(crate) fn next_stamp(&self) -> Option<WallTime> {
        if !self.is_ready() {
            return None;
        }
        Some(stamp(&self.header(self.slot())))
    }

    /// Reads the header of the slot at `offset`, which must be ours.
    fn header(&self, offset: usize) -> tpacket2_hdr {
        // SAFETY: the status gave the slot to us, so that the kernel does not
        // write it, and its header is plain data.
        #[expect(unsafe_code, reason = "header of a slot")]
        unsafe {
            self.mapping.at::<tpacket2_hdr>(offset).read()
        }
    }

    /// Returns how many frames the kernel dropped because the ring was full,
    /// since the ring was opened.
    pub(crate) fn lost(&mut self) -> u64 {
        self.losing = false;
        if let Ok((_, dropped)) = take_statistics(self.socket.as_fd()) {
            self.lost += u64::from(dropped);
        }
        self.lost
    }

    /// Tells whether a frame was taken, since [`lost`](Self::lost) was last asked for,
    /// that the kernel marked: it had dropped others.
    pub(crate) fn is_losing(&self) -> bool {
        self.losing
    }

    /// Where the next slot begins.
    fn slot(&self) -> usize {
        self.next * SLOT_BYTES
    }

    /// The first word of the next slot, through which it changes hands.
    fn status(&self) -> &AtomicU32 {
        self.status_of(self.next)
    }

    fn status_of(&self, slot: usize) -> &AtomicU32 {
        // SAFETY: every slot begins with a 32-bit status, aligned because slots
        // are, and only ever accessed atomically by both sides.
        #[expect(unsafe_code, reason = "shared status word")]
        unsafe {
            self.mapping.at::<AtomicU32>(slot * SLOT_BYTES).as_ref()
        }
    }

    /// Reads the next slot, which must be ours, and completes its frame.
    fn captured(&mut self) -> Captured<'_> {
        let slot = self.slot();
        // SAFETY: the status gave the slot to us, so that the kernel does not
        // write it until we give it back, and `&mut self` keeps everyone else
        // away; header and address are plain data at these offsets.
        #[expect(unsafe_code, reason = "slot of the ring")]
        let (header, address, slot) = unsafe {
            (
                self.mapping.at::<tpacket2_hdr>(slot).read(),
                self.mapping.at::<sockaddr_ll>(slot + ADDRESS_OFFSET).read(),
                self.mapping.at::<[u8; SLOT_BYTES]>(slot).as_mut(),
            )
        };
        let direction = match address.sll_pkttype {
            libc::PACKET_OUTGOING => Direction::Out,
            _ => Direction::In,
        };
        let begin = usize::from(header.tp_mac);
        let mut place = begin..begin + header.tp_snaplen as usize;
        let is_told = self.piece.is_some();
        let mut room = &mut slot[..];
        if header.tp_status & libc::TP_STATUS_COPY != 0
            && let Some(piece) = &mut self.piece
            && let Ok((length, _)) =
                recv(&self.socket, &mut piece[TAG_BYTES..], RecvFlags::DONTWAIT)
        {
            place = TAG_BYTES + OFFLOADS_BYTES..TAG_BYTES + length;
            room = piece;
        }
        let left = match is_told {
            true => offloads_in(&room[..place.start]),
            false => Left::default(),
        };
        let tag = RemovedTag::of(header.tp_status, header.tp_vlan_tci, header.tp_vlan_tpid);
        let begin = tag.map_or(place.start, |tag| {
            assert!(
                usize::from(header.tp_mac) >= RESERVE_OFFSET + TAG_BYTES,
                "the kernel reserves room for the tag"
            );
            tag.put_back(room, place.start, place.end)
        });
        let moved = place.start - begin;
        Captured {
            bytes: &room[begin..place.end],
            length: header.tp_len as usize + moved,
            stamp: stamp(&header),
            direction,
            interface: address.sll_ifindex.cast_unsigned(),
            left: left.behind(moved),
        }
    }
}

/// Has the kernel tell of every frame what its sender has left to be done, and keep
/// whole what is longer than a slot. Returns room for that.
fn ask_for_offloads(socket: BorrowedFd<'_>) -> io::Result<Box<[u8]>> {
    const YES: c_int = 1;
    for option in [libc::PACKET_VNET_HDR, libc::PACKET_COPY_THRESH] {
        set_option(socket, libc::SOL_PACKET, option, &YES)?;
    }
    // An ordinary user keeps the default size, which holds fewer.
    let _ = set_socket_recv_buffer_size_force(socket, PIECES_BYTES);
    let bytes = TAG_BYTES + OFFLOADS_BYTES + LONGEST_PIECE;
    Ok(vec![0; bytes].into_boxed_slice())
}

/// Reads what the kernel tells at the end of `front`, the bytes in front of a frame.
fn offloads_in(front: &[u8]) -> Left {
    /// `VIRTIO_NET_HDR_F_NEEDS_CSUM`.
    const SUM_IS_LEFT: u8 = 1;
    let Some(told) = front.last_chunk::<OFFLOADS_BYTES>() else {
        return Left::default();
    };
    let word = |at: usize| u16::from_ne_bytes([told[at], told[at + 1]]);
    let (flags, is_cut) = (told[0], told[1] != 0);
    let (from, offset) = (word(6), word(8));
    Left {
        sum: match flags & SUM_IS_LEFT {
            0 => Sum::Done,
            _ => Sum::From {
                from,
                at: from.saturating_add(offset),
            },
        },
        segment: if is_cut { word(4) } else { 0 },
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn stamp(header: &tpacket2_hdr) -> WallTime {
    const NS_PER_SECOND: u64 = 1_000_000_000;
    WallTime::from_ns(u64::from(header.tp_sec) * NS_PER_SECOND + u64::from(header.tp_nsec))
}
