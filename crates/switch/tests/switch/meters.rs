//! Meters, OF13 clauses 5.7, 6.6 and 7.3.4.4.

use units::{Duration, Instant};
use wire::openflow::multipart::{
    BandCounters, BandTypes, MeterConfig, MeterFeatures, MeterStatistics, MultipartRequest,
    ReplyBody, RequestBody,
};
use wire::openflow::{
    Actions, Band, Bands, DecodeError, ErrorKind, Fields, FlowMod, FlowModFlags, FlowRemovedReason,
    Instruction, Instructions, Message, MeterFlags, MeterId, MeterMod, MeterModCommand,
    MeterModFailed, PortNumber, TableId,
};

use crate::frames::{checksums_hold, frame, udp, with_dscp};
use crate::world::{CONTROLLER, World, from, output, unpaced};

const PACKETS: MeterFlags = MeterFlags::PACKETS_PER_SECOND;

const fn drop_above(rate: u32, burst: u32) -> Band {
    Band::Drop { rate, burst }
}

const fn remark_above(rate: u32, burst: u32, levels: u8) -> Band {
    Band::DscpRemark {
        rate,
        burst,
        levels,
    }
}

fn change(command: MeterModCommand, meter: u32, flags: MeterFlags, bands: &[Band]) -> MeterMod<'_> {
    MeterMod {
        command,
        flags,
        meter: MeterId(meter),
        bands: Bands::of(bands),
    }
}

fn add(world: &mut World, meter: u32, flags: MeterFlags, bands: &[Band]) {
    let meter_mod = change(MeterModCommand::Add, meter, flags, bands);
    world.tell(&Message::MeterMod(meter_mod));
}

fn delete(world: &mut World, meter: MeterId) {
    let meter_mod = change(MeterModCommand::Delete, meter.0, MeterFlags::NONE, &[]);
    world.tell(&Message::MeterMod(meter_mod));
}

fn refused(world: &mut World, meter_mod: MeterMod<'_>) -> MeterModFailed {
    match world.refused(&Message::MeterMod(meter_mod)) {
        ErrorKind::MeterModFailed(code) => code,
        other => panic!("not what was expected: {other:?}"),
    }
}

/// Adds an entry that sends frames from port 1 through a meter to port 2.
fn use_meter(world: &mut World, meter: u32) {
    let actions = [output(2)];
    let instructions = [
        Instruction::ApplyActions(Actions::of(&actions)),
        Instruction::Meter(MeterId(meter)),
    ];
    world.tell(&Message::FlowMod(FlowMod {
        matching: Fields::of(&[from(1)]),
        instructions: Instructions::of(&instructions),
        flags: FlowModFlags::SEND_FLOW_REMOVED,
        ..FlowMod::add(TableId(0))
    }));
}

fn metered(flags: MeterFlags, bands: &[Band]) -> World {
    let mut world = World::with_controller(unpaced());
    add(&mut world, 1, flags, bands);
    use_meter(&mut world, 1);
    world
}

/// Sends a frame `count` times, and returns what left.
fn send(world: &mut World, count: usize, bytes: &[u8]) -> Vec<Vec<u8>> {
    for _ in 0..count {
        world.frame(1, bytes);
    }
    let sent = world.take_sent();
    sent.into_iter().map(|(_, frame)| frame).collect()
}

fn ask<T>(world: &mut World, body: RequestBody<'_>, read: impl Fn(ReplyBody<'_>) -> T) -> T {
    let answers = world.ask(&Message::MultipartRequest(MultipartRequest::new(body)));
    match answers[0].message() {
        Message::MultipartReply(reply) => read(reply.body),
        other => panic!("not what was expected: {other:?}"),
    }
}

/// Meter, entries, frames, and frames of each band.
fn statistics(world: &mut World, meter: MeterId) -> Vec<(u32, u32, u64, Vec<u64>)> {
    ask(world, RequestBody::Meter(meter), |body| match body {
        ReplyBody::Meter(meters) => meters.iter().map(summary).collect(),
        other => panic!("not what was expected: {other:?}"),
    })
}

fn summary(meter: Result<MeterStatistics<'_>, DecodeError>) -> (u32, u32, u64, Vec<u64>) {
    let meter = meter.expect("the switch sends good messages");
    let bands = meter.bands.iter();
    let bands = bands.map(|band| band.expect("the switch sends good messages").packets);
    (meter.meter.0, meter.flows, meter.packets, bands.collect())
}

