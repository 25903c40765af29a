//! A port by AF_XDP: frames pass the network stack by, on their way in and out.
//!
//! The memory of the frames is shared with the kernel; four queues carry the
//! right to a frame's place to and fro. Where the driver can, frames are not even
//! copied; virtual Ethernet can not. One receive queue is used.
//!
//! Virtual Ethernet passes on what its other end has left to a card, a checksum of TCP
//! or UDP, without a word: the sum itself is asked ([`Sum::Perhaps`]). What a card would
//! have to cut does not come: while the driver redirects, the kernel lets the other end
//! leave no cutting.
//!
//! Frames that wait are fewer than a packet socket holds ([`FRAMES`]), so that
//! this is for cards and for machines that do not stall.
//!
//! Source: Documentation/networking/af_xdp.rst of Linux.

mod queue;
mod redirect;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netdevice::index_to_name_inlined;
use rustix::net::sockopt::{
    set_xdp_rx_ring_size, set_xdp_tx_ring_size, set_xdp_umem_completion_ring_size,
    set_xdp_umem_fill_ring_size, set_xdp_umem_reg, xdp_mmap_offsets, xdp_statistics,
};
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, XDP_PGOFF_RX_RING, XDP_PGOFF_TX_RING,
    XDP_UMEM_PGOFF_COMPLETION_RING, XDP_UMEM_PGOFF_FILL_RING, XdpDesc, XdpDescOptions, XdpUmemReg,
    XdpUmemRegFlags,
};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, bind, send, socket_with};

use super::Sent;
use crate::interface::Interface;
use crate::mapping::Mapping;
use crate::offloads::{Sum, complete};
use crate::socket::{packet_socket, receive_for_anybody};
use queue::Queue;
use redirect::Redirect;

/// How many frames wait in each direction.
pub const FRAMES: u32 = 2048;
const FRAME_BYTES: u32 = 2048;
const QUEUE: u32 = 0;
/// The driver of interfaces whose other end is no card.
const VIRTUAL_ETHERNET: &str = "veth";

/// One interface as a port of a switch.
#[derive(Debug)]
pub struct XdpPort {
    socket: OwnedFd,
    frames: Mapping,
    /// Places that the kernel may fill.
    fill: Queue<u64>,
    received: Queue<XdpDesc>,
    sending: Queue<XdpDesc>,
    /// Places that the kernel has sent.
    sent: Queue<u64>,
    /// Places to be filled that found no room in their queue: the kernel may take
    /// entries long before it says so.
    unreturned: Vec<u64>,
    /// Places that nothing is in, for frames to be sent.
    free: Vec<u64>,
    /// How many frames the kernel has not been told of.
    queued: u64,
    /// What senders may have left to be done.
    left: Sum,
    _redirect: Redirect,
    /// Has the interface receive frames for anybody.
    _listening: OwnedFd,
}

/// By whom frames are redirected to the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    Native,
    /// By the driver if it can, else by the network stack.
    Any,
}

impl XdpPort {
    /// Opens the interface of number `index` in the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// Without CAP_NET_RAW and CAP_BPF or CAP_SYS_ADMIN, without such an interface,
    /// if it has another program attached already, or if the driver is to redirect
    /// and cannot.
    pub fn open(index: u32, attachment: Attachment) -> io::Result<Self> {
        let frames = Mapping::fresh(2 * FRAMES as usize * FRAME_BYTES as usize)?;
        let socket = socket_with(
            AddressFamily::XDP,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let memory = XdpUmemReg {
            addr: frames.address(),
            len: frames.length() as u64,
            chunk_size: FRAME_BYTES,
            headroom: 0,
            flags: XdpUmemRegFlags::empty(),
            tx_metadata_len: 0,
        };
        set_xdp_umem_reg(&socket, memory)?;
        set_xdp_umem_fill_ring_size(&socket, FRAMES)?;
        set_xdp_umem_completion_ring_size(&socket, FRAMES)?;
        set_xdp_rx_ring_size(&socket, FRAMES)?;
        set_xdp_tx_ring_size(&socket, FRAMES)?;
        let at = xdp_mmap_offsets(&socket)?;
        let shared = socket.as_fd();
        let mut fill = Queue::map(shared, FRAMES, at.fr, XDP_UMEM_PGOFF_FILL_RING)?;
        let received = Queue::map(shared, FRAMES, at.rx, XDP_PGOFF_RX_RING)?;
        let sending = Queue::map(shared, FRAMES, at.tx, XDP_PGOFF_TX_RING)?;
        let sent = Queue::map(shared, FRAMES, at.cr, XDP_UMEM_PGOFF_COMPLETION_RING)?;
        let places = |range: std::ops::Range<u32>| {
            range.map(|frame| u64::from(frame) * u64::from(FRAME_BYTES))
        };
        for place in places(0..FRAMES) {
            assert!(
                fill.push(place),
                "an empty queue holds as many as there are"
            );
        }
        bind(
            &socket,
            &SocketAddrXdp::new(SocketAddrXdpFlags::empty(), index, QUEUE),
        )?;
        let redirect = Redirect::attach(index, socket.as_fd(), attachment)?;
        let listening = packet_socket()?;
        receive_for_anybody(listening.as_fd(), index)?;
        Ok(Self {
            socket,
            frames,
            fill,
            received,
            sending,
            sent,
            unreturned: Vec::with_capacity(FRAMES as usize),
            free: places(FRAMES..2 * FRAMES).collect(),
            queued: 0,
            left: left_by_senders(index),
            _redirect: redirect,
            _listening: listening,
        })
    }

    /// Tells whether a frame waits.
    #[must_use]
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.received.is_ready()
    }

