//! Words of a record of [`Region::Monitors`](super::Region::Monitors): a
//! [`FlowMonitor`](crate::modes::FlowMonitor) in words.

/// Not zero while a walk observes by it.
pub const LOCK: usize = 0;
/// How many contracts there are, zero while there is no monitor (low half); how
/// often it was replaced (high half).
pub const CONTRACTS: usize = 1;
/// The release jitter in nanoseconds.
pub const JITTER: usize = 2;
/// The first of eight: the periods of the levels, in nanoseconds.
pub const PERIODS: usize = 3;
/// The first of eight: the sizes of the levels, in bytes.
pub const SIZES: usize = 11;
/// The first of eight: the guide times of the levels, in nanoseconds. This and
/// what follows is written by walks.
pub const GUIDES: usize = 19;
/// The current message: its number (low half), its size (high half).
pub const CURRENT: usize = 27;
/// The bytes seen of it (low half); the level that it demands (bits 32 to 39); bits
/// of this module (from bit 40 on).
pub const CURRENT_SEEN: usize = 28;
/// The message before, as before.
pub const BEFORE: usize = 29;
/// As before.
pub const BEFORE_SEEN: usize = 30;
/// The highest number of a packet (low half); 1 if there was one (high half).
pub const HIGHEST: usize = 31;
/// Which of the 64 up to that were seen, that one in bit 0.
pub const SEEN: usize = 32;
/// When the last packet came, in nanoseconds.
pub const LAST_SEEN: usize = 33;
/// What a monitor counts, in the order of
/// [`MonitorCounters`](crate::modes::MonitorCounters).
pub const PACKETS: usize = 34;
/// As before.
pub const MESSAGES: usize = 35;
/// As before.
pub const VIOLATIONS: usize = 36;
/// As before.
pub const BEYOND: usize = 37;
/// As before.
pub const MISSING: usize = 38;
/// As before.
pub const DUPLICATES: usize = 39;
/// As before.
pub const REORDERED: usize = 40;
/// Frames without the header of a message.
pub const UNREADABLE: usize = 41;
/// When a message last demanded more than the lowest level, in nanoseconds.
pub const VIOLATED: usize = 42;
/// What the last message demanded: the level (bits 0 to 7); bits of this module.
pub const DEMANDED: usize = 43;
/// The last message for which a bell was rung (low half); the level that it demanded
/// (bits 32 to 39); bits of this module.
pub const TOLD: usize = 44;

/// There is such a message.
pub const IS_THERE: u64 = 1 << 40;
/// It keeps no contract.
pub const IS_BEYOND: u64 = 1 << 41;
