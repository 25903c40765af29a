//! What a network of servers does at worst, looked for by an adversary: a check
//! of every bound of `calculus::analysis` from below.
//!
//! The simulator knows the description of a network and nothing of how bounds
//! are computed. It keeps to what the description promises and makes the worst
//! of it: a server serves as late as its service curve allows, or holds back and
//! then lets go; sources spend their token buckets to the last bit; ties and
//! free choices go against the flow of interest. Whatever delay such a run shows
//! is possible, so a bound below it is wrong (S4-11).
//!
//! - [`family`] draws networks from a seed;
//! - [`source`] says when a flow sends, within its token buckets;
//! - [`behaviour`] says how late a server is, within its service curve;
//! - [`run`] runs one set of these [`Conditions`];
//! - [`adversary`] looks for the conditions under which one flow is latest;
//! - [`check`] compares what was seen with what each method promises;
//! - [`methods`] lists the methods;
//! - [`ratios`] counts how far bounds lie above what was seen.
//!
//! # Differs from the model
//!
//! Fluids are cut into granules. A granule moves on as a whole when its last bit
//! has been served, so each server is given a head start that makes up for it:
//! what it puts out is at no time less than its service curve asks of a fluid
//! server ([`run::Simulator`]). Where links shape fluids the head start covers the
//! granules that arrive together as well, and backlogs are counted without them.
//!
//! Times are rounded down to femtoseconds. They are exact where a bit takes a
//! whole number of them, as in all networks of [`family`].

pub mod adversary;
pub mod behaviour;
pub mod check;
pub mod family;
pub mod methods;
mod observed;
pub mod random;
pub mod ratios;
pub mod run;
pub mod source;

pub use observed::ObservedMaxima;
pub use run::{Conditions, Simulator};
