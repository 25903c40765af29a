//! The tester against devices whose behaviour is known.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lab::device_under_test::{DeviceUnderTest, RelayPlan, Shaper};
use lab::process;
use lab::tester::known_delay::{DelayComparison, FrameSchedule, KnownDelay};
use lab::tester::{Arrangement, LinkTester, StampsWanted, TesterError};
use linux::clock;
use linux::namespace::Namespace;
use measure::Contract;
use measure::identity::identify;
use measure::traffic::udp::{DatagramConfig, Pattern, Udp};
use measure::traffic::{Addresses, Source};
use measure::trial::{
    Conduct, Fault, Outgoing, PlayedStation, PortIndex, Sender, Sighting, Sourced, Stamps, Stream,
    Tester, Trial, TrialError, Watcher, Way,
};
use units::{BitRate, DataSize, Duration, Instant};
use wire::ethernet::wire_size;

use super::namespace_or_skip;

/// How many frames a trial sends.
const FRAMES: u64 = 40;
const INTERVAL: Duration = Duration::from_ms(1);
/// Time enough for whatever waits in a relay, even if the machine stands still.
const DRAIN: Duration = Duration::from_ms(700);
/// How many trials are made at most until a frame arrives.
const MOST_TRIES: u32 = 20;

#[test]
fn what_is_measured_of_a_relay_encloses_what_its_own_ports_show() {
    let delay = Duration::from_us(300);
    let Some(held) = held_against("tester relay", Some(delay)) else {
        return;
    };

    assert_eq!(held.sent + held.witnessed.skipped, FRAMES);
    assert_eq!(held.lost, 0);
    // The relay never hands a frame on before its time, but for the readings of two
    // clocks, and the way to the tester's ports only adds to what the relay takes.
    let rounding = Duration::from_us(1);
    assert!(held.truth.summary().unwrap().min + rounding >= delay);
    let (measured, truth) = (held.measured.summary(), held.truth.summary());
    let with_bias = measured.unwrap().min + held.bias;
    assert!(with_bias >= truth.unwrap().min);
}

#[test]
fn a_relay_in_the_kernel_is_seen_at_all_four_places() {
    let Some(held) = held_against("tester kernel relay", None) else {
        return;
    };

    assert_eq!(held.sent + held.witnessed.skipped, FRAMES);
    let judged = held.error.count() + held.disturbed;
    assert_eq!((held.lost, judged), (0, held.sent));
    assert!(held.bias > Duration::ZERO);
}

#[test]
fn a_bucket_of_known_rate_and_depth_lets_no_frame_through_early() {
    let rate = BitRate::from_bps(1_000_000);
    let burst_bytes = 2_100;
    let shaper = Shaper {
        rate,
        burst_bytes,
        limit_bytes: 1 << 20,
    };
    let Some(mut tester) = tester("tester bucket", shaped(shaper)) else {
        return;
    };

    let seen = send(&mut tester, 1_000);

    assert_eq!(seen.received.len() as u64, FRAMES);
    let first = *seen.received.first().unwrap();
    for (number, at) in (0..).zip(&seen.received) {
        // Behind the first frame go `number` more; the bucket holds a burst.
        let bytes = number * 1_000_u64;
        let beyond = DataSize::from_bytes(bytes.saturating_sub(u64::from(burst_bytes)));
        let least = rate.time_to_send(beyond);
        let took = at.saturating_since(first) + Duration::from_ms(1);
        assert!(took >= least.round_up(), "frame {number} after {took}");
    }
}

#[test]
fn what_a_short_queue_drops_is_lost() {
    let shaper = Shaper {
        rate: BitRate::from_bps(100_000),
        burst_bytes: 1_600,
        limit_bytes: 3_100,
    };
    let Some(mut tester) = tester("tester short queue", shaped(shaper)) else {
        return;
    };

    let seen = send(&mut tester, 1_000);

    // The bucket lets one through, the queue holds three, and 40 ms at 100 kbit/s
    // and the time afterwards are some ten more.
    assert_eq!(seen.sent, FRAMES);
    let received = seen.received.len() as u64;
    assert!((1..FRAMES).contains(&received), "{received} of {FRAMES}");
}

