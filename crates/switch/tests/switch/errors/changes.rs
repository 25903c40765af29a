//! Errors of changes: of entries, groups, meters and ports.

use wire::ethernet::MacAddress;
use wire::openflow::{
    Action, Actions, Band, Bands, Bucket, Buckets, ErrorKind, FlowMod, FlowModCommand,
    FlowModFailed, FlowModFlags, GroupId, GroupMod, GroupModCommand, GroupModFailed, GroupType,
    Message, MeterFlags, MeterId, MeterMod, MeterModCommand, MeterModFailed, PortConfig,
    PortFeatures, PortMod, PortModFailed, PortNumber, TableId,
};

use super::{Case, bytes, check, refused};
use crate::world::{World, from, output, unpaced};

const NO_RIGHTS: &str = "who may connect may do everything that his role allows";
const NO_SECRETS: &str = "every failure has a code of its own";

#[test]
fn every_failed_change_of_entries_has_its_reason() {
    check(FlowModFailed::ALL, ErrorKind::FlowModFailed, flow_mod);
}

fn flow_mod(code: FlowModFailed) -> Case {
    match code {
        FlowModFailed::Unknown => Case::Never(NO_SECRETS),
        FlowModFailed::TableFull => Case::Given(|_| {
            let mut config = unpaced();
            config.table_capacity = 1;
            let mut small = World::with_controller(config);
            small.add(1, &[from(1)], &[output(2)]);
            small.refused(&Message::FlowMod(FlowMod::add(TableId(0))))
        }),
        FlowModFailed::BadTableId => {
            Case::Given(|world| world.refused(&Message::FlowMod(FlowMod::add(TableId(254)))))
        }
        FlowModFailed::Overlap => Case::Given(|world| {
            world.add(0, &[from(1)], &[output(2)]);
            world.refused(&Message::FlowMod(FlowMod {
                flags: FlowModFlags::CHECK_OVERLAP,
                ..FlowMod::add(TableId(0))
            }))
        }),
        FlowModFailed::PermissionDenied => Case::Never(NO_RIGHTS),
        FlowModFailed::BadTimeout => Case::Never("every timeout is supported"),
        FlowModFailed::BadCommand => Case::Given(|world| {
            let mut message = bytes(&Message::FlowMod(FlowMod::add(TableId(0))));
            message[25] = 5;
            refused(world, &message)
        }),
        FlowModFailed::BadFlags => Case::Given(|world| {
            world.refused(&Message::FlowMod(FlowMod {
                flags: FlowModFlags(1 << 5),
                command: FlowModCommand::Add,
                ..FlowMod::add(TableId(0))
            }))
        }),
    }
}

#[test]
fn every_failed_change_of_groups_has_its_reason() {
    check(GroupModFailed::ALL, ErrorKind::GroupModFailed, group_mod);
}

