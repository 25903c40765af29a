//! The network as one router among others: routes, peers and the speaker (S1-10).
//!
//! BGP is spoken by a daemon beside the network, the speaker. Whoever listens to it tells the
//! controller which next hop is best for which prefix; the controller leads packets there.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use units::Instant;
use wire::ethernet::MacAddress;

use crate::ip_prefix::IpPrefix;
use crate::place::{Place, PortId};

/// The most changes of routes in one request.
pub const MAX_ROUTE_CHANGES: usize = 4_096;
/// The most routes in one part of a list.
pub const MAX_ROUTES_AT_ONCE: usize = 4_096;
/// The most routes that settings may allow.
pub const MAX_ROUTES: u32 = 1 << 20;
/// The most ports with outside routers.
pub const MAX_PEERINGS: usize = 256;
/// The most routers behind one port.
pub const MAX_PEERS: usize = 64;

/// How the network is a router: validated, and kept nowhere but in the file it came from.
///
/// Ports are of type `P`: what the controller knows them by, or what a document calls them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[serde(bound(deserialize = "P: Deserialize<'de>"))]
#[schemars(bound = "P: JsonSchema + Serialize", rename = "SdnIpDocument")]
pub struct SdnIp<P = PortId> {
    /// The speaker's address, to which outside routers send their frames.
    #[schemars(with = "String")]
    pub router_mac: MacAddress,
    /// The port where the speaker is.
    pub speaker: P,
    /// Where outside routers are.
    pub peerings: Vec<Peering<P>>,
    /// The prefixes of the network's own hosts: never taken from a peer.
    #[serde(default)]
    pub own_prefixes: Vec<IpPrefix>,
    /// Whether routes to everywhere are taken from peers.
    #[serde(default)]
    pub accept_default: bool,
    /// The most prefixes that are taken.
    #[serde(default = "default_max_prefixes")]
    pub max_prefixes: u32,
    /// How long routes are kept while the speaker is gone (RFC 4724 section 4.2), in seconds.
    #[serde(default = "default_stale_time_s")]
    pub stale_time_s: u32,
    /// How routes that come and go are damped (RFC 2439); without it they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damping: Option<Damping>,
}

const fn default_max_prefixes() -> u32 {
    150_000
}

const fn default_stale_time_s() -> u32 {
    120
}

/// A port with outside routers behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[serde(bound(deserialize = "P: Deserialize<'de>"))]
#[schemars(bound = "P: JsonSchema + Serialize", rename = "PeeringDocument")]
pub struct Peering<P = PortId> {
    /// Its name.
    pub name: String,
    /// The port.
    pub port: P,
    /// The speaker's addresses there.
    pub addresses: Vec<InterfaceAddress>,
    /// The routers.
    pub peers: Vec<Peer>,
}

/// An address with the length of the prefix that its link has: `192.0.2.1/30`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline, with = "String")]
pub struct InterfaceAddress {
    /// The address.
    pub address: IpAddr,
    /// The length of the prefix, in bits.
    pub length: u8,
}

impl InterfaceAddress {
    /// Returns whether another address is on the same link.
    #[must_use]
    pub fn reaches(self, other: IpAddr) -> bool {
        IpPrefix::of(self.address, self.length).is_ok_and(|subnet| subnet.contains(other))
    }
}

impl TryFrom<String> for InterfaceAddress {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parts = text.split_once('/');
        let parsed =
            parts.and_then(|(address, length)| Some((address.parse().ok()?, length.parse().ok()?)));
        let (address, length) = parsed
            .ok_or_else(|| format!("expected an address as in `192.0.2.1/30`, not `{text}`"))?;
        IpPrefix::of(address, length).map_err(|error| error.to_string())?;
        Ok(Self { address, length })
    }
}

impl From<InterfaceAddress> for String {
    fn from(it: InterfaceAddress) -> Self {
        format!("{}/{}", it.address, it.length)
    }
}

/// An outside router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PeerDocument")]
pub struct Peer {
    /// Its address.
    pub address: IpAddr,
    /// The address of its interface; asked for by ARP or neighbour discovery if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub mac: Option<MacAddress>,
    /// The number of its autonomous system, to be shown.
    #[serde(default)]
    pub autonomous_system: u32,
}

