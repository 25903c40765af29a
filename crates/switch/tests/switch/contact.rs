//! What a switch does while no controller is there, and how it finds out.

use switch::{CloseReason, Config, ConnectionId, FailMode, Input, KeepAlive, Peer};
use units::{Duration, Instant};
use wire::openflow::{
    Action, ControllerLength, Echo, FlowMod, FlowModFlags, FragmentHandling, Message, PortNumber,
    SwitchConfig, TableId, TransactionId,
};

use crate::frames::frame;
use crate::world::{CONTROLLER, World, from, output, unpaced};

const LOOKER: ConnectionId = ConnectionId(3);
const IDLE: Duration = Duration::from_secs(5);
const GIVE_UP: Duration = Duration::from_secs(10);

fn standalone() -> Config {
    Config {
        fail_mode: FailMode::Standalone,
        ..unpaced()
    }
}

fn attentive(config: Config) -> Config {
    let (idle, give_up) = (IDLE, GIVE_UP);
    Config {
        keep_alive: Some(KeepAlive { idle, give_up }),
        ..config
    }
}

/// The ports out of which a frame from port 1 goes.
fn reached(world: &mut World) -> Vec<u32> {
    world.frame(1, &frame(0x88b5, b""));
    let sent = world.take_sent();
    sent.into_iter().map(|(port, _)| port).collect()
}

fn echo_requests(world: &mut World) -> usize {
    let answers = world.answers(CONTROLLER);
    let asked = answers
        .iter()
        .filter(|it| matches!(it.message(), Message::EchoRequest(_)));
    asked.count()
}

/// OF13 clause 6.3.2.
#[test]
fn fail_secure_keeps_the_entries_in_force_and_lets_them_expire() {
    let mut world = World::with_controller(unpaced());
    world.tell(&Message::FlowMod(FlowMod {
        hard_timeout_s: 2,
        flags: FlowModFlags::SEND_FLOW_REMOVED,
        ..FlowMod::add(TableId(1))
    }));
    world.add(1, &[from(1)], &[output(2)]);

    world.handle(Input::Disconnected(CONTROLLER));

    assert_eq!(reached(&mut world), [2]);
    world.run_until(world.now + Duration::from_secs(3));
    world.greet(CONTROLLER);
    assert_eq!(
        reached(&mut world),
        [2],
        "they are there for the next contact"
    );
    let counters = world.switch.counters();
    assert_eq!((counters.lost_contacts, counters.standalone), (1, 0));
}

/// OF13 clause 6.3.2.
#[test]
fn fail_standalone_is_a_bridge_until_a_controller_is_back() {
    let mut world = World::with_controller(standalone());
    world.add(1, &[from(1)], &[output(2)]);
    assert_eq!(reached(&mut world), [2]);

    world.handle(Input::Disconnected(CONTROLLER));

    assert_eq!(reached(&mut world), [2, 3]);
    assert_eq!(world.switch.counters().standalone, 1);
    world.greet(CONTROLLER);
    assert_eq!(reached(&mut world), [2], "the entries are in force again");
}

/// OF13 clause 6.3.2.
#[test]
fn before_the_first_contact_the_same_holds() {
    let mut secure = World::new(unpaced());
    let mut standalone = World::new(standalone());

    assert_eq!(reached(&mut secure), []);
    assert_eq!(reached(&mut standalone), [2, 3]);
    standalone.connect(CONTROLLER, Peer::Controller);
    assert_eq!(
        reached(&mut standalone),
        [2, 3],
        "a connection without a hello is no contact"
    );
    assert_eq!(standalone.switch.counters().lost_contacts, 0);
}

#[test]
fn a_management_client_is_not_a_controller() {
    let mut world = World::new(standalone());

    world.greet_as(LOOKER, Peer::Management);

    assert_eq!(reached(&mut world), [2, 3]);
}

/// OF13 clauses 7.3.2 and 7.3.10.
#[test]
fn a_management_client_hears_nothing_unasked_until_it_asks() {
    let mut world = World::with_controller(unpaced());
    world.greet_as(LOOKER, Peer::Management);
    world.add(0, &[], &[Action::output(PortNumber::CONTROLLER)]);

    world.frame(1, &frame(0x88b5, b""));
    assert_eq!(world.answers(LOOKER).len(), 0);
    let mut message = Vec::new();
    let config = SwitchConfig {
        fragments: FragmentHandling::Normal,
        miss_send_length: ControllerLength(128),
    };
    Message::SetConfig(config).emit(TransactionId(1), &mut message);
    world.receive(LOOKER, &message);
    world.frame(1, &frame(0x88b5, b""));

    assert_eq!(world.answers(LOOKER).len(), 1);
}

/// OF13 clauses 6.3.2 and 7.5.2.
#[test]
fn a_silent_controller_is_asked_and_given_up() {
    let mut world = World::with_controller(attentive(standalone()));
    world.add(1, &[from(1)], &[output(2)]);
    world.answers(CONTROLLER);

    world.run_until(Instant::ZERO + IDLE);
    assert_eq!(echo_requests(&mut world), 1);
    world.run_until(Instant::ZERO + IDLE + GIVE_UP - Duration::from_ns(1));
    assert_eq!(reached(&mut world), [2]);
    assert_eq!(world.closed, []);
    world.run_until(Instant::ZERO + IDLE + GIVE_UP);

    assert_eq!(world.closed, [(CONTROLLER, CloseReason::Silent)]);
    assert_eq!(reached(&mut world), [2, 3]);
}

/// OF13 clause 7.5.3.
#[test]
fn a_controller_that_answers_stays() {
    let mut world = World::with_controller(attentive(unpaced()));

    for _ in 0..100 {
        world.run_until(world.now + IDLE);
        assert_eq!(echo_requests(&mut world), 1);
        world.tell(&Message::EchoReply(Echo { data: b"alive?" }));
    }

    assert_eq!(world.closed, []);
}

#[test]
fn a_connection_that_never_says_hello_is_given_up() {
    let mut world = World::new(attentive(unpaced()));
    world.connect(CONTROLLER, Peer::Controller);

    world.run_until(Instant::ZERO + IDLE + GIVE_UP);

    assert_eq!(world.closed, [(CONTROLLER, CloseReason::Silent)]);
}

#[test]
fn a_connection_that_takes_nothing_is_not_listened_to_until_it_does() {
    let mut world = World::with_controller(unpaced());
    let mut message = Vec::new();
    Message::BarrierRequest.emit(TransactionId(1), &mut message);

    world.handle(Input::Congested(CONTROLLER));
    world.receive(CONTROLLER, &message);
    assert_eq!(world.answers(CONTROLLER).len(), 0);
    world.handle(Input::Relieved(CONTROLLER));

    assert_eq!(world.answers(CONTROLLER).len(), 1);
}
