//! Measures the one-way latency through one switch on this machine, by kernel
//! stamps, and the rate at which frames begin to be lost: of a bare forwarder,
//! which is the floor, and of a Taktos switch with one entry a direction, by packet
//! sockets and by AF_XDP.
//!
//! `cargo run --release -p lab --example one_hop [FRAMES]`

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lab::network::{CablePlan, HostPlan, Network, Place, Plan};
use lab::switches::{Carried, Settings, Switches};
use lab::veth::Power;
use linux::clock;
use linux::port::PacketPort;
use linux::port::packet::RING_BYTES;
use linux::scheduling::{self, HIGHEST_NICE, Placement, Session, Wish};
use linux::sender::Sender;
use linux::tap::{Captured, Direction, Tap};
use switch::{Config, PortConfig};
use units::{BitRate, Duration, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::{
    Action, Actions, DatapathId, Fields, FlowMod, Framer, Hello, Instruction, Instructions,
    MatchField, Message, PortNumber, TableId, TransactionId, emit_barrier_request,
};

const SPACINGS: [Duration; 2] = [Duration::from_us(125), Duration::from_ms(1)];
const FRAME_BYTES: usize = 60;
const RATES: [u64; 7] = [
    200_000, 300_000, 400_000, 425_000, 450_000, 475_000, 500_000,
];
const TRIAL: Duration = Duration::from_ms(400);
const CONTROLLER_PORT: u16 = 6653;
/// Beyond all that is sent here, so that hosts pace nothing.
const LINK: BitRate = BitRate::from_mbps(10_000);
const STALL: Duration = Duration::from_us(100);

#[derive(Clone, Copy, Debug)]
enum Device {
    Bare,
    Taktos(Carried),
}

const DEVICES: [Device; 3] = [
    Device::Bare,
    Device::Taktos(Carried::Packet),
    Device::Taktos(Carried::Xdp),
];

impl Device {
    fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare, AF_PACKET",
            Self::Taktos(Carried::Packet) => "Taktos, AF_PACKET",
            Self::Taktos(Carried::Xdp) => "Taktos, AF_XDP",
        }
    }
}

fn main() {
    let frames = std::env::args()
        .nth(1)
        .map_or(8_000, |n| n.parse().expect("a number of frames"));
    let _session = Session::raise(HIGHEST_NICE);
    println!("one-way latency, us, spinning");
    println!(
        "{:<24} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7}",
        "", "every", "p50", "p99", "p99.9", "max", "lost"
    );
    for spacing in SPACINGS {
        for device in DEVICES {
            let latency = with(device, move |bench| bench.latency(spacing, frames));
            report(device, spacing, &latency);
        }
    }
    println!("frames lost per million, at the rate that the sender reached");
    for device in DEVICES {
        let losses = with(device, |bench| RATES.map(|rate| bench.loss(rate)));
        for trial in losses {
            let per_million = trial.lost * 1_000_000 / trial.sent.max(1);
            let reached = trial.sent * 1_000_000_000 / trial.took.as_ns().max(1);
            println!("{:<24} {reached:>8} /s {per_million:>8}", device.name());
        }
    }
}

/// Two hosts at a device, on a thread of their own, since threads inherit where
/// they may run.
fn with<R: Send + 'static>(
    device: Device,
    work: impl FnOnce(&mut Bench) -> R + Send + 'static,
) -> R {
    let run = move || {
        let network = Network::build(&plan()).expect("run as root");
        let processor = scheduling::dedicated_processor().expect("two processors");
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let switches = match device {
                Device::Bare => {
                    scope.spawn(|| forward(&network, processor, &stop));
                    None
                }
                Device::Taktos(carried) => Some(start_switch(&network, carried)),
            };
            scheduling::apply(Wish {
                nice: -10,
                placement: Placement::AllBut(processor),
            });
            let result = work(&mut Bench::open(&network));
            stop.store(true, Ordering::Relaxed);
            drop(switches);
            result
        })
    };
    thread::spawn(run).join().expect("the run does not panic")
}

