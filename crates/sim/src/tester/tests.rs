use calculus::loko::processing_time::Setting;
use measure::trial::{Order, Outgoing, Sender, Stream};
use units::{DataSize, Delay};
use wire::openflow::{Action, Actions, FlowMod, Instruction, Instructions, PortNumber, TableId};
use wire::openflow::{MessageType, emit_barrier_request};

use super::*;
use crate::parts::Processing;
use crate::zodiac_fx::table::{frame_of, orders_of};

const VERSION_10: u8 = wire::openflow10::VERSION;
const VERSION_13: u8 = wire::openflow::VERSION;
const APART: Duration = Duration::from_ms(10);

/// LOKO Eq. (4), to the nanosecond.
#[test]
fn a_zodiac_fx_takes_the_time_that_was_put_in() {
    let setting = Setting::worst_five_tuple(17, DataSize::from_bytes(306));
    let mut tester = VirtualTester::new(SmallSwitch::zodiac_fx(), VERSION_10);
    teach(&mut tester, orders_of(&setting));
    let frame = frame_of(setting.frame).bytes.to_vec();
    let mut seen = Seen::default();

    let conduct = tester.run(frames(&frame, 3), &mut seen).unwrap();

    let rate = BitRate::from_mbps(100);
    let known = rate.time_to_send(DataSize::from_bytes(306 + 8));
    let expected = (setting.processing_time() + known).round_up();
    assert_eq!(conduct.sent, 3);
    assert_eq!(seen.delays(), [expected; 3]);
}

#[test]
fn the_core_takes_the_time_of_its_stage() {
    let mut tester = VirtualTester::new(core_switch(), VERSION_13);
    teach(&mut tester, vec![forward_all()]);
    let mut seen = Seen::default();

    tester.run(frames(&[0; 60], 2), &mut seen).unwrap();

    // The frame of 64 bytes, the stage, the preamble on the way out.
    let expected = Duration::from_ns(512 + 64) + Duration::from_us(13);
    assert_eq!(seen.delays(), [expected; 2]);
}

#[test]
fn an_agent_answers_in_the_version_that_was_agreed_on() {
    let devices: [(Box<dyn Fn() -> VirtualTester>, u8); 3] = [
        (
            Box::new(|| VirtualTester::new(SmallSwitch::zodiac_fx(), VERSION_10)),
            VERSION_10,
        ),
        (
            Box::new(|| VirtualTester::new(core_switch(), VERSION_10)),
            VERSION_10,
        ),
        (
            Box::new(|| VirtualTester::new(core_switch(), VERSION_13)),
            VERSION_13,
        ),
    ];
    for (tester, version) in devices {
        let mut tester = tester();
        let mut seen = Seen::default();
        let mut bytes = vec![version, 2, 0, 8, 0, 0, 0, 7];
        bytes[1] = MessageType::EchoRequest.number();
        let order = Order {
            due: APART,
            bytes: bytes.clone(),
        };
        let trial = Trial {
            orders: vec![order],
            length: APART * 2u64,
            ..Trial::default()
        };

        tester.run(trial, &mut seen).unwrap();

        bytes[1] = MessageType::EchoReply.number();
        let heard: Vec<_> = seen.heard.iter().map(|(_, bytes)| bytes).collect();
        assert_eq!(heard, [&bytes], "{:?}", tester.setup().device);
        assert!(seen.ordered[0].1 < seen.heard[0].0);
    }
}

#[test]
fn nothing_arrives_over_a_cut_cable_and_nothing_comes_from_a_mute_one() {
    for (fault, repair) in [
        (Fault::Cut(PortIndex(0)), Fault::Join(PortIndex(0))),
        (Fault::Cut(PortIndex(1)), Fault::Join(PortIndex(1))),
        (Fault::Mute(PortIndex(1)), Fault::Unmute(PortIndex(1))),
    ] {
        let mut tester = VirtualTester::new(core_switch(), VERSION_13);
        teach(&mut tester, vec![forward_all()]);
        let mut seen = Seen::default();
        let mut trial = frames(&[0; 60], 5);
        // The second and third frame come between.
        trial.faults = vec![
            (APART + Duration::from_ms(5), fault),
            (APART * 3u64 + Duration::from_ms(5), repair),
        ];

        tester.run(trial, &mut seen).unwrap();

        assert_eq!(seen.received.len(), 3, "{fault:?}");
    }
}

#[test]
fn a_killed_device_says_nothing_more() {
    let mut tester = VirtualTester::new(core_switch(), VERSION_13);
    teach(&mut tester, vec![forward_all()]);
    let mut seen = Seen::default();
    let mut trial = frames(&[0; 60], 5);
    trial.faults = vec![(APART * 2u64 + Duration::from_ms(5), Fault::Kill)];

    tester.run(trial, &mut seen).unwrap();

    assert_eq!(seen.received.len(), 2);
}

#[test]
fn frames_that_come_too_fast_leave_one_behind_the_other() {
    let mut tester = VirtualTester::new(SmallSwitch::zodiac_fx(), VERSION_10);
    let mut seen = Seen::default();
    let mut trial = frames(&[0; 60], 3);
    trial.streams[0].sender = Box::new(Regular {
        frame: vec![0; 60],
        left: 3,
        apart: Duration::from_us(1),
        due: Duration::ZERO,
    });

    let conduct = tester.run(trial, &mut seen).unwrap();

    let on_cable = BitRate::from_mbps(100).time_to_send(DataSize::from_bytes(64 + 20));
    let gaps: Vec<_> = seen.sent.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps, [on_cable.round_up(); 2]);
    assert!(conduct.lateness.max() > Some(Duration::from_us(5)));
}

