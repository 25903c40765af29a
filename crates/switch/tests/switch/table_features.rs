//! What tables can do, which tables there are, and their configuration, OF13
//! clauses 7.3.3 and 7.3.5.5.

use wire::openflow::multipart::{
    ActionId, FieldId, InstructionId, MultipartReply, MultipartRequest, ReplyBody, RequestBody,
    TableFeatures, TableProperty,
};
use wire::openflow::{
    ActionKind, BadRequest, Element, ErrorKind, FieldKind, FlowMod, FlowModFailed, FlowModFlags,
    Instruction, InstructionKind, Instructions, Message, Role, RoleMessage, Sequence,
    TableFeaturesFailed, TableId, TableMod, TableModFailed, TransactionId,
};

use crate::world::{Answer, CONTROLLER, World, from, output, unpaced};

/// What a controller gets to know about a table.
#[derive(Debug, PartialEq, Eq)]
struct Known {
    table: u8,
    name: String,
    entries_max: u32,
    next: Vec<u8>,
    properties: usize,
}

fn known(answers: &[Answer]) -> Vec<Known> {
    let mut found = Vec::new();
    for (at, answer) in answers.iter().enumerate() {
        let Message::MultipartReply(MultipartReply {
            more,
            body: ReplyBody::TableFeatures(tables),
        }) = answer.message()
        else {
            panic!("another answer: {:?}", answer.message())
        };
        assert_eq!(more, at + 1 < answers.len(), "only the last is the last");
        found.extend(
            tables
                .iter()
                .map(|table| known_table(&table.expect("a good answer"))),
        );
    }
    found
}

fn known_table(features: &TableFeatures<'_>) -> Known {
    let mut next = Vec::new();
    for property in features.properties {
        if let TableProperty::NextTables(tables) = property.expect("a good answer") {
            next.extend(tables.iter().map(|table| table.expect("a good answer").0));
        }
    }
    Known {
        table: features.table.0,
        name: features.name.to_owned(),
        entries_max: features.max_entries,
        next,
        properties: features.properties.iter().count(),
    }
}

