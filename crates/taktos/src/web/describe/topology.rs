//! The view, written down.

use api::topology;
use controller::view::{Carrier, Control, Host, Link, Port, Switch, View};

use super::{Names, wall_clock};

impl Names {
    /// Writes down the whole view.
    #[must_use]
    pub fn topology(&self, view: &View) -> topology::Topology {
        let switches = view.switches().iter();
        let links = view.links().iter();
        let hosts = view.hosts().iter();
        let mut document = topology::Topology {
            switches: switches.map(|it| self.switch_of(view, it)).collect(),
            links: links.map(|it| self.link_of(view, it)).collect(),
            hosts: hosts.map(|it| self.host(it)).collect(),
            counts: topology::Counts::default(),
        };
        document.counts = topology::Counts {
            switches: document.switches.iter().filter(|it| it.connected).count(),
            links: document.links.iter().filter(|it| it.up).count(),
            hosts: document
                .hosts
                .iter()
                .filter(|it| it.attachment.is_some())
                .count(),
        };
        document
    }

    fn switch_of(&self, view: &View, switch: &Switch) -> topology::Switch {
        let ports = switch.ports.iter();
        topology::Switch {
            datapath: switch.datapath,
            name: self.switch(switch.datapath),
            connected: switch.control == Control::Connected,
            profile: switch.profile,
            ports: ports.map(|port| port_of(view, port)).collect(),
        }
    }

    fn link_of(&self, view: &View, record: &Link) -> topology::Link {
        let is_away = view.is_out_of_sight(record);
        topology::Link {
            id: record.ends,
            ends: record.ends.both().map(|end| self.place(end)),
            up: record.carrier == Carrier::Up && !is_away,
            away: is_away,
            since: wall_clock(record.since),
        }
    }

    #[must_use]
    pub fn host(&self, host: &Host) -> topology::Host {
        topology::Host {
            name: host.name.clone(),
            mac: host.mac,
            addresses: host.addresses.clone(),
            attachment: host.attachment.map(|port| self.place(port)),
            origin: host.origin,
        }
    }
}

fn port_of(view: &View, port: &Port) -> topology::Port {
    let joined = port.link.map(|id| &view.links()[id.index()]);
    topology::Port {
        port: port.number,
        mac: port.mac,
        up: port.carrier == Carrier::Up,
        link: joined.map(|record| record.ends),
    }
}
