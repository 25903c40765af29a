//! Questions and answers of every kind.

use super::*;
use crate::openflow::multipart::{
    ActionId, AggregateStatistics, BandCounters, BandTypes, BucketCounters, FieldId,
    FlowStatistics, FlowStatisticsRequest, GroupCapabilities, GroupDescription, GroupFeatures,
    GroupStatistics, InstructionId, MeterConfig, MeterFeatures, MeterStatistics, SwitchDescription,
    TableFeatures, TableProperty, TableStatistics,
};

/// Calls `visit` with a question and an answer of every kind.
pub(super) fn visit(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    visit_requests(seeds, visit);
    visit_replies(seeds, visit);
    visit_replies_about_groups(seeds, visit);
    visit_replies_about_meters(seeds, visit);
    visit_table_features(seeds, visit);
}

fn visit_requests(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    let fields = seeds.fields();
    let flow = FlowStatisticsRequest {
        table: TableId(seeds.u8(0)),
        out_port: PortNumber(seeds.u32(1)),
        out_group: GroupId(seeds.u32(2)),
        cookie: Cookie(seeds.u64(3)),
        cookie_mask: Cookie(seeds.u64(4)),
        matching: Fields::of(&fields),
    };
    let bodies = [
        RequestBody::Description,
        RequestBody::Flow(flow),
        RequestBody::Aggregate(flow),
        RequestBody::Table,
        RequestBody::PortStatistics(PortNumber(seeds.u32(5))),
        RequestBody::Queue {
            port: PortNumber(seeds.u32(6)),
            queue: QueueId(seeds.u32(7)),
        },
        RequestBody::Group(GroupId(seeds.u32(5))),
        RequestBody::GroupDescription,
        RequestBody::GroupFeatures,
        RequestBody::Meter(MeterId(seeds.u32(6))),
        RequestBody::MeterConfig(MeterId(seeds.u32(7))),
        RequestBody::MeterFeatures,
        RequestBody::TableFeatures(Sequence::EMPTY),
        RequestBody::PortDescription,
        RequestBody::Experimenter(experimenter(seeds)),
    ];
    for body in bodies {
        let more = seeds.u8(8) > 100;
        visit(&Message::MultipartRequest(MultipartRequest { more, body }));
    }
}

fn visit_replies(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    let (fields, actions) = (seeds.fields(), seeds.actions());
    let instructions = instructions(seeds, Actions::of(&actions));
    let flow = FlowStatistics {
        table: TableId(seeds.u8(0)),
        age: seeds.age(1),
        priority: seeds.u16(2),
        idle_timeout_s: seeds.u16(3),
        hard_timeout_s: seeds.u16(4),
        flags: FlowModFlags(seeds.u16(5)),
        cookie: Cookie(seeds.u64(6)),
        packets: seeds.u64(7),
        bytes: seeds.u64(8),
        matching: Fields::of(&fields),
        instructions: Instructions::of(&instructions),
    };
    let table = TableStatistics {
        table: TableId(seeds.u8(0)),
        entries: seeds.u32(1),
        lookups: seeds.u64(2),
        matched: seeds.u64(3),
    };
    let (flows, tables) = ([flow, flow], [table, table]);
    let (ports, statistics) = ([seeds.port(), seeds.port()], [seeds.port_statistics()]);
    let bodies = [
        ReplyBody::Description(SwitchDescription {
            manufacturer: &seeds.text,
            hardware: "",
            software: &seeds.text,
            serial: &seeds.text,
            datapath: &seeds.text,
        }),
        ReplyBody::Flow(Sequence::of(&flows)),
        ReplyBody::Aggregate(AggregateStatistics {
            packets: seeds.u64(0),
            bytes: seeds.u64(1),
            flows: seeds.u32(2),
        }),
        ReplyBody::Table(Sequence::of(&tables)),
        ReplyBody::PortStatistics(Sequence::of(&statistics)),
        ReplyBody::PortDescription(Sequence::of(&ports)),
        ReplyBody::Experimenter(experimenter(seeds)),
    ];
    for body in bodies {
        let more = seeds.u8(8) > 100;
        visit(&Message::MultipartReply(MultipartReply { more, body }));
    }
    visit(&Message::QueueGetConfigReply(QueueGetConfigReply {
        port: PortNumber(seeds.u32(0)),
        queues: Sequence::of(&[QueueDescription {
            queue: QueueId(seeds.u32(1)),
            port: PortNumber(seeds.u32(2)),
            min_rate_permille: Some(seeds.u16(3)),
            max_rate_permille: None,
        }]),
    }));
}

fn experimenter(seeds: &Seeds) -> Experimenter<'_> {
    Experimenter {
        experimenter: seeds.u32(0),
        kind: seeds.u32(1),
        data: &seeds.data,
    }
}

fn visit_reply(body: ReplyBody<'_>, visit: &mut dyn FnMut(&Message<'_>)) {
    visit(&Message::MultipartReply(MultipartReply::new(body)));
}

