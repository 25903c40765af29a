//! Hosts, as clients name them.

use std::net::{Ipv4Addr, Ipv6Addr};

use api::Place;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What somebody says of a host; its name is in the path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostRequestDocument {
    /// Its address.
    pub mac: String,
    /// Its IPv4 address.
    #[serde(default)]
    pub ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address.
    #[serde(default)]
    pub ipv6: Option<Ipv6Addr>,
    /// Its port; learned from its first frame if left out.
    #[serde(default)]
    pub attachment: Option<Place<String>>,
}
