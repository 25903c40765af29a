//! Any bytes at any port and on any connection leave the switch standing, and
//! its neighbours unharmed.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use switch::{CONNECTIONS_MAX, CloseReason, ConnectionId, FRAME_BYTES_MAX, Input, Peer};
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::multipart::{FlowStatisticsRequest, MultipartRequest, RequestBody};
use wire::openflow::oxm::{Masked, VlanMatch};
use wire::openflow::{
    Action, Actions, BufferId, Echo, FlowMod, MatchField, Message, PacketOut, PortNumber, TableId,
    TransactionId,
};

use crate::frames::{frame, tagged, udp};
use crate::layers::built;
use crate::world::{CONTROLLER, World, from, output, paced};

const STRANGER: ConnectionId = ConnectionId(2);

/// Frames that are good but for a byte and their end, or nothing of the kind.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let neighbour = [
        &[0x60, 0, 0, 0, 0, 32, 58, 255][..],
        &[1; 32],
        &[135, 0, 0, 0, 0, 0, 0, 0],
        &[2; 16],
        &[1, 1, 3, 3, 3, 3, 3, 3],
    ];
    let good = prop::sample::select(vec![
        udp(64, b"payload"),
        tagged(5, 3, &udp(1, b"payload")),
        tagged(5, 3, &tagged(6, 1, &frame(0x86dd, &neighbour.concat()))),
        frame(
            0x0806,
            &[
                0, 1, 8, 0, 6, 4, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0,
            ],
        ),
        frame(0x86dd, &[0x60, 0, 0, 0, 0, 40, 0, 64]),
    ]);
    let good = prop_oneof![good, built().prop_map(|it| it.bytes)];
    let damaged = (good, any::<prop::sample::Index>(), any::<u8>(), 0usize..140);
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..140),
        prop::collection::vec(any::<u8>(), FRAME_BYTES_MAX - 20..=FRAME_BYTES_MAX),
        damaged.prop_map(|(mut frame, at, byte, length)| {
            let at = at.index(frame.len());
            frame[at] = byte;
            frame.truncate(length);
            frame
        }),
    ]
}

/// Every change that a packet-out may ask for, whether the frame is like that or
/// not.
fn changes() -> impl Strategy<Value = Vec<Action>> {
    let fields = [
        MatchField::EthDst(Masked::exact(MacAddress([1; 6]))),
        MatchField::VlanVid(Masked::exact(VlanMatch::tagged(3))),
        MatchField::VlanPcp(3),
        MatchField::IpDscp(3),
        MatchField::IpEcn(1),
        MatchField::Ipv4Src(Masked::exact(Ipv4Addr::LOCALHOST)),
        MatchField::Ipv6Dst(Masked::exact(Ipv6Addr::LOCALHOST)),
        MatchField::Ipv6Flabel(Masked::exact(0xabcde)),
        MatchField::TcpSrc(9),
        MatchField::UdpDst(9),
        MatchField::Icmpv4Type(9),
        MatchField::Icmpv6Code(9),
        MatchField::ArpOp(2),
        MatchField::ArpTha(Masked::exact(MacAddress([1; 6]))),
        MatchField::EthType(EtherType::IPV6),
        MatchField::IpProto(58),
        MatchField::SctpDst(9),
        MatchField::Icmpv6Type(136),
        MatchField::Ipv6NdTarget(Ipv6Addr::LOCALHOST),
        MatchField::Ipv6NdSll(MacAddress([1; 6])),
        MatchField::Ipv6NdTll(MacAddress([1; 6])),
        MatchField::MplsLabel(9),
        MatchField::MplsBos(1),
        MatchField::PbbIsid(Masked::exact([1; 3])),
        MatchField::TunnelId(Masked::exact(9)),
    ];
    let mut all: Vec<_> = fields.map(Action::SetField).into();
    all.extend([
        Action::PopVlan,
        Action::PushVlan(EtherType::VLAN),
        Action::PopMpls(EtherType::IPV4),
        Action::PushMpls(EtherType::MPLS),
        Action::PopPbb,
        Action::PushPbb(EtherType::PROVIDER_BACKBONE),
        Action::SetNetworkTtl(9),
        Action::DecrementNetworkTtl,
        Action::SetMplsTtl(9),
        Action::DecrementMplsTtl,
        Action::CopyTtlIn,
        Action::CopyTtlOut,
        Action::output(PortNumber::FLOOD),
        Action::output(PortNumber::CONTROLLER),
        Action::output(PortNumber::TABLE),
    ]);
    prop::collection::vec(prop::sample::select(all), 0..40)
}