/// How routes that come and go are damped, in the terms of RFC 2439 section 4.2. A withdrawal
/// costs 1,000, another next hop 500.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DampingDocument")]
pub struct Damping {
    /// The time in which a penalty halves, in seconds.
    #[serde(default = "default_half_life_s")]
    pub half_life_s: u32,
    /// Above which penalty a route is not used.
    #[serde(default = "default_suppress")]
    pub suppress: u32,
    /// Below which penalty it is used again.
    #[serde(default = "default_reuse")]
    pub reuse: u32,
}

impl Default for Damping {
    fn default() -> Self {
        Self {
            half_life_s: default_half_life_s(),
            suppress: default_suppress(),
            reuse: default_reuse(),
        }
    }
}

const fn default_half_life_s() -> u32 {
    60
}

const fn default_suppress() -> u32 {
    3_000
}

const fn default_reuse() -> u32 {
    750
}

/// Why settings of the router cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SdnIpError {
    /// Nobody has such an address.
    #[error("{0} is no address of one interface: give `router_mac` that of the speaker")]
    NoStation(MacAddress),
    /// A number is beyond what there is room for.
    #[error("{what} is {value}: at least {least} and at most {most} can be")]
    OutOfRange {
        /// Which number.
        what: String,
        /// What it is.
        value: u64,
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// Two peerings have a port in common, or one has that of the speaker.
    #[error("peering {name} is at a port that another one or the speaker has")]
    PortTaken {
        /// Its name.
        name: String,
    },
    /// Two peerings, or two peers, have the same address.
    #[error("address {0} is there twice")]
    AddressTwice(IpAddr),
    /// A peer is on no link of the speaker.
    #[error("peer {address} of peering {name} is in no subnet of the addresses there")]
    PeerOutside {
        /// The peering.
        name: String,
        /// The peer.
        address: IpAddr,
    },
    /// Thresholds of damping contradict each other.
    #[error("damping reuses at {reuse}, which has to be above 0 and below {suppress}")]
    Thresholds {
        /// The threshold of reuse.
        reuse: u32,
        /// That of suppression.
        suppress: u32,
    },
}

impl<P: Ord> SdnIp<P> {
    /// Says whether these settings can be.
    ///
    /// # Errors
    ///
    /// The first reason why not.
    pub fn check(&self) -> Result<(), SdnIpError> {
        if self.router_mac.is_multicast() || self.router_mac == MacAddress::ZERO {
            return Err(SdnIpError::NoStation(self.router_mac));
        }
        in_range(
            "max_prefixes",
            self.max_prefixes.into(),
            1,
            MAX_ROUTES.into(),
        )?;
        in_range("stale_time_s", self.stale_time_s.into(), 1, 86_400)?;
        in_range(
            "peerings",
            self.peerings.len() as u64,
            1,
            MAX_PEERINGS as u64,
        )?;
        if let Some(damping) = self.damping {
            in_range("half_life_s", damping.half_life_s.into(), 1, 86_400)?;
            in_range("suppress", damping.suppress.into(), 1, 1_000_000)?;
            let Damping {
                reuse, suppress, ..
            } = damping;
            if reuse == 0 || reuse >= suppress {
                return Err(SdnIpError::Thresholds { reuse, suppress });
            }
        }
        self.check_peerings()
    }

    fn check_peerings(&self) -> Result<(), SdnIpError> {
        let mut ports = std::collections::BTreeSet::from([&self.speaker]);
        let mut addresses = std::collections::BTreeSet::new();
        for peering in &self.peerings {
            if !ports.insert(&peering.port) {
                let name = peering.name.clone();
                return Err(SdnIpError::PortTaken { name });
            }
            let what = format!("the number of peers of {}", peering.name);
            in_range(&what, peering.peers.len() as u64, 1, MAX_PEERS as u64)?;
            let own = peering.addresses.iter().map(|own| own.address);
            for address in own.chain(peering.peers.iter().map(|peer| peer.address)) {
                if !addresses.insert(address) {
                    return Err(SdnIpError::AddressTwice(address));
                }
            }
            for Peer { address, mac, .. } in &peering.peers {
                if !peering.addresses.iter().any(|own| own.reaches(*address)) {
                    return Err(SdnIpError::PeerOutside {
                        name: peering.name.clone(),
                        address: *address,
                    });
                }
                if let Some(mac) = mac.filter(|mac| mac.is_multicast()) {
                    return Err(SdnIpError::NoStation(mac));
                }
            }
        }
        Ok(())
    }
}

