//! Datagrams of one size within a token bucket (S4-8).
//!
//! Each datagram is a message of its own, numbered from 0.

use units::{Duration, Instant};
use wire::ethernet::wire_size;

use super::Emitted;
use super::datagram::{Addresses, Datagram};
use super::pacing::{FrameGroup, Pacing, Release, Schedule};
use crate::Contract;

/// How datagrams follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A number of datagrams at once, again and again; with one datagram the
    /// flow is periodic.
    Bursts {
        /// The time between two bursts.
        period: Duration,
        /// How many datagrams a burst has, at least one.
        frames: u32,
    },
    /// As many as the contract allows: first its burst, then its rate.
    Greedy,
}

/// What a source of datagrams sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramConfig {
    pub addresses: Addresses,
    /// The length of each frame, without check sequence.
    pub frame_length: usize,
    /// What the sender agreed to.
    pub contract: Contract,
    /// How they follow each other.
    pub pattern: Pattern,
    /// When the first one is due.
    pub start: Instant,
    /// From when on none is due.
    pub until: Option<Instant>,
}

#[derive(Debug)]
pub struct Udp {
    datagram: Datagram,
    pacing: Pacing,
    next: u32,
}

impl Udp {
    /// Prepares the source.
    ///
    /// # Panics
    ///
    /// If the frame length cannot hold the headers, exceeds the MTU or the
    /// contract's burst.
    #[must_use]
    pub fn new(config: &DatagramConfig) -> Self {
        let datagram = Datagram::new(&config.addresses, config.frame_length);
        let single = FrameGroup::single(wire_size(config.frame_length));
        let (start, until) = (config.start, config.until);
        let (release, group) = match config.pattern {
            Pattern::Bursts { period, frames } => (
                Release::Scheduled(Schedule::new(start, until, period, 1)),
                FrameGroup { frames, ..single },
            ),
            Pattern::Greedy => (Release::Immediate { start, until }, single),
        };
        Self {
            pacing: Pacing::new(release, group, Some(config.contract)),
            datagram,
            next: 0,
        }
    }

    /// Returns when the next datagram is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.pacing.next_due()
    }

    /// Puts the next datagram into `frame`, if one is due.
    pub fn emit(&mut self, now: Instant, frame: &mut Vec<u8>) -> Option<Emitted> {
        let turn = self.pacing.take(now)?;
        let sequence = self.next;
        self.next = sequence.wrapping_add(1);
        self.datagram
            .fill(self.datagram.message_of_one(sequence), frame);
        Some(Emitted {
            length: frame.len(),
            sequence: u64::from(sequence),
            due: turn.due,
        })
    }

    /// Returns how many datagrams were left out.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.pacing.skipped()
    }
}
