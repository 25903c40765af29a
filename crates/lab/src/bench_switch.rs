//! One switch of the lab between two hosts, told what to do by this program: to find
//! out what a switch of the lab takes on this machine.
//!
//! It stands in namespaces as the switches of a run do, and beside it a cable joins
//! two hosts without a switch, for what sending costs anyway.

use std::io;
use std::net::{TcpListener, TcpStream};

use linux::clock::{WallClock, WallTime};
use linux::namespace::Namespace;
use linux::openflow_client::Client;
use linux::port::PacketPort;
use linux::qdisc;
use linux::sender::Sender;
use linux::tap::{Direction, Tap};
use switch::{Config, Pacing, PortConfig};
use thiserror::Error;
use units::{BitRate, DataSize, Duration, Instant};
use wire::bfd::{Encapsulation, SessionConfig};
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::oxm::Masked;
use wire::openflow::taktos::{
    BfdConfig, Eliminate, ExceedAction, HopConfig, HopMessage, ModeMessage, MonitorCommand,
    MonitorContract, MonitorId, MonitorMod, Police, PortSession, RecoveryAlgorithm,
    SequenceEncoding, StreamHandle, WatchedQueue,
};
use wire::openflow::{
    Action, DatapathId, FlowMod, FlowModCommand, MatchField, PortNumber, QueueId, Sequence,
    TableId, TransactionId,
};

use crate::flow_times;
use crate::network::{BuildError, CablePlan, HostPlan, LabNetwork, Place, Plan};
use crate::switches::{Forwarding, SwitchSettings, Switches, USUAL_ENTRIES};
use crate::veth::Power;

const CONTROLLER_PORT: u16 = 6653;
const STALL: Duration = Duration::from_us(200);
const RING_BYTES: usize = 4 << 20;
/// Faster than any sender here, so that no queue grows.
const RATE: BitRate = BitRate::from_mbps(40_000);
/// An experimental EtherType (IEEE Std 802), which nobody listens to.
const ETHER_TYPE: [u8; 2] = [0x88, 0xb5];
/// Of the entry that forwards; those before it have more.
const PRIORITY: u16 = 10;
const MONITOR: MonitorId = MonitorId(1);
/// Copies of the numbered frames would be ended.
const RECOVERY: Eliminate = Eliminate {
    stream: StreamHandle(1),
    algorithm: RecoveryAlgorithm::Vector,
    history: Eliminate::HISTORY_MAX,
    reset: Duration::from_secs(1),
    takes_unnumbered: false,
    strips_tag: true,
    encoding: SequenceEncoding::RTag,
    ways: None,
    tolerance: 0,
    hold: Duration::ZERO,
};
/// Packets that are seldom beside frames that are to come all the time.
const ASKED: SessionConfig = SessionConfig {
    encapsulation: Encapsulation::Ethernet,
    desired_min_tx_us: 100_000,
    required_min_rx_us: 100_000,
    detect_multiplier: 3,
    authentication: None,
    heart_beat_us: 350,
};
/// A contract that nobody breaks.
const GENEROUS: Police = Police {
    smallest: DataSize::from_bytes(84),
    largest: DataSize::from_bytes(10_000),
    rate: BitRate::from_mbps(400_000),
    burst: DataSize::from_bytes(1_000_000_000),
    frames: None,
    excess: ExceedAction::Drop,
};
/// What a hop may take: longer than any takes here, unless the machine stands still.
const HOP_BUDGET: Duration = Duration::from_ms(10);
/// The queue of the frames.
const QUEUE: u8 = 7;

/// Why there is no such switch.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The network does not stand.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The machine or the switch refuses.
    #[error("the switch that is to be measured: {0}")]
    Machine(#[from] io::Error),
}

/// The switch with its hosts.
#[derive(Debug)]
pub struct BenchSwitch {
    agent: Client<TcpStream>,
    ends: Ends,
    /// Past the pacing of its host, to a host at the other end of the cable.
    direct: PacketPort,
    _switches: Switches,
    _network: LabNetwork,
}

