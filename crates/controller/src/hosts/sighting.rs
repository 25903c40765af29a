//! What a frame tells of the host that sent it.
//!
//! | frame | what it tells |
//! |---|---|
//! | any | its source is at this port |
//! | ARP (RFC 826), gratuitous or not | the sender has the sender's address |
//! | ARP probe (RFC 5227), DHCP from 0.0.0.0 | nothing more: the sender has no address yet |
//! | neighbour or router solicitation (RFC 4861) | the sender has the source address |
//! | the same from the unspecified address (RFC 4862) | nothing more: it asks whether an address is free |
//! | neighbour advertisement | the sender has the target address |
//! | DHCP request of a client that has an address (RFC 2131) | it has it |
//! | DHCP request of another client | it may get an address, if a server says so |
//! | DHCP acknowledgement | the client has the address, if it asked for one |
//! | any other packet | the sender has the source address, or routes for it |
//!
//! What names another station than the one that the frame comes from is not
//! believed: it is relayed or forged.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wire::arp::Arp;
use wire::dhcp::{self, Dhcp, Kind};
use wire::ethernet::{EtherType, Header, MacAddress};
use wire::neighbour_discovery::NdMessage;
use wire::{ipv4, ipv6, udp};

/// A host that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    pub mac: MacAddress,
    /// What else the frame tells.
    pub claim: Claim,
}

/// What a frame tells of IP addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    Nothing,
    /// The host sends packets from this address: its own, or that of somebody
    /// for whom it routes.
    Sends(IpAddr),
    /// The host says that this address is its own.
    Has(IpAddr),
    /// The host has asked a DHCP server for an address.
    Asks {
        /// By which the answer is known.
        transaction: u32,
    },
    /// The host gives an address back.
    Leaves(Ipv4Addr),
    /// The host is a DHCP server and gives an address to another one.
    Gives {
        station: MacAddress,
        transaction: u32,
        address: Ipv4Addr,
    },
}

impl Sighting {
    /// Reads what stands behind the header of a frame. Returns `None` if no host
    /// can have sent it.
    #[must_use]
    pub fn of(header: &Header, payload: &[u8]) -> Option<Self> {
        let mac = header.source;
        if mac.is_multicast() || mac == MacAddress::ZERO {
            return None;
        }
        let claim = match header.ether_type {
            EtherType::ARP => of_arp(mac, payload),
            EtherType::IPV4 => of_ipv4(mac, payload),
            EtherType::IPV6 => of_ipv6(mac, payload),
            _ => None,
        };
        let claim = claim.unwrap_or(Claim::Nothing);
        Some(Self { mac, claim })
    }
}

fn of_arp(mac: MacAddress, packet: &[u8]) -> Option<Claim> {
    let arp = Arp::parse(packet).ok()?;
    (arp.sender_mac == mac && is_host_v4(arp.sender)).then_some(Claim::Has(arp.sender.into()))
}

fn of_ipv4(mac: MacAddress, packet: &[u8]) -> Option<Claim> {
    let (ip, payload) = ipv4::Header::parse(packet).ok()?;
    let sends = || is_host_v4(ip.source).then_some(Claim::Sends(ip.source.into()));
    if ip.protocol != ipv4::PROTOCOL_UDP {
        return sends();
    }
    of_dhcp(mac, payload).or_else(sends)
}

fn of_dhcp(mac: MacAddress, datagram: &[u8]) -> Option<Claim> {
    let (ports, payload) = udp::Header::parse(datagram).ok()?;
    let is_client = match (ports.source_port, ports.destination_port) {
        (dhcp::CLIENT_PORT, dhcp::SERVER_PORT) => true,
        (dhcp::SERVER_PORT, dhcp::CLIENT_PORT) => false,
        _ => return None,
    };
    let dhcp = Dhcp::parse(payload).ok()?;
    if dhcp.kind.is_reply() == is_client || is_client && dhcp.station != mac {
        return None;
    }
    match dhcp.kind {
        Kind::Request | Kind::Inform if is_host_v4(dhcp.client) => {
            Some(Claim::Has(dhcp.client.into()))
        }
        Kind::Request => Some(Claim::Asks {
            transaction: dhcp.transaction,
        }),
        Kind::Release => Some(Claim::Leaves(dhcp.client)),
        Kind::Decline => dhcp.requested.map(Claim::Leaves),
        Kind::Acknowledge => is_host_v4(dhcp.given).then_some(Claim::Gives {
            station: dhcp.station,
            transaction: dhcp.transaction,
            address: dhcp.given,
        }),
        Kind::Discover | Kind::Offer | Kind::Refuse | Kind::Inform => None,
    }
}

fn of_ipv6(mac: MacAddress, packet: &[u8]) -> Option<Claim> {
    let (ip, payload) = ipv6::Header::parse(packet).ok()?;
    if !is_host_v6(ip.source) {
        return None;
    }
    let (station, address) = match NdMessage::parse(&ip, payload) {
        Err(_) => return Some(Claim::Sends(ip.source.into())),
        Ok(
            NdMessage::RouterSolicitation { station }
            | NdMessage::RouterAdvertisement { station }
            | NdMessage::NeighbourSolicitation { station, .. },
        ) => (station, ip.source),
        Ok(NdMessage::NeighbourAdvertisement { target, station }) => (station, target),
    };
    let is_own = station.is_none_or(|station| station == mac);
    (is_own && is_host_v6(address)).then_some(Claim::Has(address.into()))
}

/// Returns whether a host can have this address.
#[must_use]
pub const fn is_host_v4(address: Ipv4Addr) -> bool {
    !(address.is_unspecified()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_loopback())
}

