//! How the controller goes about its work.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the controller goes about its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsDocument {
    /// Which paths are short.
    pub metric: MetricChoice,
    /// What is done with rules that are not the controller's.
    pub foreign_rules: ForeignRulesChoice,
}

/// What is to be otherwise; what is left out stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SettingsChangeDocument {
    /// Which paths are short. Flows stay on the ways that they were promised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<MetricChoice>,
    /// What is done with rules that are not the controller's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_rules: Option<ForeignRulesChoice>,
}

/// Which paths are short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MetricChoice {
    /// Those with few links.
    Links,
    /// Those on which the budgets and the propagation add up to little.
    Delay,
}

/// What is done with rules that are not the controller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ForeignRulesChoice {
    /// They are left alone.
    Keep,
    /// They are removed.
    Remove,
}
