//! Streams whose numbers stand in trailers of PRP (IEC 62439-3).
//!
//! What differs between engines is nothing that a frame shows, so all of it runs by both.

use proptest::prelude::*;
use switch::Link;
use units::Duration;
use wire::ethernet::{EtherType, Header, MacAddress};
use wire::openflow::multipart::{MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::taktos::{
    Answer as Told, Eliminate, NodeCounters, NodeReport, Question, RecoveryAlgorithm,
    SequenceEncoding, StreamHandle, TrailerAction,
};
use wire::openflow::{Action, MatchField, Message};
use wire::prp::{self, Lan, Supervision, SupervisionKind, Trailer};

use crate::frames::{frame, tagged, udp};
use crate::streams::{Bench, STREAM};
use crate::world::{from, output};

const HOW: Eliminate = Eliminate {
    stream: STREAM,
    algorithm: RecoveryAlgorithm::DuplicateDiscard,
    history: 8,
    reset: Duration::from_ms(100),
    takes_unnumbered: true,
    strips_tag: true,
    encoding: SequenceEncoding::Prp,
    ways: Some(2),
    tolerance: 4,
    hold: Duration::ZERO,
};
fn numbers() -> [Action; 4] {
    [
        Action::Trailer(TrailerAction::Number(STREAM)),
        output(2),
        Action::Trailer(TrailerAction::Lan(Lan::B)),
        output(3),
    ]
}

fn with_trailer(sequence: u16, lan: Lan, bare: &[u8]) -> Vec<u8> {
    let mut frame = bare.to_vec();
    prp::append(&mut frame, Trailer { sequence, lan }).expect("a frame is short");
    frame
}

#[test]
fn each_way_is_a_lan_whose_number_stands_behind_the_frame() {
    for mut bench in Bench::both() {
        bench.add(&[from(1)], &numbers());
        let plain = frame(0x88ba, &[9; 100]);
        let short = frame(0x88b8, &[9; 3]);
        let in_vlan = tagged(7, 4, &udp(9, b"hello"));

        for (number, bare) in (0..).zip([&plain, &short, &in_vlan]) {
            let sent = bench.send(1, bare);

            let expected = [(2, Lan::A), (3, Lan::B)];
            let expected = expected.map(|(port, lan)| (port, with_trailer(number, lan, bare)));
            assert_eq!(sent, expected);
        }
        assert_eq!(bench.report().counters.numbered, 3);
    }
}

/// As of a station that speaks PRP itself.
#[test]
fn a_frame_that_has_a_trailer_gets_another_number_and_no_second_trailer() {
    for mut bench in Bench::both() {
        bench.add(&[from(1)], &numbers());
        let bare = frame(0x88ba, &[9; 100]);

        let sent = bench.send(1, &with_trailer(500, Lan::B, &bare));

        assert_eq!(sent[0].1, with_trailer(0, Lan::A, &bare));
    }
}

#[test]
fn of_two_copies_the_first_is_handed_on_without_its_trailer() {
    for mut bench in Bench::both() {
        bench.eliminates(HOW);
        let bare = tagged(7, 4, &frame(0x88b8, &[9; 80]));

        // A source's other flows have the numbers between.
        for number in (65_000..=u16::MAX).chain(0..900).step_by(37) {
            let (first, second) = match number % 2 {
                0 => ((2, Lan::A), (3, Lan::B)),
                _ => ((3, Lan::B), (2, Lan::A)),
            };
            let copy = |(port, lan)| (port, with_trailer(number, lan, &bare));
            let (port, bytes) = copy(first);
            assert_eq!(bench.send(port, &bytes), [(1, bare.clone())]);
            let (port, bytes) = copy(second);
            assert_eq!(bench.send(port, &bytes), []);
        }

        let counters = bench.report().counters;
        assert_eq!((counters.passed, counters.discarded), (39, 39));
        assert_eq!((counters.rogue, counters.unnumbered), (0, 0));
    }
}

#[test]
fn what_looks_like_a_trailer_and_is_none_goes_on_as_it_is_and_is_counted() {
    for mut bench in Bench::both() {
        bench.eliminates(HOW);
        let whole = with_trailer(7, Lan::A, &frame(0x88ba, &[9; 100]));
        let at = whole.len() - prp::TRAILER_LENGTH;
        let spoiled = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = whole.clone();
            change(&mut bytes);
            bytes
        };

        for bytes in [
            frame(0x88ba, &[9; 100]),
            // Of another size, of no LAN, cut short.
            spoiled(&|bytes| bytes[at + 3] ^= 1),
            spoiled(&|bytes| bytes[at + 2] = 0xc0),
            spoiled(&|bytes| bytes.truncate(bytes.len() - 1)),
            spoiled(&|bytes| bytes.push(0)),
        ] {
            assert_eq!(bench.send(2, &bytes), [(1, bytes)]);
        }

        let counters = bench.report().counters;
        assert_eq!((counters.unnumbered, counters.passed), (5, 5));
    }
}

