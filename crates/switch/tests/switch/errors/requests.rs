//! Errors of requests, the configuration, roles, tables and queues.

use wire::openflow::multipart::{FlowStatisticsRequest, MultipartRequest, RequestBody};
use wire::openflow::{
    Actions, BadRequest, BufferId, ControllerLength, ErrorKind, FlowMod, FragmentHandling,
    HelloFailed, Message, PacketOut, PortNumber, QueueId, QueueOpFailed, Role, RoleMessage,
    RoleRequestFailed, Sequence, SwitchConfig, SwitchConfigFailed, TableFeaturesFailed, TableId,
    TableMod, TableModFailed,
};

use super::{Case, bytes, check, raw, refused};
use crate::world::{CONTROLLER, World};
use switch::ConnectionId;
use wire::openflow::multipart::{TableFeatures, TableProperty};

const EXPERIMENTER: u8 = 4;
const MULTIPART_REQUEST: u8 = 18;
const TABLE_FEATURES: u8 = 12;
const NO_RIGHTS: &str = "who may connect may do everything that his role allows";

#[test]
fn every_failed_hello_has_its_reason() {
    check(
        HelloFailed::ALL,
        ErrorKind::HelloFailed,
        |code| match code {
            HelloFailed::Incompatible => Case::Given(|world| {
                let other = ConnectionId(2);
                world.connect(other, switch::Peer::Controller);
                world.answers(other);
                world.receive(other, &[9, 0, 0, 16, 0, 0, 0, 7, 0, 1, 0, 8, 0, 0, 2, 0]);
                let answers = world.answers(other);
                match answers[0].message() {
                    Message::Error(error) => error.kind,
                    other => panic!("no error: {other:?}"),
                }
            }),
            HelloFailed::PermissionDenied => Case::Never(NO_RIGHTS),
        },
    );
}

#[test]
fn every_bad_request_has_its_reason() {
    check(BadRequest::ALL, ErrorKind::BadRequest, bad_request);
}

fn bad_request(code: BadRequest) -> Case {
    match code {
        BadRequest::BadVersion => Case::Given(|world| refused(world, &[9, 2, 0, 8, 0, 0, 0, 7])),
        BadRequest::BadType => Case::Given(|world| refused(world, &raw(30, &[]))),
        BadRequest::BadMultipart => Case::Given(|world| multipart(world, 99, &[])),
        BadRequest::BadExperimenter => Case::Given(|world| {
            let message = raw(EXPERIMENTER, &[0, 0, 0, 1, 0, 0, 0, 1]);
            refused(world, &message)
        }),
        BadRequest::BadExperimenterType => Case::Given(|world| {
            let message = raw(EXPERIMENTER, &[0x4f, 0x4e, 0x46, 0, 0, 0, 0, 1]);
            refused(world, &message)
        }),
        BadRequest::PermissionDenied => Case::Never(NO_RIGHTS),
        BadRequest::BadLength => Case::Given(|world| refused(world, &raw(5, &[0]))),
        BadRequest::BufferEmpty => Case::Given(|world| {
            world.ask(&Message::SetConfig(SwitchConfig {
                fragments: FragmentHandling::Normal,
                miss_send_length: ControllerLength(20),
            }));
            world.add(0, &[], &[to_controller()]);
            world.frame(1, &[7; 60]);
            let answers = world.answers(CONTROLLER);
            let Message::PacketIn(packet_in) = answers[0].message() else {
                panic!("no packet-in")
            };
            world.tell(&packet_out(packet_in.buffer, 1, &[]));
            world.refused(&packet_out(packet_in.buffer, 1, &[]))
        }),
        BadRequest::BufferUnknown => {
            Case::Given(|world| world.refused(&packet_out(BufferId(77), 1, &[])))
        }
        BadRequest::BadTableId => Case::Given(|world| {
            let flows = FlowStatisticsRequest::all(TableId(254));
            let body = RequestBody::Flow(flows);
            world.refused(&Message::MultipartRequest(MultipartRequest::new(body)))
        }),
        BadRequest::IsSlave => Case::Given(|world| {
            let (role, generation) = (Role::Slave, 1);
            world.ask(&Message::RoleRequest(RoleMessage { role, generation }));
            world.refused(&Message::FlowMod(FlowMod::add(TableId(0))))
        }),
        BadRequest::BadPort => {
            Case::Given(|world| world.refused(&packet_out(BufferId::NONE, 99, &[0; 60])))
        }
        BadRequest::BadPacket => {
            Case::Given(|world| world.refused(&packet_out(BufferId::NONE, 1, &[0; 13])))
        }
        BadRequest::MultipartBufferOverflow => Case::Given(|world| {
            let tables = [modest(0)];
            let body = RequestBody::TableFeatures(Sequence::of(&tables));
            let more = true;
            let mut part = bytes(&Message::MultipartRequest(MultipartRequest { more, body }));
            world.receive(CONTROLLER, &part);
            part[7] = 8;
            refused(world, &part)
        }),
    }
}

fn to_controller() -> wire::openflow::Action {
    wire::openflow::Action::Output {
        port: PortNumber::CONTROLLER,
        max_length: ControllerLength(20),
    }
}

