//! How others promise latency, kept to compare ours with (S4-7).
//!
//! Both assume that a switch forwards at the rate of its links and that its ports
//! do not disturb each other. Neither holds for a switch that forwards with one
//! processor, so what they promise there is not kept: LOKO section 2.3.

pub mod qjump;
pub mod silo;
