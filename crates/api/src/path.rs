//! Paths through the network.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Delay;

use crate::flow::Route;

/// How paths relate to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "WishDocument")]
pub enum PathWish {
    /// The shortest ones without a loop, at most as many as asked for.
    #[default]
    Shortest,
    /// They share no link; together they are as short as they can be.
    LinkDisjoint,
    /// They share no switch but the first and the last; together they are as short
    /// as they can be.
    SwitchDisjoint,
}

/// A path that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PathDocument")]
pub struct FoundPath {
    /// Its switches and links.
    pub route: Route,
    /// What it costs: links, or picoseconds where the metric is delay.
    pub cost: u64,
    /// The delay that could be promised on it, if a load was named.
    #[serde(rename = "guarantee_ns", default, with = "units::whole_ns")]
    #[schemars(with = "Option<u64>")]
    pub guarantee: Option<Delay>,
}