/// OF13 clause 5.7: the rate of packets, and the burst.
#[test]
fn a_burst_passes_and_then_frames_at_the_rate() {
    let flags = PACKETS.with(MeterFlags::BURST);
    let mut world = metered(flags, &[drop_above(1_000, 3)]);

    let first = send(&mut world, 10, &frame(0x88b5, &[0; 46])).len();
    world.run_until(world.now + Duration::from_us(999));
    let early = send(&mut world, 1, &frame(0x88b5, &[0; 46])).len();
    world.run_until(world.now + Duration::from_us(1));
    let later = send(&mut world, 2, &frame(0x88b5, &[0; 46])).len();

    assert_eq!((first, early, later), (3, 0, 1));
    assert_eq!(world.switch.counters().metered, 7 + 1 + 1);
}

/// OF13 clause 5.7: a rate in kbit/s counts the bytes of the frames.
#[test]
fn a_rate_in_kilobits_counts_bytes_without_check_sequence() {
    let flags = MeterFlags::KBPS.with(MeterFlags::BURST);
    let mut world = metered(flags, &[drop_above(1_000, 80)]);
    let kilobit_times_ten = frame(0x88b5, &[0; 1_250 - 14]);

    let burst = send(&mut world, 10, &kilobit_times_ten).len();
    world.run_until(world.now + Duration::from_ms(100));
    let refilled = send(&mut world, 20, &kilobit_times_ten).len();
    world.run_until(world.now + Duration::from_ms(20));
    let two_more = send(&mut world, 20, &kilobit_times_ten).len();

    assert_eq!((burst, refilled, two_more), (8, 8, 2));
}

/// OF13 clause 7.3.4.4: the unit is kbit/s unless a flag says otherwise, and the
/// burst counts only if a flag says so.
#[test]
fn without_flags_the_rate_is_in_kilobits_and_the_burst_a_tenth_of_a_second() {
    let mut world = metered(MeterFlags::NONE, &[drop_above(1_000, 1)]);

    let burst = send(&mut world, 20, &frame(0x88b5, &[0; 1_250 - 14])).len();

    assert_eq!(burst, 10);
}

/// OF13 clause 5.7.1: one band applies, the one with the highest rate that is
/// exceeded, wherever it stands in the list.
#[test]
fn the_band_with_the_highest_exceeded_rate_applies() {
    let flags = PACKETS.with(MeterFlags::BURST);
    let bands = [drop_above(3_000, 3), remark_above(1_000, 1, 1)];
    for bands in [bands, [bands[1], bands[0]]] {
        let mut world = metered(flags, &bands);

        let sent = send(&mut world, 5, &with_dscp(0b001_010, &udp(64, b"payload")));

        let dscp: Vec<_> = sent.iter().map(|frame| frame[15] >> 2).collect();
        assert_eq!(dscp, [0b001_010, 0b001_100, 0b001_100]);
        assert!(sent.iter().all(|frame| checksums_hold(frame)));
    }
}

/// OF13 clause 5.7.1: the drop precedence of RFC 2597 rises, and stays where it
/// is the highest; other code points have none.
#[test]
fn a_remark_raises_the_drop_precedence_of_assured_forwarding_alone() {
    let flags = PACKETS.with(MeterFlags::BURST);
    for (levels, dscp, expected) in [
        (1, 0b010_010, 0b010_100),
        (2, 0b010_010, 0b010_110),
        (2, 0b100_100, 0b100_110),
        (255, 0b001_110, 0b001_110),
        (1, 0, 0),
        (1, 0b101_110, 0b101_110),
        (1, 0b001_000, 0b001_000),
        (1, 0b001_011, 0b001_011),
    ] {
        let mut world = metered(flags, &[remark_above(1, 1, levels)]);

        let sent = send(&mut world, 2, &with_dscp(dscp, &udp(64, b"payload")));

        let seen: Vec<_> = sent.iter().map(|frame| frame[15] >> 2).collect();
        assert_eq!(seen, [dscp, expected], "{levels} levels");
        assert!(checksums_hold(&sent[1]));
    }
}

