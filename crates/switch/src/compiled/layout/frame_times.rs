//! Words of a record of [`Region::FrameTimes`](super::Region::FrameTimes), in nanoseconds.

/// Frames that leave are noted by spans of 2 to this; zero if nobody wants to know.
pub const SHIFT: usize = 0;
/// When a frame came last.
pub const CAME: usize = 1;
/// When a frame left last, in each of [`SPANS`] spans that come again and again. What
/// leaves through queue 0 is not noted: nothing bounds how long it waits there.
pub const LEFT: usize = 8;
pub const SPANS: usize = 32;
/// How often a neighbour is to hear of the switch while its process is late; zero if it is
/// not to.
pub const STAND_IN_EVERY: usize = 40;
/// After how much silence of the neighbour it hears nothing any more.
pub const STAND_IN_SILENCE: usize = 41;
/// When the process is late.
pub const STAND_IN_DUE: usize = 42;
/// How often somebody else spoke for it.
pub const STAND_INS: usize = 43;
/// In the first record: in which turn frames were made that go round, of which those of
/// earlier ones end.
pub const TURN: usize = 44;
/// In the first record: one if such frames go round, zero if nobody wants them, else an
/// error of the kernel's plus [`LACKING`].
pub const PACEMAKER: usize = 45;
pub const LACKING: u64 = 256;
