//! How long frames occupy a cable.

use units::{BitRate, DataSize, Duration};
use wire::ethernet::SHORTEST_FRAME;

/// The most bytes of a control connection that one frame carries.
pub const SEGMENT_MAX: usize = 1_460;

const CHECK_SEQUENCE: usize = 4;
const PREAMBLE: usize = 8;
const GAP: usize = 12;
/// Ethernet, IPv4 and TCP around a segment.
const SEGMENT_OVERHEAD: usize = 14 + 20 + 20;

/// Returns the length of the frame around bytes of the control connection, without
/// check sequence.
pub(super) fn segment_length(bytes: &[u8]) -> usize {
    SEGMENT_OVERHEAD + bytes.len()
}

/// Returns what a frame of so many bytes occupies of a cable, its gap included.
pub(super) fn on_cable(length: usize) -> DataSize {
    size(PREAMBLE + padded(length) + GAP)
}

/// Returns the time from the first bit of the preamble to the end of the
/// start-of-frame delimiter.
pub(super) fn to_delimiter(rate: BitRate) -> Duration {
    rate.time_to_send(size(PREAMBLE)).round_up()
}

/// Returns the time from the first bit of the preamble to the last of a frame of so
/// many bytes.
pub(super) fn to_end(rate: BitRate, length: usize) -> Duration {
    rate.time_to_send(size(PREAMBLE + padded(length)))
        .round_up()
}

/// Returns the time from the first bit of the preamble to that of the next frame.
pub(super) fn to_next(rate: BitRate, length: usize) -> Duration {
    rate.time_to_send(on_cable(length)).round_up()
}

fn padded(length: usize) -> usize {
    length.max(SHORTEST_FRAME) + CHECK_SEQUENCE
}

fn size(bytes: usize) -> DataSize {
    DataSize::from_bytes(bytes as u64)
}
