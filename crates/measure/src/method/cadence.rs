//! Datagrams at exact times: what most methods send.
//!
//! The n-th group of frames is due at a time that follows from n alone, so that a
//! frame that leaves late delays none after it. What is later than the patience
//! allows is left out and counted; without a patience everything is sent, however
//! late.

use units::{BitRate, DataSize, Duration};

use crate::traffic::Addresses;
use crate::traffic::datagram::Datagram;
use crate::traffic::message;
use crate::trial::{Outgoing, Sender};
use wire::message_shim::MessageShim;

const NS_PER_SECOND: u128 = 1_000_000_000;

/// Points in time at equal distances, exact however many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendingPace {
    /// So many nanoseconds have …
    ns: u128,
    points: u128,
}

impl SendingPace {
    /// Returns a point every `interval`.
    ///
    /// # Panics
    ///
    /// If there is no time between them.
    #[must_use]
    pub fn every(interval: Duration) -> Self {
        assert!(interval > Duration::ZERO, "points of a pace advance");
        Self {
            ns: u128::from(interval.as_ns()),
            points: 1,
        }
    }

    /// Returns the points at which something of this size has to leave for this
    /// rate.
    ///
    /// # Panics
    ///
    /// If there is no size.
    #[must_use]
    pub fn at(rate: BitRate, size: DataSize) -> Self {
        assert!(size > DataSize::from_bits(0), "what is sent has a size");
        Self {
            ns: u128::from(size.as_bits()) * NS_PER_SECOND,
            points: u128::from(rate.as_bps()),
        }
    }

    /// Returns when the n-th point is, counted from 0, rounded down.
    #[must_use]
    pub fn point(&self, n: u64) -> Duration {
        let ns = u128::from(n) * self.ns / self.points;
        Duration::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// Returns how many points there are before `length` is over.
    #[must_use]
    pub fn frames_in(&self, length: Duration) -> u64 {
        let points = u128::from(length.as_ns()) * self.points;
        u64::try_from(points.div_ceil(self.ns)).unwrap_or(u64::MAX)
    }

    /// Returns the first point after `after`.
    fn next_after(&self, after: Duration) -> u64 {
        let points = (u128::from(after.as_ns()) + 1) * self.points;
        u64::try_from(points.div_ceil(self.ns)).unwrap_or(u64::MAX)
    }
}

/// Sends datagrams with message headers, numbered from 0.
#[derive(Debug)]
pub struct Cadence {
    full: Datagram,
    last: Datagram,
    /// How many frames each point has.
    group: u32,
    size_bytes: u32,
    pace: SendingPace,
    start: Duration,
    points: u64,
    patience: Option<Duration>,
    point: u64,
    part: u32,
    skipped: u64,
}

impl Cadence {
    /// Returns a sender of frames of `frame_length` bytes, without check sequence,
    /// without end.
    ///
    /// # Panics
    ///
    /// If a frame does not hold its headers, or exceeds the MTU.
    #[must_use]
    pub fn new(addresses: &Addresses, frame_length: usize, pace: SendingPace) -> Self {
        let datagram = Datagram::new(addresses, frame_length);
        Self {
            size_bytes: datagram.message_of_one(0).size_bytes,
            last: datagram.clone(),
            full: datagram,
            group: 1,
            pace,
            start: Duration::ZERO,
            points: u64::MAX,
            patience: None,
            point: 0,
            part: 0,
            skipped: 0,
        }
    }

    /// Returns a sender of messages of `message_length` bytes, each of which leaves
    /// at once, in as many frames as it needs.
    ///
    /// # Panics
    ///
    /// If a message is empty.
    #[must_use]
    pub fn of_messages(addresses: &Addresses, message_length: u32, pace: SendingPace) -> Self {
        let split = message::split(addresses, message_length);
        Self {
            full: Datagram::new(addresses, split.full_frame),
            group: split.packets,
            size_bytes: message_length,
            ..Self::new(
                addresses,
                split.last_frame.max(wire::ethernet::SHORTEST_FRAME),
                pace,
            )
        }
    }

    /// Ends after so many frames or messages.
    #[must_use]
    pub fn frames(self, points: u64) -> Self {
        Self { points, ..self }
    }

