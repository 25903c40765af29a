//! A bound on service: nothing for a while, then at least a rate.

use units::{BitRate, DataSize, Delay};

/// A server that, once it has work, serves at `rate` after at most `latency`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLatency {
    /// The rate, once it serves.
    pub rate: BitRate,
    /// The longest time until it serves.
    pub latency: Delay,
}

impl RateLatency {
    /// Returns the least that is served within `delay` of the arrival of work,
    /// rounded down.
    #[must_use]
    pub fn served_by(self, delay: Delay) -> DataSize {
        self.rate.least_in(delay.saturating_sub(self.latency))
    }

    /// Returns the service as whole frames see it that are no larger than
    /// `frame`: a frame counts when its last bit has been served.
    #[must_use]
    pub fn by_whole_frames(self, frame: DataSize) -> Self {
        Self {
            latency: self.latency + self.rate.time_to_send(frame),
            ..self
        }
    }
}
