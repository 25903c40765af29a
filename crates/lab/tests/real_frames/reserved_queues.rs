//! Frames that a level gives up and that the kernel has queued already: what the level
//! favours does not wait for them (S2-7, decision 0015).

use std::net::TcpListener;

use lab::network::LabNetwork;
use lab::switches::{Forwarding, SwitchSettings, Switches};
use linux::qdisc::{QUEUES, QueueReader, QueueState};
use linux::sender::Sender;
use linux::tap::{Direction, Tap};
use switch::{Config, Pacing, PortConfig};
use units::{BitRate, Duration};
use wire::ethernet::{EtherType, MacAddress};
use wire::mode_signal::Level;
use wire::openflow::oxm::Masked;
use wire::openflow::taktos::{
    LevelSet, ModeCommand, ModeConfig, ModeFlags, ModeKey, ModeMessage, ModeSet, MonitorCommand,
    MonitorContract, MonitorId, MonitorMod,
};
use wire::openflow::{
    Action, DatapathId, MatchField, PortNumber, QueueId, Sequence, TransactionId,
};

use crate::modes::{add, message};
use crate::switch::{Controller, plan};
use crate::{await_some, kernel_forwards, namespace_or_skip, next_frame};

const CONTROLLER_PORT: u16 = 6653;
const STALL: Duration = Duration::from_us(100);
/// Slow enough for dozens of frames to wait: 12 ms each.
const SLOW: BitRate = BitRate::from_mbps(1);
const LONG: usize = 1514;
const MONITOR: MonitorId = MonitorId(4);
const AGREED_BYTES: u32 = 100;
/// What the higher level gives up, and what it favours.
const GIVEN_UP: u16 = 0x88b5;
const FAVOURED: u16 = 0x88b6;
/// The queue of what is given up.
const COMMON: u8 = 5;
/// The queue of what is favoured below the higher level, and at it.
const USUAL: u8 = 3;
const RESERVED: u8 = 6;
/// Frames of an attempt: that wait when the level rises, that come later, favoured ones.
const WAITING: u32 = 60;
const LATE: u32 = 5;
const URGENT: u32 = 5;
/// So many have to wait still, or the machine stood still and the attempt says nothing.
const ENOUGH: u32 = 10;

fn config() -> Config {
    let rates = [BitRate::from_mbps(100), SLOW];
    let ports = (1..).zip(rates).map(|(number, rate)| PortConfig {
        number: PortNumber(number),
        name: format!("p{number}"),
        mac: MacAddress([2, 9, 0, 0, 0, 1]),
        rate: Some(rate),
        pacing: Pacing::Core,
    });
    Config::new(DatapathId(1), ports.collect())
}

/// Tells the switch what to do at both levels.
fn tell_all(controller: &mut Controller) {
    controller.tell(|out| {
        let contracts = [AGREED_BYTES, u32::MAX].map(|size_bytes| MonitorContract {
            period: Duration::ZERO,
            size_bytes,
        });
        let monitor = MonitorMod {
            command: MonitorCommand::Add,
            monitor: MONITOR,
            jitter: Duration::ZERO,
            contracts: Sequence::of(&contracts),
        };
        ModeMessage::MonitorMod(monitor).emit(TransactionId(2), out);
        let watched = MatchField::EthType(EtherType::IPV4);
        add(out, &[watched], &[Action::FlowMonitor(MONITOR)]);
        for (kind, level, queue) in [
            (GIVEN_UP, 0, COMMON),
            (FAVOURED, 0, USUAL),
            (FAVOURED, 1, RESERVED),
        ] {
            let matching = [
                MatchField::EthType(EtherType(kind)),
                MatchField::Level(Masked::exact(level)),
            ];
            let queue = Action::SetQueue(QueueId(u32::from(queue)));
            add(out, &matching, &[queue, Action::output(PortNumber(2))]);
        }
        let config = ModeConfig {
            hold: None,
            heart_beat: None,
            key: ModeKey([7; 16]),
            complete: LevelSet::ALL,
            default: Level::LOWEST,
            flags: ModeFlags::NONE,
            trunks: Sequence::EMPTY,
        };
        ModeMessage::Config(config).emit(TransactionId(3), out);
    });
    controller.await_all();
}

fn force_lowest(controller: &mut Controller) {
    let set = ModeSet {
        command: ModeCommand::Force,
        level: Level::LOWEST,
    };
    controller.tell(|out| ModeMessage::Set(set).emit(TransactionId(5), out));
    controller.await_all();
}

/// Returns a frame of a type that is marked by a number.
fn frame(kind: u16, length: usize, mark: u32) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    frame.extend(kind.to_be_bytes());
    frame.resize(length - 4, 0);
    frame.extend(mark.to_be_bytes());
    frame
}

