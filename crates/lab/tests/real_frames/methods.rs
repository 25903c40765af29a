//! Methods with real frames, held against devices whose behaviour is known: a relay of
//! known delay, a token bucket of known rate and depth.
//!
//! A machine that stands still in the middle of a burst has the bucket let more of it
//! through, so a figure that follows from one burst has several tries.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lab::device_under_test::{DeviceUnderTest, RelayPlan, Shaper};
use lab::tester::{Arrangement, LinkTester};
use measure::measurement::Value;
use measure::method::{self, Effort, Findings, Settings, Silent};
use measure::trial::Tester;
use units::{BitRate, Duration};

use crate::namespace_or_skip;

/// Slow: three milliseconds a frame of 1514 bytes.
const RATE: BitRate = BitRate::from_mbps(4);
/// As a token bucket of the kernel counts it: without check sequence.
const FRAME_BYTES: u32 = 1_514;
/// What waits in the bucket's queue, and the one that it lets through at once.
const HELD: u64 = 10;
/// How often a figure is measured until it is the known one.
pub const MOST_TRIES: u32 = 6;

/// Returns a relay behind a token bucket that holds [`HELD`] frames.
fn bucket() -> DeviceUnderTest {
    DeviceUnderTest::Relay(RelayPlan {
        delay: None,
        shaper: Some(Shaper {
            rate: RATE,
            burst_bytes: 1_600,
            limit_bytes: (u32::try_from(HELD).unwrap() - 1) * FRAME_BYTES,
        }),
    })
}

/// Returns a tester with a device, or says loudly why not.
pub fn tester_or_skip(test: &str, subject: &DeviceUnderTest) -> Option<LinkTester> {
    namespace_or_skip(test)?;
    let stop = Arc::new(AtomicBool::new(false));
    match LinkTester::with(subject, 2, Arrangement::Stations, stop) {
        Ok(tester) => Some(tester),
        Err(error) => {
            assert!(error.to_string().contains("not installed"), "{error}");
            let _ = writeln!(std::io::stderr(), "\nSKIPPED {test}: {error}\n");
            None
        }
    }
}

pub fn measured(tester: &mut dyn Tester, name: &str, options: &[(&str, &str)]) -> Findings {
    let options = options.iter();
    let settings = Settings {
        effort: Effort::Quick,
        seed: 1,
        duration: Some(Duration::from_ms(400)),
        options: options
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    };
    let method = method::named(name).unwrap();
    (method.run)(tester, &settings, &mut Silent).unwrap()
}

pub fn value<'a>(found: &'a Findings, quantity: &str) -> &'a Value {
    let mut figures = found.figures.iter();
    let figure = figures.find(|figure| figure.quantity == quantity);
    &figure.unwrap_or_else(|| panic!("{found:#?}")).value
}

/// Returns the least of a figure's lengths of time.
#[track_caller]
pub fn least(found: &Findings, quantity: &str) -> Duration {
    match value(found, quantity) {
        Value::Times(times) => times.summary().unwrap().min,
        other => panic!("{quantity}: {other:?}"),
    }
}

/// Measures until a figure is as it is known to be.
#[track_caller]
fn await_figure(
    tester: &mut LinkTester,
    (name, options): (&str, &[(&str, &str)]),
    (quantity, is_known): (&str, impl Fn(&Value) -> bool),
) {
    let mut seen = Vec::new();
    for _ in 0..MOST_TRIES {
        let found = measured(tester, name, options);
        let value = value(&found, quantity);
        if is_known(value) {
            return;
        }
        seen.push(value.clone());
    }
    panic!("{quantity} in {MOST_TRIES} tries: {seen:?}");
}

#[test]
fn the_buffer_of_a_token_bucket_of_known_depth_is_found() {
    let Some(mut tester) = tester_or_skip("buffer of a bucket", &bucket()) else {
        return;
    };
    let options = [
        ("size", "1518"),
        ("rate", "8Mbit/s"),
        ("precision", "500kbit/s"),
        ("repeats", "1"),
        ("most", "40"),
    ];

    let is_known = |value: &Value| matches!(value, Value::Count(HELD));

    await_figure(&mut tester, ("buffer", &options[..]), ("buffer", is_known));
}

