//! Rules of switches: what they say, whose they are, and whether they are there.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wire::openflow::DatapathId;

use crate::application::ApplicationId;
use crate::flow::FlowId;
use crate::intent::IntentId;

/// The rules of a switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RulesDocument")]
pub struct Rules {
    /// The switch's datapath id.
    #[schemars(with = "String")]
    pub datapath: DatapathId,
    /// The switch's name.
    pub name: String,
    /// Those that it should have, and those of others that it was seen to have.
    pub rules: Vec<Rule>,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RuleDocument")]
pub struct Rule {
    /// Its table.
    pub table: u8,
    /// Above which others.
    pub priority: u16,
    /// Which frames: a member for each field, named as `ovs-ofctl` does.
    #[serde(rename = "match")]
    pub matching: BTreeMap<String, Value>,
    /// What is done with them, a word for each action; nothing: they are dropped.
    pub actions: Vec<String>,
    /// Its cookie, in hexadecimal.
    pub cookie: String,
    /// Whose it is.
    pub owner: RuleOwner,
    /// Whether the switch has it, and why it refuses it if it does.
    #[serde(flatten)]
    pub state: RuleState,
}

/// How many switches are compared with what they should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ReconcilingDocument")]
pub struct Reconciling {
    /// How many.
    pub switches: usize,
}

/// Whose a rule is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[schemars(rename = "RuleOwnerDocument")]
pub enum RuleOwner {
    /// The controller's own: probes, and frames that nobody claims.
    Controller,
    /// That of a flow.
    Flow {
        /// Its number.
        id: FlowId,
        /// Its name.
        name: String,
    },
    /// That of an intent.
    Intent {
        /// Its number.
        id: IntentId,
        /// Its name.
        name: String,
    },
    /// That of an application.
    Application {
        /// Its number.
        id: ApplicationId,
        /// Its name.
        name: String,
    },
    /// Somebody else's.
    Foreign,
}

/// Whether a switch has a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state")]
#[schemars(rename = "RuleStateDocument")]
pub enum RuleState {
    /// It has confirmed it.
    Present,
    /// It was sent and is not confirmed yet.
    Pending,
    /// The switch is not connected: it gets the rule when it is.
    Away,
    /// The switch refuses it.
    Refused {
        /// Why.
        error: String,
    },
    /// The switch had it and has not any more: it is about to be mended.
    Missing,
    /// The switch has another one in its place: it is about to be mended.
    Different,
    /// The switch has it, and nobody wants it any more.
    Excess,
}
