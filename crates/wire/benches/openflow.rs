//! How long the messages of every flow set-up take to read and to write.

#![expect(clippy::unwrap_used, reason = "a benchmark fails as a test does")]

use divan::{Bencher, black_box, counter::ItemsCount};
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::oxm::VlanMatch;
use wire::openflow::{
    Action, Actions, BufferId, Cookie, Fields, FlowMod, Framer, Instruction, Instructions,
    MatchField, Message, PacketIn, PacketInReason, PacketOut, PortNumber, QueueId, TableId,
    TransactionId,
};

const FRAME: [u8; 60] = [0x5a; 60];
const MESSAGES: usize = 64;

fn main() {
    divan::main();
}

fn packet_in() -> Vec<u8> {
    let fields = [MatchField::InPort(PortNumber(3))];
    let packet_in = PacketIn {
        buffer: BufferId::NONE,
        total_length: 60,
        reason: PacketInReason::NoMatch,
        table: TableId(0),
        cookie: Cookie(7),
        fields: Fields::of(&fields),
        data: &FRAME,
    };
    let mut out = Vec::new();
    packet_in.emit(TransactionId(0), &mut out);
    out
}

/// Writes what a controller answers: an entry for a stream's frames.
fn answer(in_port: PortNumber, destination: MacAddress, out: &mut Vec<u8>) {
    let fields = [
        MatchField::InPort(in_port),
        MatchField::EthDst(destination.into()),
        MatchField::EthType(EtherType::SAMPLED_VALUES),
        MatchField::VlanVid(VlanMatch::tagged(7).into()),
    ];
    let actions = [Action::SetQueue(QueueId(7)), Action::output(PortNumber(2))];
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    let flow_mod = FlowMod {
        priority: 100,
        matching: Fields::of(&fields),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    };
    flow_mod.emit(TransactionId(1), out);
}

#[divan::bench]
fn packet_in_read_and_flow_mod_written(bencher: Bencher<'_, '_>) {
    let message = packet_in();
    let mut out = Vec::with_capacity(1024);
    bencher
        .counter(ItemsCount::new(1_u32))
        .bench_local(move || {
            out.clear();
            let (_, message) = Message::parse(black_box(&message)).unwrap();
            let Message::PacketIn(packet_in) = message else {
                unreachable!("a packet-in was written");
            };
            let (destination, _) = packet_in.data.split_first_chunk().unwrap();
            answer(
                packet_in.in_port().unwrap(),
                MacAddress(*destination),
                &mut out,
            );
            black_box(out.len())
        });
}

#[divan::bench]
fn flow_mod_read_to_the_last_action(bencher: Bencher<'_, '_>) {
    let mut message = Vec::new();
    answer(PortNumber(1), MacAddress([2; 6]), &mut message);
    bencher
        .counter(ItemsCount::new(1_u32))
        .bench_local(move || {
            let (_, message) = Message::parse(black_box(&message)).unwrap();
            let Message::FlowMod(flow_mod) = message else {
                unreachable!("a flow-mod was written");
            };
            flow_mod.matching.check().unwrap();
            for instruction in flow_mod.instructions {
                if let Instruction::ApplyActions(actions) = instruction.unwrap() {
                    for action in actions {
                        black_box(action.unwrap());
                    }
                }
            }
        });
}

#[divan::bench]
fn packet_out_written(bencher: Bencher<'_, '_>) {
    let mut out = Vec::with_capacity(1024);
    bencher
        .counter(ItemsCount::new(1_u32))
        .bench_local(move || {
            out.clear();
            let actions = [Action::output(black_box(PortNumber(2)))];
            let packet_out = PacketOut {
                buffer: BufferId::NONE,
                in_port: PortNumber::CONTROLLER,
                actions: Actions::of(&actions),
                data: &FRAME,
            };
            packet_out.emit(TransactionId(1), &mut out);
            black_box(out.len())
        });
}

#[divan::bench]
fn stream_cut_into_packet_ins(bencher: Bencher<'_, '_>) {
    let stream = packet_in().repeat(MESSAGES);
    let mut framer = Framer::new();
    bencher
        .counter(ItemsCount::new(MESSAGES))
        .bench_local(move || {
            framer.push(black_box(&stream));
            while let Some(message) = framer.next_message().unwrap() {
                black_box(Message::parse(message).unwrap());
            }
        });
}
