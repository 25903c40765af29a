//! How many frames a second does the switch core forward on one processor, how
//! many flow-mods does it take, and how long do frames stand still while many
//! entries change as one?
//!
//! Frames of 60 bytes (64 with check sequence), each to another entry, over a
//! table of mixed masks; unpaced ports, so nothing but the core is measured.

use divan::Bencher;
use divan::counter::ItemsCount;
use std::net::Ipv4Addr;
use switch::{Config, ConnectionId, Input, Output, Pacing, Peer, PortConfig, Switch};
use units::Instant;
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::oxm::Masked;
use wire::openflow::{
    Action, Actions, BundleAdd, BundleControl, BundleControlKind, BundleFlags, BundleId,
    DatapathId, FlowMod, FlowModCommand, Hello, Instruction, Instructions, Match, MatchField,
    PortNumber, Sequence, TableId, TransactionId,
};

const CONTROLLER: ConnectionId = ConnectionId(1);
const SENDER: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const RECEIVER: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const BUNDLE: BundleId = BundleId(1);
const FRAMES_A_ROUND: usize = 1024;
/// Masks differ in the length of a prefix, and in which addresses they look at.
const PREFIXES: u32 = 8;
const MASKS_MAX: u32 = 4 * PREFIXES;

/// Shows the allocations of each benchmark: there are none.
#[global_allocator]
static ALLOCATOR: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
}

