//! Reads what a path of the speaker says: a prefix, and the next hop towards it.
//!
//! Paths come from whoever has a session with the speaker. What cannot be used is counted
//! and told, and never taken for something else: a path whose prefix can be read and whose
//! next hop cannot is a withdrawal (treat-as-withdraw, RFC 7606 section 2), any other is left
//! out.

use std::collections::BTreeMap;
use std::net::IpAddr;

use api::{InterfaceAddress, IpPrefix, RouteChange, SdnIp};
use prost::Message;
use thiserror::Error;

use super::messages::{Any, Family, IpAddressPrefix, MpReachNlriAttribute, NextHopAttribute, Path};

/// The longest text that is shown of what a peer sent, in characters.
const LONGEST_SHOWN: usize = 64;

/// What a path says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathReading {
    pub change: RouteChange,
    /// Why a path that is no withdrawal has no next hop that can be used.
    pub fault: Option<NextHopFault>,
}

/// Why a path says nothing of a prefix.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PathFault {
    /// It is no message of that kind.
    #[error("it cannot be read")]
    Unreadable,
    /// It is of a family that this application does not route.
    #[error("family {afi}/{safi} is neither IPv4 nor IPv6 unicast")]
    OtherFamily { afi: i32, safi: i32 },
    /// It has no prefix.
    #[error("it names no prefix but `{kind}`")]
    NoPrefix { kind: String },
    /// The prefix cannot be read.
    #[error("its prefix cannot be read")]
    UnreadablePrefix,
    /// The prefix is none of its family.
    #[error("`{address}/{length}` is no prefix of its family")]
    NotAPrefix { address: String, length: u32 },
}

/// Why a next hop cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NextHopFault {
    #[error("it has no next hop")]
    Missing,
    #[error("its next hop cannot be read")]
    Unreadable,
    #[error("its next hop `{text}` is no address of its family")]
    NotAnAddress { text: String },
    /// Nobody can be reached under this address from here.
    #[error("its next hop {address} is no address of a router")]
    NotARouter { address: IpAddr },
    /// A peer says so of a router behind another port, which has not said so itself.
    #[error("its next hop {address} is on no link with peer {peer}, who told of it")]
    OfAnotherLink { address: IpAddr, peer: IpAddr },
}

/// The subnets of the links with peers, by the peers' addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerLinks {
    subnets: BTreeMap<IpAddr, Vec<InterfaceAddress>>,
}

impl PeerLinks {
    /// Returns those of the settings.
    #[must_use]
    pub fn of(settings: &SdnIp) -> Self {
        let links = settings.peerings.iter().flat_map(|peering| {
            let peers = peering.peers.iter();
            peers.map(|peer| (peer.address, peering.addresses.clone()))
        });
        Self {
            subnets: links.collect(),
        }
    }

    /// Returns whether what this peer tells may have this next hop: it is on a link with it
    /// (RFC 4271 section 5.1.3). Nothing is known of links with other peers.
    fn allow(&self, peer: IpAddr, next_hop: IpAddr) -> bool {
        let subnets = self.subnets.get(&peer);
        subnets.is_none_or(|subnets| subnets.iter().any(|it| it.reaches(next_hop)))
    }
}

/// Reads a path as it comes from the speaker: the bytes of a message `apipb.Path`.
///
/// # Errors
///
/// If they are no such message, or say nothing of an IPv4 or IPv6 prefix.
pub fn read_message(bytes: &[u8], links: &PeerLinks) -> Result<PathReading, PathFault> {
    let path = Path::decode(bytes).map_err(|_| PathFault::Unreadable)?;
    read(&path, links)
}

