//! The tables of switches as they should be and as they are.

use wire::openflow::{Action, Cookie, ErrorKind, MatchField, TableId};

use super::{ApplicationId, FlowId, IntentId};

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleOwner {
    /// The controller's own: probes, and frames that nobody claims.
    Controller,
    Flow {
        id: FlowId,
        name: String,
    },
    Intent {
        id: IntentId,
        name: String,
    },
    Application {
        id: ApplicationId,
        name: String,
    },
    Foreign,
}

/// Whether a switch has a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleState {
    Present,
    /// It was sent and is not confirmed yet.
    Pending,
    /// The switch is not connected: it gets the rule when it is.
    Away,
    Refused(ErrorKind),
    /// The switch had it and has not any more: it is about to be mended.
    Missing,
    /// The switch has another one in its place: it is about to be mended.
    Different,
    /// The switch has it, and nobody wants it any more.
    Excess,
}

/// What is done with rules that are not the controller's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForeignRules {
    #[default]
    Keep,
    Remove,
}