#[test]
fn a_short_frame_that_was_padded_behind_its_trailer_loses_both() {
    for mut bench in Bench::both() {
        bench.eliminates(HOW);
        let mut old = frame(0x88b8, &[9; 20]);
        old.extend([0, 7, 0xa0, 26, 0x88, 0xfb]);
        old.resize(60, 0);

        let sent = bench.send(2, &old);

        let mut expected = frame(0x88b8, &[9; 20]);
        expected.resize(60, 0);
        assert_eq!(sent, [(1, expected)]);
    }
}

#[test]
fn a_frame_without_room_for_a_trailer_is_dropped() {
    for mut bench in Bench::both() {
        bench.add(&[from(1)], &numbers());

        assert_eq!(bench.send(1, &frame(0x88ba, &[9; 1_970])).len(), 0);
        assert_eq!(bench.send(1, &frame(0x88ba, &[9; 1_964])).len(), 2);
    }
}

const STATION: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const REDBOX: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);

/// A switch that heeds what is said of stations.
fn heeding() -> [Bench; 2] {
    Bench::both().map(|mut bench| {
        let fields = [
            MatchField::EthDst(Supervision::group(0).into()),
            MatchField::EthType(EtherType::PRP),
        ];
        let supervise = [Action::Trailer(TrailerAction::Supervise)];
        bench.world.add(9, &fields, &supervise);
        bench
    })
}

fn of_station(port: u32) -> [MatchField; 2] {
    [from(port), MatchField::EthSrc(STATION.into())]
}

/// What a RedBox says of the station.
fn supervision(sequence: u16, lan: Lan) -> Vec<u8> {
    let said = Supervision {
        sequence,
        kind: SupervisionKind::DuplicateDiscard,
        station: STATION,
        redbox: Some(REDBOX),
    };
    let mut frame = Vec::new();
    said.emit_frame(REDBOX, 0, &mut frame);
    with_trailer(sequence, lan, &frame)
}

/// Returns what is told of stations.
fn nodes(bench: &mut Bench) -> (NodeCounters, Vec<NodeReport>) {
    let body = RequestBody::Experimenter(Question::Nodes.body());
    let request = Message::MultipartRequest(MultipartRequest::new(body));
    let answers = bench.world.ask(&request);
    // What became of a port may have been told before.
    let reply = answers.iter().find_map(|answer| match answer.message() {
        Message::MultipartReply(reply) => Some(reply),
        _ => None,
    });
    let reply = reply.expect("it is answered");
    let ReplyBody::Experimenter(body) = reply.body else {
        panic!("not what was expected")
    };
    match Told::parse(&body) {
        Ok(Some(Told::Nodes(reply))) => {
            let nodes = reply.nodes.iter().map(Result::unwrap);
            (reply.counters, nodes.collect())
        }
        other => panic!("not what was expected: {other:?}"),
    }
}

#[test]
fn a_switch_says_every_two_seconds_that_a_station_is_there_that_sent_something() {
    for mut bench in Bench::both() {
        bench.add(&of_station(1), &numbers());
        let pass = |bench: &mut Bench, seconds: u64| {
            let end = bench.world.now + Duration::from_secs(seconds);
            bench.world.run_until(end);
            bench.world.take_sent()
        };
        assert_eq!(pass(&mut bench, 5), []);
        bench.send(1, &frame(0x88ba, &[9; 100]));

        let said = pass(&mut bench, 4);

        assert_eq!(said.len(), 4);
        for (pair, sequence) in said.chunks(2).zip(0..) {
            for ((port, bytes), (expected, lan)) in pair.iter().zip([(2, Lan::A), (3, Lan::B)]) {
                let (trailer, length) = Trailer::of_frame(bytes).unwrap();
                assert_eq!((*port, trailer), (expected, Trailer { sequence, lan }));
                let (header, payload) = Header::parse(&bytes[..length]).unwrap();
                let told = Supervision::parse(payload).unwrap();
                assert_eq!((told.station, told.redbox), (STATION, Some(header.source)));
            }
        }
        // Who is silent for a minute is forgotten, and who is cut off at once.
        pass(&mut bench, 60);
        assert_eq!(pass(&mut bench, 10), []);
        bench.send(1, &frame(0x88ba, &[9; 100]));
        assert_eq!(pass(&mut bench, 2).len(), 2);
        bench.world.link(1, Link::Down);
        assert_eq!(pass(&mut bench, 10), []);
        assert_eq!(nodes(&mut bench).0.sent, 62);
    }
}

