//! The frames under way, and how many there may be.

use std::collections::VecDeque;

use units::{Duration, Instant};

use super::acknowledgement::{Acknowledgement, FRAMES_PER_ANSWER};

/// The most frames under way.
const LARGEST_WINDOW: usize = 1024;
/// What a sender begins with and never goes below: two answers' worth, so that
/// one comes even if half of the frames are lost.
const SMALLEST_WINDOW: usize = 2 * FRAMES_PER_ANSWER as usize;
/// A frame is lost if one sent so many later was acknowledged.
const REORDERING: u32 = 3;

/// The frames before the greatest that an acknowledgement speaks of.
const MAPPED: usize = 64;

const SHORTEST_TIMEOUT: Duration = Duration::from_ms(20);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(1);
const FIRST_TIMEOUT: Duration = Duration::from_ms(100);

/// The window of a sender.
#[derive(Debug)]
pub(super) struct CongestionWindow {
    size: usize,
    threshold: usize,
    /// Acknowledged frames towards the next step of congestion avoidance.
    credit: usize,
    under_way: VecDeque<SentFrame>,
    unacknowledged: usize,
    /// Losses of frames up to this one belong to a halving that was done.
    recovered_by: Option<u32>,
    round_trip: RoundTrip,
    /// When the window last had news: room or silence count from here.
    news_at: Instant,
}

#[derive(Clone, Copy, Debug)]
struct SentFrame {
    id: u32,
    sent_at: Instant,
    acknowledged: bool,
}

impl CongestionWindow {
    pub(super) fn new(start: Instant) -> Self {
        Self {
            size: SMALLEST_WINDOW,
            threshold: LARGEST_WINDOW,
            credit: 0,
            under_way: VecDeque::with_capacity(LARGEST_WINDOW),
            unacknowledged: 0,
            recovered_by: None,
            round_trip: RoundTrip::new(),
            news_at: start,
        }
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Returns since when there is room for a frame, if there is.
    pub(super) fn opened_at(&self) -> Option<Instant> {
        let room = self.unacknowledged < self.size && self.under_way.len() < LARGEST_WINDOW;
        room.then_some(self.news_at)
    }

    /// Returns when everything under way will count as lost.
    pub(super) fn timeout_at(&self) -> Option<Instant> {
        (self.unacknowledged > 0).then(|| self.news_at + self.round_trip.timeout())
    }

    pub(super) fn sent(&mut self, id: u32, now: Instant) {
        if self.unacknowledged == 0 {
            self.news_at = now;
        }
        self.under_way.push_back(SentFrame {
            id,
            sent_at: now,
            acknowledged: false,
        });
        self.unacknowledged += 1;
    }

    /// Gives up on everything under way if its time is over, RFC 6298 section 5.
    pub(super) fn expire(&mut self, now: Instant) {
        if self.timeout_at().is_none_or(|timeout| now < timeout) {
            return;
        }
        self.threshold = (self.size / 2).max(SMALLEST_WINDOW);
        self.size = SMALLEST_WINDOW;
        self.credit = 0;
        self.under_way.clear();
        self.unacknowledged = 0;
        self.round_trip.back_off();
        self.news_at = now;
    }

    /// Takes an acknowledgement, RFC 5681 sections 3.1 and 3.2.
    pub(super) fn acknowledged(&mut self, now: Instant, acknowledgement: Acknowledgement) {
        let Some(oldest) = self.under_way.front() else {
            return;
        };
        let Some(place) = age(acknowledgement.greatest, oldest.id).map(as_place) else {
            return;
        };
        let mut fresh = 0;
        let end = self.under_way.len().min(place + 1);
        let begin = place.saturating_sub(MAPPED).min(end);
        for frame in self.under_way.range_mut(begin..end) {
            if !frame.acknowledged && acknowledgement.covers(frame.id) {
                frame.acknowledged = true;
                fresh += 1;
                if frame.id == acknowledgement.greatest {
                    self.round_trip
                        .measured(now.saturating_since(frame.sent_at));
                }
            }
        }
        if fresh == 0 {
            return;
        }
        self.news_at = now;
        self.unacknowledged -= fresh;
        self.grow(fresh);
        self.drop_settled(acknowledgement.greatest);
    }

    fn grow(&mut self, acknowledged: usize) {
        if self.size < self.threshold {
            self.size += acknowledged;
        } else {
            self.credit += acknowledged;
            if self.credit >= self.size {
                self.credit -= self.size;
                self.size += 1;
            }
        }
        self.size = self.size.min(LARGEST_WINDOW);
    }

    /// Takes the frames off the front that were acknowledged or are lost, and
    /// halves the window once for each round trip with losses.
    fn drop_settled(&mut self, greatest: u32) {
        while let Some(frame) = self.under_way.front().copied() {
            if !frame.acknowledged {
                if age(greatest, frame.id) < Some(REORDERING) {
                    return;
                }
                self.unacknowledged -= 1;
                self.lose(frame.id);
            }
            self.under_way.pop_front();
        }
    }

    fn lose(&mut self, id: u32) {
        let done = |until: u32| age(until, id).is_some();
        if self.recovered_by.is_some_and(done) {
            return;
        }
        self.threshold = (self.size / 2).max(SMALLEST_WINDOW);
        self.size = self.threshold;
        self.credit = 0;
        self.recovered_by = self.under_way.back().map(|newest| newest.id);
    }
}

/// Returns how many frames `id` is behind `newer`, or nothing if it is ahead.
fn age(newer: u32, id: u32) -> Option<u32> {
    let behind = newer.wrapping_sub(id);
    (behind <= u32::MAX / 2).then_some(behind)
}

fn as_place(behind: u32) -> usize {
    usize::try_from(behind).unwrap_or(usize::MAX - 1)
}

/// The round-trip time, smoothed, with its variation: how long to wait for an
/// acknowledgement (RFC 6298).
#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    /// Nothing before the first measurement.
    smoothed: Option<(Duration, Duration)>,
    timeout: Duration,
}

impl RoundTrip {
    fn new() -> Self {
        Self {
            smoothed: None,
            timeout: FIRST_TIMEOUT,
        }
    }

    /// Takes a measurement, RFC 6298 section 2.
    fn measured(&mut self, sample: Duration) {
        let sample_ns = sample.as_ns();
        let (mean, variation) = match self.smoothed {
            None => (sample_ns, sample_ns / 2),
            Some((mean, variation)) => {
                let (mean, variation) = (mean.as_ns(), variation.as_ns());
                let off = mean.abs_diff(sample_ns);
                ((7 * mean + sample_ns) / 8, (3 * variation + off) / 4)
            }
        };
        self.smoothed = Some((Duration::from_ns(mean), Duration::from_ns(variation)));
        self.timeout =
            Duration::from_ns(mean + 4 * variation).clamp(SHORTEST_TIMEOUT, LONGEST_TIMEOUT);
    }

    /// Waits twice as long next time, RFC 6298 section 5.5.
    fn back_off(&mut self) {
        self.timeout = (self.timeout * 2u64).min(LONGEST_TIMEOUT);
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }
}