/// A host that sends, and one that receives.
#[derive(Debug)]
pub struct Ends {
    /// Past the pacing of its host.
    flood: PacketPort,
    sender: Sender,
    /// At the host that sends and at the one that receives, once they are wanted.
    taps: Vec<Tap>,
    hosts: [(Namespace, u32); 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watching {
    Nobody,
    /// A monitor of the switch.
    Monitor,
    /// Whoever wants to know how long frames stay, against a budget.
    Hops,
    /// A policer, by a contract that nobody breaks.
    Police,
    /// Nobody; but each frame gets the next number of a stream in a redundancy tag.
    Numbered,
    /// Nobody; but a recovery function hands each on, which comes with a number, without its
    /// tag.
    Recovered,
    /// The ends of both links, which note when frames come and leave (heart-beats).
    Neighbours,
    /// Both, as with flows that are promised something.
    PoliceAndHops,
}

impl Watching {
    const fn polices(self) -> bool {
        matches!(self, Self::Police | Self::PoliceAndHops)
    }

    const fn watches_hops(self) -> bool {
        matches!(self, Self::Hops | Self::PoliceAndHops)
    }
}

/// Where messages go that [`BenchSwitch::join_messages`] forwards.
pub const MESSAGE_PORT: u16 = 5001;

/// Returns a frame of so many bytes, without check sequence.
#[must_use]
pub fn frame(length: usize) -> Vec<u8> {
    let mut frame = vec![0; length];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&ETHER_TYPE);
    frame
}

impl BenchSwitch {
    /// Builds it, forwarded by the kernel; it waits to be told what to do.
    ///
    /// # Errors
    ///
    /// Without the privilege, or if the kernel does not forward here.
    pub fn start() -> Result<Self, BenchError> {
        Self::with_room_for(USUAL_ENTRIES)
    }

    /// The same, with memory in the kernel for so many entries.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn with_room_for(entries: usize) -> Result<Self, BenchError> {
        let network = LabNetwork::build(&plan())?;
        let listen = || TcpListener::bind(("0.0.0.0", CONTROLLER_PORT));
        let listener = network.control.run(listen)?;
        let usual = SwitchSettings::for_this_machine(Forwarding::Kernel, STALL, CONTROLLER_PORT);
        let settings = SwitchSettings { entries, ..usual };
        let config = Config {
            table_capacity: entries,
            ..config()
        };
        let switches = Switches::start(&network, &[config], settings)?;
        let index = |host: usize| network.cables[host].sockets[0].interface.index();
        let host = |host: usize| (&network.hosts[host], index(host));
        let direct = network.hosts[2].run(|| PacketPort::open(index(2), RING_BYTES))?;
        Ok(Self {
            agent: Client::accept(&listener)?,
            ends: Ends::open(host(0), host(1), false)?,
            direct,
            _switches: switches,
            _network: network,
        })
    }

    /// Has all frames go to the other host, behind entries for `others` that match
    /// none of them, with `rewrites` further actions, as frames of promised flows go: held to
    /// a contract, which they keep, and through a queue of which somebody wants to know how
    /// long they stay.
    ///
    /// # Errors
    ///
    /// If the switch refuses or does not answer.
    pub fn join(&mut self, others: &[MatchField], rewrites: usize) -> io::Result<()> {
        self.clear()?;
        for (number, other) in (1..).zip(others) {
            self.agent.add(PRIORITY + number, &[*other], &[])?;
        }
        let source = MatchField::EthSrc(Masked::exact(MacAddress([2, 0, 0, 0, 0, 9])));
        self.watch_hops(true)?;
        let mut actions = vec![Action::Police(GENEROUS)];
        actions.extend(vec![Action::SetField(source); rewrites]);
        actions.push(Action::output(PortNumber(2)));
        self.agent.add(PRIORITY, &[], &actions)?;
        Ok(self.agent.await_all()?)
    }

    /// Has datagrams to [`MESSAGE_PORT`] go to the other host, past a monitor of messages
    /// that may be as large and as many as they like, or past none, and through a queue of
    /// which somebody wants to know how long frames stay, or nobody.
    ///
    /// # Errors
    ///
    /// If the switch refuses or does not answer.
    pub fn join_messages(&mut self, watching: Watching) -> io::Result<()> {
        self.clear()?;
        let mut actions = Vec::new();
        if watching == Watching::Monitor {
            self.watch()?;
            actions.push(Action::FlowMonitor(MONITOR));
        }
        if watching.polices() {
            actions.push(Action::Police(GENEROUS));
        }
        if watching == Watching::Numbered {
            actions.push(Action::Sequence(RECOVERY.stream));
        }
        if watching == Watching::Recovered {
            actions.push(Action::Eliminate(RECOVERY));
        }
        self.watch_hops(watching.watches_hops())?;
        self.ask_neighbours(watching == Watching::Neighbours)?;
        actions.push(Action::output(PortNumber(2)));
        let fields = [
            MatchField::EthType(EtherType::IPV4),
            MatchField::IpProto(17),
            MatchField::UdpDst(MESSAGE_PORT),
        ];
        self.agent.add(PRIORITY, &fields, &actions)?;
        Ok(self.agent.await_all()?)
    }

    /// Has the switch forget all entries.
    fn clear(&mut self) -> io::Result<()> {
        let everything = FlowMod {
            command: FlowModCommand::Delete,
            ..FlowMod::add(TableId(0))
        };
        let emit = |out: &mut Vec<u8>| everything.emit(TransactionId(0), out);
        self.agent.tell(emit)
    }