    #[must_use]
    pub fn starting(self, start: Duration) -> Self {
        Self { start, ..self }
    }

    /// Returns how many frames each point has.
    #[must_use]
    pub fn group(&self) -> u32 {
        self.group
    }

    /// Leaves out what is later than this.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self {
            patience: Some(patience),
            ..self
        }
    }

    fn due(&self) -> Option<Duration> {
        (self.point < self.points).then(|| self.start + self.pace.point(self.point))
    }

    /// Leaves out what is too late by now.
    fn give_up(&mut self, after: Duration) {
        let Some(patience) = self.patience else {
            return;
        };
        let late = after.saturating_sub(self.start);
        if self.part > 0 || self.pace.point(self.point) + patience >= late {
            return;
        }
        // The first point that is still within the patience.
        let earliest = late.saturating_sub(patience);
        let next = self
            .pace
            .next_after(earliest.saturating_sub(Duration::from_ns(1)))
            .min(self.points);
        self.skipped += next.saturating_sub(self.point) * u64::from(self.group);
        self.point = self.point.max(next);
    }
}

impl Sender for Cadence {
    fn next_due(&self) -> Option<Duration> {
        self.due()
    }

    fn emit(&mut self, after: Duration, frame: &mut Vec<u8>) -> Option<Outgoing> {
        self.give_up(after);
        let due = self.due().filter(|due| *due <= after)?;
        let is_last = self.part + 1 == self.group;
        let sequence = self.point * u64::from(self.group) + u64::from(self.part);
        let shim = MessageShim {
            message: low_half(self.point),
            size_bytes: self.size_bytes,
            sequence: low_half(sequence),
        };
        match is_last {
            true => {
                self.last.fill(shim, frame);
                self.point += 1;
                self.part = 0;
            }
            false => {
                self.full.fill(shim, frame);
                self.part += 1;
            }
        }
        Some(Outgoing { due })
    }

    fn listens(&self) -> bool {
        false
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }
}

fn low_half(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).expect("masked to 32 bits")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::method::tests::known_device::addresses;

    #[test]
    fn a_late_tester_leaves_out_what_is_too_late_and_keeps_the_times() {
        let pace = SendingPace::every(Duration::from_us(100));
        let mut cadence = Cadence::new(&addresses(), 60, pace)
            .frames(10)
            .patience(Duration::from_us(150));
        let mut frame = Vec::new();

        let dues: Vec<_> = std::iter::from_fn(|| {
            let outgoing = cadence.emit(Duration::from_us(500), &mut frame)?;
            Some(outgoing.due)
        })
        .collect();

        assert_eq!(dues, [Duration::from_us(400), Duration::from_us(500)]);
        assert_eq!(cadence.skipped(), 4);
        assert_eq!(cadence.next_due(), Some(Duration::from_us(600)));
    }

    #[test]
    fn a_message_leaves_at_once_in_many_frames() {
        let pace = SendingPace::every(Duration::from_ms(10));
        let mut cadence = Cadence::of_messages(&addresses(), 10_000, pace).frames(1);
        let mut frame = Vec::new();

        let mut lengths = Vec::new();
        while cadence.emit(Duration::ZERO, &mut frame).is_some() {
            lengths.push(frame.len());
        }

        assert_eq!(lengths.len(), 7);
        assert!(lengths[..6].iter().all(|length| *length == 1514));
        assert_eq!(cadence.next_due(), None);
    }

    proptest! {
        /// Points drift neither ahead nor behind, however many there are.
        #[test]
        fn a_rate_is_kept_exactly(mbps in 1u64..100_000, bytes in 84u64..1600, seconds in 1u64..100) {
            let (rate, size) = (BitRate::from_mbps(mbps), DataSize::from_bytes(bytes));
            let pace = SendingPace::at(rate, size);

            let frames = pace.frames_in(Duration::from_secs(seconds));

            let bits = u128::from(frames) * u128::from(size.as_bits());
            let wanted = u128::from(mbps) * 1_000_000 * u128::from(seconds);
            prop_assert!(bits >= wanted && bits < wanted + u128::from(size.as_bits()));
            prop_assert!(pace.point(frames - 1) < Duration::from_secs(seconds));
            prop_assert!(pace.point(frames) >= Duration::from_secs(seconds));
        }
    }
}
