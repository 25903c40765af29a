//! Criticality modes of one switch, seen from its neighbours and its controller.

mod allocation;
mod controller;
mod fates;
mod levels;
mod signals;
mod violations;

use switch::{Config, Input};
use units::{BitRate, Duration, Instant};
use wire::ethernet::{EtherType, Header, MacAddress};
use wire::message_shim::MessageShim;
use wire::mode_signal::{Kind, Level, Mode, ModeSignal};
use wire::openflow::multipart::{MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::oxm::Masked;
use wire::openflow::taktos::{
    Answer, LevelSet, ModeConfig, ModeCounters, ModeEvent, ModeFlags, ModeKey, ModeMessage,
    MonitorCommand, MonitorContract, MonitorId, MonitorMod, Question, Trunk,
};
use wire::openflow::{Action, DatapathId, ErrorKind, MatchField, Message, PortNumber, Sequence};

use crate::frames::udp;
use crate::world::{Answer as Received, CONTROLLER, World, from, ports};

const KEY: ModeKey = ModeKey(*b"0123456789abcdef");
const OWN: DatapathId = DatapathId(1);
const PERIOD: Duration = Duration::from_ms(10);
const MONITOR: MonitorId = MonitorId(7);

fn level(number: u8) -> Level {
    Level::new(number).expect("there is such a level")
}

fn mode(era: u32, number: u8) -> Mode {
    let level = level(number);
    Mode { era, level }
}

/// Ports 1 and 2 are for hosts, 3 and 4 are trunks.
fn trunks() -> [Trunk; 2] {
    [3, 4].map(|port| Trunk {
        port: PortNumber(port),
        far_port: PortNumber(10 + port),
        far_switch: DatapathId(100 + u64::from(port)),
    })
}

fn settings(trunks: &[Trunk]) -> ModeConfig<'_> {
    ModeConfig {
        hold: Some(Duration::from_ms(100)),
        heart_beat: None,
        key: KEY,
        complete: LevelSet::ALL,
        default: Level::LOWEST,
        flags: ModeFlags(0),
        trunks: Sequence::of(trunks),
    }
}

fn config(rate: Option<BitRate>) -> Config {
    Config {
        keep_alive: None,
        ..Config::new(OWN, ports(4, rate))
    }
}

/// A switch that takes part, whose frames from port 1 go to port 2, and signals where
/// they belong.
fn taking_part(rate: Option<BitRate>) -> World {
    let mut world = World::with_controller(config(rate));
    let of_signals = MatchField::EthType(EtherType::MODE_SIGNAL);
    world.add(1000, &[of_signals], &[Action::ModeArrange]);
    configure(&mut world, &settings(&trunks()));
    world.take_sent();
    world
}

fn configure(world: &mut World, config: &ModeConfig<'_>) {
    tell(world, &Message::Mode(ModeMessage::Config(*config)));
}

/// Sends a message that is not refused; what the switch says unasked is dropped.
fn tell(world: &mut World, message: &Message<'_>) {
    for answer in world.ask(message) {
        let is_unasked = matches!(answer.message(), Message::Mode(ModeMessage::Event(_)));
        assert!(is_unasked, "refused: {:?}", answer.message());
    }
}

/// Sends a message and returns the error that it is answered with.
fn refused(world: &mut World, message: &Message<'_>) -> ErrorKind {
    let answers = world.ask(message);
    let mut errors = answers.iter().filter_map(|answer| match answer.message() {
        Message::Error(error) => Some(error.kind),
        _ => None,
    });
    errors.next_back().expect("it is refused")
}

/// Watches a flow that may send 100 bytes a period, and twice as much at level 1.
fn watch(world: &mut World) {
    let contracts = [100, 200].map(|size_bytes| MonitorContract {
        period: PERIOD,
        size_bytes,
    });
    let monitor = MonitorMod {
        command: MonitorCommand::Add,
        monitor: MONITOR,
        jitter: Duration::ZERO,
        contracts: Sequence::of(&contracts),
    };
    tell(world, &Message::Mode(ModeMessage::MonitorMod(monitor)));
}

fn at_level(number: u8) -> MatchField {
    MatchField::Level(Masked::exact(number))
}

/// A message that fits one frame.
fn message(number: u32, size_bytes: u32) -> Vec<u8> {
    let mut payload = Vec::new();
    let shim = MessageShim {
        message: number,
        size_bytes,
        sequence: number,
    };
    shim.emit(&mut payload);
    payload.resize(payload.len() + 50, 0);
    udp(64, &payload)
}

/// A signal of the neighbour behind a trunk.
fn signal(kind: Kind, mode: Mode, port: u32) -> Vec<u8> {
    let trunk = trunks()[usize::try_from(port - 3).expect("a trunk")];
    signal_of(
        &ModeSignal {
            kind,
            mode,
            origin: DatapathId(9),
            sender: trunk.far_switch,
            port: trunk.far_port,
        },
        KEY,
    )
}

fn signal_of(signal: &ModeSignal, key: ModeKey) -> Vec<u8> {
    let mut frame = Vec::new();
    signal.emit_frame(MacAddress([2, 0, 0, 0, 9, 9]), key.0, &mut frame);
    frame
}

/// Returns the signals among frames that left, with their ports.
fn signals(sent: &[(u32, Vec<u8>)]) -> Vec<(u32, ModeSignal)> {
    let payload = |frame: &[u8]| ModeSignal::parse(Header::parse(frame).ok()?.1, KEY.0).ok();
    let sent = sent.iter();
    sent.filter_map(|(port, frame)| Some((*port, payload(frame)?)))
        .collect()
}

/// Returns the events that the controller was told since the last time.
fn events(world: &mut World) -> Vec<ModeEvent> {
    let told = world.answers(CONTROLLER);
    let told = told.iter().filter_map(|answer| match answer.message() {
        Message::Mode(ModeMessage::Event(event)) => Some(event),
        _ => None,
    });
    told.collect()
}

fn ask(world: &mut World, question: Question) -> Vec<Received> {
    let body = RequestBody::Experimenter(question.body());
    let mut answers = world.ask(&Message::MultipartRequest(MultipartRequest::new(body)));
    answers.retain(|answer| matches!(answer.message(), Message::MultipartReply(_)));
    answers
}

fn told(answer: &Received) -> Answer<'_> {
    match answer.message() {
        Message::MultipartReply(reply) => match reply.body {
            ReplyBody::Experimenter(body) => {
                let answer = Answer::parse(&body).expect("the switch writes what can be read");
                answer.expect("an answer of ours")
            }
            other => panic!("another answer: {other:?}"),
        },
        other => panic!("another answer: {other:?}"),
    }
}

/// Returns what the switch holds: the mode, the level served, and its counters.
fn held(world: &mut World) -> (Mode, Level, ModeCounters) {
    let answers = ask(world, Question::Modes);
    match told(&answers[0]) {
        Answer::Modes(status) => (status.mode, status.served, status.counters),
        other => panic!("another answer: {other:?}"),
    }
}

fn pass(world: &mut World, time: Duration) {
    let end = world.now + time;
    world.run_until(end);
}

/// Hands in a frame and returns what left by it.
fn through(world: &mut World, port: u32, frame: &[u8]) -> Vec<(u32, Vec<u8>)> {
    world.take_sent();
    world.frame(port, frame);
    world.take_sent()
}

fn from_host() -> MatchField {
    from(1)
}

fn timeout(world: &mut World, at: Instant) {
    world.now = at;
    world.handle(Input::Timeout);
}
