//! One switch between two hosts, told what to do by a controller that is this
//! program.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use lab::network::{CablePlan, HostPlan, Network, Place, Plan};
use lab::switches::{Forwarding, Settings, Switches};
use lab::veth::Power;
use linux::clock::{WallClock, WallTime};
use linux::discipline;
use linux::port::PacketPort;
use linux::sender::Sender;
use linux::tap::{Direction, Tap};
use switch::{Config, Pacing, PortConfig};
use units::{BitRate, Duration, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::oxm::Masked;
use wire::openflow::{
    Action, Actions, DatapathId, Fields, FlowMod, FlowModCommand, Framer, Hello, Instruction,
    Instructions, MatchField, Message, PortNumber, TableId, TransactionId, emit_barrier_request,
};

const CONTROLLER_PORT: u16 = 6653;
const STALL: Duration = Duration::from_us(200);
const RING_BYTES: usize = 4 << 20;
/// Faster than any sender here, so that no queue grows.
const RATE: BitRate = BitRate::from_mbps(40_000);
/// An experimental EtherType (IEEE Std 802), which nobody listens to.
const ETHER_TYPE: [u8; 2] = [0x88, 0xb5];
/// Of the entry that forwards; those before it have more.
const PRIORITY: u16 = 10;
/// The queue of the frames.
const QUEUE: u8 = 7;

/// The switch with its hosts.
pub struct BenchSwitch {
    controller: Controller,
    /// Past the pacing of its host.
    flood: PacketPort,
    /// The same, to a host at the other end of the cable.
    direct: PacketPort,
    sender: Sender,
    /// At the host that sends and at the one that receives, once they are wanted.
    taps: Vec<Tap>,
    _switches: Switches,
    network: Network,
}

/// Returns a frame of so many bytes.
pub fn frame(length: usize) -> Vec<u8> {
    let mut frame = vec![0; length];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&ETHER_TYPE);
    frame
}

impl BenchSwitch {
    /// Builds it; the switch waits to be told what to do.
    pub fn start() -> Self {
        let network = Network::build(&plan()).expect("who may load programs may build");
        let listen = || TcpListener::bind(("0.0.0.0", CONTROLLER_PORT));
        let listener = network.control.run(listen).expect("the namespace is new");
        let settings = Settings::for_this_machine(Forwarding::Kernel, STALL, CONTROLLER_PORT);
        let switches = Switches::start(&network, &[config()], settings).expect("it was asked");
        let index = |host: usize| network.cables[host].sockets[0].interface.index();
        let flood = |host: usize| {
            let opened = network.hosts[host].run(|| PacketPort::open(index(host), RING_BYTES));
            opened.expect("memory")
        };
        let class = discipline::class(QUEUE);
        let sender = network.hosts[0].run(|| Sender::open(index(0), class));
        Self {
            controller: Controller::accept(&listener),
            flood: flood(0),
            direct: flood(2),
            sender: sender.expect("the right to it"),
            taps: Vec::new(),
            _switches: switches,
            network,
        }
    }

    /// Has all frames go to the other host, behind entries for `others` that match
    /// none of them, with `rewrites` further actions.
    pub fn join(&mut self, others: &[MatchField], rewrites: usize) {
        self.controller.tell(|out| {
            let everything = FlowMod {
                command: FlowModCommand::Delete,
                ..FlowMod::add(TableId(0))
            };
            everything.emit(TransactionId(2), out);
        });
        for (number, other) in (1..).zip(others) {
            self.controller.add(PRIORITY + number, &[*other], &[]);
        }
        let source = MatchField::EthSrc(Masked::exact(MacAddress([2, 0, 0, 0, 0, 9])));
        let mut actions = vec![Action::SetField(source); rewrites];
        actions.push(Action::output(PortNumber(2)));
        self.controller.add(PRIORITY, &[], &actions);
        self.controller.await_all();
    }

    /// Sends a frame at once, whatever the rate of the link.
    pub fn flood(&mut self, frame: &[u8]) {
        self.flood.send(frame);
    }

    /// Sends a frame at once, over a cable to another host.
    pub fn flood_directly(&mut self, frame: &[u8]) {
        self.direct.send(frame);
    }

