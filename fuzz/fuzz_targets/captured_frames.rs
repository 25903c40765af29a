//! Frames of two captures with any stamps, and what is asked of them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use measure::capture::analysis::{Analysis, Assumptions, Question, Side};
use measure::capture::reader::{Contents, End, LATEST_UNIX_NS, Recorded};

/// Where the frames of a script begin: question, and then for each frame a byte of
/// flags, a stamp, and a length.
const HEADER: usize = 1;

fuzz_target!(|data: &[u8]| {
    let Some((first, mut rest)) = data.split_first_chunk::<HEADER>() else {
        return;
    };
    let question = Question::ALL[usize::from(first[0]) % Question::ALL.len()];
    let mut analysis = Analysis::new(question, Assumptions::default());
    let mut at = 0_u64;
    while let Some((head, more)) = rest.split_first_chunk::<6>() {
        let [flags, a, b, c, d, length] = *head;
        let moved = u64::from(u32::from_le_bytes([a, b, c, d])) << (flags >> 3);
        at = match flags & 1 {
            0 => at.wrapping_add(moved),
            _ => moved.reverse_bits(),
        };
        let length = usize::from(length).min(more.len());
        let (bytes, more) = more.split_at(length);
        let side = match flags & 2 {
            0 => Side::First,
            _ => Side::Second,
        };
        let frame = Recorded {
            interface: 0,
            unix_ns: at.min(LATEST_UNIX_NS),
            direction: None,
            length,
            bytes,
        };
        analysis.see(side, &frame);
        if flags & 4 != 0 {
            analysis.see(side.other(), &frame);
        }
        rest = more;
    }
    let contents = Contents {
        frames: 0,
        bytes: 0,
        shortened: 0,
        unstamped: 0,
        foreign: 0,
        interfaces: Vec::new(),
        end: End::Whole,
    };
    let _ = analysis.finish(&[("first", &contents), ("second", &contents)]);
});
