use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::multipart::{
    FlowStatisticsRequest, MultipartRequest, ReplyBody as WideReply, RequestBody,
};
use wire::openflow::oxm::{Masked, VlanMatch};
use wire::openflow::{
    Action as WideAction, BufferId, DatapathId, Echo, ErrorKind, Fields, FlowModCommand,
    Instruction, Instructions, MatchField, Message as Wide, PacketInReason, PacketOut, PortName,
    PortNumber as WidePort, QueueId, Sequence, TableId,
};
use wire::openflow10::statistics::{FlowStatistics, ReplyBody, StatisticsReply};
use wire::openflow10::{
    Action, ActionKinds, Actions, Capabilities, FeaturesReply, Match10, Message as Narrow,
    PacketIn, PortConfig, PortDescription as NarrowPort, PortFeatures, PortNumber, PortState,
};

use super::*;

const X: TransactionId = TransactionId(77);
const HOST: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);

#[test]
fn an_entry_of_one_table_is_put_into_the_words_of_version_1_0() {
    let fields = [
        MatchField::InPort(WidePort(3)),
        MatchField::EthSrc(Masked::exact(HOST)),
        MatchField::VlanVid(Masked::exact(VlanMatch::tagged(7))),
    ];
    let actions = [
        WideAction::SetQueue(QueueId(6)),
        WideAction::output(WidePort(1)),
        WideAction::output(WidePort(2)),
    ];

    let said = said_to(&mut able(), &entry(&fields, &actions));

    let Ok((header, Narrow::FlowMod(flow_mod))) = Narrow::parse(&said.switch) else {
        panic!("{said:?}")
    };
    let matching = Match10 {
        in_port: Some(PortNumber(3)),
        dl_src: Some(HOST),
        dl_vlan: Some(7),
        ..Match10::ANY
    };
    let queue = QueueId(6);
    let [one, two] = [1, 2].map(|port| Action::Enqueue {
        port: PortNumber(port),
        queue,
    });
    assert_eq!(header.transaction, X);
    assert_eq!((flow_mod.matching, flow_mod.priority), (matching, 1_000));
    assert_eq!(flow_mod.actions, Actions::of(&[one, two]));
    assert!(said.controller.is_empty());
}

#[test]
fn what_version_1_0_cannot_say_is_refused_and_not_sent() {
    let out = [WideAction::output(WidePort(1))];
    let queued = [WideAction::SetQueue(QueueId(6)), out[0]];
    let half_a_tag = [WideAction::PushVlan(EtherType::VLAN), out[0]];
    let far = [WideAction::output(WidePort(70_000))];
    let masked = [MatchField::EthDst(Masked::under(HOST, MacAddress([1; 6])))];
    let ipv6 = [
        MatchField::EthType(EtherType(0x86dd)),
        MatchField::Icmpv6Type(135),
    ];
    let mut translator = Translator::default();

    for (fields, actions) in [
        (&[][..], &queued[..]),
        (&[], &half_a_tag),
        (&[], &far),
        (&masked, &out),
        (&ipv6, &out),
    ] {
        let said = said_to(&mut translator, &entry(fields, actions));

        let Ok((header, Wide::Error(_))) = Wide::parse(&said.controller) else {
            panic!("{fields:?} {actions:?}: {said:?}")
        };
        assert_eq!(header.transaction, X);
        assert!(said.switch.is_empty());
    }
}

#[test]
fn a_second_table_is_refused() {
    let mut message = Vec::new();
    openflow_entry(TableId(1), &[], &[]).emit(X, &mut message);

    let said = said_to(&mut able(), &message);

    let Ok((_, Wide::Error(error))) = Wide::parse(&said.controller) else {
        panic!("{said:?}")
    };
    assert!(matches!(error.kind, ErrorKind::FlowModFailed(_)));
}

#[test]
fn a_frame_is_handed_over_with_its_port() {
    let packet_in = PacketIn {
        buffer: BufferId::NONE,
        total_length: 3,
        in_port: PortNumber(5),
        reason: PacketInReason::NoMatch,
        data: b"abc",
    };

    let said = said_by(&mut able(), &Narrow::PacketIn(packet_in));

    let Ok((_, Wide::PacketIn(heard))) = Wide::parse(&said.controller) else {
        panic!("{said:?}")
    };
    assert_eq!(heard.in_port(), Some(WidePort(5)));
    assert_eq!(heard.data, b"abc");
}

#[test]
fn a_frame_is_sent_without_a_queue() {
    let actions = [
        WideAction::SetQueue(QueueId(7)),
        WideAction::output(WidePort(2)),
    ];
    let packet_out = PacketOut {
        buffer: BufferId::NONE,
        in_port: WidePort::CONTROLLER,
        actions: wire::openflow::Actions::of(&actions),
        data: b"probe",
    };
    let mut message = Vec::new();
    packet_out.emit(X, &mut message);

    let said = said_to(&mut able(), &message);

    let Ok((_, Narrow::PacketOut(sent))) = Narrow::parse(&said.switch) else {
        panic!("{said:?}")
    };
    let expected = [Action::output(PortNumber(2))];
    assert_eq!(sent.actions, Actions::of(&expected));
    assert_eq!((sent.in_port, sent.data), (PortNumber::NONE, &b"probe"[..]));
}