    /// Begins to see frames leave and arrive, which takes time.
    pub fn tap(&mut self) {
        let tap = |host: usize| {
            let index = self.network.cables[host].sockets[0].interface.index();
            self.network.hosts[host].run(|| Tap::open(index, RING_BYTES))
        };
        self.taps = [0, 1].map(|host| tap(host).expect("memory")).into();
    }

    /// Sends a frame as a host does.
    pub fn send(&mut self, frame: &[u8]) {
        self.sender.send(frame).expect("the interface is there");
    }

    /// Forgets what the taps have seen.
    pub fn forget_the_past(&mut self) {
        for tap in &mut self.taps {
            while tap.take(|_| ()).is_some() {}
        }
    }

    /// Returns when the latest frame left one host and arrived at the other, if it
    /// did.
    pub fn stamps(&mut self) -> Option<(Instant, Instant)> {
        let wall = WallClock::sample();
        let [left, arrived] = &mut self.taps[..] else {
            return None;
        };
        let left = latest(left, Direction::Out)?;
        let arrived = latest(arrived, Direction::In)?;
        Some((wall.to_monotonic(left), wall.to_monotonic(arrived)))
    }
}

fn latest(tap: &mut Tap, direction: Direction) -> Option<WallTime> {
    let mut latest = None;
    while let Some(seen) = tap.take(|seen| (seen.direction == direction).then_some(seen.stamp)) {
        latest = seen.or(latest);
    }
    latest
}

fn plan() -> Plan {
    let port = |number: u32| Place::Switch {
        switch: 0,
        port: PortNumber(number),
        mac: MacAddress([2, 9, 0, 0, 0, 1]),
    };
    let cable = |host: usize, number| CablePlan {
        ends: [Place::Host(host), port(number)],
        rate: RATE,
        power: Power::On,
    };
    let between_hosts = CablePlan {
        ends: [Place::Host(2), Place::Host(3)],
        rate: RATE,
        power: Power::On,
    };
    let host = |name: &str, last| HostPlan {
        name: name.to_owned(),
        mac: MacAddress([2, 0, 0, 0, 0, last]),
    };
    Plan {
        switches: vec!["s1".to_owned()],
        hosts: vec![host("h1", 1), host("h2", 2), host("h3", 3), host("h4", 4)],
        cables: vec![cable(0, 1), cable(1, 2), between_hosts],
    }
}

fn config() -> Config {
    let ports = [1, 2].map(|number| PortConfig {
        number: PortNumber(number),
        name: format!("p{number}"),
        mac: MacAddress([2, 9, 0, 0, 0, 1]),
        rate: Some(RATE),
        pacing: Pacing::World,
    });
    Config::new(DatapathId(1), ports.to_vec())
}

/// The other end of the switch's OpenFlow connection.
struct Controller {
    stream: TcpStream,
    framer: Framer,
}

impl Controller {
    fn accept(listener: &TcpListener) -> Self {
        let (stream, _) = listener.accept().expect("the switch dials");
        let mut controller = Self {
            stream,
            framer: Framer::default(),
        };
        controller.tell(|out| Hello::OURS.emit(TransactionId(1), out));
        controller
    }

    fn add(&mut self, priority: u16, fields: &[MatchField], actions: &[Action]) {
        let instructions = [Instruction::ApplyActions(Actions::of(actions))];
        self.tell(|out| {
            let flow_mod = FlowMod {
                priority,
                matching: Fields::of(fields),
                instructions: Instructions::of(&instructions),
                ..FlowMod::add(TableId(0))
            };
            flow_mod.emit(TransactionId(2), out);
        });
    }

    /// Waits until all that was said is done.
    fn await_all(&mut self) {
        self.tell(|out| emit_barrier_request(TransactionId(3), out));
        let mut room = [0; 4096];
        loop {
            while let Some(message) = self.framer.next_message().expect("a switch of ours") {
                let (_, message) = Message::parse(message).expect("a switch of ours");
                assert!(!matches!(message, Message::Error(_)), "{message:?}");
                if message == Message::BarrierReply {
                    return;
                }
            }
            let count = self.stream.read(&mut room).expect("it is there");
            assert!(count > 0, "the switch has gone");
            self.framer.push(&room[..count]);
        }
    }

    fn tell(&mut self, emit: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = Vec::new();
        emit(&mut bytes);
        self.stream.write_all(&bytes).expect("the switch is there");
    }
}
