//! Words of a record of [`Region::Hops`](super::Region::Hops): how long frames stayed that
//! left on behalf of one entry through one queue of one port. Record 0 is about all others
//! together, and is none itself.
//!
//! What a record is about stands in [`Region::HopKeys`](super::Region::HopKeys): lines of
//! eight keys, that of record `r` in word `r` of them all. With `k` the key without its turn,
//! and `h` what is `k * 0x9e3779b97f4a7c15` modulo 2^64, it stands somewhere in line
//! `(h >> 32) & lines` of those or, if there was no room, in line `(h >> 48) & lines`, where
//! `lines` is [`settings::HOP_LINES`](super::settings::HOP_LINES). A line is looked at from
//! word `h >> 61` on, and round. Whoever needs a record and finds no key in either takes the
//! first word of them whose lowest 52 bits are zero, by one atomic instruction. It happens
//! that two records are about the same, when a word of a line is given up while two look for
//! one.

/// Where frames have to leave for this record: the number of the interface (low half), the
/// turn of the key plus one (high half). Written by walks; zero before.
pub const DEVICE: usize = 0;
/// What [`queue::BUDGET`](super::queue::BUDGET) is, as far as walks have seen.
pub const BUDGET: usize = 1;
/// The longest stay, in nanoseconds.
pub const LONGEST: usize = 2;
/// How many stays were longer than the budget; in record 0, of all records together.
pub const ABOVE: usize = 3;
/// The longest of those since the core took it, in nanoseconds.
pub const PEAK: usize = 4;
/// Frames whose stay is not known.
pub const UNTIMED: usize = 5;
/// The number of the entry.
pub const OWNER: usize = 6;
/// In record 0: frames for which there was no room.
pub const NO_ROOM: usize = 7;
/// The first of the buckets: how many stays fell into each.
pub const BUCKETS: usize = 8;
/// How many buckets there are. A stay in units of `1 << UNIT_BITS` nanoseconds, `u`, falls
/// into bucket `u` up to 7; beyond, with `s` the number of its highest bit less
/// [`STEP_BITS`], into bucket `4 s + (u >> s)`, or into the last one.
pub const BUCKETS_COUNT: usize = 88;
pub const UNIT_BITS: u64 = 8;
pub const STEP_BITS: u64 = 2;

/// A key: the age of the entry, which are the lowest 32 bits of its rank; then from here on
/// its table, 8 bits.
pub const KEY_TABLE_AT: u64 = 32;
/// The place of the port, 8 bits.
pub const KEY_PORT_AT: u64 = 40;
/// The queue, 3 bits.
pub const KEY_QUEUE_AT: u64 = 48;
/// Something stands there.
pub const KEY_IS_THERE: u64 = 1 << 51;
/// All of that.
pub const KEY_BITS: u64 = 0xfffffffffffff;
/// How often records were given up there, 8 bits.
pub const KEY_TURN_AT: u64 = 56;

/// The mark of a frame on its way out: the record, 14 bits.
pub const MARK_RECORDS: u64 = 0x3fff;
/// From here on the space, 10 bits: a number of the switch in its process.
pub const MARK_SPACE_AT: u64 = 14;
pub const MARK_SPACES: u64 = 0x3ff;
/// From here on the lowest 2 bits of the turn: a place has to be given up four times while a
/// frame waits in a queue for that to be taken for one of the record there.
pub const MARK_TURN_AT: u64 = 24;
pub const MARK_TURNS: u64 = 3;
/// What all such marks have from here on, 6 bits.
pub const MARK_SIGN_AT: u64 = 26;
pub const MARK_SIGN: u64 = 0x2d;
/// In which of the five words of a frame that are for disciplines (`cb` of `__sk_buff`) its
/// arrival stands, in nanoseconds: the low half.
pub const CAME_LOW: usize = 3;
/// The high half.
pub const CAME_HIGH: usize = 4;
