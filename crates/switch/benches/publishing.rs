//! How long does it take until everybody who walks the compiled tables sees a
//! change?
//!
//! A controller changes single entries of a table, and then all of them by one
//! bundle. Each time the call that takes the change and the one that publishes it
//! are timed; nobody walks meanwhile.

#![expect(
    clippy::disallowed_methods,
    reason = "a benchmark of single calls takes the time itself"
)]

use std::net::Ipv4Addr;
use std::time::Instant as Clock;

use switch::compiled::{Carried, Memory, Overflow, Sizes};
use switch::{Config, ConnectionId, Input, Pacing, Peer, PortConfig, Switch};
use units::Instant;
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::oxm::Masked;
use wire::openflow::{
    Action, Actions, BundleAdd, BundleControl, BundleControlKind, BundleFlags, BundleId,
    DatapathId, Fields, FlowMod, FlowModCommand, Hello, Instruction, Instructions, MatchField,
    PortNumber, Sequence, TableId, TransactionId,
};

const CONTROLLER: ConnectionId = ConnectionId(1);
const BUNDLE: BundleId = BundleId(1);
const FLAGS: BundleFlags = BundleFlags::ATOMIC;
const SINGLE_CHANGES: u32 = 1_000;
const PROCESSORS: usize = 2;

fn main() {
    println!("in microseconds: median and longest of the call that publishes\n");
    for entries in [1_000, 10_000] {
        let mut switch = connected(entries);
        let add = bundled(entries, FlowModCommand::Add, 2);
        let (taken, published) = time_change(&mut switch, &add);
        println!("{entries} entries added by one bundle: taken {taken}, published {published}");
        let change = bundled(entries, FlowModCommand::ModifyStrict, 1);
        let (taken, published) = time_change(&mut switch, &change);
        println!("{entries} entries changed by one bundle: taken {taken}, published {published}");
        let mut all: Vec<_> = (0..SINGLE_CHANGES)
            .map(|flow| {
                let mut change = Vec::new();
                emit(FlowModCommand::ModifyStrict, flow % entries, 2, &mut change);
                time_change(&mut switch, &change).1
            })
            .collect();
        all.sort_unstable();
        let (median, longest) = (all[all.len() / 2], all[all.len() - 1]);
        println!("one of {entries} entries changed: published {median}, longest {longest}");
    }
}

/// Hands a stream to the switch; returns how long it took to take it and to publish
/// what it changed, in microseconds.
fn time_change(switch: &mut Switch, stream: &[u8]) -> (u128, u128) {
    let began = Clock::now();
    handle(switch, stream);
    let taken = began.elapsed();
    assert!(!switch.is_published(), "something changed");
    let began = Clock::now();
    publish(switch);
    (taken.as_micros(), began.elapsed().as_micros())
}

fn handle(switch: &mut Switch, bytes: &[u8]) {
    let connection = CONTROLLER;
    switch.handle(Instant::ZERO, Input::Received { connection, bytes });
    while switch.deadline() == Some(Instant::ZERO) {
        switch.handle(Instant::ZERO, Input::Timeout);
    }
    while switch.poll().is_some() {}
}

fn publish(switch: &mut Switch) {
    while !switch.is_published() {
        assert!(switch.settle(), "nobody walks");
        switch.publish();
    }
}

/// A bundle that does the same to all entries.
fn bundled(entries: u32, command: FlowModCommand, port: u32) -> Vec<u8> {
    let mut stream = Vec::new();
    for flow in 0..entries {
        let mut message = Vec::new();
        emit(command, flow, port, &mut message);
        let add = BundleAdd {
            bundle: BUNDLE,
            flags: FLAGS,
            message: &message,
            properties: Sequence::EMPTY,
        };
        add.emit(TransactionId(0), &mut stream);
    }
    let commit = BundleControl {
        bundle: BUNDLE,
        kind: BundleControlKind::CommitRequest,
        flags: FLAGS,
        properties: Sequence::EMPTY,
    };
    commit.emit(TransactionId(0), &mut stream);
    stream
}

fn emit(command: FlowModCommand, flow: u32, port: u32, out: &mut Vec<u8>) {
    let fields = [
        MatchField::EthType(EtherType::IPV4),
        MatchField::Ipv4Dst(Masked::exact(Ipv4Addr::from_bits(flow))),
    ];
    let actions = [Action::output(PortNumber(port))];
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    let flow_mod = FlowMod {
        command,
        matching: Fields::of(&fields),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    };
    flow_mod.emit(TransactionId(0), out);
}

/// A switch whose controller has said hello, and whose tables others could walk.
fn connected(entries: u32) -> Switch {
    let ports = [1, 2].map(|number| PortConfig {
        number: PortNumber(number),
        name: format!("port{number}"),
        mac: MacAddress([2, 0, 0, 0, 1, 0]),
        rate: None,
        pacing: Pacing::Core,
    });
    let mut config = Config::new(DatapathId(1), ports.into());
    config.seed = 0x5eed;
    let entries = usize::try_from(entries).expect("it fits");
    let sizes = Sizes::new(&config, entries, PROCESSORS);
    println!("\nroom for {entries} entries: {} KiB", sizes.bytes() / 1024);
    let mut switch = Switch::new(Instant::ZERO, config);
    switch.compile_into(Memory::private(sizes), Overflow::ToCore);
    for interface in [1, 2] {
        let class = 0;
        switch.carry_port(PortNumber(interface), Carried { interface, class });
    }
    let (connection, peer) = (CONTROLLER, Peer::Controller);
    switch.handle(Instant::ZERO, Input::Connected { connection, peer });
    let mut hello = Vec::new();
    Hello::OURS.emit(TransactionId(0), &mut hello);
    handle(&mut switch, &hello);
    publish(&mut switch);
    switch
}
