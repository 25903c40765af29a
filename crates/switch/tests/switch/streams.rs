//! Streams that are numbered, sent over two ways and handed on once (IEEE 802.1CB).
//!
//! What differs between engines is nothing that a frame shows, so most of it runs by both.

use switch::compiled::Overflow;
use switch::{Input, STREAMS_MAX};
use units::Duration;
use wire::ethernet::EtherType;
use wire::openflow::multipart::{MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::taktos::{
    Answer as Told, Eliminate, Question, RecoveryAlgorithm, SequenceEncoding, StreamEvent,
    StreamHandle, StreamReport,
};
use wire::openflow::{
    Action, Actions, BadAction, Bucket, BufferId, BundleControlKind, ErrorKind, Fields, FlowMod,
    FlowModCommand, GroupId, GroupMod, GroupModCommand, GroupType, Instruction, Instructions,
    MatchField, Message, PacketOut, PortNumber, Sequence, TableId,
};
use wire::redundancy_tag::RedundancyTag;

use crate::bundles::{add_all, control, open};
use crate::compiled::{compiled, publish};
use crate::frames::{frame, tagged, udp};
use crate::world::{Answer, CONTROLLER, World, from, output, unpaced};

pub const STREAM: StreamHandle = StreamHandle(0x0700_0001);
const HOW: Eliminate = Eliminate {
    stream: STREAM,
    algorithm: RecoveryAlgorithm::Vector,
    history: 8,
    reset: Duration::from_ms(100),
    takes_unnumbered: false,
    strips_tag: true,
    encoding: SequenceEncoding::RTag,
    ways: Some(2),
    tolerance: 4,
    hold: Duration::ZERO,
};

/// A switch that frames go through in one of the engines.
pub struct Bench {
    pub world: World,
    is_compiled: bool,
}

impl Bench {
    pub fn both() -> [Self; 2] {
        [false, true].map(|is_compiled| {
            let world = match is_compiled {
                true => compiled(unpaced(), 64, Overflow::ToCore),
                false => World::with_controller(unpaced()),
            };
            Self { world, is_compiled }
        })
    }

    pub fn add(&mut self, fields: &[MatchField], actions: &[Action]) {
        self.world.add(7, fields, actions);
        if self.is_compiled {
            publish(&mut self.world);
        }
    }

    /// Numbers what comes by port 1, and sends it through ports 2 and 3.
    fn numbers(&mut self) {
        self.add(
            &[from(1)],
            &[Action::Sequence(STREAM), output(2), output(3)],
        );
    }

    /// Hands on once through port 1 what comes by ports 2 and 3.
    pub fn eliminates(&mut self, how: Eliminate) {
        for port in [2, 3] {
            self.add(&[from(port)], &[Action::Eliminate(how), output(1)]);
        }
    }

    /// Returns what leaves of a frame.
    pub fn send(&mut self, port: u32, bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        match self.is_compiled {
            false => self.world.frame(port, bytes),
            true => {
                let arrived = self.world.now;
                self.world.handle(Input::Walked {
                    port: PortNumber(port),
                    bytes,
                    arrived,
                });
            }
        }
        self.world.take_sent()
    }

    pub fn report(&mut self) -> StreamReport {
        let [report] = reports(&mut self.world)[..] else {
            panic!("there is one stream")
        };
        report
    }
}

fn reports(world: &mut World) -> Vec<StreamReport> {
    let body = RequestBody::Experimenter(Question::Streams.body());
    let answers = world.ask(&Message::MultipartRequest(MultipartRequest::new(body)));
    let mut all = Vec::new();
    for answer in &answers {
        let Message::MultipartReply(reply) = answer.message() else {
            panic!("not what was expected")
        };
        let ReplyBody::Experimenter(body) = reply.body else {
            panic!("not what was expected")
        };
        match Told::parse(&body) {
            Ok(Some(Told::Streams(streams))) => all.extend(streams.iter().map(Result::unwrap)),
            other => panic!("not what was expected: {other:?}"),
        }
    }
    all
}

pub fn numbered(number: u16, payload: &[u8]) -> Vec<u8> {
    with_tag(number, &frame(0x88ba, payload), 12)
}

fn with_tag(sequence: u16, untagged: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = untagged.to_vec();
    bytes.splice(at..at, RedundancyTag { sequence }.bytes());
    bytes
}

#[test]
fn frames_are_numbered_behind_their_vlan_tag_and_leave_by_both_ways() {
    for mut bench in Bench::both() {
        bench.numbers();
        let plain = frame(0x88ba, &[9; 100]);
        let in_vlan = tagged(7, 4, &plain);

        let first = bench.send(1, &plain);
        let second = bench.send(1, &in_vlan);

        let behind_addresses = with_tag(0, &plain, 12);
        assert_eq!(
            first,
            [(2, behind_addresses.clone()), (3, behind_addresses)]
        );
        let behind_vlan = with_tag(1, &in_vlan, 16);
        assert_eq!(second, [(2, behind_vlan.clone()), (3, behind_vlan)]);
        assert_eq!(bench.report().counters.numbered, 2);
    }
}

#[test]
fn a_frame_that_has_a_number_gets_another_one_and_no_second_tag() {
    for mut bench in Bench::both() {
        bench.numbers();

        let sent = bench.send(1, &numbered(500, &[9; 100]));

        assert_eq!(sent[0].1, numbered(0, &[9; 100]));
    }
}

#[test]
fn of_two_copies_the_first_is_handed_on_as_it_was_before_it_got_a_number() {
    for mut bench in Bench::both() {
        bench.eliminates(HOW);

        for number in 0..100 {
            let copy = numbered(number, &[9; 100]);
            let (quick, slow) = if number % 3 == 0 { (2, 3) } else { (3, 2) };
            let handed = bench.send(quick, &copy);
            assert_eq!(handed, [(1, frame(0x88ba, &[9; 100]))]);
            assert_eq!(bench.send(slow, &copy), []);
        }

        let report = bench.report();
        assert_eq!((report.stream, report.entries), (STREAM, 2));
        assert_eq!(
            (report.counters.passed, report.counters.discarded),
            (100, 100)
        );
        assert_eq!((report.counters.rogue, report.counters.lost), (0, 0));
    }
}

#[test]
fn a_frame_is_not_shorter_than_the_medium_allows_once_its_tag_is_gone() {
    for mut bench in Bench::both() {
        bench.eliminates(HOW);
        let short = numbered(0, &[9; 60 - 6 - 14]);
        assert_eq!(short.len(), 60);

        let handed = bench.send(2, &short);

        let mut expected = frame(0x88ba, &[9; 60 - 6 - 14]);
        expected.resize(60, 0);
        assert_eq!(handed, [(1, expected)]);
    }
}

#[test]
fn a_copy_that_differs_is_dropped_like_any_other() {
    for mut bench in Bench::both() {
        bench.eliminates(HOW);

        bench.send(2, &numbered(0, &[9; 100]));
        let handed = bench.send(3, &numbered(0, &[8; 100]));

        assert_eq!(handed, []);
        assert_eq!(bench.report().counters.discarded, 1);
    }
}

#[test]
fn a_tag_that_is_cut_short_is_none_and_a_frame_without_one_goes_on_if_that_is_wanted() {
    for takes_unnumbered in [false, true] {
        for mut bench in Bench::both() {
            bench.eliminates(Eliminate {
                takes_unnumbered,
                ..HOW
            });
            let mut cut = numbered(0, &[]);
            cut.pop();

            let handed = [
                bench.send(2, &cut),
                bench.send(2, &frame(0x88ba, &[9; 100])),
            ];

            let expected = usize::from(takes_unnumbered);
            assert_eq!(handed.each_ref().map(Vec::len), [expected; 2]);
            assert_eq!(bench.report().counters.unnumbered, 2);
        }
    }
}

#[test]
fn an_entry_matches_what_is_behind_the_number_and_may_change_it() {
    for mut bench in Bench::both() {
        let fields = [
            from(2),
            MatchField::EthType(EtherType::IPV4),
            MatchField::IpProto(17),
        ];
        let mark = Action::SetField(MatchField::IpDscp(46));
        bench.add(&fields, &[mark, output(3)]);
        let datagram = udp(9, b"hello");

        let sent = bench.send(2, &with_tag(7, &datagram, 12));

        assert_eq!(sent.len(), 1);
        let (tag, at) = RedundancyTag::of_frame(&sent[0].1).unwrap();
        assert_eq!((tag.sequence, at), (7, 12));
        let mut inner = sent[0].1.clone();
        inner.drain(12..18);
        assert_eq!(inner[15] >> 2, 46);
        assert!(crate::frames::checksums_hold(&inner));
    }
}

/// The core goes on where a walk has decided already, and decides nothing twice.
#[test]
fn a_frame_that_goes_on_to_the_core_is_no_copy_of_itself() {
    for mut bench in Bench::both() {
        let later = |table: u8, instructions: &[Instruction<'_>], world: &mut World| {
            world.tell(&Message::FlowMod(FlowMod {
                instructions: Instructions::of(instructions),
                ..FlowMod::add(TableId(table))
            }));
        };
        let first = [Action::Sequence(StreamHandle(5)), Action::Eliminate(HOW)];
        let first = [
            Instruction::ApplyActions(Actions::of(&first)),
            Instruction::GotoTable(TableId(1)),
        ];
        later(0, &first, &mut bench.world);
        // Only the core counts down a time to live.
        let second = [Action::SetNetworkTtl(9), output(3)];
        let second = [Instruction::ApplyActions(Actions::of(&second))];
        bench.world.tell(&Message::FlowMod(FlowMod {
            matching: Fields::of(&[MatchField::EthType(EtherType::IPV4)]),
            instructions: Instructions::of(&second),
            ..FlowMod::add(TableId(1))
        }));
        if bench.is_compiled {
            publish(&mut bench.world);
        }

        let sent = [(); 2].map(|()| bench.send(2, &udp(9, b"hello")).len());

        assert_eq!(sent, [1, 1]);
        let counted = reports(&mut bench.world).into_iter().map(|it| it.counters);
        let counted: Vec<_> = counted.map(|it| (it.numbered, it.passed)).collect();
        assert_eq!(counted, [(2, 0), (0, 2)]);
    }
}

#[test]
fn numbers_are_forgotten_with_the_last_entry_that_names_the_stream() {
    let mut world = World::with_controller(unpaced());
    let actions = [Action::Eliminate(HOW), output(1)];
    let delete = |world: &mut World, port: u32| {
        world.tell(&Message::FlowMod(FlowMod {
            command: FlowModCommand::Delete,
            matching: Fields::of(&[from(port)]),
            ..FlowMod::add(TableId(0))
        }));
    };
    world.add(7, &[from(2)], &actions);
    world.frame(2, &numbered(0, &[9; 100]));
    world.add(7, &[from(3)], &actions);
    delete(&mut world, 2);

    world.frame(3, &numbered(0, &[9; 100]));
    assert_eq!(world.take_sent().len(), 1);
    delete(&mut world, 3);
    assert_eq!(reports(&mut world), []);
    world.add(7, &[from(3)], &actions);
    world.frame(3, &numbered(0, &[9; 100]));

    assert_eq!(world.take_sent().len(), 1);
}

#[test]
fn a_way_that_brings_nothing_is_told_though_no_frame_is_lost() {
    let mut world = World::with_controller(unpaced());
    for port in [2, 3] {
        world.add(7, &[from(port)], &[Action::Eliminate(HOW), output(1)]);
    }
    let mut told = Vec::new();
    for number in 0..100 {
        world.run_until(world.now + Duration::from_ms(50));
        world.frame(2, &numbered(number, &[9; 100]));
        // From 3 s on the second way brings nothing.
        if number < 60 {
            world.frame(3, &numbered(number, &[9; 100]));
        }
        told.extend(
            world
                .answers(CONTROLLER)
                .iter()
                .filter_map(|answer| match answer.message() {
                    Message::Stream(event) => Some(event),
                    _ => None,
                }),
        );
    }

    assert_eq!(world.take_sent().len(), 100);
    let [
        StreamEvent {
            report,
            passed,
            discarded,
            ..
        },
    ] = told[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!((report.stream, report.counters.latent_errors), (STREAM, 1));
    assert!(passed >= 39 && discarded <= 21, "{passed} {discarded}");
}

#[test]
fn what_nobody_could_hold_is_refused() {
    let mut world = World::with_controller(unpaced());
    let actions = [Action::Sequence(STREAM), output(2)];
    let misplaced = ErrorKind::BadAction(BadAction::BadExperimenterType);

    let written = [Instruction::WriteActions(Actions::of(&actions))];
    let written = Message::FlowMod(FlowMod {
        instructions: Instructions::of(&written),
        ..FlowMod::add(TableId(0))
    });
    assert_eq!(world.refused(&written), misplaced);
    let buckets = [Bucket::new(Actions::of(&actions))];
    let group = Message::GroupMod(GroupMod {
        command: GroupModCommand::Add,
        kind: GroupType::Indirect,
        group: GroupId(1),
        buckets: Sequence::of(&buckets),
    });
    assert_eq!(world.refused(&group), misplaced);
    let sent = Message::PacketOut(PacketOut {
        buffer: BufferId::NONE,
        in_port: PortNumber::CONTROLLER,
        actions: Actions::of(&actions),
        data: &[0; 60],
    });
    assert_eq!(world.refused(&sent), misplaced);

    for stream in (0..).take(STREAMS_MAX) {
        let sequence = Action::Sequence(StreamHandle(stream));
        world.add(7, &[from(1 + stream)], &[sequence, output(2)]);
    }
    let more = [Instruction::ApplyActions(Actions::of(&actions))];
    let more = Message::FlowMod(FlowMod {
        instructions: Instructions::of(&more),
        ..FlowMod::add(TableId(0))
    });
    let refused = world.refused(&more);
    assert_eq!(refused, ErrorKind::BadAction(BadAction::TooMany));
    assert_eq!(reports(&mut world).len(), STREAMS_MAX);
}

#[test]
fn a_bundle_that_is_undone_leaves_streams_as_they_were() {
    let mut world = World::with_controller(unpaced());
    world.add(7, &[from(2)], &[Action::Eliminate(HOW), output(1)]);
    world.frame(2, &numbered(0, &[9; 100]));
    // A group in the bundle has all groups and meters copied, and not the streams.
    let delete_group = Message::GroupMod(GroupMod {
        command: GroupModCommand::Delete,
        kind: GroupType::All,
        group: GroupId(1),
        buckets: Sequence::EMPTY,
    });
    let delete_all = Message::FlowMod(FlowMod {
        command: FlowModCommand::Delete,
        ..FlowMod::add(TableId(0))
    });
    let unknown = Message::GroupMod(GroupMod {
        command: GroupModCommand::Modify,
        kind: GroupType::All,
        group: GroupId(5),
        buckets: Sequence::EMPTY,
    });

    open(&mut world);
    add_all(&mut world, &[delete_group, delete_all, unknown]);
    let answers = world.ask(&control(BundleControlKind::CommitRequest));
    let is_error = |it: &Answer| matches!(it.message(), Message::Error(_));
    assert!(answers.iter().any(is_error));
    world.frame(2, &numbered(0, &[9; 100]));

    assert_eq!(world.take_sent().len(), 1);
    let [report] = reports(&mut world)[..] else {
        panic!("there is one stream")
    };
    assert_eq!((report.entries, report.counters.discarded), (1, 1));
}
