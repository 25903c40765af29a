//! Which ways lead through the network?
//!
//! | module | question |
//! |---|---|
//! | `tree` | along which tree does a flow travel from its source to all of its destinations? |
//! | `local` | how does the switch before a broken link get frames around it by itself? |
//! | `graph` | what of the view can be travelled, and at what cost? |
//! | `simple_path` | what is a way from one switch to another? |
//! | `search` | which is the shortest, beside what it must not touch? |
//! | `ranking` | which are the shortest, one after the other? |
//! | `atlas` | what do thousands of searches in the same network have in common? |
//! | `through` | which passes given places in a given order? |
//! | `disjoint` | which are the shortest together that share nothing? |
//! | `redundant_trees` | which two trees lead to several, so that no switch is on both ways to one? |
//! | `pair` | what are two ways that a flow takes at the same time, and which one goes beside another? |
//!
//! Shorter means less cost, then fewer links. What is still equal is told apart
//! by datapath ids and port numbers, never by the order in which the network was
//! discovered, so the same network always gives the same ways.

mod atlas;
mod disjoint;
mod graph;
mod local;
mod pair;
mod ranking;
mod redundant_trees;
mod search;
mod simple_path;
mod through;
mod tree;

pub use atlas::Atlas;
pub use disjoint::{Apart, find_disjoint};
pub use graph::Graph;
pub use local::{NoDetour, local_detours};
pub use pair::{find_beside, join, mixes, part};
pub use ranking::Ranking;
pub use redundant_trees::find_redundant_trees;
pub use simple_path::{Crossing, SimplePath};
pub use through::Impassable;
pub use tree::{Branch, Cost, Tree, find_tree, one_each};

#[cfg(test)]
pub(crate) mod fixture;
