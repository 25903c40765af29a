//! Forwarding allocates nothing: every buffer is made at the start.

use switch::{Config, Input, Output, Switch};
use units::Duration;
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::oxm::Masked;
use wire::openflow::{
    Action, Actions, Band, Bands, Fields, FlowMod, GroupType, Instruction, Instructions,
    MatchField, Message, MeterFlags, MeterId, MeterMod, MeterModCommand, PortNumber, QueueId,
    TableId,
};

use crate::frames::{tagged, udp, with_dscp};
use crate::ways::{add, bucket, stamp, to_group, watching_port, weighing};
use crate::world::{World, from, output, paced, unpaced};

/// A switch that changes frames from port 1 between two outputs.
fn busy(config: Config) -> World {
    let mut world = World::with_controller(config);
    let stamp = MatchField::EthSrc(Masked::exact(MacAddress([6; 6])));
    let actions = [
        Action::SetQueue(QueueId(5)),
        output(2),
        Action::SetField(stamp),
        Action::PushVlan(EtherType::VLAN),
        output(3),
    ];
    world.add(1, &[from(1)], &actions);
    world
}

/// Forwards frames until queues are full and empty again; counts what leaves.
fn forward(switch: &mut Switch, mut now: units::Instant, frame: &[u8]) -> usize {
    let mut sent = 0;
    for round in 0..3_000 {
        now += Duration::from_us(if round < 1_500 { 2 } else { 200 });
        if switch.deadline().is_some_and(|deadline| deadline <= now) {
            switch.handle(now, Input::Timeout);
        }
        let port = PortNumber(1);
        switch.handle(
            now,
            Input::Frame {
                port,
                bytes: frame,
                arrived: now,
            },
        );
        while let Some(output) = switch.poll() {
            if let Output::Transmit { stay, departs, .. } = output {
                switch.left(stay, departs);
                sent += 1;
            }
        }
    }
    sent
}

#[test]
fn forwarding_allocates_nothing_even_when_queues_are_full() {
    let frame = tagged(1, 3, &udp(64, b"payload"));
    for config in [unpaced(), paced()] {
        let mut world = busy(config);
        let now = world.now;
        let mut sent = 0;

        let allocations = allocation_counter::measure(|| {
            sent = forward(&mut world.switch, now, &frame);
        });

        assert!(sent > 3_000, "{sent} frames left");
        assert_eq!(allocations.count_total, 0);
    }
}

/// A switch that sends frames from port 1 through a meter and groups of every
/// kind, which change them.
fn grouping(config: Config) -> World {
    let mut world = World::with_controller(config);
    let bands = [
        Band::DscpRemark {
            rate: 1_000,
            burst: 100,
            levels: 1,
        },
        Band::Drop {
            rate: 400_000,
            burst: 100,
        },
    ];
    world.tell(&Message::MeterMod(MeterMod {
        command: MeterModCommand::Add,
        flags: MeterFlags::PACKETS_PER_SECOND.with(MeterFlags::BURST),
        meter: MeterId(1),
        bands: Bands::of(&bands),
    }));
    let push = bucket(&[Action::PushVlan(EtherType::VLAN), output(3)]);
    add(&mut world, 1, GroupType::Select, &[weighing(1, push)]);
    let way = watching_port(2, bucket(&[stamp(), output(2)]));
    add(&mut world, 2, GroupType::FastFailover, &[way]);
    let chained = [bucket(&[to_group(1)]), bucket(&[to_group(2)])];
    add(&mut world, 3, GroupType::All, &chained);
    let actions = [to_group(3), to_group(2)];
    let instructions = [
        Instruction::Meter(MeterId(1)),
        Instruction::ApplyActions(Actions::of(&actions)),
        Instruction::WriteActions(Actions::of(&actions[..1])),
    ];
    world.tell(&Message::FlowMod(FlowMod {
        matching: Fields::of(&[from(1)]),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    }));
    world
}

#[test]
fn meters_and_groups_allocate_nothing() {
    let frame = with_dscp(0b001_010, &udp(64, b"payload"));
    for config in [unpaced(), paced()] {
        let mut world = grouping(config);
        let now = world.now;
        let mut sent = 0;

        let allocations = allocation_counter::measure(|| {
            sent = forward(&mut world.switch, now, &frame);
        });

        assert!(sent > 3_000, "{sent} frames left");
        assert!(world.switch.counters().metered > 0);
        assert_eq!(world.switch.counters().abandoned, 0);
        assert_eq!(allocations.count_total, 0);
    }
}
