//! What travels over the interface for programs beside the nouns of [`api`], as JSON:
//! what a client may leave out or write by a name, and lists.
//!
//! Durations are integers of nanoseconds (`_ns`), rates bits per second (`_bps`),
//! sizes bytes as they occupy the wire (`_bytes`). A datapath id is 16 digits of
//! hexadecimal, a link is named by its ports, as in `1:2-3:1`. What comes in is
//! checked against the limits of the controller before it goes on: no number from
//! outside meets arithmetic that it could overflow.

use std::net::{Ipv4Addr, Ipv6Addr};

use api::{Place, SwitchProfile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub mod application;
pub mod audit;
pub mod flow;
pub mod intent;
pub mod modal;
pub mod page;
pub mod path;
pub mod place;
pub mod requirement;
pub mod room;
pub mod routing;
pub mod statistics;

pub use audit::{AuditDocument, AuditEntry};
pub use flow::{DecisionDocument, DecisionsDocument, FlowDocument, FlowsDocument, HopsDocument};
pub use path::{EndpointDocument, PathQueryDocument, PathsDocument};
pub use requirement::{
    LONGEST_NAME, MatchDocument, RequirementDocument, RequirementsDocument, Unusable,
};
pub use statistics::StatisticsDocument;

/// Which controller answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceDocument {
    /// What it is called.
    pub id: String,
    /// The version of the program.
    pub version: String,
    /// Since when it runs, in nanoseconds since the beginning of 1970.
    pub since_ns: u64,
    /// Whether all that its store kept is known: it decides on requests.
    pub ready: bool,
}

/// The instances of a cluster; none if the controller is no part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstancesDocument {
    /// The epoch in force: how often the right to decide has changed hands, at least.
    pub epoch: Option<u64>,
    pub instances: Vec<ClusterInstance>,
}

/// An instance, as another one knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterInstance {
    /// What it is called.
    pub id: String,
    /// Where programs ask it.
    pub url: String,
    /// Where the others tell it that they live.
    pub address: String,
    /// Whether it is the one that answers this.
    pub answers: bool,
    /// Whether it decides, for all of them.
    pub decides: bool,
    /// Whether it is heard.
    pub lives: bool,
    /// Whether it was started with other tokens, applications, or words on the network than the
    /// one that answers this: it would decide otherwise.
    pub differs: bool,
}

/// What switches are taken to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfilesDocument {
    /// By name of the datapath.
    pub switches: Vec<SwitchProfile>,
}

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

/// What becomes of the cable of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CableDocument {
    /// Whether it is cut; healed otherwise.
    pub cut: bool,
}

/// The body of every answer whose status is 400 or above.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProblemDocument {
    /// What is wrong.
    pub error: ProblemBody,
}

/// What is wrong, for programs and for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProblemBody {
    /// A word that never changes its meaning, as in `unknown-flow`.
    pub code: String,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What to do about it, if there is something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}