    /// Has the switch watch how long frames stay, or not.
    fn watch_hops(&mut self, is_wanted: bool) -> io::Result<()> {
        let queue = [WatchedQueue {
            port: PortNumber(2),
            queue: QueueId(0),
            budget: Some(HOP_BUDGET),
        }];
        let queues = match is_wanted {
            true => Sequence::of(&queue),
            false => Sequence::EMPTY,
        };
        let config = HopMessage::Config(HopConfig { queues });
        self.agent.tell(|out| config.emit(TransactionId(0), out))
    }

    /// Has both ports ask whether a neighbour is there whose frames are heart-beats, or
    /// neither. Nobody answers, so nothing is made of it.
    fn ask_neighbours(&mut self, is_wanted: bool) -> io::Result<()> {
        let sessions = [1, 2].map(|port| PortSession {
            port: PortNumber(port),
            session: ASKED,
        });
        let sessions = match is_wanted {
            true => Sequence::of(&sessions),
            false => Sequence::EMPTY,
        };
        let config = BfdConfig { sessions };
        self.agent.tell(|out| config.emit(TransactionId(0), out))
    }

    /// Has the switch begin to watch by a contract that nobody breaks.
    fn watch(&mut self) -> io::Result<()> {
        let contracts = [MonitorContract {
            period: Duration::ZERO,
            size_bytes: u32::MAX,
        }];
        let monitor = MonitorMod {
            command: MonitorCommand::Add,
            monitor: MONITOR,
            jitter: Duration::ZERO,
            contracts: Sequence::of(&contracts),
        };
        let emit = |out: &mut Vec<u8>| ModeMessage::MonitorMod(monitor).emit(TransactionId(0), out);
        self.agent.tell(emit)
    }

    /// Has the frames of so many flows go to the other host, each known by its
    /// [address](crate::flow_times::address).
    ///
    /// # Errors
    ///
    /// If the switch refuses or does not answer.
    pub fn join_flows(&mut self, flows: usize, watching: Watching) -> io::Result<()> {
        self.clear()?;
        self.watch_hops(watching.watches_hops())?;
        let police = watching.polices().then_some(Action::Police(GENEROUS));
        let output = Action::output(PortNumber(2));
        let actions: Vec<_> = police.into_iter().chain([output]).collect();
        for flow in 0..flows {
            let to = MatchField::EthDst(Masked::exact(flow_times::address(flow)));
            self.agent.add(PRIORITY, &[to], &actions)?;
        }
        Ok(self.agent.await_all()?)
    }

    /// Returns the hosts at both ends.
    pub fn ends(&mut self) -> &mut Ends {
        &mut self.ends
    }

    /// Sends a frame at once, whatever the rate of the link.
    pub fn flood(&mut self, frame: &[u8]) {
        self.ends.flood(frame);
    }

    /// Sends a frame at once, over a cable to another host.
    pub fn flood_directly(&mut self, frame: &[u8]) {
        self.direct.send(frame);
    }

    /// Begins to see frames leave and arrive, which takes time.
    ///
    /// # Errors
    ///
    /// If the machine has no memory for it.
    pub fn tap(&mut self) -> io::Result<()> {
        self.ends.tap()
    }
}

impl Ends {
    /// Opens both, each in its namespace by the number of its interface.
    ///
    /// # Errors
    ///
    /// Without the privilege.
    pub fn open(
        left: (&Namespace, u32),
        right: (&Namespace, u32),
        tapped: bool,
    ) -> io::Result<Self> {
        let class = qdisc::class(QUEUE);
        let mut ends = Self {
            flood: left.0.run(|| PacketPort::open(left.1, RING_BYTES))?,
            sender: left.0.run(|| Sender::open(left.1, class))?,
            taps: Vec::new(),
            hosts: [
                (left.0.try_clone()?, left.1),
                (right.0.try_clone()?, right.1),
            ],
        };
        if tapped {
            ends.tap()?;
        }
        Ok(ends)
    }

    fn tap(&mut self) -> io::Result<()> {
        for (namespace, index) in &self.hosts {
            let tap = namespace.run(|| Tap::open(*index, RING_BYTES))?;
            self.taps.push(tap);
        }
        Ok(())
    }

    /// Sends a frame at once, whatever the rate of the link.
    pub fn flood(&mut self, frame: &[u8]) {
        self.flood.send(frame);
    }

    /// Sends a frame as a host does.
    ///
    /// # Errors
    ///
    /// If the interface has gone.
    pub fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.sender.send(frame).map(drop)
    }

    /// Returns how many frames the host that receives has received.
    ///
    /// # Errors
    ///
    /// If the kernel does not count.
    pub fn arrived(&self) -> io::Result<u64> {
        flow_times::received(&self.hosts[1].0)
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
        (left <= arrived).then(|| (wall.to_monotonic(left), wall.to_monotonic(arrived)))
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
        queue_frames: 0,
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
    Config {
        // Who tells it what to do answers nothing while it floods.
        keep_alive: None,
        ..Config::new(DatapathId(1), ports.to_vec())
    }
}
