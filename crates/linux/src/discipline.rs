//! Paces an interface at the rate of its link, with eight strict
//! priorities and no preemption.
//!
//! A hierarchical token bucket does it: one root class holds the rate of the
//! link; under it one leaf a queue with next to no rate of its own borrows from
//! the root, the most urgent first. A frame that has begun is finished. Sizes
//! count as on the wire: with preamble, check sequence and gap, and never fewer
//! than 84 bytes.
//!
//! A leaf's own rate is one byte a second, the smallest there is, because a frame
//! sent on a leaf's own tokens goes before more urgent ones that have to borrow.
//! Each leaf can do so with its first frame; [`prime`] spends those before anything
//! is measured. The next tokens come a minute later, which is the longest that
//! the kernel counts.
//!
//! Sources: `net/sched/sch_htb.c`, `linux/pkt_sched.h`.

use std::io;

use units::{BitRate, DataSize};
use wire::ethernet::{LONGEST_FRAME, SHORTEST_FRAME, WIRE_OVERHEAD, wire_size};

use crate::netlink::{Netlink, Purpose, Request};
use crate::sender::{ClassId, Sender};

/// How many queues an interface has; queue 7 is the most urgent.
pub const QUEUES: u8 = 8;

const NEW_DISCIPLINE: u16 = 36;
const NEW_CLASS: u16 = 40;
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
/// The attributes of a token bucket; `linux/pkt_sched.h`.
mod htb {
    pub const PARAMETERS: u16 = 1;
    pub const INIT: u16 = 2;
    pub const RATE: u16 = 6;
    pub const CEILING: u16 = 7;
    pub const VERSION: u32 = 3;
    pub const ETHERNET: u8 = 1;
}
const NO_PARENT: u32 = 0xffff_ffff;
const DISCIPLINE: u16 = 1;
const ROOT_CLASS: u16 = 1;
/// The minor number of queue 0's class.
const FIRST_LEAF: u16 = 0x10;
/// The kernel counts tokens in ticks of this length.
const TICK_NS: u64 = 64;
const LEAF_RATE_BYTES: u64 = 1;
/// Frames that one queue holds before it drops.
pub const QUEUE_FRAMES: u32 = 100;
/// An experimental EtherType (IEEE Std 802), which nobody listens to.
const NOBODYS_ETHER_TYPE: [u8; 2] = [0x88, 0xb5];

/// Returns the class of queue `queue`.
///
/// # Panics
///
/// If there is no such queue.
#[must_use]
pub fn class(queue: u8) -> ClassId {
    assert!(queue < QUEUES, "queue {queue} of {QUEUES}");
    ClassId {
        major: DISCIPLINE,
        minor: FIRST_LEAF + u16::from(queue),
    }
}

/// Gives the interface of number `index`, in the namespace of `netlink`, the rate
/// `rate` and eight queues.
///
/// # Errors
///
/// If the kernel lacks `sch_htb`, or the interface has a discipline already.
pub fn pace(netlink: &mut Netlink, index: u32, rate: BitRate) -> io::Result<()> {
    let handle = u32::from(DISCIPLINE) << 16;
    netlink.ask(
        Request::new(
            NEW_DISCIPLINE,
            Purpose::Create,
            &header(index, handle, NO_PARENT),
        )
        .with(KIND, b"htb\0")
        .with_nested(OPTIONS, |options| options.append(htb::INIT, &initial())),
    )?;
    let root = handle | u32::from(ROOT_CLASS);
    let link_rate = rate.as_bps() / 8;
    let burst = burst_ticks(rate);
    let root_class = Class {
        rate: link_rate,
        ceiling: link_rate,
        burst,
        priority: 0,
    };
    netlink.ask(root_class.request(&header(index, root, handle)))?;
    for queue in 0..QUEUES {
        let id = class(queue).as_u32();
        let leaf = Class {
            rate: LEAF_RATE_BYTES,
            ceiling: link_rate,
            burst,
            priority: QUEUES - 1 - queue,
        };
        netlink.ask(leaf.request(&header(index, id, root)))?;
        netlink.ask(
            Request::new(NEW_DISCIPLINE, Purpose::Create, &header(index, 0, id))
                .with(KIND, b"pfifo\0")
                .with(OPTIONS, &QUEUE_FRAMES.to_ne_bytes()),
        )?;
    }
    Ok(())
}

