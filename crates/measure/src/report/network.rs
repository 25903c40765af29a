//! What is said of the network and of what happened to it.

use std::collections::BTreeMap;

use serde::Serialize;

/// The network as it was built.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Topology {
    pub nodes: Vec<NodeReport>,
    pub links: Vec<LinkReport>,
}

/// A node of the network.
#[derive(Clone, Debug, Serialize)]
pub struct NodeReport {
    pub name: String,
    pub kind: NodeKind,
    /// Where to draw it, if the scenario knows; any scale, y downward.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    Switch,
    Host,
}

/// A link of the network.
#[derive(Clone, Debug, Serialize)]
pub struct LinkReport {
    /// Its name, as events refer to it.
    pub name: String,
    pub a: String,
    pub b: String,
    /// How fast it is in each direction.
    pub rate_bps: u64,
}

/// What the controller found out by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Discovery {
    pub switches: usize,
    pub links: usize,
    pub hosts: usize,
    /// How long it took to find all.
    pub took_ns: u64,
}

/// Something that happened to the network.
#[derive(Clone, Debug, Serialize)]
pub struct EventReport {
    pub at_ns: u64,
    pub kind: EventKind,
    pub target: String,
    /// How long each flow was interrupted, by its name; flows that were not are
    /// left out.
    pub outage_ns: BTreeMap<String, u64>,
    /// What the controller did about it.
    pub restoration: Option<Restoration>,
    /// Whether somebody who watched did it, and not the scenario.
    pub is_by_hand: bool,
}

impl EventReport {
    /// Returns what happened to what, for people.
    #[must_use]
    pub fn label(&self) -> String {
        let by_hand = if self.is_by_hand { " by hand" } else { "" };
        format!("{} {}{by_hand}", self.target, self.kind.label())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    Cut,
    Heal,
    /// A host moved to another port.
    HostMove,
    SwitchCrash,
    /// The process of a switch died; its interfaces stayed.
    SwitchKill,
    SwitchRestart,
    /// A link began to lose frames while its ends saw a carrier.
    Lossy,
    /// A link began to corrupt frames.
    Corrupting,
    /// A link treats frames well again.
    Unimpaired,
    /// The control channel of a switch carries nothing.
    Isolate,
    Rejoin,
}

impl EventKind {
    /// Returns what happened, in a word for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Heal => "healed",
            Self::HostMove => "moved",
            Self::SwitchCrash => "crashed",
            Self::SwitchKill => "killed",
            Self::SwitchRestart => "restarted",
            Self::Lossy => "loses frames",
            Self::Corrupting => "corrupts frames",
            Self::Unimpaired => "unimpaired",
            Self::Isolate => "isolated",
            Self::Rejoin => "rejoined",
        }
    }
}

/// How traffic came back, each step from the one before (S0-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Restoration {
    /// From the event to its arrival at the controller.
    pub detection_ns: u64,
    /// From there to the last flow-mod that left the controller.
    pub controller_ns: u64,
    /// From there to the last barrier reply that confirmed them.
    pub programming_ns: u64,
    /// How many flows were led over their alternatives.
    pub flows: usize,
    /// How many flow-mods that took.
    pub flow_mods: usize,
}

impl Restoration {
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        self.detection_ns + self.controller_ns + self.programming_ns
    }
}