#[test]
fn the_throughput_of_a_token_bucket_is_its_rate() {
    let Some(mut tester) = tester_or_skip("throughput of a bucket", &bucket()) else {
        return;
    };
    let options = [
        ("size", "1518"),
        ("rate", "8Mbit/s"),
        ("precision", "250kbit/s"),
    ];
    // On the wire a frame of 1514 bytes takes 1538, and the queue hides what a rate
    // that is too high adds to it in a trial of 400 ms.
    let on_wire = RATE.as_bps() * 1_538 / 1_514;
    let hidden = HELD * 1_538 * 8 * 1_000 / 400;
    let known = on_wire - 250_000..=on_wire + hidden;

    let is_known =
        |value: &Value| matches!(value, Value::Rate(rate) if known.contains(&rate.as_bps()));

    let throughput = ("throughput", is_known);
    await_figure(&mut tester, ("throughput", &options[..]), throughput);
}

#[test]
fn a_token_bucket_loses_what_is_above_its_rate() {
    let Some(mut tester) = tester_or_skip("loss at a bucket", &bucket()) else {
        return;
    };
    // A frame of 1446 bytes each millisecond: 11.6 Mbit/s, of which four arrive, and
    // what the queue holds at the end.
    let options = [("interval", "1ms"), ("window", "1400")];

    let is_known =
        |value: &Value| matches!(value, Value::Share(lost) if (0.58..0.67).contains(lost));

    await_figure(
        &mut tester,
        ("loss", &options[..]),
        ("loss ratio", is_known),
    );
}

#[test]
fn the_latency_of_a_relay_of_known_delay_is_no_less() {
    let delay = Duration::from_us(400);
    let relay = DeviceUnderTest::Relay(RelayPlan {
        delay: Some(delay),
        shaper: None,
    });
    let Some(mut tester) = tester_or_skip("latency of a relay", &relay) else {
        return;
    };
    let bias = tester.setup().bias.unwrap();

    let options = [("interval", "2ms"), ("window", "none")];
    let found = measured(&mut tester, "latency", &options);

    let least = least(&found, "one-way latency");
    // The readings of two clocks are within a microsecond.
    assert!(
        least + bias + Duration::from_us(1) >= delay,
        "{least} and a bias of {bias}"
    );
}

#[test]
fn a_device_that_drops_everything_is_reported_for_what_it_is() {
    let nothing = DeviceUnderTest::Relay(RelayPlan {
        delay: None,
        shaper: Some(Shaper {
            rate: RATE,
            burst_bytes: 60,
            limit_bytes: 60,
        }),
    });
    let Some(mut tester) = tester_or_skip("dropping everything", &nothing) else {
        return;
    };

    let options = [("interval", "1ms"), ("window", "1400")];
    let found = measured(&mut tester, "loss", &options);

    assert!(
        matches!(value(&found, "loss ratio"), Value::Share(1.0)),
        "{found:#?}"
    );
}

#[test]
fn the_generator_accounts_for_every_frame_that_was_due() {
    let relay = DeviceUnderTest::Relay(RelayPlan::default());
    let Some(mut tester) = tester_or_skip("frames of the generator", &relay) else {
        return;
    };
    let options = [("streams", "4"), ("rate", "500")];
    // Four streams, 500 a second, for 400 ms.
    let due = 800;

    let all_arrived = (0..MOST_TRIES).any(|_| {
        let found = measured(&mut tester, "generator", &options);
        let count = |quantity: &str| match value(&found, quantity) {
            Value::Count(count) => *count,
            other => panic!("{quantity}: {other:?}"),
        };
        let Value::Times(lateness) = value(&found, "lateness") else {
            panic!("{found:#?}")
        };
        assert_eq!(count("sent") + count("left out"), due, "{found:#?}");
        assert!(lateness.count() <= count("sent"), "{found:#?}");
        count("received") == count("sent") && lateness.count() == count("sent")
    });

    assert!(all_arrived);
}
