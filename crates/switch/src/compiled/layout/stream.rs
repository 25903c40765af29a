//! Words of a record of [`Region::Streams`](super::Region::Streams); `streams::recovery` says what they mean.

/// Not zero while somebody takes a frame.
pub const LOCK: usize = 0;
/// How many frames got a number: the next one is this, modulo 2^16.
pub const NUMBERED: usize = 1;
pub const HISTORY: usize = 2;
/// The greatest number (bits 0 to 15), and whether there is one ([`KNOWN`]).
pub const LAST: usize = 3;
pub const SPAN: usize = 4;
/// When a frame was handed on last, in nanoseconds.
pub const HEARD: usize = 5;
pub const PASSED: usize = 6;
pub const DISCARDED: usize = 7;
pub const OUT_OF_ORDER: usize = 8;
pub const ROGUE: usize = 9;
pub const LOST: usize = 10;
pub const UNNUMBERED: usize = 11;
pub const RESETS: usize = 12;
/// Which stream it is, plus one; zero if the place is free.
pub const HANDLE: usize = 13;
/// The numbers of the frames that were handed on last, the last one in the lowest bits of
/// the first word: for duplicate discard.
pub const RECENT: usize = 16;
/// How many words hold them.
pub const RECENT_WORDS: usize = 16;

/// There is a greatest number.
pub const KNOWN: u64 = 1 << 16;
