mod questions;

use proptest::prelude::*;
use wire::ethernet::{EtherType, Header, MacAddress, VlanTag};

use super::*;
use crate::capture::reader::End;
use crate::measurement::Value;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// When everything begins, by the first clock.
const BEGIN: u64 = 1_700_000_000 * SECOND;
const A: [u8; 4] = [10, 0, 0, 1];
const B: [u8; 4] = [10, 0, 0, 2];

#[test]
fn the_clocks_need_not_agree() {
    let mut world = World {
        offset: -3_600 * SECOND.cast_signed(),
        ..World::default()
    };
    for number in 0..100 {
        world.ping(
            number,
            u64::from(number) * 10 * MS,
            (100 * US, 50 * US, 300 * US),
        );
    }

    for is_swapped in [false, true] {
        let findings = world.analyse(Assumptions::default(), is_swapped);

        assert_eq!(times(&findings, "round trip"), (450 * US, 450 * US, 100));
        assert_eq!(times(&findings, "time at the called side").0, 50 * US);
        assert_eq!(times(&findings, "two-way latency").0, 400 * US);
        assert_eq!(times(&findings, "half of the two-way latency").0, 200 * US);
        assert_eq!(count(&findings, "packets lost", "10.0.0.1"), 0);
    }
}

#[test]
fn one_clock_gives_the_latency_of_each_direction() {
    let mut world = World::default();
    for number in 0..50 {
        world.ping(
            number,
            u64::from(number) * MS,
            (100 * US, 50 * US, 300 * US),
        );
    }
    let one_clock = Assumptions {
        clocks: Clocks::One,
        ..Assumptions::default()
    };

    let findings = world.analyse(one_clock, false);

    let latency = |from: &str| figure(&findings, "one-way latency", from).value.clone();
    for (from, expected) in [("10.0.0.1", 100 * US), ("10.0.0.2", 300 * US)] {
        let Value::Times(times) = latency(from) else {
            panic!("{from}")
        };
        assert_eq!(times.max(), Some(Duration::from_ns(expected)));
    }
}

#[test]
fn what_the_network_lost_is_told_from_what_a_capture_lacks() {
    let mut world = World::default();
    for number in 0..100 {
        world.ping(
            number,
            u64::from(number) * MS,
            (100 * US, 50 * US, 300 * US),
        );
    }
    let (request, reply) = (0, 2);
    // Request 10 was lost on the way, and nobody answered.
    world.first.retain(|it| it.event != (10, reply + 1));
    world.second.retain(|it| it.event.0 != 10);
    // Request 20 arrived, for its answer did; the second capture lacks it.
    world.second.retain(|it| it.event != (20, request + 1));
    // Reply 30 arrived, but the capture of who sent it does not have it.
    world.second.retain(|it| it.event != (30, reply));

    let findings = world.analyse(Assumptions::default(), false);

    assert_eq!(count(&findings, "packets lost", "10.0.0.1"), 1);
    assert_eq!(count(&findings, "packets lost", "10.0.0.2"), 0);
    assert_remark(
        &findings,
        "second is itself incomplete: it lacks 1 of 99 packets",
    );
    assert_remark(&findings, "and 1 that arrived there");
}

#[test]
fn a_drift_of_twenty_parts_of_a_million_is_found_and_taken_off() {
    let mut world = World {
        drift_ppb: 20_000,
        offset: 5 * MS.cast_signed(),
        ..World::default()
    };
    for number in 0..4_000_u16 {
        let jitter = u64::from(number) * 7_919 % 40;
        world.datagram(number, u64::from(number) * MS, 100 * US + jitter * US);
    }

    let findings = world.analyse(Assumptions::default(), false);

    let said = findings.remarks.iter();
    let drift = said.filter_map(|it| it.strip_prefix("The second clock gains "));
    let drift: f64 = drift
        .filter_map(|it| it.split(' ').next())
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!((drift - 20.0).abs() < 0.2, "{drift}");
    let (_, most, _) = times(&findings, "one-way latency above its least");
    assert!((39 * US..42 * US).contains(&most), "{most}");
}

