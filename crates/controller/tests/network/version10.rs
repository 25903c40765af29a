//! A switch that speaks OpenFlow 1.0 and nothing newer.

use controller::northbound::{ApplicationKind, Manifest};
use controller::{CloseReason, ConnectionId, Controller, Input, Output, StoreEvent};
use units::Instant;
use wire::ethernet::{EtherType, Header, MacAddress};
use wire::openflow::{
    BufferId, DatapathId, Hello, PacketInReason, PortName, Sequence, TransactionId,
};
use wire::openflow10::{
    Action, ActionKinds, Actions, Capabilities, FeaturesReply, Message, PacketIn, PortConfig,
    PortDescription, PortFeatures, PortNumber, PortState,
};

use crate::fake;

const SWITCH: ConnectionId = ConnectionId(1);
const X: TransactionId = TransactionId(9);

#[test]
fn it_is_asked_who_it_is_in_its_own_words() {
    let mut controller = started();

    let said = tell(&mut controller, &[hello()]);

    assert!(matches!(parsed(&said)[..], [Message::FeaturesRequest]));
}

#[test]
fn its_frames_are_forwarded_to_where_their_destination_was_seen() {
    let mut controller = started();
    tell(&mut controller, &[hello()]);
    let welcome = tell(&mut controller, &[features()]);
    tell(&mut controller, &[packet_in(1, 2, 1)]);

    let said = tell(&mut controller, &[packet_in(2, 1, 2)]);

    let services = parsed(&welcome)
        .iter()
        .filter(|message| matches!(message, Message::FlowMod(_)))
        .count();
    assert_eq!(services, 3);
    let answers = parsed(&said);
    let [Message::FlowMod(entry), Message::PacketOut(frame)] = &answers[..] else {
        panic!("{answers:?}")
    };
    let forward = [Action::output(PortNumber(1))];
    assert_eq!(entry.matching.in_port, Some(PortNumber(2)));
    assert_eq!(entry.matching.dl_dst, Some(mac(1)));
    assert_eq!(entry.actions, Actions::of(&forward));
    assert_eq!(frame.actions, Actions::of(&forward));
}

#[test]
fn bytes_that_arrive_one_by_one_mean_the_same() {
    let mut controller = started();
    let mut said = Vec::new();

    for byte in [hello(), features()].concat() {
        said.extend(receive(&mut controller, &[byte]));
    }

    let messages = parsed(&said);
    let services = |message: &&Message<'_>| matches!(message, Message::FlowMod(_));
    assert_eq!(messages.iter().filter(services).count(), 3);
}

#[test]
fn one_that_falls_into_another_version_is_told_so() {
    let mut controller = started();
    tell(&mut controller, &[hello(), features()]);
    let before = controller.counters().bad_messages;

    let mut newer = Vec::new();
    wire::openflow::Message::BarrierReply.emit(X, &mut newer);
    let said = receive(&mut controller, &newer);

    assert_eq!(controller.counters().bad_messages, before + 1);
    let said = parsed(&said);
    assert!(said.iter().any(|it| matches!(it, Message::Error(_))));
}

#[test]
fn one_that_speaks_neither_version_is_sent_away() {
    let mut controller = started();
    let mut hello = Vec::new();
    let older = Hello {
        version: 2,
        versions: Some(1 << 2),
    };
    older.emit(X, &mut hello);

    controller.handle(
        Instant::ZERO,
        Input::Received {
            connection: SWITCH,
            bytes: &hello,
        },
    );

    let mut closed = false;
    while let Some(output) = controller.poll() {
        closed |= output
            == Output::Close {
                connection: SWITCH,
                reason: CloseReason::Version,
            };
    }
    assert!(closed);
}

fn started() -> Controller {
    let mut config = fake::config(1, &[]);
    config.applications = vec![Manifest::built_in(ApplicationKind::ReactiveForwarding)];
    let mut controller = Controller::new(Instant::ZERO, config);
    controller.handle(Instant::ZERO, Input::Stored(StoreEvent::Replayed));
    controller.handle(Instant::ZERO, Input::Connected(SWITCH));
    sent(&mut controller);
    controller
}

fn tell(controller: &mut Controller, messages: &[Vec<u8>]) -> Vec<u8> {
    receive(controller, &messages.concat())
}

fn receive(controller: &mut Controller, bytes: &[u8]) -> Vec<u8> {
    let connection = SWITCH;
    controller.handle(Instant::ZERO, Input::Received { connection, bytes });
    sent(controller)
}

fn sent(controller: &mut Controller) -> Vec<u8> {
    let mut sent = Vec::new();
    while let Some(output) = controller.poll() {
        if let Output::Send { bytes, .. } = output {
            sent.extend_from_slice(bytes);
        }
    }
    sent
}

/// Takes messages of version 1.0 apart.
fn parsed(mut bytes: &[u8]) -> Vec<Message<'_>> {
    let mut messages = Vec::new();
    while let Some(message) = wire::openflow::first_message(bytes).expect("messages") {
        messages.push(Message::parse(message).expect("version 1.0").1);
        bytes = &bytes[message.len()..];
    }
    assert!(bytes.is_empty());
    messages
}

fn hello() -> Vec<u8> {
    let mut out = Vec::new();
    let hello = Hello {
        version: wire::openflow10::VERSION,
        versions: None,
    };
    hello.emit(X, &mut out);
    out
}

fn features() -> Vec<u8> {
    let port = |number| PortDescription {
        number: PortNumber(number),
        address: MacAddress([2, 1, 0, 0, 0, 1]),
        name: PortName::new("p"),
        config: PortConfig::NONE,
        state: PortState::NONE,
        current: PortFeatures::NONE,
        advertised: PortFeatures::NONE,
        supported: PortFeatures::NONE,
        peer: PortFeatures::NONE,
    };
    let ports = [1, 2].map(port);
    let features = FeaturesReply {
        datapath: DatapathId(1),
        buffers: 0,
        tables: 1,
        capabilities: Capabilities::NONE,
        actions: ActionKinds::ALL,
        ports: Sequence::of(&ports),
    };
    let mut out = Vec::new();
    features.emit(X, &mut out);
    out
}

fn packet_in(from: u8, to: u8, port: u16) -> Vec<u8> {
    let mut frame = Vec::new();
    let header = Header {
        destination: mac(to),
        source: mac(from),
        vlan: None,
        ether_type: EtherType::IPV4,
    };
    header.emit(&mut frame);
    frame.resize(60, 0);
    let packet_in = PacketIn {
        buffer: BufferId::NONE,
        total_length: 60,
        in_port: PortNumber(port),
        reason: PacketInReason::NoMatch,
        data: &frame,
    };
    let mut out = Vec::new();
    packet_in.emit(X, &mut out);
    out
}

fn mac(host: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, host])
}
