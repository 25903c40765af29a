//! Latency of devices whose delays are known.

use proptest::prelude::*;

use super::*;
use crate::method::Silent;
use crate::method::tests::known_device::{KnownDevice, Lane, figure, number, settings, times};
use units::BitRate;

const US: u64 = 1_000;

#[test]
fn a_device_of_known_delay_is_found_to_have_it_and_its_losses_are_counted() {
    let mut lane = Lane::of(Duration::from_us(50));
    lane.lose_every = Some(10);
    let mut device = KnownDevice::new(lane, Lane::of(Duration::ZERO));

    let found = measure(&mut device, &[("interval", "1ms"), ("window", "none")]);

    assert_eq!(
        times(&found, "one-way latency", "1 ms"),
        [50 * US; 3].map(Duration::from_ns)
    );
    assert_eq!(number(&found, "sent", "1 ms"), 2_000);
    assert_eq!(number(&found, "lost", "1 ms"), 200);
}

/// A mirror that is slow, and a device behind it: the difference of the two arrivals
/// is the device, whatever the mirror adds to both.
#[test]
fn a_mirror_shows_the_device_and_its_own_delay() {
    let mut device = KnownDevice::new(Lane::of(Duration::from_us(40)), Lane::of(Duration::ZERO));
    device.mirror_delay = Some(Duration::from_ns(1_470));

    let options = [("interval", "500us"), ("window", "none"), ("mirror", "2")];
    let found = measure(&mut device, &options);

    let [_, forwarding, _] = times(&found, "forwarding latency by a mirror", "");
    assert_eq!(forwarding, Duration::from_ns(40_000 - 1_470));
    let [_, mirror, _] = times(&found, "delay of the mirror", "");
    assert_eq!(mirror, Duration::from_ns(1_470));
}

/// 100 µs there, 300 µs back, and 20 µs at the called side, whose clock is an hour
/// ahead: what each technique can know, and what it cannot.
#[test]
fn every_technique_tells_its_own_part_of_an_uneven_way() {
    let (there, back) = (Duration::from_us(100), Duration::from_us(300));
    let mut device = KnownDevice::new(Lane::of(there), Lane::of(back));
    device.clocks[1] = Duration::from_secs(3_600);
    device.setup_mut().one_clock = false;

    let found = measure(&mut device, &[("interval", "none"), ("window", "1000")]);

    for (quantity, us) in [
        ("round trip, ping", 420),
        ("time at the called side, ping", 20),
        ("two-way latency, ping", 400),
        ("half of the two-way latency, ping", 200),
        ("round trip, datagrams", 420),
        ("two-way latency, datagrams", 400),
        ("round trip, SYN-ACK/ACK", 400),
    ] {
        let [least, _, most] = times(&found, quantity, "");
        assert_eq!(
            (least, most),
            (Duration::from_us(us), Duration::from_us(us)),
            "{quantity}"
        );
    }
    assert!(
        found
            .figures
            .iter()
            .all(|figure| !figure.quantity.contains("there"))
    );
}

#[test]
fn one_clock_tells_the_two_ways_apart() {
    let (there, back) = (Duration::from_us(100), Duration::from_us(300));
    let mut device = KnownDevice::new(Lane::of(there), Lane::of(back));

    let found = measure(&mut device, &[("interval", "none"), ("window", "1000")]);

    assert_eq!(times(&found, "one-way latency there, ping", "")[1], there);
    assert_eq!(times(&found, "one-way latency back, ping", "")[1], back);
    // The called side of the handshake is its caller here.
    assert_eq!(
        times(&found, "one-way latency there, SYN-ACK/ACK", "")[1],
        back
    );
}

/// 65 kB at 100 Mbit/s: the fragments follow each other for 5.3 ms, which is travel
/// and no processing.
#[test]
fn the_travel_of_fragments_is_latency_and_not_processing() {
    let mut there = Lane::of(Duration::from_us(10));
    there.server = Some((BitRate::from_mbps(100), 1_000));
    let mut device = KnownDevice::new(there, Lane::of(Duration::from_us(10)));

    let found = measure(&mut device, &[("interval", "none"), ("window", "65000")]);

    let bytes = 43 * 1_538 + 65_008 - 43 * 1_480 + 20 + 14 + 24;
    let travel = Duration::from_ns(bytes * 80);
    assert_eq!(
        times(&found, "time at the called side, ping", "")[2],
        TURNAROUND
    );
    let [_, two_way, _] = times(&found, "two-way latency, ping", "");
    let expected = travel + Duration::from_us(20);
    let off = two_way.max(expected).saturating_sub(two_way.min(expected));
    assert!(
        off < Duration::from_us(5),
        "{two_way} where {expected} was expected"
    );
    assert_eq!(number(&found, "unanswered, ping", ""), 0);
}