const fn is_host_v6(address: Ipv6Addr) -> bool {
    !(address.is_unspecified() || address.is_multicast() || address.is_loopback())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wire::arp::Operation;

    use super::*;

    const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 7]);
    const OTHER: MacAddress = MacAddress([2, 0, 0, 0, 0, 8]);
    const V4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);
    const V6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 7);

    #[test]
    fn arp_tells_the_address_of_its_sender_and_a_probe_tells_none() {
        for (sender_mac, sender, told) in [
            (MAC, V4, Claim::Has(V4.into())),
            (MAC, Ipv4Addr::UNSPECIFIED, Claim::Nothing),
            (OTHER, V4, Claim::Nothing),
            (MAC, Ipv4Addr::BROADCAST, Claim::Nothing),
        ] {
            let arp = Arp {
                operation: Operation::Request,
                sender_mac,
                sender,
                target_mac: MacAddress::ZERO,
                target: V4,
            };
            let mut frame = ethernet(EtherType::ARP);
            arp.emit(&mut frame);

            assert_eq!(claim(&frame), told);
        }
    }

    #[test]
    fn neighbour_discovery_tells_the_source_or_the_target() {
        let target = Ipv6Addr::from(9);
        let solicits = |station| NdMessage::NeighbourSolicitation { target, station };
        let advertises = |station| NdMessage::NeighbourAdvertisement { target, station };
        for (source, message, told) in [
            (V6, solicits(Some(MAC)), Claim::Has(V6.into())),
            (V6, solicits(Some(OTHER)), Claim::Nothing),
            // A probe for duplicates: the address is not taken yet.
            (Ipv6Addr::UNSPECIFIED, solicits(None), Claim::Nothing),
            (V6, advertises(Some(MAC)), Claim::Has(target.into())),
            (V6, advertises(None), Claim::Has(target.into())),
            (V6, advertises(Some(OTHER)), Claim::Nothing),
            (
                V6,
                NdMessage::RouterSolicitation { station: Some(MAC) },
                Claim::Has(V6.into()),
            ),
        ] {
            let ip = ipv6::Header {
                source,
                destination: target,
                next_header: ipv6::NEXT_HEADER_ICMP,
                hop_limit: 255,
            };
            let mut frame = ethernet(EtherType::IPV6);
            message.emit_packet(&ip, &mut frame);

            assert_eq!(claim(&frame), told, "{message:?}");
        }
    }

    #[test]
    fn dhcp_tells_who_asks_and_who_gets() {
        let none = Ipv4Addr::UNSPECIFIED;
        let gives = Claim::Gives {
            station: OTHER,
            transaction: 5,
            address: V4,
        };
        let asks = Claim::Asks { transaction: 5 };
        for (kind, station, client, told) in [
            (Kind::Discover, MAC, none, Claim::Nothing),
            (Kind::Request, MAC, none, asks),
            (Kind::Request, OTHER, none, Claim::Nothing),
            (Kind::Request, MAC, V4, Claim::Has(V4.into())),
            (Kind::Release, MAC, V4, Claim::Leaves(V4)),
            (Kind::Acknowledge, OTHER, none, gives),
        ] {
            let message = Dhcp {
                kind,
                transaction: 5,
                client,
                given: V4,
                station,
                requested: None,
            };

            assert_eq!(claim(&dhcp(&message)), told, "{kind:?}");
        }
    }

    #[test]
    fn any_other_packet_only_suggests_its_source() {
        let ip = ip(V4, ipv4::PROTOCOL_TCP);
        let mut frame = ethernet(EtherType::IPV4);
        ip.emit(4, &mut frame);
        frame.resize(60, 0);

        assert_eq!(claim(&frame), Claim::Sends(V4.into()));
    }

    proptest! {
        #[test]
        fn no_frame_makes_it_panic(
            ether_type in prop::sample::select(vec![
                EtherType::ARP, EtherType::IPV4, EtherType::IPV6, EtherType::VLAN]),
            payload in prop::collection::vec(any::<u8>(), 0..400),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut frame = ethernet(ether_type);
            frame.extend(&payload);
            let _ = sighting(&frame);
            let _ = sighting(&frame[..cut.index(frame.len())]);
            let _ = sighting(&payload);
        }
    }

    fn sighting(frame: &[u8]) -> Option<Sighting> {
        let (header, payload) = Header::parse(frame).ok()?;
        Sighting::of(&header, payload)
    }

    fn claim(frame: &[u8]) -> Claim {
        let sighting = sighting(frame).unwrap();
        assert_eq!(sighting.mac, MAC);
        sighting.claim
    }

    fn ethernet(ether_type: EtherType) -> Vec<u8> {
        let mut frame = Vec::new();
        let header = Header {
            destination: MacAddress::BROADCAST,
            source: MAC,
            vlan: None,
            ether_type,
        };
        header.emit(&mut frame);
        frame
    }

    fn dhcp(message: &Dhcp) -> Vec<u8> {
        let mut payload = Vec::new();
        message.emit(&mut payload);
        let (client, server) = (dhcp::CLIENT_PORT, dhcp::SERVER_PORT);
        let (source_port, destination_port) = match message.kind.is_reply() {
            true => (server, client),
            false => (client, server),
        };
        let ports = udp::Header {
            source_port,
            destination_port,
        };
        let mut frame = ethernet(EtherType::IPV4);
        let ip = ip(Ipv4Addr::UNSPECIFIED, ipv4::PROTOCOL_UDP);
        ports.emit_packet(&ip, &payload, &mut frame);
        frame
    }

    fn ip(source: Ipv4Addr, protocol: u8) -> ipv4::Header {
        ipv4::Header {
            source,
            destination: Ipv4Addr::BROADCAST,
            protocol,
            traffic_class: 0,
            time_to_live: 64,
        }
    }
}