#[test]
fn nothing_comes_through_a_cable_that_is_cut_or_mute() {
    let port = PortIndex(1);
    let pairs = [
        (Fault::Cut(port), Fault::Join(port)),
        (Fault::Mute(port), Fault::Unmute(port)),
    ];
    for (fault, mend) in pairs {
        let plan = DeviceUnderTest::Relay(RelayPlan::default());
        let Some(mut tester) = tester("tester faults", plan) else {
            return;
        };

        make(&mut tester, fault, Duration::ZERO);
        let broken = send(&mut tester, 100);
        make(&mut tester, mend, Duration::ZERO);
        await_way(&mut tester);
        let mended = send(&mut tester, 100);

        assert_eq!(broken.received.len(), 0, "{fault:?}");
        assert_eq!(mended.received.len() as u64, FRAMES, "{fault:?}");
    }
}

#[test]
fn a_tester_that_is_told_to_stop_makes_no_trial() {
    if namespace_or_skip("tester stop").is_none() {
        return;
    }
    let stop = Arc::new(AtomicBool::new(true));
    let subject = DeviceUnderTest::Relay(RelayPlan::default());
    let mut tester = LinkTester::with(&subject, 2, Arrangement::Stations, stop).unwrap();

    let refused = tester.run(trial(100), &mut Seen::default());

    assert_eq!(refused.unwrap_err(), TrialError::Interrupted);
}

#[test]
fn interfaces_that_are_not_there_or_named_twice_are_refused() {
    let Some(room) = namespace_or_skip("tester interfaces") else {
        return;
    };
    let among = |names: [&str; 2]| {
        let names = names.map(str::to_owned);
        let stop = Arc::new(AtomicBool::new(false));
        room.run(|| on(&names, StampsWanted::Kernel, stop).map(drop))
    };

    let missing = among(["none1", "none2"]);
    let stop = Arc::new(AtomicBool::new(false));
    let single = on(&["lo".to_owned()], StampsWanted::Kernel, stop);

    assert!(matches!(missing, Err(TesterError::NoInterface(name)) if name == "none1"));
    assert!(matches!(single, Err(TesterError::Number(1))));
}

#[test]
fn where_no_card_stamps_the_kernel_does_and_hardware_is_refused_with_the_reason() {
    let Some(room) = namespace_or_skip("tester stamps") else {
        return;
    };
    let Some(names) = laid_or_skip("tester stamps", &room) else {
        return;
    };
    let tester = |stamps| {
        let stop = Arc::new(AtomicBool::new(false));
        room.run(|| on(&names, stamps, stop))
    };

    let refused = tester(StampsWanted::Hardware).unwrap_err().to_string();
    let (best, said) = {
        let tester = tester(StampsWanted::Best).unwrap();
        (tester.setup().clone(), tester.remarks().concat())
    };

    for name in ["first", "second"] {
        let reason = format!("{name}: its card can stamp neither way");
        assert!(refused.contains(&reason), "{refused}");
        assert!(said.contains(&reason), "{said}");
    }
    assert_eq!(
        (best.stamps, best.clocks_apart),
        (Stamps::Kernel, Duration::ZERO)
    );
    let told = tester(StampsWanted::Kernel).unwrap();
    assert!(told.remarks().is_empty(), "{:?}", told.remarks());
}

#[test]
fn borrowed_interfaces_work_and_their_disappearance_is_named() {
    let Some(room) = namespace_or_skip("tester borrowed") else {
        return;
    };
    let Some(names) = laid_or_skip("tester borrowed", &room) else {
        return;
    };
    let stop = Arc::new(AtomicBool::new(false));

    let (seen, gone) = room.run(|| {
        let mut tester = on(&names, StampsWanted::Best, stop).unwrap();
        await_way(&mut tester);
        let seen = send(&mut tester, 100);
        run_ip(&room, "ip link delete first");
        let gone = tester.run(trial(100), &mut Seen::default());
        (seen, gone.unwrap_err())
    });

    // The two ends of one cable: the device between them is the cable alone.
    assert_eq!(seen.received.len() as u64, FRAMES);
    assert!(
        matches!(&gone, TrialError::PortGone { port, .. } if port == "first"),
        "{gone}"
    );
}

