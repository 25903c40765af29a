//! Quantities with their unit in the type.
//!
//! | type          | unit        | stored as |
//! |---------------|-------------|-----------|
//! | [`Instant`]   | nanoseconds | `u64` since an arbitrary origin |
//! | [`Duration`]  | nanoseconds | `u64`, what clocks and timers use |
//! | [`Delay`]     | picoseconds | `u64`, what bounds are computed in |
//! | [`DataSize`]  | bits        | `u64`     |
//! | [`BitRate`]   | bits/second | `u64`     |
//!
//! Operators are defined only where the result has a meaning, so
//! `Instant + Instant` does not compile. All arithmetic panics on overflow: a
//! quantity that wraps is a bug, never an answer. Where a product or a quotient
//! has to be rounded, the function says which way.
//!
//! In documents and records a quantity is the integer that it is stored as, so the
//! key says the unit: `wait_ns`, `rate_bps`.
//!
//! Text is read and written with its unit: `"100 Mbit/s"`, `"250 us"`,
//! `"306 B"`; see [`ParseQuantityError`]. Analyses of whole networks compute in
//! the finer quantities of [`fine`]. What is random follows from a seed, by [`Seeded`].

#![warn(missing_docs)]

mod data;
pub mod fine;
mod seeded;
mod text;
mod time;
pub mod whole_ns;

pub use data::{BitRate, DataSize};
pub use seeded::Seeded;
pub use text::ParseQuantityError;
pub use time::{Delay, Duration, Instant};

const PS_PER_NS: u64 = 1_000;
const PS_PER_SECOND: u64 = 1_000_000_000_000;
