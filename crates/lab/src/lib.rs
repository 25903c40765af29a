//! Builds a network of Linux namespaces and runs an experiment in it with real
//! frames.
//!
//! Every host and every switch has a namespace of its own, every link is a pair
//! of virtual Ethernet interfaces. The namespaces are anonymous: they end with
//! this process, however it ends, and with them everything in them. Nothing
//! outside of them is touched.
//!
//! | module | makes |
//! |---|---|
//! | [`veth`] | cables: pairs of interfaces |
//! | [`cable`] | one cable of a network, to be cut and healed |
//! | [`network`] | the whole network: rooms, cables, control network |
//! | [`switches`] | all switches of a network, running |
//! | [`host`] | a host's interfaces, queues and taps |
//! | [`traffic_loop`] | what the hosts send and get, taken down |
//! | [`timeline`] | what happens to the network |
//! | [`world`] | all of it together, running |
//! | [`privilege`] | the right to do all this |

pub mod cable;
pub mod host;
pub mod network;
pub mod privilege;
pub mod switches;
pub mod timeline;
pub mod traffic_loop;
mod trunk;
pub mod veth;
pub mod world;

pub use world::{Lab, LabError, Parts};
