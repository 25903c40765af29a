//! What captures are asked: the methods of measurement that they can stand in for.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Question {
    /// How long packets take, with variation and loss beside it.
    #[default]
    Latency,
    /// How much longer the first exchange of a flow takes.
    FlowSetup,
    Jitter,
    /// What is lost or overtaken.
    Loss,
    /// At which rate packets were sent and arrived.
    Throughput,
    /// How long reception was interrupted.
    Failover,
}

impl Question {
    pub const ALL: [Self; 6] = [
        Self::Latency,
        Self::FlowSetup,
        Self::Jitter,
        Self::Loss,
        Self::Throughput,
        Self::Failover,
    ];

    /// Returns the method that asks the same of a device, as the command line has it.
    #[must_use]
    pub const fn method(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::FlowSetup => "flow-setup",
            Self::Jitter => "jitter",
            Self::Loss => "loss",
            Self::Throughput => "throughput",
            Self::Failover => "failover",
        }
    }

    /// Returns what a method asks, or nothing if captures cannot answer that.
    #[must_use]
    pub fn of_method(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.method() == method)
    }

    /// Tells whether one capture alone says nothing of it.
    #[must_use]
    pub const fn needs_both_ends(self) -> bool {
        match self {
            Self::Jitter | Self::Loss => true,
            Self::Latency | Self::FlowSetup | Self::Throughput | Self::Failover => false,
        }
    }
}
