use proptest::prelude::*;
use wire::openflow::Cookie;
use wire::openflow10::Match10;

use super::*;

const TRANSACTION: TransactionId = TransactionId(42);

#[test]
fn a_hello_an_echo_and_a_barrier_are_answered_in_their_order() {
    let mut agent = Agent::new(DatapathId(1));
    let asked = [
        Message::Hello(OURS),
        Message::EchoRequest(wire::openflow::Echo { data: b"taktos" }),
        Message::BarrierRequest,
    ];

    let handled = agent.handle(&bytes_of(&asked));

    let expected = [
        Message::Hello(OURS),
        Message::EchoReply(wire::openflow::Echo { data: b"taktos" }),
        Message::BarrierReply,
    ];
    assert_eq!(handled.replies, bytes_of(&expected));
}

#[test]
fn a_message_in_pieces_is_answered_once_it_is_whole() {
    let mut agent = Agent::new(DatapathId(1));
    let bytes = bytes_of(&[Message::FeaturesRequest]);

    let early = agent.handle(&bytes[..5]);
    let late = agent.handle(&bytes[5..]);

    assert!(early.replies.is_empty());
    let (header, reply) = Message::parse(&late.replies).unwrap();
    let Message::FeaturesReply(features) = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(
        (header.transaction, features.datapath),
        (TRANSACTION, DatapathId(1))
    );
}

#[test]
fn a_peer_without_a_common_version_is_refused() {
    let mut agent = Agent::new(DatapathId(1));
    let newer = Hello {
        version: 5,
        versions: Some(1 << 5),
    };

    let handled = agent.handle(&bytes_of(&[Message::Hello(newer)]));

    let (_, reply) = Message::parse(&handled.replies).unwrap();
    let Message::Error(error) = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(
        error.kind,
        ErrorKind::HelloFailed(HelloFailed::Incompatible)
    );
}

#[test]
fn entries_that_were_added_are_reported_until_they_are_deleted() {
    let mut agent = Agent::new(DatapathId(1));
    let actions = [Action::output(PortNumber(2))];
    let add = FlowMod {
        cookie: Cookie(7),
        priority: 3,
        actions: Actions::of(&actions),
        ..FlowMod::ADD
    };
    let delete = FlowMod {
        command: FlowModCommand::Delete,
        matching: Match10::ANY,
        ..FlowMod::ADD
    };
    let ask = Message::StatisticsRequest(StatisticsRequest {
        body: RequestBody::Flow(FlowStatisticsRequest::ALL),
    });

    agent.handle(&bytes_of(&[Message::FlowMod(add)]));
    let full = agent.handle(&bytes_of(&[ask]));
    agent.handle(&bytes_of(&[Message::FlowMod(delete)]));
    let empty = agent.handle(&bytes_of(&[ask]));

    assert_eq!(cookies_in(&full.replies), [Cookie(7)]);
    assert_eq!(cookies_in(&empty.replies), []);
}

#[test]
fn a_full_table_is_reported() {
    let mut agent = Agent::new(DatapathId(1));
    let adds = vec![Message::FlowMod(FlowMod::ADD); 129];

    let handled = agent.handle(&bytes_of(&adds));

    let (_, reply) = Message::parse(&handled.replies).unwrap();
    let Message::Error(error) = reply else {
        panic!("{reply:?}")
    };
    let full = ErrorKind::FlowModFailed(FlowModFailed::AllTablesFull);
    assert_eq!(error.kind, full);
}

/// LOKO Fig. 7b: strict is faster, all takes longer than none, deleting all
/// longer than modifying all, and modifying none longer than deleting none.
#[test]
fn orders_take_as_long_as_loko_fig_7_says() {
    let time = |command, matching: Match10| {
        let mut agent = Agent::new(DatapathId(1));
        agent.handle(&bytes_of(&vec![Message::FlowMod(FlowMod::ADD); 100]));
        let order = FlowMod {
            command,
            matching,
            ..FlowMod::ADD
        };
        agent.handle(&bytes_of(&[Message::FlowMod(order)])).time
    };
    let none = Match10 {
        tp_dst: Some(1),
        ..Match10::ANY
    };
    use FlowModCommand::{Delete, DeleteStrict, Modify, ModifyStrict};

    assert!(time(DeleteStrict, Match10::ANY) < time(Delete, Match10::ANY));
    assert!(time(ModifyStrict, Match10::ANY) < time(Modify, Match10::ANY));
    assert!(time(Delete, none) < time(Delete, Match10::ANY));
    assert!(time(Modify, Match10::ANY) < time(Delete, Match10::ANY));
    assert!(time(Delete, none) < time(Modify, none));
}

