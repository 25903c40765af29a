//! The program, and nothing but wiring: the command line, the store on disk,
//! and [`experiment`], which turns a scenario into what the two worlds run.

pub mod cli;
pub mod experiment;
pub mod store;
