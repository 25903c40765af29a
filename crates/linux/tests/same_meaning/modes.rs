//! Criticality modes: what controllers say of them, signals that are right or not
//! quite, and flows that do not always keep their contracts.

use units::Duration;
use wire::ethernet::{EtherType, MacAddress};
use wire::message_shim::MessageShim;
use wire::mode_signal::{Kind, LEVELS, Level, Mode, ModeSignal};
use wire::openflow::multipart::{MultipartRequest, RequestBody};
use wire::openflow::oxm::Masked;
use wire::openflow::taktos::{
    LevelSet, ModeCommand, ModeConfig, ModeFlags, ModeKey, ModeMessage, ModeSet, MonitorCommand,
    MonitorContract, MonitorId, MonitorMod, Question, Trunk,
};
use wire::openflow::{
    Action, Actions, DatapathId, Fields, FlowMod, Hello, Instruction, Instructions, MatchField,
    Message, PortNumber, Sequence, TableId, TransactionId,
};

use crate::case::{Case, Setup, Step};
use crate::pools::{IPV4, MACS};
use crate::random::Random;

const KEYS: [[u8; 16]; 2] = [*b"one of two keys.", *b"the other of two"];
pub const MONITORS: [u32; 3] = [1, 2, 7];
/// Where flows with the header of a message go.
const SHIM_PORT: u16 = 5004;
const SIGNAL_BYTES: usize = 58;

/// Returns the switch and the port at the other end of a trunk.
fn far_end(port: u8) -> (DatapathId, PortNumber) {
    (
        DatapathId(100 + u64::from(port)),
        PortNumber(u32::from(port) + 7),
    )
}

fn level(random: &mut Random) -> Level {
    Level::new(random.byte() % LEVELS).unwrap()
}

/// Returns a level as an entry may match it.
pub fn matched(random: &mut Random) -> MatchField {
    let value = random.byte() & 7;
    MatchField::Level(match random.below(3) {
        0 => Masked::under(value & 4, 4),
        1 => Masked::under(value & 1, 1),
        _ => Masked::exact(value & 3),
    })
}

/// Returns what a controller says of modes.
pub fn message(random: &mut Random, ports: u8) -> Vec<u8> {
    match random.below(10) {
        0 | 1 => config(random, ports),
        2..=6 => monitor(random),
        _ => set(random),
    }
}

/// Returns how the switch is to take part.
pub fn config(random: &mut Random, ports: u8) -> Vec<u8> {
    let mut trunks = Vec::new();
    for port in 1..=ports {
        if random.percent(70) {
            let (far_switch, far_port) = far_end(port);
            trunks.push(Trunk {
                port: PortNumber(port.into()),
                far_port,
                far_switch,
            });
        }
    }
    let any = random.byte();
    let holds = [None, Some(1), Some(100_000), Some(2_000_000_000)];
    let config = ModeConfig {
        hold: random.pick(&holds).map(Duration::from_ns),
        heart_beat: random.once_in(4).then_some(Duration::from_ms(300)),
        key: ModeKey(random.pick(&[KEYS[0], KEYS[0], KEYS[1]])),
        complete: LevelSet(random.pick(&[0xff, 0xff, 0xff, 0x0f, any])),
        default: level(random),
        flags: random.pick(&[
            ModeFlags(0),
            ModeFlags(0),
            ModeFlags(0),
            ModeFlags::LOCKED,
            ModeFlags::ASK,
        ]),
        trunks: Sequence::of(&trunks),
    };
    bytes(&ModeMessage::Config(config))
}

fn monitor(random: &mut Random) -> Vec<u8> {
    let id = MonitorId(random.pick(&MONITORS));
    let mut contracts = Vec::new();
    let (mut period, mut size_bytes) = (random.pick(&[0, 1_000_000, 100_000_000]), 0);
    let deletes = random.once_in(8);
    for _ in 0..random.between(1, 8) {
        let half = period / 2;
        period -= random.pick(&[0, half]);
        size_bytes += random.pick(&[0, 40, 400, 4_000]);
        contracts.push(MonitorContract {
            period: Duration::from_ns(period),
            size_bytes,
        });
    }
    let monitor = MonitorMod {
        command: match deletes {
            true => MonitorCommand::Delete,
            false => MonitorCommand::Add,
        },
        monitor: id,
        jitter: Duration::from_ns(random.pick(&[0, 0, 500_000])),
        contracts: match deletes {
            true => Sequence::EMPTY,
            false => Sequence::of(&contracts),
        },
    };
    bytes(&ModeMessage::MonitorMod(monitor))
}

