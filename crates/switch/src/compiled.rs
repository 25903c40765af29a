//! The tables of a switch as plain data, for others to walk.
//!
//! The switch stays the authority: it speaks OpenFlow, and it handles every frame
//! that is handed to it. Somebody else (a program in the kernel, for instance) may
//! handle frames by the compiled form, and hand over those that it gives up.
//!
//! Where everything stands is in [`layout`]. Changes become visible all at once,
//! when the switch [publishes](crate::Switch::publish) them.

mod engine;
mod form;
mod groups;
pub mod layout;
mod masks;
mod memory;
mod meters;
mod modes;
mod needs;
mod operations;
mod placement;
mod predecessor;
mod publication;
mod retention;
mod room;
mod sizes;
mod store;
mod sums;
mod tables;
mod walk;
mod walks;

pub(crate) use form::Form;
pub(crate) use memory::Beginning;
pub use memory::{Departures, Memory, Record, Words};
pub use publication::{Carried, Overflow};
pub(crate) use retention::{Kept, NO_RECORD, Retention};
pub use sizes::Sizes;
pub(crate) use store::Counted;

#[cfg(test)]
mod tests;
