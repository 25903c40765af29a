//! What is said between the controller and whoever asks it: each noun once.
//!
//! A type here is what the core hands out, what the web server writes as JSON, what the
//! program's own client reads, and what the description of the interface is made from.
//!
//! | module | what of? |
//! |---|---|
//! | [`event`] | what happened |
//! | [`flow`] | flows with a promise |
//! | [`intent`] | what else shall hold |
//! | [`place`] | switches, ports and links |
//!
//! A datapath id is 16 digits of hexadecimal, a link is named by its ports, as in
//! `1:2-3:1`, and keys of numbers end in the unit. A moment is one of the controller's own
//! clock inside, and one since the beginning of 1970 in documents: whoever hands one out
//! moves it there.

#![warn(missing_docs)]

mod count;
pub mod event;
pub mod flow;
pub mod intent;
pub mod place;

pub use count::Count;
pub use event::{About, Detection, Event, Occurrence, Occurrences};
pub use flow::{Cause, FlowId, Promise, PromiseState, Travels};
pub use intent::{IntentId, IntentState};
pub use place::{LinkEnds, Place, PortId};