#[test]
fn an_interface_that_disappears_in_the_middle_of_a_trial_is_named() {
    let Some(room) = namespace_or_skip("tester vanishing") else {
        return;
    };
    let Some(names) = laid_or_skip("tester vanishing", &room) else {
        return;
    };
    let stop = Arc::new(AtomicBool::new(false));
    let mut cut = OnFirst(Some(|| run_ip(&room, "ip link delete first")));

    let gone = room.run(|| {
        let mut tester = on(&names, StampsWanted::Best, stop).unwrap();
        await_way(&mut tester);
        tester.run(trial(100), &mut cut).unwrap_err()
    });

    let TrialError::PortGone { port, after, .. } = &gone else {
        panic!("{gone}")
    };
    assert!(names.contains(port), "{gone}");
    assert!(*after > Duration::ZERO, "{gone}");
}

/// Lays a cable as somebody else would, by the kernel's own tool, and returns the names of
/// its ends, or says loudly that there is no such tool.
fn laid_or_skip(test: &str, room: &Namespace) -> Option<[String; 2]> {
    if !process::is_installed("ip") {
        let _ = writeln!(std::io::stderr(), "\nSKIPPED {test}: needs `ip`\n");
        return None;
    }
    run_ip(room, "ip link add first type veth peer name second");
    let ends = ["first", "second"];
    for end in ends {
        run_ip(room, &format!("ip link set {end} up"));
    }
    Some(ends.map(str::to_owned))
}

fn run_ip(room: &Namespace, words: &str) {
    let words: Vec<_> = words.split_whitespace().collect();
    process::run(room, &words).unwrap();
}

fn on(
    names: &[String],
    stamps: StampsWanted,
    stop: Arc<AtomicBool>,
) -> Result<LinkTester, TesterError> {
    LinkTester::on(names, None, Arrangement::Stations, stamps, stop)
}

#[test]
fn what_holds_the_tester_up_is_a_stall_no_shorter_than_that() {
    let plan = DeviceUnderTest::Relay(RelayPlan::default());
    let Some(mut tester) = tester("tester stalls", plan) else {
        return;
    };
    let trial = Trial {
        streams: vec![Stream {
            from: PortIndex(0),
            sender: Box::new(Dawdler { turn: 1 }),
        }],
        length: BETWEEN * (DAWDLES + 1),
        ..Trial::default()
    };

    let conduct = tester.run(trial, &mut Seen::default()).unwrap();

    let held_up = conduct.stalls.kept().iter();
    let held_up = held_up.filter(|stall| stall.length >= HELD_UP).count();
    assert!(held_up as u64 >= DAWDLES, "{held_up} of {DAWDLES}");
    assert!(conduct.stalls.total() >= HELD_UP * DAWDLES);
}

/// How often the tester is held up, for how long, and how far apart.
const DAWDLES: u64 = 4;
const HELD_UP: Duration = Duration::from_ms(3);
const BETWEEN: Duration = Duration::from_ms(20);

/// Takes its time over each frame.
#[derive(Debug)]
struct Dawdler {
    turn: u64,
}

impl Sender for Dawdler {
    fn next_due(&self) -> Option<Duration> {
        (self.turn <= DAWDLES).then(|| BETWEEN * self.turn)
    }

    fn emit(&mut self, after: Duration, frame: &mut Vec<u8>) -> Option<Outgoing> {
        let due = self.next_due().filter(|due| *due <= after)?;
        let until = clock::now() + HELD_UP;
        while clock::now() < until {
            std::hint::spin_loop();
        }
        frame.clear();
        frame.extend_from_slice(&crate::frame(60, 1));
        self.turn += 1;
        Some(Outgoing { due })
    }

    fn listens(&self) -> bool {
        false
    }
}

/// Does something when the first frame is seen.
pub struct OnFirst<F>(pub Option<F>);

impl<F: FnOnce()> Watcher for OnFirst<F> {
    fn see(&mut self, _: &Sighting<'_>) {
        if let Some(deed) = self.0.take() {
            deed();
        }
    }
}

