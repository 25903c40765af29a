//! What a sensor really sent: a recording of frames, as a table (S0-5).
//!
//! The table has no heading: the time in seconds, the size of the frame in bits, and
//! whatever else, frame by frame in order. The times alone count: gaps, where a
//! recording has them, come in units of its own. Lines that begin with `#` are comments.
//!
//! A recording is a flow like any other, so it needs a contract: at a given rate the
//! smallest burst to which it conforms ([`Recording::burst_at`]), found by filling a
//! bucket with each frame and draining it in between.
//!
//! # Left out
//!
//! What the sensor said: the frames that are sent hold zeros.

use thiserror::Error;
use units::{BitRate, DataSize, Delay, Duration};

use crate::contract::{LARGEST_UNTAGGED_FRAME, SMALLEST_FRAME, wire_size};

pub const MOST_RECORDED_FRAMES: usize = 1_000_000;
/// The longest time from the first frame to the last: far below what [`Delay`] can hold.
pub const LONGEST_RECORDING: Duration = Duration::from_secs(30 * 24 * 3600);
const BITS_PER_BYTE: u64 = 8;
const NS_DIGITS: usize = 9;
/// A nanosecond at one bit per second drains this part of a bit.
const PARTS_PER_BIT: u128 = 1_000_000_000;
/// What a recording without a length is counted over.
const SHORTEST_SPAN: Duration = Duration::from_secs(1);

/// Frames that were recorded, the first at time 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    frames: Vec<RecordedFrame>,
    resized: Resized,
}

/// Frames that were shorter or longer than a frame can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resized {
    pub frames: usize,
    /// The line of the first one, from 1; 0 if there is none.
    pub first_line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedFrame {
    /// When it was sent, counted from the first one.
    pub after: Duration,
    /// Its size without check sequence, as it can be sent.
    pub size: DataSize,
}

/// Why a text is no recording.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// A line cannot be read.
    #[error("line {line} is no time in seconds and size in bits: `{text}`")]
    Line {
        /// Which one, from 1.
        line: usize,
        text: String,
    },
    #[error("line {line} is earlier than the one before it")]
    Order {
        /// Which one, from 1.
        line: usize,
    },
    /// A frame is too long after the first one.
    #[error("line {line} is {after} after the first frame: at most 30 days are sent")]
    TooLate {
        /// Which one, from 1.
        line: usize,
        after: Duration,
    },
    #[error("there are no frames")]
    Empty,
    /// It has more frames than are read.
    #[error("more than {MOST_RECORDED_FRAMES} frames")]
    TooLong,
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    ///
    /// If a line makes no sense, or there are none.
    pub fn parse(text: &str) -> Result<Self, RecordingError> {
        let mut recording = Self::default();
        let mut first = None;
        let lines = (1..).zip(text.lines());
        let lines = lines.filter(|(_, text)| !text.trim().is_empty() && !text.starts_with('#'));
        for (line, text) in lines {
            let unreadable = || RecordingError::Line {
                line,
                text: text.chars().take(40).collect(),
            };
            let (at, size) = frame(text).ok_or_else(unreadable)?;
            let after = at.checked_sub(*first.get_or_insert(at));
            let after = Duration::from_ns(after.ok_or(RecordingError::Order { line })?);
            if recording.length() > after {
                return Err(RecordingError::Order { line });
            }
            recording.push(line, after, size)?;
        }
        match recording.frames.is_empty() {
            true => Err(RecordingError::Empty),
            false => Ok(recording),
        }
    }

    fn push(
        &mut self,
        line: usize,
        after: Duration,
        recorded: DataSize,
    ) -> Result<(), RecordingError> {
        if after > LONGEST_RECORDING {
            return Err(RecordingError::TooLate { line, after });
        }
        if self.frames.len() == MOST_RECORDED_FRAMES {
            return Err(RecordingError::TooLong);
        }
        let size = recorded.clamp(SMALLEST_FRAME, LARGEST_UNTAGGED_FRAME);
        if size != recorded {
            if self.resized.frames == 0 {
                self.resized.first_line = line;
            }
            self.resized.frames += 1;
        }
        self.frames.push(RecordedFrame { after, size });
        Ok(())
    }

    /// Returns its frames in order.
    #[must_use]
    pub fn frames(&self) -> &[RecordedFrame] {
        &self.frames
    }

    /// Returns which frames are sent as short or as long as a frame can be, and were
    /// recorded otherwise.
    #[must_use]
    pub fn resized(&self) -> Resized {
        self.resized
    }

    /// Returns the time from the first frame to the last.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.frames.last().map_or(Duration::ZERO, |it| it.after)
    }

    /// Returns its mean rate on the wire, rounded up; one of less than a second is taken
    /// to last as long.
    ///
    /// # Panics
    ///
    /// If it has no frames, which none that was read lacks.
    #[must_use]
    pub fn mean_rate(&self) -> BitRate {
        let bits = self.frames.iter().map(|it| wire_size(it.size).as_bits());
        let data = DataSize::from_bits(bits.sum());
        let span = self.length().max(SHORTEST_SPAN);
        BitRate::of(data, Delay::from(span)).expect("frames have bits, and a span some length")
    }

    /// Returns the smallest burst with which it conforms to a token bucket of this rate,
    /// rounded up to whole bits.
    #[must_use]
    pub fn burst_at(&self, rate: BitRate) -> DataSize {
        let rate = u128::from(rate.as_bps());
        let (mut level, mut deepest, mut before) = (0_u128, 0, Duration::ZERO);
        for frame in &self.frames {
            let drained = rate * u128::from((frame.after - before).as_ns());
            let added = u128::from(wire_size(frame.size).as_bits()) * PARTS_PER_BIT;
            level = level.saturating_sub(drained) + added;
            deepest = deepest.max(level);
            before = frame.after;
        }
        let bits = deepest.div_ceil(PARTS_PER_BIT);
        DataSize::from_bits(u64::try_from(bits).expect("a million frames have fewer bits"))
    }
}

