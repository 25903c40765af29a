//! The network as a router among others, in virtual time: do packets of outside routers get
//! where the longest prefix says, whatever happens, and does nobody else notice (S1-10)?
//!
//! Networks, routes and faults are drawn from a seed. Replay one failure with
//! `TAKTOS_SEED=… cargo test -p sim --test routing`; `TAKTOS_RUNS=…` draws more of them.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

#[path = "../network/blueprint.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod blueprint;
mod cuts;
mod many;
mod one_port;
mod orders;
mod peers;
mod random_networks;
mod restarts;
#[path = "../network/run.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod run;
mod single;
