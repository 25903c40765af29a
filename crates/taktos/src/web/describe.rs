//! Writes down what the controller says, for programs and people outside.

mod flow;
mod topology;

use std::collections::BTreeMap;

use controller::Config;
use controller::place::{Place, PortId};
use linux::clock::{self, WallTime};
use units::Instant;
use wire::openflow::DatapathId;

pub use flow::{flow, refusal};

/// The names of switches, as the configuration gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    switches: BTreeMap<DatapathId, String>,
}

impl Names {
    pub fn new(switches: impl IntoIterator<Item = (DatapathId, String)>) -> Self {
        let switches = switches.into_iter().collect();
        Self { switches }
    }

    /// Returns the names that a configuration gives.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        let named = config.switches.iter();
        let named = named.filter(|(_, switch)| !switch.name.is_empty());
        Self::new(named.map(|(datapath, switch)| (*datapath, switch.name.clone())))
    }

    /// Returns the switch with this name, if one has it.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<DatapathId> {
        let mut switches = self.switches.iter();
        let found = switches.find(|(_, it)| *it == name);
        found.map(|(datapath, _)| *datapath)
    }

    /// Returns the name of a switch; the short form of its datapath id if it has
    /// none, which is also what the controller calls it.
    #[must_use]
    pub fn switch(&self, datapath: DatapathId) -> String {
        let name = self.switches.get(&datapath);
        name.cloned().unwrap_or_else(|| format!("{:x}", datapath.0))
    }

    /// Returns a port as a document calls it.
    #[must_use]
    pub fn written(&self, port: PortId) -> Place<String> {
        Place {
            datapath: port.datapath.to_string(),
            switch: self.switch(port.datapath),
            port: port.port,
        }
    }

    /// Returns a port with the name of its switch.
    #[must_use]
    pub fn place(&self, port: PortId) -> Place {
        Place::new(port, self.switch(port.datapath))
    }
}

/// Returns a moment that is past by the clock that begins with 1970.
#[must_use]
pub fn wall_clock(moment: Instant) -> Instant {
    let ago = clock::now().saturating_since(moment);
    Instant::from_ns(WallTime::now().as_ns().saturating_sub(ago.as_ns()))
}
