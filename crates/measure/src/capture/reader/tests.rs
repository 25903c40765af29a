use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const FRAME: [u8; 60] = [7; 60];

/// A frame, as the files of these tests have it.
#[derive(Clone, Debug, PartialEq)]
struct Told {
    interface: usize,
    unix_ns: u64,
    direction: Option<Direction>,
    length: usize,
    bytes: Vec<u8>,
}

#[test]
fn either_order_and_either_unit_of_the_older_format_is_read() {
    for big in [false, true] {
        for (magic, fraction, expected) in [
            (0xa1b2_c3d4, 250, 3_000_250_000),
            (0xa1b2_3c4d, 250, 3_000_000_250),
        ] {
            let mut file = pcap(big, magic, 1);
            put_pcap(&mut file, big, (3, fraction), &FRAME, 1514);

            let (told, contents) = read(&file, 7);

            assert_eq!(told[0].unix_ns, expected, "{big} {magic:x}");
            assert_eq!((told[0].length, told[0].bytes.len()), (1514, 60));
            assert_eq!((contents.shortened, contents.end), (1, End::Whole));
        }
    }
}

#[test]
fn units_and_offsets_of_stamps_are_those_of_their_interface() {
    for (unit, stamp, expected) in [
        (None, 5_000_001, 5_000_001_000),
        (Some(9), 5_000_000_001, 5_000_000_001),
        (Some(12), 5_000_000_001_999, 5_000_000_001),
        (Some(0), 5, 5_000_000_000),
        (Some(0x80 | 10), 5 << 10 | 1, 5_000_976_562),
        (Some(0x80), 5, 5_000_000_000),
        (Some(127), u64::MAX, 0),
    ] {
        for big in [false, true] {
            let mut file = section(big);
            describe(&mut file, big, unit, 2);
            put_packet(&mut file, big, 0, stamp, &FRAME, &[]);

            let (told, _) = read(&file, 1_000);

            assert_eq!(told[0].unix_ns, expected + 2_000_000_000, "{unit:?}");
        }
    }
}

#[test]
fn sections_of_either_order_follow_each_other() {
    let mut file = section(false);
    describe(&mut file, false, Some(9), 0);
    describe(&mut file, false, None, 0);
    put_packet(
        &mut file,
        false,
        1,
        7,
        &FRAME,
        &[(2, 2_u32.to_le_bytes().to_vec())],
    );
    file.extend(section(true));
    describe(&mut file, true, Some(9), 0);
    put_packet(
        &mut file,
        true,
        0,
        9_000,
        &FRAME,
        &[(2, 1_u32.to_be_bytes().to_vec())],
    );

    let (told, contents) = read(&file, 11);

    let said: Vec<_> = told
        .iter()
        .map(|it| (it.interface, it.unix_ns, it.direction))
        .collect();
    let expected = [
        (1, 7_000, Some(Direction::Out)),
        (2, 9_000, Some(Direction::In)),
    ];
    assert_eq!(said, expected);
    assert_eq!(contents.interfaces.len(), 3);
    assert_eq!(contents.interfaces[0].name.as_deref(), Some("eth7"));
    assert_eq!(contents.end, End::Whole);
}

#[test]
fn an_old_packet_block_is_a_frame_and_a_simple_one_has_no_stamp() {
    let mut file = section(false);
    describe(&mut file, false, Some(9), 0);
    let mut old = [0_u16.to_le_bytes(), 3_u16.to_le_bytes()].concat();
    for field in [0_u32, 42, 60, 60] {
        old.extend(field.to_le_bytes());
    }
    old.extend(FRAME);
    put_block(&mut file, false, 2, &old);
    let mut simple = 60_u32.to_le_bytes().to_vec();
    simple.extend(FRAME);
    put_block(&mut file, false, 3, &simple);

    let (told, contents) = read(&file, 64);

    assert_eq!((told.len(), told[0].unix_ns), (1, 42));
    assert_eq!(contents.unstamped, 1);
}

#[test]
fn what_a_file_says_of_frames_that_it_lacks_is_added_up() {
    let mut file = section(true);
    describe(&mut file, true, Some(9), 0);
    put_packet(
        &mut file,
        true,
        0,
        1,
        &FRAME,
        &[(4, 5_u64.to_be_bytes().to_vec())],
    );
    put_packet(
        &mut file,
        true,
        0,
        2,
        &FRAME,
        &[(4, 3_u64.to_be_bytes().to_vec())],
    );
    let mut statistics = [0; 12].to_vec();
    put_option(&mut statistics, true, 5, &2_u64.to_be_bytes());
    put_option(&mut statistics, true, 7, &1_u64.to_be_bytes());
    put_block(&mut file, true, 5, &statistics);

    let (_, contents) = read(&file, 64);

    assert_eq!(contents.dropped(), 8, "totals say less than the frames do");
}

