//! Forwarding allocates nothing: every buffer is made at the start.

use switch::{Config, Input, Output, Switch};
use units::Duration;
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::oxm::Masked;
use wire::openflow::{Action, MatchField, PortNumber, QueueId};

use crate::frames::{tagged, udp};
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
