use units::Duration;

use super::*;
use crate::ethernet::EtherType;
use crate::openflow::multipart::{QueueStatistics, ReplyBody, RequestBody};
use crate::openflow::oxm::VlanMatch;
use crate::openflow::*;
use crate::vectors::frames;

const VECTORS: &str = include_str!("../../../tests/vectors/openflow.hex");

/// Checks that `message` and the vector are the same, in both directions.
fn assert_is_vector(index: usize, transaction: u32, message: &Message<'_>) {
    let vector = &frames(VECTORS)[index];
    let mut out = Vec::new();

    message.emit(TransactionId(transaction), &mut out);
    let (header, parsed) = Message::parse(vector).unwrap();

    assert_eq!(&out, vector);
    assert_eq!(&parsed, message);
    assert_eq!(header.transaction, TransactionId(transaction));
}

#[test]
fn hello_stands_in_bytes_as_the_specification_says() {
    assert_is_vector(0, 1, &Message::Hello(Hello::OURS));
}

#[test]
fn error_stands_in_bytes_as_the_specification_says() {
    let error = ErrorMessage {
        kind: ErrorKind::BadMatch(BadMatch::DuplicateField),
        data: &[4, 14, 0, 8, 0, 0, 0, 2],
    };

    assert_is_vector(1, 2, &Message::Error(error));
}

#[test]
fn features_reply_stands_in_bytes_as_the_specification_says() {
    let features = FeaturesReply {
        datapath: DatapathId(0xa01),
        buffers: 256,
        tables: 2,
        auxiliary: 0,
        capabilities: Capabilities::FLOW_STATISTICS
            .with(Capabilities::TABLE_STATISTICS)
            .with(Capabilities::PORT_STATISTICS)
            .with(Capabilities::QUEUE_STATISTICS),
    };

    assert_is_vector(2, 3, &Message::FeaturesReply(features));
}

#[test]
fn packet_in_stands_in_bytes_as_the_specification_says() {
    let packet_in = PacketIn {
        buffer: BufferId::NONE,
        total_length: 4,
        reason: PacketInReason::NoMatch,
        table: TableId(0),
        cookie: Cookie(7),
        fields: Fields::of(&[MatchField::InPort(PortNumber(3))]),
        data: &[0xde, 0xad, 0xbe, 0xef, 0, 0],
    };

    assert_is_vector(3, 0, &Message::PacketIn(packet_in));
    assert_eq!(packet_in.in_port(), Some(PortNumber(3)));
}

#[test]
fn packet_out_stands_in_bytes_as_the_specification_says() {
    let actions = [Action::output(PortNumber(2))];
    let packet_out = PacketOut {
        buffer: BufferId::NONE,
        in_port: PortNumber::CONTROLLER,
        actions: Actions::of(&actions),
        data: &[0xde, 0xad, 0xbe, 0xef],
    };

    assert_is_vector(4, 5, &Message::PacketOut(packet_out));
}

#[test]
fn flow_mod_stands_in_bytes_as_the_specification_says() {
    let group = "01:0c:cd:04:00:01".parse::<crate::ethernet::MacAddress>();
    let fields = [
        MatchField::InPort(PortNumber(1)),
        MatchField::EthDst(group.unwrap().into()),
        MatchField::EthType(EtherType::SAMPLED_VALUES),
        MatchField::VlanVid(VlanMatch::tagged(7).into()),
        MatchField::VlanPcp(4),
    ];
    let actions = [
        Action::SetQueue(QueueId(7)),
        Action::SetField(MatchField::VlanVid(VlanMatch::tagged(8).into())),
        Action::Group(GroupId(9)),
    ];
    let instructions = [
        Instruction::ApplyActions(Actions::of(&actions)),
        Instruction::GotoTable(TableId(2)),
    ];
    let flow_mod = FlowMod {
        cookie: Cookie(7),
        idle_timeout_s: 10,
        priority: 0x8000,
        flags: FlowModFlags::SEND_FLOW_REMOVED,
        matching: Fields::of(&fields),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(1))
    };

    assert_is_vector(5, 6, &Message::FlowMod(flow_mod));
}

