//! What travels over the interface for programs beside the nouns of [`api`], as JSON:
//! what a client may leave out or write by a name, and lists.
//!
//! Durations are integers of nanoseconds (`_ns`), rates bits per second (`_bps`),
//! sizes bytes as they occupy the wire (`_bytes`). A datapath id is 16 digits of
//! hexadecimal, a link is named by its ports, as in `1:2-3:1`. What comes in is
//! checked against the limits of the controller before it goes on: no number from
//! outside meets arithmetic that it could overflow.

pub mod application;
pub mod audit;
pub mod flow;
pub mod host;
pub mod instance;
pub mod intent;
pub mod modal;
pub mod path;
pub mod place;
pub mod problem;
pub mod requirement;
pub mod room;
pub mod statistics;

pub use audit::{AuditDocument, AuditEntry};
pub use flow::{DecisionDocument, DecisionsDocument, FlowDocument, FlowsDocument, HopsDocument};
pub use host::HostRequestDocument;
pub use instance::InstanceDocument;
pub use path::{EndpointDocument, PathQueryDocument, PathsDocument};
pub use problem::{ProblemBody, ProblemDocument};
pub use requirement::{
    LONGEST_NAME, MatchDocument, RequirementDocument, RequirementsDocument, Unusable,
};
pub use statistics::StatisticsDocument;
