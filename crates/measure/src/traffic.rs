//! What the hosts of a scenario send.
//!
//! A source is a core: it says when its next frame is due and makes it when
//! called. Frames are due at absolute times, computed from the start and never
//! from the last call, so a late call delays one frame and not all that follow;
//! the intended time is handed out with each frame, for a latency that counts
//! from the sending only would hide the waiting before it (coordinated
//! omission).
//!
//! A source keeps its contract whatever its caller does. Called late by more
//! than a period it leaves out what it missed and counts it (`skipped`), and
//! no frame leaves before its token bucket, fed by the actual times of the
//! calls, has the tokens.
//!
//! | module | sends | source |
//! |---|---|---|
//! | [`sampled_values`] | samples at a constant rate | IEC 61850-9-2LE |
//! | [`goose`] | state changes, repeated ever more slowly | IEC 61850-8-1 clause 18.1 |
//! | [`udp`] | datagrams, periodic, in bursts, or as fast as the contract allows | S4-8 |
//! | [`trace`] | what a sensor was recorded to send | S0-5 |
//! | [`message`] | periodic messages, split into packets | S2-1, S2-2 |
//! | [`mms`] | requests for a value and their answers over TCP | S0-5, RFC 1006 |
//! | [`best_effort`] | as much as the network takes, like TCP | RFC 4341, RFC 5681 |
//!
//! What should not be sent is, too: by a source in haste ([`hasty`]), and of no flow at all
//! ([`foreign`]).

pub mod best_effort;
pub mod datagram;
pub mod foreign;
pub mod goose;
pub mod hasty;
pub mod message;
pub mod mms;
mod pacing;
pub mod sampled_values;
pub mod trace;
pub mod udp;

use thiserror::Error;
use units::Instant;

pub use best_effort::{Acknowledger, Flood};
pub use datagram::Addresses;
pub use foreign::Foreign;
pub use goose::Goose;
pub use hasty::{Haste, Hasty};
pub use message::MessageSource;
pub use sampled_values::SampledValues;
pub use trace::Replay;
pub use udp::Udp;

#[derive(Debug)]
pub enum Source {
    /// Samples at a constant rate.
    SampledValues(SampledValues),
    /// State changes and their repetitions.
    Goose(Goose),
    /// Datagrams within a token bucket.
    Udp(Udp),
    /// Periodic messages of many packets.
    Message(MessageSource),
    /// The frames of a recorded trace.
    Trace(Replay),
    Mms(Box<mms::Client>),
    /// As much as the network takes.
    BestEffort(Flood),
    /// One of the others whose clock runs fast for a while.
    Hasty(Box<Hasty>),
    /// Frames of no flow.
    Foreign(Foreign),
}

/// What answers to frames at a host that receives.
#[derive(Debug)]
pub struct Answering {
    pub who: Answerer,
    /// The queue of the host's interface for the answers; 7 is served first.
    pub queue: u8,
}

#[derive(Debug)]
pub enum Answerer {
    /// The receiver of a flood.
    Acknowledger(Acknowledger),
    /// A station whose values are read.
    Mms(mms::Server),
}

impl Answerer {
    /// Takes a frame that arrived, and puts the answer into `answer` if there is one.
    /// Returns the length of the answer.
    pub fn received(&mut self, frame: &[u8], answer: &mut Vec<u8>) -> Option<usize> {
        match self {
            Self::Acknowledger(acknowledger) => acknowledger.received(frame, answer),
            Self::Mms(server) => server.received(frame, answer),
        }
    }
}

/// A frame cannot be as short as wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a frame of {length} bytes was wanted, and the shortest has {least}")]
pub struct FrameTooShort {
    /// The length that was wanted, without check sequence.
    pub length: usize,
    pub least: usize,
}

/// A frame that a source made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// Its length in bytes, without the check sequence.
    pub length: usize,
    /// Its sequence number in its flow, as [`crate::identity`] finds it.
    pub sequence: u64,
    /// When it should have been sent.
    pub due: Instant,
}

impl Source {
    /// Returns when to call [`emit`](Self::emit) next, or nothing if the source
    /// has ended. A time in the past means now.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        match self {
            Self::SampledValues(source) => source.next_due(),
            Self::Goose(source) => source.next_due(),
            Self::Udp(source) => source.next_due(),
            Self::Message(source) => source.next_due(),
            Self::Trace(source) => source.next_due(),
            Self::Mms(source) => source.next_due(),
            Self::BestEffort(source) => source.next_due(),
            Self::Hasty(source) => source.next_due(),
            Self::Foreign(source) => source.next_due(),
        }
    }

    /// Puts the next frame into `frame`, replacing what is there, if one is due
    /// at `now`. Nothing is allocated once `frame` has the capacity.
    pub fn emit(&mut self, now: Instant, frame: &mut Vec<u8>) -> Option<Emitted> {
        match self {
            Self::SampledValues(source) => source.emit(now, frame),
            Self::Goose(source) => source.emit(now, frame),
            Self::Udp(source) => source.emit(now, frame),
            Self::Message(source) => source.emit(now, frame),
            Self::Trace(source) => source.emit(now, frame),
            Self::Mms(source) => source.emit(now, frame),
            Self::BestEffort(source) => source.emit(now, frame),
            Self::Hasty(source) => source.emit(now, frame),
            Self::Foreign(source) => source.emit(now, frame),
        }
    }

    /// Tells whether it goes on by what arrives at the sending host.
    #[must_use]
    pub fn listens(&self) -> bool {
        match self {
            Self::BestEffort(_) | Self::Mms(_) => true,
            Self::Hasty(hasty) => hasty.source.listens(),
            Self::SampledValues(_)
            | Self::Goose(_)
            | Self::Udp(_)
            | Self::Message(_)
            | Self::Foreign(_)
            | Self::Trace(_) => false,
        }
    }

    /// Takes a frame that arrived at the sending host. Only a source that waits
    /// for acknowledgements cares.
    pub fn received(&mut self, now: Instant, frame: &[u8]) {
        match self {
            Self::BestEffort(source) => source.received(now, frame),
            Self::Mms(source) => source.received(now, frame),
            Self::Hasty(source) => source.received(now, frame),
            Self::SampledValues(_)
            | Self::Goose(_)
            | Self::Udp(_)
            | Self::Message(_)
            | Self::Foreign(_)
            | Self::Trace(_) => {}
        }
    }

    /// Returns how many frames were left out because the source was called too
    /// late.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        match self {
            Self::SampledValues(source) => source.skipped(),
            Self::Goose(source) => source.skipped(),
            Self::Udp(source) => source.skipped(),
            Self::Message(source) => source.skipped(),
            Self::Mms(source) => source.skipped(),
            Self::Hasty(hasty) => hasty.source.skipped(),
            Self::Trace(_) | Self::BestEffort(_) | Self::Foreign(_) => 0,
        }
    }
}

/// Returns a name and all its beginnings, the longest first.
fn beginnings(name: &str) -> impl Iterator<Item = &str> {
    let ends = (0..=name.len()).rev();
    ends.filter_map(|end| name.get(..end))
}

#[cfg(test)]
mod tests;
