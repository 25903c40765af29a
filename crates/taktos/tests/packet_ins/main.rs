//! The switches that benchmarks of controllers play are right themselves.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod judge;
#[path = "../../benches/controllers/packet_ins/mod.rs"]
#[expect(dead_code, unused_imports, reason = "benchmarks ask for more of it")]
mod packet_ins;
mod played_switch;
mod questions;
