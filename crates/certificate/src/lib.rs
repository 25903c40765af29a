//! Does a certificate prove what it says?
//!
//! A certificate states a network and what its flows ask for, says which budgets and
//! ways were chosen, and promises how late frames are at most. Everything else follows
//! and is calculated here, by somebody who trusts neither the controller nor its
//! analysis. This crate knows nothing of either: it shares no code with them but the
//! units, computes with exact fractions where they compute with rounded integers, and
//! its formulas are written from the theory once more. `docs/certificates.md` describes
//! the document and what is checked.
//!
//! | module | knows |
//! |---|---|
//! | [`document`] | what a certificate holds, and that it is unchanged |
//! | [`map`], [`stages`] | the network that is stated, laid out: who is joined to whom, and what each stage is |
//! | [`walk`], [`ways`] | which stages frames pass over which links, and whether that is what a protection needs |
//! | [`windows`] | when a frame may reach each stage of its way |
//! | [`arrival`], [`curve`] | bounds on what arrives, and how late and how many it can be at a server |
//! | [`change`] | how late a change of level may make a frame |
//! | [`mod@check`], [`reason`] | whether all of it proves the promises, and what does not |
//! | [`assumed`] | what a proof rests on that nobody can prove |
//! | [`mod@compare`] | whether two certificates state the same |

#![warn(missing_docs)]

pub mod arrival;
pub mod assumed;
pub mod change;
pub mod check;
pub mod compare;
pub mod curve;
pub mod document;
mod load;
pub mod map;
pub mod reason;
pub mod stages;
pub mod walk;
pub mod ways;
pub mod windows;

pub use assumed::assumptions;
pub use check::{Proven, ProvenPromise, check};
pub use compare::{Difference, compare};
pub use document::{Certificate, Unreadable};
pub use reason::{Objection, Reason};