/// OF13 clause 5.7.1, in IPv6.
#[test]
fn a_remark_changes_the_traffic_class_of_ipv6() {
    let mut world = metered(PACKETS.with(MeterFlags::BURST), &[remark_above(1, 1, 1)]);
    let mut packet = vec![0; 40];
    packet[..2].copy_from_slice(&[0x64, 0x8f]);

    let sent = send(&mut world, 2, &frame(0x86dd, &packet));

    assert_eq!(sent[0][14..16], [0x64, 0x8f]);
    assert_eq!(sent[1][14..16], [0x65, 0x0f]);
}

/// OF13 clause 5.9: the meter comes before all else, whatever the order of the
/// instructions, and in every table that names one.
#[test]
fn a_dropped_frame_is_seen_by_nothing_behind_the_meter() {
    let mut world = World::with_controller(unpaced());
    add(
        &mut world,
        7,
        PACKETS.with(MeterFlags::BURST),
        &[drop_above(1, 1)],
    );
    let actions = [output(2)];
    for (table, instructions) in [
        (
            0,
            [
                Instruction::GotoTable(TableId(1)),
                Instruction::ClearActions,
            ],
        ),
        (
            1,
            [
                Instruction::WriteActions(Actions::of(&actions)),
                Instruction::Meter(MeterId(7)),
            ],
        ),
    ] {
        world.tell(&Message::FlowMod(FlowMod {
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(table))
        }));
    }

    assert_eq!(send(&mut world, 3, &frame(0x88b5, &[0; 46])).len(), 1);
    assert_eq!(statistics(&mut world, MeterId(7)), [(7, 1, 3, vec![2])]);
}

/// OF13 clause 7.3.5.12.
#[test]
fn meters_and_bands_are_counted_for_as_long_as_they_are_there() {
    let flags = PACKETS.with(MeterFlags::BURST);
    let mut world = metered(flags, &[drop_above(1, 2), remark_above(2, 4, 1)]);
    add(&mut world, 2, flags, &[]);
    send(&mut world, 5, &frame(0x88b5, &[0; 46]));
    world.run_until(Instant::ZERO + Duration::from_ms(1_500));

    let all = statistics(&mut world, MeterId::ALL);
    let (age, bytes, band) = ask(
        &mut world,
        RequestBody::Meter(MeterId(1)),
        |body| match body {
            ReplyBody::Meter(meters) => {
                let meter = meters.iter().next().unwrap().unwrap();
                let band = meter.bands.iter().nth(1).unwrap().unwrap();
                (meter.age, meter.bytes, band)
            }
            other => panic!("not what was expected: {other:?}"),
        },
    );

    assert_eq!(all, [(1, 1, 5, vec![2, 1]), (2, 0, 0, vec![])]);
    assert_eq!((age, bytes), (Duration::from_ms(1_500), 300));
    let (packets, bytes) = (1, 60);
    assert_eq!(band, BandCounters { packets, bytes });
}

/// OF13 clauses 7.3.5.13 and 7.3.5.14.
#[test]
fn a_meter_is_given_back_as_it_was_sent() {
    let mut world = World::with_controller(unpaced());
    let flags = PACKETS.with(MeterFlags::STATISTICS);
    let bands = [remark_above(9, 8, 1), drop_above(10, 7)];
    add(&mut world, 3, flags, &bands);
    add(&mut world, 4, MeterFlags::KBPS, &bands[1..]);

    ask(&mut world, RequestBody::MeterConfig(MeterId(3)), |body| {
        let meter = MeterId(3);
        let expected = [MeterConfig {
            flags,
            meter,
            bands: Bands::of(&bands),
        }];
        assert!(matches!(body, ReplyBody::MeterConfig(it) if it.iter().eq(expected.map(Ok))));
    });
    let all = ask(
        &mut world,
        RequestBody::MeterConfig(MeterId::ALL),
        |body| match body {
            ReplyBody::MeterConfig(meters) => meters.iter().count(),
            other => panic!("not what was expected: {other:?}"),
        },
    );
    let features = ask(&mut world, RequestBody::MeterFeatures, |body| match body {
        ReplyBody::MeterFeatures(features) => features,
        other => panic!("not what was expected: {other:?}"),
    });

    assert_eq!(all, 2);
    let expected = MeterFeatures {
        max_meters: 1_024,
        band_types: BandTypes::DROP.with(BandTypes::DSCP_REMARK),
        capabilities: MeterFlags(0xf),
        max_bands: 8,
        max_colours: 0,
    };
    assert_eq!(features, expected);
}

