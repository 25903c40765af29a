//! How long does a change of mode take in a switch, and what does a monitor cost a
//! packet?
//!
//! A change is timed from the frame that causes it (a signal, or a message that
//! violates its contract) to the moment in which later frames meet the new level and
//! the signals for the neighbours are ready to leave, with few and many entries, and
//! with frames that wait and will be judged. A monitor is timed by frames that are
//! forwarded with it and without.

#![expect(
    clippy::disallowed_methods,
    reason = "a benchmark of single calls takes the time itself"
)]

use std::time::Instant as Clock;

use switch::{Config, ConnectionId, Input, Output, Pacing, Peer, PortConfig, Switch};
use units::{BitRate, Duration, Instant};
use wire::ethernet::{EtherType, MacAddress};
use wire::message_shim::MessageShim;
use wire::mode_signal::{Kind, Level, Mode, ModeSignal};
use wire::openflow::oxm::Masked;
use wire::openflow::taktos::{
    LevelSet, ModeCommand, ModeConfig, ModeFlags, ModeKey, ModeMessage, ModeSet, MonitorCommand,
    MonitorContract, MonitorId, MonitorMod, QueuedFrameAction, QueuedFrameActions, Trunk,
};
use wire::openflow::{
    Action, Actions, DatapathId, Fields, FlowMod, Hello, Instruction, Instructions, MatchField,
    Message, PortNumber, QueueId, Sequence, TableId, TransactionId,
};

const CONTROLLER: ConnectionId = ConnectionId(1);
const KEY: ModeKey = ModeKey([7; 16]);
const MONITOR: MonitorId = MonitorId(1);
const CHANGES: u32 = 2_001;
const FRAMES: u32 = 1_000_000;
/// Hosts are at ports 1 and 2, neighbours at 3 and 4.
const PORTS: u32 = 4;

fn main() {
    println!("a change of mode, in nanoseconds: median and 99th percentile");
    println!("entries  waiting  by a signal      by a violation");
    for entries in [1, 100, 10_000] {
        for waiting in [0, 1_000] {
            let (median, late) = by_signals(entries, waiting);
            let (violated, violated_late) = by_violations(entries, waiting);
            println!(
                "{entries:>7}  {waiting:>7}  {median:>6} {late:>6}    {violated:>6} {violated_late:>6}"
            );
        }
    }
    println!("\na forwarded frame, in nanoseconds, the best of five runs");
    let best = |actions: &[Action]| {
        let runs = (0..5).map(|_| forwarding(actions));
        runs.min().expect("five")
    };
    let plain = best(&[out(2)]);
    let watched = best(&[Action::FlowMonitor(MONITOR), out(2)]);
    println!("without a monitor {plain}, with one {watched}");
}

/// Times changes that neighbours cause.
fn by_signals(entries: u32, waiting: u32) -> (u128, u128) {
    let mut switch = prepared(entries, waiting);
    let frames = (1..=CHANGES).map(|era| {
        let level = Level::new(u8::try_from(era % 8).expect("a level")).expect("a level");
        signal(Mode { era, level })
    });
    quantiles(frames.map(|frame| timed(&mut switch, 3, &frame)).collect())
}

/// Times changes that a flow causes; the level is lowered again in between.
fn by_violations(entries: u32, waiting: u32) -> (u128, u128) {
    let mut switch = prepared(entries, waiting);
    let lower = Message::Mode(ModeMessage::Set(ModeSet {
        command: ModeCommand::Force,
        level: Level::LOWEST,
    }));
    let times = (1..=CHANGES).map(|number| {
        tell(&mut switch, &lower);
        timed(&mut switch, 1, &message(number, 1_000))
    });
    quantiles(times.collect())
}

fn quantiles(mut times: Vec<u128>) -> (u128, u128) {
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}

fn timed(switch: &mut Switch, port: u32, bytes: &[u8]) -> u128 {
    let now = Instant::ZERO;
    let port = PortNumber(port);
    let input = Input::Frame {
        port,
        bytes,
        arrived: now,
    };
    let began = Clock::now();
    switch.handle(now, input);
    let took = began.elapsed();
    let mut signals = 0;
    while let Some(output) = switch.poll() {
        if let Output::Transmit { bytes, .. } = output {
            signals += u32::from(bytes[12..14] == EtherType::MODE_SIGNAL.0.to_be_bytes());
        }
    }
    assert!(signals >= 1, "the mode has changed");
    took.as_nanos()
}

/// Returns how long a frame takes on the average, in nanoseconds.
fn forwarding(actions: &[Action]) -> u128 {
    let mut switch = empty();
    add(&mut switch, &[MatchField::InPort(PortNumber(1))], actions);
    watch(&mut switch, u32::MAX);
    let mut frame = message(0, 100);
    let began = Clock::now();
    for number in 0..FRAMES {
        frame[42..46].copy_from_slice(&number.to_be_bytes());
        frame[50..54].copy_from_slice(&number.to_be_bytes());
        let now = Instant::from_ns(u64::from(number) * 1_000);
        let input = Input::Frame {
            port: PortNumber(1),
            bytes: &frame,
            arrived: now,
        };
        switch.handle(now, input);
        while let Some(output) = switch.poll() {
            if let Output::Transmit { stay, departs, .. } = output {
                switch.left(stay, departs);
            }
        }
    }
    began.elapsed().as_nanos() / u128::from(FRAMES)
}

