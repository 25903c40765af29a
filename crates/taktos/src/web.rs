//! The interface for programs of a controller that runs: REST, events, metrics
//! (S1-5, S1-8).

pub mod document;
