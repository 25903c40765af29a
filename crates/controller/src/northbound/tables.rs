//! The tables of switches as they should be and as they are.

use wire::openflow::{Action, Cookie, MatchField, TableId};

use super::{RuleOwner, RuleState};

/// A rule of one switch in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSummary {
    pub table: TableId,
    pub priority: u16,
    pub matching: Vec<MatchField>,
    /// What is done with them; nothing: they are dropped.
    pub actions: Vec<Action>,
    pub cookie: Cookie,
    pub owner: RuleOwner,
    /// Whether the switch has it.
    pub state: RuleState,
}
