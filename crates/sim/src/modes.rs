//! Criticality modes of whole networks: does everybody end in the same one, whatever
//! happens (S2-11)?
//!
//! | module | does |
//! |---|---|
//! | [`topology`] | draws networks of switches |
//! | [`ordeal`] | draws what they have to go through, and says in how much time they agree |
//! | [`station`] | is a switch, as far as modes go: the agreement that ships, and whom it believes |
//! | [`run`] | leads a network through its ordeal |
//! | [`finding`] | says what must never be seen |
//! | [`tally`] | sums up many of them |

pub mod finding;
pub mod ordeal;
pub mod run;
pub mod station;
pub mod tally;
pub mod topology;
