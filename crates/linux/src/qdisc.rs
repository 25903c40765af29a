//! Paces an interface at the rate of its link, with eight strict-priority queues of
//! bounded length and no preemption, by a queueing discipline of the kernel.
//!
//! Whoever sends says the queue by the priority of the frame, which is the number
//! of the queue's [`class`]. A frame without one goes to queue 0.
//!
//! | module | question |
//! |---|---|
//! | `htb` | how is it built of token buckets? |
//! | `token_bucket` | what does a single one look like? |
//! | [`length`] | how much does one queue hold? |
//! | [`state`] | what did the queues carry and lose, and what waits? |
//! | [`paced_link`] | how is an interface paced for a while, and given back? |
//!
//! # Left out
//!
//! `prio` under `tbf`, `mqprio` and `taprio`. Whoever adds one adds a
//! [`Qdisc`] with its requests beside `htb`; it has to take the same classes.

mod htb;
pub mod length;
pub mod paced_link;
pub mod state;
mod token_bucket;

use std::io;
use std::str::FromStr;

use thiserror::Error;
use units::BitRate;

pub use htb::Pieces;
pub use length::Length;
pub use paced_link::{PacedLink, PacingError};
pub use state::{QueueReader, QueueState};
pub(crate) use token_bucket::Bucket;

use crate::netlink::Netlink;
use crate::sender::ClassId;

/// How many queues an interface has; queue 7 is the most urgent.
pub const QUEUES: u8 = 8;

/// The discipline that holds the queues.
const QUEUES_MAJOR: u16 = 1;
/// The minor number of queue 0's class.
const FIRST_MINOR: u16 = 0x10;

/// Which discipline paces an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Qdisc {
    /// The best that the kernel has.
    Auto,
    Htb,
    /// None: frames leave as they come, as fast as the interface takes them.
    None,
}

/// What an interface is to be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The rate of its link, in bits on the wire.
    pub rate: BitRate,
    /// What each queue holds at most.
    pub length: Length,
}

/// A word that names no discipline known here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no discipline `{0}`: there are `auto`, `htb` and `none`")]
pub struct UnknownQdisc(String);

impl FromStr for Qdisc {
    type Err = UnknownQdisc;

    fn from_str(name: &str) -> Result<Self, UnknownQdisc> {
        match name {
            "auto" => Ok(Self::Auto),
            "htb" => Ok(Self::Htb),
            "none" => Ok(Self::None),
            other => Err(UnknownQdisc(other.into())),
        }
    }
}

/// Returns the class of queue `queue`.
///
/// # Panics
///
/// If there is no such queue.
#[must_use]
pub fn class(queue: u8) -> ClassId {
    assert!(queue < QUEUES, "queue {queue} of {QUEUES}");
    ClassId {
        major: QUEUES_MAJOR,
        minor: FIRST_MINOR + u16::from(queue),
    }
}

/// Paces the interface of number `index`, in the namespace of `netlink`, until it
/// or its namespace ends. Whoever sends there leaves nothing to a card. It must have no discipline but the kernel's own.
///
/// # Errors
///
/// If the kernel lacks `sch_htb`, or the interface has a discipline already.
pub fn pace(netlink: &mut Netlink, index: u32, shape: Shape) -> io::Result<()> {
    htb::build(netlink, index, shape, Pieces::Whole)
}

/// Gives the interface of number `index`, which is paced, another rate.
///
/// # Errors
///
/// If it is not paced, or the kernel refuses.
pub fn change_rate(netlink: &mut Netlink, index: u32, rate: BitRate) -> io::Result<()> {
    htb::change_rate(netlink, index, rate)
}

/// The fixed part of a request about a discipline or class: `struct tcmsg`.
fn header(index: u32, handle: u32, parent: u32) -> [u8; 20] {
    let mut header = [0; 20];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&handle.to_ne_bytes());
    header[12..16].copy_from_slice(&parent.to_ne_bytes());
    header
}

/// The types of requests and attributes about disciplines; `linux/rtnetlink.h`.
mod traffic {
    pub const NEW_DISCIPLINE: u16 = 36;
    pub const DELETE_DISCIPLINE: u16 = 37;
    pub const GET_DISCIPLINE: u16 = 38;
    pub const NEW_CLASS: u16 = 40;
    pub const GET_CLASS: u16 = 42;
    pub const KIND: u16 = 1;
    pub const OPTIONS: u16 = 2;
    pub const STATISTICS: u16 = 7;
    /// Stands for the parent of the outermost discipline.
    pub const ROOT: u32 = 0xffff_ffff;
    /// How long the fixed part of an answer is.
    pub const HEADER_BYTES: usize = 20;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_names_no_discipline_is_told_which_there_are() {
        assert_eq!("auto".parse(), Ok(Qdisc::Auto));
        assert_eq!("htb".parse(), Ok(Qdisc::Htb));
        assert_eq!("none".parse(), Ok(Qdisc::None));

        let refused = "taprio".parse::<Qdisc>().unwrap_err();

        let text = "no discipline `taprio`: there are `auto`, `htb` and `none`";
        assert_eq!(refused.to_string(), text);
    }

    #[test]
    fn the_classes_of_the_queues_are_those_that_programs_choose() {
        let numbers = [0, 7].map(|queue| class(queue).as_u32());

        assert_eq!(numbers, [0x0001_0010, 0x0001_0017]);
    }
}
