//! As much as a window allows: a connection of TCP whose receiver takes so many bytes
//! at once.
//!
//! So many bytes may be under way without an acknowledgement, so that the throughput
//! is at most a window a round trip (S3-3, S3-5). Below that the sender is governed by
//! losses: it begins with a few frames and doubles them each round trip, then adds one
//! each round trip, and halves them when a frame is lost (RFC 5681 sections 3.1 and
//! 3.2). A frame is lost if three sent later were acknowledged, and all are if nothing
//! is acknowledged for long.
//!
//! # Differs from the standard
//!
//! Every frame is acknowledged by itself, nothing is sent twice, for nobody wants the
//! data, and the time without an acknowledgement after which all is lost is fixed.

use std::collections::VecDeque;

use units::Duration;
use wire::ethernet::SHORTEST_FRAME;

use super::FrameSummary;
use crate::traffic::Addresses;
use crate::traffic::datagram::Datagram;
use crate::trial::{Outgoing, Sender};

/// The window at first, RFC 5681 section 3.1: four segments at most.
const INITIAL_WINDOW: u64 = 4;
/// A frame is lost if so many sent later were acknowledged, RFC 5681 section 3.2.
const DUPLICATES: u32 = 3;
/// After so long without an acknowledgement all is lost.
const TIMEOUT: Duration = Duration::from_ms(200);
/// The most frames under way.
const MOST_UNDER_WAY: u64 = 4_096;
/// Acknowledgements that wait to be sent.
const MOST_ACKNOWLEDGEMENTS: usize = 8_192;

#[derive(Debug)]
pub struct Windowed {
    datagram: Datagram,
    answers: Addresses,
    until: Duration,
    /// How many frames the receiver takes at once.
    largest: u64,
    window: u64,
    threshold: u64,
    /// Acknowledged frames towards the next step of congestion avoidance.
    credit: u64,
    under_way: VecDeque<u32>,
    next: u32,
    /// Losses of frames before this one belong to a halving that was done.
    recovered_by: u32,
    /// Since when there is room, or silence.
    news: Duration,
}

impl Windowed {
    /// Returns a sender of frames of `frame_length` bytes, without check sequence, that
    /// has at most `window` bytes of payload under way, and ends at `until`.
    ///
    /// # Panics
    ///
    /// If a frame does not hold its headers, or exceeds the MTU.
    #[must_use]
    pub fn new(addresses: &Addresses, frame_length: usize, window: u64, until: Duration) -> Self {
        let datagram = Datagram::new(addresses, frame_length);
        let payload = frame_length - datagram.payload_at();
        let largest = window / u64::try_from(payload.max(1)).unwrap_or(u64::MAX);
        let largest = largest.clamp(1, MOST_UNDER_WAY);
        Self {
            datagram,
            answers: addresses.reversed(),
            until,
            largest,
            window: INITIAL_WINDOW.min(largest),
            threshold: largest,
            credit: 0,
            under_way: VecDeque::new(),
            next: 0,
            recovered_by: 0,
            news: Duration::ZERO,
        }
    }

    fn has_room(&self) -> bool {
        (self.under_way.len() as u64) < self.window
    }

    fn grow(&mut self) {
        if self.window < self.threshold {
            self.window += 1;
        } else {
            self.credit += 1;
            if self.credit >= self.window {
                self.credit = 0;
                self.window += 1;
            }
        }
        self.window = self.window.min(self.largest);
    }

    /// Takes the frames off that were overtaken by `acknowledged`, and halves the
    /// window if they were not part of an earlier loss.
    fn drop_lost(&mut self, acknowledged: u32) {
        while let Some(oldest) = self.under_way.front().copied() {
            let behind = acknowledged.wrapping_sub(oldest);
            if !(DUPLICATES..=u32::MAX / 2).contains(&behind) {
                return;
            }
            self.under_way.pop_front();
            if oldest.wrapping_sub(self.recovered_by) <= u32::MAX / 2 {
                self.halve();
                self.recovered_by = self.next;
            }
        }
    }

    fn halve(&mut self) {
        self.threshold = (self.window / 2).max(1);
        self.window = self.threshold;
        self.credit = 0;
    }
}

impl Sender for Windowed {
    fn next_due(&self) -> Option<Duration> {
        let due = match self.has_room() {
            true => self.news,
            false => self.news + TIMEOUT,
        };
        (due < self.until).then_some(due)
    }

    fn emit(&mut self, after: Duration, frame: &mut Vec<u8>) -> Option<Outgoing> {
        if after >= self.until {
            // It was due before, and came to its turn too late: nothing is due any more.
            self.until = Duration::ZERO;
            return None;
        }
        if !self.has_room() && after >= self.news + TIMEOUT {
            self.under_way.clear();
            self.halve();
            self.window = 1;
            self.news = after;
            self.recovered_by = self.next;
        }
        if !self.has_room() || after < self.news {
            return None;
        }
        let sequence = self.next;
        self.next = sequence.wrapping_add(1);
        self.under_way.push_back(sequence);
        self.datagram
            .fill(self.datagram.message_of_one(sequence), frame);
        let due = self.news;
        if !self.has_room() {
            self.news = after;
        }
        Some(Outgoing { due })
    }