/// Reads a path.
///
/// # Errors
///
/// If it says nothing of an IPv4 or IPv6 prefix.
pub fn read(path: &Path, links: &PeerLinks) -> Result<PathReading, PathFault> {
    let family = path.family.unwrap_or_default();
    if ![Family::IPV4_UNICAST, Family::IPV6_UNICAST].contains(&family) {
        let Family { afi, safi } = family;
        return Err(PathFault::OtherFamily { afi, safi });
    }
    let prefix = prefix(path.nlri.as_ref(), family)?;
    let of = |next_hop, fault| PathReading {
        change: RouteChange { prefix, next_hop },
        fault,
    };
    if path.is_withdraw {
        return Ok(of(None, None));
    }
    Ok(match next_hop(&path.attributes, family) {
        // A route of the speaker's own has no next hop (RFC 4271 section 5.1.3).
        Ok(address) if address.is_unspecified() => of(None, None),
        Ok(address) if !is_of_a_router(address) => {
            of(None, Some(NextHopFault::NotARouter { address }))
        }
        Ok(address) => match path.neighbor_ip.parse() {
            Ok(peer) if !links.allow(peer, address) => {
                of(None, Some(NextHopFault::OfAnotherLink { address, peer }))
            }
            Ok(_) | Err(_) => of(Some(address), None),
        },
        Err(fault) => of(None, Some(fault)),
    })
}

fn prefix(nlri: Option<&Any>, family: Family) -> Result<IpPrefix, PathFault> {
    let kind = nlri.map(kind).unwrap_or_default();
    let Some(nlri) = nlri.filter(|_| kind == "apipb.IPAddressPrefix") else {
        let kind = shown(kind);
        return Err(PathFault::NoPrefix { kind });
    };
    let said = IpAddressPrefix::decode(&*nlri.value).map_err(|_| PathFault::UnreadablePrefix)?;
    let length = u8::try_from(said.prefix_len).ok();
    let address = address_of(&said.prefix, family);
    let prefix = address.zip(length).and_then(|(address, length)| {
        // What stands behind the length has no meaning (RFC 4271 section 4.3).
        IpPrefix::of(address, length).ok()
    });
    prefix.ok_or_else(|| PathFault::NotAPrefix {
        address: shown(&said.prefix),
        length: said.prefix_len,
    })
}

fn next_hop(attributes: &[Any], family: Family) -> Result<IpAddr, NextHopFault> {
    for attribute in attributes {
        let text = match kind(attribute) {
            "apipb.NextHopAttribute" => {
                let said = NextHopAttribute::decode(&*attribute.value);
                Some(said.map_err(|_| NextHopFault::Unreadable)?.next_hop)
            }
            "apipb.MpReachNLRIAttribute" => {
                let said = MpReachNlriAttribute::decode(&*attribute.value);
                let said = said.map_err(|_| NextHopFault::Unreadable)?;
                said.next_hops.into_iter().next()
            }
            _ => continue,
        };
        let text = text.ok_or(NextHopFault::Missing)?;
        let address = address_of(&text, family);
        return address.ok_or_else(|| NextHopFault::NotAnAddress { text: shown(&text) });
    }
    Err(NextHopFault::Missing)
}

/// Returns what kind of message is in it.
fn kind(any: &Any) -> &str {
    any.type_url.rsplit('/').next().unwrap_or_default()
}

fn address_of(text: &str, family: Family) -> Option<IpAddr> {
    match family {
        Family::IPV4_UNICAST => text.parse().ok().map(IpAddr::V4),
        _ => text.parse().ok().map(IpAddr::V6),
    }
}

/// Tells whether an address can be a router's that is asked for by ARP or neighbour
/// discovery. A link-local one says nothing of the link that it is on.
fn is_of_a_router(address: IpAddr) -> bool {
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(is_link_local || address.is_loopback() || address.is_multicast())
}