#[test]
fn a_port_that_is_not_there_is_refused() {
    let mut tester = VirtualTester::new(SmallSwitch::zodiac_fx(), VERSION_10);
    let mut trial = frames(&[0; 60], 1);
    trial.streams[0].from = PortIndex(3);

    let refused = tester.run(trial, &mut Seen::default());

    assert!(matches!(refused, Err(TrialError::Unable { .. })));
}

/// The firmware has room for 128 entries (LOKO section 2.2); a profile says for how many.
#[test]
fn the_size_of_a_table_is_found_from_outside() {
    let method = measure::method::named("table-size").unwrap();
    let settings = measure::method::Settings {
        effort: measure::method::Effort::Quick,
        seed: 1,
        duration: None,
        options: std::collections::BTreeMap::new(),
    };
    let mut profile = scenario::Profile::built_in("open-vswitch-mininet").unwrap();
    let mut emulation = profile.emulation.clone().unwrap_or_default();
    emulation.table_entries = Some(scenario::Stated {
        value: 1_000,
        origin: scenario::Origin::Stated,
        note: String::new(),
    });
    profile.emulation = Some(emulation);
    let rate = BitRate::from_mbps(1_000);
    let core = CoreSwitch::emulated(&profile, 2, rate, 1, Taught::ByTester);
    let testers = [
        (
            VirtualTester::new(SmallSwitch::zodiac_fx(), VERSION_10),
            128,
        ),
        (VirtualTester::new(core, VERSION_13), 1_000),
    ];
    for (mut tester, expected) in testers {
        let mut silent = measure::method::Silent;

        let found = (method.run)(&mut tester, &settings, &mut silent).unwrap();

        let counts = found.figures.iter().map(|figure| match figure.value {
            measure::measurement::Value::Count(count) => count,
            ref other => panic!("{other:?}"),
        });
        assert_eq!(
            counts.collect::<Vec<_>>(),
            [expected, expected, 0],
            "{found:?}"
        );
    }
}

fn core_switch() -> CoreSwitch {
    let processing = Processing {
        latency: Delay::from_us(10),
        per_frame: Delay::from_us(3),
        capacity: 100,
    };
    CoreSwitch::new(2, BitRate::from_mbps(1_000), processing)
}

/// Everything that comes in leaves by the second port.
fn forward_all() -> Vec<u8> {
    let actions = [Action::output(PortNumber(2))];
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    let add = FlowMod {
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    };
    let mut bytes = Vec::new();
    add.emit(TransactionId(1), &mut bytes);
    emit_barrier_request(TransactionId(2), &mut bytes);
    bytes
}

fn teach(tester: &mut VirtualTester, orders: Vec<Vec<u8>>) {
    let apart = tester.control_link().apart;
    let orders = (0u64..).zip(orders).map(|(place, bytes)| Order {
        due: apart * place,
        bytes,
    });
    let trial = Trial {
        orders: orders.collect(),
        drain: Duration::from_ms(500),
        ..Trial::default()
    };
    tester.run(trial, &mut Deaf).unwrap();
}

/// Returns a trial of so many frames from the first port.
fn frames(frame: &[u8], count: u64) -> Trial {
    let sender = Regular {
        frame: frame.to_vec(),
        left: count,
        apart: APART,
        due: APART,
    };
    Trial {
        streams: vec![Stream {
            from: PortIndex(0),
            sender: Box::new(sender),
        }],
        length: APART * (count + 1),
        drain: APART,
        ..Trial::default()
    }
}

#[derive(Debug)]
struct Regular {
    frame: Vec<u8>,
    left: u64,
    apart: Duration,
    due: Duration,
}

impl Sender for Regular {
    fn next_due(&self) -> Option<Duration> {
        (self.left > 0).then_some(self.due)
    }

    fn emit(&mut self, after: Duration, frame: &mut Vec<u8>) -> Option<Outgoing> {
        let due = self.next_due().filter(|due| *due <= after)?;
        self.left -= 1;
        self.due += self.apart;
        frame.clone_from(&self.frame);
        Some(Outgoing { due })
    }

    fn listens(&self) -> bool {
        false
    }
}

#[derive(Default)]
struct Seen {
    sent: Vec<Instant>,
    received: Vec<Instant>,
    heard: Vec<(Instant, Vec<u8>)>,
    ordered: Vec<(usize, Instant)>,
}

impl Seen {
    fn delays(&self) -> Vec<Duration> {
        let pairs = self.sent.iter().zip(&self.received);
        pairs.map(|(sent, came)| *came - *sent).collect()
    }
}

impl Watcher for Seen {
    fn see(&mut self, sighting: &Sighting<'_>) {
        match (sighting.way, sighting.port) {
            (Way::Sent, PortIndex(0)) => self.sent.push(sighting.at),
            (Way::Received, PortIndex(1)) => self.received.push(sighting.at),
            other => panic!("{other:?}"),
        }
    }

    fn hear(&mut self, at: Instant, bytes: &[u8]) {
        self.heard.push((at, bytes.to_vec()));
    }

    fn ordered(&mut self, order: usize, at: Instant) {
        self.ordered.push((order, at));
    }
}