fn held_against(test: &str, delay: Option<Duration>) -> Option<DelayComparison> {
    namespace_or_skip(test)?;
    let relay = RelayPlan {
        delay,
        shaper: None,
    };
    let mut known = KnownDelay::with(relay, Arc::new(AtomicBool::new(false))).unwrap();
    let frames = u32::try_from(FRAMES).unwrap();
    known
        .trial(FrameSchedule {
            interval: INTERVAL,
            frames,
        })
        .unwrap();
    Some(known.finish())
}

fn shaped(shaper: Shaper) -> DeviceUnderTest {
    DeviceUnderTest::Relay(RelayPlan {
        delay: None,
        shaper: Some(shaper),
    })
}

fn tester(test: &str, subject: DeviceUnderTest) -> Option<LinkTester> {
    namespace_or_skip(test)?;
    let stop = Arc::new(AtomicBool::new(false));
    match LinkTester::with(&subject, 2, Arrangement::Stations, stop) {
        Ok(tester) => Some(tester),
        Err(error) => {
            let needs_tool = error.to_string().contains("not installed");
            assert!(needs_tool, "{error}");
            let _ = writeln!(std::io::stderr(), "\nSKIPPED {test}: {error}\n");
            None
        }
    }
}

/// What was seen of the frames of a trial.
#[derive(Debug, Default)]
struct Seen {
    sent: u64,
    received: Vec<Instant>,
}

impl Watcher for Seen {
    fn see(&mut self, sighting: &Sighting<'_>) {
        if identify(sighting.bytes).is_none() {
            return;
        }
        match (sighting.port, sighting.way) {
            (PortIndex(0), Way::Sent) => self.sent += 1,
            (PortIndex(1), Way::Received) => self.received.push(sighting.at),
            (_, Way::Sent | Way::Received) => {}
        }
    }
}

/// Makes a fault, and lets some time pass.
fn make(tester: &mut LinkTester, fault: Fault, length: Duration) {
    let trial = Trial {
        faults: vec![(Duration::ZERO, fault)],
        length,
        ..Trial::default()
    };
    tester.run(trial, &mut Seen::default()).unwrap();
}

/// Sends until something arrives: the kernel takes up to a second, and a busy one
/// longer, to use a carrier that is back.
fn await_way(tester: &mut LinkTester) {
    let arrives = (0..MOST_TRIES).any(|_| {
        let mut seen = Seen::default();
        tester.run(trial(100), &mut seen).unwrap();
        !seen.received.is_empty()
    });
    assert!(arrives, "nothing arrived in {MOST_TRIES} trials");
}

fn send(tester: &mut LinkTester, size: usize) -> Seen {
    let mut seen = Seen::default();
    let Conduct { sent, unseen, .. } = tester.run(trial(size), &mut seen).unwrap();
    assert_eq!((sent, unseen), (FRAMES, 0));
    seen
}

/// Sends [`FRAMES`] frames, all of them however late.
pub fn trial(size: usize) -> Trial {
    let [from, to] = [0, 1].map(|port| PlayedStation::at(PortIndex(port)));
    let frames = u32::try_from(FRAMES).unwrap();
    let source = Udp::new(&DatagramConfig {
        addresses: Addresses {
            source_mac: from.mac,
            destination_mac: to.mac,
            vlan: None,
            source: from.address,
            destination: to.address,
            source_port: 7,
            destination_port: 7,
            dscp: 0,
        },
        frame_length: size,
        contract: Contract {
            rate: BitRate::from_mbps(100_000),
            burst: wire_size(size) * u64::from(frames),
        },
        pattern: Pattern::Bursts {
            period: INTERVAL * FRAMES,
            frames,
        },
        start: Instant::ZERO,
        until: Some(Instant::ZERO + INTERVAL * FRAMES),
    });
    Trial {
        streams: vec![Stream {
            from: PortIndex(0),
            sender: Box::new(Sourced(Source::Udp(source))),
        }],
        length: INTERVAL * FRAMES,
        drain: DRAIN,
        ..Trial::default()
    }
}