#[divan::bench(args = [
    (10, 1), (100, 1), (1_000, 1), (100_000, 1),
    (10, 8), (100, 8), (1_000, 8), (100_000, 8),
    (100, 32), (1_000, 32), (100_000, 32),
])]
fn frames_with_entries_and_masks(bencher: Bencher<'_, '_>, (entries, masks): (u32, u32)) {
    assert!(masks <= MASKS_MAX);
    let mut switch = switch_with(entries, masks);
    let frames: Vec<_> = (0..entries).map(frame_of).collect();
    let mut next = frames.iter().cycle();
    let mut now = Instant::ZERO;

    bencher
        .counter(ItemsCount::new(FRAMES_A_ROUND))
        .bench_local(|| {
            let mut sent = 0;
            for frame in next.by_ref().take(FRAMES_A_ROUND) {
                now += units::Duration::from_ns(100);
                let port = PortNumber(1);
                switch.handle(
                    now,
                    Input::Frame {
                        port,
                        bytes: frame,
                        arrived: now,
                    },
                );
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

/// A thousand entries added to an empty switch, read, checked and compiled.
#[divan::bench(args = [1, 8, 32])]
fn flow_mods_with_masks(bencher: Bencher<'_, '_>, masks: u32) {
    const FLOWS: u32 = 1000;
    let mut stream = Vec::new();
    Hello::OURS.emit(TransactionId(0), &mut stream);
    (0..FLOWS).for_each(|flow| add_entry(flow, masks, &mut stream));

    bencher
        .counter(ItemsCount::new(FLOWS))
        .with_inputs(empty_switch)
        .bench_local_values(|mut switch| {
            feed(&mut switch, &stream);
            switch
        });
}

/// The commit of a bundle that changes every entry: for so long no frame has its
/// turn. It is what the rules of one criticality mode would cost if a change of
/// mode had to write them.
#[divan::bench(args = [10, 100, 1_000, 4_000])]
fn entries_changed_as_one(bencher: Bencher<'_, '_>, entries: u32) {
    let mut bundle = Vec::new();
    control(BundleControlKind::OpenRequest, &mut bundle);
    (0..entries).for_each(|flow| add_change(flow, &mut bundle));
    let mut commit = Vec::new();
    control(BundleControlKind::CommitRequest, &mut commit);
    let prepared = || {
        let mut switch = switch_with(entries, 1);
        tell(&mut switch, &bundle);
        switch
    };

    bencher
        .counter(ItemsCount::new(entries))
        .with_inputs(prepared)
        .bench_local_values(|mut switch| {
            tell(&mut switch, &commit);
            switch
        });
}

/// Returns a switch with one entry a flow, spread evenly over masks that differ
/// in the length of a prefix.
fn switch_with(entries: u32, masks: u32) -> Switch {
    let mut stream = Vec::new();
    Hello::OURS.emit(TransactionId(0), &mut stream);
    (0..entries).for_each(|flow| add_entry(flow, masks, &mut stream));
    let mut switch = empty_switch();
    feed(&mut switch, &stream);
    assert_eq!(switch.cost().frame.lookups, masks.min(entries));
    switch
}

fn empty_switch() -> Switch {
    let ports = [1, 2].map(|number| PortConfig {
        number: PortNumber(number),
        name: format!("port{number}"),
        mac: MacAddress([2, 0, 0, 0, 1, 0]),
        rate: None,
        pacing: Pacing::Core,
    });
    let mut config = Config::new(DatapathId(1), ports.into());
    config.table_capacity = 100_000;
    config.seed = 0x5eed;
    Switch::new(Instant::ZERO, config)
}

/// Lets the switch take a controller's stream completely.
fn feed(switch: &mut Switch, stream: &[u8]) {
    let (connection, peer) = (CONTROLLER, Peer::Controller);
    switch.handle(Instant::ZERO, Input::Connected { connection, peer });
    tell(switch, stream);
}

/// Lets the switch take what its controller says further.
fn tell(switch: &mut Switch, stream: &[u8]) {
    for bytes in stream.chunks(4096) {
        let connection = CONTROLLER;
        switch.handle(Instant::ZERO, Input::Received { connection, bytes });
        while switch.poll().is_some() {}
    }
    while switch.deadline() == Some(Instant::ZERO) {
        switch.handle(Instant::ZERO, Input::Timeout);
        while switch.poll().is_some() {}
    }
}

fn add_entry(flow: u32, masks: u32, stream: &mut Vec<u8>) {
    let matching = match_of(flow, masks);
    let actions = [Action::output(PortNumber(2))];
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    let flow_mod = FlowMod {
        priority: 100,
        matching: matching.fields(),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    };
    flow_mod.emit(TransactionId(0), stream);
}

fn match_of(flow: u32, masks: u32) -> Match {
    let mask = flow % masks;
    let prefix = u32::MAX << (mask % PREFIXES);
    let fields = [
        MatchField::InPort(PortNumber(1)),
        MatchField::EthType(EtherType::IPV4),
        MatchField::Ipv4Dst(Masked::under(
            Ipv4Addr::from_bits(address_of(flow) & prefix),
            Ipv4Addr::from_bits(prefix),
        )),
    ];
    let looks_at = mask / PREFIXES;
    let receiver = (looks_at & 1 == 1).then_some(MatchField::EthDst(Masked::exact(RECEIVER)));
    let sender = (looks_at & 2 == 2).then_some(MatchField::EthSrc(Masked::exact(SENDER)));
    fields.into_iter().chain(receiver).chain(sender).collect()
}

/// Adds the change of an entry to a bundle: it sends elsewhere from now on.
fn add_change(flow: u32, stream: &mut Vec<u8>) {
    let matching = match_of(flow, 1);
    let actions = [Action::output(PortNumber(1))];
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    let mut message = Vec::new();
    FlowMod {
        command: FlowModCommand::ModifyStrict,
        priority: 100,
        matching: matching.fields(),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    }
    .emit(TransactionId(0), &mut message);
    BundleAdd {
        bundle: BUNDLE,
        flags: BundleFlags::ATOMIC,
        message: &message,
        properties: Sequence::EMPTY,
    }
    .emit(TransactionId(0), stream);
}

fn control(kind: BundleControlKind, stream: &mut Vec<u8>) {
    BundleControl {
        bundle: BUNDLE,
        kind,
        flags: BundleFlags::ATOMIC,
        properties: Sequence::EMPTY,
    }
    .emit(TransactionId(0), stream);
}

/// Addresses that no two prefixes share.
fn address_of(flow: u32) -> u32 {
    0x0a00_0000 | flow << PREFIXES
}

fn frame_of(flow: u32) -> Vec<u8> {
    let mut frame = [RECEIVER.0, SENDER.0].concat();
    frame.extend_from_slice(&[0x08, 0x00]);
    frame.extend_from_slice(&[0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 1, 0, 1]);
    frame.extend_from_slice(&address_of(flow).to_be_bytes());
    frame.resize(60, 0);
    frame
}
