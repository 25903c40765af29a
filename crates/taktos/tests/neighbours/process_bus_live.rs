//! Sampled Values and GOOSE exchanged with open61850 over a cable while both sides run:
//! it follows what we publish, and we identify what it publishes.

use std::fs;
use std::io::Write;
use std::process::Command;

use linux::clock;
use linux::interface::Interface;
use linux::sender::{ClassId, Sender};
use linux::tap::{Direction, RING_BYTES, Tap};
use measure::identity::{FlowKey, identify};
use measure::traffic::{Goose, SampledValues, Source, goose, sampled_values};
use units::{Duration, Instant};
use wire::ethernet::MacAddress;

use crate::workbench::{Workbench, python_or_skip};

/// Samples a second: few enough for a subscriber in Python to miss none.
const RATE: u32 = 400;
const LENGTH: Duration = Duration::from_ms(1_500);
/// How long open61850 listens before it says what it saw.
const SECONDS: &str = "10";
const FRAMES_OF_SAMPLES: usize = 600;

#[test]
fn open61850_follows_what_we_publish() {
    let test = "open61850_follows_what_we_publish";
    let Some(programs) = python_or_skip(test, "open61850") else {
        return;
    };
    let Some(mut bench) = Workbench::new(test, 1) else {
        return;
    };
    let mut supervise = Command::new(programs.join("open61850-supervise"));
    supervise
        .args(["port1", "--live", "--quiet-new", "--sv-timeout", "60"])
        .args(["--sample-rate", &RATE.to_string(), "--duration", SECONDS]);
    let program = bench.start("supervise", supervise);
    bench.until("capture of open61850", || bench.within(packet_sockets) > 0);

    let sent = bench.within_host(1, publish);

    // The last state comes after all samples: once it is told, everything was seen.
    bench.until("last state at open61850", || {
        bench.log("supervise").matches("state change").count() >= 2
    });
    bench.await_end(program);
    let said = bench.log("supervise");
    let line = |name: &str| {
        let found = said
            .lines()
            .find(|line| line.contains(name) && line.contains(" missed"));
        found
            .unwrap_or_else(|| panic!("no {name} in {said}"))
            .to_owned()
    };
    let samples = line("TAKTOSMU01");
    // Its capture may open a little after its socket, and then begins with a later sample.
    let heard = samples.split(" samples").next();
    let heard = heard.and_then(|words| words.rsplit(": ").next()?.parse::<usize>().ok());
    assert!(
        heard.is_some_and(|heard| (FRAMES_OF_SAMPLES / 2..=FRAMES_OF_SAMPLES).contains(&heard)),
        "{samples}"
    );
    assert!(samples.contains(" 0 missed"), "{samples}");
    let states = line("TAKTOSLD0/LLN0$GO$trip");
    assert!(states.contains("stNum 3, 0 missed"), "{states}");
    assert!(!said.contains("malformed"), "{said}");
    assert!(sent > FRAMES_OF_SAMPLES, "{sent}");
}

#[test]
fn we_identify_what_open61850_publishes() {
    let test = "we_identify_what_open61850_publishes";
    let Some(programs) = python_or_skip(test, "open61850") else {
        return;
    };
    let Some(mut bench) = Workbench::new(test, 1) else {
        return;
    };
    let mut tap = bench.within_host(1, listen);
    let mut samples = Command::new(programs.join("open61850-sv"));
    samples
        .args([
            "port1",
            "02:00:00:00:00:07",
            "01:0c:cd:04:00:07",
            "OTHERMU01",
        ])
        .args(["--appid", "0x4007", "--conf-rev", "1", "--asdus", "2"])
        .args([
            "--rate",
            &RATE.to_string(),
            "--engine",
            "python",
            "--duration",
            "1",
        ]);
    let mut states = Command::new(programs.join("open61850-goose"));
    states
        .args(["port1", "02:00:00:00:00:08", "01:0c:cd:01:00:07"])
        .args(["OTHERLD0/LLN0$GO$gcb01", "OTHERLD0/LLN0$ds01", "true"])
        .args(["--appid", "7"]);

    let publisher = bench.start("sv", samples);
    let (device, mut input) = bench.start_interactive("goose", states);
    let mut heard = Heard::default();
    bench.until("first state", || heard.read(&mut tap).states.contains(&1));
    input.write_all(b"false\n").unwrap();
    bench.until("second state", || heard.read(&mut tap).states.contains(&2));
    drop(input);
    bench.await_end(device);
    bench.await_end(publisher);
    heard.read(&mut tap);

    assert_eq!(tap.lost(), 0);
    // A publisher in Python may leave frames out; what it says that it sent we heard.
    let said = bench.log("sv");
    assert!(
        heard.samples.len() >= 100,
        "{} of {said}",
        heard.samples.len()
    );
    let steps = heard
        .samples
        .windows(2)
        .map(|pair| (pair[1] + RATE - pair[0]) % RATE);
    assert!(
        steps.clone().all(|step| step % 2 == 0),
        "{:?}",
        heard.samples
    );
    assert!(said.contains(&heard.samples.len().to_string()), "{said}");
    assert!(heard.states.is_sorted(), "{:?}", heard.states);
}

