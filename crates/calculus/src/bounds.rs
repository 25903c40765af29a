//! What a class of traffic meets at a switch.
//!
//! A switch is two stages, one behind the other (`S4-5`): a processing stage
//! that all ports share and that works by the frame, [`processing`], and then at
//! each port a link of known rate with queues of strict priority,
//! [`strict_priority`].

pub(crate) mod concave;
pub mod processing;
pub mod strict_priority;