#[test]
fn ports_are_told_when_they_are_asked_for() {
    let mut translator = able();
    let mut message = Vec::new();
    MultipartRequest::new(RequestBody::PortDescription).emit(X, &mut message);

    let said = said_to(&mut translator, &message);

    let Ok((_, Wide::MultipartReply(reply))) = Wide::parse(&said.controller) else {
        panic!("{said:?}")
    };
    let WideReply::PortDescription(ports) = reply.body else {
        panic!("{reply:?}")
    };
    let ports: Vec<_> = ports.iter().map(Result::unwrap).collect();
    let numbers: Vec<u32> = ports.iter().map(|port| port.number.0).collect();
    assert_eq!(numbers, [1, 0xffff_fffe]);
    assert!(ports[0].is_up() && !ports[1].is_up());
    assert!(said.switch.is_empty());
}

/// Of all entries only those with the cookies that were asked for are told, in the
/// words of version 1.3.
#[test]
fn entries_are_told_by_their_cookies() {
    let mut translator = able();
    let asked = said_to(&mut translator, &question(RequestBody::Flow));

    let said = said_by(&mut translator, &Narrow::StatisticsReply(entries(false)));

    assert!(matches!(
        Narrow::parse(&asked.switch),
        Ok((_, Narrow::StatisticsRequest(_)))
    ));
    let Ok((header, Wide::MultipartReply(reply))) = Wide::parse(&said.controller) else {
        panic!("{said:?}")
    };
    let WideReply::Flow(told) = reply.body else {
        panic!("{reply:?}")
    };
    let told: Vec<_> = told.iter().map(Result::unwrap).collect();
    assert_eq!(header.transaction, X);
    assert_eq!((told.len(), told[0].cookie), (1, Cookie(0x54)));
    let expected = [MatchField::InPort(WidePort(4))];
    assert_eq!(told[0].matching, Fields::of(&expected));
}

#[test]
fn an_answer_in_parts_says_that_more_follows() {
    let mut translator = able();
    said_to(&mut translator, &question(RequestBody::Flow));

    let first = said_by(&mut translator, &Narrow::StatisticsReply(entries(true)));
    let last = said_by(&mut translator, &Narrow::StatisticsReply(entries(false)));
    let unasked = said_by(&mut translator, &Narrow::StatisticsReply(entries(false)));

    let more = |said: &Said| match Wide::parse(&said.controller) {
        Ok((_, Wide::MultipartReply(reply))) => reply.more,
        other => panic!("{other:?}"),
    };
    assert!(more(&first) && !more(&last));
    assert!(unasked.controller.is_empty());
}

#[test]
fn entries_are_counted_by_their_cookies() {
    let mut translator = able();
    said_to(&mut translator, &question(RequestBody::Aggregate));
    said_by(&mut translator, &Narrow::StatisticsReply(entries(true)));

    let said = said_by(&mut translator, &Narrow::StatisticsReply(entries(false)));

    let Ok((_, Wide::MultipartReply(reply))) = Wide::parse(&said.controller) else {
        panic!("{said:?}")
    };
    let WideReply::Aggregate(total) = reply.body else {
        panic!("{reply:?}")
    };
    assert_eq!((total.flows, total.packets), (2, 10));
}

#[test]
fn entries_are_deleted_by_their_cookies_one_by_one() {
    let mut translator = able();
    let mut message = Vec::new();
    let order = wire::openflow::FlowMod {
        cookie: Cookie(0x54),
        cookie_mask: Cookie(0xff),
        ..wire::openflow::FlowMod::delete(TableId::ALL)
    };
    order.emit(X, &mut message);
    let asked = said_to(&mut translator, &message);
    let (header, _) = Narrow::parse(&asked.switch).unwrap();

    let mut answer = Vec::new();
    Narrow::StatisticsReply(entries(false)).emit(header.transaction, &mut answer);
    translator.hear(&answer, &mut Vec::new()).unwrap();
    let mut words = Vec::new();
    translator.take_words(&mut words);

    let Ok((_, Narrow::FlowMod(deleted))) = Narrow::parse(&words) else {
        panic!("{words:?}")
    };
    assert_eq!(deleted.command, FlowModCommand::DeleteStrict);
    assert_eq!(deleted.matching.in_port, Some(PortNumber(4)));
}

#[test]
fn questions_are_bounded() {
    let mut translator = able();
    let mut refused = 0;

    for number in 0..=MAX_QUESTIONS {
        let mut message = Vec::new();
        let request =
            MultipartRequest::new(RequestBody::Flow(FlowStatisticsRequest::all(TableId(0))));
        let transaction = TransactionId(u32::try_from(number).unwrap());
        request.emit(transaction, &mut message);
        refused += usize::from(!said_to(&mut translator, &message).controller.is_empty());
    }

    assert_eq!(refused, 1);
}