fn plan() -> Plan {
    let host = |name: &str, last| HostPlan {
        name: name.to_owned(),
        mac: MacAddress([2, 0, 0, 0, 0, last]),
    };
    let cable = |host, number| {
        let mac = MacAddress([2, 9, 0, 0, 0, 1]);
        let port = Place::Switch {
            switch: 0,
            port: PortNumber(number),
            mac,
        };
        CablePlan {
            ends: [Place::Host(host), port],
            rate: LINK,
            power: Power::On,
        }
    };
    Plan {
        switches: vec!["s1".to_owned()],
        hosts: vec![host("h1", 1), host("h2", 2)],
        cables: vec![cable(0, 1), cable(1, 2)],
    }
}

fn forward(network: &Network, processor: usize, stop: &AtomicBool) {
    scheduling::apply(Wish {
        nice: HIGHEST_NICE,
        placement: Placement::Only(processor),
    });
    let [first, second] = [0, 1].map(|cable| network.cables[cable].sockets[1].interface.index());
    let open = |index| PacketPort::open(index, RING_BYTES).expect("a link");
    let [mut first, mut second] =
        [first, second].map(|index| network.switches[0].run(|| open(index)));
    while !stop.load(Ordering::Relaxed) {
        first.receive(|captured| second.send(captured.bytes));
        second.receive(|captured| first.send(captured.bytes));
    }
}

fn start_switch(network: &Network, carried: Carried) -> Switches {
    let ports = [1, 2].map(|number| PortConfig {
        number: PortNumber(number),
        name: format!("p{number}"),
        mac: MacAddress([2, 9, 0, 0, 0, 1]),
        rate: None,
    });
    let config = Config::new(DatapathId(1), ports.to_vec());
    let listener = network
        .control
        .run(|| TcpListener::bind(("0.0.0.0", CONTROLLER_PORT)));
    let listener = listener.expect("a fresh namespace");
    let settings = Settings {
        carried,
        ..Settings::for_this_machine(STALL, CONTROLLER_PORT)
    };
    let switches = Switches::start(network, &[config], settings).expect("its ports are there");
    join_ports(&listener);
    switches
}

/// Has frames that come in at one port sent out of the other, both ways.
fn join_ports(listener: &TcpListener) {
    let (mut stream, _) = listener.accept().expect("the switch dials");
    let mut out = Vec::new();
    Hello::OURS.emit(TransactionId(1), &mut out);
    for (from, to) in [(1, 2), (2, 1)] {
        let fields = [MatchField::InPort(PortNumber(from))];
        let actions = [Action::output(PortNumber(to))];
        let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
        let flow_mod = FlowMod {
            priority: 100,
            matching: Fields::of(&fields),
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(0))
        };
        flow_mod.emit(TransactionId(2), &mut out);
    }
    emit_barrier_request(TransactionId(3), &mut out);
    stream.write_all(&out).expect("the switch reads");
    let (mut framer, mut room) = (Framer::default(), [0; 4096]);
    loop {
        while let Some(message) = framer.next_message().expect("the switch speaks OpenFlow") {
            if matches!(Message::parse(message), Ok((_, Message::BarrierReply))) {
                return;
            }
        }
        let count = stream.read(&mut room).expect("the switch answers");
        framer.push(&room[..count]);
    }
}

/// What became of frames that were sent at a rate.
struct Trial {
    sent: u64,
    lost: u64,
    took: Duration,
}

struct Bench {
    sender: Sender,
    fast: PacketPort,
    left: Tap,
    right: Tap,
}

impl Bench {
    fn open(network: &Network) -> Self {
        let [a, b] = [0, 1].map(|cable| network.cables[cable].sockets[0].interface.index());
        let [left, right] = [&network.hosts[0], &network.hosts[1]];
        let class = lab::qdisc::class(7);
        Self {
            sender: left.run(|| Sender::open(a, class).expect("a link")),
            fast: left.run(|| PacketPort::open(a, 1 << 16).expect("a link")),
            left: left.run(|| Tap::open(a, RING_BYTES).expect("a link")),
            right: right.run(|| Tap::open(b, RING_BYTES).expect("a link")),
        }
    }

