//! The program, and nothing but wiring: the command line, the store on disk,
//! [`experiment`], which turns a scenario into what the two worlds run,
//! [`datapath`], which runs a switch on interfaces of this machine,
//! [`inspection`], which asks such a switch how it is, [`measuring`], which measures a
//! device, [`southbound`], where switches
//! come to a controller, [`tls`], by which the two ends of a control connection prove
//! who they are, [`signature`], by which certificates are signed, [`web`], by which programs ask a controller, and [`reproduce`], which does the experiments of papers again.

pub mod cli;
pub mod client;
pub mod datapath;
pub mod experiment;
pub mod inspection;
pub mod measuring;
pub mod reproduce;
pub mod room;
pub mod signature;
pub mod southbound;
pub mod store;
pub mod tls;
pub mod web;
