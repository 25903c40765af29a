use std::net::Ipv4Addr;

use proptest::prelude::*;
use wire::{ipv4, tcp, udp};

use super::*;

/// How a packet is carried.
#[derive(Clone, Copy, Debug)]
struct Shape {
    tags: usize,
    is_tcp: bool,
    is_ipv6: bool,
}

fn shape() -> impl Strategy<Value = Shape> {
    let shape = |(tags, is_tcp, is_ipv6)| Shape {
        tags,
        is_tcp,
        is_ipv6,
    };
    (0..3_usize, any::<bool>(), any::<bool>()).prop_map(shape)
}

fn ip() -> ipv4::Header {
    ipv4::Header {
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
        protocol: ipv4::PROTOCOL_TCP,
        traffic_class: 0,
        time_to_live: 64,
    }
}

/// Returns addresses, tags and the header of IP for so many bytes of another protocol.
fn front(shape: Shape, length: usize) -> Vec<u8> {
    let mut frame = vec![2; 12];
    for tag in 0..shape.tags {
        let outer: [u8; 2] = if tag == 0 { [0x88, 0xa8] } else { [0x81, 0] };
        frame.extend([outer[0], outer[1], 0, 7]);
    }
    let protocol = if shape.is_tcp { 6 } else { 17 };
    if !shape.is_ipv6 {
        frame.extend([0x08, 0x00]);
        ipv4::Header { protocol, ..ip() }.emit(length, &mut frame);
        return frame;
    }
    frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
    // An empty header of options stands in front.
    frame.extend(word(length + 8).to_be_bytes());
    frame.extend([0, 64]);
    frame.extend([0xfd; 16]);
    frame.extend([0xfe; 16]);
    frame.extend([protocol, 0, 1, 4, 0, 0, 0, 0]);
    frame
}

/// Returns a frame as a host leaves it: only the pseudo header is summed up.
fn left(shape: Shape, payload: &[u8], flags: u8) -> Vec<u8> {
    let header = if shape.is_tcp { 20 } else { 8 };
    let mut frame = front(shape, header + payload.len());
    let transport = frame.len();
    frame.extend([0x12, 0x34, 0x56, 0x78]);
    if shape.is_tcp {
        frame.extend([
            0xff, 0xff, 0xff, 0x00, 0, 0, 0, 1, 0x50, flags, 1, 1, 0, 0, 0, 0,
        ]);
    } else {
        frame.extend(word(header + payload.len()).to_be_bytes());
        frame.extend([0, 0]);
    }
    frame.extend(payload);
    let layers = Layers::of(&frame).unwrap();
    assert_eq!(layers.transport, transport);
    let sum = layers.pseudo_sum(&frame).to_be_bytes();
    frame[layers.sum_at()..layers.sum_at() + 2].copy_from_slice(&sum);
    frame
}

/// Tells whether the checksums of a frame are right.
fn is_right(frame: &[u8]) -> bool {
    let layers = Layers::of(frame).unwrap();
    let pseudo = layers.pseudo_sum(frame);
    let sum = Checksum::default()
        .with(&pseudo.to_be_bytes())
        .with(&frame[layers.transport..])
        .finish();
    let header = &frame[layers.network..];
    sum == 0 && (header[0] >> 4 == 6 || Checksum::default().with(&header[..20]).finish() == 0)
}

fn frames(piece: &[u8], left: Left) -> Vec<Vec<u8>> {
    let mut cutter = Cutter::default();
    cutter.take(piece, left).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = cutter.next_frame() {
        frames.push(frame.to_vec());
    }
    frames
}

fn numbers(frame: &[u8], layers: &Layers) -> (u16, u32, u8) {
    let two = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let high = u32::from(two(layers.transport + 4));
    let sequence = high << 16 | u32::from(two(layers.transport + 6));
    let number = two(layers.network + 4);
    (number, sequence, frame[layers.transport + 13])
}

/// What the crate `wire` thinks of it, which shares no code with the cutter.
#[test]
fn others_find_the_frames_of_a_piece_whole() {
    for is_tcp in [true, false] {
        let shape = Shape {
            tags: 0,
            is_tcp,
            is_ipv6: false,
        };
        let piece = left(shape, &[0xa5; 5_000], FIN | PUSH | WINDOW_REDUCED);

        let frames = frames(
            &piece,
            Left {
                sum: Sum::Perhaps,
                segment: 1_448,
            },
        );

        assert_eq!(frames.len(), 4);
        for frame in frames {
            let (ip, payload) = ipv4::Header::parse(&frame[14..]).unwrap();
            match is_tcp {
                true => tcp::verify(&ip, payload).unwrap(),
                false => udp::verify(&ip, payload).unwrap(),
            }
        }
    }
}

