use proptest::prelude::*;
use wire::openflow::Cookie;
use wire::openflow10::Match;

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
fn a_peer_without_version_1_0_is_refused() {
    let mut agent = Agent::new(DatapathId(1));
    let newer = Hello {
        version: 4,
        versions: Some(1 << 4),
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
        matching: Match::ANY,
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
    let time = |command, matching: Match| {
        let mut agent = Agent::new(DatapathId(1));
        agent.handle(&bytes_of(&vec![Message::FlowMod(FlowMod::ADD); 100]));
        let order = FlowMod {
            command,
            matching,
            ..FlowMod::ADD
        };
        agent.handle(&bytes_of(&[Message::FlowMod(order)])).time
    };
    let none = Match {
        tp_dst: Some(1),
        ..Match::ANY
    };
    use FlowModCommand::{Delete, DeleteStrict, Modify, ModifyStrict};

    assert!(time(DeleteStrict, Match::ANY) < time(Delete, Match::ANY));
    assert!(time(ModifyStrict, Match::ANY) < time(Modify, Match::ANY));
    assert!(time(Delete, none) < time(Delete, Match::ANY));
    assert!(time(Modify, Match::ANY) < time(Delete, Match::ANY));
    assert!(time(Delete, none) < time(Modify, none));
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
                prop_assert!(Message::parse(message).is_ok());
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
            bytes[..4].copy_from_slice(&[1, kind, length[0], length[1]]);
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
