//! What a sensor or a network was recorded to send: frames at their times (S0-5).
//!
//! The times and the sizes count: frames are datagrams of the recorded sizes, numbered
//! from 0, at their intended times. What comes too late for its time is sent late and
//! never left out, for the recording would be another one without it.
//!
//! # Left out
//!
//! What the frames said: datagrams hold zeros behind their message header.

use std::collections::BTreeMap;

use thiserror::Error;
use units::{Duration, Instant};
use wire::ethernet::wire_size;

use super::Emitted;
use super::datagram::{Addresses, Datagram};
use crate::Contract;
use crate::token_bucket::{Conformance, PacingBucket};

/// The most frames of a trace.
pub const MOST_FRAMES: usize = 1_000_000;

/// Frames that were recorded, the first at time 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    frames: Vec<Recorded>,
}

/// A frame of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// When it was sent, counted from the first one.
    pub after: Duration,
    pub length: usize,
}

/// Why frames are no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TraceError {
    #[error("there are no frames")]
    Empty,
    /// There are more than are sent.
    #[error("more than {MOST_FRAMES} frames")]
    TooLong,
}

impl Trace {
    /// Takes frames that were recorded in any order, at times of any origin: the first
    /// one is sent at time 0.
    ///
    /// # Errors
    ///
    /// If there are none, or more than [`MOST_FRAMES`].
    pub fn of(mut frames: Vec<Recorded>) -> Result<Self, TraceError> {
        if frames.len() > MOST_FRAMES {
            return Err(TraceError::TooLong);
        }
        frames.sort_by_key(|frame| frame.after);
        let Some(first) = frames.first().map(|frame| frame.after) else {
            return Err(TraceError::Empty);
        };
        for frame in &mut frames {
            frame.after = frame.after.saturating_sub(first);
        }
        Ok(Self { frames })
    }

    /// Returns its frames in order.
    #[must_use]
    pub fn frames(&self) -> &[Recorded] {
        &self.frames
    }

    /// Returns the time from the first frame to the last.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.frames.last().map_or(Duration::ZERO, |it| it.after)
    }
}

/// What a source of a trace sends.
#[derive(Clone, Debug)]
pub struct TraceConfig {
    pub addresses: Addresses,
    /// The frames. Shorter ones than the headers need, and longer ones than a frame
    /// may be, are sent as short and as long as they can be.
    pub trace: Trace,
    /// What the sender agreed to.
    pub contract: Option<Contract>,
    /// When the first one is due.
    pub start: Instant,
    /// From when on none is due.
    pub until: Option<Instant>,
    /// How long after its beginning the trace begins again, if it is repeated; at least
    /// as long as the trace is.
    pub again: Option<Duration>,
}

/// Sends the frames of a trace.
#[derive(Debug)]
pub struct Replay {
    frames: Vec<Recorded>,
    /// A frame of each length.
    datagrams: BTreeMap<usize, Datagram>,
    bucket: Option<PacingBucket>,
    /// When the first frame was due, in this repetition.
    start: Instant,
    until: Option<Instant>,
    again: Option<Duration>,
    /// The place of the next frame, and its number.
    place: usize,
    next: u32,
}

impl Replay {
    /// Prepares the source.
    ///
    /// # Panics
    ///
    /// If a frame exceeds the contract's burst.
    #[must_use]
    pub fn new(config: &TraceConfig) -> Self {
        let addresses = &config.addresses;
        let lengths = addresses.shortest_frame()..=addresses.longest_frame();
        let fitted = config.trace.frames.iter().map(|frame| Recorded {
            length: frame.length.clamp(*lengths.start(), *lengths.end()),
            ..*frame
        });
        let frames: Vec<_> = fitted.collect();
        let mut datagrams = BTreeMap::new();
        for frame in &frames {
            datagrams
                .entry(frame.length)
                .or_insert_with(|| Datagram::new(addresses, frame.length));
        }
        if let (Some(contract), Some((longest, _))) = (config.contract, datagrams.last_key_value())
        {
            assert!(
                wire_size(*longest) <= contract.burst,
                "a frame fits into its burst"
            );
        }
        Self {
            frames,
            datagrams,
            bucket: config.contract.map(PacingBucket::new),
            start: config.start,
            until: config.until,
            again: config.again.map(|again| again.max(config.trace.length())),
            place: 0,
            next: 0,
        }
    }

