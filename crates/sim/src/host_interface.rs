//! The interface of a host: eight queues in strict priority on a paced link.
//!
//! A frame that is being sent is never interrupted. It is what `lab` builds of
//! the kernel's `htb`, so that both worlds pace a host in the same way.

use std::collections::VecDeque;

use units::{BitRate, Duration, Instant};
use wire::ethernet::wire_size;

use crate::frames::{FrameId, Frames};

/// Queues of an interface; the last is served first.
pub const QUEUES: usize = 8;
/// Frames that wait in one queue at most, as in the kernel's default.
pub const QUEUE_LIMIT: usize = 1000;

/// A frame whose first bit leaves now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    pub frame: FrameId,
    /// When its last bit has left.
    pub departs: Instant,
}

/// The sending side of a host's interface.
#[derive(Debug)]
pub struct HostInterface {
    /// What its link says.
    pub nominal: BitRate,
    /// At which it sends.
    pub rate: BitRate,
    queues: [VecDeque<FrameId>; QUEUES],
    busy_until: Instant,
    dropped: u64,
}

impl HostInterface {
    /// Returns an idle interface on a link of `rate`.
    #[must_use]
    pub fn new(rate: BitRate) -> Self {
        Self {
            nominal: rate,
            rate,
            queues: std::array::from_fn(|_| VecDeque::new()),
            busy_until: Instant::ZERO,
            dropped: 0,
        }
    }

    /// Queues a frame. Returns it if its queue is full.
    pub fn enqueue(&mut self, queue: u8, frame: FrameId) -> Result<(), FrameId> {
        let queue = &mut self.queues[usize::from(queue).min(QUEUES - 1)];
        if queue.len() >= QUEUE_LIMIT {
            self.dropped += 1;
            return Err(frame);
        }
        queue.push_back(frame);
        Ok(())
    }

    /// Begins to send the most urgent frame, if the link is free and one waits.
    pub fn send(&mut self, now: Instant, frames: &Frames) -> Option<Sending> {
        if now < self.busy_until {
            return None;
        }
        let frame = self.queues.iter_mut().rev().find_map(VecDeque::pop_front)?;
        self.busy_until = now + self.time_on_the_wire(frames.bytes(frame).len());
        Some(Sending {
            frame,
            departs: self.busy_until,
        })
    }

    /// Returns when the link is free, if a frame waits for that.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.queues
            .iter()
            .any(|queue| !queue.is_empty())
            .then_some(self.busy_until)
    }

    /// Returns how many frames were dropped because their queue was full.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn time_on_the_wire(&self, length: usize) -> Duration {
        self.rate.time_to_send(wire_size(length)).round_up()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_urgent_frame_goes_first_and_is_not_interrupted() {
        let mut frames = Frames::default();
        let mut interface = HostInterface::new(BitRate::from_mbps(100));
        let [bulk, urgent] = [&[0; 1514][..], &[0; 60]].map(|bytes| frames.keep(bytes).unwrap());

        interface.enqueue(0, bulk).unwrap();
        let first = interface.send(Instant::ZERO, &frames).unwrap();
        interface.enqueue(0, bulk).unwrap();
        interface.enqueue(6, urgent).unwrap();
        let during = interface.send(Instant::from_ns(1_000), &frames);
        let second = interface.send(first.departs, &frames).unwrap();

        assert_eq!(
            (first.frame, first.departs),
            (bulk, Instant::from_ns(123_040))
        );
        assert_eq!(during, None);
        assert_eq!(
            (second.frame, second.departs),
            (urgent, Instant::from_ns(123_040 + 6_720))
        );
    }

    #[test]
    fn a_full_queue_gives_the_frame_back() {
        let mut frames = Frames::default();
        let mut interface = HostInterface::new(BitRate::from_mbps(100));
        let frame = frames.keep(&[0; 60]).unwrap();

        let refused = (0..=QUEUE_LIMIT)
            .filter(|_| interface.enqueue(3, frame).is_err())
            .count();

        assert_eq!((refused, interface.dropped()), (1, 1));
    }
}
