//! The instrument: what is sent, what happened to it, and what that means.
//!
//! The instrument does not know the thing that it measures. Sources make frames
//! ([`traffic`]), every frame carries its identity ([`identity`]), a world tells
//! the [`recorder`] when each one left and arrived, and at the end a
//! [`verdict`] compares what was observed with what was promised, at each of the
//! [`levels`] of criticality if there are any, whoever broke it is named ([`culprit`]),
//! and a [`report`] says it. A [`method`]
//! that measures a device makes [`trial`]s and ends in a [`measurement`]; a [`plan`] of
//! many points can be interrupted and resumed, and measurements of two devices make a
//! [`comparison`]. What a paper measured is set beside ours by a [`reproduction`]. People
//! are shown each of them by a [`document`]. There is no clock here: time is always an
//! input.

pub mod capture;
pub mod comparison;
pub mod culprit;
pub mod document;
pub mod fault_losses;
pub mod flow;
pub mod identity;
pub mod interruptions;
pub mod levels;
pub mod load;
pub mod measurement;
pub mod method;
pub mod plan;
pub mod recorder;
pub mod report;
pub mod reproduction;
pub mod stalls;
pub mod statistics;
pub mod time_series;
pub mod token_bucket;
pub mod traffic;
pub mod trial;
pub mod unseen;
pub mod verdict;

pub use flow::{Contract, FlowIndex, FlowPlan, MOST_RECEIVERS, Promise, ReceiverIndex};
pub use recorder::Recorder;