#[test]
fn a_clock_that_is_set_is_seen_both_ways_and_a_changed_path_one_way() {
    for (forth, back, cause) in [
        (7 * MS, 7 * MS, "a clock was set."),
        (7 * MS, 0, "of one direction"),
    ] {
        let mut world = World::default();
        for number in 0..1_000_u16 {
            let at = u64::from(number) * MS;
            let is_after = number >= 600;
            // A clock that is later makes the way there look longer, and the way
            // back shorter.
            let forth = if is_after { forth } else { 0 };
            let back = if is_after { back } else { 0 };
            world.ping(number, at, (10 * MS + forth, 50 * US, 10 * MS - back));
        }

        let findings = world.analyse(Assumptions::default(), false);

        assert_remark(&findings, "7 ms later");
        assert_remark(&findings, cause);
        assert_remark(&findings, "From 1700000000.6");
        let (_, most, _) = times(&findings, "one-way latency above its least");
        assert!(most < 100 * US, "{most}");
    }
}

#[test]
fn samples_that_repeat_their_numbers_are_matched_to_the_right_second() {
    let mut world = World {
        offset: 100 * MS.cast_signed(),
        ..World::default()
    };
    for sample in 0..12_000_u64 {
        let frame = samples(u16::try_from(sample % 4_000).unwrap());
        let at = sample * 250 * US;
        world.first(at, &frame, (0, 0));
        // Samples 5000 to 5002 get lost.
        if !(5_000..=5_002).contains(&sample) {
            world.second(at + 30 * US, &frame, (0, 1));
        }
    }

    let findings = world.analyse(Assumptions::default(), false);

    let from = "02:00:00:00:00:01";
    assert_eq!(
        count(&findings, "packets found in both captures", from),
        11_997
    );
    assert_eq!(count(&findings, "packets lost", from), 3);
    assert_eq!(count(&findings, "packets that arrived twice", from), 0);
    assert_eq!(times(&findings, "one-way latency above its least").1, 0);
}

#[test]
fn a_split_request_counts_when_its_last_fragment_is_there() {
    let mut world = World::default();
    for number in 0..20_u16 {
        let at = u64::from(number) * 10 * MS;
        let request = echo(8, number, 2_960);
        let [first, last] = split(&request);
        let reply = echo(0, number, 8);
        world.first(at, &first, (0, 0));
        world.first(at + 12 * US, &last, (0, 0));
        // They overtake each other on the way.
        world.second(at + 90 * US, &last, (0, 1));
        world.second(at + 100 * US, &first, (0, 1));
        world.second(at + 150 * US, &reply, (0, 2));
        world.first(at + 250 * US, &reply, (0, 3));
    }

    let findings = world.analyse(Assumptions::default(), false);

    assert_eq!(times(&findings, "round trip").0, 250 * US);
    assert_eq!(times(&findings, "time at the called side").0, 50 * US);
    assert_remark(&findings, "first: 40 fragments of packets");
    assert_eq!(count(&findings, "packets lost", "10.0.0.1"), 0);
}

#[test]
fn a_segment_that_the_card_cuts_is_found_by_its_last_piece() {
    let mut world = World::default();
    for number in 0..20_u32 {
        let at = u64::from(number) * 10 * MS;
        let sequence = number * 14_480;
        world.first(at, &segment(true, (sequence, 1), 14_480), (0, 0));
        for piece in 0..10 {
            let (from, after) = (sequence + piece * 1_448, u64::from(piece) * 12 * US);
            world.second(
                at + 100 * US + after,
                &segment(true, (from, 1), 1_448),
                (0, 1),
            );
        }
        let acknowledged = segment(false, (1, sequence + 14_480), 0);
        world.second(at + 250 * US, &acknowledged, (0, 2));
        world.first(at + 350 * US, &acknowledged, (0, 3));
    }

    let findings = world.analyse(Assumptions::default(), false);

    let (two_way, _, exchanges) = times(&findings, "two-way latency");
    assert_eq!((two_way, exchanges), (350 * US - (250 - 208) * US, 20));
    assert_remark(&findings, "first: 20 packets are longer than any frame");
    assert_remark(&findings, "do not count as lost");
    assert_eq!(count(&findings, "packets lost", "10.0.0.1"), 0);
}