proptest! {
    #[test]
    fn no_frame_and_no_change_of_it_does_harm(
        frames in prop::collection::vec((any_frame(), changes()), 0..20),
    ) {
        let mut world = World::with_controller(paced());
        let free = world.switch.free_buffers();
        world.add(1, &[from(1)], &[output(2), output(3)]);

        for (frame, actions) in &frames {
            world.frame(1, frame);
            world.ask(&Message::PacketOut(PacketOut {
                buffer: BufferId::NONE,
                in_port: PortNumber(1),
                actions: Actions::of(actions),
                data: frame,
            }));
        }
        world.run_until(units::Instant::from_ns(1_000_000_000));

        prop_assert_eq!(world.switch.free_buffers(), free);
    }

    #[test]
    fn no_bytes_from_a_stranger_reach_further_than_its_own_connection(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..20),
        greets: bool,
    ) {
        let mut world = World::with_controller(paced());
        world.add(1, &[from(1)], &[output(2)]);
        if greets {
            world.greet(STRANGER);
        } else {
            world.connect(STRANGER, Peer::Controller);
        }

        for bytes in &pieces {
            world.receive(STRANGER, bytes);
        }

        prop_assert!(world.closed.iter().all(|(id, _)| *id == STRANGER));
        world.frame(1, &frame(0x88b5, b""));
        prop_assert_eq!(world.take_sent().len(), 1);
        prop_assert_eq!(world.ask(&Message::BarrierRequest).len(), 1);
    }

    /// Messages that are good but for a few bytes come much further.
    #[test]
    fn no_damaged_message_does_harm(
        damages in prop::collection::vec(
            (message(), any::<prop::sample::Index>(), any::<u8>()),
            0..40,
        ),
    ) {
        let mut world = World::with_controller(paced());

        for (mut message, at, byte) in damages {
            // The length stays: a wrong one only makes the stream wait.
            let at = 4 + at.index(message.len() - 4);
            message[at] = byte;
            world.receive(CONTROLLER, &message);
            world.frame(1, &udp(64, b"payload"));
            world.answers(CONTROLLER);
        }

        prop_assert_eq!(&world.closed, &[]);
        prop_assert_eq!(world.ask(&Message::BarrierRequest).len(), 1);
    }
}

fn message() -> impl Strategy<Value = Vec<u8>> {
    let matches = [
        MatchField::InPort(PortNumber(1)),
        MatchField::EthType(EtherType::IPV4),
        MatchField::IpProto(17),
        MatchField::Ipv4Dst(Masked::under(
            Ipv4Addr::new(10, 0, 0, 0),
            Ipv4Addr::new(255, 0, 0, 0),
        )),
        MatchField::UdpDst(2000),
    ];
    let set = MatchField::UdpDst(7);
    let actions = [
        Action::SetField(set),
        Action::DecrementNetworkTtl,
        output(2),
    ];
    let instructions = [
        wire::openflow::Instruction::ApplyActions(Actions::of(&actions)),
        wire::openflow::Instruction::GotoTable(TableId(1)),
    ];
    let flow_mod = FlowMod {
        idle_timeout_s: 1,
        matching: wire::openflow::Fields::of(&matches),
        instructions: wire::openflow::Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    };
    let everything = RequestBody::Flow(FlowStatisticsRequest::all(TableId::ALL));
    let packet_out = PacketOut {
        buffer: BufferId::NONE,
        in_port: PortNumber(1),
        actions: Actions::of(&actions),
        data: &udp(9, b"payload"),
    };
    let messages = [
        Message::FlowMod(flow_mod),
        Message::FlowMod(FlowMod::delete(TableId::ALL)),
        Message::PacketOut(packet_out),
        Message::MultipartRequest(MultipartRequest::new(everything)),
    ];
    let bytes = messages.map(|message| {
        let mut bytes = Vec::new();
        message.emit(TransactionId(1), &mut bytes);
        bytes
    });
    prop::sample::select(bytes.to_vec())
}