fn packet_out(buffer: BufferId, port: u32, data: &[u8]) -> Message<'_> {
    Message::PacketOut(PacketOut {
        buffer,
        in_port: PortNumber(port),
        actions: Actions::EMPTY,
        data,
    })
}

/// Sends a multipart request of this type with this body.
fn multipart(world: &mut World, kind: u8, body: &[u8]) -> ErrorKind {
    let mut request = vec![0, kind, 0, 0, 0, 0, 0, 0];
    request.extend_from_slice(body);
    refused(world, &raw(MULTIPART_REQUEST, &request))
}

#[test]
fn every_failed_change_of_a_table_has_its_reason() {
    check(
        TableModFailed::ALL,
        ErrorKind::TableModFailed,
        |code| match code {
            TableModFailed::BadTable => Case::Given(|world| {
                let (table, config) = (TableId(254), 0);
                world.refused(&Message::TableMod(TableMod { table, config }))
            }),
            TableModFailed::BadConfig => Case::Given(|world| {
                let (table, config) = (TableId(0), 4);
                world.refused(&Message::TableMod(TableMod { table, config }))
            }),
            TableModFailed::PermissionDenied => Case::Never(NO_RIGHTS),
        },
    );
}

#[test]
fn every_failed_question_about_queues_has_its_reason() {
    check(
        QueueOpFailed::ALL,
        ErrorKind::QueueOpFailed,
        |code| match code {
            QueueOpFailed::BadPort => Case::Given(|world| {
                let port = PortNumber(99);
                world.refused(&Message::QueueGetConfigRequest(port))
            }),
            QueueOpFailed::BadQueue => Case::Given(|world| {
                let (port, queue) = (PortNumber(1), QueueId(8));
                let body = RequestBody::Queue { port, queue };
                world.refused(&Message::MultipartRequest(MultipartRequest::new(body)))
            }),
            QueueOpFailed::PermissionDenied => Case::Never(NO_RIGHTS),
        },
    );
}

#[test]
fn every_failed_configuration_has_its_reason() {
    let kind = ErrorKind::SwitchConfigFailed;
    check(SwitchConfigFailed::ALL, kind, |code| match code {
        SwitchConfigFailed::BadFlags => Case::Given(|world| {
            world.refused(&Message::SetConfig(SwitchConfig {
                fragments: FragmentHandling::Reassemble,
                miss_send_length: ControllerLength(128),
            }))
        }),
        SwitchConfigFailed::BadLength => Case::Given(|world| {
            world.refused(&Message::SetConfig(SwitchConfig {
                fragments: FragmentHandling::Normal,
                miss_send_length: ControllerLength(0xffe6),
            }))
        }),
        SwitchConfigFailed::PermissionDenied => Case::Never(NO_RIGHTS),
    });
}

#[test]
fn every_refused_role_has_its_reason() {
    let kind = ErrorKind::RoleRequestFailed;
    check(RoleRequestFailed::ALL, kind, |code| match code {
        RoleRequestFailed::Stale => Case::Given(|world| {
            let master = |generation| {
                let role = Role::Master;
                Message::RoleRequest(RoleMessage { role, generation })
            };
            world.ask(&master(5));
            world.refused(&master(4))
        }),
        RoleRequestFailed::Unsupported => Case::Never("every role is supported"),
        RoleRequestFailed::BadRole => Case::Given(|world| {
            let mut body = [0; 16];
            body[3] = 4;
            refused(world, &raw(24, &body))
        }),
    });
}

#[test]
fn every_failed_change_of_table_features_has_its_reason() {
    let kind = ErrorKind::TableFeaturesFailed;
    check(TableFeaturesFailed::ALL, kind, |code| match code {
        TableFeaturesFailed::BadTable => Case::Given(|world| features(world, 254, &[])),
        TableFeaturesFailed::BadMetadata => Case::Never("every mask of metadata is supported"),
        TableFeaturesFailed::BadType => {
            Case::Given(|world| features(world, 0, &[0, 99, 0, 4, 0, 0, 0, 0]))
        }
        TableFeaturesFailed::BadLength => {
            Case::Given(|world| features(world, 0, &[0, 0, 0, 3, 0, 0, 0, 0]))
        }
        TableFeaturesFailed::BadArgument => Case::Given(|world| {
            let tables = [TableId(0)];
            let next = [TableProperty::NextTables(Sequence::of(&tables))];
            let properties = Sequence::of(&next);
            let tables = [TableFeatures {
                properties,
                ..modest(0)
            }];
            let body = RequestBody::TableFeatures(Sequence::of(&tables));
            world.refused(&Message::MultipartRequest(MultipartRequest::new(body)))
        }),
        TableFeaturesFailed::PermissionDenied => Case::Never(NO_RIGHTS),
    });
}

fn modest(table: u8) -> TableFeatures<'static> {
    TableFeatures {
        table: TableId(table),
        name: "",
        metadata_match: 0,
        metadata_write: 0,
        config: 0,
        max_entries: 0,
        properties: Sequence::EMPTY,
    }
}

/// Asks for a table with these bytes as properties.
fn features(world: &mut World, table: u8, properties: &[u8]) -> ErrorKind {
    let length = u8::try_from(64 + properties.len()).expect("a table is short");
    let mut body = vec![0; 64];
    body[1] = length;
    body[2] = table;
    body.extend_from_slice(properties);
    multipart(world, TABLE_FEATURES, &body)
}
