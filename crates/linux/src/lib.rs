//! Runs the cores on a real Linux machine: ports, stamps, the clock, channels
//! and the loops that carry them.
//!
//! The only crate with `unsafe` code and the only one that reads a clock. A loop
//! here moves bytes and time between the kernel and a core and decides nothing
//! that a test of the core would want to see.
//!
//! | module | carries |
//! |---|---|
//! | [`bpf`] | programs of ours that run in the kernel |
//! | [`clock`] | the monotonic clock, sleeping to a point in time, steps of the wall clock |
//! | [`scheduling`] | processor, priority and timer slack of a thread |
//! | [`namespace`] | network namespaces that live no longer than this process |
//! | [`interface`] | one network interface: index, carrier, offloads |
//! | [`netlink`] | requests to the kernel's network configuration |
//! | [`offloads`] | what a sender has left to a card that is not there, done |
//! | [`qdisc`] | the pacing of an interface, with strict priorities |
//! | [`hold`] | the right to an interface as a port, which one switch has at a time |
//! | [`interface_guard`] | an interface that serves as a port and is given back as it was |
//! | [`port`] | a switch port on an interface: AF_PACKET, AF_XDP, or forwarded by the kernel |
//! | [`kernel_engine`] | a switch whose frames the kernel forwards |
//! | [`tap`] | a passive capture with kernel stamps in both directions |
//! | [`arrivals`] | frames with the stamps of the network card |
//! | [`stamps`] | who stamped a frame, and when |
//! | [`card_clock`] | the clock of a network card, and its relation to the monotonic one |
//! | [`carrier_watch`] | the carrier of many interfaces, always up to date |
//! | [`stream`] | a connected socket, over a network or within the machine |
//! | [`channel`] | a connection that is never waited for |
//! | [`connection`] | a control connection on its way to its switch |
//! | [`dialer`] | a switch's connection to its controller, made again when lost |
//! | [`listener`] | those who connect to a switch |
//! | [`frame_watch`] | times in which a processor that forwards did not get on |
//! | [`hop_watch`] | how long frames stay that the kernel forwards |
//! | [`pace_watch`] | who works on frames, or takes them, more slowly than was said |
//! | [`slowdown`] | an interface whose frames take longer, on purpose |
//! | [`own_time`] | for how long others had the processor of a thread |
//! | [`stall`] | the times in which the machine stood still |
//! | [`openflow_client`] | the other end of a switch's connection, for those who ask it |
//! | [`controller_loop`] | the controller, its connections and its store |
//! | [`packet_loop`] | all switches of the process, on one thread |
//! | [`sender`] | a host's way through its queueing discipline |
//! | [`time_histogram`] | how often something took how long |
//! | [`departures`] | a way onto a link that says when each frame left |

pub mod arrivals;
pub mod bpf;
pub mod card_clock;
pub mod carrier_watch;
pub mod channel;
pub mod clock;
pub mod connection;
pub mod controller_loop;
pub mod departures;
pub mod descriptors;
pub mod dialer;
pub mod frame_watch;
pub mod hold;
pub mod hop_watch;
pub mod impaired_interface;
pub mod interface;
pub mod interface_guard;
pub mod jitter_monitor;
pub mod kernel_engine;
mod link_events;
pub mod listener;
mod mapping;
mod message_batch;
pub mod namespace;
pub mod netlink;
pub mod offloads;
pub mod openflow_client;
pub mod own_time;
pub mod pace_watch;
pub mod packet_loop;
pub mod parallel;
mod poller;
pub mod port;
pub mod privilege;
pub mod qdisc;
mod removed_tag;
mod ring;
pub mod scheduling;
pub mod sender;
pub mod slowdown;
mod socket;
pub mod stall;
pub mod stamps;
pub mod stream;
pub mod tap;
pub mod time_histogram;
pub mod usage;
mod waker;
