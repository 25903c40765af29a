//! The program, and nothing but wiring: the command line,
//! [`datapath`], which runs a switch on interfaces of this machine,
//! [`inspection`], which asks such a switch how it is, [`southbound`], where switches
//! come to a controller, [`tls`], by which the two ends of a control connection prove
//! who they are, [`signature`], by which certificates are signed, and [`web`], by which
//! programs ask a controller. [`library`] is for programs in the same process.

pub mod cli;
pub mod client;
pub mod datapath;
pub mod inspection;
pub mod library;
pub mod signature;
pub mod southbound;
pub mod speaker;
pub mod tls;
pub mod web;
