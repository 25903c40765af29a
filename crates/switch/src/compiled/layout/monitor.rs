//! Words of a record of [`Region::Monitors`](super::Region::Monitors): a
//! [`FlowMonitor`](crate::modes::FlowMonitor) in words.
//!
//! What a packet changes that goes on with the current message lies in the first cache
//! line; what one that begins a message needs lies behind it, with the lowest levels.

/// Not zero while a walk observes by it.
pub const LOCK: usize = 0;
/// The current message: its number (low half), its size (high half). This and what
/// follows is written by walks, but for what says otherwise.
pub const CURRENT: usize = 1;
/// The bytes seen of it (low half); the level that it demands (bits 32 to 39); bits
/// of this module (from bit 40 on).
pub const CURRENT_SEEN: usize = 2;
/// The highest number of a packet (low half); 1 if there was one (high half).
pub const HIGHEST: usize = 3;
/// Which of the 64 up to that were seen, that one in bit 0.
pub const SEEN: usize = 4;
/// When the last packet came, in nanoseconds.
pub const LAST_SEEN: usize = 5;
/// What a monitor counts, as [`MonitorCounters`](crate::modes::MonitorCounters).
pub const PACKETS: usize = 6;
pub const MESSAGES: usize = 7;
/// How many contracts there are, zero while there is no monitor (low half); how
/// often it was replaced (high half). The switch writes it.
pub const CONTRACTS: usize = 8;
/// The release jitter in nanoseconds. The switch writes it.
pub const JITTER: usize = 9;
/// The message before the current one, as that.
pub const BEFORE: usize = 10;
pub const BEFORE_SEEN: usize = 11;
/// The first of the words of the levels with a contract, the lowest level first.
pub const LEVELS: usize = 12;
/// How many a level has.
pub const LEVEL_WORDS: usize = 3;
/// Of a level: its period, in nanoseconds. The switch writes it.
pub const PERIOD: usize = 0;
/// Of a level: its size, in bytes. The switch writes it.
pub const SIZE: usize = 1;
/// Of a level: its guide time, in nanoseconds.
pub const GUIDE: usize = 2;
/// What else a monitor counts.
pub const VIOLATIONS: usize = 36;
pub const BEYOND: usize = 37;
pub const MISSING: usize = 38;
pub const DUPLICATES: usize = 39;
pub const REORDERED: usize = 40;
/// Frames without the header of a message.
pub const UNREADABLE: usize = 41;
/// When a message last demanded more than the lowest level, in nanoseconds.
pub const VIOLATED: usize = 42;
/// The last message for which a bell was rung (low half); the level that it demanded
/// (bits 32 to 39); bits of this module.
pub const TOLD: usize = 43;

/// There is such a message.
pub const IS_THERE: u64 = 1 << 40;
pub const IS_BEYOND: u64 = 1 << 41;
/// Of the current message: the last packet was one of the message before.
pub const STRAGGLER: u64 = 1 << 42;