fn visit_replies_about_groups(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    let actions = seeds.actions();
    let buckets = [
        Bucket::new(Actions::EMPTY),
        Bucket::new(Actions::of(&actions)),
    ];
    let description = GroupDescription {
        kind: seeds.one_of(0, GroupType::ALL),
        group: GroupId(seeds.u32(1)),
        buckets: Buckets::of(&buckets),
    };
    let counters = BucketCounters {
        packets: seeds.u64(0),
        bytes: seeds.u64(1),
    };
    let counters = [counters, BucketCounters::default()];
    let statistics = GroupStatistics {
        group: GroupId(seeds.u32(1)),
        references: seeds.u32(2),
        packets: seeds.u64(3),
        bytes: seeds.u64(4),
        age: seeds.age(5),
        buckets: Sequence::of(&counters),
    };
    let (descriptions, statistics) = ([description; 2], [statistics; 2]);
    visit_reply(
        ReplyBody::GroupDescription(Sequence::of(&descriptions)),
        visit,
    );
    visit_reply(ReplyBody::Group(Sequence::of(&statistics)), visit);
    let features = GroupFeatures {
        types: seeds.u32(0),
        capabilities: GroupCapabilities(seeds.u32(1)),
        max_groups: [2, 3, 4, 5].map(|at| seeds.u32(at)),
        actions: [6, 7, 8, 9].map(|at| seeds.u32(at)),
    };
    visit_reply(ReplyBody::GroupFeatures(features), visit);
}

fn visit_replies_about_meters(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    let (rate, burst) = (seeds.u32(2), seeds.u32(3));
    let bands = [Band::Drop { rate, burst }];
    let config = MeterConfig {
        flags: MeterFlags(seeds.u16(0)),
        meter: MeterId(seeds.u32(1)),
        bands: Bands::of(&bands),
    };
    let counters = [BandCounters {
        packets: seeds.u64(0),
        bytes: seeds.u64(1),
    }];
    let statistics = MeterStatistics {
        meter: MeterId(seeds.u32(1)),
        flows: seeds.u32(2),
        packets: seeds.u64(3),
        bytes: seeds.u64(4),
        age: seeds.age(5),
        bands: Sequence::of(&counters),
    };
    let (configs, statistics) = ([config; 2], [statistics; 2]);
    visit_reply(ReplyBody::MeterConfig(Sequence::of(&configs)), visit);
    visit_reply(ReplyBody::Meter(Sequence::of(&statistics)), visit);
    let features = MeterFeatures {
        max_meters: seeds.u32(0),
        band_types: BandTypes(seeds.u32(1)),
        capabilities: MeterFlags(seeds.u16(2)),
        max_bands: seeds.u8(3),
        max_colours: seeds.u8(4),
    };
    visit_reply(ReplyBody::MeterFeatures(features), visit);
}

fn visit_table_features(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    let instructions = [
        InstructionId::Standard(seeds.one_of(0, InstructionKind::ALL)),
        InstructionId::Experimenter(seeds.u32(1)),
    ];
    let actions = [
        ActionId::Standard(seeds.one_of(2, ActionKind::ALL)),
        ActionId::Experimenter(seeds.u32(3)),
    ];
    let fields = [
        FieldId::Standard {
            field: seeds.one_of(4, FieldKind::ALL),
            has_mask: seeds.u8(5) > 100,
        },
        FieldId::Experimenter {
            experimenter: seeds.u32(6),
            field: seeds.u8(7),
            length: seeds.u8(8),
        },
    ];
    let tables = [1, 2, 3].map(|at| TableId(seeds.u8(at)));
    let properties = properties(seeds, &instructions, &actions, &fields, &tables);
    let features = TableFeatures {
        table: TableId(seeds.u8(0)),
        name: &seeds.text,
        metadata_match: seeds.u64(1),
        metadata_write: seeds.u64(2),
        config: seeds.u32(3),
        max_entries: seeds.u32(4),
        properties: Sequence::of(&properties),
    };
    let tables = [features; 2];
    visit_reply(ReplyBody::TableFeatures(Sequence::of(&tables)), visit);
    let body = RequestBody::TableFeatures(Sequence::of(&tables));
    visit(&Message::MultipartRequest(MultipartRequest::new(body)));
}

/// Returns a property of every kind.
fn properties<'a>(
    seeds: &'a Seeds,
    instructions: &'a [InstructionId],
    actions: &'a [ActionId],
    fields: &'a [FieldId],
    tables: &'a [TableId],
) -> [TableProperty<'a>; 16] {
    let (instructions, actions) = (Sequence::of(instructions), Sequence::of(actions));
    let (fields, tables) = (Sequence::of(fields), Sequence::of(tables));
    let (experimenter, kind, data) = (seeds.u32(9), seeds.u32(10), &seeds.data[..]);
    [
        TableProperty::Instructions(instructions),
        TableProperty::InstructionsMiss(Sequence::EMPTY),
        TableProperty::NextTables(tables),
        TableProperty::NextTablesMiss(tables),
        TableProperty::WriteActions(actions),
        TableProperty::WriteActionsMiss(actions),
        TableProperty::ApplyActions(actions),
        TableProperty::ApplyActionsMiss(actions),
        TableProperty::Match(fields),
        TableProperty::Wildcards(fields),
        TableProperty::WriteSetField(fields),
        TableProperty::WriteSetFieldMiss(fields),
        TableProperty::ApplySetField(fields),
        TableProperty::ApplySetFieldMiss(fields),
        TableProperty::Experimenter {
            experimenter,
            kind,
            data,
        },
        TableProperty::ExperimenterMiss {
            experimenter,
            kind,
            data,
        },
    ]
}
