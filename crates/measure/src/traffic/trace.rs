//! What a sensor really sent: the frames of a recorded trace, at their times (S0-5).
//!
//! A trace is a table without a heading: the time in seconds, the size of the frame
//! in bits, and whatever else. The times alone count: gaps, where a trace has them,
//! come in units of its own. Frames are datagrams of the recorded sizes, numbered
//! from 0.
//!
//! # Left out
//!
//! What the sensor said: datagrams hold zeros behind their message header.

use std::collections::BTreeMap;

use thiserror::Error;
use units::{Duration, Instant};
use wire::ethernet::wire_size;

use super::Emitted;
use super::datagram::{Addresses, Datagram};
use crate::Contract;
use crate::token_bucket::{Conformance, TokenBucket};

/// The most frames of a trace.
pub const MOST_FRAMES: usize = 1_000_000;
const BITS_PER_BYTE: usize = 8;
const NS_DIGITS: usize = 9;

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
    /// Its length in bytes.
    pub length: usize,
}

/// Why a text is no trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A line cannot be read.
    #[error("line {line} is no time in seconds and size in bits: `{text}`")]
    Line {
        /// Which one, from 1.
        line: usize,
        /// Its beginning.
        text: String,
    },
    /// Time runs backwards.
    #[error("line {line} is earlier than the one before it")]
    Order {
        /// Which one, from 1.
        line: usize,
    },
    /// It has no frames.
    #[error("there are no frames")]
    Empty,
    /// It has more frames than are read.
    #[error("more than {MOST_FRAMES} frames")]
    TooLong,
}

impl Trace {
    /// Reads a trace.
    ///
    /// # Errors
    ///
    /// If a line makes no sense, or there are none.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut frames: Vec<Recorded> = Vec::new();
        let mut first = None;
        for (line, text) in (1..).zip(text.lines()) {
            if text.trim().is_empty() {
                continue;
            }
            let unreadable = || TraceError::Line {
                line,
                text: text.chars().take(40).collect(),
            };
            let (at, length) = frame(text).ok_or_else(unreadable)?;
            let after = at.checked_sub(*first.get_or_insert(at));
            let after = Duration::from_ns(after.ok_or(TraceError::Order { line })?);
            if frames.last().is_some_and(|before| before.after > after) {
                return Err(TraceError::Order { line });
            }
            if frames.len() == MOST_FRAMES {
                return Err(TraceError::TooLong);
            }
            frames.push(Recorded { after, length });
        }
        match frames.is_empty() {
            true => Err(TraceError::Empty),
            false => Ok(Self { frames }),
        }
    }

    /// Returns its frames in order.
    #[must_use]
    pub fn frames(&self) -> &[Recorded] {
        &self.frames
    }
}

/// Reads the time in nanoseconds and the length in bytes.
fn frame(line: &str) -> Option<(u64, usize)> {
    let mut columns = line.split(',').map(str::trim);
    let (time, bits) = (columns.next()?, columns.next()?);
    let bits: usize = bits.parse().ok()?;
    Some((nanoseconds(time)?, bits.div_ceil(BITS_PER_BYTE)))
}

/// Reads seconds with up to nine digits behind the point; more are cut off.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(part) {
        return None;
    }
    let part = &part[..part.len().min(NS_DIGITS)];
    let digits = format!("{whole}{part:0<NS_DIGITS$}");
    digits.parse().ok()
}

/// What a source of a trace sends.
#[derive(Clone, Debug)]
pub struct Config {
    /// Between whom.
    pub addresses: Addresses,
    /// The frames. Shorter ones than the headers need, and longer ones than a frame
    /// may be, are sent as short and as long as they can be.
    pub trace: Trace,
    /// What the sender agreed to.
    pub contract: Option<Contract>,
    /// When the first one is due.
    pub start: Instant,
}

/// Sends the frames of a trace.
#[derive(Debug)]
pub struct Replay {
    frames: Vec<Recorded>,
    /// A frame of each length.
    datagrams: BTreeMap<usize, Datagram>,
    bucket: Option<TokenBucket>,
    start: Instant,
    next: u32,
}

impl Replay {
    /// Prepares the source.
    ///
    /// # Panics
    ///
    /// If a frame exceeds the contract's burst.
    #[must_use]
    pub fn new(config: &Config) -> Self {
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
            bucket: config.contract.map(TokenBucket::new),
            start: config.start,
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
        Some((self.start + frame.after).max(ready))
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
        self.next = sequence + 1;
        let datagram = self.datagrams.get(&frame.length)?;
        datagram.fill(datagram.message_of_one(sequence), out);
        Some(Emitted {
            length: out.len(),
            sequence: u64::from(sequence),
            due: self.start + frame.after,
        })
    }

    fn coming(&self) -> Option<Recorded> {
        let place = usize::try_from(self.next).ok()?;
        self.frames.get(place).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;
    use wire::ethernet::MacAddress;

    use super::*;

    #[test]
    fn frames_are_sent_at_their_recorded_times_in_their_recorded_sizes() {
        let trace = Trace::parse("5.000000,11536,1\n5.000038,800,0.9\n5.1,16,0\n").unwrap();
        let mut source = Replay::new(&Config {
            addresses: addresses(),
            trace,
            contract: None,
            start: Instant::from_ns(1_000),
        });
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
    fn a_contract_holds_back_what_comes_too_fast() {
        let trace = Trace::parse("0,8000\n0,8000\n").unwrap();
        let size = wire_size(1_000);
        let rate = units::BitRate::from_mbps(1);
        let mut source = Replay::new(&Config {
            addresses: addresses(),
            trace,
            contract: Some(Contract { rate, burst: size }),
            start: Instant::ZERO,
        });

        source.emit(Instant::ZERO, &mut Vec::new()).unwrap();

        let wait = rate.time_to_send(size).round_up();
        assert_eq!(source.next_due(), Some(Instant::ZERO + wait));
        assert_eq!(source.emit(Instant::ZERO, &mut Vec::new()), None);
    }

    #[test]
    fn what_is_no_trace_is_said_with_its_line() {
        let line = |text: &str| Trace::parse(text).unwrap_err().to_string();

        assert_eq!(
            line("0.1,80\ntime,size\n"),
            "line 2 is no time in seconds and size in bits: `time,size`"
        );
        assert_eq!(
            line("1,80\n0.5,80\n"),
            "line 2 is earlier than the one before it"
        );
        assert_eq!(line("\n"), "there are no frames");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[0-9.,\n-]{0,60}|.{0,60}") {
            let _ = Trace::parse(&text);
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
