//! A switch's port on a network interface.
//!
//! Frames come and go whole, with their VLAN tag and without check sequence.

pub mod packet;

pub use packet::PacketPort;

/// The ways in which a port may be carried.
pub type Port = PacketPort;
