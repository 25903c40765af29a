//! Switches, ports, links and hosts.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Instant;
use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};

use crate::place::{LinkEnds, Place};
use crate::profile::ProfileStanding;

/// The network as the controller knows it at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TopologyDocument")]
pub struct Topology {
    /// All switches that were ever connected.
    pub switches: Vec<Switch>,
    /// All links that were ever found.
    pub links: Vec<Link>,
    /// All hosts.
    pub hosts: Vec<Host>,
    /// How many of them there are now.
    pub counts: Counts,
}

/// What there is now: what is gone is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CountsDocument")]
pub struct Counts {
    /// The switches that are connected.
    pub switches: usize,
    /// The links that are up.
    pub links: usize,
    /// The hosts whose port is known.
    pub hosts: usize,
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SwitchDocument")]
pub struct Switch {
    /// Its datapath id, 16 digits of hexadecimal.
    #[schemars(with = "String")]
    pub datapath: DatapathId,
    /// Its name; the short form of its datapath id if nobody named it.
    pub name: String,
    /// Whether it listens to the controller.
    pub connected: bool,
    /// Whether what is seen of it agrees with its profile.
    #[serde(default = "unwatched")]
    pub profile: ProfileStanding,
    /// Its ports, by number.
    pub ports: Vec<Port>,
}

fn unwatched() -> ProfileStanding {
    ProfileStanding::Unwatched
}

/// A port of a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PortDocument")]
pub struct Port {
    /// Its number.
    #[schemars(with = "u32")]
    pub port: PortNumber,
    /// Its own address.
    #[schemars(with = "String")]
    pub mac: MacAddress,
    /// Whether it has a carrier.
    pub up: bool,
    /// The id of the link that was last seen to end here, up or down.
    pub link: Option<LinkEnds>,
}

/// A link between two switches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LinkDocument")]
pub struct Link {
    /// Its name, made of its ports, as in `1:2-3:1`.
    pub id: LinkEnds,
    /// The ports that it joins.
    pub ends: [Place; 2],
    /// Whether it carries frames both ways.
    pub up: bool,
    /// Whether a switch at an end of it is not connected: nobody knows whether it
    /// carries frames.
    #[serde(default)]
    pub away: bool,
    /// Since when it is up or down, in nanoseconds since the beginning of 1970.
    #[serde(rename = "since_ns")]
    #[schemars(with = "u64")]
    pub since: Instant,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HostDocument")]
pub struct Host {
    /// Its name; its address if nobody named it.
    pub name: String,
    /// Its address.
    #[schemars(with = "String")]
    pub mac: MacAddress,
    /// Its IP addresses, in the order in which they became known.
    pub addresses: Vec<IpAddr>,
    /// Its port, if known.
    pub attachment: Option<Place>,
    /// How the controller came to know it.
    pub origin: HostOrigin,
}

/// How the controller came to know a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostOrigin {
    /// The network file names it.
    Configured,
    /// Somebody named it while the controller ran.
    Named,
    /// A frame of it arrived.
    Learned,
}

/// All hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HostsDocument")]
pub struct Hosts {
    /// In the order in which they became known.
    pub hosts: Vec<Host>,
}