#[test]
fn cooked_and_bare_packets_come_as_ethernet_frames() {
    let packet = [0x45, 1, 2, 3];
    let cooked: &[u8] = &[0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0];
    let cooked_2: &[u8] = &[8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0];
    let family: &[u8] = &[2, 0, 0, 0];
    let from_known = [0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 8, 0, 0x45, 1, 2, 3];
    let from_nobody = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0x45, 1, 2, 3];
    for (link, header, expected, direction) in [
        (113, cooked, from_known, Some(Direction::Out)),
        (276, cooked_2, from_known, Some(Direction::In)),
        (101, &[][..], from_nobody, None),
        (0, family, from_nobody, None),
    ] {
        let mut file = pcap(false, 0xa1b2_3c4d, link);
        put_pcap(
            &mut file,
            false,
            (0, 1),
            &[header, &packet].concat(),
            header.len() + 4,
        );

        let (told, contents) = read(&file, 64);

        assert_eq!(told[0].bytes, expected, "{link}");
        assert_eq!((told[0].length, told[0].direction), (18, direction));
        assert_eq!(contents.shortened, 0);
    }
}

#[test]
fn a_link_that_is_not_understood_is_counted() {
    let mut file = pcap(false, 0xa1b2_3c4d, 105);
    put_pcap(&mut file, false, (0, 1), &FRAME, 60);

    let (told, contents) = read(&file, 64);

    assert_eq!((told.len(), contents.foreign), (0, 1));
}

#[test]
fn what_is_no_capture_is_refused_with_its_reason() {
    for (file, damage) in [
        (b"time;size".to_vec(), Damage::Format(*b"time")),
        (vec![0x1f, 0x8b, 8, 0], Damage::Compressed),
    ] {
        let (told, contents) = read(&file, 64);

        assert!(told.is_empty());
        assert_eq!(contents.end, End::Damaged { at: 0, damage });
    }
}

#[test]
fn damage_is_found_where_it_is_and_ends_the_reading() {
    let mut file = section(false);
    describe(&mut file, false, Some(9), 0);
    put_packet(&mut file, false, 0, 1, &FRAME, &[]);
    let at = u64::try_from(file.len()).unwrap();
    put_packet(&mut file, false, 0, 2, &FRAME, &[]);
    *file.last_mut().unwrap() = 1;
    put_packet(&mut file, false, 0, 3, &FRAME, &[]);

    let (told, contents) = read(&file, 64);

    let damage = Damage::Lengths {
        first: 92,
        last: 92 | 1 << 24,
    };
    assert_eq!(told.len(), 1);
    assert_eq!(contents.end, End::Damaged { at, damage });
}

#[test]
fn a_long_block_of_secrets_is_passed_over() {
    let mut file = section(false);
    describe(&mut file, false, Some(9), 0);
    put_block(&mut file, false, 10, &vec![0; LONGEST_RECORD + 4]);
    put_packet(&mut file, false, 0, 1, &FRAME, &[]);

    let (told, contents) = read(&file, 100_000);

    assert_eq!((told.len(), contents.end), (1, End::Whole));
}

proptest! {
    /// Wherever a file is cut, its whole frames are told, and that it was cut.
    #[test]
    fn a_file_cut_anywhere_is_read_up_to_there(
        newer: bool,
        big: bool,
        lengths in vec(14usize..200, 1..12),
        cut in any::<prop::sample::Index>(),
        chunk in 1usize..300,
    ) {
        let (file, ends) = file(newer, big, &lengths);
        let cut = cut.index(file.len() + 1);

        let (told, contents) = read(&file[..cut], chunk);

        let whole = ends.iter().filter(|end| **end <= cut).count();
        prop_assert_eq!(told.len(), whole);
        for (told, length) in told.iter().zip(&lengths) {
            prop_assert_eq!(told.bytes.len(), *length);
        }
        let between = cut == 0 || cut == file.len() || ends.contains(&cut);
        if between {
            prop_assert_eq!(contents.end, End::Whole);
        } else if cut > ends[0] {
            let begins = ends[whole - 1];
            prop_assert_eq!(contents.end, End::CutOff { at: begins as u64 });
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..400), begin in 0usize..4) {
        let heads: [&[u8]; 4] = [
            &[],
            &[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a],
            &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0],
            &[0xa1, 0xb2, 0x3c, 0x4d, 0, 2, 0, 4],
        ];
        let file = [heads[begin], &bytes].concat();

        read(&file, 50);
    }

    #[test]
    fn no_damage_makes_it_panic(
        newer: bool,
        big: bool,
        lengths in vec(0usize..60, 1..6),
        hits in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let (mut file, _) = file(newer, big, &lengths);
        for (at, byte) in hits {
            let at = at.index(file.len());
            file[at] = byte;
        }

        let (_, contents) = read(&file, 50);

        prop_assert!(contents.bytes <= file.len() as u64);
    }
}

