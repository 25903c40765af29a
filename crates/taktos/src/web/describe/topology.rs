//! The view, written down.

use controller::view::{Carrier, Control, Host, Link, Origin, Port, Switch, View};

use super::{Names, link, unix_ns};
use crate::web::document::{
    CountsDocument, HostDocument, HostOrigin, LinkDocument, PortDocument, SwitchDocument,
    TopologyDocument,
};

impl Names {
    /// Writes down the whole view.
    #[must_use]
    pub fn topology(&self, view: &View) -> TopologyDocument {
        let switches = view.switches().iter();
        let links = view.links().iter();
        let hosts = view.hosts().iter();
        let mut document = TopologyDocument {
            switches: switches.map(|it| self.switch_of(view, it)).collect(),
            links: links.map(|it| self.link_of(view, it)).collect(),
            hosts: hosts.map(|it| self.host(it)).collect(),
            counts: CountsDocument::default(),
        };
        document.counts = CountsDocument {
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

    fn switch_of(&self, view: &View, switch: &Switch) -> SwitchDocument {
        let ports = switch.ports.iter();
        SwitchDocument {
            datapath: switch.datapath.to_string(),
            name: self.switch(switch.datapath),
            connected: switch.control == Control::Connected,
            ports: ports.map(|port| port_of(view, port)).collect(),
        }
    }

    fn link_of(&self, view: &View, record: &Link) -> LinkDocument {
        let is_away = view.is_out_of_sight(record);
        LinkDocument {
            id: link(record.ends),
            ends: record.ends.both().map(|end| self.place(end)),
            up: record.carrier == Carrier::Up && !is_away,
            away: is_away,
            since_ns: unix_ns(record.since),
        }
    }

    #[must_use]
    pub fn host(&self, host: &Host) -> HostDocument {
        HostDocument {
            name: host.name.clone(),
            mac: host.mac.to_string(),
            addresses: host.addresses.clone(),
            attachment: host.attachment.map(|port| self.place(port)),
            origin: match host.origin {
                Origin::Configured => HostOrigin::Configured,
                Origin::Named => HostOrigin::Named,
                Origin::Learned => HostOrigin::Learned,
            },
        }
    }
}

fn port_of(view: &View, port: &Port) -> PortDocument {
    let joined = port.link.map(|id| &view.links()[id.index()]);
    PortDocument {
        port: port.number.0,
        mac: port.mac.to_string(),
        up: port.carrier == Carrier::Up,
        link: joined.map(|record| link(record.ends)),
    }
}
