//! The hosts at which flows begin and end, by name, with the ports at which they were when
//! the flows were admitted.

use std::collections::BTreeMap;

use crate::place::PortId;
use crate::record::Admission;

/// The ends of all flows.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    /// By host and port, how many flows say so: while a host moves, some say otherwise.
    by_host: BTreeMap<String, BTreeMap<PortId, usize>>,
}

impl Ends {
    /// Adds the ends of a flow.
    pub fn insert(&mut self, admission: &Admission) {
        for (host, port) in ends(admission) {
            // A name is copied once for all flows of its host.
            if !self.by_host.contains_key(host) {
                self.by_host.insert(host.to_owned(), BTreeMap::new());
            }
            let ports = self.by_host.get_mut(host);
            *ports.expect("it is there by now").entry(port).or_default() += 1;
        }
    }

    /// Removes the ends of a flow that was added.
    pub fn remove(&mut self, admission: &Admission) {
        for (host, port) in ends(admission) {
            let Some(ports) = self.by_host.get_mut(host) else {
                continue;
            };
            if let Some(flows) = ports.get_mut(&port) {
                *flows -= 1;
                if *flows == 0 {
                    ports.remove(&port);
                }
            }
            if ports.is_empty() {
                self.by_host.remove(host);
            }
        }
    }

    /// Returns the port of a host: where most of its flows say that it is, the first of
    /// several.
    #[must_use]
    pub fn port(&self, host: &str) -> Option<PortId> {
        let ports = self.by_host.get(host)?.iter();
        let most = ports.max_by_key(|(port, flows)| (**flows, std::cmp::Reverse(**port)));
        most.map(|(port, _)| *port)
    }
}

fn ends(admission: &Admission) -> impl Iterator<Item = (&str, PortId)> {
    let requirement = &admission.requirement;
    let destinations = requirement.destinations.iter().map(String::as_str);
    let receivers = destinations.zip(admission.destinations.iter().copied());
    std::iter::once((requirement.source.as_str(), admission.source)).chain(receivers)
}
