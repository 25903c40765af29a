//! Criticality modes: how much a network gives up for what matters most.
//!
//! A [`FlowMonitor`] notices that a flow wants more than the present level grants it.
//! The [`ModeConsensus`] turns that into a mode that all switches end up in, by signals
//! between neighbours and without a controller. In the switch both are driven by
//! actions of entries: `FLOW_MONITOR` shows a frame to a monitor, `MODE_ARRANGE` takes
//! it for a signal, `QUEUED_FATE` says what becomes of it while it waits (S2-6). The
//! level that is served is a field of every frame's key, so that the entries of all
//! levels stand in the tables beforehand, and a change of mode is the change of one
//! word whatever their number (S2-5). Frames that wait are judged when their turn
//! comes, one step each (S2-7).
//!
//! | question | module |
//! |---|---|
//! | does a flow keep its contract? | `flow_monitor`, `monitor_table` |
//! | which mode holds? | `agreement` |
//! | what does a frame, a signal or a heart-beat change? | `arrangement`, `keeper` |
//! | what do controllers hear of it? | `outbox` |
//!
//! # Left out
//!
//! An incomplete frame of a message, without its header, demands nothing: it is
//! counted.

/// How many flows a switch watches at most.
pub const MONITORS_MAX: usize = 1024;

mod flow_monitor;
mod keeper;
mod mode_consensus;
mod mode_handler;
mod monitor_table;
mod outbox;
mod shared;

pub use flow_monitor::{
    Contract, Contracts, ContractsError, Demand, FlowMonitor, MonitorCounters, Packet,
};
pub(crate) use keeper::{FarEnd, ModeKeeper};
pub(crate) use mode_consensus::word_of;
pub use mode_consensus::{ConsensusStep, Heard, ModeConsensus, Restraint, StayReason};
pub use mode_handler::Violation;
pub(crate) use monitor_table::{TooManyMonitors, WatchedMessages};
pub(crate) use shared::SharedModes;
