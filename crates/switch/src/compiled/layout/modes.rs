//! Words of the record of [`Region::Modes`](super::Region::Modes).
//!
//! The pair that is agreed on is one word, of which the greater is the greater
//! mode. Whoever learns of a greater one puts it there by compare-and-swap; the core
//! alone begins eras. The level that is served, and that frames have in bits 29 to
//! 31 of the word 4 of their key, follows from it by [`SERVES`].

/// The era (high half), the level (bits 24 to 31).
pub const MODE: usize = 0;
/// The switch at which it began.
pub const ORIGIN: usize = 1;
/// Which level is served while each one is agreed on: four bits a level, the
/// lowest level in the lowest bits.
pub const SERVES: usize = 2;
pub const FLAGS: usize = 3;
/// The key of signals, as two numbers of which the lowest byte comes first.
pub const KEY: [usize; 2] = [4, 5];
pub const OWN: usize = 6;
/// For how long a demand keeps its level up, in nanoseconds.
pub const HOLD: usize = 7;
/// The first of eight: when flows last demanded each level, in nanoseconds, zero
/// for never. Nobody demands the lowest: there stands when anything was
/// demanded.
pub const DEMANDED: usize = 8;
/// When a walk last saw what made it raise the level, in nanoseconds.
pub const DETECTED: usize = 16;
/// When a walk last changed the mode, in nanoseconds.
pub const CHANGED: usize = 17;
/// What walks count, in the order of
/// [`ModeCounters`](wire::openflow::taktos::ModeCounters), from here on.
pub const ENTERED: usize = 18;
pub const DEMANDS: usize = 19;
pub const DISREGARDED: usize = 20;
pub const SENT: usize = 21;
pub const BEATS_SENT: usize = 22;
pub const RECEIVED: usize = 23;
pub const BEATS_RECEIVED: usize = 24;
pub const DUPLICATE: usize = 25;
pub const STALE: usize = 26;
pub const FORGED: usize = 27;
pub const MISPLACED: usize = 28;
pub const REPLAYED: usize = 29;
pub const MALFORMED: usize = 30;
/// Modes that walks entered or answered with and could not tell all neighbours
/// of: the core has to.
pub const UNSENT: usize = 31;
/// By which port the mode came that a walk entered last: its place plus one, or
/// zero.
pub const CAME_BY: usize = 32;
/// From when on the core wants to hear of a violation, in nanoseconds. Until then
/// walks count them and wake nobody.
pub const WANTED_VIOLATIONS: usize = 33;
/// The first of four: the same of signals that do not count, by what is wrong with
/// them, in the order of what walks count of them from [`FORGED`] on.
pub const WANTED_FAULTS: usize = 34;

/// A controller has said what trunks and key are.
pub const IS_ON: u64 = 1;
/// Demands do not raise the level.
pub const LOCKED: u64 = 1 << 1;
/// Demands are told to the controller, which decides.
pub const ASKS: u64 = 1 << 2;