    fn received(&mut self, after: Duration, frame: &[u8]) {
        let Some(shim) =
            FrameSummary::of(frame).and_then(|glimpse| glimpse.shim_between(&self.answers))
        else {
            return;
        };
        let acknowledged = shim.message;
        let Ok(place) = self.under_way.binary_search_by(|sequence| {
            let ahead = acknowledged.wrapping_sub(*sequence);
            match ahead {
                0 => std::cmp::Ordering::Equal,
                1..=0x7fff_ffff => std::cmp::Ordering::Less,
                _ => std::cmp::Ordering::Greater,
            }
        }) else {
            return;
        };
        self.under_way.remove(place);
        self.news = after;
        self.grow();
        self.drop_lost(acknowledged);
    }

    fn listens(&self) -> bool {
        true
    }
}

/// Acknowledges every frame of a [`Windowed`] sender.
#[derive(Debug)]
pub struct Acknowledging {
    flow: Addresses,
    datagram: Datagram,
    waiting: VecDeque<(Duration, u32)>,
    next: u32,
}

impl Acknowledging {
    /// Returns the receiver of what is sent with `addresses`.
    #[must_use]
    pub fn new(addresses: &Addresses) -> Self {
        let answers = addresses.reversed();
        Self {
            flow: *addresses,
            datagram: Datagram::new(&answers, answers.shortest_frame().max(SHORTEST_FRAME)),
            waiting: VecDeque::new(),
            next: 0,
        }
    }
}

impl Sender for Acknowledging {
    fn next_due(&self) -> Option<Duration> {
        self.waiting.front().map(|(due, _)| *due)
    }

    fn emit(&mut self, after: Duration, frame: &mut Vec<u8>) -> Option<Outgoing> {
        let (due, acknowledged) = *self.waiting.front().filter(|(due, _)| *due <= after)?;
        self.waiting.pop_front();
        let mut shim = self.datagram.message_of_one(self.next);
        shim.message = acknowledged;
        self.next = self.next.wrapping_add(1);
        self.datagram.fill(shim, frame);
        Some(Outgoing { due })
    }

    fn received(&mut self, after: Duration, frame: &[u8]) {
        let shim = FrameSummary::of(frame).and_then(|glimpse| glimpse.shim_between(&self.flow));
        if let Some(shim) = shim
            && self.waiting.len() < MOST_ACKNOWLEDGEMENTS
        {
            self.waiting.push_back((after, shim.sequence));
        }
    }

    fn listens(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::method::tests::known_device::addresses;

    #[test]
    fn whoever_comes_to_its_turn_after_the_end_is_not_due_again() {
        let end = Duration::from_ms(50);
        let mut sender = Windowed::new(&addresses(), 1_054, 10_000, end);
        assert!(sender.next_due().unwrap() < end);

        let late = sender.emit(end + Duration::from_us(5), &mut Vec::new());

        assert_eq!(late, None);
        assert_eq!(sender.next_due(), None);
    }

    #[test]
    fn both_ends_of_a_window_have_arrivals_looked_for_without_pause() {
        let sender = Windowed::new(&addresses(), 1_054, 10_000, Duration::from_ms(50));

        assert!(sender.listens() && Acknowledging::new(&addresses()).listens());
    }

    proptest! {
        /// Whatever is acknowledged, in whatever order: never more under way than the
        /// window, and the sender goes on.
        #[test]
        fn no_acknowledgement_makes_it_exceed_its_window(
            window in 1u64..200_000, forged in prop::collection::vec((0u32..600, 0u64..50), 1..200),
        ) {
            let end = Duration::from_secs(1_000);
            let mut sender = Windowed::new(&addresses(), 1_054, window, end);
            let mut receiver = Acknowledging::new(&addresses());
            let (mut now, mut frame) = (Duration::ZERO, Vec::new());
            for (forged, ms) in forged {
                now += Duration::from_ms(ms);
                while sender.emit(now, &mut frame).is_some() {}
                prop_assert!(sender.under_way.len() as u64 <= (window / 1_000).max(1));
                let shim = receiver.datagram.message_of_one(0);
                let shim = wire::message_shim::MessageShim { message: forged, ..shim };
                receiver.datagram.fill(shim, &mut frame);
                sender.received(now, &frame);
            }

            let due = sender.next_due().unwrap();
            prop_assert!(sender.emit(now.max(due), &mut frame).is_some());
            receiver.received(now, &frame);
            prop_assert!(receiver.emit(now, &mut frame).is_some());
        }
    }
}