/// The same entry, said in both versions, is the same.
#[test]
fn version_1_3_adds_what_version_1_0_adds() {
    let to = wire::openflow10::AddressPrefix::new([10, 1, 0, 0].into(), 16);
    let fields = [
        openflow::MatchField::EthType(wire::ethernet::EtherType::IPV4),
        openflow::MatchField::IpProto(17),
        openflow::MatchField::Ipv4Dst(openflow::oxm::Masked::under(to.address(), to.mask())),
        openflow::MatchField::UdpDst(7),
    ];
    let source = openflow::MatchField::Ipv4Src(std::net::Ipv4Addr::new(10, 0, 0, 9).into());
    let wide = [
        openflow::Action::SetField(source),
        openflow::Action::output(openflow::PortNumber(2)),
    ];
    let narrow = [
        Action::SetNwSrc([10, 0, 0, 9].into()),
        Action::output(PortNumber(2)),
    ];
    let apply = [openflow::Instruction::ApplyActions(openflow::Actions::of(
        &wide,
    ))];
    let mut in_13 = openflow::FlowMod::add(TableId(0));
    in_13.priority = 5;
    in_13.matching = openflow::Fields::of(&fields);
    in_13.instructions = openflow::Instructions::of(&apply);
    let in_10 = FlowMod {
        priority: 5,
        matching: Match10 {
            dl_type: Some(wire::ethernet::EtherType::IPV4),
            nw_proto: Some(17),
            nw_dst: to,
            tp_dst: Some(7),
            ..Match10::ANY
        },
        actions: Actions::of(&narrow),
        ..FlowMod::ADD
    };
    let entries_after = |bytes: &[u8]| {
        let mut agent = Agent::new(DatapathId(1));
        agent.handle(bytes);
        agent.table.entries().cloned().collect::<Vec<_>>()
    };

    let mut bytes = Vec::new();
    in_13.emit(TRANSACTION, &mut bytes);

    assert_eq!(
        entries_after(&bytes),
        entries_after(&bytes_of(&[Message::FlowMod(in_10)]))
    );
    assert_eq!(entries_after(&bytes).len(), 1);
}

#[test]
fn version_1_3_is_answered_in_version_1_3() {
    let mut agent = Agent::new(DatapathId(7));
    let mut bytes = Vec::new();
    openflow::Message::Hello(Hello::OURS).emit(TRANSACTION, &mut bytes);
    openflow::Message::FeaturesRequest.emit(TRANSACTION, &mut bytes);
    openflow::Message::GetAsyncRequest.emit(TRANSACTION, &mut bytes);

    let replies = agent.handle(&bytes).replies;

    let mut framer = Framer::new();
    framer.push(&replies);
    let mut kinds = Vec::new();
    while let Some(message) = framer.next_message().unwrap() {
        let (header, _) = openflow::Message::parse(message).unwrap();
        kinds.push(openflow::MessageType::from_number(header.kind).unwrap());
    }
    use openflow::MessageType as Kind;
    assert_eq!(kinds, [Kind::Hello, Kind::FeaturesReply, Kind::Error]);
    let in_13 = agent.packet_in(PortNumber(1), PacketInReason::NoMatch, &[0; 60]);
    assert_eq!(in_13[0], openflow::VERSION);
}

proptest! {
    /// Whatever the controller sends, in whatever pieces, the agent stands, and
    /// what it says can be read.
    #[test]
    fn any_bytes_are_survived(pieces in prop::collection::vec(likely_bytes(), 1..12)) {
        let mut agent = Agent::new(DatapathId(1));
        for piece in pieces {
            let handled = agent.handle(&piece);
            let mut framer = Framer::new();
            framer.push(&handled.replies);
            while let Some(message) = framer.next_message().unwrap() {
                let is_read = match message[0] {
                    VERSION => Message::parse(message).is_ok(),
                    _ => openflow::Message::parse(message).is_ok(),
                };
                prop_assert!(is_read);
            }
        }
        let alive = agent.table.entries().len() <= 128;
        prop_assert!(alive);
    }
}

/// Bytes of any kind, and bytes that begin like a message.
fn likely_bytes() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop::collection::vec(any::<u8>(), 0..100);
    (bytes, any::<bool>(), 0u8..24).prop_map(|(mut bytes, framed, kind)| {
        if framed && bytes.len() >= 8 {
            let length = u16::try_from(bytes.len()).unwrap().to_be_bytes();
            let version = 1 + 3 * (length[1] & 1);
            bytes[..4].copy_from_slice(&[version, kind, length[0], length[1]]);
        }
        bytes
    })
}

fn bytes_of(messages: &[Message<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        message.emit(TRANSACTION, &mut bytes);
    }
    bytes
}

fn cookies_in(replies: &[u8]) -> Vec<Cookie> {
    let (_, reply) = Message::parse(replies).unwrap();
    let Message::StatisticsReply(StatisticsReply {
        body: ReplyBody::Flow(entries),
        ..
    }) = reply
    else {
        panic!("{reply:?}")
    };
    entries.iter().map(|entry| entry.unwrap().cookie).collect()
}
