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
//! | [`impaired_cables`] | the cables that lose or corrupt frames |
//! | [`timeline`] | what happens to the network |
//! | [`world`] | all of it together, running |
//! | [`privilege`] | the right to do all this |
//! | [`stage`] | a room for one device under test, and hosts at its ports |
//! | [`stalls`] | what watchers noticed, in the words of the instrument |
//! | [`device_under_test`] | the device under test, running |
//! | [`open_vswitch`] | a private Open vSwitch |
//! | [`delay_line`] | a relay whose delay is known |
//! | [`process`] | a program that runs in a namespace |
//! | [`agent`] | the control connection to a device's agent |
//! | [`tester`] | sends and stamps frames at the ports of a device |
//! | [`bench_switch`] | one switch of the lab, to find out what it costs here |
//! | [`forwarding_times`] | finds that out |

pub mod agent;
pub mod bench_switch;
pub mod cable;
pub mod delay_line;
mod departing;
pub mod device_under_test;
pub mod flow_times;
pub mod forwarding_times;
pub mod host;
pub mod impaired_cables;
pub mod monitor_times;
pub mod network;
pub mod open_vswitch;
pub mod privilege;
pub mod process;
pub mod stage;
pub mod stalls;
pub mod switches;
pub mod tester;
pub mod timeline;
pub mod traffic_loop;
mod trunk;
pub mod veth;
pub mod world;

pub use world::{Lab, LabError, Parts};