#[test]
fn tags_and_hops_may_change_on_the_way_and_addresses_if_that_is_said() {
    let mut world = World::default();
    for number in 0..10 {
        let at = u64::from(number) * MS;
        let mut changed = tagged(&datagram(number, (A, B), 3));
        world.first(at, &datagram(number, (A, B), 64), (0, 0));
        world.second(at + 100 * US, &changed, (0, 1));
        let request = datagram(100 + number, (A, B), 64);
        changed = datagram(100 + number, ([192, 0, 2, 1], B), 63);
        world.first(at, &request, (0, 0));
        world.second(at + 100 * US, &changed, (0, 1));
    }
    let translated = Assumptions {
        addressing: Addressing::Translated,
        ..Assumptions::default()
    };

    for (assumptions, expected) in [(Assumptions::default(), 10), (translated, 20)] {
        let findings = world.analyse(assumptions, false);

        let figures = findings.figures.iter();
        let found = figures.filter(|it| it.quantity == "packets found in both captures");
        let found = found.map(|it| match it.value {
            Value::Count(count) => count,
            ref other => panic!("{other:?}"),
        });
        assert_eq!(found.sum::<u64>(), expected);
    }
}

#[test]
fn packets_that_overtake_each_other_are_counted() {
    let mut world = World::default();
    for number in 0..100 {
        let late = if number % 10 == 0 { 2 * MS } else { 0 };
        world.datagram(number, u64::from(number) * MS, 100 * US + late);
    }

    let findings = world.analyse(Assumptions::default(), false);

    assert_eq!(count(&findings, "packets reordered", "10.0.0.1"), 10);
}

#[test]
fn one_capture_alone_tells_how_long_replies_took_and_where_it_was_taken() {
    let mut world = World::default();
    for number in 0..30 {
        let at = u64::from(number) * 10 * MS;
        let start = u32::from(number) * 1_000;
        world.ping(number, at, (100 * US, 50 * US, 300 * US));
        for (after, frame) in [
            (100 * US, opening(true, (start, 0), 0x02)),
            (130 * US, opening(false, (7, start + 1), 0x12)),
            (530 * US, opening(true, (start + 1, 8), 0x10)),
        ] {
            world.second(at + MS + after, &frame, (number, 9));
        }
    }

    let caller = world.analyse_one(true);
    let called = world.analyse_one(false);

    assert_eq!(times(&caller, "request to reply, as seen here").0, 450 * US);
    let handshake = figure(&called, "request to reply, as seen here", "SYN-ACK and ACK");
    let Value::Times(handshake) = &handshake.value else {
        panic!("{handshake:?}")
    };
    assert_eq!(handshake.max(), Some(Duration::from_us(400)));
    assert_remark(&called, "taken at the called side");
}

#[test]
fn a_clock_that_is_set_back_is_told_from_frames_out_of_order() {
    let mut world = World::default();
    for at in [0, 2_000, 1_000, 3 * SECOND, SECOND] {
        world.first(at, &datagram(7, (A, B), 64), (0, 0));
    }

    let findings = world.analyse_one(true);

    assert_remark(
        &findings,
        "first: the clock was set back 1 times, by 2 s at most.",
    );
    assert_remark(&findings, "first: 1 frames have an earlier stamp");
}

#[test]
fn an_analysis_that_finds_nothing_says_why() {
    let mut arp = ethernet(EtherType(0x0806));
    arp.resize(60, 0);
    let alone = datagram(7, (A, B), 64);
    for question in Question::ALL {
        for (frames, why) in [
            (vec![], "there are no frames"),
            (vec![&arp, &arp], "none of the 2 frames is an IP packet"),
            (vec![&arp, &alone], "Nothing can be told of"),
        ] {
            let mut world = World {
                question,
                ..World::default()
            };
            for frame in frames {
                world.first(0, frame, (0, 0));
            }

            let findings = [
                world.analyse(Assumptions::default(), false),
                world.analyse_one(true),
            ];

            for found in findings.iter().filter(|it| it.figures.is_empty()) {
                assert!(
                    found.remarks[0].contains(why),
                    "{question:?}: {:?}",
                    found.remarks
                );
            }
            let finds_something = [Question::Throughput, Question::Failover].contains(&question)
                && why == "Nothing can be told of";
            assert!(finds_something || findings.iter().all(|it| it.figures.is_empty()));
        }
    }
}

#[test]
fn captures_of_different_places_are_told() {
    let mut world = World::default();
    for number in 0..10 {
        world.first(0, &datagram(number, (A, B), 64), (0, 0));
        world.second(0, &datagram(100 + number, (A, B), 64), (0, 0));
    }

    let findings = world.analyse(Assumptions::default(), false);

    assert_remark(&findings, "no packet in common");
}