    /// Hands the next frame to `read`, if one waits.
    #[inline]
    pub fn receive<R>(&mut self, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let frame = self.received.pop()?;
        // Another processor has written the frame after this one.
        if let Some(next) = self.received.peek() {
            self.frames
                .prefetch(to_offset(next.addr), next.len as usize);
        }
        let left = self.left;
        let bytes = self.bytes(frame.addr, frame.len);
        complete(bytes, left);
        let result = read(bytes);
        let place = frame.addr - frame.addr % u64::from(FRAME_BYTES);
        if self.unreturned.is_empty() && self.fill.push(place) {
            return Some(result);
        }
        self.unreturned.push(place);
        while let Some(place) = self.unreturned.last()
            && self.fill.push(*place)
        {
            self.unreturned.pop();
        }
        Some(result)
    }

    /// Sends one frame now, behind those that were enqueued, or drops it: never
    /// waits.
    #[inline]
    pub fn send(&mut self, frame: &[u8]) -> Sent {
        match (self.enqueue(frame), self.flush()) {
            (Sent::Taken, 0) => Sent::Taken,
            (Sent::Taken, _) | (Sent::Dropped, _) => Sent::Dropped,
        }
    }

    /// Puts one frame into the queue of those to be sent, or drops it. It goes with
    /// the next [`flush`](Self::flush).
    #[inline]
    pub fn enqueue(&mut self, frame: &[u8]) -> Sent {
        while let Some(place) = self.sent.pop() {
            self.free.push(place);
        }
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        if length > FRAME_BYTES {
            return Sent::Dropped;
        }
        let Some(place) = self.free.pop() else {
            return Sent::Dropped;
        };
        self.bytes(place, length).copy_from_slice(frame);
        let options = XdpDescOptions::empty();
        let entry = XdpDesc {
            addr: place,
            len: length,
            options,
        };
        if !self.sending.push(entry) {
            self.free.push(place);
            return Sent::Dropped;
        }
        self.queued += 1;
        Sent::Taken
    }

    /// Has the kernel send what is in the queue. What it has no room for now goes
    /// with the next flush. Returns how many frames it refuses.
    #[inline]
    pub fn flush(&mut self) -> u64 {
        let queued = std::mem::take(&mut self.queued);
        if queued == 0 {
            return 0;
        }
        match send(&self.socket, &[], SendFlags::DONTWAIT) {
            Ok(_) | Err(Errno::AGAIN | Errno::BUSY | Errno::NOBUFS) => 0,
            Err(_) => queued,
        }
    }

    /// Returns how many frames came and found no place, since the port was opened.
    #[must_use]
    pub fn lost(&self) -> u64 {
        xdp_statistics(&self.socket).map_or(0, |counted| {
            counted.rx_dropped
                + counted.rx_ring_full.unwrap_or(0)
                + counted.rx_fill_ring_empty_descs.unwrap_or(0)
        })
    }

    /// Returns the bytes of a frame that is ours at the moment.
    fn bytes(&mut self, place: u64, length: u32) -> &mut [u8] {
        let (begin, length) = (to_offset(place), length as usize);
        assert!(
            begin + length <= self.frames.length(),
            "the kernel names places of ours"
        );
        // SAFETY: just checked to lie within the mapping; the kernel has handed
        // the place to us and does not touch it before it gets it back, which
        // takes `&mut self`.
        #[expect(unsafe_code, reason = "bytes of a frame")]
        unsafe {
            std::slice::from_raw_parts_mut(self.frames.at::<u8>(begin).as_ptr(), length)
        }
    }
}

impl AsFd for XdpPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Returns what those who send to the interface of number `index` may leave to a card.
fn left_by_senders(index: u32) -> Sum {
    let interface = packet_socket()
        .and_then(|socket| Ok(index_to_name_inlined(&socket, index)?))
        .and_then(|name| Interface::named(name.as_str()));
    match interface.ok().and_then(|interface| interface.driver()) {
        Some(driver) if driver == VIRTUAL_ETHERNET => Sum::Perhaps,
        Some(_) | None => Sum::Done,
    }
}

fn to_offset(place: u64) -> usize {
    usize::try_from(place).expect("places lie in memory")
}