/// Reads the time in nanoseconds and the size, rounded up to whole bytes.
fn frame(line: &str) -> Option<(u64, DataSize)> {
    let mut columns = line.split(',').map(str::trim);
    let (time, bits) = (columns.next()?, columns.next()?);
    let bits: u32 = bits.parse().ok()?;
    let bytes = u64::from(bits).div_ceil(BITS_PER_BYTE);
    Some((nanoseconds(time)?, DataSize::from_bytes(bytes)))
}

/// Reads seconds with up to nine digits behind the point; more are cut off.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(part) {
        return None;
    }
    let part = &part[..part.len().min(NS_DIGITS)];
    let digits = format!("{whole}{part:0<NS_DIGITS$}");
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn frames_have_their_recorded_times_and_sizes() {
        let text = "# made up\n5.000000,11536,1\n\n5.000038,800,0.9\n5.1,16,0\n6,12120\n";

        let recording = Recording::parse(text).unwrap();

        let frames = recording.frames().iter();
        let frames: Vec<_> = frames
            .map(|it| (it.after.as_ns(), it.size.bytes_up()))
            .collect();
        let expected = [
            (0, 1_442),
            (38_000, 100),
            (100_000_000, 60),
            (1_000_000_000, 1_514),
        ];
        assert_eq!(frames, expected);
        let resized = Resized {
            frames: 2,
            first_line: 5,
        };
        assert_eq!(recording.resized(), resized);
    }

    #[test]
    fn what_is_no_recording_is_said_with_its_line() {
        let refused = |text: &str| Recording::parse(text).unwrap_err().to_string();

        assert_eq!(
            refused("0.1,80\ntime,size\n"),
            "line 2 is no time in seconds and size in bits: `time,size`"
        );
        assert_eq!(
            refused("1,80\n0.5,80\n"),
            "line 2 is earlier than the one before it"
        );
        assert_eq!(
            refused("1,80\n3,80\n2,80\n"),
            "line 3 is earlier than the one before it"
        );
        assert_eq!(refused("\n"), "there are no frames");
        let long = "0,80\n".repeat(MOST_RECORDED_FRAMES + 1);
        assert_eq!(refused(&long), "more than 1000000 frames");
    }

    /// Two frames of 124 bytes on the wire at once and a third a millisecond later: at
    /// 496 kbit/s half a frame has drained by then.
    #[test]
    fn the_burst_is_what_has_not_drained_when_the_last_frame_comes() {
        let recording = Recording::parse("0,800\n0,800\n0.001,800\n").unwrap();

        let burst = recording.burst_at(BitRate::from_bps(496_000));

        let frame = wire_size(DataSize::from_bytes(100)).as_bits();
        assert_eq!(burst.as_bits(), 2 * frame + frame / 2);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text: String) {
            let _ = Recording::parse(&text);
        }

        /// Whatever times it states, what it amounts to can be said, or it is refused.
        #[test]
        fn any_times_make_a_recording_with_a_mean_or_an_error(
            times in prop::collection::vec(any::<u32>(), 1..5),
            bits in any::<u32>(),
        ) {
            let mut times = times;
            times.sort_unstable();
            let lines = times.iter().map(|seconds| format!("{seconds}.5,{bits}\n"));

            match Recording::parse(&lines.collect::<String>()) {
                Ok(recording) => prop_assert!(recording.mean_rate().as_bps() > 0),
                Err(error) => {
                    let is_too_late = matches!(error, RecordingError::TooLate { .. });
                    prop_assert!(is_too_late);
                }
            }
        }

        /// Sound and tight: what conforms to a bucket of the burst, and not to one that
        /// is a bit smaller.
        #[test]
        fn the_burst_is_the_smallest_that_the_recording_conforms_to(
            frames in prop::collection::vec((0_u64..5_000_000, 60_u64..1_514), 1..50),
            rate in 1_000_u64..1_000_000_000,
        ) {
            let mut recording = Recording::default();
            let mut after = 0;
            for (gap, bytes) in frames {
                after += gap;
                let size = DataSize::from_bytes(bytes);
                recording.push(1, Duration::from_ns(after), size).unwrap();
            }
            let rate = BitRate::from_bps(rate);

            let burst = recording.burst_at(rate);

            prop_assert!(conforms(&recording, rate, burst));
            prop_assert!(!conforms(&recording, rate, DataSize::from_bits(burst.as_bits() - 1)));
        }
    }

    /// Fills a bucket with tokens and takes those of each frame: the definition.
    fn conforms(recording: &Recording, rate: BitRate, burst: DataSize) -> bool {
        let capacity = u128::from(burst.as_bits()) * PARTS_PER_BIT;
        let (mut level, mut before) = (capacity, Duration::ZERO);
        recording.frames().iter().all(|frame| {
            let earned = u128::from(rate.as_bps()) * u128::from((frame.after - before).as_ns());
            before = frame.after;
            level = (level + earned).min(capacity);
            let taken = u128::from(wire_size(frame.size).as_bits()) * PARTS_PER_BIT;
            let is_enough = level >= taken;
            level = level.saturating_sub(taken);
            is_enough
        })
    }
}