/// What was heard: the numbers of samples and of states.
#[derive(Default)]
struct Heard {
    samples: Vec<u32>,
    states: Vec<u64>,
}

impl Heard {
    fn read(&mut self, tap: &mut Tap) -> &Self {
        while tap
            .take(|frame| {
                if frame.direction == Direction::In
                    && let Some(identity) = identify(frame.bytes)
                {
                    match identity.key {
                        FlowKey::SampledValues { application, .. } => {
                            assert_eq!(application, 0x4007);
                            self.samples.push(u32::try_from(identity.number).unwrap());
                        }
                        FlowKey::Goose { application, .. } => {
                            assert_eq!(application, 7);
                            self.states.push(identity.number >> u32::BITS);
                        }
                        FlowKey::Datagram { .. } | FlowKey::Mms { .. } => {}
                    }
                }
            })
            .is_some()
        {}
        self
    }
}

fn listen() -> Tap {
    let index = Interface::named("uplink").unwrap().index();
    let tap = Tap::open(index, RING_BYTES).unwrap();
    tap.receive_for_anybody(index).unwrap();
    tap
}

/// Returns how many packet sockets there are.
fn packet_sockets() -> usize {
    let sockets = fs::read_to_string("/proc/thread-self/net/packet").unwrap();
    sockets.lines().count() - 1
}

/// Publishes samples and two changes of a state, each frame at its time. Returns how
/// many frames there were.
fn publish() -> usize {
    let index = Interface::named("uplink").unwrap().index();
    let mut sender = Sender::open(index, ClassId { major: 0, minor: 0 }).unwrap();
    let start = clock::now();
    let mut sources = sources();
    let (mut frame, mut sent) = (Vec::new(), 0);
    loop {
        let dues = sources.iter().enumerate();
        let dues = dues.filter_map(|(place, source)| Some((source.next_due()?, place)));
        let Some((due, place)) = dues.min() else {
            return sent;
        };
        clock::sleep_until(start + due.saturating_since(Instant::ZERO));
        if sources[place].emit(due, &mut frame).is_some() {
            sender.send(&frame).unwrap();
            sent += 1;
        }
    }
}

fn sources() -> [Source; 2] {
    let samples = SampledValues::new(&sampled_values::SampledValuesConfig {
        source: MacAddress([2, 0, 0, 0, 0, 1]),
        destination: MacAddress([0x01, 0x0c, 0xcd, 0x04, 0, 1]),
        vlan: None,
        application: 0x4001,
        sv_id: "TAKTOSMU01".to_owned(),
        rate: RATE,
        contract: None,
        start: Instant::ZERO,
        until: Some(Instant::ZERO + LENGTH),
    });
    let changes = [Duration::from_ms(700), LENGTH + Duration::from_ms(100)];
    let state = Goose::new(&goose::GooseConfig {
        source: MacAddress([2, 0, 0, 0, 0, 9]),
        destination: MacAddress([0x01, 0x0c, 0xcd, 0x01, 0, 9]),
        vlan: None,
        application: 9,
        control_block: "TAKTOSLD0/LLN0$GO$trip".to_owned(),
        min_time: Duration::from_ms(4),
        max_time: Duration::from_ms(1_000),
        changes: changes.map(|after| Instant::ZERO + after).to_vec(),
        contract: None,
        start: Instant::ZERO,
        until: Some(Instant::ZERO + LENGTH + Duration::from_ms(110)),
        unix_origin_ns: 0,
    });
    [Source::SampledValues(samples), Source::Goose(state)]
}
