//! How late at worst? Worst-case delays and backlogs, and the admission that
//! rests on them.
//!
//! | module | knows |
//! |---|---|
//! | [`min_plus`] | functions: token buckets, rate-latency curves, what follows from a pair of them |
//! | [`bounds`] | flows: what a class of traffic meets at a processor or at a port |
//! | [`loko`] | the switch of the Loko paper, its allocations and its figures |
//! | [`analysis`] | networks: the bounds of all flows of a whole network, by several methods |
//! | [`baselines`] | how others promise latency, to compare with |
//! | [`mode_change`] | how late a change of mode may make a frame |
//! | [`admission`] | the ledger of what has been promised, and whether one more promise can be kept |
//!
//! Integers only. Arrivals and delays are rounded up, service is rounded down.
//! What has no finite bound is `None` or a variant of its own, never a large
//! number. Why the promises hold is written down in `docs/promises.md`.

#![warn(missing_docs)]

pub mod admission;
pub mod analysis;
pub mod baselines;
pub mod bounds;
pub mod loko;
pub mod min_plus;
pub mod mode_change;
