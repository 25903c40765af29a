//! Several instances that are one controller: one decides, the others take over when it
//! goes.
//!
//! All of them share a store. The one that holds the office of the *sequencer* there runs a
//! [`Controller`](crate::Controller) that decides, writes in the name of its epoch, and is
//! the master of all switches, in a generation that follows from that epoch. The others
//! stand by: their connections to the switches are there, as those of slaves, and so is what
//! they know of the store.
//!
//! An [`Instance`] decides when to claim the office and when to give it up; a [`Clerk`] does
//! at the store what that takes. Instances tell each other that they live
//! ([`Keepalive`]), twenty times a second, so that a sequencer that is gone is missed soon.
//! But that is suspicion and nothing more: who holds the office is what the store says, and
//! a suspicion that was wrong costs a change of office and no promise.
//!
//! | what may be | what excludes that two decide |
//! |---|---|
//! | two instances claim the office | a transaction with a condition: one has it |
//! | the former sequencer writes | the store refuses its epoch |
//! | it speaks to switches | they refuse its generation, or have no other master yet |
//! | it was stopped and goes on | both, and it asks the store within [`CONFIRM_INTERVAL`] |
//! | the store went back to a backup | numbers come again, holders never; where a switch knows a later term the office is claimed anew beyond it |
//!
//! # Left out
//!
//! Switches are not shared out among instances: whoever decides is the master of all. A
//! switch of OpenFlow 1.0 has no roles, and listens to a former sequencer until that knows
//! that it is none any more.

mod clerk;
mod instance;
mod keepalive;
mod member;

pub use clerk::{Clerk, Done, Task};
pub use instance::{
    CONFIRM_INTERVAL, Input, Instance, KEEPALIVE_INTERVAL, LEASE, MemberReport, Output, Report,
    SILENCE, TERM, Terms,
};
pub use keepalive::{KEEPALIVE_LENGTH, Keepalive};
pub use member::{Member, MemberId};