fn set(random: &mut Random) -> Vec<u8> {
    let command = random.pick(&[ModeCommand::Lower, ModeCommand::Force, ModeCommand::Demand]);
    let level = match random.percent(50) {
        true => Level::LOWEST,
        false => level(random),
    };
    bytes(&ModeMessage::Set(ModeSet { command, level }))
}

/// Returns an entry for signals, or one for flows that are watched.
pub fn entry(random: &mut Random, ports: u8) -> Vec<u8> {
    let port = u32::try_from(random.between(1, ports.into())).unwrap();
    let monitor = random.pick(&MONITORS);
    match random.percent(50) {
        true => signals_arrange(),
        false => watch(monitor, port),
    }
}

fn signals_arrange() -> Vec<u8> {
    let fields = [MatchField::EthType(EtherType::MODE_SIGNAL)];
    add(&fields, &[Action::ModeArrange])
}

/// Returns an entry by which flows are watched and leave by a port.
fn watch(monitor: u32, port: u32) -> Vec<u8> {
    let fields = [
        MatchField::EthType(EtherType::IPV4),
        MatchField::IpProto(17),
        MatchField::UdpDst(SHIM_PORT),
    ];
    let monitor = Action::FlowMonitor(MonitorId(monitor));
    add(&fields, &[monitor, Action::output(PortNumber(port))])
}

fn add(fields: &[MatchField], actions: &[Action]) -> Vec<u8> {
    let instructions = [Instruction::ApplyActions(Actions::of(actions))];
    let flow_mod = FlowMod {
        priority: 11,
        matching: Fields::of(fields),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    };
    let mut out = Vec::new();
    flow_mod.emit(TransactionId(9), &mut out);
    out
}

/// Returns a frame that may change the mode, at a port.
pub fn frame(random: &mut Random, port: u8) -> Vec<u8> {
    let mut frame = match random.percent(40) {
        true => signal(random, port),
        false => shim(random),
    };
    match random.below(20) {
        0 => {
            let at = random.between(0, frame.len() - 1);
            frame[at] ^= 1 << random.below(8);
        }
        1 => frame.truncate(random.between(14, SIGNAL_BYTES)),
        2 => {
            frame.splice(12..12, [0x81, 0x00, 0xa0, 0x07]);
        }
        3..=6 => frame.resize(frame.len().max(60), 0),
        _ => {}
    }
    frame
}

fn signal(random: &mut Random, port: u8) -> Vec<u8> {
    let (mut sender, mut far_port) = far_end(port);
    if random.once_in(10) {
        sender = DatapathId(random.pick(&[1, 101, 102]));
    }
    if random.once_in(10) {
        far_port = PortNumber(8);
    }
    let signal = ModeSignal {
        kind: random.pick(&[Kind::Signal, Kind::Signal, Kind::HeartBeat]),
        mode: Mode {
            era: random.pick(&[0, 0, 0, 1, 1, 2, 3]),
            level: level(random),
        },
        origin: DatapathId(random.below(4)),
        sender,
        port: far_port,
    };
    let mut frame = Vec::new();
    let key = random.pick(&[KEYS[0], KEYS[0], KEYS[0], KEYS[0], KEYS[1]]);
    signal.emit_frame(MacAddress([2, 0, 0, 0, 9, port]), key, &mut frame);
    frame
}

/// Returns a signal of the neighbour at port 1.
fn neighbours_signal(era: u32, key: [u8; 16]) -> Vec<u8> {
    let (sender, port) = far_end(1);
    let level = Level::LOWEST;
    let signal = ModeSignal {
        kind: Kind::Signal,
        mode: Mode { era, level },
        origin: sender,
        sender,
        port,
    };
    let mut frame = Vec::new();
    signal.emit_frame(MacAddress([2, 0, 0, 0, 9, 1]), key, &mut frame);
    frame
}

