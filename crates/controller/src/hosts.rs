//! Finds out where hosts are: by configuration, and by the frames that they
//! send (S1-1).
//!
//! A frame that no flow claims and that came in by a port without a link tells
//! that the host with its source address is there. A host that the configuration
//! attaches to a port is there as soon as the port is, until a frame of it comes
//! from elsewhere.

use std::net::Ipv4Addr;

use wire::ethernet::{EtherType, Header, MacAddress};
use wire::openflow::DatapathId;

use crate::config::HostParameters;
use crate::place::PortId;
use crate::view::{Host, MAX_HOSTS, Origin, View};

/// The most hosts that are learned at one port: one that forges addresses fills
/// no table.
pub const MAX_LEARNED_AT_PORT: usize = 64;

/// What became known of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Its port, which was not known.
    Found {
        /// Its name.
        name: String,
        /// Its port.
        port: PortId,
    },
    /// Another port than before.
    Moved {
        /// Its name.
        name: String,
        /// Its port before.
        from: PortId,
        /// Its port now.
        to: PortId,
    },
}

/// The hosts of the configuration, and how others are learned.
#[derive(Clone, Debug)]
pub struct Hosts {
    configured: Vec<HostParameters>,
}

impl Hosts {
    /// Takes the hosts of the configuration into the view, attached to nothing.
    ///
    /// # Panics
    ///
    /// If there are more than [`MAX_HOSTS`], or two share a name or an address.
    #[must_use]
    pub fn new(configured: Vec<HostParameters>, view: &mut View) -> Self {
        assert!(configured.len() <= MAX_HOSTS, "at most {MAX_HOSTS} hosts");
        for host in &configured {
            let added = view.set_host(Host {
                name: host.name.clone(),
                mac: host.mac,
                ipv4: host.ipv4,
                attachment: None,
                origin: Origin::Configured,
            });
            assert!(added.is_some(), "host {} is configured twice", host.name);
        }
        Self { configured }
    }

    /// Attaches the configured hosts of a switch that is connected now.
    pub fn attach(&self, view: &mut View, datapath: DatapathId) -> Vec<Change> {
        let here = |host: &&HostParameters| {
            host.attachment
                .is_some_and(|port| port.datapath == datapath)
        };
        let hosts = self.configured.iter().filter(here);
        hosts
            .filter_map(|host| {
                let known = view.host(&host.name)?;
                if known.attachment.is_some() {
                    return None;
                }
                let (name, port) = (host.name.clone(), host.attachment?);
                let host = Host {
                    attachment: Some(port),
                    ..known.clone()
                };
                view.set_host(host)?;
                Some(Change::Found { name, port })
            })
            .collect()
    }
}

/// Learns from a frame that came in by `port`. Returns what is new.
pub fn learn(view: &mut View, port: PortId, frame: &[u8]) -> Option<Change> {
    let (header, payload) = Header::parse(frame).ok()?;
    let mac = header.source;
    if mac.is_multicast() || mac == MacAddress::ZERO || !view.is_access(port) {
        return None;
    }
    let seen = ipv4_source(header.ether_type, payload);
    let known = view.host_by_mac(mac);
    if known.is_some_and(|host| host.attachment == Some(port))
        || view.hosts_at(port) >= MAX_LEARNED_AT_PORT
    {
        return None;
    }
    let from = known.and_then(|host| host.attachment);
    let host = match known {
        Some(host) => Host {
            attachment: Some(port),
            ipv4: host.ipv4.or(seen),
            ..host.clone()
        },
        None => Host {
            name: mac.to_string(),
            mac,
            ipv4: seen,
            attachment: Some(port),
            origin: Origin::Learned,
        },
    };
    let name = host.name.clone();
    view.set_host(host)?;
    Some(match from {
        Some(from) => Change::Moved {
            name,
            from,
            to: port,
        },
        None => Change::Found { name, port },
    })
}

