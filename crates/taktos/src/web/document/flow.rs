//! Flows that were admitted, and decisions on those that want to be.

use api::{Accepted, FlowHops, FlowSummary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ProblemBody, RequirementDocument, RequirementsDocument};

/// A flow.
pub type FlowDocument = FlowSummary<RequirementDocument>;

/// All flows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowsDocument {
    /// In the order of their numbers.
    pub flows: Vec<FlowDocument>,
}

/// How long frames of flows stayed at the hops of their ways.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HopsDocument {
    /// In the order of their numbers.
    pub flows: Vec<FlowHops>,
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
    pub admitted: Option<Accepted>,
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
