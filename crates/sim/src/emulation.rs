//! A device of a profile, without the device (S3-6): how long it takes for each frame
//! and each message, and which frames it loses, drawn from what the profile knows.
//!
//! The tables and queues of an emulated device are those of the switch core that
//! ships; what differs from it is time and loss, and both are decided here, before a
//! frame gets to the core and before a message does.
//!
//! ```text
//! frame in  --> lost? --> room? --> shared stage, then the rest of its latency --> core
//! message in --> one at a time, each as long as its kind takes ------------------> core
//! core --> table miss: held back for the set-up of a flow ----> message out
//! ```
//!
//! The core then sends the frame through the queue of its port, so what the link adds
//! is not drawn but happens.
//!
//! # Left out
//!
//! Latency that depends on the load of other ports (but through the shared stage) or
//! on the entries of the table. Latencies of successive frames are drawn apart from
//! each other, where a real device has slow moments: its frames come in clusters of
//! slow ones.

mod agent;
mod behaviour;
mod dice;
pub mod fidelity;
mod flows;
mod stage;
#[cfg(test)]
mod tests;

pub use agent::Pace;
pub use behaviour::Behaviour;
pub use dice::Dice;
pub use flows::{EmulatedFlow, Flows};
pub use stage::{Fate, ProcessingQueue};