/// Spends the tokens that each queue of a freshly paced interface has of its own,
/// by one frame each that nobody listens to. The interface and its peer must be
/// up, and the calling thread in its namespace.
///
/// # Errors
///
/// If the interface cannot be opened.
pub fn prime(index: u32) -> io::Result<()> {
    let mut frame = [0; SHORTEST_FRAME];
    frame[0] = 0x02; // To a locally administered address: to nobody.
    frame[12..14].copy_from_slice(&NOBODYS_ETHER_TYPE);
    for queue in 0..QUEUES {
        Sender::open(index, class(queue))?.send(&frame)?;
    }
    Ok(())
}

/// One class: rates in bytes a second, the burst in ticks.
struct Class {
    rate: u64,
    ceiling: u64,
    burst: u32,
    /// 0 is served first.
    priority: u8,
}

impl Class {
    fn request(&self, header: &[u8; 20]) -> Request {
        Request::new(NEW_CLASS, Purpose::Create, header)
            .with(KIND, b"htb\0")
            .with_nested(OPTIONS, |options| {
                options.append(htb::PARAMETERS, &self.parameters());
                options.append(htb::RATE, &self.rate.to_ne_bytes());
                options.append(htb::CEILING, &self.ceiling.to_ne_bytes());
            })
    }

    /// `struct tc_htb_opt`.
    fn parameters(&self) -> Vec<u8> {
        let quantum = largest_frame().bytes_up();
        let quantum = u32::try_from(quantum).expect("a frame is small");
        let mut bytes = Vec::with_capacity(44);
        for rate in [self.rate, self.ceiling] {
            let overhead = u16::try_from(WIRE_OVERHEAD).expect("24");
            let shortest = u16::try_from(SHORTEST_FRAME + WIRE_OVERHEAD).expect("84");
            bytes.extend_from_slice(&[0, htb::ETHERNET]);
            bytes.extend_from_slice(&overhead.to_ne_bytes());
            bytes.extend_from_slice(&[0, 0]); // Alignment of a cell: none.
            bytes.extend_from_slice(&shortest.to_ne_bytes());
            // Rates beyond 32 bits stand in the attributes that follow.
            let rate = u32::try_from(rate).unwrap_or(u32::MAX);
            bytes.extend_from_slice(&rate.to_ne_bytes());
        }
        let level = 0;
        for word in [
            self.burst,
            self.burst,
            quantum,
            level,
            u32::from(self.priority),
        ] {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}

/// `struct tc_htb_glob`: what carries no class goes to queue 0.
fn initial() -> Vec<u8> {
    let ratio_of_quantum = 10;
    let default_class = u32::from(FIRST_LEAF);
    [htb::VERSION, ratio_of_quantum, default_class, 0, 0]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect()
}

/// One frame, as the time that it takes at `rate`.
fn burst_ticks(rate: BitRate) -> u32 {
    let time = rate.time_to_send(largest_frame()).round_up();
    u32::try_from(time.as_ns() / TICK_NS)
        .unwrap_or(u32::MAX)
        .max(1)
}

fn largest_frame() -> DataSize {
    wire_size(LONGEST_FRAME)
}

/// The fixed part of a request about a discipline or class: `struct tcmsg`.
fn header(index: u32, handle: u32, parent: u32) -> [u8; 20] {
    let mut header = [0; 20];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&handle.to_ne_bytes());
    header[12..16].copy_from_slice(&parent.to_ne_bytes());
    header
}
