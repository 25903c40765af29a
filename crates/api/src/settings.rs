//! How the controller goes about its work, as far as that can be changed while it
//! runs.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::openflow::DatapathId;

/// How the controller goes about its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SettingsDocument")]
pub struct Settings {
    /// Which paths are short. Flows stay on the ways that they were promised.
    pub metric: Metric,
    /// What is done with rules that are not the controller's.
    pub foreign_rules: ForeignRules,
    /// Switches that nothing passes if it can go another way, by their ids.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub drained: BTreeSet<DatapathId>,
}

/// What is to be otherwise; what is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "SettingsChangeDocument")]
pub struct SettingsChange {
    /// Which paths are short. Flows stay on the ways that they were promised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    /// What is done with rules that are not the controller's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_rules: Option<ForeignRules>,
    /// Switches that nothing passes if it can go another way, by their ids: flows leave them,
    /// make before break, where another way has room. Asked for again, it is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<String>>")]
    pub drained: Option<BTreeSet<DatapathId>>,
}

/// Which paths are short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "MetricChoice")]
pub enum Metric {
    /// Those with few links.
    Links,
    /// Those on which the budgets and the propagation add up to little.
    Delay,
}

/// What is done with rules that are not the controller's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ForeignRulesChoice")]
pub enum ForeignRules {
    /// They are left alone.
    #[default]
    Keep,
    /// They are removed.
    Remove,
}

impl Settings {
    /// Returns them as they are after a change.
    #[must_use]
    pub fn after(self, change: SettingsChange) -> Self {
        Self {
            metric: change.metric.unwrap_or(self.metric),
            foreign_rules: change.foreign_rules.unwrap_or(self.foreign_rules),
            drained: change.drained.unwrap_or(self.drained),
        }
    }
}
