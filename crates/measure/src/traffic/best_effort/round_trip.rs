//! How long to wait for an acknowledgement (RFC 6298).

use units::Duration;

const SHORTEST_TIMEOUT: Duration = Duration::from_ms(20);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(1);
const FIRST_TIMEOUT: Duration = Duration::from_ms(100);

/// The round-trip time, smoothed, with its variation.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrip {
    /// Nothing before the first measurement.
    smoothed: Option<(Duration, Duration)>,
    timeout: Duration,
}

impl RoundTrip {
    pub(super) fn new() -> Self {
        Self {
            smoothed: None,
            timeout: FIRST_TIMEOUT,
        }
    }

    /// Takes a measurement, RFC 6298 section 2.
    pub(super) fn measured(&mut self, sample: Duration) {
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
    pub(super) fn back_off(&mut self) {
        self.timeout = (self.timeout * 2u64).min(LONGEST_TIMEOUT);
    }

    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }
}