/// A switch with so many entries, some of which are for flows at a level, and so many
/// frames that wait at port 2.
fn prepared(entries: u32, waiting: u32) -> Switch {
    let mut switch = empty();
    let of_signals = MatchField::EthType(EtherType::MODE_SIGNAL);
    add(&mut switch, &[of_signals], &[Action::ModeArrange]);
    for entry in 1..entries {
        let level = Masked::exact(u8::try_from(entry % 8).expect("a level"));
        let sender = MacAddress([4, 0, 0, 0, entry.to_be_bytes()[2], entry.to_be_bytes()[3]]);
        let fields = [
            MatchField::Level(level),
            MatchField::EthSrc(Masked::exact(sender)),
        ];
        add(&mut switch, &fields, &[out(2)]);
    }
    let from_host = MatchField::InPort(PortNumber(1));
    let udp = MatchField::EthType(EtherType::IPV4);
    let watched = [Action::FlowMonitor(MONITOR), out(4)];
    add(&mut switch, &[from_host, udp], &watched);
    watch(&mut switch, 500);
    for queue in 0..4 {
        let from = MatchField::InPort(PortNumber(2));
        let kind = MatchField::EthType(EtherType(0x9000 + queue));
        let fates = QueuedFrameActions::STAY.with(Level::HIGHEST, QueuedFrameAction::Drop);
        let queue = Action::SetQueue(QueueId(u32::from(queue)));
        add(
            &mut switch,
            &[from, kind],
            &[queue, Action::QueuedFrame(fates), out(1)],
        );
    }
    for frame in 0..waiting {
        let kind = 0x9000 + u16::try_from(frame % 4).expect("one of four");
        let mut bytes = vec![0; 60];
        bytes[12..14].copy_from_slice(&kind.to_be_bytes());
        let input = Input::Frame {
            port: PortNumber(2),
            bytes: &bytes,
            arrived: Instant::ZERO,
        };
        switch.handle(Instant::ZERO, input);
        while switch.poll().is_some() {}
    }
    switch
}

/// A switch without entries, with two neighbours; port 1 is slow.
fn empty() -> Switch {
    let ports = (1..=PORTS).map(|number| PortConfig {
        number: PortNumber(number),
        name: format!("port{number}"),
        mac: MacAddress([2, 0, 0, 0, 1, 0]),
        rate: (number == 1).then_some(BitRate::from_mbps(1)),
        pacing: Pacing::Core,
    });
    let mut config = Config::new(DatapathId(1), ports.collect());
    config.table_capacity = 20_000;
    config.keep_alive = None;
    let mut switch = Switch::new(Instant::ZERO, config);
    let (connection, peer) = (CONTROLLER, Peer::Controller);
    switch.handle(Instant::ZERO, Input::Connected { connection, peer });
    tell(&mut switch, &Message::Hello(Hello::OURS));
    let trunks = [3, 4].map(|port| Trunk {
        port: PortNumber(port),
        far_port: PortNumber(1),
        far_switch: DatapathId(100),
    });
    let config = ModeConfig {
        hold: Some(Duration::from_ns(1)),
        heart_beat: None,
        key: KEY,
        complete: LevelSet::ALL,
        default: Level::LOWEST,
        flags: ModeFlags(0),
        trunks: Sequence::of(&trunks),
    };
    tell(&mut switch, &Message::Mode(ModeMessage::Config(config)));
    switch
}

/// Watches a flow that may send so many bytes whenever it likes.
fn watch(switch: &mut Switch, size_bytes: u32) {
    let period = Duration::ZERO;
    let contracts = [size_bytes, u32::MAX].map(|size_bytes| MonitorContract { period, size_bytes });
    let monitor = MonitorMod {
        command: MonitorCommand::Add,
        monitor: MONITOR,
        jitter: Duration::ZERO,
        contracts: Sequence::of(&contracts),
    };
    tell(switch, &Message::Mode(ModeMessage::MonitorMod(monitor)));
}

fn add(switch: &mut Switch, fields: &[MatchField], actions: &[Action]) {
    let instructions = [Instruction::ApplyActions(Actions::of(actions))];
    let flow_mod = FlowMod {
        priority: 100,
        matching: Fields::of(fields),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    };
    tell(switch, &Message::FlowMod(flow_mod));
}

fn tell(switch: &mut Switch, message: &Message<'_>) {
    let mut bytes = Vec::new();
    message.emit(TransactionId(1), &mut bytes);
    let connection = CONTROLLER;
    let bytes = &bytes;
    switch.handle(Instant::ZERO, Input::Received { connection, bytes });
    while switch.poll().is_some() {}
}

const fn out(port: u32) -> Action {
    Action::output(PortNumber(port))
}

fn signal(mode: Mode) -> Vec<u8> {
    let mut frame = Vec::new();
    let signal = ModeSignal {
        kind: Kind::Signal,
        mode,
        origin: DatapathId(9),
        sender: DatapathId(100),
        port: PortNumber(1),
    };
    signal.emit_frame(MacAddress([2, 0, 0, 0, 2, 0]), KEY.0, &mut frame);
    frame
}

/// A datagram that is a whole message.
fn message(number: u32, size_bytes: u32) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    frame.extend([
        0x45, 0, 0, 60, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ]);
    frame.extend([3, 232, 7, 208, 0, 40, 0, 0]);
    let shim = MessageShim {
        message: number,
        size_bytes,
        sequence: number,
    };
    shim.emit(&mut frame);
    frame.resize(14 + 60, 0);
    frame
}
