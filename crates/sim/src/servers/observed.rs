//! The longest delays and largest backlogs that runs have shown.

use calculus::analysis::ServerGraph;
use units::fine::{Data, Time};

/// What has been seen of a network at most, over any number of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedMaxima {
    /// By flow: from its first server to its last.
    pub delays: Vec<Time>,
    /// By flow: how much of it was in the network at one time.
    pub backlogs: Vec<Data>,
    /// By flow and hop: how long its data was there.
    pub hop_delays: Vec<Vec<Time>>,
    /// By server: how much of all flows was there at one time.
    pub server_backlogs: Vec<Data>,
}

impl ObservedMaxima {
    /// Nothing has been seen yet.
    #[must_use]
    pub fn nothing(network: &ServerGraph) -> Self {
        let flows = network.flows().len();
        let hops = network.flows().map(|flow| network.path(flow).len());
        Self {
            delays: vec![Time::ZERO; flows],
            backlogs: vec![Data::ZERO; flows],
            hop_delays: hops.map(|hops| vec![Time::ZERO; hops]).collect(),
            server_backlogs: vec![Data::ZERO; network.servers().len()],
        }
    }
}
