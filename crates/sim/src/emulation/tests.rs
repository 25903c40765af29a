use proptest::prelude::*;
use scenario::Profile;
use units::{Delay, Duration, Instant};
use wire::openflow::PortNumber;

use super::*;

const BOUNDS: &str = include_str!("../../../../profiles/line-rate.toml");
const LEFT: PortNumber = PortNumber(1);
const RIGHT: PortNumber = PortNumber(2);

const DEVICE: &str = r#"
    [emulation]
    link_rate = "100 Mbit/s"
    flow_setup = { p50 = "280 ms", origin = "paper" }
    link_down = { p50 = "300 ms", origin = "paper" }

    [[emulation.latency]]
    frame = "60 B"
    interval = "100 us"
    p50 = "20 us"
    p99 = "69 us"
    origin = "stated"

    [[emulation.latency]]
    frame = "60 B"
    interval = "10 ms"
    p50 = "200 us"
    origin = "stated"

    [[emulation.occupancy]]
    frame = "100 B"
    value = "10 us"
    origin = "stated"

    [[emulation.occupancy]]
    frame = "200 B"
    value = "20 us"
    origin = "stated"
"#;

#[test]
fn occupancy_is_linear_between_the_sizes_that_are_known() {
    let device = behaviour(DEVICE);

    for (bytes, us) in [(60, 10), (100, 10), (150, 15), (200, 20), (1_514, 20)] {
        assert_eq!(device.occupancy(bytes), Delay::from_us(us), "{bytes}");
    }
}

#[test]
fn the_nearest_interval_decides_and_sending_is_taken_off() {
    let device = behaviour(DEVICE);
    // 72 bytes at 100 Mbit/s.
    let sending = Delay::from_ns(5_760);

    for (gap_us, latency_us) in [(1, 20), (100, 20), (1_000, 20), (1_001, 200), (90_000, 200)] {
        let hold = device.hold(60, Duration::from_us(gap_us), 500_000);
        assert_eq!(hold + sending, Delay::from_us(latency_us), "{gap_us} us");
    }
    let tail = device.hold(60, Duration::from_us(100), 745_000);
    assert_eq!(tail + sending, Delay::from_ns(44_500));
}

#[test]
fn a_frame_waits_for_those_ahead_until_the_pool_is_full() {
    let mut device = behaviour(DEVICE);
    device.capacity = 3;
    let mut stage = ProcessingQueue::new(device, Dice::new(1, 0));
    let now = Instant::from_ns(1_000_000);

    let fates = [LEFT, RIGHT, LEFT, RIGHT].map(|port| stage.arrive(now, port, 100));

    let Fate::Ready(third) = fates[2] else {
        panic!("{fates:?}")
    };
    // Two frames of 10 us are ahead of it.
    assert!(third >= now + Duration::from_us(30), "{third}");
    assert_eq!(fates[3], Fate::NoRoom);
    let later = now + Duration::from_us(10);
    assert!(matches!(stage.arrive(later, LEFT, 100), Fate::Ready(_)));
}

#[test]
fn losses_come_as_often_as_the_profile_says() {
    let text = "[emulation]\nloss_ppm = { value = 20000, origin = \"stated\" }\n";
    let mut stage = ProcessingQueue::new(behaviour(text), Dice::new(7, 0));

    let lost = (0..100_000u64)
        .filter(|frame| stage.arrive(Instant::from_ns(frame * 1_000_000), LEFT, 60) == Fate::Lost)
        .count();

    // Four standard deviations of 44 on each side.
    assert!(lost.abs_diff(2_000) < 180, "{lost}");
}

#[test]
fn a_table_miss_is_held_back_and_other_messages_are_not() {
    let mut pace = Pace::new(Some(behaviour(DEVICE)), Dice::new(1, 0));
    let packet_in = |reason: u8| {
        let mut message = vec![4, 10, 0, 24];
        message.resize(24, 0);
        message[14] = reason;
        message
    };
    let now = Instant::from_ns(0);
    let bytes = [packet_in(0), packet_in(1), vec![4, 3, 0, 8, 0, 0, 0, 0]].concat();
    let mut left = Vec::new();

    pace.send(now, &bytes, |at, message| left.push((message[1], at)));

    // What the answer takes, 1 ms for each of two messages, is taken off.
    let times = [278, 1, 0].map(|ms| now + Duration::from_ms(ms));
    assert_eq!(left, [(10, times[0]), (10, times[1]), (3, times[2])]);
}

#[test]
fn messages_are_worked_on_one_after_the_other() {
    let mut pace = Pace::new(Some(behaviour(DEVICE)), Dice::new(1, 0));
    let bytes = [[4, 14, 0, 8, 0, 0, 0, 1], [4, 20, 0, 8, 0, 0, 0, 2]].concat();
    let mut done = Vec::new();

    pace.receive(Instant::ZERO, &bytes, |at, message| {
        done.push((message[1], at.as_ns()))
    });

    assert_eq!(done, [(14, 1_000_000), (20, 2_000_000)]);
}

#[test]
fn a_profile_without_emulation_behaves_in_no_way() {
    let profile = Profile::parse("bounds.toml", BOUNDS).unwrap();

    assert!(Behaviour::of(&profile).is_none());
}

proptest! {
    /// Order is kept, and the same seed gives the same times.
    #[test]
    fn frames_of_a_port_never_overtake_each_other(
        gaps in prop::collection::vec((0u64..300_000, 0u8..2, 60usize..1_514), 1..200),
        seed in any::<u64>(),
    ) {
        let run = || {
            let mut stage = ProcessingQueue::new(behaviour(DEVICE), Dice::new(seed, 3));
            let mut now = Instant::ZERO;
            let fates = gaps.iter().map(|(gap, port, bytes)| {
                now += Duration::from_ns(*gap);
                (*port, stage.arrive(now, PortNumber(u32::from(*port)), *bytes))
            });
            fates.collect::<Vec<_>>()
        };

        let fates = run();

        for port in 0..2 {
            let ready = fates.iter().filter_map(|(at, fate)| match fate {
                Fate::Ready(ready) if *at == port => Some(*ready),
                Fate::Ready(_) | Fate::NoRoom | Fate::Lost => None,
            });
            prop_assert!(ready.is_sorted());
        }
        prop_assert_eq!(fates, run());
    }

    /// What a control connection carries arrives whole, whatever it is.
    #[test]
    fn no_byte_of_a_control_connection_gets_lost(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut pace = Pace::new(Some(behaviour(DEVICE)), Dice::new(1, 0));
        let mut received = Vec::new();

        pace.receive(Instant::ZERO, &bytes, |_, message| received.extend_from_slice(message));

        prop_assert_eq!(received, bytes);
    }
}

fn behaviour(emulation: &str) -> Behaviour {
    let profile = Profile::parse("device.toml", &format!("{BOUNDS}\n{emulation}")).unwrap();
    Behaviour::of(&profile).unwrap()
}
