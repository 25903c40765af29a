//! No more signals are ahead of one at a port than the bound of a change counts, however
//! much is said to a switch at once.

use calculus::mode_change::SIGNALS_AHEAD;
use switch::{Config, ConnectionId, Input, Output, Pacing, Peer, PortConfig, Switch};
use units::{BitRate, Duration, Instant};
use wire::ethernet::{EtherType, Header, MacAddress};
use wire::mode_signal::{Kind, Level, Mode, ModeSignal};
use wire::openflow::taktos::{LevelSet, ModeConfig, ModeFlags, ModeKey, ModeMessage, Trunk};
use wire::openflow::{
    Action, Actions, DatapathId, Fields, FlowMod, Hello, Instruction, Instructions, MatchField,
    Message, PortNumber, Sequence, TableId, TransactionId,
};

const KEY: ModeKey = ModeKey([5; 16]);
const CONTROLLER: ConnectionId = ConnectionId(1);
/// A signal takes 67 ms: all that is said here is said while the first one leaves.
const SLOW: BitRate = BitRate::from_bps(10_000);

/// One neighbour raises the level step by step. The other one is always behind, and says
/// so by signals and heart-beats, each of which is answered.
#[test]
fn no_more_signals_are_ahead_of_one_than_its_bound_counts() {
    let mut switch = taking_part();
    let mut now = Instant::ZERO;
    let mut left = Vec::new();
    run_until(&mut switch, now, &mut left);
    for level in (1..=7).filter_map(Level::new) {
        for (kind, level, port) in [
            (Kind::Signal, level, 1),
            (Kind::Signal, Level::LOWEST, 2),
            (Kind::HeartBeat, Level::LOWEST, 2),
        ] {
            now += Duration::from_us(1);
            hear(&mut switch, now, &mut left, (kind, level, port));
        }
    }
    run_until(&mut switch, now + Duration::from_secs(10), &mut left);

    let to_the_other = left.iter().filter(|(port, _)| *port == 2);
    let levels: Vec<Level> = to_the_other.map(|(_, signal)| signal.mode.level).collect();
    assert_eq!(levels.last(), Some(&Level::HIGHEST));
    // All of them are ahead of the last, which says what the first of its kind says.
    let ahead = u64::try_from(levels.len() - 1).expect("a few");
    assert!((1..=SIGNALS_AHEAD).contains(&ahead), "{levels:?}");
}

/// Lets the switch act at every time at which it wants to.
fn run_until(switch: &mut Switch, end: Instant, left: &mut Vec<(u32, ModeSignal)>) {
    drain(switch, left);
    while let Some(due) = switch.deadline().filter(|due| *due <= end) {
        switch.handle(due, Input::Timeout);
        drain(switch, left);
    }
}

fn hear(
    switch: &mut Switch,
    now: Instant,
    left: &mut Vec<(u32, ModeSignal)>,
    (kind, level, port): (Kind, Level, u32),
) {
    let mut trunks = trunks().into_iter();
    let trunk = trunks.find(|trunk| trunk.port == PortNumber(port));
    let trunk = trunk.expect("there are two");
    let signal = ModeSignal {
        kind,
        mode: Mode { era: 1, level },
        origin: DatapathId(9),
        sender: trunk.far_switch,
        port: trunk.far_port,
    };
    let mut frame = Vec::new();
    signal.emit_frame(MacAddress([2, 0, 0, 0, 9, 9]), KEY.0, &mut frame);
    let (port, arrived) = (PortNumber(port), now);
    let bytes = &frame;
    switch.handle(
        now,
        Input::Frame {
            port,
            bytes,
            arrived,
        },
    );
    drain(switch, left);
}

/// Notes the signals that begin to leave.
fn drain(switch: &mut Switch, left: &mut Vec<(u32, ModeSignal)>) {
    while let Some(output) = switch.poll() {
        match output {
            Output::Transmit {
                port,
                bytes,
                departs,
                stay,
                queue: _,
            } => {
                let payload = Header::parse(bytes).expect("a frame").1;
                let signal = ModeSignal::parse(payload, KEY.0).expect("a signal");
                left.push((port.0, signal));
                switch.left(stay, departs);
            }
            Output::Send { .. } | Output::Close { .. } | Output::Count => {}
        }
    }
}

/// A switch with two trunks that has been told how it takes part.
fn taking_part() -> Switch {
    let ports = [1, 2].map(|number| PortConfig {
        number: PortNumber(number),
        name: format!("p{number}"),
        mac: MacAddress([2, 0, 0, 0, 0, 1]),
        rate: Some(SLOW),
        pacing: Pacing::Core,
    });
    let mut config = Config::new(DatapathId(1), ports.to_vec());
    config.keep_alive = None;
    let mut switch = Switch::new(Instant::ZERO, config);
    switch.handle(
        Instant::ZERO,
        Input::Connected {
            connection: CONTROLLER,
            peer: Peer::Controller,
        },
    );
    let mut bytes = Vec::new();
    Hello::OURS.emit(TransactionId(0), &mut bytes);
    let actions = [Action::ModeArrange];
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    let of_signals = [MatchField::EthType(EtherType::MODE_SIGNAL)];
    Message::FlowMod(FlowMod {
        matching: Fields::of(&of_signals),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    })
    .emit(TransactionId(1), &mut bytes);
    let trunks = trunks();
    let config = ModeConfig {
        hold: Some(Duration::from_ms(100)),
        heart_beat: None,
        key: KEY,
        complete: LevelSet::ALL,
        default: Level::LOWEST,
        flags: ModeFlags::NONE,
        trunks: Sequence::of(&trunks),
    };
    Message::Mode(ModeMessage::Config(config)).emit(TransactionId(2), &mut bytes);
    let connection = CONTROLLER;
    let bytes = &bytes;
    switch.handle(Instant::ZERO, Input::Received { connection, bytes });
    switch
}

fn trunks() -> [Trunk; 2] {
    [1, 2].map(|port| Trunk {
        port: PortNumber(port),
        far_port: PortNumber(10 + port),
        far_switch: DatapathId(100 + u64::from(port)),
    })
}