#[test]
fn only_the_ends_of_a_piece_keep_the_flags_of_ends() {
    let shape = Shape {
        tags: 1,
        is_tcp: true,
        is_ipv6: false,
    };
    let piece = left(shape, &[1; 300], FIN | PUSH | WINDOW_REDUCED | 0x10);
    let layers = Layers::of(&piece).unwrap();

    let frames = frames(
        &piece,
        Left {
            sum: Sum::Done,
            segment: 100,
        },
    );

    let numbers: Vec<_> = frames.iter().map(|it| numbers(it, &layers)).collect();
    // The sequence number wraps around.
    let expected = [
        (0, 0xffff_ff00, WINDOW_REDUCED | 0x10),
        (1, 0xffff_ff64, 0x10),
        (2, 0xffff_ffc8, FIN | PUSH | 0x10),
    ];
    assert_eq!(numbers, expected);
}

#[test]
fn the_kernels_word_for_the_place_of_a_checksum_is_taken() {
    let mut sctp = vec![0; 60];
    sctp[42..46].copy_from_slice(b"abcd");
    complete(&mut sctp, Sum::From { from: 34, at: 42 });
    let mut zeroed = sctp.clone();
    zeroed[42..46].fill(0);
    assert_eq!(sctp[42..46], crc32c::of(&zeroed[34..]));

    for (from, at) in [(70, 76), (34, 59), (34, 20), (u16::MAX - 9, u16::MAX - 1)] {
        let mut frame = vec![7; 60];
        complete(&mut frame, Sum::From { from, at });
        assert_eq!(frame, vec![7; 60], "no such place");
    }
}

#[test]
fn what_cannot_be_cut_is_said_to_be_so() {
    let cut = Left {
        sum: Sum::Done,
        segment: 100,
    };
    let mut cutter = Cutter::default();

    assert_eq!(cutter.take(&[0; 200], cut), Err(Uncut));
    assert_eq!(
        cutter.take(&vec![0; LONGEST_PIECE + 1], Left::default()),
        Err(Uncut)
    );
    assert_eq!(cutter.next_frame(), None);
    assert_eq!(cut.frames(201), 3);
}

proptest! {
    #[test]
    fn the_frames_of_a_piece_have_its_payload_and_are_right(
        shape in shape(),
        payload in prop::collection::vec(any::<u8>(), 1..9_000),
        segment in SMALLEST_SEGMENT..2_000,
        flags: u8,
    ) {
        let piece = left(shape, &payload, flags);
        let header = piece.len() - payload.len();

        let frames = frames(&piece, Left { sum: Sum::Perhaps, segment });

        let sent: Vec<u8> = frames.iter().flat_map(|it| it[header..].to_vec()).collect();
        prop_assert_eq!(sent, payload);
        let last = frames.len() - 1;
        for (at, frame) in frames.iter().enumerate() {
            prop_assert!(is_right(frame));
            let full = header + usize::from(segment);
            prop_assert!(frame.len() == full || at == last && frame.len() <= full);
        }
    }

    /// Twice, since what is right has to stay as it is.
    #[test]
    fn a_checksum_is_made_once_and_a_wrong_one_stays_wrong(
        shape in shape(),
        payload in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let perhaps = Left { sum: Sum::Perhaps, segment: 0 };
        let frame = left(shape, &payload, 0x10);
        let layers = Layers::of(&frame).unwrap();
        let from = Sum::From { from: word(layers.transport), at: word(layers.sum_at()) };

        let made = frames(&frame, perhaps);
        prop_assert!(is_right(&made[0]));
        prop_assert_eq!(&frames(&frame, Left { sum: from, segment: 0 }), &made);
        prop_assert_eq!(&frames(&made[0], perhaps), &made);
        let sum = &made[0][layers.sum_at()..layers.sum_at() + 2];
        prop_assume!(sum != layers.pseudo_sum(&frame).to_be_bytes());
        let mut wrong = made[0].clone();
        wrong[layers.transport] ^= 1;
        prop_assert_eq!(&frames(&wrong, perhaps)[0], &wrong);
    }

    #[test]
    fn no_bytes_make_it_panic(
        shape in shape(),
        mut bytes in prop::collection::vec(any::<u8>(), 0..200),
        changed: prop::sample::Index,
        to: u8,
        segment: u16,
    ) {
        let mut cutter = Cutter::default();
        let left_over = Left { sum: Sum::Perhaps, segment };
        let _ = cutter.take(&bytes, left_over);
        while cutter.next_frame().is_some() {}
        bytes = left(shape, &bytes, 0);
        let at = changed.index(bytes.len());
        bytes[at] = to;
        if cutter.take(&bytes, left_over).is_ok() {
            while cutter.next_frame().is_some() {}
        }
    }
}
