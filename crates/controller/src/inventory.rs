//! What the store knows of the network: switches and links that were seen once, and
//! where hosts were seen last (S1-6).
//!
//! After a restart of the controller they are known and away until they are seen
//! again, so that a device that did not come back is missed instead of forgotten.
//! What a switch says when it connects counts for more than what was kept of it.

use std::collections::{BTreeMap, BTreeSet};

use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};

use crate::place::{LinkEnds, PortId};
use crate::store::{Key, StoreWrite};
use crate::view::{Carrier, Port, Switch};

/// The version of the form in which records are kept.
const VERSION: u8 = 1;

/// The ports of a switch with their addresses.
type Ports = Vec<(u32, [u8; 6])>;

/// What the store knows, or was asked to keep.
#[derive(Debug, Default)]
pub struct Inventory {
    switches: BTreeMap<DatapathId, Ports>,
    links: BTreeSet<LinkEnds>,
    hosts: BTreeMap<MacAddress, PortId>,
}

impl Inventory {
    /// Takes note of a switch. Returns what the store has to keep, if that is new.
    pub fn note_switch(&mut self, switch: &Switch) -> Option<StoreWrite> {
        let ports = switch.ports.iter();
        let ports: Ports = ports.map(|port| (port.number.0, port.mac.0)).collect();
        if self.switches.get(&switch.datapath) == Some(&ports) {
            return None;
        }
        let value = postcard::to_extend(&ports, vec![VERSION])
            .expect("numbers always have a form, and a vector has room");
        self.switches.insert(switch.datapath, ports);
        Some(StoreWrite {
            key: Key::Switch(switch.datapath),
            value: Some(value),
        })
    }

    /// Takes note of a link. Returns what the store has to keep, if that is new.
    pub fn note_link(&mut self, link: LinkEnds) -> Option<StoreWrite> {
        self.links.insert(link).then(|| StoreWrite {
            key: Key::Link(link),
            value: Some(vec![VERSION]),
        })
    }

    /// Takes note of where a host was seen. Returns what the store has to keep, if that is
    /// new.
    pub fn note_host(&mut self, mac: MacAddress, port: PortId) -> Option<StoreWrite> {
        if self.hosts.insert(mac, port) == Some(port) {
            return None;
        }
        let place = (port.datapath.0, port.port.0);
        let value = postcard::to_extend(&place, vec![VERSION])
            .expect("numbers always have a form, and a vector has room");
        Some(StoreWrite {
            key: Key::Seen(mac),
            value: Some(value),
        })
    }

    /// Strikes a host off. Returns what the store has to forget, if it knew it.
    pub fn strike_host(&mut self, mac: MacAddress) -> Option<StoreWrite> {
        self.hosts.remove(&mac).map(|_| StoreWrite {
            key: Key::Seen(mac),
            value: None,
        })
    }

    /// Takes note that the store keeps where a host was seen. Returns where, or `None` if
    /// the record cannot be read.
    pub fn host_kept(&mut self, mac: MacAddress, record: &[u8]) -> Option<PortId> {
        let [VERSION, content @ ..] = record else {
            return None;
        };
        let (datapath, port) = postcard::from_bytes(content).ok()?;
        let port = PortId::new(DatapathId(datapath), PortNumber(port));
        // One that has been seen elsewhere since is on its way to the store.
        Some(*self.hosts.entry(mac).or_insert(port))
    }

    /// Takes note that the store could not keep where a host was seen.
    pub fn host_rejected(&mut self, mac: MacAddress) {
        self.hosts.remove(&mac);
    }

    /// Strikes a link off. Returns what the store has to forget, if it knew it.
    pub fn strike_link(&mut self, link: LinkEnds) -> Option<StoreWrite> {
        self.links.remove(&link).then_some(StoreWrite {
            key: Key::Link(link),
            value: None,
        })
    }

