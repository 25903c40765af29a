//! Flows that were admitted, and decisions on those that want to be.

use api::{Promise, Travels};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::requirement::CoverDocument;
use super::{ProblemBody, RequirementDocument, RequirementsDocument};

/// All flows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowsDocument {
    /// In the order of their numbers.
    pub flows: Vec<FlowDocument>,
}

/// A flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowDocument {
    /// What was accepted.
    #[serde(flatten)]
    pub admitted: Admitted,
    /// Which way it takes.
    pub travels: Travels,
    /// How its promise stands.
    #[serde(flatten)]
    pub promise: Promise,
    /// Whether every switch that carries it has confirmed its entries.
    pub installed: bool,
    /// Who claims to be an end of it, and is not where that is; 16 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disputes: Vec<DisputeDocument>,
    /// What it requires.
    pub requirement: RequirementDocument,
}

/// Frames with the address of an end of a flow, at a port where that is not: a forged
/// address, a loop, or a host that is somewhere else than somebody has said. They go nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DisputeDocument {
    /// The name of the host.
    pub host: String,
    /// The port where they come in: the switch's datapath id in hexadecimal, and its number.
    pub at: String,
    /// How many came to the controller; a minute after the last, the dispute is over.
    pub frames: u64,
}

/// What was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Admitted {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The longest time from the first bit on the wire at the source to the last
    /// bit at any destination, on every path that it may take, rounded up; nothing
    /// for a best-effort flow.
    pub guarantee_ns: Option<u64>,
    /// What it uses while nothing is broken.
    pub route: RouteDocument,
    /// What it uses when a link of the route breaks.
    pub alternatives: Vec<AlternativeDocument>,
    /// Which failures the promised interruption covers; nothing if none was promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cover: Option<CoverDocument>,
}

/// The switches and links of a path or a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouteDocument {
    /// The names of the switches, from the source on.
    pub switches: Vec<String>,
    /// The ids of the links between them.
    pub links: Vec<String>,
}

/// What a flow uses when a link breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AlternativeDocument {
    /// The id of the link that is broken.
    pub without: String,
    /// The way around it.
    pub route: RouteDocument,
}

/// What can be sent to be admitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AskedDocument {
    /// Several.
    Several(RequirementsDocument),
    /// One.
    One(Box<RequirementDocument>),
}

/// The decisions on all requirements of a request, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionsDocument {
    /// One for each requirement.
    pub decisions: Vec<DecisionDocument>,
    /// Set if nothing was admitted: the first reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ProblemBody>,
}

/// The decision on one requirement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionDocument {
    /// The name of the flow.
    pub name: String,
    /// What was accepted; nothing if it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admitted: Option<Admitted>,
    /// Why it was refused; nothing if it was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<ProblemBody>,
    /// In a dry run, the flows that a refused one does not fit beside on its usual way,
    /// though it would with any one of them left out: none, if it does not fit even alone.
    /// Left out where it fits beside those that there are, or nothing was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Vec<String>>,
    /// The flow that goes another way to make room for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<String>,
}
