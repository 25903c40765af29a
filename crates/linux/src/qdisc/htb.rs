//! The paced interface, built of hierarchical token buckets.
//!
//! Two of them, one in the other. The outer one has a single class, which holds the
//! rate of the link and one frame of burst. Sizes count as on the wire: with
//! preamble, check sequence and gap, and never fewer than 84 bytes. In that class
//! stands the inner one, with one class a queue that is never short of tokens, so
//! that all it does is to choose: the most urgent first. It is asked for a frame
//! the moment that one may leave, not before, so a frame that is not yet leaving
//! can be overtaken, and one that has begun is finished.
//!
//! One bucket with a class for the link and leaves that borrow from it would be the
//! obvious way. But a leaf must have a rate of its own, and what it sends by that
//! rate goes before more urgent frames that have to borrow, and faster than the
//! link (`docs/decisions/0010-two-token-buckets.md`).
//!
//! What a sender has left to a card to cut would be one frame here, and 64 KiB of it
//! would be in the way of an urgent frame. In front of both stands a token bucket
//! (`tbf`) that is never short of tokens: it cuts what is longer than its burst before
//! it enters a queue ([`Pieces::Cut`]).
//!
//! # Left out
//!
//! A VLAN tag that the kernel keeps beside the frame, as it does with those that it
//! forwards itself: neither the pace nor the bytes sent have its four bytes. Tags of
//! frames that come from a socket are counted.
//!
//! The clock of the interface. Where it is slower than that of the processor, frames
//! of a saturated link gather in the driver's own queue, which knows no priorities:
//! a real interface is to be paced a little below its rate.
//!
//! Sources: `net/sched/sch_htb.c`, `net/sched/sch_tbf.c`, `linux/pkt_sched.h`.

use std::io;

use units::{BitRate, DataSize};
use wire::ethernet::{LONGEST_FRAME, SHORTEST_FRAME, WIRE_OVERHEAD, wire_size};

use super::token_bucket::{Bucket, rate_specification};
use super::traffic::{KIND, NEW_CLASS, NEW_DISCIPLINE, OPTIONS, ROOT};
use super::{FIRST_MINOR, Length, QUEUES, QUEUES_MAJOR, Shape, class, header};
use crate::netlink::{Netlink, Purpose, Request};

/// The number of the outermost discipline, by which ours is known from others'. It
/// stands for "takt".
pub(super) const OUTERMOST: u32 = 0x7ac7 << 16;
/// The only class of the one that cuts, and the number of the bucket in it.
const CUT: u32 = OUTERMOST | 1;
const BEHIND_CUT: u32 = 0x7ac8 << 16;
const INNER: u32 = (QUEUES_MAJOR as u32) << 16;

/// The attributes of a token bucket; `linux/pkt_sched.h`.
const PARAMETERS: u16 = 1;
const INIT: u16 = 2;
const RATE: u16 = 6;
const CEILING: u16 = 7;
const VERSION: u32 = 3;

/// The kernel counts tokens in ticks of this length.
const TICK_NS: u64 = 64;
/// What a queue's class may send: far more than any link, in bytes a second.
const UNLIMITED: u64 = 1_000_000_000_000;
/// Tokens for a thousand of the longest frames at that rate.
const PLENTY_TICKS: u32 = 1_000_000;

/// The burst of the bucket that cuts, in bytes: any frame that a switch sends is shorter.
const LONGEST_UNCUT: u32 = 2048;

/// What becomes of a piece that its sender has left to a card to cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// It is cut into frames, which wait and leave one by one.
    Cut,
    Whole,
}

pub(super) fn build(
    netlink: &mut Netlink,
    index: u32,
    shape: Shape,
    pieces: Pieces,
) -> io::Result<()> {
    let default_class = |minor| initial(u32::from(minor));
    let (outer, parent) = match pieces {
        Pieces::Cut => (BEHIND_CUT, CUT),
        Pieces::Whole => (OUTERMOST, ROOT),
    };
    if pieces == Pieces::Cut {
        netlink.ask(cutter(index))?;
    }
    let link = outer | 1;
    netlink.ask(qdisc(index, outer, parent, default_class(1)))?;
    netlink.ask(link_class(shape.rate).request(Purpose::Create, &header(index, link, outer)))?;
    netlink.ask(qdisc(index, INNER, link, default_class(FIRST_MINOR)))?;
    for queue in 0..QUEUES {
        let id = class(queue).as_u32();
        netlink.ask(queue_class(queue).request(Purpose::Create, &header(index, id, INNER)))?;
        netlink.ask(fifo(index, id, shape.length))?;
    }
    Ok(())
}