/// OF13 clause 7.3.4.4: the counters of the meter go on, those of the bands
/// begin anew.
#[test]
fn a_changed_meter_keeps_its_entries_and_its_own_counters() {
    let flags = PACKETS.with(MeterFlags::BURST);
    let mut world = metered(flags, &[drop_above(1, 1)]);
    send(&mut world, 3, &frame(0x88b5, &[0; 46]));

    let bands = [drop_above(1, 4)];
    let changed = change(MeterModCommand::Modify, 1, flags, &bands);
    world.tell(&Message::MeterMod(changed));

    assert_eq!(send(&mut world, 5, &frame(0x88b5, &[0; 46])).len(), 4);
    assert_eq!(statistics(&mut world, MeterId(1)), [(1, 1, 8, vec![1])]);
}

/// OF13 clauses 6.6 and 7.3.4.4: entries go with their meter.
#[test]
fn a_deleted_meter_takes_its_entries_with_it() {
    for which in [MeterId(1), MeterId::ALL] {
        let mut world = metered(PACKETS, &[drop_above(1, 1)]);
        world.add(9, &[from(2)], &[output(3)]);

        let meter_mod = change(MeterModCommand::Delete, which.0, MeterFlags::NONE, &[]);
        let answers = world.ask(&Message::MeterMod(meter_mod));

        let Message::FlowRemoved(removed) = answers[0].message() else {
            panic!("not what was expected")
        };
        assert_eq!(removed.reason, FlowRemovedReason::Delete);
        assert!(statistics(&mut world, MeterId::ALL).is_empty());
        world.frame(1, &frame(0x88b5, &[0; 46]));
        world.frame(2, &frame(0x88b5, &[0; 46]));
        assert_eq!(world.take_sent().len(), 1, "the other entry is left");
    }
}

/// OF13 clause 7.3.4.4: to delete what is not there is no error.
#[test]
fn a_meter_that_is_not_there_can_be_deleted() {
    let mut world = World::with_controller(unpaced());

    delete(&mut world, MeterId(77));
    delete(&mut world, MeterId::ALL);
}

/// OF13 clauses 5.7 and 7.3.5.12: entries that use a meter are counted, whatever
/// way they come and go.
#[test]
fn entries_of_a_meter_are_counted_as_they_come_and_go() {
    let mut world = metered(PACKETS, &[drop_above(1, 1)]);
    add(&mut world, 2, PACKETS, &[]);
    let flows = |world: &mut World| {
        let meters = statistics(world, MeterId::ALL);
        meters.iter().map(|meter| meter.1).collect::<Vec<_>>()
    };

    assert_eq!(flows(&mut world), [1, 0]);
    use_meter(&mut world, 2);
    assert_eq!(flows(&mut world), [0, 1], "overwritten");
    let instructions = [Instruction::Meter(MeterId(1))];
    world.tell(&Message::FlowMod(FlowMod {
        command: wire::openflow::FlowModCommand::Modify,
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    }));
    assert_eq!(flows(&mut world), [1, 0], "modified");
    world.ask(&Message::FlowMod(FlowMod {
        command: wire::openflow::FlowModCommand::Delete,
        out_port: PortNumber::ANY,
        ..FlowMod::add(TableId(0))
    }));
    assert_eq!(flows(&mut world), [0, 0], "deleted");
}