fn group_mod(code: GroupModFailed) -> Case {
    match code {
        GroupModFailed::GroupExists => Case::Given(|world| {
            world.tell(&group(GroupModCommand::Add, 1, &[]));
            world.refused(&group(GroupModCommand::Add, 1, &[]))
        }),
        GroupModFailed::InvalidGroup => {
            Case::Given(|world| world.refused(&group(GroupModCommand::Add, GroupId::ALL.0, &[])))
        }
        GroupModFailed::WeightUnsupported => Case::Never("unequal shares are supported"),
        GroupModFailed::OutOfGroups => Case::Given(|_| {
            let mut config = unpaced();
            config.groups = 1;
            let mut small = World::with_controller(config);
            small.tell(&group(GroupModCommand::Add, 1, &[]));
            small.refused(&group(GroupModCommand::Add, 2, &[]))
        }),
        GroupModFailed::OutOfBuckets => Case::Given(|_| {
            let mut config = unpaced();
            config.group_buckets = 1;
            let mut small = World::with_controller(config);
            let buckets = [Bucket::new(Actions::EMPTY); 2];
            small.refused(&group(GroupModCommand::Add, 1, &buckets))
        }),
        GroupModFailed::ChainingUnsupported => Case::Given(|world| {
            (1..)
                .find_map(|id| chain(world, id))
                .expect("chains are bounded")
        }),
        GroupModFailed::WatchUnsupported => Case::Never("ports and groups can be watched"),
        GroupModFailed::Loop => Case::Given(|world| {
            let actions = [Action::Group(GroupId(1))];
            let buckets = [Bucket::new(Actions::of(&actions))];
            world.refused(&group(GroupModCommand::Add, 1, &buckets))
        }),
        GroupModFailed::UnknownGroup => {
            Case::Given(|world| world.refused(&group(GroupModCommand::Modify, 1, &[])))
        }
        GroupModFailed::ChainedGroup => Case::Given(|world| {
            chain(world, 1);
            chain(world, 2);
            world.refused(&group(GroupModCommand::Delete, 1, &[]))
        }),
        // The type of the group stands behind the command.
        GroupModFailed::BadType => Case::Given(|world| changed_group(world, 10, 4)),
        GroupModFailed::BadCommand => Case::Given(|world| changed_group(world, 9, 3)),
        // The length of the bucket stands behind the group.
        GroupModFailed::BadBucket => Case::Given(|world| changed_group(world, 17, 15)),
        GroupModFailed::BadWatch => Case::Given(|world| {
            let watch_port = PortNumber(99);
            let buckets = [Bucket {
                watch_port,
                ..Bucket::new(Actions::EMPTY)
            }];
            world.refused(&group(GroupModCommand::Add, 1, &buckets))
        }),
        GroupModFailed::PermissionDenied => Case::Never(NO_RIGHTS),
    }
}

fn group<'a>(command: GroupModCommand, id: u32, buckets: &'a [Bucket<'a>]) -> Message<'a> {
    Message::GroupMod(GroupMod {
        command,
        kind: GroupType::All,
        group: GroupId(id),
        buckets: Buckets::of(buckets),
    })
}

/// Adds a group that uses the one before; returns the error if there is one.
fn chain(world: &mut World, id: u32) -> Option<ErrorKind> {
    let actions = [Action::Group(GroupId(id - 1))];
    let actions = &actions[..usize::from(id > 1)];
    let buckets = [Bucket::new(Actions::of(actions))];
    let answers = world.ask(&group(GroupModCommand::Add, id, &buckets));
    answers.first().map(|answer| match answer.message() {
        Message::Error(error) => error.kind,
        other => panic!("another answer: {other:?}"),
    })
}

/// Sends a group-mod with a bucket, of which a byte is changed.
fn changed_group(world: &mut World, at: usize, value: u8) -> ErrorKind {
    let buckets = [Bucket::new(Actions::EMPTY)];
    let mut message = bytes(&group(GroupModCommand::Add, 1, &buckets));
    message[at] = value;
    refused(world, &message)
}

#[test]
fn every_failed_change_of_meters_has_its_reason() {
    check(MeterModFailed::ALL, ErrorKind::MeterModFailed, meter_mod);
}

fn meter_mod(code: MeterModFailed) -> Case {
    const ADD: MeterModCommand = MeterModCommand::Add;
    match code {
        MeterModFailed::Unknown => Case::Never(NO_SECRETS),
        MeterModFailed::MeterExists => Case::Given(|world| {
            world.tell(&meter(ADD, 1, MeterFlags::KBPS, &[]));
            world.refused(&meter(ADD, 1, MeterFlags::KBPS, &[]))
        }),
        MeterModFailed::InvalidMeter => {
            Case::Given(|world| world.refused(&meter(ADD, 0, MeterFlags::KBPS, &[])))
        }
        MeterModFailed::UnknownMeter => Case::Given(|world| {
            let modify = MeterModCommand::Modify;
            world.refused(&meter(modify, 1, MeterFlags::KBPS, &[]))
        }),
        MeterModFailed::BadCommand => Case::Given(|world| changed_meter(world, 9, 3)),
        MeterModFailed::BadFlags => Case::Given(|world| {
            let both = MeterFlags::KBPS.with(MeterFlags::PACKETS_PER_SECOND);
            world.refused(&meter(ADD, 1, both, &[]))
        }),
        MeterModFailed::BadRate => Case::Given(|world| band(world, 0, 0, MeterFlags::KBPS)),
        MeterModFailed::BadBurst => Case::Given(|world| {
            let burst = MeterFlags::KBPS.with(MeterFlags::BURST);
            band(world, 1000, 0, burst)
        }),
        // The type of the band stands behind the meter.
        MeterModFailed::BadBand => Case::Given(|world| changed_meter(world, 17, 3)),
        MeterModFailed::BadBandValue => Case::Given(|world| {
            let (rate, burst, levels) = (1000, 0, 0);
            let remark = Band::DscpRemark {
                rate,
                burst,
                levels,
            };
            world.refused(&meter(ADD, 1, MeterFlags::KBPS, &[remark]))
        }),
        MeterModFailed::OutOfMeters => Case::Given(|_| {
            let mut config = unpaced();
            config.meters = 1;
            let mut small = World::with_controller(config);
            small.tell(&meter(ADD, 1, MeterFlags::KBPS, &[]));
            small.refused(&meter(ADD, 2, MeterFlags::KBPS, &[]))
        }),
        MeterModFailed::OutOfBands => Case::Given(|_| {
            let mut config = unpaced();
            config.meter_bands = 0;
            let mut small = World::with_controller(config);
            band(&mut small, 1000, 0, MeterFlags::KBPS)
        }),
    }
}

fn meter<'a>(
    command: MeterModCommand,
    id: u32,
    flags: MeterFlags,
    bands: &'a [Band],
) -> Message<'a> {
    Message::MeterMod(MeterMod {
        command,
        flags,
        meter: MeterId(id),
        bands: Bands::of(bands),
    })
}

