//! Ports whose neighbours are asked whether they are there: what controllers say and hear of
//! it, and which bucket of a fast-failover group frames take.

#![expect(clippy::unwrap_used, reason = "only tests use this")]

use std::net::Ipv4Addr;

use switch::{Config, Link};
use units::Duration;
use wire::arp::{Arp, Operation};
use wire::bfd::{
    ControlPacket, DESTINATION, Diagnostic, Encapsulation, Flags, Neighbours, STAND_IN_BYTES,
    SessionConfig, State,
};
use wire::ethernet::{EtherType, Header, MacAddress};
use wire::openflow::multipart::{MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::taktos::{
    Answer, BfdConfig, BfdFailed, BfdReport, PortSession, Question, SessionOwner, StandIn,
};
use wire::openflow::{
    Actions, Bucket, Buckets, GroupId, GroupMod, GroupModCommand, GroupType, Message, PortNumber,
    PortState, Sequence,
};

use crate::world::{CONTROLLER, World, from, output, unpaced};

const THEIRS: MacAddress = MacAddress([2, 0, 0, 0, 9, 9]);
const ENDS: Neighbours = Neighbours {
    local: Ipv4Addr::new(10, 0, 0, 1),
    remote: Ipv4Addr::new(10, 0, 0, 2),
};
const DATA: [u8; 60] = [7; 60];

fn session(port: u32, encapsulation: Encapsulation) -> PortSession {
    PortSession {
        port: PortNumber(port),
        session: SessionConfig {
            encapsulation,
            desired_min_tx_us: 1_000,
            required_min_rx_us: 1_000,
            detect_multiplier: 3,
            heart_beat_us: 0,
            authentication: None,
        },
    }
}

fn tell(world: &mut World, sessions: &[PortSession]) {
    let sessions = Sequence::of(sessions);
    let answers = world.ask(&Message::Bfd(BfdConfig { sessions }));
    let is_status = |it: &Message<'_>| matches!(it, Message::PortStatus(_));
    assert!(answers.iter().all(|answer| is_status(&answer.message())));
}

/// Lets frames from port 1 leave by port 2, or by port 3 while that is not live.
fn fail_over(world: &mut World) {
    let sent = [2, 3].map(|port| [output(port)]);
    let bucket = |at: usize, port| Bucket {
        weight: 0,
        watch_port: PortNumber(port),
        watch_group: GroupId::ANY,
        actions: Actions::of(&sent[at]),
    };
    let buckets = [bucket(0, 2), bucket(1, 3)];
    world.tell(&Message::GroupMod(GroupMod {
        command: GroupModCommand::Add,
        kind: GroupType::FastFailover,
        group: GroupId(1),
        buckets: Buckets::of(&buckets),
    }));
    let to_group = [wire::openflow::Action::Group(GroupId(1))];
    world.add(1, &[from(1)], &to_group);
}

/// Returns by which port a frame leaves.
fn taken(world: &mut World) -> u32 {
    world.take_sent();
    world.frame(1, &DATA);
    let sent = world.take_sent();
    let mut data = sent.into_iter().filter(|(_, frame)| *frame == DATA);
    data.next().expect("a frame leaves").0
}

fn reports(world: &mut World) -> Vec<BfdReport> {
    let body = RequestBody::Experimenter(Question::Sessions.body());
    let request = MultipartRequest { more: false, body };
    let answers = world.ask(&Message::MultipartRequest(request));
    // Ports may have turned meanwhile, which is told unasked.
    let mut replies = answers.iter().filter_map(|answer| match answer.message() {
        Message::MultipartReply(reply) => Some(reply),
        _ => None,
    });
    let reply = replies.next_back().expect("an answer");
    let ReplyBody::Experimenter(body) = reply.body else {
        panic!("another answer");
    };
    match Answer::parse(&body).unwrap() {
        Some(Answer::Sessions(sessions)) => sessions.iter().map(Result::unwrap).collect(),
        other => panic!("{other:?}"),
    }
}

/// Returns the packets that left by a port since the last time.
fn packets(world: &mut World, port: u32) -> Vec<ControlPacket> {
    let sent = world.take_sent().into_iter().filter(|(at, _)| *at == port);
    sent.filter_map(|(_, frame)| {
        let (header, payload) = Header::parse(&frame).unwrap();
        let payload = match header.ether_type {
            EtherType::BFD => payload,
            EtherType::IPV4 => {
                let seen = Neighbours {
                    local: ENDS.remote,
                    remote: ENDS.local,
                };
                seen.payload(payload)?.unwrap()
            }
            _ => return None,
        };
        Some(ControlPacket::parse(payload).unwrap().0)
    })
    .collect()
}

fn framed(encapsulation: Encapsulation, packet: &ControlPacket) -> Vec<u8> {
    let mut payload = Vec::new();
    packet.emit(None, &mut payload);
    let header = |ether_type| Header {
        destination: DESTINATION,
        source: THEIRS,
        vlan: None,
        ether_type,
    };
    let mut frame = Vec::new();
    match encapsulation {
        Encapsulation::Ethernet => {
            header(EtherType::BFD).emit(&mut frame);
            frame.extend(payload);
        }
        Encapsulation::Ipv4(_) => {
            header(EtherType::IPV4).emit(&mut frame);
            let theirs = Neighbours {
                local: ENDS.remote,
                remote: ENDS.local,
            };
            theirs.emit(&payload, &mut frame);
        }
    }
    frame
}

fn said(state: State, mine: u32) -> ControlPacket {
    ControlPacket {
        diagnostic: Diagnostic::NONE,
        state,
        flags: Flags::default(),
        detect_multiplier: 3,
        my_discriminator: 42,
        your_discriminator: mine,
        desired_min_tx_us: 1_000,
        required_min_rx_us: 1_000,
        required_min_echo_rx_us: 0,
    }
}

/// Answers as a neighbour until the session of port 2 is up.
fn bring_up(world: &mut World, encapsulation: Encapsulation) {
    for state in [State::Down, State::Init, State::Up] {
        let mine = reports(world)[0].my_discriminator;
        let frame = framed(encapsulation, &said(state, mine));
        world.frame(2, &frame);
    }
    assert_eq!(reports(world)[0].state, State::Up);
}

#[test]
fn a_group_turns_from_a_port_behind_which_nobody_is_heard_and_back() {
    let mut world = World::new(unpaced());
    world.greet(CONTROLLER);
    fail_over(&mut world);
    tell(&mut world, &[session(2, Encapsulation::Ethernet)]);
    // A neighbour that was never there says nothing of the path.
    world.run_until(world.now + Duration::from_secs(5));
    assert_eq!(taken(&mut world), 2);
    bring_up(&mut world, Encapsulation::Ethernet);
    world.answers(CONTROLLER);

    let last = world.now;
    world.run_until(last + Duration::from_us(2_999));
    assert_eq!(taken(&mut world), 2);
    world.run_until(last + Duration::from_ms(3));
    assert_eq!(taken(&mut world), 3);

    let told = world.answers(CONTROLLER);
    let states = told.iter().filter_map(|answer| match answer.message() {
        Message::PortStatus(status) => Some((status.port.number.0, status.port.state)),
        _ => None,
    });
    assert_eq!(states.collect::<Vec<_>>(), [(2, PortState::NONE)]);

    bring_up(&mut world, Encapsulation::Ethernet);
    assert_eq!(taken(&mut world), 2);
    let report = reports(&mut world)[0];
    assert_eq!(report.owner, SessionOwner::Controllers);
    assert_eq!((report.counters.ups, report.counters.downs), (2, 1));
    assert!(report.is_live);
}

#[test]
fn frames_of_sessions_go_to_no_entry_and_those_of_others_do() {
    let mut world = World::new(unpaced());
    world.greet(CONTROLLER);
    world.add(1, &[from(2)], &[output(3)]);
    let frame = framed(Encapsulation::Ethernet, &said(State::Down, 0));

    world.frame(2, &frame);
    assert_eq!(world.take_sent(), [(3, frame.clone())]);

    tell(&mut world, &[session(2, Encapsulation::Ethernet)]);
    world.take_sent();
    world.frame(2, &frame);
    assert!(world.take_sent().iter().all(|(port, _)| *port == 2));
    world.frame(2, &DATA);
    assert_eq!(world.take_sent(), [(3, DATA.to_vec())]);
    let over_ip = framed(Encapsulation::Ipv4(ENDS), &said(State::Down, 0));
    world.frame(2, &over_ip);
    assert_eq!(world.take_sent(), [(3, over_ip)]);
}

#[test]
fn over_ipv4_the_neighbour_is_found_answered_and_held_to_its_distance() {
    let encapsulation = Encapsulation::Ipv4(ENDS);
    let config = Config {
        sessions: vec![session(2, encapsulation)],
        ..unpaced()
    };
    let mut world = World::new(config);
    world.greet(CONTROLLER);
    let arp = |frame: &[u8]| {
        let (header, payload) = Header::parse(frame).unwrap();
        (header.destination, Arp::parse(payload).unwrap())
    };

    let sent = world.take_sent();
    let (to, question) = arp(&sent[0].1);
    assert_eq!((sent[0].0, to), (2, MacAddress::BROADCAST));
    assert_eq!(
        (question.sender, question.target),
        (ENDS.local, ENDS.remote)
    );

    let mut asked = Vec::new();
    let header = Header {
        destination: MacAddress::BROADCAST,
        source: THEIRS,
        vlan: None,
        ether_type: EtherType::ARP,
    };
    header.emit(&mut asked);
    let question = Arp {
        operation: Operation::Request,
        sender_mac: THEIRS,
        sender: ENDS.remote,
        target_mac: MacAddress::ZERO,
        target: ENDS.local,
    };
    question.emit(&mut asked);
    world.frame(2, &asked);
    let (to, answer) = arp(&world.take_sent()[0].1);
    assert_eq!((to, answer.operation), (THEIRS, Operation::Reply));
    assert_eq!((answer.sender, answer.target), (ENDS.local, ENDS.remote));

    bring_up(&mut world, encapsulation);
    assert!(!packets(&mut world, 2).is_empty());
    let mut hopped = framed(encapsulation, &said(State::Down, 0));
    hopped[14 + 8] = 254;
    let sum = u16::from_be_bytes([hopped[24], hopped[25]]) + 0x0100;
    hopped[24..26].copy_from_slice(&sum.to_be_bytes());
    world.frame(2, &hopped);
    let report = reports(&mut world)[0];
    assert_eq!((report.state, report.counters.hopped), (State::Up, 1));
    assert_eq!(report.owner, SessionOwner::Switch);
}

#[test]
fn what_is_refused_changes_nothing() {
    let config = Config {
        sessions: vec![session(1, Encapsulation::Ethernet)],
        ..unpaced()
    };
    let mut world = World::new(config);
    world.greet(CONTROLLER);
    let good = session(2, Encapsulation::Ethernet);
    let mut fast = good;
    fast.session.desired_min_tx_us = 99;
    let mut over_ip = session(2, Encapsulation::Ipv4(ENDS));
    over_ip.session.heart_beat_us = 300;
    for (bad, why) in [
        (session(4, Encapsulation::Ethernet), BfdFailed::BadPort),
        (session(1, Encapsulation::Ethernet), BfdFailed::PortTaken),
        (fast, BfdFailed::BadSession),
        (with_heart_beat(99), BfdFailed::BadSession),
        (with_heart_beat(10_001), BfdFailed::BadSession),
        (over_ip, BfdFailed::BadSession),
    ] {
        let sessions = [good, bad];
        let sessions = Sequence::of(&sessions);
        let refused = world.refused(&Message::Bfd(BfdConfig { sessions }));
        assert_eq!(refused, why.into_kind());
    }
    assert_eq!(reports(&mut world).len(), 1);
}

#[test]
fn a_session_that_ends_says_so_and_leaves_its_port_live() {
    let mut world = World::new(unpaced());
    world.greet(CONTROLLER);
    fail_over(&mut world);
    tell(&mut world, &[session(2, Encapsulation::Ethernet)]);
    bring_up(&mut world, Encapsulation::Ethernet);
    world.run_until(world.now + Duration::from_ms(10));
    assert_eq!(taken(&mut world), 3);

    tell(&mut world, &[]);
    assert_eq!(taken(&mut world), 2);
    world.take_sent();
    world.run_until(world.now + Duration::from_ms(100));
    let farewells = packets(&mut world, 2);
    assert!(!farewells.is_empty());
    assert!(farewells.iter().all(|it| it.state == State::AdminDown));
    assert_eq!(reports(&mut world), []);
    world.run_until(world.now + Duration::from_secs(5));
    assert_eq!(world.take_sent(), []);
}

fn with_heart_beat(us: u32) -> PortSession {
    let mut session = session(2, Encapsulation::Ethernet);
    session.session.heart_beat_us = us;
    session
}

#[test]
fn any_frame_of_a_neighbour_says_that_it_is_there() {
    for encapsulation in [Encapsulation::Ethernet, Encapsulation::Ipv4(ENDS)] {
        let mut world = World::new(unpaced());
        world.greet(CONTROLLER);
        tell(&mut world, &[session(2, encapsulation)]);
        world.frame(2, &framed(encapsulation, &said(State::Down, 0)));
        bring_up(&mut world, encapsulation);

        for _ in 0..20 {
            world.run_until(world.now + Duration::from_us(2_500));
            world.frame(2, &DATA);
        }

        // Other switches hold by the standard.
        let is_ours = encapsulation == Encapsulation::Ethernet;
        assert_eq!(reports(&mut world)[0].state == State::Up, is_ours);
        world.run_until(world.now + Duration::from_ms(4));
        assert_ne!(reports(&mut world)[0].state, State::Up);
    }
}

#[test]
fn a_frame_that_stands_in_says_that_the_neighbour_is_there_and_nothing_else() {
    let mut world = World::new(unpaced());
    world.greet(CONTROLLER);
    tell(&mut world, &[session(2, Encapsulation::Ethernet)]);
    let mut stand_in = framed(Encapsulation::Ethernet, &said(State::Up, 0));
    stand_in.truncate(14);
    stand_in.resize(STAND_IN_BYTES, 0);
    bring_up(&mut world, Encapsulation::Ethernet);
    let before = reports(&mut world)[0].counters;

    for _ in 0..10 {
        world.run_until(world.now + Duration::from_us(2_500));
        world.frame(2, &stand_in);
    }
    let while_up = reports(&mut world)[0];
    world.run_until(world.now + Duration::from_ms(3));
    world.frame(2, &stand_in);
    let afterwards = reports(&mut world)[0];

    assert_eq!(while_up.state, State::Up);
    assert_eq!(while_up.counters.received, before.received);
    assert_eq!(afterwards.state, State::Down);
    assert_eq!(afterwards.counters.malformed, 0);
    assert_eq!(afterwards.stand_in, StandIn::Nobody);
}

#[test]
fn whoever_hears_no_heart_beat_says_so_once_it_was_silent_for_three() {
    let mut world = World::new(unpaced());
    world.greet(CONTROLLER);
    tell(&mut world, &[with_heart_beat(200)]);
    bring_up(&mut world, Encapsulation::Ethernet);
    let is_silent = |it: &ControlPacket| {
        (it.state, it.diagnostic) == (State::Up, Diagnostic::DETECTION_TIME_EXPIRED)
    };
    world.take_sent();
    for _ in 0..100 {
        world.run_until(world.now + Duration::from_us(590));
        world.frame(2, &DATA);
    }
    assert!(!packets(&mut world, 2).iter().any(is_silent));

    world.run_until(world.now + Duration::from_us(599));
    assert!(!packets(&mut world, 2).iter().any(is_silent));
    world.run_until(world.now + Duration::from_us(1));
    assert!(packets(&mut world, 2).iter().any(is_silent));

    world.frame(2, &DATA);
    world.run_until(world.now + Duration::from_us(500));
    world.frame(2, &DATA);
    world.take_sent();
    world.run_until(world.now + Duration::from_us(500));
    assert!(!packets(&mut world, 2).iter().any(is_silent));
}

/// Lets frames leave by port 2 this often for 20 ms, then has the neighbour say that it hears
/// nothing; returns by which port frames leave then.
fn taken_after_silence(beat: u32, every: Duration, queue: u32) -> (u32, BfdReport) {
    let mut world = World::new(unpaced());
    world.greet(CONTROLLER);
    fail_over(&mut world);
    let in_queue = [
        wire::openflow::Action::SetQueue(wire::openflow::QueueId(queue)),
        wire::openflow::Action::Group(GroupId(1)),
    ];
    world.add(2, &[from(1)], &in_queue);
    tell(&mut world, &[with_heart_beat(beat)]);
    bring_up(&mut world, Encapsulation::Ethernet);
    let mine = reports(&mut world)[0].my_discriminator;
    let up = framed(Encapsulation::Ethernet, &said(State::Up, mine));
    let silent = ControlPacket {
        diagnostic: Diagnostic::DETECTION_TIME_EXPIRED,
        ..said(State::Up, mine)
    };
    let end = world.now + Duration::from_ms(20);
    while world.now < end {
        world.frame(1, &DATA);
        world.frame(2, &up);
        world.run_until(world.now + every);
    }
    world.frame(2, &framed(Encapsulation::Ethernet, &silent));
    (taken(&mut world), reports(&mut world)[0])
}

#[test]
fn a_neighbour_that_hears_nothing_of_what_was_sent_is_behind_a_broken_link() {
    let (port, report) = taken_after_silence(300, Duration::from_us(250), 5);
    assert_eq!(
        (port, report.state, report.counters.silences),
        (3, State::Down, 1)
    );
    assert_eq!(report.diagnostic, Diagnostic::NEIGHBOUR_DOWN);
}

#[test]
fn silence_of_a_neighbour_to_which_nothing_was_sent_means_nothing() {
    let millisecond = Duration::from_ms(1);
    for (beat, every, queue) in [
        // Nobody sends as often as a heart-beat.
        (300, millisecond, 5),
        // Such frames may wait for as long as they like.
        (300, Duration::from_us(250), 0),
        // Nobody wants to know.
        (0, Duration::from_us(250), 5),
    ] {
        let (port, report) = taken_after_silence(beat, every, queue);
        assert_eq!(
            (port, report.counters.silences),
            (2, 0),
            "{beat} {every} {queue}"
        );
        assert!(report.is_live);
    }
}

#[test]
fn a_carrier_that_is_back_is_not_enough() {
    let mut world = World::new(unpaced());
    world.greet(CONTROLLER);
    fail_over(&mut world);
    tell(&mut world, &[session(2, Encapsulation::Ethernet)]);
    bring_up(&mut world, Encapsulation::Ethernet);

    world.link(2, Link::Down);
    world.link(2, Link::Up);
    assert_eq!(taken(&mut world), 3);
    bring_up(&mut world, Encapsulation::Ethernet);
    assert_eq!(taken(&mut world), 2);
}