    fn latency(&mut self, spacing: Duration, frames: u32) -> Vec<Option<Duration>> {
        let mut sent = vec![None; frames as usize];
        let mut latency = vec![None; frames as usize];
        let start = clock::now() + Duration::from_ms(50);
        for number in 0..frames {
            clock::sleep_until(start + spacing * number);
            self.sender.send(&frame(number)).expect("an open link");
            self.note(&mut sent, &mut latency);
        }
        clock::sleep_until(clock::now() + Duration::from_ms(50));
        self.note(&mut sent, &mut latency);
        latency
    }

    fn note(&mut self, sent: &mut [Option<Instant>], latency: &mut [Option<Duration>]) {
        while self.left.take(|seen| note(&seen, sent)).is_some() {}
        while self.right.take(|seen| pair(&seen, sent, latency)).is_some() {}
    }

    /// Sends frames at a rate, or as fast as this machine can.
    fn loss(&mut self, rate: u64) -> Trial {
        const GROUP: u64 = 8;
        let frames = rate * TRIAL.as_ns() / 1_000_000_000;
        let start = clock::now();
        let (mut arrived, mut sent) = (0, 0);
        while sent < frames {
            let due = start + Duration::from_ns(sent * 1_000_000_000 / rate);
            while clock::now() < due {}
            for _ in 0..GROUP {
                self.fast.send(&frame(0));
                sent += 1;
            }
            while self.right.take(|_| ()).is_some() {
                arrived += 1;
            }
        }
        let took = clock::now() - start;
        clock::sleep_until(clock::now() + Duration::from_ms(50));
        while self.right.take(|_| ()).is_some() {
            arrived += 1;
        }
        while self.left.take(|_| ()).is_some() {}
        let lost = u64::saturating_sub(sent, arrived);
        Trial { sent, lost, took }
    }
}

fn frame(number: u32) -> [u8; FRAME_BYTES] {
    let mut frame = [0; FRAME_BYTES];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    frame[14..18].copy_from_slice(&number.to_be_bytes());
    frame
}

fn number(seen: &Captured<'_>) -> Option<usize> {
    let bytes = seen.bytes.get(14..18)?.try_into().ok()?;
    usize::try_from(u32::from_be_bytes(bytes)).ok()
}

fn note(seen: &Captured<'_>, times: &mut [Option<Instant>]) {
    if seen.direction == Direction::Out
        && let Some(time) = number(seen).and_then(|n| times.get_mut(n))
    {
        *time = Some(Instant::from_ns(seen.stamp.as_ns()));
    }
}

fn pair(seen: &Captured<'_>, sent: &[Option<Instant>], latency: &mut [Option<Duration>]) {
    let Some(n) = number(seen) else { return };
    if let (Some(Some(sent)), Some(slot)) = (sent.get(n), latency.get_mut(n)) {
        *slot = Some(Instant::from_ns(seen.stamp.as_ns()).saturating_since(*sent));
    }
}

fn report(device: Device, spacing: Duration, latency: &[Option<Duration>]) {
    let mut seen: Vec<_> = latency.iter().flatten().map(|d| d.as_ns()).collect();
    seen.sort_unstable();
    let at = |per_mille: usize| {
        let place = (seen.len() * per_mille / 1000).min(seen.len().saturating_sub(1));
        let ns = seen.get(place).copied().unwrap_or(0);
        format!("{}.{:02}", ns / 1000, ns % 1000 / 10)
    };
    println!(
        "{:<24} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7}",
        device.name(),
        spacing.to_string(),
        at(500),
        at(990),
        at(999),
        at(1000),
        latency.len() - seen.len(),
    );
}
