//! Does a certificate prove what it says?
//!
//! A certificate holds a network, the flows that were promised a deadline, and
//! what each promise rests on, so that everything can be calculated again by
//! somebody who trusts neither the controller nor its analysis. This crate knows
//! nothing of either: it shares no code with them but the units, computes with
//! exact fractions where they compute with rounded integers, and its formulas
//! are written from the theory once more. `docs/certificates.md` describes the
//! document and what is checked.
//!
//! | module | knows |
//! |---|---|
//! | [`document`] | what a certificate holds, and that it is unchanged |
//! | [`curve`] | bounds on arrivals, and how late and how many they can be at a server |
//! | [`windows`] | when a frame may reach each stage of its way |
//! | [`mod@check`] | whether all of it proves the promises |

pub mod check;
pub mod curve;
pub mod document;
pub mod windows;

pub use check::{Objection, Proven, check};
pub use document::{Certificate, Unreadable};
