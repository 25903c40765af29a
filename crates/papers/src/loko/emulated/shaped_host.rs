//! A host of the proof of concept: bursts at line rate and random distances, held
//! back by a token bucket (S4-8).
//!
//! The paper makes its bursts with mgen and shapes them with the token bucket
//! filter of Linux: a queue in front of a bucket, and what there are tokens for
//! leaves at the rate of the interface. It does not say how long the bursts are
//! nor how much they bring together; [`OfferedLoad`] says what we took.

use std::sync::Arc;

use measure::Contract;
use measure::token_bucket::{Conformance, PacingBucket};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{BitRate, DataSize, Duration, Instant};

use sim::zodiac_fx::Frame;

const PREAMBLE: DataSize = DataSize::from_bytes(8);
const GAP: DataSize = DataSize::from_bytes(12);

/// What an application hands to the shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferedLoad {
    /// The mean length of a burst, in frames. Lengths from one to twice that
    /// less one are equally likely.
    pub burst: u64,
    /// What the bursts bring of what the shaper lets through, in a hundred.
    /// Distances up to twice their mean are equally likely.
    pub percent: u64,
}

impl OfferedLoad {
    /// Chosen so that shapers are often busy for long, which is what loses frames
    /// when rates are exceeded, and often rest long enough to fill their buckets,
    /// which is what loses frames when bursts are.
    pub const BUSY: Self = Self {
        burst: 64,
        percent: 85,
    };
    /// As much as the shaper lets through, all the time.
    #[cfg(test)]
    pub const ALL_THE_TIME: Self = Self {
        burst: 64,
        percent: 1_000,
    };
}

/// A frame on the cable behind the shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sending {
    /// When its first bit leaves.
    pub(super) begins: Instant,
    /// When its last bit arrives.
    pub(super) ends: Instant,
}

/// A host that sends one flow.
#[derive(Debug)]
pub(super) struct ShapedHost {
    bytes: Arc<[u8]>,
    size: DataSize,
    bucket: PacingBucket,
    random: Xoshiro256PlusPlus,
    burst: u64,
    interval_ns: u64,
    next_burst: Instant,
    waiting: u64,
    on_cable: Duration,
    gap: Duration,
    cable_free: Instant,
    end: Instant,
    next: Option<Sending>,
}

impl ShapedHost {
    /// Returns a host that sends `frame` from `begin` to `end` within a contract,
    /// counted in frames with their check sequence.
    pub(super) fn new(
        frame: &Frame,
        contract: Contract,
        load: OfferedLoad,
        rate: BitRate,
        (begin, end): (Instant, Instant),
        seed: u64,
    ) -> Self {
        let size = frame.size();
        let brought = size * (load.burst * 100);
        let interval = contract.rate.time_to_send(brought).round_up().as_ns() / load.percent;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let next_burst = begin + Duration::from_ns(below(&mut random, 2 * interval + 1));
        let mut host = Self {
            bytes: Arc::clone(&frame.bytes),
            size,
            bucket: PacingBucket::new(contract),
            random,
            burst: load.burst,
            interval_ns: interval,
            next_burst,
            waiting: 0,
            on_cable: rate.time_to_send(PREAMBLE + size).round_up(),
            gap: rate.time_to_send(GAP).round_up(),
            cable_free: begin,
            end,
            next: None,
        };
        host.plan();
        host
    }

    /// Returns the frame that arrives next, if any does before the end.
    pub(super) const fn next(&self) -> Option<Sending> {
        self.next
    }

    /// Takes it off the cable.
    pub(super) fn take(&mut self, tag: u64) -> Frame {
        self.plan();
        let bytes = Arc::clone(&self.bytes);
        Frame { bytes, tag }
    }

    /// Plans the next frame: once it is there, there are tokens, and the cable is
    /// free.
    fn plan(&mut self) {
        self.next = None;
        let mut there = self.cable_free;
        while self.waiting == 0 {
            there = there.max(self.next_burst);
            self.burst_comes();
        }
        let Some(tokens) = self.bucket.ready_at(self.size) else {
            return;
        };
        let begins = there.max(tokens);
        if begins >= self.end || self.bucket.take(begins, self.size) == Conformance::Beyond {
            return;
        }
        let ends = begins + self.on_cable;
        self.cable_free = ends + self.gap;
        self.waiting -= 1;
        self.next = Some(Sending { begins, ends });
    }

    fn burst_comes(&mut self) {
        self.waiting += 1 + below(&mut self.random, 2 * self.burst - 1);
        let distance = below(&mut self.random, 2 * self.interval_ns + 1);
        self.next_burst += Duration::from_ns(distance);
    }
}

/// Returns a number below `limit`.
pub(super) fn below(random: &mut Xoshiro256PlusPlus, limit: u64) -> u64 {
    let wide = u128::from(random.next_u64()) * u128::from(limit);
    u64::try_from(wide >> u64::BITS).expect("below a number of 64 bits")
}

#[cfg(test)]
mod tests;
