//! The tables of a switch as plain data, for others to walk.
//!
//! The switch stays the authority: it speaks OpenFlow, and it handles every frame
//! that is handed to it. Somebody else (a program in the kernel, for instance) may
//! handle frames by the compiled form, and hand over those that it gives up.
//!
//! Where everything stands is in [`layout`]. Changes become visible all at once,
//! when the switch [publishes](crate::Switch::publish) them.

pub mod layout;
mod memory;
mod publication;
mod sizes;

pub use memory::{Memory, Words};
pub use publication::{Carried, Overflow, QueueLosses};
pub use sizes::Sizes;
