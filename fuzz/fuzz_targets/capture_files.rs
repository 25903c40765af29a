//! A capture file that somebody else wrote, in pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;
use measure::capture::CaptureReader;
use measure::capture::reader::{End, Step};

fuzz_target!(|data: &[u8]| {
    let Some((size, file)) = data.split_first() else {
        return;
    };
    let mut reader = CaptureReader::default();
    let mut told = 0;
    'file: for piece in file.chunks(usize::from(*size).max(1)) {
        reader.room()[..piece.len()].copy_from_slice(piece);
        reader.filled(piece.len());
        loop {
            match reader.next_frame() {
                Step::Frame(frame) => {
                    assert!(frame.bytes.len() <= frame.length);
                    told += 1;
                }
                Step::NeedsBytes => break,
                Step::Stopped => break 'file,
            }
        }
    }
    let contents = reader.finish();
    assert_eq!(contents.frames, told);
    match contents.end {
        End::Whole => assert_eq!(contents.bytes, file.len() as u64),
        End::CutOff { at } | End::Damaged { at, .. } => assert!(at <= file.len() as u64),
    }
});