proptest::proptest! {
    /// Whatever either side says, the translator stands, and what it passes on can
    /// be read.
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200), kind in 0u8..35) {
        let mut bytes = bytes;
        let length = u16::try_from(bytes.len() + 8).unwrap().to_be_bytes();
        let header = |version| [version, kind, length[0], length[1], 0, 0, 0, 1];
        let mut narrow = header(1).to_vec();
        narrow.extend_from_slice(&bytes);
        bytes.splice(0..0, header(4));
        let mut translator = able();

        let mut heard = Vec::new();
        let _ = translator.hear(&narrow, &mut heard);
        let said = said_to(&mut translator, &bytes);

        proptest::prop_assert!(heard.is_empty() || Wide::parse(&heard).is_ok());
        proptest::prop_assert!(said.switch.is_empty() || Narrow::parse(&said.switch).is_ok());
    }
}

#[derive(Debug)]
struct Said {
    controller: Vec<u8>,
    switch: Vec<u8>,
}

fn said_to(translator: &mut Translator, message: &[u8]) -> Said {
    let (mut controller, mut switch) = (Vec::new(), Vec::new());
    let mut sides = Sides {
        controller: &mut controller,
        switch: &mut switch,
    };
    translator.say(message, &mut sides);
    Said { controller, switch }
}

fn said_by(translator: &mut Translator, message: &Narrow<'_>) -> Said {
    let mut bytes = Vec::new();
    message.emit(X, &mut bytes);
    let mut controller = Vec::new();
    translator.hear(&bytes, &mut controller).unwrap();
    let mut switch = Vec::new();
    translator.take_words(&mut switch);
    Said { controller, switch }
}

/// Returns the translator of a switch that has queues, one port that is up and its
/// own, which is down.
fn able() -> Translator {
    let mut translator = Translator::default();
    let port = |number, state| NarrowPort {
        number,
        address: HOST,
        name: PortName::new("p"),
        config: PortConfig::NONE,
        state,
        current: PortFeatures::NONE,
        advertised: PortFeatures::NONE,
        supported: PortFeatures::NONE,
        peer: PortFeatures::NONE,
    };
    let ports = [
        port(PortNumber(1), PortState::NONE),
        port(PortNumber::LOCAL, PortState::LINK_DOWN),
    ];
    let features = FeaturesReply {
        datapath: DatapathId(1),
        buffers: 0,
        tables: 1,
        capabilities: Capabilities::NONE,
        actions: ActionKinds::ALL,
        ports: Sequence::of(&ports),
    };
    said_by(&mut translator, &Narrow::FeaturesReply(features));
    let echo = Narrow::EchoRequest(Echo { data: b"x" });
    assert!(!said_by(&mut translator, &echo).controller.is_empty());
    translator
}

fn entry(fields: &[MatchField], actions: &[WideAction]) -> Vec<u8> {
    let mut message = Vec::new();
    let instructions = [Instruction::ApplyActions(wire::openflow::Actions::of(
        actions,
    ))];
    openflow_entry(TableId(0), fields, &instructions).emit(X, &mut message);
    message
}

fn openflow_entry<'a>(
    table: TableId,
    fields: &'a [MatchField],
    instructions: &'a [Instruction<'a>],
) -> wire::openflow::FlowMod<'a> {
    wire::openflow::FlowMod {
        priority: 1_000,
        matching: Fields::of(fields),
        instructions: Instructions::of(instructions),
        ..wire::openflow::FlowMod::add(table)
    }
}

fn question(body: impl Fn(FlowStatisticsRequest<'static>) -> RequestBody<'static>) -> Vec<u8> {
    let mut message = Vec::new();
    let request = FlowStatisticsRequest {
        cookie: Cookie(0x54),
        cookie_mask: Cookie(0xff),
        ..FlowStatisticsRequest::all(TableId::ALL)
    };
    MultipartRequest::new(body(request)).emit(X, &mut message);
    message
}

/// Returns a part of an answer with two entries, of which the second is meant.
fn entries(more: bool) -> StatisticsReply<'static> {
    let entry = |cookie, port| FlowStatistics {
        table: TableId(0),
        matching: Match10 {
            in_port: Some(PortNumber(port)),
            ..Match10::ANY
        },
        age: units::Duration::ZERO,
        priority: 5,
        idle_timeout_s: 0,
        hard_timeout_s: 0,
        cookie: Cookie(cookie),
        packets: 5,
        bytes: 300,
        actions: Actions::EMPTY,
    };
    let list = [entry(1, 3), entry(0x54, 4)];
    let mut bytes = Vec::new();
    for one in &list {
        wire::openflow::Element::emit(one, &mut bytes);
    }
    StatisticsReply {
        more,
        body: ReplyBody::Flow(Sequence::from_bytes(bytes.leak())),
    }
}
