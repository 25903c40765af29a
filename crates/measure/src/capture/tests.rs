use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use proptest::collection::vec;
use proptest::prelude::*;
use units::{BitRate, Instant};

use super::{
    CaptureFile, CaptureRecord, Captures, Direction, Heading, Interface, MOST_FILE_BYTES,
    SNAP_LENGTH, Seen,
};

#[test]
fn a_file_with_one_frame_has_these_bytes() {
    let paper = Paper::default();
    let mut file = begin(&paper);

    file.enter(&Seen {
        interface: 0,
        unix_ns: 0x0102_0304_0506_0708,
        direction: Direction::Out,
        bytes: &[0xaa; 5],
        length: 60,
    });
    let record = file.finish();

    #[rustfmt::skip]
    let expected = [
        // Section header: byte order, version, length; comment "run", program "us".
        0x0a, 0x0d, 0x0d, 0x0a, 48, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        1, 0, 3, 0, b'r', b'u', b'n', 0, 4, 0, 2, 0, b'u', b's', 0, 0, 0, 0, 0, 0,
        48, 0, 0, 0,
        // Interface: Ethernet, at most 2048 bytes; name, description, speed, unit.
        1, 0, 0, 0, 60, 0, 0, 0, 1, 0, 0, 0, 0, 8, 0, 0,
        2, 0, 2, 0, b'm', b'u', 0, 0, 3, 0, 4, 0, b'h', b'e', b'r', b'e',
        8, 0, 8, 0, 0, 0xe1, 0xf5, 0x05, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0,
        60, 0, 0, 0,
        // Frame: interface, time, 5 of 60 bytes, outbound.
        6, 0, 0, 0, 52, 0, 0, 0, 0, 0, 0, 0, 4, 3, 2, 1, 8, 7, 6, 5, 5, 0, 0, 0, 60, 0, 0, 0,
        0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0, 0, 0, 2, 0, 4, 0, 2, 0, 0, 0, 0, 0, 0, 0,
        52, 0, 0, 0,
    ];
    assert_eq!(paper.read(), expected);
    assert_eq!((record.frames, record.left_out), (1, 0));
}

#[test]
fn what_is_seen_on_a_cable_goes_to_its_file_and_to_no_other() {
    let [first, second] = [Paper::default(), Paper::default()];
    let mut captures = Captures::new(1_000);
    captures.add(3, begin(&first));
    captures.add(5, begin(&second));
    captures.join(9, 5);
    let seen = Seen {
        interface: 0,
        unix_ns: captures.unix_ns(Instant::from_ns(7)),
        direction: Direction::In,
        bytes: &[1; 60],
        length: 60,
    };

    for cable in [3, 9, 9, 4] {
        captures.enter(cable, &seen);
    }
    captures.missed(5, 2);
    let records = captures.finish();

    let counts = records
        .iter()
        .map(|record| (record.frames, record.missed, record.left_out));
    assert_eq!(counts.collect::<Vec<_>>(), [(1, 0, 0), (2, 2, 0)]);
    assert_eq!(frames(&first.read())[0].unix_ns, 1_007);
    assert_eq!(frames(&second.read()).len(), 2);
}

#[test]
fn a_full_file_takes_no_more_and_says_so() {
    let frame = [0; SNAP_LENGTH as usize];
    let seen = Seen {
        interface: 0,
        unix_ns: 0,
        direction: Direction::In,
        bytes: &frame,
        length: frame.len(),
    };
    let counter = Counter::default();
    let mut file = CaptureFile::begin(
        "full".to_owned(),
        Box::new(counter.clone()),
        &heading(),
        &[interface()],
    );

    let offered = MOST_FILE_BYTES / u64::from(SNAP_LENGTH);
    (0..offered).for_each(|_| file.enter(&seen));
    let short = Seen { bytes: &[], ..seen };
    file.enter(&short);
    let record = file.finish();

    assert!(*counter.0.lock().unwrap() <= MOST_FILE_BYTES);
    assert!(record.left_out > 1, "no frame after a hole");
    assert_eq!(record.frames + record.left_out, offered + 1);
    assert_eq!(record.failure, None);
}

