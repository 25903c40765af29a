//! Watching flows, and changing the mode, allocates nothing: every buffer is made at
//! the start.

use switch::compiled::{Memory, Overflow, Sizes};
use switch::{Input, Output, Switch};
use units::{Duration, Instant};
use wire::mode_signal::Kind;
use wire::openflow::{Action, PortNumber};

use super::{MONITOR, config, from_host, message, mode, signal, taking_part, watch};
use crate::world::{World, output};

const FRAMES: u32 = 2_000;

/// A switch that watches what comes from port 1.
fn watching() -> World {
    let mut world = taking_part(None);
    world.add(
        5,
        &[from_host()],
        &[Action::FlowMonitor(MONITOR), output(2)],
    );
    watch(&mut world);
    world
}

/// The same, with a compiled form that others walk.
fn compiled() -> World {
    let mut world = watching();
    let sizes = Sizes::new(&config(None), 16, 1);
    world
        .switch
        .compile_into(Memory::private(sizes), Overflow::ToCore);
    publish(&mut world.switch);
    world
}

fn publish(switch: &mut Switch) {
    assert!(switch.settle(), "nobody walks here");
    switch.publish();
}

/// Hands in a frame as others hand it over, and returns how many frames leave by it.
fn hand_in(switch: &mut Switch, now: Instant, port: u32, frame: &[u8]) -> usize {
    switch.handle(
        now,
        Input::Handed {
            port: PortNumber(port),
            bytes: frame,
            arrived: now,
            verdicts: &[],
        },
    );
    if !switch.is_published() {
        publish(switch);
    }
    let mut sent = 0;
    while let Some(output) = switch.poll() {
        if let Output::Transmit { stay, departs, .. } = output {
            switch.left(stay, departs);
            sent += 1;
        }
    }
    sent
}

/// Frames and how long after the one before each comes.
fn lead_through(world: &mut World, pause: Duration, frames: &[(u32, Vec<u8>)]) -> (usize, u64) {
    let (switch, mut now, mut sent) = (&mut world.switch, world.now, 0);
    // What is told to a controller is not of frames: nobody is connected.
    switch.handle(now, Input::Disconnected(crate::world::CONTROLLER));
    while switch.poll().is_some() {}
    let allocations = allocation_counter::measure(|| {
        for (port, frame) in frames {
            now += pause;
            sent += hand_in(switch, now, *port, frame);
        }
    });
    (sent, allocations.count_total)
}

#[test]
fn watching_a_flow_allocates_nothing_whether_it_keeps_its_contract_or_not() {
    let messages: Vec<_> = (0..FRAMES)
        .map(|number| (1, message(number, 50 + number % 400)))
        .collect();
    for mut world in [watching(), compiled()] {
        let (sent, allocated) = lead_through(&mut world, Duration::from_us(700), &messages);

        // The frames themselves, and signals by two trunks.
        assert_eq!((sent, allocated), (messages.len() + 2, 0));
    }
}

#[test]
fn changing_the_mode_allocates_nothing() {
    let levels = (0..8).cycle();
    let told = |(era, level)| (3, signal(Kind::Signal, mode(era, level), 3));
    let signals: Vec<_> = (1..FRAMES).zip(levels).map(told).collect();
    for mut world in [watching(), compiled()] {
        let (sent, allocated) = lead_through(&mut world, Duration::from_us(50), &signals);

        assert_eq!((sent, allocated), (signals.len(), 0));
    }
}