/// Sends a meter with one band.
fn band(world: &mut World, rate: u32, burst: u32, flags: MeterFlags) -> ErrorKind {
    let bands = [Band::Drop { rate, burst }];
    world.refused(&meter(MeterModCommand::Add, 1, flags, &bands))
}

/// Sends a meter-mod with a band, of which a byte is changed.
fn changed_meter(world: &mut World, at: usize, value: u8) -> ErrorKind {
    let (rate, burst) = (1000, 0);
    let bands = [Band::Drop { rate, burst }];
    let mut message = bytes(&meter(MeterModCommand::Add, 1, MeterFlags::KBPS, &bands));
    message[at] = value;
    refused(world, &message)
}

#[test]
fn every_failed_change_of_a_port_has_its_reason() {
    check(PortModFailed::ALL, ErrorKind::PortModFailed, port_mod);
}

fn port_mod(code: PortModFailed) -> Case {
    const GOOD: PortMod = PortMod {
        port: PortNumber(1),
        address: MacAddress([2, 0, 0, 0, 1, 1]),
        config: PortConfig::PORT_DOWN,
        mask: PortConfig::PORT_DOWN,
        advertise: PortFeatures::NONE,
    };
    match code {
        PortModFailed::BadPort => Case::Given(|world| {
            let port = PortNumber(99);
            world.refused(&Message::PortMod(PortMod { port, ..GOOD }))
        }),
        PortModFailed::BadHardwareAddress => Case::Given(|world| {
            let address = MacAddress([2; 6]);
            world.refused(&Message::PortMod(PortMod { address, ..GOOD }))
        }),
        PortModFailed::BadConfig => Case::Given(|world| {
            let mask = PortConfig(1 << 1);
            world.refused(&Message::PortMod(PortMod { mask, ..GOOD }))
        }),
        PortModFailed::BadAdvertise => Case::Given(|world| {
            let advertise = PortFeatures::GBPS_1_FULL;
            world.refused(&Message::PortMod(PortMod { advertise, ..GOOD }))
        }),
        PortModFailed::PermissionDenied => Case::Never(NO_RIGHTS),
    }
}
