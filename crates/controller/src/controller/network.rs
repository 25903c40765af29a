//! The network: what is known of it, who has entries at its switches, and what their
//! tables should be.
//!
//! Those who decide are given it as one. Within it, the topology knows nothing of the
//! owners, and these nothing of the tables.

use super::owners::Owners;
use super::tables::Tables;
use super::topology::Topology;

/// What is known of the network, and what it should do.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) topology: Topology,
    pub(super) owners: Owners,
    pub(super) tables: Tables,
}
