//! What travels over the interface for programs, as JSON: one type for each
//! document, which the server writes and `taktos`'s own client reads.
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
pub mod mode;
pub mod path;
pub mod place;
pub mod problem;
pub mod requirement;
pub mod room;
pub mod rule;
pub mod settings;
pub mod statistics;
pub mod topology;

pub use audit::{AuditDocument, AuditEntry};
pub use flow::{
    Admitted, DecisionDocument, DecisionsDocument, FlowDocument, FlowsDocument, RouteDocument,
};
pub use host::{HostRequestDocument, HostsDocument};
pub use instance::InstanceDocument;
pub use path::{EndpointDocument, PathDocument, PathQueryDocument, PathsDocument};
pub use problem::{ProblemBody, ProblemDocument};
pub use requirement::{
    LONGEST_NAME, MatchDocument, ProtectionDocument, RequirementDocument, RequirementsDocument,
    Unusable,
};
pub use statistics::{CountersDocument, StatisticsDocument};
pub use topology::{
    CountsDocument, HostDocument, HostOrigin, LinkDocument, PortDocument, SwitchDocument,
    TopologyDocument,
};