    /// Returns when the next frame is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        let frame = self.coming()?;
        let ready = match &self.bucket {
            Some(bucket) => bucket.ready_at(wire_size(frame.length))?,
            None => Instant::ZERO,
        };
        let due = (self.start + frame.after).max(ready);
        self.until.is_none_or(|until| due < until).then_some(due)
    }

    /// Puts the next frame into `out`, if one is due. None is left out: what is late
    /// follows as fast as the contract allows.
    pub fn emit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<Emitted> {
        if self.next_due()? > now {
            return None;
        }
        let frame = self.coming()?;
        if let Some(bucket) = &mut self.bucket {
            match bucket.take(now, wire_size(frame.length)) {
                Conformance::Within => {}
                Conformance::Beyond => return None,
            }
        }
        let sequence = self.next;
        self.next = sequence.wrapping_add(1);
        let datagram = self.datagrams.get(&frame.length)?;
        datagram.fill(datagram.message_of_one(sequence), out);
        let due = self.start + frame.after;
        self.advance();
        Some(Emitted {
            length: out.len(),
            sequence: u64::from(sequence),
            due,
        })
    }

    fn advance(&mut self) {
        self.place += 1;
        if let Some(again) = self.again.filter(|_| self.place == self.frames.len()) {
            self.place = 0;
            self.start += again;
        }
    }

    fn coming(&self) -> Option<Recorded> {
        self.frames.get(self.place).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use wire::ethernet::MacAddress;

    use super::*;

    #[test]
    fn frames_are_sent_at_their_recorded_times_in_their_recorded_sizes() {
        let recorded = [
            (5_000_038_000, 100),
            (5_000_000_000, 1_442),
            (5_100_000_000, 2),
        ];
        let mut source = Replay::new(&config(&recorded));
        let mut frame = Vec::new();

        let mut sent = Vec::new();
        while let Some(due) = source.next_due() {
            let emitted = source.emit(due, &mut frame).unwrap();
            assert_eq!(frame.len(), emitted.length);
            sent.push((due.as_ns(), emitted.length, emitted.sequence));
        }

        let least = addresses().shortest_frame();
        let expected = [(1_000, 1_442, 0), (39_000, 100, 1), (100_001_000, least, 2)];
        assert_eq!(sent, expected);
    }

    #[test]
    fn a_late_call_sends_all_that_it_missed_with_the_times_that_were_meant() {
        let mut source = Replay::new(&config(&[(0, 60), (1_000, 60), (9_000, 60)]));
        let late = Instant::from_ns(5_000);

        let sent: Vec<_> = std::iter::from_fn(|| source.emit(late, &mut Vec::new()))
            .map(|emitted| emitted.due.as_ns())
            .collect();

        assert_eq!(sent, [1_000, 2_000]);
        assert_eq!(source.next_due(), Some(Instant::from_ns(10_000)));
    }

    #[test]
    fn a_repeated_trace_begins_again_and_goes_on_with_its_numbers() {
        let again = Some(Duration::from_ns(20_000));
        let config = TraceConfig {
            again,
            until: Some(Instant::from_ns(25_000)),
            ..config(&[(0, 60), (5_000, 60)])
        };
        let mut source = Replay::new(&config);

        let mut sent = Vec::new();
        while let Some(due) = source.next_due() {
            sent.push((
                due.as_ns(),
                source.emit(due, &mut Vec::new()).unwrap().sequence,
            ));
        }

        assert_eq!(sent, [(1_000, 0), (6_000, 1), (21_000, 2)]);
    }

    #[test]
    fn a_contract_holds_back_what_comes_too_fast() {
        let size = wire_size(1_000);
        let rate = units::BitRate::from_mbps(1);
        let mut source = Replay::new(&TraceConfig {
            contract: Some(Contract { rate, burst: size }),
            start: Instant::ZERO,
            ..config(&[(0, 1_000), (0, 1_000)])
        });

        source.emit(Instant::ZERO, &mut Vec::new()).unwrap();

        let wait = rate.time_to_send(size).round_up();
        assert_eq!(source.next_due(), Some(Instant::ZERO + wait));
        assert_eq!(source.emit(Instant::ZERO, &mut Vec::new()), None);
    }

    #[test]
    fn too_few_and_too_many_frames_are_no_trace() {
        assert_eq!(Trace::of(Vec::new()), Err(TraceError::Empty));
        let frame = Recorded {
            after: Duration::ZERO,
            length: 60,
        };
        let many = vec![frame; MOST_FRAMES + 1];
        assert_eq!(Trace::of(many), Err(TraceError::TooLong));
    }

    fn config(frames: &[(u64, usize)]) -> TraceConfig {
        let frames = frames.iter().map(|(after, length)| Recorded {
            after: Duration::from_ns(*after),
            length: *length,
        });
        TraceConfig {
            addresses: addresses(),
            trace: Trace::of(frames.collect()).unwrap(),
            contract: None,
            start: Instant::from_ns(1_000),
            until: None,
            again: None,
        }
    }

    fn addresses() -> Addresses {
        Addresses {
            source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
            destination_mac: MacAddress([2, 0, 0, 0, 0, 2]),
            vlan: None,
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 0, 2),
            source_port: 40_000,
            destination_port: 7,
            dscp: 0,
        }
    }
}