proptest! {
    #[test]
    fn a_capture_that_begins_or_ends_elsewhere_loses_nothing_by_that(
        arrived in prop::collection::vec(prop::bool::weighted(0.9), 1..400),
        cuts in prop::array::uniform2((0_usize..200, 0_usize..200)),
        outage in (0_usize..400, 0_usize..300),
        table in prop::sample::select(vec![0, 1, 3, 12]),
        (is_swapped, has_others) in any::<(bool, bool)>(),
    ) {
        let arrived: Vec<_> = (0..).zip(arrived).map(|(number, it)| {
            it && !(outage.0..outage.0 + outage.1).contains(&number)
        }).collect();
        let mut world = World { table: Some(table), ..World::default() };
        let [first, second] = cuts.map(|(from, left_out)| {
            from..arrived.len().saturating_sub(left_out)
        });
        for (number, arrived) in arrived.iter().enumerate() {
            let frame = datagram(u16::try_from(number).unwrap(), (A, B), 64);
            let at = u64::try_from(number).unwrap() * MS;
            if first.contains(&number) {
                world.first(at, &frame, (0, 0));
            }
            if *arrived && second.contains(&number) {
                world.second(at + 100 * US, &frame, (0, 1));
            } else if has_others && number >= second.end {
                // It goes on, and has nothing of what the first one has.
                let other = datagram(u16::try_from(30_000 + number).unwrap(), (A, B), 64);
                world.second(at + 100 * US, &other, (0, 2));
            }
        }
        let both = first.start.max(second.start)..first.end.min(second.end);
        let in_both = |number: &usize| arrived[*number];
        let shared = both.clone().find(in_both).zip(both.rev().find(in_both));
        let truth = shared.map(|(from, to)| (from..to).filter(|it| !arrived[*it]).count() as u64);

        let findings = world.analyse(Assumptions::default(), is_swapped);

        let counted = |quantity: &str| findings.figures.iter().find_map(|it| match it.value {
            Value::Count(count) if it.quantity == quantity => Some(count),
            _ => None,
        });
        let lacks = |name: &str| findings.remarks.iter().any(|it| it.starts_with(name));
        let lost = counted("packets lost").filter(|_| !is_swapped);
        // Tables of 8 places forget the beginning, where one capture is ahead of the other.
        let begins_together = first.start == second.start && arrived.get(first.start) == Some(&true);
        prop_assert!(lost <= truth, "{lost:?} of {truth:?}: {:?}", findings.remarks);
        if !is_swapped && (begins_together || table == 12) {
            prop_assert_eq!(lost, truth);
        }
        prop_assert!(!lacks("second is itself") && !lacks("first is itself"));
    }

    #[test]
    fn no_bytes_and_no_stamps_make_it_panic(
        frames in prop::collection::vec(
            (any::<bool>(), any::<u64>(), prop::collection::vec(any::<u8>(), 0..90), 0usize..5),
            0..60,
        ),
        is_translated: bool,
        question in prop::sample::select(Question::ALL.to_vec()),
    ) {
        const TYPES: [&[u8]; 5] = [
            &[], &[8, 0, 0x45], &[0x86, 0xdd, 0x60], &[0x88, 0xba], &[0x81, 0, 0, 1, 8, 0, 0x45],
        ];
        let mut analysis = Analysis::new(question, Assumptions {
            addressing: if is_translated { Addressing::Translated } else { Addressing::Kept },
            clocks: Clocks::Unrelated,
        });
        for (is_first, at, mut bytes, kind) in frames {
            if bytes.len() >= 30 {
                bytes[12..12 + TYPES[kind].len()].copy_from_slice(TYPES[kind]);
            }
            let recorded = Recorded {
                interface: 0,
                unix_ns: at.min(crate::capture::reader::LATEST_UNIX_NS),
                direction: None,
                length: bytes.len(),
                bytes: &bytes,
            };
            let side = if is_first { Side::First } else { Side::Second };
            analysis.see(side, &recorded);
            analysis.see(side.other(), &recorded);
        }
        let contents = contents(0);

        let _ = analysis.finish(&[("first", &contents), ("second", &contents)]);
    }
}

/// A frame in a capture.
#[derive(Clone, Debug)]
struct Stamped {
    at: u64,
    bytes: Vec<u8>,
    /// The number of the exchange, and which of its events this is.
    event: (u16, u8),
}

