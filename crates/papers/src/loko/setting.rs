//! The setting that most experiments of the paper share: frames of 306 bytes, 17
//! entries of five-tuples, the action `output`, every entry looked at (LOKO
//! section 6).

use calculus::loko::SwitchModel;
use units::{DataSize, Delay};

/// The frames, LOKO section 6.
pub const FRAME: DataSize = DataSize::from_bytes(306);
/// "257 us" in LOKO section 6. The digit that the paper does not print follows
/// from its other figures.
pub const PROCESSING_TIME: Delay = Delay::from_ns(257_200);
/// The same with 128 entries, LOKO section 4.
pub const PROCESSING_TIME_128_ENTRIES: Delay = Delay::from_us(1_350);

/// Returns the Zodiac FX in this setting.
pub fn zodiac_fx() -> SwitchModel {
    SwitchModel::zodiac_fx(FRAME, PROCESSING_TIME)
}
