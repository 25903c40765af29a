//! The experiments of the Loko paper on emulated switches (S4-7, S4-8, S4-10).
//!
//! | module | does |
//! |---|---|
//! | [`recovery`] | holds what was measured against what was put in and printed |
//! | [`shaped_host`] | sends random bursts through a token bucket |
//! | [`two_switches`] | runs two switches with four hosts once |
//! | [`experiment`] | repeats that and sums it up |
//! | [`figures`] | LOKO Figs. 17 to 19 |
//! | [`deployments`] | LOKO Figs. 3 and 15 |

pub mod deployments;
pub mod experiment;
pub mod figures;
pub mod recovery;
pub mod shaped_host;
pub mod two_switches;