fn request<'a>(tables: &'a [TableFeatures<'a>], more: bool) -> Message<'a> {
    let body = RequestBody::TableFeatures(Sequence::of(tables));
    Message::MultipartRequest(MultipartRequest { more, body })
}

/// A table of which nothing is asked but that it is there.
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

fn switch_with_tables(tables: u8) -> World {
    let mut config = unpaced();
    config.tables = tables;
    World::with_controller(config)
}

fn failed(code: TableFeaturesFailed) -> ErrorKind {
    ErrorKind::TableFeaturesFailed(code)
}

/// OF13 clause 7.3.5.5: an empty request asks.
#[test]
fn every_table_tells_its_name_its_size_and_where_its_entries_may_go() {
    let mut world = switch_with_tables(3);

    let tables = known(&world.ask(&request(&[], false)));

    assert_eq!(tables.len(), 3);
    assert_eq!(tables[1].table, 1);
    assert_eq!(tables[1].name, "table1");
    let capacity = unpaced().table_capacity;
    assert_eq!(usize::try_from(tables[1].entries_max).unwrap(), capacity);
    assert_eq!(tables[0].next, [1, 2]);
    assert_eq!(tables[2].next, []);
}

/// OF13 clause 7.3.5: an answer may take many messages.
#[test]
fn an_answer_about_254_tables_comes_in_parts_and_is_complete() {
    let mut world = switch_with_tables(254);

    let answers = world.ask(&request(&[], false));

    assert!(answers.len() > 1);
    let tables = known(&answers);
    assert!(tables.iter().map(|it| it.table).eq(0..254));
    assert_eq!(tables[0].next.len(), 253);
}

/// OF13 clause 7.3.5.5: either all tables of the request change, or none.
#[test]
fn names_are_taken_and_told_again() {
    let mut world = switch_with_tables(2);
    let named = ["ports", "addresses"].map(|name| TableFeatures { name, ..modest(0) });
    let tables = [
        named[0],
        TableFeatures {
            table: TableId(1),
            ..named[1]
        },
    ];

    let answered = known(&world.ask(&request(&tables, false)));

    assert_eq!(answered[0].name, "ports");
    assert_eq!(answered[1].name, "addresses");
    assert_eq!(known(&world.ask(&request(&[], false))), answered);
}

/// OF13 clause 7.3.5.5: tables that are not in the request go, and entries of
/// tables that change go without a flow-removed.
#[test]
fn tables_that_are_not_asked_for_go_with_all_entries() {
    let mut world = switch_with_tables(4);
    world.add(1, &[from(1)], &[output(2)]);
    world.tell(&Message::FlowMod(FlowMod {
        flags: FlowModFlags::SEND_FLOW_REMOVED,
        hard_timeout_s: 1,
        ..FlowMod::add(TableId(3))
    }));

    let answers = world.ask(&request(&[modest(0), modest(1)], false));

    assert_eq!(known(&answers).len(), 2);
    assert_eq!(
        world.refused(&Message::FlowMod(FlowMod::add(TableId(2)))),
        ErrorKind::FlowModFailed(FlowModFailed::BadTableId)
    );
    world.frame(1, &[0; 60]);
    assert_eq!(world.take_sent(), []);
    world.run_until(world.now + units::Duration::from_secs(2));
    assert!(world.answers(CONTROLLER).is_empty());
}

#[test]
fn tables_that_went_come_back_empty() {
    let mut world = switch_with_tables(4);
    world.ask(&request(&[modest(0)], false));

    let answers = world.ask(&request(&[modest(1), modest(0), modest(2)], false));

    assert_eq!(known(&answers).len(), 3);
    world.tell(&Message::FlowMod(FlowMod::add(TableId(2))));
}

#[test]
fn the_same_tables_under_new_names_keep_their_entries() {
    let mut world = switch_with_tables(1);
    world.add(1, &[from(1)], &[output(2)]);
    let name = "other";

    world.ask(&request(&[TableFeatures { name, ..modest(0) }], false));

    world.frame(1, &[0; 60]);
    assert_eq!(world.take_sent().len(), 1);
}

/// OF13 clause 7.3.5: a request may take many messages.
#[test]
fn a_request_in_parts_counts_once_it_is_complete() {
    let mut world = switch_with_tables(3);

    world.tell(&request(&[modest(0)], true));
    assert_eq!(world.switch.cost().frame.lookups, 0);
    world.tell(&request(&[modest(1)], true));
    let answers = world.ask(&request(&[], false));

    assert_eq!(known(&answers).len(), 2);
}

/// OF13 clause 7.4.4.
#[test]
fn a_second_request_in_parts_has_to_wait() {
    let mut world = switch_with_tables(3);
    world.tell(&request(&[modest(0)], true));
    let mut other = Vec::new();
    request(&[modest(0)], true).emit(TransactionId(8), &mut other);

    world.receive(CONTROLLER, &other);

    let answers = world.answers(CONTROLLER);
    let Message::Error(error) = answers[0].message() else {
        panic!("not refused")
    };
    let overflow = ErrorKind::BadRequest(BadRequest::MultipartBufferOverflow);
    assert_eq!(error.kind, overflow);
}

/// OF13 clause 7.4.4, `OFPTFFC_BAD_TABLE`.
#[test]
fn tables_that_cannot_be_are_refused() {
    let mut world = switch_with_tables(3);

    for tables in [
        &[modest(3)][..],
        &[modest(1)],
        &[modest(0), modest(2)],
        &[modest(0), modest(0)],
        &[modest(0), modest(255)],
    ] {
        let error = world.refused(&request(tables, false));
        assert_eq!(error, failed(TableFeaturesFailed::BadTable));
    }
    assert_eq!(known(&world.ask(&request(&[], false))).len(), 3);
}

/// OF13 clause 7.4.4, `OFPTFFC_BAD_ARGUMENT`.
#[test]
fn what_tables_cannot_do_is_refused() {
    let mut world = switch_with_tables(3);
    let field = FieldKind::EthType;
    let has_mask = true;
    let header = 0x0001_4a04;

    for property in [
        TableProperty::Instructions(Sequence::of(&[InstructionId::Experimenter(1)])),
        TableProperty::ApplyActions(Sequence::of(&[ActionId::Experimenter(1)])),
        TableProperty::Match(Sequence::of(&[FieldId::Standard { field, has_mask }])),
        TableProperty::Match(Sequence::of(&[FieldId::Unknown { header }])),
        TableProperty::WriteSetField(Sequence::of(&[FieldId::exact(FieldKind::InPort)])),
        TableProperty::NextTables(Sequence::of(&[TableId(0)])),
        TableProperty::NextTablesMiss(Sequence::of(&[TableId(9)])),
    ] {
        let properties = [property];
        let properties = Sequence::of(&properties);
        let wanted = TableFeatures {
            properties,
            ..modest(0)
        };
        let error = world.refused(&request(&[wanted, modest(1)], false));
        assert_eq!(
            error,
            failed(TableFeaturesFailed::BadArgument),
            "{property:?}"
        );
    }
    let max_entries = u32::MAX;
    let large = TableFeatures {
        max_entries,
        ..modest(0)
    };
    let error = world.refused(&request(&[large], false));
    assert_eq!(error, failed(TableFeaturesFailed::BadArgument));
}

/// OF13 clause 7.4.4, `OFPTFFC_BAD_TYPE` and `OFPTFFC_BAD_LEN`.
#[test]
fn a_property_that_cannot_be_read_is_refused() {
    let mut world = switch_with_tables(1);
    let mut good = Vec::new();
    let properties = [TableProperty::Instructions(Sequence::of(&[
        InstructionId::Standard(InstructionKind::GotoTable),
    ]))];
    let properties = Sequence::of(&properties);
    let features = TableFeatures {
        properties,
        ..modest(0)
    };
    request(&[features], false).emit(TransactionId(7), &mut good);
    let property = good.len() - 8;

    for (at, value, code) in [
        (property + 1, 99, TableFeaturesFailed::BadType),
        (property + 3, 3, TableFeaturesFailed::BadLength),
        (property + 3, 16, TableFeaturesFailed::BadLength),
        (property + 7, 8, TableFeaturesFailed::BadLength),
    ] {
        let mut bad = good.clone();
        bad[at] = value;
        world.receive(CONTROLLER, &bad);

        let answers = world.answers(CONTROLLER);
        let Message::Error(error) = answers[0].message() else {
            panic!("not refused")
        };
        assert_eq!(error.kind, failed(code));
    }
}

/// OF13 clause 7.3.5.5: what a switch says that it can do it can be asked for.
#[test]
fn what_a_table_can_do_may_be_asked_of_it() {
    let mut world = switch_with_tables(3);
    let answers = world.ask(&request(&[], false));
    let Message::MultipartReply(MultipartReply {
        body: ReplyBody::TableFeatures(tables),
        ..
    }) = answers[0].message()
    else {
        panic!("another answer")
    };
    let tables: Vec<_> = tables.iter().map(Result::unwrap).collect();

    let answered = known(&world.ask(&request(&tables, false)));

    assert_eq!(answered.len(), 3);
}

/// OF13 clauses 6.3.4 and 7.3.5.5.
#[test]
fn a_slave_may_ask_about_tables_but_not_change_them() {
    let mut world = switch_with_tables(1);
    let (role, generation) = (Role::Slave, 1);
    world.ask(&Message::RoleRequest(RoleMessage { role, generation }));

    assert_eq!(known(&world.ask(&request(&[], false))).len(), 1);
    let error = world.refused(&request(&[modest(0)], false));
    assert_eq!(error, ErrorKind::BadRequest(BadRequest::IsSlave));
}

/// OF13 clause 7.3.3: version 1.3 has no configuration but two bits that mean
/// nothing any more.
#[test]
fn a_table_mod_changes_nothing_and_names_a_table() {
    let mut world = switch_with_tables(2);
    let table_mod = |table, config| {
        let table = TableId(table);
        Message::TableMod(TableMod { table, config })
    };

    world.tell(&table_mod(1, 0));
    world.tell(&table_mod(255, 3));

    let bad_table = ErrorKind::TableModFailed(TableModFailed::BadTable);
    assert_eq!(world.refused(&table_mod(2, 0)), bad_table);
    let bad_config = ErrorKind::TableModFailed(TableModFailed::BadConfig);
    assert_eq!(world.refused(&table_mod(0, 4)), bad_config);
}

/// A table says that it can do everything of the specification.
#[test]
fn all_fields_actions_and_instructions_are_told() {
    let mut world = switch_with_tables(1);

    let answers = world.ask(&request(&[], false));

    let Message::MultipartReply(MultipartReply {
        body: ReplyBody::TableFeatures(tables),
        ..
    }) = answers[0].message()
    else {
        panic!("another answer")
    };
    let features = tables.iter().next().unwrap().unwrap();
    let counts: Vec<_> = features
        .properties
        .iter()
        .map(|property| match property.unwrap() {
            TableProperty::Instructions(it) => count(it),
            TableProperty::NextTables(it) => count(it),
            TableProperty::WriteActions(it) | TableProperty::ApplyActions(it) => count(it),
            TableProperty::Match(it) | TableProperty::Wildcards(it) => count(it),
            TableProperty::WriteSetField(it) | TableProperty::ApplySetField(it) => count(it),
            other => panic!("not told: {other:?}"),
        })
        .collect();
    let (actions, fields) = (ActionKind::ALL.len(), FieldKind::ALL.len());
    let settable = fields - 5;
    let instructions = InstructionKind::ALL.len();
    assert_eq!(
        counts,
        [
            instructions,
            0,
            actions,
            actions,
            fields,
            fields,
            settable,
            settable
        ]
    );
}

fn count<'a, T: Element<'a>>(list: Sequence<'a, T>) -> usize {
    list.iter().map(Result::unwrap).count()
}

/// The instruction to go to a table that is gone is refused.
#[test]
fn entries_cannot_go_to_a_table_that_went() {
    let mut world = switch_with_tables(3);
    world.ask(&request(&[modest(0), modest(1)], false));
    let goto = |table| [Instruction::GotoTable(TableId(table))];

    world.tell(&Message::FlowMod(FlowMod {
        instructions: Instructions::of(&goto(1)),
        ..FlowMod::add(TableId(0))
    }));
    world.refused(&Message::FlowMod(FlowMod {
        instructions: Instructions::of(&goto(2)),
        ..FlowMod::add(TableId(0))
    }));
}
