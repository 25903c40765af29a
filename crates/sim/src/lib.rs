//! What would happen: a whole network in virtual time.
//!
//! The cores are the ones that ship: the same switch, the same controller, the
//! same traffic sources as on real wires. Between them lie cables that delay,
//! break and lose ([`network`]), control connections with a delay, and a calendar
//! of what happens next. The same parts and the same seed give the same run, to
//! the byte. Frames are looked up in the tables of a switch or in their compiled form,
//! which is what the kernel walks on real wires ([`Engine`]).
//!
//! # Differs from a real network
//!
//! A processor takes exactly the time that its profile states for each frame,
//! never less and never more, and nothing else runs on it; unless the profile says
//! how the device behaves ([`emulation`]).

pub mod cable;
pub mod calendar;
pub mod chunks;
pub mod conversation;
pub mod emulation;
pub mod faulty_store;
pub mod frames;
pub mod hop_watch;
pub mod host_interface;
mod host_node;
pub mod message_watch;
pub mod modes;
pub mod network;
mod observer;
pub mod parts;
pub mod servers;
mod switch_node;
pub mod tester;
pub mod world;
pub mod zodiac_fx;

pub use parts::{Engine, Parts};
pub use world::World;