/// Returns the IPv4 address of the sender, if the frame tells it: in the header
/// of IPv4 (RFC 791 section 3.1) or in an ARP packet (RFC 826).
fn ipv4_source(ether_type: EtherType, payload: &[u8]) -> Option<Ipv4Addr> {
    let at = match ether_type {
        EtherType::IPV4 => 12,
        EtherType::ARP => 14,
        _ => return None,
    };
    let address: [u8; 4] = payload.get(at..at + 4)?.try_into().ok()?;
    let address = Ipv4Addr::from(address);
    (!address.is_unspecified()).then_some(address)
}

#[cfg(test)]
mod tests {
    use units::Instant;
    use wire::openflow::PortNumber;

    use super::*;
    use crate::view::{Carrier, Port};

    const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 7]);

    #[test]
    fn the_first_frame_of_a_host_tells_its_port_and_address() {
        let mut view = one_switch();

        let change = learn(&mut view, port(1), &arp(MAC, [10, 0, 0, 7]));

        assert!(matches!(change, Some(Change::Found { .. })));
        let host = view.host_by_mac(MAC).unwrap();
        assert_eq!(host.attachment, Some(port(1)));
        assert_eq!(host.ipv4, Some(Ipv4Addr::new(10, 0, 0, 7)));
    }

    #[test]
    fn a_second_frame_from_the_same_port_tells_nothing_new() {
        let mut view = one_switch();
        learn(&mut view, port(1), &arp(MAC, [10, 0, 0, 7]));

        let change = learn(&mut view, port(1), &arp(MAC, [10, 0, 0, 7]));

        assert_eq!(change, None);
    }

    #[test]
    fn a_host_that_appears_elsewhere_has_moved() {
        let mut view = one_switch();
        learn(&mut view, port(1), &arp(MAC, [10, 0, 0, 7]));

        let change = learn(&mut view, port(2), &arp(MAC, [10, 0, 0, 7]));

        let moved = Change::Moved {
            name: MAC.to_string(),
            from: port(1),
            to: port(2),
        };
        assert_eq!(change, Some(moved));
    }

    #[test]
    fn one_port_has_room_for_so_many_hosts_and_no_more() {
        let mut view = one_switch();

        for number in 0..=u8::MAX {
            let forged = MacAddress([2, 0, 0, 0, 1, number]);
            learn(&mut view, port(1), &arp(forged, [10, 0, 1, number]));
        }

        assert_eq!(view.hosts().len(), MAX_LEARNED_AT_PORT);
    }

    #[test]
    fn a_group_address_is_no_host() {
        let mut view = one_switch();

        let change = learn(
            &mut view,
            port(1),
            &arp(MacAddress::BROADCAST, [10, 0, 0, 7]),
        );

        assert_eq!(change, None);
    }

    #[test]
    fn a_configured_host_is_there_once_its_switch_is() {
        let mut view = View::default();
        let hosts = Hosts::new(
            vec![HostParameters {
                name: "relay".into(),
                mac: MAC,
                ipv4: None,
                attachment: Some(port(2)),
                unpromised: None,
            }],
            &mut view,
        );
        let before = view.host("relay").unwrap().attachment;

        connect(&mut view);
        let changes = hosts.attach(&mut view, DatapathId(1));

        assert_eq!(before, None);
        assert_eq!(changes.len(), 1);
        assert_eq!(view.host("relay").unwrap().attachment, Some(port(2)));
    }

    fn one_switch() -> View {
        let mut view = View::default();
        connect(&mut view);
        view
    }

    fn connect(view: &mut View) {
        let ports = [1, 2].map(|number| Port {
            number: PortNumber(number),
            mac: MacAddress::ZERO,
            carrier: Carrier::Up,
            link: None,
        });
        view.connect(Instant::ZERO, DatapathId(1), &ports);
    }

    fn port(number: u32) -> PortId {
        PortId::new(DatapathId(1), PortNumber(number))
    }

    fn arp(source: MacAddress, ipv4: [u8; 4]) -> Vec<u8> {
        let mut frame = Vec::new();
        let header = Header {
            destination: MacAddress::BROADCAST,
            source,
            vlan: None,
            ether_type: EtherType::ARP,
        };
        header.emit(&mut frame);
        frame.extend([0, 1, 8, 0, 6, 4, 0, 1]);
        frame.extend(source.0);
        frame.extend(ipv4);
        frame.resize(60, 0);
        frame
    }
}