    /// Strikes a switch with all its links off. Returns what the store has to
    /// forget.
    pub fn strike_switch(&mut self, datapath: DatapathId) -> Vec<StoreWrite> {
        let ends_here = |link: &&LinkEnds| link.both().iter().any(|end| end.datapath == datapath);
        let links: Vec<LinkEnds> = self.links.iter().filter(ends_here).copied().collect();
        let mut writes: Vec<StoreWrite> = links
            .into_iter()
            .filter_map(|link| self.strike_link(link))
            .collect();
        writes.extend(self.switches.remove(&datapath).map(|_| StoreWrite {
            key: Key::Switch(datapath),
            value: None,
        }));
        writes
    }

    /// Takes note that the store keeps a switch. Returns its ports, all down, or
    /// `None` if the record cannot be read.
    pub fn switch_kept(&mut self, datapath: DatapathId, record: &[u8]) -> Option<Vec<Port>> {
        let [VERSION, content @ ..] = record else {
            return None;
        };
        let ports: Ports = postcard::from_bytes(content).ok()?;
        let read = ports.iter().map(|(number, mac)| Port {
            number: PortNumber(*number),
            mac: MacAddress(*mac),
            carrier: Carrier::Down,
            link: None,
        });
        let read = read.collect();
        self.switches.insert(datapath, ports);
        Some(read)
    }

    /// Takes note that the store keeps a link.
    pub fn link_kept(&mut self, link: LinkEnds) {
        self.links.insert(link);
    }

    /// Takes note that the store could not keep a switch: it is proposed again
    /// when it is seen again.
    pub fn switch_rejected(&mut self, datapath: DatapathId) {
        self.switches.remove(&datapath);
    }

    /// Takes note that the store could not keep a link.
    pub fn link_rejected(&mut self, link: LinkEnds) {
        self.links.remove(&link);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Control;

    #[test]
    fn a_switch_is_kept_once_and_again_when_its_ports_change() {
        let mut inventory = Inventory::default();

        let first = inventory.note_switch(&switch(&[1, 2]));
        let same = inventory.note_switch(&switch(&[1, 2]));
        let more = inventory.note_switch(&switch(&[1, 2, 3]));

        assert!(first.is_some() && more.is_some());
        assert_eq!(same, None);
    }

    #[test]
    fn what_was_kept_comes_back_with_its_ports_down() {
        let record = Inventory::default().note_switch(&switch(&[1, 7])).unwrap();
        let mut inventory = Inventory::default();

        let ports = inventory.switch_kept(DatapathId(5), &record.value.unwrap());

        let ports = ports.unwrap();
        let numbers: Vec<u32> = ports.iter().map(|port| port.number.0).collect();
        assert_eq!(numbers, [1, 7]);
        assert!(ports.iter().all(|port| port.carrier == Carrier::Down));
        assert_eq!(inventory.note_switch(&switch(&[1, 7])), None);
    }

    #[test]
    fn a_switch_is_struck_off_with_its_links() {
        let mut inventory = Inventory::default();
        let port = |datapath| PortId::new(DatapathId(datapath), PortNumber(1));
        inventory.note_switch(&switch(&[1]));
        inventory.note_link(LinkEnds::new(port(5), port(6)));
        inventory.note_link(LinkEnds::new(port(7), port(8)));

        let writes = inventory.strike_switch(DatapathId(5));

        let keys: Vec<Key> = writes.iter().map(|write| write.key).collect();
        let link = Key::Link(LinkEnds::new(port(5), port(6)));
        assert_eq!(keys, [link, Key::Switch(DatapathId(5))]);
        assert!(inventory.strike_switch(DatapathId(5)).is_empty());
    }

    #[test]
    fn a_damaged_record_is_not_read() {
        let mut inventory = Inventory::default();

        for record in [&b""[..], &[9, 0], &[VERSION, 0xff, 1]] {
            assert_eq!(inventory.switch_kept(DatapathId(5), record), None);
        }
    }

    fn switch(ports: &[u32]) -> Switch {
        let port = |number: &u32| Port {
            number: PortNumber(*number),
            mac: MacAddress::ZERO,
            carrier: Carrier::Up,
            link: None,
        };
        Switch {
            datapath: DatapathId(5),
            control: Control::Connected,
            profile: crate::view::ProfileStanding::Unseen,
            ports: ports.iter().map(port).collect(),
        }
    }
}
