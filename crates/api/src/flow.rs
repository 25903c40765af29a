//! Flows with a promise, and how their promises stand.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Instant;
use wire::openflow::DatapathId;

use crate::place::{LinkEnds, PortId};

/// A flow that was admitted; never given twice in the life of a network.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[schemars(with = "u32")]
pub struct FlowId(pub u32);

/// Which way a flow takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "way")]
#[schemars(rename = "TravelsDocument")]
pub enum Travels {
    /// The one it was admitted on.
    Base,
    /// The alternative for the failure of a link.
    Alternative {
        /// The id of that link.
        without: LinkEnds,
    },
    /// A way that was found after failures for which nothing was prepared.
    Detour,
    /// None: it waits for a link to come back.
    Nowhere,
}

impl fmt::Display for Travels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base => f.write_str("the usual way"),
            Self::Alternative { without } => write!(f, "the way around {without}"),
            Self::Detour => f.write_str("a detour"),
            Self::Nowhere => f.write_str("nowhere"),
        }
    }
}

/// How a promise stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PromiseDocument")]
pub struct Promise {
    /// Whether it holds.
    #[serde(rename = "promise")]
    pub state: PromiseState,
    /// Since when that is so, or was last known to be otherwise, in nanoseconds since the
    /// beginning of 1970.
    #[serde(rename = "promise_since_ns", default)]
    pub since: Instant,
    /// What says so; nothing if it holds or there is none.
    #[serde(
        rename = "promise_cause",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub cause: Option<Cause>,
}

/// Whether a promise holds.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PromiseState {
    /// The flow is best effort: there is none.
    None,
    /// Everything that it rests on was confirmed within the time in which a failure is
    /// noticed: sessions, probes, entries, the carriers of its ends.
    Holds,
    /// What it rests on cannot be seen now; frames may arrive as before.
    Unknown,
    /// Something that it rests on is not as it should be, and is being mended.
    Disturbed,
    /// More has failed than it covers.
    NotCovered,
    /// The network does not do what was promised, though nothing has failed that the
    /// promise does not cover.
    Broken,
}

impl PromiseState {
    /// Returns its name, as programs spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Holds => "holds",
            Self::Unknown => "unknown",
            Self::Disturbed => "disturbed",
            Self::NotCovered => "not-covered",
            Self::Broken => "broken",
        }
    }
}

impl fmt::Display for PromiseState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "best effort",
            Self::NotCovered => "not covered",
            Self::Holds | Self::Unknown | Self::Disturbed | Self::Broken => self.name(),
        })
    }
}

/// Why a promise is not said to hold: in documents, in words. Switches are told by the
/// names that the controller calls them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Cause {
    /// A switch on its way is not heard: its session is gone or silent.
    NotHeard {
        /// Its datapath id.
        datapath: DatapathId,
        /// What it is called.
        switch: String,
    },
    /// Another controller is the master of a switch on its way.
    OtherMaster {
        /// What the switch is called.
        switch: String,
    },
    /// A switch on its way is connected again, and what it has was not compared yet.
    NotCompared {
        /// What it is called.
        switch: String,
    },
    /// A switch on its way has not confirmed its entry, or has lost it.
    NotConfirmed {
        /// What it is called.
        switch: String,
    },
    /// Frames with the address of one of its hosts come in where that is not.
    Disputed {
        /// The name of the host.
        host: String,
        /// Where they come in.
        at: PortId,
    },
    /// Its frames are being led around a link that is broken.
    Moving,
    /// A link on its way is not known to be up.
    LinkNotUp(LinkEnds),
    /// The port of one of its hosts is not there, or has no carrier.
    NoCarrier(PortId),
    /// So many links that carry promises are broken at once, and a promise covers one.
    TooMuchBroken(usize),
    /// Nothing that was prepared for it is whole.
    NothingPrepared,
    /// A switch refuses its entry, or somebody else has one in its place.
    Refused,
    /// What is known of the network or of its hosts has changed, and nothing is reserved
    /// for it any more.
    NotReserved,
    /// What a document says.
    Said(String),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHeard { switch, .. } => write!(f, "switch {switch} is not heard"),
            Self::OtherMaster { switch } => {
                write!(f, "another controller is master of switch {switch}")
            }
            Self::NotCompared { switch } => {
                write!(f, "what switch {switch} has was not compared yet")
            }
            Self::NotConfirmed { switch } => {
                write!(f, "switch {switch} has not confirmed its entry")
            }
            Self::Disputed { host, at } => write!(f, "somebody is {host} at port {at}, too"),
            Self::Moving => f.write_str("its frames are being led around what is broken"),
            Self::LinkNotUp(link) => write!(f, "link {link} is not known to be up"),
            Self::NoCarrier(port) => write!(f, "port {port} of one of its hosts has no carrier"),
            Self::TooMuchBroken(links) => {
                write!(f, "{links} links are broken at once, a promise covers one")
            }
            Self::NothingPrepared => f.write_str("nothing that was prepared for it is whole"),
            Self::Refused => f.write_str("a switch does not take its entry"),
            Self::NotReserved => f.write_str("nothing is reserved for it any more"),
            Self::Said(words) => f.write_str(words),
        }
    }
}

impl From<String> for Cause {
    fn from(words: String) -> Self {
        Self::Said(words)
    }
}

impl From<Cause> for String {
    fn from(cause: Cause) -> Self {
        cause.to_string()
    }
}
