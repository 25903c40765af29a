//! The program, and nothing but wiring: the command line, the store on disk,
//! [`experiment`], which turns a scenario into what the two worlds run, and
//! [`datapath`], which runs a switch on interfaces of this machine.

pub mod cli;
pub mod datapath;
pub mod experiment;
pub mod store;
