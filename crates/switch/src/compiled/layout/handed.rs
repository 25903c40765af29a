//! A frame on its way to the core: bytes in front of it.

/// Stands instead of a port where there is no frame: the mode has changed, or a monitor
/// saw a violation. Its demand stands where the length does: the level times two,
/// plus one if not even the contract of that level is kept; zero for none. Where
/// verdicts begin stands the place of the port (32 bits), then the monitor's.
pub const BELL: u32 = 0xffff;
/// Where the place of the port stands, 32 bits.
pub const PORT: usize = 0;
/// Where the length of the frame stands, 32 bits.
pub const LENGTH: usize = 4;
/// Where the time of its arrival stands, 64 bits, nanoseconds of the
/// monotonic clock.
pub const ARRIVED: usize = 8;
/// Where the verdicts begin, in the order of their actions: of a meter a byte, by how
/// many levels the drop precedence is to rise; of a stream two bytes for the number
/// that the frame got, or one that is not zero if the frame is a copy.
pub const VERDICTS: usize = 16;
/// How many verdicts there can be.
pub const VERDICTS_MAX: usize = 16;
/// Where the number of verdicts stands, 32 bits.
pub const VERDICTS_COUNT: usize = 32;
/// Where the payload of frames stands, 16 bits, that a card was to cut; or zero.
pub const SEGMENT: usize = 36;
/// Where it stands, 16 bits, whether a card was to make a checksum.
pub const IS_PARTIAL: usize = 38;
/// How many bytes there are in front of the frame.
pub const BYTES: usize = 40;
