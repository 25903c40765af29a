//! As much traffic as the network takes, governed by its losses like TCP.
//!
//! The sender keeps a window of frames under way: it grows by one for each
//! acknowledged frame at first (slow start), then by one in each round trip,
//! and is halved when a frame is lost (congestion avoidance, RFC 5681 section
//! 3.1). Nobody wants the data, so nothing is sent twice: this is the congestion
//! control of TCP without its reliability, CCID 2 of RFC 4341. A frame is lost
//! if one sent three frames later has been acknowledged (RFC 4341 section 5), and
//! everything is lost if nothing is acknowledged for the retransmission timeout
//! of RFC 6298.
//!
//! # Differs from the standards
//!
//! The receiver acknowledges every sixteenth frame, with a map of the last 64,
//! and so the window is never smaller than 32 frames. The
//! retransmission timeout is at least 20 ms and not a second: the networks here
//! have round trips of at most a few milliseconds, and a flood that pauses for a
//! second after each failure floods nothing.

mod acknowledgement;
mod window;

pub use acknowledgement::{Acknowledger, FRAMES_PER_ANSWER, LONGEST_ANSWER};

use units::Instant;
use wire::ethernet::wire_size;

use super::Emitted;
use super::datagram::{Addresses, Datagram};
use crate::Contract;
use crate::token_bucket::{Conformance, PacingBucket};
use acknowledgement::Acknowledgement;
use window::CongestionWindow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BestEffortConfig {
    pub addresses: Addresses,
    /// The length of each frame, without check sequence.
    pub frame_length: usize,
    /// What its host lets it send, if it limits it at all.
    pub limit: Option<Contract>,
    /// When the first frame is due.
    pub start: Instant,
    /// From when on none is due.
    pub until: Option<Instant>,
}

/// Sends as much as the network takes.
#[derive(Debug)]
pub struct Flood {
    datagram: Datagram,
    answers: Addresses,
    limit: Option<PacingBucket>,
    start: Instant,
    until: Option<Instant>,
    window: CongestionWindow,
    next: u32,
}

impl Flood {
    /// Prepares the source.
    ///
    /// # Panics
    ///
    /// If the frame length cannot hold the headers, exceeds the MTU or the
    /// limit's burst.
    #[must_use]
    pub fn new(config: &BestEffortConfig) -> Self {
        let size = wire_size(config.frame_length);
        if let Some(limit) = config.limit {
            assert!(size <= limit.burst, "a frame fits into its burst");
        }
        Self {
            datagram: Datagram::new(&config.addresses, config.frame_length),
            answers: config.addresses.reversed(),
            limit: config.limit.map(PacingBucket::new),
            start: config.start,
            until: config.until,
            window: CongestionWindow::new(config.start),
            next: 0,
        }
    }

    /// Returns when the next frame is due, or when the window gives up on those
    /// under way.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        let due = match self.window.opened_at() {
            Some(opened) => opened.max(self.start).max(self.tokens_at()?),
            None => self.window.timeout_at()?,
        };
        self.until.is_none_or(|until| due < until).then_some(due)
    }

    /// Puts the next frame into `frame`, if the window has room at `now`.
    pub fn emit(&mut self, now: Instant, frame: &mut Vec<u8>) -> Option<Emitted> {
        self.window.expire(now);
        let opened = self.window.opened_at()?;
        let due = opened.max(self.start).max(self.tokens_at()?);
        if now < due || self.until.is_some_and(|until| now >= until) {
            return None;
        }
        if let Some(limit) = &mut self.limit {
            match limit.take(now, wire_size(self.datagram.length())) {
                Conformance::Within => {}
                Conformance::Beyond => return None,
            }
        }
        let sequence = self.next;
        self.next = sequence.wrapping_add(1);
        self.window.sent(sequence, now);
        self.datagram
            .fill(self.datagram.message_of_one(sequence), frame);
        Some(Emitted {
            length: frame.len(),
            sequence: u64::from(sequence),
            due,
        })
    }

    /// Takes a frame that arrived at the sending host.
    pub fn received(&mut self, now: Instant, frame: &[u8]) {
        if let Some(acknowledgement) = Acknowledgement::find(frame, &self.answers) {
            self.window.acknowledged(now, acknowledgement);
        }
    }

    /// Returns how many frames may be under way at the moment.
    #[must_use]
    pub fn window(&self) -> usize {
        self.window.size()
    }

    fn tokens_at(&self) -> Option<Instant> {
        match &self.limit {
            Some(limit) => limit.ready_at(wire_size(self.datagram.length())),
            None => Some(Instant::ZERO),
        }
    }
}