fn shown(text: &str) -> String {
    text.chars().take(LONGEST_SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn packed(kind: &str, message: &impl Message) -> Any {
        Any {
            type_url: format!("type.googleapis.com/apipb.{kind}"),
            value: message.encode_to_vec(),
        }
    }

    fn links() -> PeerLinks {
        let subnet = InterfaceAddress::try_from("192.0.2.1/29".to_owned()).unwrap();
        let peer = IpAddr::from([192, 0, 2, 2]);
        PeerLinks {
            subnets: BTreeMap::from([(peer, vec![subnet])]),
        }
    }

    fn path(prefix: &str, prefix_len: u32, next_hop: &str) -> Path {
        let prefix = prefix.to_owned();
        let (family, attribute) = match prefix.contains(':') {
            false => {
                let next_hop = next_hop.to_owned();
                let attribute = packed("NextHopAttribute", &NextHopAttribute { next_hop });
                (Family::IPV4_UNICAST, attribute)
            }
            true => {
                let next_hops = vec![next_hop.to_owned(), "fe80::1".to_owned()];
                let attribute = MpReachNlriAttribute { next_hops };
                let attribute = packed("MpReachNLRIAttribute", &attribute);
                (Family::IPV6_UNICAST, attribute)
            }
        };
        let nlri = IpAddressPrefix { prefix_len, prefix };
        Path {
            nlri: Some(packed("IPAddressPrefix", &nlri)),
            attributes: vec![packed("OriginAttribute", &Family::default()), attribute],
            family: Some(family),
            ..Path::default()
        }
    }

    #[test]
    fn a_path_of_either_family_is_read_and_its_withdrawal_has_no_next_hop() {
        for (prefix, length, next_hop, is) in [
            ("10.1.0.0", 16, "192.0.2.1", "10.1.0.0/16"),
            ("10.1.2.3", 16, "192.0.2.1", "10.1.0.0/16"),
            ("0.0.0.0", 0, "192.0.2.1", "0.0.0.0/0"),
            ("2001:db8::", 32, "2001:db8::9", "2001:db8::/32"),
            ("2001:db8::1", 128, "2001:db8::9", "2001:db8::1/128"),
        ] {
            let mut path = path(prefix, length, next_hop);

            let reading = read(&path, &links()).unwrap();
            path.is_withdraw = true;
            let withdrawal = read(&path, &links()).unwrap();

            assert_eq!(reading.change.prefix.to_string(), is);
            assert_eq!(reading.change.next_hop, Some(next_hop.parse().unwrap()));
            assert_eq!(withdrawal.change.prefix, reading.change.prefix);
            assert_eq!(withdrawal.change.next_hop, None);
            assert_eq!((reading.fault, withdrawal.fault), (None, None));
        }
    }

    #[test]
    fn a_prefix_whose_next_hop_is_of_no_use_is_withdrawn_and_it_is_told_why() {
        for (prefix, length, next_hop, why) in [
            ("10.1.0.0", 16, "fish", "`fish` is no address of its family"),
            ("10.1.0.0", 16, "2001:db8::1", "no address of its family"),
            ("10.1.0.0", 16, "224.0.0.1", "no address of a router"),
            ("10.1.0.0", 16, "127.0.0.1", "no address of a router"),
            ("2001:db8::", 32, "fe80::1", "no address of a router"),
            ("2001:db8::", 32, "192.0.2.1", "no address of its family"),
        ] {
            let reading = read(&path(prefix, length, next_hop), &links()).unwrap();

            assert_eq!(reading.change.next_hop, None);
            let fault = reading.fault.unwrap().to_string();
            assert!(fault.contains(why), "{fault}");
        }
    }

    #[test]
    fn a_route_of_the_speakers_own_is_nobodys_fault() {
        let reading = read(&path("10.1.0.0", 16, "0.0.0.0"), &links()).unwrap();

        assert_eq!((reading.change.next_hop, reading.fault), (None, None));
    }

    #[test]
    fn a_peer_leads_packets_to_routers_on_its_own_links_alone() {
        for (peer, next_hop, is_allowed) in [
            ("192.0.2.2", "192.0.2.3", true),
            ("192.0.2.2", "198.51.100.2", false),
            ("203.0.113.1", "198.51.100.2", true),
            ("<nil>", "198.51.100.2", true),
        ] {
            let mut path = path("10.1.0.0", 16, next_hop);
            path.neighbor_ip = peer.to_owned();

            let reading = read(&path, &links()).unwrap();

            assert_eq!(reading.change.next_hop.is_some(), is_allowed, "{peer}");
            assert_eq!(reading.fault.is_none(), is_allowed, "{peer}");
        }
    }

    #[test]
    fn what_names_no_prefix_is_refused() {
        let mut evpn = path("10.1.0.0", 16, "192.0.2.1");
        evpn.family = Some(Family { afi: 25, safi: 70 });
        assert!(
            read(&evpn, &links())
                .unwrap_err()
                .to_string()
                .contains("25/70")
        );
        for (prefix, length) in [
            ("10.1.0.0", 33),
            ("10.1.0.0", u32::MAX),
            ("10.1.0", 16),
            ("", 0),
        ] {
            let refused = read(&path(prefix, length, "192.0.2.1"), &links()).unwrap_err();

            let address = prefix.to_owned();
            assert_eq!(refused, PathFault::NotAPrefix { address, length });
        }
        let mut nothing = path("10.1.0.0", 16, "192.0.2.1");
        nothing.nlri = None;
        assert!(matches!(
            read(&nothing, &links()),
            Err(PathFault::NoPrefix { .. })
        ));
    }

    fn drawn_any() -> impl Strategy<Value = Any> {
        let kinds = prop::sample::select(vec![
            "IPAddressPrefix",
            "NextHopAttribute",
            "MpReachNLRIAttribute",
            "OriginAttribute",
            "",
        ]);
        let address = prop_oneof![
            any::<Ipv4Addr>().prop_map(|it| it.to_string()),
            any::<Ipv6Addr>().prop_map(|it| it.to_string()),
            ".{0,80}",
        ];
        let value = prop_oneof![
            vec(any::<u8>(), 0..40),
            (0u32..140, address.clone()).prop_map(|(prefix_len, prefix)| {
                IpAddressPrefix { prefix_len, prefix }.encode_to_vec()
            }),
            address
                .clone()
                .prop_map(|next_hop| NextHopAttribute { next_hop }.encode_to_vec()),
            vec(address, 0..3)
                .prop_map(|next_hops| MpReachNlriAttribute { next_hops }.encode_to_vec()),
        ];
        (kinds, value).prop_map(|(kind, value)| Any {
            type_url: format!("type.googleapis.com/apipb.{kind}"),
            value,
        })
    }

    proptest! {
        /// Whatever a path holds, what is read of it is a prefix without bits behind its
        /// length and a next hop of the same family that can be a router's.
        #[test]
        fn nothing_that_is_read_is_of_two_families_or_out_of_reach(
            nlri in proptest::option::of(drawn_any()),
            attributes in vec(drawn_any(), 0..4),
            afi in 0..4,
            is_withdraw: bool,
            neighbor_ip in prop_oneof!["192[.]0[.]2[.]2", ".{0,20}"],
        ) {
            let family = Some(Family { afi, safi: 1 });
            let path = Path { nlri, attributes, family, is_withdraw, best: false, neighbor_ip };

            if let Ok(reading) = read(&path, &links()) {
                let RouteChange { prefix, next_hop } = reading.change;
                prop_assert_eq!(prefix.to_string().parse(), Ok(prefix));
                prop_assert_eq!(prefix.to_string().contains(':'), afi == 2);
                if let Some(next_hop) = next_hop {
                    prop_assert_eq!(next_hop.is_ipv6(), afi == 2);
                    prop_assert!(is_of_a_router(next_hop) && !next_hop.is_unspecified());
                    prop_assert!(!is_withdraw && reading.fault.is_none());
                }
            }
        }

        /// Bytes that are no message of the speaker's are an error, and no panic.
        #[test]
        fn drawn_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..400)) {
            if let Ok(event) = super::super::messages::WatchEventResponse::decode(&*bytes)
                && let Some(super::super::messages::WatchedEvent::Table(table)) = event.event
            {
                for path in &table.paths {
                    let _ = read(path, &links());
                }
            }
        }
    }
}
