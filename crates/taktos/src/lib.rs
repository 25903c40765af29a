//! The program, and nothing but wiring: the command line, the store on disk,
//! [`experiment`], which turns a scenario into what the two worlds run,
//! [`datapath`], which runs a switch on interfaces of this machine, and
//! [`inspection`], which asks such a switch how it is.

pub mod cli;
pub mod datapath;
pub mod experiment;
pub mod inspection;
pub mod store;
