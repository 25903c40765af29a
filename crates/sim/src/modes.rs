//! Criticality modes of whole networks: does everybody end in the same one, whatever
//! happens (S2-11)?
//!
//! | module | does |
//! |---|---|
//! | [`topology`] | draws networks of switches |
//! | [`fault_schedule`] | draws what they have to go through, and says in how much time they agree |
//! | [`run`] | leads the switches that ship through their ordeal |
//! | [`signal_faults`] | says what becomes of the signals on a cable |
//! | [`deployment`] | tells the switches of an experiment what they need |
//! | `site` | is where an experiment takes place |
//! | [`stage`] | shows flows, one of which breaks its contract, under a strategy |
//! | [`promise`] | holds what was seen of a change against its bound |
//! | [`trial`] | looks whether every message is in time, whatever happens |
//! | [`finding`] | says what must never be seen |
//! | [`tally`] | sums up many of them |

pub mod deployment;
pub mod fault_schedule;
pub mod finding;
mod forged;
pub mod promise;
pub mod run;
pub mod signal_faults;
mod site;
pub mod stage;
pub mod tally;
pub mod topology;
pub mod trial;