fn shim(random: &mut Random) -> Vec<u8> {
    let payload = random.between(0, 30);
    let shim = MessageShim {
        message: random.pick(&[0, 1, 1, 2, 3]),
        size_bytes: random.pick(&[0, 30, 300, 3_000, 300_000]),
        sequence: u32::try_from(random.between(0, 12)).unwrap(),
    };
    let mut body = Vec::new();
    shim.emit(&mut body);
    body.extend(random.bytes(payload));
    body.truncate(random.pick(&[4, 100, 100, 100, 100, 100]));
    datagram_of(&body)
}

/// Returns a message of one packet.
fn datagram(message: u32) -> Vec<u8> {
    let shim = MessageShim {
        message,
        size_bytes: 8,
        sequence: message,
    };
    let mut body = Vec::new();
    shim.emit(&mut body);
    body.extend([0; 8]);
    datagram_of(&body)
}

fn datagram_of(body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len() + 8).unwrap();
    let mut frame = [MACS[0].0, MACS[1].0].concat();
    frame.extend([0x08, 0x00, 0x45, 0]);
    frame.extend((length + 20).to_be_bytes());
    frame.extend([0, 7, 0, 0, 64, 17, 0, 0]);
    for address in [IPV4[0], IPV4[1]] {
        frame.extend(address.octets());
    }
    for word in [5003, SHIM_PORT, length, 0] {
        frame.extend(word.to_be_bytes());
    }
    frame.extend(body);
    frame
}

/// Returns a case in which a neighbour's link floods a switch with signals under
/// another key, and a host with messages beyond all contracts, so many of each in one
/// instant; in the end a controller asks what was counted.
pub fn flood(frames: usize) -> Case {
    let mut steps = vec![Step::Connect(1)];
    let mut hello = Vec::new();
    Hello::OURS.emit(TransactionId(0), &mut hello);
    let messages = [
        hello,
        one_trunk(),
        nothing_agreed(),
        signals_arrange(),
        watch(MONITORS[0], 1),
    ];
    steps.extend(messages.map(|message| Step::Message(1, message)));
    for number in 0..u32::try_from(frames).unwrap() {
        steps.push(Step::Frame(1, neighbours_signal(number, KEYS[1])));
        steps.push(Step::Frame(2, datagram(number)));
    }
    for question in [Question::Modes, Question::Monitors] {
        let mut asked = Vec::new();
        let body = RequestBody::Experimenter(question.body());
        let request = Message::MultipartRequest(MultipartRequest::new(body));
        request.emit(TransactionId(10), &mut asked);
        steps.push(Step::Message(1, asked));
    }
    let setup = Setup {
        ports: 2,
        tables: 1,
        masks: 64,
        room: 64,
        seed: 1,
        standalone: 0,
    };
    Case { setup, steps }
}

fn one_trunk() -> Vec<u8> {
    let (far_switch, far_port) = far_end(1);
    let port = PortNumber(1);
    let trunks = [Trunk {
        port,
        far_port,
        far_switch,
    }];
    bytes(&ModeMessage::Config(ModeConfig {
        hold: None,
        heart_beat: None,
        key: ModeKey(KEYS[0]),
        complete: LevelSet::ALL,
        default: Level::LOWEST,
        flags: ModeFlags::LOCKED,
        trunks: Sequence::of(&trunks),
    }))
}

fn nothing_agreed() -> Vec<u8> {
    let contracts = [MonitorContract {
        period: Duration::from_ns(0),
        size_bytes: 0,
    }];
    bytes(&ModeMessage::MonitorMod(MonitorMod {
        command: MonitorCommand::Add,
        monitor: MonitorId(MONITORS[0]),
        jitter: Duration::from_ns(0),
        contracts: Sequence::of(&contracts),
    }))
}

fn bytes(message: &ModeMessage<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    message.emit(TransactionId(8), &mut out);
    out
}
