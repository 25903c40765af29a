//! Plays switches towards a controller, and judges how it answers packet-ins.
//!
//! A [`PlayedSwitch`] speaks as a switch does until the controller knows it,
//! introduces its hosts, and then asks: each packet-in holds a frame from one
//! known host to another, with a number in it. Such a question is *answered* when
//! both have come that make it so: the rule (a flow-mod that adds an entry for this
//! destination with its port) and the frame (a packet-out that sends this very
//! frame to that port). A frame that is flooded, a rule for somebody else, a frame
//! to another port answer nothing. Rules and frames are expected in the order of
//! the questions; what is skipped, and what comes after its successor, is counted.
//!
//! There is no socket and no clock here: bytes and the time go in, bytes come out,
//! and a [`Tally`](judge::Tally) says what was found. Two things keep the instrument from being
//! slower than what it measures. A question is a copy of a prepared message with
//! its number written over. And what a controller says of a host is taken apart
//! once: when the same bytes come again (but for the number of the transaction),
//! they say the same.
//!
//! # Left out
//!
//! Frames that the switch keeps in buffers: each packet-in holds its frame whole, as
//! those of Open vSwitch do, so that the packet-out shows which frame it sends. The
//! benchmark cbench counts any flow-mod or packet-out as an answer; the figures of
//! the two are not comparable.

mod dialect;
pub mod judge;
mod played_switch;
pub mod questions;

pub use dialect::Dialect;
pub use judge::Outcome;
pub use played_switch::{PlayedSwitch, SwitchPlan};
pub use questions::{FRAME_LENGTH, PORTS, Population};