fn read(file: &[u8], chunk: usize) -> (Vec<Told>, Contents) {
    let mut reader = CaptureReader::default();
    let mut told = Vec::new();
    for piece in file.chunks(chunk) {
        reader.room()[..piece.len()].copy_from_slice(piece);
        reader.filled(piece.len());
        loop {
            match reader.next_frame() {
                Step::Frame(frame) => told.push(Told {
                    interface: frame.interface,
                    unix_ns: frame.unix_ns,
                    direction: frame.direction,
                    length: frame.length,
                    bytes: frame.bytes.to_vec(),
                }),
                Step::NeedsBytes => break,
                Step::Stopped => return (told, reader.finish()),
            }
        }
    }
    (told, reader.finish())
}

/// Returns a file with a frame of each length, and where each frame ends.
fn file(newer: bool, big: bool, lengths: &[usize]) -> (Vec<u8>, Vec<usize>) {
    let mut file = match newer {
        true => section(big),
        false => pcap(big, 0xa1b2_3c4d, 1),
    };
    if newer {
        describe(&mut file, big, Some(9), 0);
    }
    let mut ends = Vec::new();
    for (stamp, length) in (1..).zip(lengths) {
        let frame = vec![9; *length];
        match newer {
            true => put_packet(&mut file, big, 0, stamp.into(), &frame, &[]),
            false => put_pcap(&mut file, big, (0, stamp), &frame, *length),
        }
        ends.push(file.len());
    }
    (file, ends)
}

fn pcap(big: bool, magic: u32, link: u32) -> Vec<u8> {
    let mut file = word(big, magic).to_vec();
    file.extend(half(big, 2));
    file.extend(half(big, 4));
    for field in [0, 0, 65_535, link] {
        file.extend(word(big, field));
    }
    file
}

fn put_pcap(file: &mut Vec<u8>, big: bool, stamp: (u32, u32), bytes: &[u8], length: usize) {
    let (kept, length) = (number(bytes.len()), number(length));
    for field in [stamp.0, stamp.1, kept, length] {
        file.extend(word(big, field));
    }
    file.extend(bytes);
}

fn section(big: bool) -> Vec<u8> {
    let mut file = Vec::new();
    let mut body = word(big, 0x1a2b_3c4d).to_vec();
    body.extend(half(big, 1));
    body.extend(half(big, 0));
    body.extend([0xff; 8]);
    put_block(&mut file, big, 0x0a0d_0d0a, &body);
    file
}

fn describe(file: &mut Vec<u8>, big: bool, unit: Option<u8>, offset_s: u64) {
    let mut body = half(big, 1).to_vec();
    body.extend([0; 6]);
    put_option(&mut body, big, 2, b"eth7");
    if let Some(unit) = unit {
        put_option(&mut body, big, 9, &[unit]);
    }
    let offset = match big {
        true => offset_s.to_be_bytes(),
        false => offset_s.to_le_bytes(),
    };
    put_option(&mut body, big, 14, &offset);
    put_block(file, big, 1, &body);
}

fn put_packet(
    file: &mut Vec<u8>,
    big: bool,
    interface: u32,
    stamp: u64,
    bytes: &[u8],
    options: &[(u16, Vec<u8>)],
) {
    let mut body = Vec::new();
    let length = number(bytes.len());
    let [high, low] =
        [stamp >> 32, stamp & u64::from(u32::MAX)].map(|it| u32::try_from(it).unwrap());
    for field in [interface, high, low, length, length] {
        body.extend(word(big, field));
    }
    body.extend(bytes);
    body.resize(body.len().next_multiple_of(4), 0);
    for (code, value) in options {
        put_option(&mut body, big, *code, value);
    }
    put_block(file, big, 6, &body);
}

fn put_option(out: &mut Vec<u8>, big: bool, code: u16, value: &[u8]) {
    out.extend(half(big, code));
    out.extend(half(big, u16::try_from(value.len()).unwrap()));
    out.extend(value);
    out.resize(out.len() + value.len().next_multiple_of(4) - value.len(), 0);
}

fn put_block(out: &mut Vec<u8>, big: bool, kind: u32, body: &[u8]) {
    let length = word(big, number(body.len() + 12));
    out.extend(word(big, kind));
    out.extend(length);
    out.extend(body);
    out.extend(length);
}

fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap()
}

fn word(big: bool, number: u32) -> [u8; 4] {
    match big {
        true => number.to_be_bytes(),
        false => number.to_le_bytes(),
    }
}

fn half(big: bool, number: u16) -> [u8; 2] {
    match big {
        true => number.to_be_bytes(),
        false => number.to_le_bytes(),
    }
}