#[test]
fn port_status_stands_in_bytes_as_the_specification_says() {
    let address = "02:00:00:00:00:02".parse().unwrap();
    let name = PortName::new("s1-eth2");
    let port_status = PortStatus {
        reason: PortStatusReason::Modify,
        port: PortDescription {
            state: PortState::LINK_DOWN,
            current: PortFeatures::MBPS_100_FULL.with(PortFeatures::COPPER),
            current_speed_kbps: 100_000,
            max_speed_kbps: 1_000_000,
            ..PortDescription::new(PortNumber(2), address, name)
        },
    };

    assert_is_vector(6, 0, &Message::PortStatus(port_status));
}

#[test]
fn barrier_request_stands_in_bytes_as_the_specification_says() {
    assert_is_vector(7, 9, &Message::BarrierRequest);
}

#[test]
fn flow_removed_stands_in_bytes_as_the_specification_says() {
    let flow_removed = FlowRemoved {
        cookie: Cookie(7),
        priority: 100,
        reason: FlowRemovedReason::Delete,
        table: TableId(1),
        age: Duration::from_ms(3500),
        idle_timeout_s: 10,
        hard_timeout_s: 0,
        packets: 2,
        bytes: 120,
        matching: Fields::EMPTY,
    };

    assert_is_vector(8, 0, &Message::FlowRemoved(flow_removed));
}

#[test]
fn role_request_stands_in_bytes_as_the_specification_says() {
    let role = RoleMessage {
        role: Role::Master,
        generation: 5,
    };

    assert_is_vector(9, 10, &Message::RoleRequest(role));
}

#[test]
fn multipart_request_stands_in_bytes_as_the_specification_says() {
    let request = MultipartRequest::new(RequestBody::PortDescription);

    assert_is_vector(10, 11, &Message::MultipartRequest(request));
}

#[test]
fn multipart_reply_stands_in_bytes_as_the_specification_says() {
    let queues = [QueueStatistics {
        port: PortNumber(1),
        queue: QueueId(7),
        sent_bytes: 256,
        sent_packets: 2,
        sent_errors: 0,
        age: Duration::from_ms(1000),
    }];
    let reply = MultipartReply {
        more: true,
        body: ReplyBody::Queue(Sequence::of(&queues)),
    };

    assert_is_vector(11, 12, &Message::MultipartReply(reply));
}

/// Returns what a switch answers to `message`.
fn answer(message: &[u8]) -> ErrorKind {
    Message::parse(message).unwrap_err().kind()
}

#[test]
fn each_mistake_in_a_message_has_its_answer() {
    let version = [5, 2, 0, 8, 0, 0, 0, 0];
    let kind = [4, 30, 0, 8, 0, 0, 0, 0];
    let barrier_with_a_body = [4, 20, 0, 9, 0, 0, 0, 0, 0];
    let short_flow_mod = [4, 14, 0, 8, 0, 0, 0, 0];
    let multipart = [4, 18, 0, 16, 0, 0, 0, 0, 0, 99, 0, 0, 0, 0, 0, 0];

    let bad = ErrorKind::BadRequest;
    assert_eq!(answer(&version), bad(BadRequest::BadVersion));
    assert_eq!(answer(&kind), bad(BadRequest::BadType));
    assert_eq!(answer(&barrier_with_a_body), bad(BadRequest::BadLength));
    assert_eq!(answer(&short_flow_mod), bad(BadRequest::BadLength));
    assert_eq!(answer(&multipart), bad(BadRequest::BadMultipart));
}

#[test]
fn each_unknown_number_in_a_message_has_its_answer() {
    let mut flow_mod = frames(VECTORS)[5].clone();
    flow_mod[25] = 5;
    let mut role = frames(VECTORS)[9].clone();
    role[11] = 4;
    let config = [4, 9, 0, 12, 0, 0, 0, 0, 0, 3, 0, 0];

    let command = ErrorKind::FlowModFailed(FlowModFailed::BadCommand);
    assert_eq!(answer(&flow_mod), command);
    let role_error = ErrorKind::RoleRequestFailed(RoleRequestFailed::BadRole);
    assert_eq!(answer(&role), role_error);
    let flags = ErrorKind::SwitchConfigFailed(SwitchConfigFailed::BadFlags);
    assert_eq!(answer(&config), flags);
}

#[test]
fn a_hello_of_a_later_version_is_read() {
    let hello = [6, 0, 0, 8, 0, 0, 0, 0];

    let (_, message) = Message::parse(&hello).unwrap();

    let expected = Hello {
        version: 6,
        versions: None,
    };
    assert_eq!(message, Message::Hello(expected));
}

mod open_vswitch;
mod properties;
