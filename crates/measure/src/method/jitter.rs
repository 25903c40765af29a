//! How latency varies.
//!
//! The interarrival jitter of RFC 3550 section 6.4.1 is a running mean of the
//! differences between the latencies of successive frames:
//!
//! ```text
//! J(i) = J(i − 1) + (|D(i − 1, i)| − J(i − 1)) / 16
//! ```
//!
//! It is one number, so the differences stand beside it as a distribution (RFC 5481
//! section 4.1). The packet delay variation of RFC 5481 section 4.2 is what a
//! receiver's buffer has to make good: the 99.9 % quantile of the latency less its
//! minimum. Neither needs clocks that agree, if they run alike: an offset falls out.

use units::{Duration, Instant};

use super::offer::Offer;
use super::{
    Findings, Method, MethodError, Passing, Progress, Setting, Settings, at_each, doubt, loss,
};
use crate::measurement::Value;
use crate::statistics::Distribution;
use crate::time_series::TimeSeries;
use crate::trial::Tester;

/// `taktos measure jitter`.
pub const METHOD: Method = Method {
    name: "jitter",
    finds: "how the latency varies (RFC 3550, RFC 5481, S3-5)",
    options: &[
        ("interval", "the time between two messages [10ms]"),
        (
            "window",
            "bytes of a message, as in 1500,65000,150000 [1400]",
        ),
        (
            "load",
            "what others send to the receiver, as in none,500Mbit/s,75% [none]",
        ),
    ],
    run,
};

const INTERVAL: Duration = Duration::from_ms(10);
/// RFC 3550 section 6.4.1: the share of the newest difference.
const GAIN: u64 = 16;
/// A running mean is kept in these parts of a nanosecond.
const PARTS: u64 = 1 << 10;
/// The length of an interval of the time line at first.
const SERIES_INTERVAL: Duration = Duration::from_ms(10);

