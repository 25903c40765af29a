//! Hosts that are gone: what was learned at a port is forgotten when the port has had
//! no carrier for a while.
//!
//! Silence says nothing, as what a host sends by an entry of its switch is not seen
//! here; a cable that is out does. Hosts that somebody named, or that flows or intents
//! need, stay.

use std::collections::BTreeMap;

use units::Instant;
use wire::ethernet::MacAddress;
use wire::openflow::DatapathId;

use crate::place::PortId;
use crate::view::{Carrier, Host, Origin};

use super::Controller;

/// Since when the ports of hosts have no carrier; none without hosts is among them.
#[derive(Debug, Default)]
pub(super) struct Unplugged {
    since: BTreeMap<PortId, Instant>,
}

impl Controller {
    /// Notes whether the ports of a switch have a carrier.
    pub(super) fn note_carriers(&mut self, datapath: DatapathId) {
        let Some(switch) = self.view.switch(datapath) else {
            return;
        };
        let ports = self.view.switches()[switch.index()].ports.iter();
        let ports: Vec<PortId> = ports.map(|it| PortId::new(datapath, it.number)).collect();
        for port in ports {
            self.note_carrier(port);
        }
    }

    /// Notes whether a port has a carrier.
    pub(super) fn note_carrier(&mut self, at: PortId) {
        let carrier = self.view.port(at).map(|port| port.carrier);
        let has_hosts = self.view.hosts_at(at).next().is_some();
        match carrier {
            Some(Carrier::Down) if has_hosts => {
                self.unplugged.since.entry(at).or_insert(self.now);
            }
            Some(Carrier::Down | Carrier::Up) | None => {
                self.unplugged.since.remove(&at);
            }
        }
    }

    /// Forgets the hosts that were learned at ports which have had no carrier for long.
    pub(super) fn forget_unplugged(&mut self) {
        let (now, timeout) = (self.now, self.timers.host_timeout);
        let since = self.unplugged.since.iter();
        let due = since.filter(|(_, since)| now.saturating_since(**since) >= timeout);
        let due: Vec<PortId> = due.map(|(port, _)| *port).collect();
        for port in due {
            let hosts = self.view.hosts_at(port);
            let gone = hosts.filter(|host| self.is_to_be_forgotten(host));
            let gone: Vec<MacAddress> = gone.map(|host| host.mac).collect();
            for mac in gone {
                self.drop_host(mac);
            }
            if self.view.hosts_at(port).next().is_none() {
                self.unplugged.since.remove(&port);
            }
        }
    }

    fn is_to_be_forgotten(&self, host: &Host) -> bool {
        let is_learned = match host.origin {
            Origin::Learned => true,
            Origin::Configured | Origin::Named => false,
        };
        is_learned
            && self.flow_of_host(&host.name).is_none()
            && self.intents.of_host(&host.name).next().is_none()
    }
}
