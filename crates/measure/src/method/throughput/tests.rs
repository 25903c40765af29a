//! Throughput of devices whose rate and buffer are known.

use super::*;
use crate::method::Silent;
use crate::method::tests::known_device::{KnownDevice, Lane, figure, number, settings};

#[test]
fn the_rate_of_a_server_is_found_within_the_precision() {
    let mut device = server(100, 50);

    let options = [
        ("size", "64,1518"),
        ("rate", "1Gbit/s"),
        ("precision", "1Mbit/s"),
    ];
    let found = measure(&mut device, &options);

    for size in ["64 bytes", "1518 bytes"] {
        let rate = number(&found, "throughput", size);
        assert!((98_900_000..=100_000_000).contains(&rate), "{size}: {rate}");
    }
    assert_eq!(
        number(&found, "frames each second", "64 bytes"),
        number(&found, "throughput", "64 bytes") / 672
    );
}

#[test]
fn a_device_that_loses_nothing_is_as_fast_as_what_was_offered() {
    let mut device = KnownDevice::new(Lane::of(Duration::from_us(5)), Lane::of(Duration::ZERO));

    let found = measure(&mut device, &[("size", "1518"), ("rate", "50Mbit/s")]);

    assert_eq!(number(&found, "throughput", ""), 50_000_000);
    assert!(
        found
            .remarks
            .iter()
            .any(|remark| remark.contains("nothing was lost"))
    );
}

#[test]
fn a_device_that_always_loses_has_no_throughput() {
    let mut lane = Lane::of(Duration::from_us(5));
    lane.lose_every = Some(50);
    let mut device = KnownDevice::new(lane, Lane::of(Duration::ZERO));

    let found = measure(&mut device, &[("size", "1518"), ("rate", "50Mbit/s")]);

    assert!(matches!(
        figure(&found, "throughput", ""),
        Value::Unknown(_)
    ));
    let tolerant = [
        ("size", "1518"),
        ("rate", "50Mbit/s"),
        ("tolerance", "0.05"),
    ];
    let found = measure(&mut device, &tolerant);
    assert_eq!(number(&found, "throughput", ""), 50_000_000);
}

/// The window of 10 kB holds 6 full frames, a round trip takes 1 ms and a little more.
#[test]
fn a_window_limits_tcp_to_a_window_a_round_trip() {
    let mut device = KnownDevice::new(
        Lane::of(Duration::from_us(500)),
        Lane::of(Duration::from_us(500)),
    );

    let options = [("test", "tcp"), ("window", "10000"), ("rate", "1Gbit/s")];
    let found = measure(&mut device, &options);

    let rate = number(&found, "TCP throughput", "");
    let expected = 6 * 1_460 * 8 * 1_000;
    assert!(
        rate.abs_diff(expected) < expected / 50,
        "{rate} where {expected} was expected"
    );
}

#[test]
fn losses_slow_tcp_down_but_do_not_stop_it() {
    let mut device = server(20, 30);
    device.lanes[0].delay = Duration::from_us(500);

    let found = measure(&mut device, &[("test", "tcp"), ("window", "150000")]);

    // Of 1538 bytes on the wire 1460 are payload.
    let most = 20_000_000 * 1_460 / 1_538;
    let rate = number(&found, "TCP throughput", "");
    assert!(
        rate <= most + most / 100 && rate > most / 2,
        "{rate} of {most}"
    );
    assert!(number(&found, "lost", "") > 0);
}

#[test]
fn udp_at_the_highest_rate_loses_what_does_not_fit() {
    let mut device = server(50, 200);

    let options = [("test", "udp"), ("window", "1400"), ("rate", "100Mbit/s")];
    let found = measure(&mut device, &options);

    let rate = number(&found, "UDP throughput", "");
    let expected = 50_000_000 * 1_400 / 1_478;
    assert!(
        rate.abs_diff(expected) < expected / 50,
        "{rate} where {expected} was expected"
    );
    let Value::Share(lost) = figure(&found, "loss ratio", "") else {
        panic!("{found:?}");
    };
    assert!((0.47..0.51).contains(lost), "{lost}");
}

#[test]
fn a_tester_that_comes_too_late_is_not_taken_for_the_device() {
    let mut device = server(100, 50);
    device.late = Duration::from_ms(3);

    let found = measure(&mut device, &[("size", "1518"), ("rate", "50Mbit/s")]);

    assert!(matches!(
        figure(&found, "throughput", ""),
        Value::Unknown(_)
    ));
}

fn server(mbps: u64, frames: usize) -> KnownDevice {
    let mut lane = Lane::of(Duration::from_us(5));
    lane.server = Some((BitRate::from_mbps(mbps), frames));
    KnownDevice::new(lane, Lane::of(Duration::from_us(5)))
}

#[track_caller]
fn measure(device: &mut KnownDevice, options: &[(&str, &str)]) -> Findings {
    run(device, &settings(options), &mut Silent).unwrap()
}