/// Two captures that are being made up.
#[derive(Debug, Default)]
struct World {
    first: Vec<Stamped>,
    second: Vec<Stamped>,
    offset: i64,
    drift_ppb: u64,
    question: Question,
    /// How many shelves the tables have where packets wait for their partner, as a power
    /// of two; as many as always if nothing.
    table: Option<u32>,
}

impl World {
    fn first(&mut self, at: u64, bytes: &[u8], event: (u16, u8)) {
        let at = BEGIN + at;
        let bytes = bytes.to_vec();
        self.first.push(Stamped { at, bytes, event });
    }

    fn second(&mut self, at: u64, bytes: &[u8], event: (u16, u8)) {
        let at = BEGIN + at + at / 1_000 * self.drift_ppb / 1_000_000;
        let at = at.checked_add_signed(self.offset).unwrap();
        let bytes = bytes.to_vec();
        self.second.push(Stamped { at, bytes, event });
    }

    fn ping(&mut self, number: u16, at: u64, (there, within, back): (u64, u64, u64)) {
        let (request, reply) = (echo(8, number, 8), echo(0, number, 8));
        self.first(at, &request, (number, 0));
        self.second(at + there, &request, (number, 1));
        self.second(at + there + within, &reply, (number, 2));
        self.first(at + there + within + back, &reply, (number, 3));
    }

    fn datagram(&mut self, number: u16, at: u64, latency: u64) {
        let frame = datagram(number, (A, B), 64);
        self.first(at, &frame, (number, 0));
        self.second(at + latency, &frame, (number, 1));
    }

    fn analyse(&self, assumptions: Assumptions, is_swapped: bool) -> Findings {
        let mut sides = [&self.first, &self.second].map(|frames| {
            let mut frames = frames.clone();
            frames.sort_by_key(|it| it.at);
            frames.into_iter().peekable()
        });
        if is_swapped {
            sides.swap(0, 1);
        }
        let mut analysis = Analysis::new(self.question, assumptions);
        if let Some(table) = self.table {
            analysis.matcher = Matcher::with_shelves(table);
        }
        loop {
            let wanted = analysis.next_side();
            let side = match sides[wanted.place()].peek() {
                Some(_) => wanted,
                None => wanted.other(),
            };
            let Some(frame) = sides[side.place()].next() else {
                break;
            };
            analysis.see(side, &recorded(&frame));
        }
        let contents = [contents(self.first.len()), contents(self.second.len())];
        analysis.finish(&[("first", &contents[0]), ("second", &contents[1])])
    }

    fn analyse_one(&self, is_first: bool) -> Findings {
        let mut analysis = Analysis::new(self.question, Assumptions::default());
        let frames = if is_first { &self.first } else { &self.second };
        for frame in frames {
            analysis.see(Side::First, &recorded(frame));
        }
        analysis.finish(&[("first", &contents(frames.len()))])
    }
}

fn recorded(frame: &Stamped) -> Recorded<'_> {
    Recorded {
        interface: 0,
        unix_ns: frame.at,
        direction: None,
        length: frame.bytes.len(),
        bytes: &frame.bytes,
    }
}

fn contents(frames: usize) -> Contents {
    Contents {
        frames: frames as u64,
        bytes: 0,
        shortened: 0,
        unstamped: 0,
        foreign: 0,
        interfaces: Vec::new(),
        end: End::Whole,
    }
}

/// Returns the median, the maximum and the number of times of the first such figure.
fn times(findings: &Findings, quantity: &str) -> (u64, u64, u64) {
    match &figure(findings, quantity, "").value {
        Value::Times(times) => {
            let [median, most] = [times.quantile(500), times.max()].map(|it| it.unwrap().as_ns());
            (median, most, times.count())
        }
        other => panic!("{other:?}"),
    }
}

fn count(findings: &Findings, quantity: &str, from: &str) -> u64 {
    match figure(findings, quantity, from).value {
        Value::Count(count) => count,
        ref other => panic!("{other:?}"),
    }
}

/// Returns the figure of a quantity whose setting has a value, or any if that is
/// empty.
fn figure<'a>(
    findings: &'a Findings,
    quantity: &str,
    value: &str,
) -> &'a crate::measurement::Figure {
    let mut figures = findings.figures.iter();
    let found = figures.find(|it| {
        it.quantity == quantity
            && (value.is_empty() || it.setting.iter().any(|(_, given)| given == value))
    });
    found.unwrap_or_else(|| panic!("no {quantity} of {value}: {findings:?}"))
}

