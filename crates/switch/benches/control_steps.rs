//! For how long at most does work for a controller keep a frame waiting?
//!
//! A frame waits at most for the call of the switch that is under way when it
//! arrives. So every call is timed, while a controller fills a table, changes,
//! lists and empties it. The switch does the same work in every repetition, call
//! by call: of each call the shortest time is taken, which leaves the machine's
//! own stalls out, and of these the longest.

#![expect(
    clippy::disallowed_methods,
    reason = "a benchmark of single calls takes the time itself"
)]

use std::net::Ipv4Addr;
use std::time::Instant as Clock;

use switch::{Config, ConnectionId, Input, Pacing, Peer, PortConfig, Switch};
use units::Instant;
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::multipart::{FlowStatisticsRequest, MultipartRequest, RequestBody};
use wire::openflow::oxm::Masked;
use wire::openflow::{
    Action, Actions, BundleAdd, BundleControl, BundleControlKind, BundleFlags, BundleId,
    DatapathId, Fields, FlowMod, FlowModCommand, FlowModFlags, Hello, Instruction, Instructions,
    MatchField, PortNumber, Sequence, TableId, TransactionId,
};

const CONTROLLER: ConnectionId = ConnectionId(1);
const REPETITIONS: usize = 7;
/// What the packet loop reads of a connection at a time.
const READ_BYTES: usize = 2048;
const BUNDLE: BundleId = BundleId(1);
const BUNDLED: u32 = 1000;

fn main() {
    println!("calls of the switch, in microseconds: median, one in a thousand, longest\n");
    for entries in [1_000, 10_000, 100_000] {
        println!("{entries} entries");
        let stages = stages(entries);
        let mut shortest: Vec<Vec<u64>> = Vec::new();
        for _ in 0..REPETITIONS {
            let mut switch = connected(entries);
            for (at, (_, stream)) in stages.iter().enumerate() {
                let calls = time_calls(&mut switch, stream);
                match shortest.get_mut(at) {
                    None => shortest.push(calls),
                    Some(known) => {
                        assert_eq!(known.len(), calls.len(), "the same work every time");
                        let pairs = known.iter_mut().zip(calls);
                        pairs.for_each(|(known, call)| *known = call.min(*known));
                    }
                }
            }
        }
        for ((name, _), mut calls) in stages.iter().zip(shortest) {
            calls.sort_unstable();
            let of = |permille: usize| calls[(calls.len() - 1) * permille / 1000];
            let [median, rare, longest] = [500, 999, 1000].map(|permille| micros(of(permille)));
            println!("  {name:<44} {median:>10} {rare:>10} {longest:>10}");
        }
    }
}

fn micros(ns: u64) -> String {
    format!("{}.{:02}", ns / 1000, ns % 1000 / 10)
}

/// Hands a stream to the switch in the pieces of the packet loop, lets it finish,
/// and returns how long each call took, in nanoseconds.
fn time_calls(switch: &mut Switch, stream: &[u8]) -> Vec<u64> {
    let mut calls = Vec::new();
    for bytes in stream.chunks(READ_BYTES) {
        let connection = CONTROLLER;
        calls.push(time_call(switch, Input::Received { connection, bytes }));
        while switch.deadline() == Some(Instant::ZERO) {
            calls.push(time_call(switch, Input::Timeout));
        }
    }
    calls
}

fn time_call(switch: &mut Switch, input: Input<'_>) -> u64 {
    let began = Clock::now();
    switch.handle(Instant::ZERO, input);
    let took = began.elapsed();
    while switch.poll().is_some() {}
    u64::try_from(took.as_nanos()).expect("shorter than centuries")
}