/// Gives an interface that was built so another rate, with what waits left as it is.
pub(super) fn change_rate(netlink: &mut Netlink, index: u32, rate: BitRate) -> io::Result<()> {
    let mut ask = |outer: u32| {
        let header = header(index, outer | 1, outer);
        netlink.ask(link_class(rate).request(Purpose::Change, &header))
    };
    // The number of the bucket tells whether something cuts in front of it.
    ask(BEHIND_CUT).or_else(|_| ask(OUTERMOST))
}

fn qdisc(index: u32, handle: u32, parent: u32, initial: Vec<u8>) -> Request {
    let header = header(index, handle, parent);
    Request::new(NEW_DISCIPLINE, Purpose::Create, &header)
        .with(KIND, b"htb\0")
        .with_nested(OPTIONS, |options| options.append(INIT, &initial))
}

/// The bucket that cuts, without a queue of its own.
fn cutter(index: u32) -> Request {
    let bucket = Bucket {
        rate: UNLIMITED,
        burst: LONGEST_UNCUT,
        queue: 0,
    };
    bucket.request(Purpose::Create, index)
}

fn fifo(index: u32, parent: u32, length: Length) -> Request {
    let (kind, limit) = match length {
        Length::Frames(frames) => (b"pfifo\0", frames),
        Length::Bytes(bytes) => (b"bfifo\0", bytes),
    };
    Request::new(NEW_DISCIPLINE, Purpose::Create, &header(index, 0, parent))
        .with(KIND, kind)
        .with(OPTIONS, &limit.to_ne_bytes())
}

/// One class: its rate in bytes a second, its burst in ticks.
struct Class {
    rate: u64,
    burst: u32,
    /// 0 is served first.
    priority: u8,
    /// What each byte count is corrected by.
    framing: Framing,
}

/// How the size of a frame is counted.
#[derive(Clone, Copy)]
enum Framing {
    Wire,
    Memory,
}

fn link_class(rate: BitRate) -> Class {
    Class {
        rate: rate.as_bps() / 8,
        burst: burst_ticks(rate),
        priority: 0,
        framing: Framing::Wire,
    }
}

fn queue_class(queue: u8) -> Class {
    Class {
        rate: UNLIMITED,
        burst: PLENTY_TICKS,
        priority: QUEUES - 1 - queue,
        framing: Framing::Memory,
    }
}

impl Class {
    fn request(&self, purpose: Purpose, header: &[u8; 20]) -> Request {
        Request::new(NEW_CLASS, purpose, header)
            .with(KIND, b"htb\0")
            .with_nested(OPTIONS, |options| {
                options.append(PARAMETERS, &self.parameters());
                options.append(RATE, &self.rate.to_ne_bytes());
                options.append(CEILING, &self.rate.to_ne_bytes());
            })
    }

    /// `struct tc_htb_opt`.
    fn parameters(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(44);
        for _ in ["rate", "ceiling"] {
            bytes.extend_from_slice(&self.rate_specification());
        }
        let quantum = u32::try_from(longest_frame().bytes_up()).expect("a frame is small");
        let (level, priority) = (0, u32::from(self.priority));
        for word in [self.burst, self.burst, quantum, level, priority] {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// `struct tc_ratespec`.
    fn rate_specification(&self) -> [u8; 12] {
        let (overhead, shortest) = match self.framing {
            Framing::Wire => (WIRE_OVERHEAD, SHORTEST_FRAME + WIRE_OVERHEAD),
            Framing::Memory => (0, 0),
        };
        let half_word = |bytes| u16::try_from(bytes).expect("at most 84").to_ne_bytes();
        let mut bytes = rate_specification(self.rate);
        bytes[2..4].copy_from_slice(&half_word(overhead));
        bytes[6..8].copy_from_slice(&half_word(shortest));
        bytes
    }
}

/// `struct tc_htb_glob`: what carries no class goes to `default_class`.
fn initial(default_class: u32) -> Vec<u8> {
    let ratio_of_quantum = 10;
    [VERSION, ratio_of_quantum, default_class, 0, 0]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect()
}

/// One frame, as the time that it takes at `rate`.
fn burst_ticks(rate: BitRate) -> u32 {
    let time = rate.time_to_send(longest_frame()).round_up();
    u32::try_from(time.as_ns() / TICK_NS)
        .unwrap_or(u32::MAX)
        .max(1)
}

fn longest_frame() -> DataSize {
    wire_size(LONGEST_FRAME)
}
