//! Criticality modes: how much a network gives up for what matters most.
//!
//! A [`FlowMonitor`] notices that a flow wants more than the present level grants it.
//! The [`Agreement`] turns that into a mode that all switches end up in, by signals
//! between neighbours and without a controller.
//!
//! # Left out
//!
//! Neither is part of the pipeline yet: entries have no variants, and no port sends
//! signals.

/// How many flows a switch watches at most.
pub const MONITORS_MAX: usize = 1024;

mod agreement;
mod flow_monitor;

pub use agreement::{Agreement, Heard, Refusal, Restraint, Step};
pub use flow_monitor::{
    Contract, Contracts, ContractsError, Demand, FlowMonitor, MonitorCounters, Packet,
};