/// A connection that asks for much and is never listened to by its world.
#[test]
fn a_controller_that_asks_for_more_than_it_takes_loses_its_connection_only() {
    let mut world = World::with_controller(paced());
    world.greet(STRANGER);
    for priority in 0..5_000 {
        world.tell(&Message::FlowMod(FlowMod {
            priority,
            ..FlowMod::add(TableId(0))
        }));
    }
    let mut question = Vec::new();
    let everything = RequestBody::Flow(FlowStatisticsRequest::all(TableId::ALL));
    Message::MultipartRequest(MultipartRequest::new(everything))
        .emit(TransactionId(1), &mut question);

    let (now, connection) = (world.now, STRANGER);
    let questions = question.repeat(1_000);
    for bytes in questions.repeat(20).chunks(questions.len()) {
        world
            .switch
            .handle(now, Input::Received { connection, bytes });
    }
    world.handle(Input::Timeout);

    assert_eq!(world.closed, [(STRANGER, CloseReason::SendsUnread)]);
    assert_eq!(world.ask(&Message::BarrierRequest).len(), 1);
}

/// A message as long as messages can be.
fn longest_message() -> Vec<u8> {
    let mut bytes = Vec::new();
    let data = &vec![7; 65_535 - 8];
    Message::EchoRequest(Echo { data }).emit(TransactionId(1), &mut bytes);
    bytes
}

#[test]
fn the_longest_message_may_come_byte_by_byte_and_keeps_nobody_waiting() {
    let mut world = World::with_controller(paced());
    world.greet(STRANGER);
    world.add(1, &[from(1)], &[output(2)]);

    for (n, byte) in longest_message().into_iter().enumerate() {
        let bytes = &[byte];
        let connection = STRANGER;
        world.handle(Input::Received { connection, bytes });
        if n % 10_000 == 0 {
            assert_eq!(world.ask(&Message::BarrierRequest).len(), 1);
            world.frame(1, &frame(0x88b5, b""));
            world.run_until(world.now + units::Duration::from_ms(1));
            assert_eq!(world.take_sent().len(), 1);
        }
    }

    assert_eq!(world.answers(STRANGER).len(), 1);
}

/// Every connection that there may be sends as much as it is let, and never the
/// end of its message.
#[test]
fn connections_that_stall_hold_a_bounded_amount_of_memory() {
    /// What a connection may cost: what it may leave unread, twice, since a
    /// buffer grows in steps, and the message at hand.
    const BYTES_MAX: u64 = 3 * 128 * 1024;
    let mut world = World::new(paced());
    let connections = (0..CONNECTIONS_MAX).map(|id| ConnectionId(u32::try_from(id).unwrap()));
    for connection in connections.clone() {
        world.greet(connection);
        world.handle(Input::Congested(connection));
    }
    let flood = longest_message();

    let memory = allocation_counter::measure(|| {
        for _ in 0..100 {
            for connection in connections.clone() {
                let room = world.switch.room(connection);
                let bytes = &flood[..flood.len().min(room)];
                let now = world.now;
                world
                    .switch
                    .handle(now, Input::Received { connection, bytes });
            }
        }
    });

    let most = BYTES_MAX * u64::try_from(CONNECTIONS_MAX).unwrap();
    assert!(memory.bytes_max < most, "{} bytes", memory.bytes_max);
    assert!(connections.clone().all(|it| world.switch.room(it) == 0));
    assert_eq!(world.closed, []);
}

/// A controller that does not read gets no more packet-ins than it has room for.
#[test]
fn a_controller_that_does_not_read_holds_a_bounded_amount_of_memory() {
    const BYTES_MAX: u64 = 1024 * 1024;
    let mut world = World::with_controller(paced());
    world.add(0, &[], &[Action::output(PortNumber::CONTROLLER)]);
    world.handle(Input::Congested(CONTROLLER));
    let frame = frame(0x88b5, &[0; 1_400]);

    let memory = allocation_counter::measure(|| {
        for _ in 0..10_000 {
            world.now += units::Duration::from_ms(1);
            world.frame(1, &frame);
        }
    });

    assert!(memory.bytes_max < BYTES_MAX, "{} bytes", memory.bytes_max);
    let counters = world.switch.counters();
    assert!(counters.punts_dropped > 9_000, "{counters:?}");
    world.handle(Input::Relieved(CONTROLLER));
    assert_eq!(
        world.ask(&Message::BarrierRequest).len(),
        1 + usize::try_from(counters.punted).unwrap()
    );
}