#[test]
fn what_calibration_found_is_taken_off_once_for_each_arrival() {
    let mut device = KnownDevice::new(
        Lane::of(Duration::from_us(50)),
        Lane::of(Duration::from_us(50)),
    );
    device.setup_mut().bias = Some(Duration::from_us(1));

    let found = measure(&mut device, &[("interval", "1ms"), ("window", "100")]);

    for (quantity, us) in [
        ("one-way latency", 49),
        ("round trip, ping", 119),
        ("time at the called side, ping", 21),
        ("two-way latency, ping", 98),
        ("half of the two-way latency, ping", 49),
    ] {
        assert_eq!(
            times(&found, quantity, "")[1],
            Duration::from_us(us),
            "{quantity}"
        );
    }
    assert!(
        found
            .remarks
            .iter()
            .any(|remark| remark.contains("calibrated"))
    );
}

#[test]
fn a_first_round_that_sets_up_flows_does_not_count() {
    let mut there = Lane::of(Duration::from_us(50));
    there.set_up = Duration::from_ms(3);
    let mut device = KnownDevice::new(there, Lane::of(Duration::from_us(50)));

    let found = measure(&mut device, &[("interval", "none"), ("window", "100")]);

    let [_, _, most] = times(&found, "round trip, ping", "");
    assert_eq!(most, Duration::from_us(120));
}

#[test]
fn a_device_that_drops_everything_is_reported_for_what_it_is() {
    let mut dead = Lane::of(Duration::ZERO);
    dead.lose_every = Some(1);
    let mut device = KnownDevice::new(dead.clone(), dead);

    let found = measure(&mut device, &[("interval", "1ms"), ("window", "100")]);

    let Value::Unknown(why) = figure(&found, "one-way latency", "") else {
        panic!("{found:?}");
    };
    assert!(why.contains("drops all"), "{why}");
    assert_eq!(number(&found, "unanswered, ping", ""), 20);
    assert_eq!(number(&found, "lost", ""), 2_000);
}

#[test]
fn an_option_that_makes_no_sense_is_named() {
    let mut device = KnownDevice::new(Lane::of(Duration::ZERO), Lane::of(Duration::ZERO));

    for (name, text) in [
        ("interval", "soon"),
        ("interval", "0 ns"),
        ("window", "70000"),
        ("mirror", "1"),
        ("load", "much"),
        ("rounds", "0"),
        ("size", "20"),
        ("answers", "nobody"),
    ] {
        let refused = run(&mut device, &settings(&[(name, text)]), &mut Silent);

        let expected = MethodError::Option(name.to_owned(), text.to_owned());
        assert_eq!(refused.unwrap_err(), expected);
    }
}

#[track_caller]
fn measure(device: &mut KnownDevice, options: &[(&str, &str)]) -> Findings {
    run(device, &settings(options), &mut Silent).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever a device holds for however long, no trial takes frames of another one for
    /// its own, and what arrives while a trial waits is late and not lost.
    #[test]
    fn a_long_delay_is_found_whole_and_loses_nothing(
        ms in prop::sample::select(vec![0_u64, 199, 201, 700, 1_500, 2_190, 2_300, 3_100, 9_000]),
        one_in in 0_u64..40,
    ) {
        let delay = Duration::from_ms(ms);
        let mut lane = Lane::of(delay);
        lane.hold_every = (one_in > 1).then_some((one_in, Duration::from_ms(5)));
        let mut device = KnownDevice::new(lane, Lane::of(delay));
        let wait = DRAIN + crate::method::RESIDUAL;

        for interval in ["1ms", "2ms", "1ms"] {
            let options = [("interval", interval), ("window", "1500")];
            let found = measure(&mut device, &options);

            for figure in &found.figures {
                let Value::Times(times) = &figure.value else { continue };
                if figure.quantity == "one-way latency" {
                    let summary = times.summary().unwrap();
                    prop_assert!(summary.min >= delay, "{summary:?}");
                    prop_assert!(summary.max <= delay + Duration::from_ms(5), "{summary:?}");
                }
            }
            let interval = interval.replace("ms", " ms");
            if delay + Duration::from_ms(5) < wait {
                prop_assert_eq!(number(&found, "lost", &interval), 0);
            }
        }
    }
}