#[test]
fn a_full_disk_is_said_and_not_more_than_that() {
    struct FullDisk;
    impl Write for FullDisk {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut file = CaptureFile::begin(
        "lost".to_owned(),
        Box::new(FullDisk),
        &heading(),
        &[interface()],
    );

    file.enter(&Seen {
        interface: 0,
        unix_ns: 0,
        direction: Direction::In,
        bytes: &[],
        length: 0,
    });
    let record = file.finish();

    let expected = CaptureRecord {
        name: "lost".to_owned(),
        frames: 0,
        left_out: 1,
        missed: 0,
        failure: Some("no storage space".to_owned()),
    };
    assert_eq!(record, expected);
}

proptest! {
    /// Whatever is entered, the file is well-formed and gives it back.
    #[test]
    fn any_frames_give_a_file_that_can_be_read(
        offered in vec((any::<u64>(), any::<bool>(), vec(any::<u8>(), 0..2200), 0usize..9000), 0..20),
        comment in ".{0,2000}",
    ) {
        let paper = Paper::default();
        let heading = Heading { comment, ..heading() };
        let out = Box::new(paper.clone());
        let mut file = CaptureFile::begin("any".to_owned(), out, &heading, &[interface()]);

        let direction = |out: bool| if out { Direction::Out } else { Direction::In };
        for (unix_ns, out, bytes, length) in &offered {
            let (unix_ns, length) = (*unix_ns, *length);
            let direction = direction(*out);
            file.enter(&Seen { interface: 0, unix_ns, direction, bytes, length });
        }
        let record = file.finish();

        prop_assert_eq!(record.frames, offered.len() as u64);
        let read = frames(&paper.read());
        prop_assert_eq!(read.len(), offered.len());
        for (read, (unix_ns, out, bytes, length)) in read.into_iter().zip(offered) {
            let kept = bytes.len().min(SNAP_LENGTH as usize);
            let expected = Read {
                unix_ns,
                direction: direction(out),
                bytes: bytes[..kept].to_vec(),
                length: length.max(bytes.len()),
            };
            prop_assert_eq!(read, expected);
        }
    }
}

/// What a file says of a frame.
#[derive(Debug, PartialEq)]
struct Read {
    unix_ns: u64,
    direction: Direction,
    bytes: Vec<u8>,
    length: usize,
}

/// Reads a file of one section with one interface, and asserts that it is
/// well-formed.
fn frames(file: &[u8]) -> Vec<Read> {
    let blocks = blocks(file);
    let kinds: Vec<_> = blocks.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds[..2], [0x0a0d_0d0a, 1]);
    assert_eq!(number(&blocks[0].1, 0), 0x1a2b_3c4d);
    options(&blocks[0].1[16..]);
    let described = options(&blocks[1].1[8..]);
    assert!(described.contains(&(9, vec![9])), "nanoseconds");
    let frames = blocks[2..].iter().map(|(kind, body)| {
        assert_eq!(*kind, 6);
        assert_eq!(number(body, 0), 0, "the only interface");
        let kept = number(body, 12) as usize;
        let flags = options(&body[20 + kept.next_multiple_of(4)..]);
        Read {
            unix_ns: u64::from(number(body, 4)) << 32 | u64::from(number(body, 8)),
            direction: match flags[..] {
                [(2, ref flags)] if number(flags, 0) == 1 => Direction::In,
                [(2, ref flags)] if number(flags, 0) == 2 => Direction::Out,
                _ => panic!("{flags:?}"),
            },
            bytes: body[20..20 + kept].to_vec(),
            length: number(body, 16) as usize,
        }
    });
    frames.collect()
}

/// Returns the type and the body of each block.
fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut blocks = Vec::new();
    while !file.is_empty() {
        let length = number(file, 4) as usize;
        assert_eq!(length % 4, 0);
        assert_eq!(number(file, length - 4) as usize, length);
        blocks.push((number(file, 0), file[8..length - 4].to_vec()));
        file = &file[length..];
    }
    blocks
}

/// Returns the code and the value of each option.
fn options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut options = Vec::new();
    loop {
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let (code, length) = (half(0), usize::from(half(2)));
        if code == 0 {
            assert_eq!(bytes, [0; 4], "nothing after the end");
            return options;
        }
        options.push((code, bytes[4..4 + length].to_vec()));
        bytes = &bytes[4 + length.next_multiple_of(4)..];
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn begin(paper: &Paper) -> CaptureFile {
    CaptureFile::begin(
        "paper".to_owned(),
        Box::new(paper.clone()),
        &heading(),
        &[interface()],
    )
}

fn heading() -> Heading {
    Heading {
        comment: "run".to_owned(),
        program: "us".to_owned(),
    }
}

fn interface() -> Interface {
    Interface {
        name: "mu".to_owned(),
        about: "here".to_owned(),
        rate: BitRate::from_mbps(100),
    }
}

/// Keeps what is written on it.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    fn read(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Clone, Default)]
struct Counter(Arc<Mutex<u64>>);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        *self.0.lock().unwrap() += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