fn in_range(what: &str, value: u64, least: u64, most: u64) -> Result<(), SdnIpError> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(SdnIpError::OutOfRange {
            what: what.to_owned(),
            value,
            least,
            most,
        }),
    }
}

/// What changed about a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RouteChangeDocument")]
pub struct RouteChange {
    /// The prefix.
    pub prefix: IpPrefix,
    /// The best next hop for it; nothing if there is none any more.
    pub next_hop: Option<IpAddr>,
}

/// What a request with changes of routes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "part")]
#[schemars(rename = "RoutePartDocument")]
pub enum RoutePart {
    /// What has changed.
    Increment,
    /// A part of all routes that there are. When the last one has come, routes that none of
    /// them named are withdrawn.
    Snapshot {
        /// Whether it is the first one.
        is_first: bool,
        /// Whether it is the last one.
        is_last: bool,
    },
}

/// Why a route is not taken. What was known of its prefix is withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "refusal")]
#[schemars(rename = "RouteRefusalDocument")]
pub enum RouteRefusal {
    /// It is a prefix of the network's own hosts, or within one.
    #[error("it is within {own}, which is the network's own")]
    Own {
        /// The own prefix.
        own: IpPrefix,
    },
    /// It is all addresses, and `accept_default` does not say that such are taken.
    #[error("routes to everywhere are not taken: `accept_default` is not set")]
    Default,
    /// No packet from outside goes there: loopback, link-local, multicast, or this host
    /// (RFC 6890).
    #[error("its addresses are never routed")]
    Martian,
    /// The next hop is in none of the subnets of peerings.
    #[error("next hop {next_hop} is in no subnet of a peering")]
    NextHopOutside {
        /// The next hop.
        next_hop: IpAddr,
    },
    /// The next hop is the speaker itself.
    #[error("next hop {next_hop} is the speaker's own address")]
    NextHopOwn {
        /// The next hop.
        next_hop: IpAddr,
    },
    /// The next hop has addresses of the other family.
    #[error("next hop {next_hop} is of another family")]
    OtherFamily {
        /// The next hop.
        next_hop: IpAddr,
    },
    /// There are more next hops than there is room for.
    #[error("there are {limit} next hops, and there cannot be more")]
    TooManyNextHops {
        /// How many.
        limit: u32,
    },
    /// As many prefixes were taken as settings or tables have room for.
    #[error("there are {limit} prefixes, and there is room for no more")]
    TooMany {
        /// How many.
        limit: u32,
    },
}

/// What became of changes of routes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RoutesChangedDocument")]
pub struct RoutesChanged {
    /// How many were taken.
    pub accepted: usize,
    /// The others, and why.
    pub refused: Vec<RefusedRoute>,
}

/// A route that is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RefusedRouteDocument")]
pub struct RefusedRoute {
    /// Its prefix.
    pub prefix: IpPrefix,
    /// Why.
    #[serde(flatten)]
    pub reason: RouteRefusal,
}

/// Whether the speaker can be heard, as whoever listens to it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum SpeakerState {
    /// It can: a snapshot follows.
    Connected,
    /// It cannot. Its routes are kept for a while.
    Lost,
}

/// A route in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RoutedPrefixDocument")]
pub struct RoutedPrefix {
    /// Its prefix.
    pub prefix: IpPrefix,
    /// Its next hop.
    pub next_hop: IpAddr,
    /// The address of the next hop's interface, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub mac: Option<MacAddress>,
    /// The port by which packets leave.
    pub egress: Place,
    /// Since when it is as it is, in nanoseconds since the beginning of 1970.
    #[serde(rename = "since_ns")]
    #[schemars(with = "u64")]
    pub since: Instant,
    /// How far it is.
    #[serde(flatten)]
    pub state: RouteState,
    /// Whether it is kept from before the speaker was lost.
    pub is_stale: bool,
    /// How many switches have confirmed it.
    pub confirmed: usize,
    /// How many switches with outside routers there are.
    pub ingresses: usize,
}

