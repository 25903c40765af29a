//! Quantities in the units in which papers print them. For tables and plots only:
//! nothing is decided on these numbers.

use units::{BitRate, DataSize, Delay};

/// Returns a rate in Mbit/s.
pub fn mbps(rate: BitRate) -> f64 {
    real(rate.as_bps()) / 1e6
}

/// Returns a delay in milliseconds.
pub fn ms(delay: Delay) -> f64 {
    delay.as_secs_f64() * 1e3
}

/// Returns a delay in microseconds.
pub fn us(delay: Delay) -> f64 {
    delay.as_secs_f64() * 1e6
}

/// Returns an amount in bytes.
pub fn bytes(data: DataSize) -> f64 {
    real(data.as_bits()) / 8.0
}

/// Returns an amount in the kB of the Loko paper: 1024 bytes.
pub fn kb_of_1024(data: DataSize) -> f64 {
    bytes(data) / 1024.0
}

/// Returns a number of things as a real number.
#[expect(clippy::cast_precision_loss, reason = "for tables and plots")]
pub fn real(number: u64) -> f64 {
    number as f64
}
