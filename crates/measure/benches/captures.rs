//! How fast captures are analysed: 1 GB, of the two ends of a path whose clocks are
//! unrelated, in memory.
//!
//! The captures hold datagrams one way, a thousandth of which get lost, and pings;
//! with full frames in place of short ones there are fewer to look at. What it takes
//! to read the files from a disk comes on top.

use divan::Bencher;
use divan::counter::BytesCount;
use measure::capture::CaptureReader;
use measure::capture::analysis::{Analysis, Assumptions, Question};
use measure::capture::reader::{Recorded, Step};

/// What both captures have together.
const BYTES: usize = 1_000_000_000;
/// So much is read at once.
const PIECE: usize = 1 << 18;
const RECORD_HEADER: usize = 16;
/// The second clock is an hour ahead, and latency is 100 us.
const LATER_NS: u64 = 3_600_000_000_000 + 100_000;
const BEGIN_NS: u64 = 1_700_000_000_000_000_000;

fn main() {
    divan::main();
}

/// Looks at both captures and finds what they have in common.
#[divan::bench(
    args = [
        (Question::Latency, 122),
        (Question::Latency, 1_514),
        (Question::Throughput, 122),
        (Question::Failover, 122),
    ],
    sample_count = 3,
    sample_size = 1
)]
fn analysed(bencher: Bencher<'_, '_>, (question, length): (Question, usize)) {
    let captures = captures(length);
    let bytes = captures.iter().map(Vec::len).sum::<usize>();

    bencher.counter(BytesCount::new(bytes)).bench_local(|| {
        let mut analysis = Analysis::new(question, Assumptions::default());
        let mut files = [Capture::of(&captures[0]), Capture::of(&captures[1])];
        loop {
            let wanted = analysis.next_side();
            let sides = [wanted, wanted.other()];
            let Some(side) = sides.into_iter().find(|side| !files[side.place()].is_over) else {
                break;
            };
            files[side.place()].next(|frame| analysis.see(side, frame));
        }
        let [first, second] = files.map(|file| file.reader.finish());
        let findings = analysis.finish(&[("first", &first), ("second", &second)]);
        assert!(findings.figures.len() > 4, "there is something to find");
    });
}

/// Only reads one of them.
#[divan::bench(args = [122, 1_514], sample_count = 3, sample_size = 1)]
fn read(bencher: Bencher<'_, '_>, length: usize) {
    let [capture, _] = captures(length);

    bencher
        .counter(BytesCount::new(capture.len()))
        .bench_local(|| {
            let mut file = Capture::of(&capture);
            let mut stamps = 0_u64;
            while !file.is_over {
                file.next(|frame| stamps ^= frame.unix_ns);
            }
            (stamps, file.reader.finish())
        });
}

/// A capture, and what of it is not read yet.
struct Capture<'a> {
    rest: &'a [u8],
    reader: CaptureReader,
    is_over: bool,
}

impl<'a> Capture<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            reader: CaptureReader::default(),
            is_over: false,
        }
    }

    fn next(&mut self, take: impl FnOnce(&Recorded<'_>)) {
        loop {
            match self.reader.next_frame() {
                Step::Frame(frame) => return take(&frame),
                Step::NeedsBytes if !self.rest.is_empty() => {
                    let room = self.reader.room();
                    let (piece, rest) = self
                        .rest
                        .split_at(PIECE.min(room.len()).min(self.rest.len()));
                    room[..piece.len()].copy_from_slice(piece);
                    self.reader.filled(piece.len());
                    self.rest = rest;
                }
                Step::NeedsBytes | Step::Stopped => {
                    self.is_over = true;
                    return;
                }
            }
        }
    }
}

fn captures(length: usize) -> [Vec<u8>; 2] {
    let [mut first, mut second] = [begin(), begin()];
    let mut at = BEGIN_NS;
    for number in 0_u32.. {
        if first.len() + second.len() >= BYTES {
            break;
        }
        at += 12_500;
        let jitter = u64::from(number) * 7_919 % 5_000;
        let frame = datagram(number, length);
        put(&mut first, at, &frame);
        if !number.is_multiple_of(1_000) {
            put(&mut second, at + LATER_NS + jitter, &frame);
        }
        if number.is_multiple_of(100) {
            let [request, reply] = [8, 0].map(|kind| echo(kind, number / 100));
            put(&mut first, at, &request);
            put(&mut second, at + LATER_NS, &request);
            put(&mut second, at + LATER_NS + 5_000, &reply);
            put(&mut first, at + 205_000, &reply);
        }
    }
    [first, second]
}

fn begin() -> Vec<u8> {
    let mut file = Vec::with_capacity(BYTES / 2 + RECORD_HEADER);
    file.extend(0xa1b2_3c4d_u32.to_le_bytes());
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    file.extend(65_535_u32.to_le_bytes());
    file.extend(1_u32.to_le_bytes());
    file
}

fn put(file: &mut Vec<u8>, at: u64, frame: &[u8]) {
    let length = u64::try_from(frame.len()).expect("a frame is short");
    for field in [at / 1_000_000_000, at % 1_000_000_000, length, length] {
        let field = u32::try_from(field).expect("until 2106");
        file.extend(field.to_le_bytes());
    }
    file.extend(frame);
}

fn datagram(number: u32, length: usize) -> Vec<u8> {
    let mut payload = [0x9c, 0x40, 0, 7, 0, 0, 0, 0].to_vec();
    payload.extend(number.to_be_bytes());
    payload.resize(length - 34, 0x55);
    packet(17, [1, 2], &payload)
}

fn echo(kind: u8, number: u32) -> Vec<u8> {
    let mut payload = [kind, 0, 0, 0].to_vec();
    payload.extend(number.to_be_bytes());
    payload.resize(64, 0x55);
    packet(1, if kind == 8 { [1, 2] } else { [2, 1] }, &payload)
}

fn packet(protocol: u8, [from, to]: [u8; 2], payload: &[u8]) -> Vec<u8> {
    let mut frame = [2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 8, 0, 0x45, 0].to_vec();
    let length = u16::try_from(20 + payload.len()).expect("no longer than a frame");
    frame.extend(length.to_be_bytes());
    frame.extend([
        0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, from, 10, 0, 0, to,
    ]);
    frame.extend(payload);
    frame
}