/// What a controller says, one thing after the other.
fn stages(entries: u32) -> [(&'static str, Vec<u8>); 7] {
    let mut stages = [
        ("add entries one by one", Vec::new()),
        ("add one more, checked for overlaps", Vec::new()),
        ("list all entries", Vec::new()),
        ("sum up all entries", Vec::new()),
        ("change all entries by one message", Vec::new()),
        ("fill a bundle of 1,000 changes, and commit it", Vec::new()),
        ("delete all entries by one message", Vec::new()),
    ];
    let [add, overlap, list, sum, change, bundle, delete] =
        stages.each_mut().map(|(_, stream)| stream);
    (0..entries).for_each(|flow| emit(&mod_of(FlowModCommand::Add), Some(flow), add));
    let checked = FlowMod {
        flags: FlowModFlags::CHECK_OVERLAP,
        ..mod_of(FlowModCommand::Add)
    };
    emit(&checked, Some(entries), overlap);
    let all = FlowStatisticsRequest::all(TableId::ALL);
    MultipartRequest::new(RequestBody::Flow(all)).emit(TransactionId(0), list);
    MultipartRequest::new(RequestBody::Aggregate(all)).emit(TransactionId(0), sum);
    emit(&mod_of(FlowModCommand::Modify), None, change);
    fill_bundle(entries, bundle);
    emit(&mod_of(FlowModCommand::Delete), None, delete);
    stages
}

fn fill_bundle(entries: u32, out: &mut Vec<u8>) {
    control(BundleControlKind::OpenRequest, out);
    for flow in (0..BUNDLED).map(|flow| flow % entries) {
        let mut message = Vec::new();
        let change = mod_of(FlowModCommand::ModifyStrict);
        emit(&change, Some(flow), &mut message);
        BundleAdd {
            bundle: BUNDLE,
            flags: BundleFlags::ATOMIC,
            message: &message,
            properties: Sequence::EMPTY,
        }
        .emit(TransactionId(0), out);
    }
    control(BundleControlKind::CommitRequest, out);
}

fn control(kind: BundleControlKind, out: &mut Vec<u8>) {
    BundleControl {
        bundle: BUNDLE,
        kind,
        flags: BundleFlags::ATOMIC,
        properties: Sequence::EMPTY,
    }
    .emit(TransactionId(0), out);
}

fn mod_of(command: FlowModCommand) -> FlowMod<'static> {
    FlowMod {
        command,
        priority: 100,
        ..FlowMod::add(TableId(0))
    }
}

/// Writes a flow-mod about one flow, or about all.
fn emit(flow_mod: &FlowMod<'_>, flow: Option<u32>, out: &mut Vec<u8>) {
    let fields = [
        MatchField::EthType(EtherType::IPV4),
        MatchField::Ipv4Dst(Masked::exact(Ipv4Addr::from_bits(flow.unwrap_or_default()))),
    ];
    let fields = if flow.is_some() { &fields[..] } else { &[] };
    let actions = [Action::output(PortNumber(2))];
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    let flow_mod = FlowMod {
        matching: Fields::of(fields),
        instructions: Instructions::of(&instructions),
        ..*flow_mod
    };
    flow_mod.emit(TransactionId(0), out);
}

/// A switch whose controller has said hello.
fn connected(entries: u32) -> Switch {
    let ports = [1, 2].map(|number| PortConfig {
        number: PortNumber(number),
        name: format!("port{number}"),
        mac: MacAddress([2, 0, 0, 0, 1, 0]),
        rate: None,
        pacing: Pacing::Core,
    });
    let mut config = Config::new(DatapathId(1), ports.into());
    config.table_capacity = usize::try_from(entries).expect("it fits") + 1;
    config.seed = 0x5eed;
    let mut switch = Switch::new(Instant::ZERO, config);
    let (connection, peer) = (CONTROLLER, Peer::Controller);
    switch.handle(Instant::ZERO, Input::Connected { connection, peer });
    let mut hello = Vec::new();
    Hello::OURS.emit(TransactionId(0), &mut hello);
    time_calls(&mut switch, &hello);
    switch
}