#[test]
fn what_is_said_of_a_station_goes_where_its_frames_go_once_and_ends_where_copies_do() {
    for mut bench in heeding() {
        bench.add(
            &of_station(2),
            &[output(1), Action::Eliminate(HOW), output(3)],
        );

        let bytes = supervision(7, Lan::A);
        assert_eq!(bench.send(2, &bytes), [(1, bytes.clone())]);
        assert_eq!(bench.send(2, &bytes), []);
        assert_eq!(bench.send(2, &supervision(6, Lan::A)), []);
        assert_eq!(bench.send(2, &supervision(7, Lan::B)).len(), 1);

        let (counters, known) = nodes(&mut bench);
        let [node] = known[..] else {
            panic!("{known:?}")
        };
        assert_eq!((node.station, node.redbox), (STATION, Some(REDBOX)));
        assert_eq!(node.lans.map(|lan| lan.frames), [1, 1]);
        assert_eq!((counters.heard, counters.repeated), (2, 2));
        // One that has started again counts anew, and is heard once its numbers are old.
        let end = bench.world.now + Duration::from_secs(6);
        bench.world.run_until(end);
        assert_eq!(bench.send(2, &supervision(0, Lan::A)).len(), 1);
        let end = bench.world.now + Duration::from_secs(60);
        bench.world.run_until(end);
        assert_eq!(nodes(&mut bench).1, []);
    }
}

#[test]
fn what_is_forged_is_absorbed_and_counted() {
    for mut bench in heeding() {
        bench.add(&of_station(1), &numbers());
        bench.add(&of_station(2), &[output(3)]);

        // By another port, by the one of the station itself, without a trailer, cut short.
        assert_eq!(bench.send(3, &supervision(1, Lan::A)), []);
        assert_eq!(bench.send(1, &supervision(1, Lan::A)), []);
        let whole = supervision(1, Lan::A);
        assert_eq!(bench.send(2, &whole[..60]), []);
        assert_eq!(bench.send(2, &whole[..20]), []);
        let long = [&whole[..], &[0; 200]].concat();
        assert_eq!(bench.send(2, &long), []);
        // More in a second than anybody has to say.
        let sent: usize = (2..1_000)
            .map(|number| bench.send(2, &supervision(number, Lan::A)).len())
            .sum();

        let (counters, known) = nodes(&mut bench);
        assert_eq!((counters.unexpected, counters.malformed), (2, 3));
        assert_eq!(known.len(), 1);
        assert_eq!(u64::try_from(sent).unwrap(), counters.heard);
        assert_eq!(counters.heard + counters.excess, 998);
        assert!(counters.excess > 0);
    }
}

proptest! {
    /// What one switch numbers another hands on once, padded at most.
    #[test]
    fn a_frame_comes_out_as_it_went_in(
        payload in prop::collection::vec(any::<u8>(), 0..200),
        ether_type in prop::sample::select(vec![0x0800_u16, 0x86dd, 0x0806, 0x88ba]),
        tags in 0_usize..3,
    ) {
        let mut bare = frame(ether_type, &payload);
        for _ in 0..tags {
            bare = tagged(7, 4, &bare);
        }
        for mut bench in Bench::both() {
            bench.add(&[from(1)], &numbers());
            bench.eliminates(Eliminate { stream: StreamHandle(5), ..HOW });

            let copies = bench.send(1, &bare);
            let handed: Vec<_> = copies
                .iter()
                .flat_map(|(port, copy)| bench.send(*port, copy))
                .collect();

            let mut expected = bare.clone();
            expected.resize(bare.len().max(64), 0);
            prop_assert_eq!(handed, [(1, expected)]);
        }
    }
}