fn assert_remark(findings: &Findings, part: &str) {
    let is_said = findings.remarks.iter().any(|it| it.contains(part));
    assert!(is_said, "{part} in {:#?}", findings.remarks);
}

fn ethernet(ether_type: EtherType) -> Vec<u8> {
    let mut frame = Vec::new();
    Header {
        destination: MacAddress([1, 12, 205, 4, 0, 1]),
        source: MacAddress([2, 0, 0, 0, 0, 1]),
        vlan: None,
        ether_type,
    }
    .emit(&mut frame);
    frame
}

fn tagged(frame: &[u8]) -> Vec<u8> {
    let tag = VlanTag {
        priority: 4,
        drop_eligible: false,
        id: 7,
    };
    let tag = [EtherType::VLAN.0.to_be_bytes(), tag.control().to_be_bytes()].concat();
    [&frame[..12], &tag, &frame[12..]].concat()
}

/// An IPv4 packet in a frame; its number is not looked at by the check sum, which
/// is not looked at either.
fn ipv4(protocol: u8, number: u16, (from, to): ([u8; 4], [u8; 4]), payload: &[u8]) -> Vec<u8> {
    let mut frame = ethernet(EtherType::IPV4);
    let length = u16::try_from(20 + payload.len()).unwrap();
    frame.extend([0x45, 0]);
    frame.extend(length.to_be_bytes());
    frame.extend(number.to_be_bytes());
    frame.extend([0, 0, 64, protocol, 0, 0]);
    frame.extend(from);
    frame.extend(to);
    frame.extend(payload);
    frame
}

fn echo(kind: u8, number: u16, data: usize) -> Vec<u8> {
    let mut payload = vec![kind, 0, 0, 0, 0x12, 0x34];
    payload.extend(number.to_be_bytes());
    payload.resize(8 + data, 0x55);
    let ends = if kind == 8 { (A, B) } else { (B, A) };
    ipv4(1, number, ends, &payload)
}

/// Splits a packet of more than 1480 bytes in two.
fn split(frame: &[u8]) -> [Vec<u8>; 2] {
    let (headers, payload) = frame.split_at(34);
    let mut first = [headers, &payload[..1_480]].concat();
    first[16..18].copy_from_slice(&1_500_u16.to_be_bytes());
    first[20] = 0x20;
    let mut last = [headers, &payload[1_480..]].concat();
    let rest = u16::try_from(payload.len() - 1_480 + 20).unwrap();
    last[16..18].copy_from_slice(&rest.to_be_bytes());
    last[21] = 185;
    [first, last]
}

fn datagram(number: u16, ends: ([u8; 4], [u8; 4]), hops: u8) -> Vec<u8> {
    let mut payload = [0x9c, 0x40, 0, 7, 0, 20, 0, 0].to_vec();
    payload.extend(u32::from(number).to_be_bytes());
    payload.resize(20, 0);
    let mut frame = ipv4(17, 0, ends, &payload);
    frame[22] = hops;
    frame
}

fn segment(is_request: bool, numbers: (u32, u32), data: usize) -> Vec<u8> {
    tcp(is_request, numbers, 0x10, data)
}

fn opening(is_request: bool, numbers: (u32, u32), flags: u8) -> Vec<u8> {
    tcp(is_request, numbers, flags, 0)
}

fn tcp(is_request: bool, (sequence, acknowledged): (u32, u32), flags: u8, data: usize) -> Vec<u8> {
    let ports = if is_request {
        [40_000, 102]
    } else {
        [102, 40_000_u16]
    };
    let mut payload = ports.map(u16::to_be_bytes).concat();
    payload.extend(sequence.to_be_bytes());
    payload.extend(acknowledged.to_be_bytes());
    payload.extend([0x50, flags, 1, 0, 0, 0, 0, 0]);
    payload.resize(20 + data, 0);
    let ends = if is_request { (A, B) } else { (B, A) };
    ipv4(6, 1, ends, &payload)
}

fn samples(number: u16) -> Vec<u8> {
    let mut frame = ethernet(EtherType::SAMPLED_VALUES);
    frame.extend([0x40, 0, 0, 20, 0, 0, 0, 0]);
    frame.extend(number.to_be_bytes());
    frame.extend([0; 10]);
    frame
}
