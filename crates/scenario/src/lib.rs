//! What the user wants: a network, its flows and what happens to it.
//!
//! A scenario is a text (TOML). [`Scenario::parse`] turns it into a description
//! in which every quantity has its type, every reference is an index that
//! exists, and every value was checked; or into a [`ScenarioError`] that points
//! at **all** mistakes of the text at once. The crate opens no file itself: the
//! caller gives a function that loads what the text imports.
//!
//! `docs/scenario.md` describes the format for its users,
//! `docs/scenario.schema.json` for their editors (`docs/profile.schema.json` is that of
//! device profiles); all follow from the tables
//! in `format`, which the reader itself obeys.

mod class;
mod contract;
mod emulation;
mod event;
pub mod export;
mod flow;
pub mod flow_table;
mod format;
mod generate;
mod import;
mod length;
mod limits;
mod mistake;
mod modes;
mod names;
mod network;
mod plan;
mod problem;
mod profile;
mod read;
mod record;
mod reference;
mod scenario;
mod schema;
pub mod servers;
mod settings;
mod shape;
mod trace;

pub use class::{Budget, Class};
pub use contract::{
    Contract, LARGEST_FRAME, LARGEST_UNTAGGED_FRAME, MESSAGE_HEADERS, MMS_MESSAGES_AT_ONCE,
    MMS_REQUEST, MessageFrames, SMALLEST_FRAME, wire_size,
};
pub use emulation::{Emulation, Latency, MILLION, Occupancy, Quantiles};
pub use event::{
    Change, Direction, ErrorKind, Excess, ForeignFrames, Impairment, PlantedError, TimedEvent,
};
pub use flow::{
    BestEffort, Criticality, Destination, Flow, Goose, Message, Mms, Protection, SampledValues,
    StateChanges, TokenBucket, Trace, Traffic,
};
pub use limits::{
    LONGEST_FILE, LONGEST_NETWORK, MOST_CHANGES, MOST_EVENTS, MOST_FLOWS, MOST_GROUPS, MOST_LINKS,
    MOST_NODES, MOST_PROFILES, MOST_RECEIVERS,
};
pub use mistake::Mistake;
pub use modes::{
    LevelIndex, MOST_LEVELS, MessageContract, Modes, NamedLevel, Service, Strategy, Treatment,
    Violation,
};
pub use network::{Device, End, EndHost, Link, Node, Position, Switch};
pub use problem::{MOST_PROBLEMS, Problem, ScenarioError};
pub use profile::{ControlTimes, Lookup, MachineShare, Origin, Profile, Stated};
pub use reference::reference;
pub use scenario::{
    ClassIndex, FlowIndex, HostIndex, ImportedFile, LinkIndex, Phase, ProfileIndex, Scenario,
    SwitchIndex,
};
pub use schema::{json_schema, profile_schema};
pub use settings::{Admission, Capture, Control, HostDiscovery, Measurement};
pub use shape::LONGEST_TIME;
pub use trace::{MOST_RECORDED_FRAMES, RecordedFrame, Recording, RecordingError, Resized};