fn run(
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Findings, MethodError> {
    let offer = Offer::choose(tester.setup(), settings, (METHOD.name, INTERVAL))?;
    let mut findings = at_each(&offer.points, progress, |setting, message, found| {
        let passing = offer.send(tester, *message)?;
        let (times, backwards) = passing.times_by_own_clocks();
        if backwards > 0 {
            found.remark("The clocks of the two ports were too far apart at some frames.");
        }
        describe(&times, setting, found);
        loss::describe(&passing.passage(), setting, found);
        Ok(())
    })?;
    doubt(&mut findings, tester.setup());
    offer.remark(settings, &mut findings);
    Ok(findings)
}

/// Adds what times of sending and latencies, in the order of sending, say about
/// variation.
pub(super) fn describe(times: &[(Instant, Duration)], setting: &Setting, found: &mut Findings) {
    let otherwise = "fewer than two frames arrived";
    let differences = differences(times);
    let name = ("difference of successive latencies", "RFC 5481 section 4.1");
    found.add_times(name, setting, differences, otherwise);
    let value = match interarrival_jitter(times) {
        Some(jitter) => Value::Time(jitter),
        None => Value::Unknown(otherwise.to_owned()),
    };
    found.add(("jitter", "RFC 3550 section 6.4.1"), setting, value);
    let value = match delay_variation(times) {
        Some(variation) => Value::Time(variation),
        None => Value::Unknown(otherwise.to_owned()),
    };
    let name = (
        "delay variation, 99.9 % less minimum",
        "RFC 5481 section 4.2",
    );
    found.add(name, setting, value);
}

/// Returns the interarrival jitter after the last frame, or nothing for fewer than two
/// frames.
#[must_use]
pub fn interarrival_jitter(times: &[(Instant, Duration)]) -> Option<Duration> {
    if times.len() < 2 {
        return None;
    }
    let mut mean = 0u64;
    for pair in times.windows(2) {
        let difference = pair[0].1.as_ns().abs_diff(pair[1].1.as_ns());
        let parts = difference.saturating_mul(PARTS);
        mean = match parts >= mean {
            true => mean + (parts - mean) / GAIN,
            false => mean - (mean - parts) / GAIN,
        };
    }
    Some(Duration::from_ns(mean / PARTS))
}

/// Returns the 99.9 % quantile of the latencies less the smallest.
#[must_use]
pub fn delay_variation(times: &[(Instant, Duration)]) -> Option<Duration> {
    let mut latency = Distribution::fine();
    for (_, time) in times {
        latency.record(*time);
    }
    let summary = latency.summary()?;
    (summary.count > 1).then(|| summary.p999.saturating_sub(summary.min))
}

fn differences(times: &[(Instant, Duration)]) -> Distribution {
    let mut differences = Distribution::fine();
    for pair in times.windows(2) {
        let difference = pair[0].1.as_ns().abs_diff(pair[1].1.as_ns());
        differences.record(Duration::from_ns(difference));
    }
    differences
}

/// Returns the greatest latency and the losses in each interval of a run.
pub(super) fn series(times: &[(Instant, Duration)], passing: &Passing) -> TimeSeries {
    let start = passing.first_sent().unwrap_or(Instant::ZERO);
    let mut series = TimeSeries::new(start, SERIES_INTERVAL);
    for (sent, time) in times {
        series.received(*sent, *time);
    }
    for sent in passing.lost() {
        series.lost(sent);
    }
    series
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::method::Silent;
    use crate::method::tests::known_device::{KnownDevice, Lane, figure, number, settings, times};

    /// Every fifth frame 160 µs later: differences are 0 or 160 µs, two of five not 0.
    #[test]
    fn frames_held_back_are_seen_as_variation() {
        let mut lane = Lane::of(Duration::from_us(50));
        lane.hold_every = Some((5, Duration::from_us(160)));
        let mut device = KnownDevice::new(lane, Lane::of(Duration::ZERO));
        device.clocks[1] = Duration::from_secs(5);
        device.setup_mut().one_clock = false;

        let found = run(&mut device, &settings(&[("interval", "1ms")]), &mut Silent).unwrap();

        let Value::Time(variation) = figure(&found, "delay variation, 99.9 % less minimum", "")
        else {
            panic!("{found:?}");
        };
        assert!(
            variation.as_ns().abs_diff(160_000) <= 160_000 / 500,
            "{variation}"
        );
        let [least, _, most] = times(&found, "difference of successive latencies", "");
        assert_eq!((least, most), (Duration::ZERO, Duration::from_us(160)));
        assert_eq!(number(&found, "lost", ""), 0);
    }

    /// A constant difference of d makes the jitter approach d, by a sixteenth a frame.
    #[test]
    fn the_jitter_of_rfc_3550_approaches_a_constant_difference() {
        let zigzag: Vec<_> = (0..2)
            .map(|n| (Instant::ZERO, Duration::from_ns(1_000 + n % 2 * 1_600)))
            .collect();
        assert_eq!(interarrival_jitter(&zigzag), Some(Duration::from_ns(100)));

        let zigzag: Vec<_> = (0..1_000)
            .map(|n| (Instant::ZERO, Duration::from_ns(1_000 + n % 2 * 1_600)))
            .collect();
        let jitter = interarrival_jitter(&zigzag).unwrap();
        assert!(jitter.as_ns().abs_diff(1_600) <= 1, "{jitter}");
        assert_eq!(interarrival_jitter(&zigzag[..1]), None);
    }

    proptest! {
        #[test]
        fn jitter_is_never_above_the_greatest_difference(
            latencies in prop::collection::vec(0u64..1 << 40, 2..100), offset in 0u64..1 << 40,
        ) {
            let times = |offset: u64| -> Vec<_> {
                let latencies = latencies.iter();
                latencies.map(|ns| (Instant::ZERO, Duration::from_ns(ns + offset))).collect()
            };

            let jitter = interarrival_jitter(&times(0)).unwrap();

            let most = latencies.windows(2).map(|pair| pair[0].abs_diff(pair[1])).max().unwrap();
            prop_assert!(jitter.as_ns() <= most);
            prop_assert_eq!(interarrival_jitter(&times(offset)).unwrap(), jitter);
        }
    }
}
