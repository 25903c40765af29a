//! How a scenario is admitted, controlled and measured.

use units::{Delay, Duration};

use crate::LinkIndex;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// The most delay that the processing stage of a switch may add; left to
    /// the admission if absent.
    pub processing_budget: Option<Delay>,
}

/// How the controller reaches the switches and learns the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// How long a message of the control network travels, in the simulation.
    pub channel_delay: Delay,
    /// The time between two probes of the same port for the link behind it.
    pub probe_interval: Duration,
    /// How the controller learns where the hosts are.
    pub hosts: HostDiscovery,
    /// Whether the switch that a promised flow enters first drops what exceeds its contract.
    pub is_policed: bool,
    /// How much later than they came frames may be judged there; left to the world if absent.
    pub policing_tolerance: Option<Duration>,
    /// Whether switches that can watch how long promised frames stay.
    pub watches_hops: bool,
}

/// How the controller learns where the hosts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostDiscovery {
    /// From the first frame that each of them sends.
    FirstFrame,
    Scenario,
}

/// What is measured, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// How long traffic runs before frames count.
    pub warm_up: Duration,
    /// How long receivers wait for the last frames.
    pub drain: Duration,
    /// From which length on a stall of the machine sets frames aside.
    pub stall_threshold: Duration,
    /// What is written to capture files.
    pub capture: Capture,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Capture {
    #[default]
    Nothing,
    Everything,
    Links(Vec<LinkIndex>),
}
