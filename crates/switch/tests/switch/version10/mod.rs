//! Sessions in OpenFlow 1.0, one test a requirement (OF10).

mod actions;
mod both_versions;
mod entries;
mod matches;
mod packets;
mod ports;
mod session;
mod statistics;

use switch::{Config, ConnectionId, Peer};
use wire::openflow::{Hello, TransactionId};
use wire::openflow10::{
    Action, Actions, ErrorKind, FlowMod, Match10, Message, PacketIn, PortNumber, VERSION,
};

use crate::world::{Answer, CONTROLLER, World};

/// What a controller of version 1.0 greets with.
const HELLO: Hello = Hello {
    version: VERSION,
    versions: None,
};

/// A world with one controller of version 1.0.
fn world(config: Config) -> World {
    let mut world = World::new(config);
    greet(&mut world, CONTROLLER);
    world
}

fn greet(world: &mut World, connection: ConnectionId) {
    world.greet_with(connection, Peer::Controller, HELLO);
}

/// Sends a message and returns the answers to it.
fn ask(world: &mut World, message: &Message<'_>) -> Vec<Answer> {
    let mut bytes = Vec::new();
    message.emit(TransactionId(7), &mut bytes);
    world.receive(CONTROLLER, &bytes);
    world.answers(CONTROLLER)
}

/// Sends a message that is carried out without an answer.
fn tell(world: &mut World, message: &Message<'_>) {
    let answers = ask(world, message);
    assert!(answers.is_empty(), "refused: {:?}", answers[0].narrow());
}

/// Sends a message and returns the error that it is answered with.
fn refused(world: &mut World, message: &Message<'_>) -> ErrorKind {
    let answers = ask(world, message);
    match answers.first().map(Answer::narrow) {
        Some(Message::Error(error)) => error.kind,
        other => panic!("not refused, but {other:?}"),
    }
}

fn add(world: &mut World, priority: u16, matching: Match10, actions: &[Action]) {
    tell(
        world,
        &Message::FlowMod(flow_mod(priority, matching, actions)),
    );
}

/// The order to add an entry.
fn flow_mod(priority: u16, matching: Match10, actions: &[Action]) -> FlowMod<'_> {
    FlowMod {
        priority,
        matching,
        actions: Actions::of(actions),
        ..FlowMod::ADD
    }
}

fn output(port: u16) -> Action {
    Action::output(PortNumber(port))
}

fn to_controller() -> Action {
    Action::output(PortNumber::CONTROLLER)
}

/// The match on the port of arrival.
fn from(port: u16) -> Match10 {
    Match10 {
        in_port: Some(PortNumber(port)),
        ..Match10::ANY
    }
}

/// Hands the packet-ins since the last time to `see`, and returns how many there
/// were.
fn packet_ins(world: &mut World, mut see: impl FnMut(PacketIn<'_>)) -> usize {
    let answers = world.answers(CONTROLLER);
    let mut count = 0;
    for answer in &answers {
        if let Message::PacketIn(packet_in) = answer.narrow() {
            see(packet_in);
            count += 1;
        }
    }
    count
}
