//! The Taktos switch: what does it do with this frame or message, now?
//!
//! A [`Switch`] is a state machine without input or output of its own. Frames
//! walk the flow tables (`pipeline`), leave through strict-priority queues
//! that keep the rate of their port (`port`), or go to the controllers, which
//! talk to the agent (`agent`) in OpenFlow 1.3 or 1.0.
//!
//! Forwarding a frame costs a bounded amount of work and allocates nothing: its
//! buffer is one of a pool that is made at the start, a table is looked up in at
//! most as many hash tables as it has distinct masks, and what an entry does was
//! checked when the entry was added. Whatever has a limit is counted where the
//! limit is reached.
//!
//! | question | module |
//! |---|---|
//! | which fields does a frame have? | `headers`, `extension_headers`, `packet_key` |
//! | which entry does it match? | `flow_table`, `mask_group` |
//! | what is done with it, and in which order? | `pipeline`, `action_set` |
//! | which bucket of a group does it go through? | `group_table`, `group_walk`, `bucket_choice` |
//! | is it above a rate? | `meter_table`, `meter_band`, `metering` |
//! | how is a header changed? | `frame_changes`, `rewrite`, `tags`, `time_to_live`, `checksum`, `crc32c` |
//! | when does it leave? | `egress`, `port`, `egress_queue` |
//! | what does a frame cost at most? | `cost` |
//! | is the neighbour of a port there? | `bfd` |
//! | how long did it stay? | `residence`, `hops` |
//! | where does a frame go that nobody decides about? | `normal`, `mac_table` |
//! | how do others walk the tables in its place? | `compiled` |
//! | what may a controller ask for? | `agent`, `matching`, `program` |

mod action;
mod action_set;
mod agent;
mod bfd;
mod bucket_choice;
mod buffer_pool;
mod checksum;
pub mod compiled;
mod config;
mod cost;
mod counters;
pub mod crc32c;
mod egress;
mod egress_queue;
mod entry;
mod extension_headers;
mod flow_table;
mod frame_changes;
mod group_table;
mod group_walk;
mod header_actions;
mod headers;
mod hops;
mod mac_table;
mod mask_group;
mod masked_hash;
mod matching;
mod meter_band;
mod meter_table;
mod metering;
pub mod modes;
mod normal;
mod packet;
mod packet_in_budget;
mod packet_key;
mod pipeline;
mod port;
mod program;
mod residence;
mod resumption;
mod retained_state;
mod rewrite;
mod selection;
mod streams;
mod switch;
mod tags;
mod time_to_live;
mod timeouts;

pub use agent::{CONNECTIONS_MAX, CloseReason, ConnectionId, Peer};
pub use buffer_pool::FRAME_BYTES_MAX;
pub use config::{
    Config, FailMode, KeepAlive, MacTableConfig, Pacing, PacketBuffersConfig, PacketInBudget,
    PortConfig, QUEUE_FRAMES,
};
pub use cost::{Cost, TableCost, Work};
pub use counters::{PortCounters, QueueCounters, QueueTally, SwitchCounters, Unreceived};
pub use egress::PORTS_MAX;
pub use group_walk::GROUP_COPIES_A_FRAME;
pub use hops::HOP_RECORDS_MAX;
pub use port::{Link, QUEUES};
pub use residence::{Residence, ResidenceBucket};
pub use resumption::{ResumeError, Resumption};
pub use retained_state::{RetainedState, StateLog};
pub use streams::{HELD_FRAMES_MAX, STREAMS_MAX};
pub use switch::{Input, Output, Stay, Switch};