/// OF13 clauses 6.6 and 7.4.4.12.
#[test]
fn impossible_meters_are_refused_with_their_error() {
    use MeterModCommand::{Add, Modify};
    let mut config = unpaced();
    config.meter_bands = 2;
    let mut world = World::with_controller(config);
    let band = [drop_above(1, 1)];
    let burst = PACKETS.with(MeterFlags::BURST);
    let both = PACKETS.with(MeterFlags::KBPS);
    add(&mut world, 1, PACKETS, &band);

    for (meter_mod, expected) in [
        (change(Add, 1, PACKETS, &band), MeterModFailed::MeterExists),
        (change(Add, 0, PACKETS, &band), MeterModFailed::InvalidMeter),
        (
            change(Add, MeterId::MAX.0 + 1, PACKETS, &band),
            MeterModFailed::InvalidMeter,
        ),
        (
            change(Add, MeterId::ALL.0, PACKETS, &band),
            MeterModFailed::InvalidMeter,
        ),
        (
            change(Add, MeterId::SLOW_PATH.0, PACKETS, &band),
            MeterModFailed::InvalidMeter,
        ),
        (
            change(Modify, 2, PACKETS, &band),
            MeterModFailed::UnknownMeter,
        ),
        (change(Add, 2, both, &band), MeterModFailed::BadFlags),
        (
            change(Add, 2, MeterFlags(0x10), &band),
            MeterModFailed::BadFlags,
        ),
        (
            change(Add, 2, PACKETS, &[drop_above(0, 1)]),
            MeterModFailed::BadRate,
        ),
        (
            change(Add, 2, burst, &[drop_above(1, 0)]),
            MeterModFailed::BadBurst,
        ),
        (
            change(Add, 2, burst, &[remark_above(1, 1, 0)]),
            MeterModFailed::BadBandValue,
        ),
        (
            change(Add, 2, PACKETS, &[band[0]; 3]),
            MeterModFailed::OutOfBands,
        ),
        (
            change(
                Add,
                MeterId::CONTROLLER.0,
                PACKETS,
                &[remark_above(1, 1, 1)],
            ),
            MeterModFailed::BadBand,
        ),
    ] {
        assert_eq!(refused(&mut world, meter_mod), expected, "{meter_mod:?}");
    }
}

/// OF13 clauses 6.6 and 7.4.4.12.
#[test]
fn a_meter_too_many_and_a_band_that_nobody_knows_are_refused() {
    let mut config = unpaced();
    config.meters = 1;
    let mut world = World::with_controller(config);
    add(&mut world, 1, PACKETS, &[]);

    let second = change(MeterModCommand::Add, 2, PACKETS, &[]);
    assert_eq!(refused(&mut world, second), MeterModFailed::OutOfMeters);
    let experimenter = [&[0xff, 0xff, 0, 16][..], &[0; 12]].concat();
    let unknown = MeterMod {
        bands: Bands::from_bytes(&experimenter),
        ..second
    };
    assert_eq!(refused(&mut world, unknown), MeterModFailed::BadBand);
}

/// OF13 clauses 6.4 and 7.3.5.12.
#[test]
fn a_meter_that_is_not_there_can_neither_be_used_nor_asked_about() {
    let unknown = ErrorKind::MeterModFailed(MeterModFailed::UnknownMeter);
    let mut world = World::with_controller(unpaced());
    let virtual_meter = change(MeterModCommand::Add, MeterId::CONTROLLER.0, PACKETS, &[]);
    world.tell(&Message::MeterMod(virtual_meter));

    for meter in [MeterId(1), MeterId::CONTROLLER] {
        let instructions = [Instruction::Meter(meter)];
        let refused = world.refused(&Message::FlowMod(FlowMod {
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(0))
        }));
        assert_eq!(refused, unknown);
    }
    for body in [
        RequestBody::Meter(MeterId(1)),
        RequestBody::MeterConfig(MeterId(1)),
    ] {
        let request = MultipartRequest::new(body);
        assert_eq!(world.refused(&Message::MultipartRequest(request)), unknown);
    }
}

/// OF13 clause 7.3.4.4: the virtual meter of the controller.
#[test]
fn the_meter_of_the_controller_limits_packet_ins() {
    let flags = PACKETS.with(MeterFlags::BURST);
    let mut world = World::with_controller(unpaced());
    world.add(1, &[], &[output(PortNumber::CONTROLLER.0)]);
    add(
        &mut world,
        MeterId::CONTROLLER.0,
        flags,
        &[drop_above(1, 2)],
    );

    send(&mut world, 5, &frame(0x88b5, &[0; 46]));
    let limited = world.answers(CONTROLLER).len();
    let counted = statistics(&mut world, MeterId::CONTROLLER);
    delete(&mut world, MeterId::CONTROLLER);
    send(&mut world, 5, &frame(0x88b5, &[0; 46]));
    let unlimited = world.answers(CONTROLLER).len();

    assert_eq!((limited, unlimited), (2, 5));
    assert_eq!(counted, [(MeterId::CONTROLLER.0, 0, 5, vec![3])]);
}
