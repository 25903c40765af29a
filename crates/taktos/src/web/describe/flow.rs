//! Flows and decisions, written down.

use controller::modes::ModalFlowError;
use controller::northbound::{Decision, FlowSummary, Promise};
use controller::refusal::Refusal;

use super::wall_clock;
use crate::web::document::flow::{DecisionDocument, FlowDocument};
use crate::web::document::{ProblemBody, RequirementDocument};
use crate::web::problem::Problem;

/// Writes down a flow.
#[must_use]
pub fn flow(flow: FlowSummary) -> FlowDocument {
    FlowDocument {
        accepted: flow.accepted,
        travels: flow.travels,
        promise: Promise {
            since: wall_clock(flow.promise.since),
            ..flow.promise
        },
        installed: flow.installed,
        disputes: flow.disputes,
        requirement: RequirementDocument::from(&flow.requirement),
    }
}

impl From<&Decision> for DecisionDocument {
    fn from(decision: &Decision) -> Self {
        match decision {
            Decision::Accepted(accepted) => Self {
                name: accepted.name.clone(),
                admitted: Some(accepted.clone()),
                refused: None,
                conflict: None,
                moved: None,
            },
            Decision::Refused { name, reason } => Self {
                name: name.clone(),
                admitted: None,
                refused: Some(refused(reason)),
                conflict: None,
                moved: None,
            },
        }
    }
}

fn refused(reason: &Refusal) -> ProblemBody {
    refusal(reason).body()
}

/// Returns why a requirement is not met, and what could be done.
#[must_use]
pub fn refusal(reason: &Refusal) -> Problem {
    let said = reason.to_string();
    match reason {
        Refusal::NameTaken { .. } => Problem::conflict("name-taken", said)
            .help("choose another name, or withdraw that flow first"),
        Refusal::Together { .. } => Problem::refused("together", said)
            .help("leave the other one out, or do not ask for all or none"),
        Refusal::TooManyFlows { .. } => {
            Problem::refused("too-many-flows", said).help("withdraw flows that are not needed")
        }
        Refusal::UnknownHost { .. } => Problem::refused("unknown-host", said)
            .help("GET /api/v1/hosts lists those that are; name one with PUT /api/v1/hosts/NAME"),
        Refusal::HostNotFound { .. } => Problem::refused("host-not-found", said)
            .help("let it send a frame, or say its port with PUT /api/v1/hosts/NAME"),
        Refusal::Destinations { .. } => {
            Problem::refused("destinations", said).help("split the flow into several")
        }
        Refusal::ToItself { .. } => Problem::refused("to-itself", said)
            .help("leave the source out of the destinations: its entries would take what it sends"),
        Refusal::Class { .. } => Problem::refused("class", said)
            .help("leave `class` out, or give a flow with a deadline a class from 1 to 7"),
        Refusal::NoModes => Problem::refused("no-modes", said).help(
            "leave `modes` out, or start the controller with a `--network` file whose `[modes]` \
             names levels",
        ),
        Refusal::Modes(wrong) => unusable_modes(wrong, said),
        Refusal::TooManyModalFlows { .. } => Problem::refused("too-many-flows", said)
            .help("leave `modes` out of flows that get the same at all levels"),
        Refusal::Indistinguishable { .. } => Problem::conflict("indistinguishable", said)
            .help("match on one more field, such as the VLAN or a port"),
        Refusal::NoPath { .. } => {
            Problem::refused("no-path", said).help("GET /api/v1/topology shows which links are up")
        }
        Refusal::NoAlternative { .. } => Problem::refused("no-alternative", said)
            .help("ask for the protection `none`, or add a link"),
        Refusal::Seamless(_) => Problem::refused("not-seamless", said)
            .help("ask for the protection `restore`, or `none`"),
        Refusal::Unnoticed { .. } => Problem::refused("unnoticed", said).help(
            "ask for a longer interruption, or leave `covers` out: then it holds for links whose \
             ends lose the carrier",
        ),
        Refusal::NoFastFailover { .. } => Problem::refused("no-fast-failover", said)
            .help("ask for the protection `restore`: then the controller moves it"),
        Refusal::NotEnforced { .. } => Problem::refused("not-enforced", said).help(
            "leave `require_enforced` out and trust the source, or attach it to a switch that \
             polices, as those of Taktos do",
        ),
        Refusal::Shortage(_) => Problem::refused("shortage", said)
            .help("ask for less, or withdraw flows that share its path"),
        Refusal::NotStored => Problem::not_stored(),
    }
}

/// Returns why what a requirement says of levels cannot be, and what could.
fn unusable_modes(wrong: &ModalFlowError, said: String) -> Problem {
    match wrong {
        ModalFlowError::UnknownLevel { .. } => Problem::refused("unknown-level", said)
            .help("GET /api/v1/mode lists the levels, the lowest first"),
        ModalFlowError::Shrinks { .. } => Problem::refused("level-shrinks", said).help(
            "let its period be no longer, and its size, rate, burst and largest frame no less than \
             at the level below",
        ),
        ModalFlowError::Unwatched { .. } => Problem::refused("no-contract", said)
            .help("say `modes.contract`, by which the flow is watched at the lowest level"),
        ModalFlowError::Class { .. } => Problem::refused("class", said)
            .help("leave `class` out, or give a flow with a deadline a class from 1 to 7"),
    }
}
