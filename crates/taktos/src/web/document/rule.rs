//! The rules of a switch, as they should be and as they are.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The rules of a switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RulesDocument {
    /// The switch's datapath id.
    pub datapath: String,
    /// The switch's name.
    pub name: String,
    /// Those that it should have, and those of others that it was seen to have.
    pub rules: Vec<RuleDocument>,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuleDocument {
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
    pub owner: RuleOwnerDocument,
    /// Whether the switch has it.
    pub state: RuleStateDocument,
    /// Why the switch refuses it, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Whose a rule is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum RuleOwnerDocument {
    /// The controller's own.
    Controller,
    /// That of a flow.
    Flow {
        /// Its number.
        id: u32,
        /// Its name.
        name: String,
    },
    /// That of an intent.
    Intent {
        /// Its number.
        id: u32,
        /// Its name.
        name: String,
    },
    /// That of an application.
    Application {
        /// Its number.
        id: u16,
        /// Its name.
        name: String,
    },
    /// Somebody else's.
    Foreign,
}

/// Whether a switch has a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RuleStateDocument {
    /// It has confirmed it.
    Present,
    /// It was sent and is not confirmed yet.
    Pending,
    /// The switch is not connected: it gets the rule when it is.
    Away,
    /// The switch refuses it.
    Refused,
    /// The switch had it and has not any more: it is about to be mended.
    Missing,
    /// The switch has another one in its place: it is about to be mended.
    Different,
    /// The switch has it, and nobody wants it any more.
    Excess,
}

/// How many switches are compared with what they should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReconcilingDocument {
    /// How many.
    pub switches: usize,
}
