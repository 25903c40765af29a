//! Deploys criticality modes, and leads the network back from them (S2-5, S2-11).
//!
//! Everything that a switch needs for modes is derived from what holds now, again and
//! again, and what differs is sent: monitors, then the entries of all levels as ordinary
//! desired state, then how the switch takes part. A switch is told that its levels are
//! complete when it has confirmed every entry of them. So a switch that restarts, a link
//! that is found and a flow that is admitted need no case of their own, and a controller
//! that dies half-way leaves levels incomplete, which the switch does not serve.
//!
//! | | |
//! |---|---|
//! | `desk` | what is known of each switch |
//! | `deployment` | what switches are given |
//! | `way_back` | when the level falls, and what an operator asks for |
//! | `orders` | what of that the store keeps |
//! | `notices` | what switches say |
//! | `requirements` | whether what a flow says of levels can be |
//!
//! Where the store keeps nothing of a lock, a controller that starts takes it over from
//! the first switch that answers.

mod deployment;
mod desk;
mod notices;
mod orders;
mod requirements;
mod way_back;

pub use desk::ModeDesk;
