//! `model`: the switch as one service curve, LOKO section 4, and what it can hold,
//! LOKO section 3.5.

use calculus::loko::SwitchModel;
use measure::reproduction::Row;
use units::{DataSize, Delay};

use super::super::amounts::{mbps, ms, real, us};
use super::super::{ExperimentOutcome, ExperimentSettings, Progress};
use super::{FRAME, PROCESSING_TIME, PROCESSING_TIME_128_ENTRIES};

/// Computes both service curves and the buffers.
pub fn run(_: ExperimentSettings, _: &mut Progress) -> ExperimentOutcome {
    let large = SwitchModel::zodiac_fx(FRAME, PROCESSING_TIME_128_ENTRIES).service;
    let small = SwitchModel::zodiac_fx(FRAME, PROCESSING_TIME).service;
    let mut rows = vec![
        Row::new("128 entries, 306 B: R", "Mbit/s")
            .printed("1.88")
            .ours(mbps(large.rate)),
        Row::new("128 entries, 306 B: T", "ms")
            .printed("2.65")
            .ours(ms(large.latency)),
        Row::new("17 entries, 306 B: R", "Mbit/s")
            .printed("11.8")
            .ours(mbps(small.rate)),
        Row::new("17 entries, 306 B: T", "us")
            .printed("464")
            .ours(us(small.latency)),
    ];
    rows.extend(
        [(64, "25"), (306, "9"), (1_516, "3")]
            .map(|(bytes, printed)| buffer(bytes).printed(printed)),
    );
    rows.extend([548, 790, 1_032, 1_274].map(|bytes| {
        buffer(bytes).note("the printed ceil(24 / ceil(l / 128)) gives one more, which has no room")
    }));
    ExperimentOutcome {
        rows,
        remarks: vec![
            "The processing times behind R and T are the paper's: 1.35 ms and 257 us. The digit of the latter \
             that it does not print, 257.2, is the one that gives every other figure."
                .to_owned(),
        ],
        ..ExperimentOutcome::default()
    }
}

fn buffer(bytes: u64) -> Row {
    let switch = SwitchModel::zodiac_fx(DataSize::from_bytes(bytes), Delay::ZERO);
    Row::new(format!("buffer for frames of {bytes} B"), "frames").ours(real(switch.buffer_frames))
}
