//! How many OpenFlow messages the core decodes, handles and answers a second.
//!
//! The messages of 16 switches come in pieces of 64, as one read of a socket
//! brings them under load. `mixed` is what a controller with reactive forwarding
//! meets: of eight messages five are packet-ins for known hosts (each answered
//! by an entry and the frame), two echo requests (answered) and one a barrier
//! reply. Items are messages taken; what is answered is not counted again.

use controller::northbound::ApplicationKind;
use controller::packet_in_classes::PUNT_WINDOW;
use controller::{Config, ConnectionId, Controller, Input, Output, StoreEvent};
use divan::counter::ItemsCount;
use divan::{AllocProfiler, Bencher, black_box};
use units::Instant;
use wire::ethernet::{EtherType, Header, MacAddress};
use wire::openflow::multipart::{MultipartReply, ReplyBody};
use wire::openflow::{
    BufferId, Capabilities, Cookie, DatapathId, Echo, FeaturesReply, Hello, MatchField, Message,
    PacketIn, PacketInReason, PortDescription, PortName, PortNumber, Sequence, TableId,
    TransactionId,
};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

const SWITCHES: u64 = 16;
const HOSTS: u16 = 1_000;
const PIECE: usize = 64;

fn main() {
    divan::main();
}

#[divan::bench]
fn mixed(bencher: Bencher<'_, '_>) {
    run(bencher, |number, out| match number % 8 {
        0 | 2 | 4 | 6 | 7 => packet_in(number, out),
        1 | 5 => echo_request(number, out),
        _ => Message::BarrierReply.emit(transaction(number), out),
    });
}

#[divan::bench]
fn packet_ins(bencher: Bencher<'_, '_>) {
    run(bencher, packet_in);
}

#[divan::bench]
fn echo_requests(bencher: Bencher<'_, '_>) {
    run(bencher, echo_request);
}

#[divan::bench]
fn barrier_replies(bencher: Bencher<'_, '_>) {
    run(bencher, |number, out| {
        Message::BarrierReply.emit(transaction(number), out)
    });
}

/// Feeds the messages that `emit` writes, a piece to each switch in turn.
fn run(bencher: Bencher<'_, '_>, emit: impl Fn(usize, &mut Vec<u8>)) {
    let (mut controller, mut now) = connected();
    let pieces: Vec<Vec<u8>> = (0..32)
        .map(|piece| {
            let mut bytes = Vec::new();
            (0..PIECE).for_each(|number| emit(piece * PIECE + number, &mut bytes));
            bytes
        })
        .collect();
    let messages = pieces.len() * PIECE * usize::try_from(SWITCHES).expect("few");
    bencher.counter(ItemsCount::new(messages)).bench_local(|| {
        for bytes in &pieces {
            // Each piece finds the budget of its switch for packet-ins untouched.
            now += PUNT_WINDOW;
            for switch in 1..=SWITCHES {
                let connection = ConnectionId(switch);
                controller.handle(now, Input::Received { connection, bytes });
                drain(&mut controller);
            }
        }
    });
    assert_eq!(
        controller.counters().punts_dropped,
        0,
        "every message was handled"
    );
}

/// Returns a controller that knows all switches and hosts, and what time it is.
fn connected() -> (Controller, Instant) {
    let mut now = Instant::ZERO;
    let mut controller = Controller::new(
        now,
        Config::without_promises(ApplicationKind::ReactiveForwarding),
    );
    controller.handle(now, Input::Stored(StoreEvent::Replayed));
    for switch in 1..=SWITCHES {
        let connection = ConnectionId(switch);
        controller.handle(now, Input::Connected(connection));
        let mut bytes = Vec::new();
        Hello::OURS.emit(TransactionId(0), &mut bytes);
        let features = FeaturesReply {
            datapath: DatapathId(switch),
            buffers: 0,
            tables: 1,
            auxiliary: 0,
            capabilities: Capabilities::NONE,
        };
        features.emit(TransactionId(0), &mut bytes);
        let port = |number| {
            PortDescription::new(PortNumber(number), MacAddress([2; 6]), PortName::new("p"))
        };
        let ports = [1, 2, 3, 4].map(port);
        let body = ReplyBody::PortDescription(Sequence::of(&ports));
        MultipartReply::new(body).emit(TransactionId(0), &mut bytes);
        // Asked who its master is, it says nothing: it has no roles.
        Message::BarrierReply.emit(TransactionId(0), &mut bytes);
        let mut take = |bytes: &[u8]| {
            now += PUNT_WINDOW;
            controller.handle(now, Input::Received { connection, bytes });
            drain(&mut controller);
        };
        take(&bytes);
        for first in (0..HOSTS).step_by(PIECE) {
            bytes.clear();
            let hosts = (first..HOSTS).take(PIECE);
            hosts.for_each(|host| frame_from(host, host, &mut bytes));
            take(&bytes);
        }
    }
    (controller, now)
}

fn drain(controller: &mut Controller) {
    while let Some(output) = controller.poll() {
        match output {
            Output::Send { bytes, .. } => {
                black_box(bytes);
            }
            Output::Close { connection, reason } => panic!("{connection:?} is closed: {reason:?}"),
            other => drop(black_box(other)),
        }
    }
}

fn packet_in(number: usize, out: &mut Vec<u8>) {
    let number = u16::try_from(number % usize::from(HOSTS)).expect("below a u16");
    frame_from(number, (number + 7) % HOSTS, out);
}

/// Appends a packet-in with a frame of one host to another, each behind the port
/// that its number gives.
fn frame_from(source: u16, destination: u16, out: &mut Vec<u8>) {
    let mut frame = Vec::new();
    let header = Header {
        destination: mac(destination),
        source: mac(source),
        vlan: None,
        ether_type: EtherType::IPV4,
    };
    header.emit(&mut frame);
    frame.resize(60, 0);
    let fields = [MatchField::InPort(PortNumber(u32::from(source % 4) + 1))];
    let packet_in = PacketIn {
        buffer: BufferId::NONE,
        total_length: 60,
        reason: PacketInReason::NoMatch,
        table: TableId(0),
        cookie: Cookie(0),
        fields: Sequence::of(&fields),
        data: &frame,
    };
    packet_in.emit(TransactionId(0), out);
}

fn echo_request(number: usize, out: &mut Vec<u8>) {
    Echo { data: b"12345678" }.emit_request(transaction(number), out);
}

fn transaction(number: usize) -> TransactionId {
    TransactionId(u32::try_from(number).expect("few messages"))
}

fn mac(host: u16) -> MacAddress {
    let [high, low] = host.to_be_bytes();
    MacAddress([2, 0, 0, 0, high, low])
}
