//! Periodic messages, longer than a frame and split into packets (S2-1).
//!
//! Every packet carries the message's number, which counts periods, its size,
//! and the packet's number in the flow (S2-2). The packets of one message follow each
//! other as fast as the contract's tokens come; a message that is not through
//! when the next is due delays it, and one whose whole period has passed by then
//! is left out. A source may send [otherwise](MessageSource::then) from some time on; the
//! numbers of its messages and packets go on.

use std::collections::VecDeque;

use units::{Duration, Instant};
use wire::ethernet::wire_size;
use wire::message_shim::MessageShim;

use super::Emitted;
use super::datagram::{Addresses, Datagram};
use super::pacing::{FrameGroup, Pacing, Release, Schedule};
use crate::Contract;

/// What a source of messages sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageConfig {
    pub addresses: Addresses,
    /// The bytes of a message, headers not counted; at least one.
    pub message_length: u32,
    /// The time between two messages.
    pub period: Duration,
    /// What the sender agreed to.
    pub contract: Contract,
    /// When the first message is due.
    pub start: Instant,
    /// From when on none is due.
    pub until: Option<Instant>,
}

#[derive(Debug)]
pub struct MessageSource {
    /// What is sent now, and what from later times on.
    parts: VecDeque<MessageSeries>,
    /// The number of the first message of the part that is sent now.
    first_message: u32,
    /// The number of the message after the one that was sent last.
    next_message: u32,
    next_packet: u32,
    /// Packets that earlier parts left out.
    skipped_before: u64,
}

/// Messages of one size and period.
#[derive(Debug)]
struct MessageSeries {
    full: Datagram,
    last: Datagram,
    packets: u32,
    message_length: u32,
    pacing: Pacing,
}

/// How a message is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// How many packets there are.
    pub packets: u32,
    /// The length of the frame of each packet but the last, without check
    /// sequence.
    pub full_frame: usize,
    /// The length of the frame of the last packet.
    pub last_frame: usize,
}

/// Returns how a message is split into frames no longer than the MTU allows.
///
/// # Panics
///
/// If the message is empty.
#[must_use]
pub fn split(addresses: &Addresses, message_length: u32) -> Split {
    assert!(message_length > 0, "a message has at least one byte");
    let headers = addresses.shortest_frame();
    let room = u32::try_from(addresses.longest_frame() - headers).expect("below the MTU");
    let packets = message_length.div_ceil(room);
    let last = message_length - (packets - 1) * room;
    Split {
        packets,
        full_frame: addresses.longest_frame(),
        last_frame: headers + usize::try_from(last).expect("below the MTU"),
    }
}

impl MessageSource {
    /// Prepares the source.
    ///
    /// # Panics
    ///
    /// If the message is empty or a frame of it exceeds the contract's burst.
    #[must_use]
    pub fn new(config: &MessageConfig) -> Self {
        Self {
            parts: VecDeque::from([MessageSeries::new(config)]),
            first_message: 0,
            next_message: 0,
            next_packet: 0,
            skipped_before: 0,
        }
    }

    /// Returns a source that sends as before, and by `config` once that is over: it has
    /// to end by the start of `config`.
    ///
    /// # Panics
    ///
    /// As [`MessageSource::new`].
    #[must_use]
    pub fn then(mut self, config: &MessageConfig) -> Self {
        self.parts.push_back(MessageSeries::new(config));
        self
    }

    /// Returns when the next packet is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.parts.iter().find_map(|part| part.pacing.next_due())
    }

    /// Puts the next packet into `frame`, if one is due.
    pub fn emit(&mut self, now: Instant, frame: &mut Vec<u8>) -> Option<Emitted> {
        self.leave_parts_that_are_over();
        let part = self.parts.front_mut()?;
        let turn = part.pacing.take(now)?;
        let slot = u32::try_from(turn.slot & u64::from(u32::MAX)).expect("masked to 32 bits");
        let message = self.first_message.wrapping_add(slot);
        self.next_message = message.wrapping_add(1);
        let sequence = self.next_packet;
        self.next_packet = sequence.wrapping_add(1);
        let datagram = match turn.part + 1 == part.packets {
            true => &part.last,
            false => &part.full,
        };
        let shim = MessageShim {
            message,
            size_bytes: part.message_length,
            sequence,
        };
        datagram.fill(shim, frame);
        Some(Emitted {
            length: frame.len(),
            sequence: u64::from(sequence),
            due: turn.due,
        })
    }

    /// Returns how many packets were left out.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        let parts = self.parts.iter().map(|part| part.pacing.skipped());
        self.skipped_before + parts.sum::<u64>()
    }

    fn leave_parts_that_are_over(&mut self) {
        while self.parts.len() > 1
            && let Some(over) = self
                .parts
                .pop_front_if(|part| part.pacing.next_due().is_none())
        {
            self.skipped_before += over.pacing.skipped();
            self.first_message = self.next_message;
        }
    }
}

impl MessageSeries {
    fn new(config: &MessageConfig) -> Self {
        let split = split(&config.addresses, config.message_length);
        let last_size = wire_size(split.last_frame);
        let group = FrameGroup {
            frames: split.packets,
            size: match split.packets {
                1 => last_size,
                _ => wire_size(split.full_frame),
            },
            last_size,
        };
        let schedule = Schedule::new(config.start, config.until, config.period, 1);
        Self {
            full: Datagram::new(&config.addresses, split.full_frame),
            last: Datagram::new(&config.addresses, split.last_frame),
            packets: split.packets,
            message_length: config.message_length,
            pacing: Pacing::new(Release::Scheduled(schedule), group, Some(config.contract)),
        }
    }
}