struct Attempt {
    /// What is given up and waited still when all that is favoured was queued.
    waited: u32,
    /// The types and marks of what arrived, in order.
    arrived: Vec<(u16, u32)>,
}

struct Bench {
    controller: Controller,
    sender: Sender,
    tap: Tap,
    reader: QueueReader,
    attempts: u32,
    _switches: Switches,
    _network: LabNetwork,
}

impl Bench {
    fn new() -> Self {
        let network = LabNetwork::build(&plan()).unwrap();
        let address = ("0.0.0.0", CONTROLLER_PORT);
        let listener = network.control.run(|| TcpListener::bind(address).unwrap());
        let settings = SwitchSettings::for_this_machine(Forwarding::Kernel, STALL, CONTROLLER_PORT);
        let switches = Switches::start(&network, &[config()], settings).unwrap();
        let mut controller = Controller::accept(&listener);
        tell_all(&mut controller);
        let index = |cable: usize, end: usize| network.cables[cable].sockets[end].interface.index();
        let class = linux::qdisc::class(USUAL);
        Self {
            controller,
            sender: network.hosts[0].run(|| Sender::open(index(0, 0), class).unwrap()),
            tap: network.hosts[1].run(|| Tap::open(index(1, 0), 1 << 20).unwrap()),
            reader: network.switches[0].run(|| QueueReader::open(index(1, 1)).unwrap()),
            attempts: 0,
            _switches: switches,
            _network: network,
        }
    }

    /// Has frames wait, raises the level, and sends what it favours behind them.
    fn attempt(&mut self) -> Attempt {
        force_lowest(&mut self.controller);
        self.attempts += 1;
        let waiting = (0..WAITING).map(|mark| frame(GIVEN_UP, LONG, mark));
        let late = (WAITING..WAITING + LATE).map(|mark| frame(GIVEN_UP, LONG, mark));
        let urgent = (0..URGENT).map(|mark| frame(FAVOURED, 60, mark));
        let all = waiting
            .chain([message(self.attempts, AGREED_BYTES + 1)])
            .chain(late);
        for frame in all.chain(urgent) {
            self.sender.send(&frame).unwrap();
        }

        let queued = await_some("what is favoured in its queue", || {
            let states = self.reader.read().unwrap();
            (offered(&states, RESERVED) == u64::from(URGENT * self.attempts)).then_some(states)
        });
        let arrived = (0..WAITING + URGENT).map(|_| {
            let (bytes, _) = next_frame(&mut self.tap, Direction::In);
            let (_, mark) = bytes.split_last_chunk().unwrap();
            let kind = u16::from_be_bytes([bytes[12], bytes[13]]);
            (kind, u32::from_be_bytes(*mark))
        });
        Attempt {
            waited: queued[usize::from(COMMON)].waiting_frames,
            arrived: arrived.collect(),
        }
    }
}

/// Returns how many frames a queue was handed so far.
fn offered(states: &[QueueState; QUEUES as usize], queue: u8) -> u64 {
    let state = &states[usize::from(queue)];
    let gone = state.tally.sent_frames + state.tally.dropped_frames;
    gone + u64::from(state.waiting_frames)
}

#[test]
fn what_a_level_favours_passes_what_the_kernel_queued_before() {
    let test = "what_a_level_favours_passes_what_the_kernel_queued_before";
    if namespace_or_skip(test).is_none() || !kernel_forwards(test) {
        return;
    }
    let mut bench = Bench::new();

    // A machine that stands still meanwhile may find the queue empty.
    await_some("a queue that is still full", || {
        let Attempt { waited, arrived } = bench.attempt();

        let of = |kind: u16| arrived.iter().filter(move |(it, _)| *it == kind);
        let marks = |kind: u16| of(kind).map(|(_, mark)| *mark).collect::<Vec<_>>();
        assert_eq!(marks(GIVEN_UP), (0..WAITING).collect::<Vec<_>>());
        assert_eq!(marks(FAVOURED), (0..URGENT).collect::<Vec<_>>());
        let last = arrived.iter().rposition(|(kind, _)| *kind == FAVOURED);
        let behind = arrived.len() - 1 - last.unwrap();
        assert!(
            behind >= usize::try_from(waited).unwrap(),
            "{behind} left behind what is favoured, and {waited} waited"
        );
        (waited >= ENOUGH).then_some(())
    });

    let states = bench.reader.read().unwrap();
    let given_up = offered(&states, COMMON);
    assert_eq!(
        given_up,
        u64::from(WAITING * bench.attempts),
        "none came later"
    );
    assert_eq!(offered(&states, USUAL), 0, "none was of the lower level");
}
