//! What a group or a meter costs a frame, beside an entry that sends it out of a
//! port at once.
//!
//! Frames of 60 bytes, each of another flow; unpaced ports, so nothing but the
//! core is measured.

use divan::Bencher;
use divan::counter::ItemsCount;
use switch::{Config, ConnectionId, Input, Output, Pacing, Peer, PortConfig, Switch};
use units::Instant;
use wire::ethernet::MacAddress;
use wire::openflow::{
    Action, Actions, Band, Bands, Bucket, Buckets, DatapathId, Element, FlowMod, GroupId, GroupMod,
    GroupModCommand, GroupType, Hello, Instruction, Instructions, Message, MeterFlags, MeterId,
    MeterMod, MeterModCommand, PortNumber, TableId, TransactionId,
};

const CONTROLLER: ConnectionId = ConnectionId(1);
const FRAMES_A_ROUND: usize = 1024;
const GROUP: GroupId = GroupId(1);

fn main() {
    divan::main();
}

/// What the only entry does with a frame.
#[derive(Clone, Copy, Debug)]
enum Way {
    Output,
    Meter,
    Group(GroupType, u32),
}

const WAYS: [Way; 6] = [
    Way::Output,
    Way::Meter,
    Way::Group(GroupType::Indirect, 1),
    Way::Group(GroupType::FastFailover, 2),
    Way::Group(GroupType::Select, 2),
    Way::Group(GroupType::Select, 64),
];

#[divan::bench(args = WAYS)]
fn frames(bencher: Bencher<'_, '_>, way: Way) {
    let mut switch = switch_with(way);
    let frames: Vec<_> = (0..1000u16).map(frame_of).collect();
    let mut now = Instant::ZERO;

    bencher
        .counter(ItemsCount::new(FRAMES_A_ROUND))
        .bench_local(|| {
            let mut sent = 0;
            for bytes in frames.iter().cycle().take(FRAMES_A_ROUND) {
                now += units::Duration::from_ns(100);
                let frame = Input::Frame {
                    port: PortNumber(1),
                    bytes,
                    arrived: now,
                };
                switch.handle(now, frame);
                while let Some(output) = switch.poll() {
                    if let Output::Transmit { stay, departs, .. } = output {
                        switch.left(stay, departs);
                        sent += 1;
                    }
                }
            }
            assert_eq!(sent, FRAMES_A_ROUND, "every frame is forwarded");
        });
}

fn switch_with(way: Way) -> Switch {
    let ports = [1, 2].map(|number| PortConfig {
        number: PortNumber(number),
        name: format!("port{number}"),
        mac: MacAddress([2, 0, 0, 0, 1, 0]),
        rate: None,
        pacing: Pacing::Core,
    });
    let mut switch = Switch::new(Instant::ZERO, Config::new(DatapathId(1), ports.into()));
    let mut stream = Vec::new();
    Hello::OURS.emit(TransactionId(0), &mut stream);
    let out = [Action::output(PortNumber(2))];
    let grouped = [Action::Group(GROUP)];
    let instructions = match way {
        Way::Output => vec![Instruction::ApplyActions(Actions::of(&out))],
        Way::Meter => {
            add_meter(&mut stream);
            let meter = Instruction::Meter(MeterId(1));
            vec![meter, Instruction::ApplyActions(Actions::of(&out))]
        }
        Way::Group(kind, buckets) => {
            add_group(kind, buckets, &mut stream);
            vec![Instruction::ApplyActions(Actions::of(&grouped))]
        }
    };
    let flow_mod = FlowMod {
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    };
    flow_mod.emit(TransactionId(0), &mut stream);
    feed(&mut switch, &stream);
    switch
}

/// A meter that every frame stays below.
fn add_meter(stream: &mut Vec<u8>) {
    let band = Band::Drop {
        rate: u32::MAX,
        burst: 0,
    };
    Message::MeterMod(MeterMod {
        command: MeterModCommand::Add,
        flags: MeterFlags::PACKETS_PER_SECOND,
        meter: MeterId(1),
        bands: Bands::of(&[band]),
    })
    .emit(TransactionId(0), stream);
}

/// A group whose buckets all send out of port 2, and watch it.
fn add_group(kind: GroupType, buckets: u32, stream: &mut Vec<u8>) {
    let out = [Action::output(PortNumber(2))];
    let bucket = Bucket {
        weight: u16::from(kind == GroupType::Select),
        watch_port: PortNumber(2),
        ..Bucket::new(Actions::of(&out))
    };
    let mut written = Vec::new();
    (0..buckets).for_each(|_| bucket.emit(&mut written));
    Message::GroupMod(GroupMod {
        command: GroupModCommand::Add,
        kind,
        group: GROUP,
        buckets: Buckets::from_bytes(&written),
    })
    .emit(TransactionId(0), stream);
}

/// Lets the switch take a controller's stream completely.
fn feed(switch: &mut Switch, stream: &[u8]) {
    let (connection, peer) = (CONTROLLER, Peer::Controller);
    switch.handle(Instant::ZERO, Input::Connected { connection, peer });
    let bytes = stream;
    switch.handle(Instant::ZERO, Input::Received { connection, bytes });
    while switch.poll().is_some() {}
}

fn frame_of(flow: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00];
    frame.extend_from_slice(&[0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 1, 0, 1]);
    frame.extend_from_slice(&[10, 2, 0, 1]);
    frame.extend_from_slice(&flow.to_be_bytes());
    frame.resize(60, 0);
    frame
}
