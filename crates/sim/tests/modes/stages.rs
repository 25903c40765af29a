//! A flow breaks its contract while others fill the link: what each strategy makes of
//! it, with whole switches.

use sim::modes::deployment::{LevelTreatment, Strategy};
use sim::modes::stage::{Breach, ControllerTimes, Device, ModeSetup, ObservedChange, StagedFlow};
use sim::modes::topology::ModeTopology;
use sim::parts::Processing;
use units::{BitRate, Delay, Duration};

const MS: fn(u64) -> Duration = Duration::from_ms;

/// A controller that reacts after 20 ms gets the flow through, but later.
#[test]
fn a_controller_that_drops_what_matters_less_lets_the_large_message_arrive_earlier() {
    let agnostic = play(Strategy::McAgnostic);
    let standard = play(Strategy::StdSdn);

    assert_eq!((agnostic.detected, agnostic.changed), (None, None));
    let change = standard.mode_change().unwrap();
    assert!(change >= MS(20), "{standard:?}");
    assert!(standard.message.unwrap() + MS(5) < agnostic.message.unwrap());
    // Frames of the usual case go on leaving until the queues are empty.
    assert!(standard.out_of_mode > standard.changed, "{standard:?}");
    let [high, low, other] = standard.whole[..] else {
        panic!("three flows")
    };
    assert!(high >= 5, "{standard:?}");
    assert!(low < agnostic.whole[1] && other < agnostic.whole[2]);
}

/// No controller takes part: all switches have changed before the message is through
/// the first, and nothing that matters less leaves any more.
#[test]
fn switches_that_tell_each_other_change_at_once_whatever_waits_in_queues() {
    let standard = play(Strategy::StdSdn);

    let taktos = play(Strategy::Taktos);

    let change = taktos.mode_change().unwrap();
    // Two hops: a frame and a few signals ahead, and the processing stage.
    assert!(change < Duration::from_us(400), "{taktos:?}");
    assert!(
        taktos.message.unwrap() + MS(5) < standard.message.unwrap(),
        "{taktos:?}"
    );
    // What the message takes over one link, and a few frames at each of the others.
    assert!(taktos.message.unwrap() < MS(33), "{taktos:?}");
}

/// Three switches in a line, two flows that matter less ahead of one that breaks its
/// contract.
fn play(strategy: Strategy) -> ObservedChange {
    let flow = |from, phase, size_bytes, treatments| StagedFlow {
        from,
        to: from + 1,
        route: vec![0, 1, 2],
        period: MS(100),
        size_bytes,
        phase,
        treatments,
        breach: None,
        quickens: None,
    };
    let low = [LevelTreatment::Queue(5), LevelTreatment::Drop];
    let high = [LevelTreatment::Queue(4), LevelTreatment::Queue(6)];
    let breach = Breach {
        number: 3,
        size_bytes: 360_000,
    };
    let stage = ModeSetup {
        seed: 1,
        topology: ModeTopology::line(3),
        hosts: vec![0, 2, 0, 2, 0, 2],
        flows: vec![
            StagedFlow {
                breach: Some(breach),
                ..flow(0, MS(10), 180_000, high)
            },
            flow(2, MS(0), 490_000, low),
            flow(4, MS(0), 490_000, low),
        ],
        strategy,
        rules: 20,
        device: Device {
            processing: Processing {
                latency: Delay::from_us(14),
                per_frame: Delay::from_us(2),
                capacity: 4_096,
            },
            behaviour: None,
            queue_frames: 4_096,
        },
        controller: ControllerTimes {
            reaction: MS(20),
            per_message: Duration::from_us(10),
            per_entry: Duration::from_us(50),
        },
        rate: BitRate::from_mbps(100),
        duration: MS(1_000),
    };
    stage.play()
}