/// How far a route is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state")]
#[schemars(rename = "RouteStateDocument")]
pub enum RouteState {
    /// Packets go to its next hop, at the switches that have confirmed it.
    Installed,
    /// The same, by the entry of a shorter prefix with the same next hop.
    Aggregated,
    /// It comes and goes, and is not used for a while.
    Damped,
    /// Nobody knows yet where its next hop is.
    Unresolved,
    /// A switch has refused its entry: packets of some peers do not arrive.
    Refused,
}

/// How the network is as a router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RoutingStatusDocument")]
pub struct RoutingStatus {
    /// Whether the speaker is heard.
    pub speaker: SpeakerState,
    /// Since when, in nanoseconds since the beginning of 1970.
    #[serde(rename = "speaker_since_ns")]
    #[schemars(with = "u64")]
    pub speaker_since: Instant,
    /// Whether all of its routes are known, since it was last heard of.
    pub is_complete: bool,
    /// How many prefixes have a route.
    pub prefixes: u32,
    /// How many of those have an entry of their own.
    pub entries: u32,
    /// How many are damped.
    pub damped: u32,
    /// How many switches have refused an entry of theirs, all switches together.
    pub refused: u32,
    /// The most prefixes that are taken.
    pub max_prefixes: u32,
    /// About how much memory routes take, in bytes.
    pub memory_bytes: u64,
    /// How many changes were taken since the start.
    pub changes: u64,
    /// How many were refused.
    pub refusals: u64,
    /// The next hops.
    pub next_hops: Vec<NextHopSummary>,
    /// The switches with outside routers.
    pub ingresses: Vec<IngressSummary>,
    /// The connections of outside routers with the speaker.
    pub peerings: Vec<PeeringSummary>,
}

/// A next hop in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NextHopDocument")]
pub struct NextHopSummary {
    /// Its address.
    pub address: IpAddr,
    /// The address of its interface, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub mac: Option<MacAddress>,
    /// Its port.
    pub at: Place,
    /// How many prefixes it is the next hop of.
    pub prefixes: u32,
    /// Whether all switches that it needs have confirmed the way to it.
    pub is_reachable: bool,
}

/// A switch with outside routers in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "IngressDocument")]
pub struct IngressSummary {
    /// Its name.
    pub switch: String,
    /// How many entries of prefixes it was sent, or was told to delete, since it connected.
    pub sent: u64,
    /// How many changes wait to be sent to it.
    pub waiting: u64,
    /// How many parts it was sent and has not confirmed.
    pub unconfirmed: u64,
    /// How many it has refused.
    pub refused: u32,
    /// For how many its table has room, as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<u32>,
}

/// A peering in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PeeringSummaryDocument")]
pub struct PeeringSummary {
    /// Its name.
    pub name: String,
    /// Its port.
    pub at: Place,
    /// Whether frames between its routers and the speaker have a way, and all switches on it
    /// have confirmed that.
    pub is_connected: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> SdnIp {
        let text = r#"{
            "router_mac": "02:00:00:00:00:01",
            "speaker": "1:9",
            "peerings": [{
                "name": "north", "port": "2:3", "addresses": ["192.0.2.1/30"],
                "peers": [{ "address": "192.0.2.2", "autonomous_system": 65001 }]
            }]
        }"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn settings_have_defaults_and_can_be() {
        let settings = settings();

        assert_eq!(settings.check(), Ok(()));
        assert_eq!(
            (settings.stale_time_s, settings.accept_default),
            (120, false)
        );
    }

    #[test]
    fn settings_that_contradict_themselves_are_refused() {
        let refused = |change: fn(&mut SdnIp)| {
            let mut settings = settings();
            change(&mut settings);
            settings.check().is_err()
        };

        assert!(refused(|it| it.router_mac = MacAddress::BROADCAST));
        assert!(refused(|it| it.max_prefixes = 0));
        assert!(refused(|it| it.peerings.clear()));
        assert!(refused(|it| it.peerings[0].port = it.speaker));
        assert!(refused(
            |it| it.peerings[0].peers[0].address = [203, 0, 113, 9].into()
        ));
        assert!(refused(|it| it.peerings.push(it.peerings[0].clone())));
        assert!(refused(|it| it.damping = Some(Damping {
            reuse: 9_000,
            ..Damping::default()
        })));
    }
}
