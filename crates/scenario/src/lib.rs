//! What the user wants: a network, its flows and what happens to it.
//!
//! A scenario is a text (TOML). [`Scenario::parse`] turns it into a description
//! in which every quantity has its type, every reference is an index that
//! exists, and every value was checked; or into a [`ScenarioError`] that points
//! at **all** mistakes of the text at once. The crate opens no file itself: the
//! caller gives a function that loads what the text imports.
//!
//! `docs/scenario.md` describes the format for its users,
//! `docs/scenario.schema.json` for their editors; both follow from the tables
//! in `format`, which the reader itself obeys.

mod class;
mod contract;
mod event;
mod flow;
mod network;
mod profile;
mod scenario;
mod settings;

pub use class::{Budget, Class};
pub use contract::{Contract, LARGEST_FRAME, MESSAGE_HEADERS, SMALLEST_FRAME, wire_size};
pub use event::{Change, Event};
pub use flow::{
    BestEffort, Criticality, Destination, Flow, Goose, Message, Protection, SampledValues,
    StateChanges, TokenBucket, Traffic,
};
pub use network::{Device, End, Host, Link, Node, Switch};
pub use profile::{ControlTimes, Origin, Profile, Stated};
pub use scenario::{
    ClassIndex, FlowIndex, HostIndex, LinkIndex, ProfileIndex, Scenario, SwitchIndex,
};
pub use settings::{Admission, Capture, Control, HostDiscovery, Measurement};
