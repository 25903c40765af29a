//! What is known of the network: switches, links and hosts, and how far it is believed.

use std::collections::{BTreeMap, BTreeSet};

use units::Instant;
use wire::openflow::DatapathId;

use crate::config::{HostParameters, Metric};
use crate::discovery::Prober;
use crate::echoes::Echoes;
use crate::hosts::Hosts;
use crate::hosts::contests::Contests;
use crate::inventory::Inventory;
use crate::link_trust::LinkTrust;
use crate::path::Atlas;
use crate::place::LinkEnds;
use crate::view::View;

use super::ageing::{Strangers, Unplugged};

/// What is known of the network.
#[derive(Debug)]
pub(super) struct Topology {
    pub(super) view: View,
    pub(super) hosts: Hosts,
    /// Who else claims to be hosts that frames do not move.
    pub(super) contests: Contests,
    pub(super) unplugged: Unplugged,
    pub(super) strangers: Strangers,
    pub(super) prober: Prober,
    pub(super) link_trust: LinkTrust,
    pub(super) echoes: Echoes,
    /// How many switches were not heard when that was last looked at.
    pub(super) suspects: usize,
    /// The switches of which another controller is the master.
    pub(super) others: BTreeSet<DatapathId>,
    /// The links that went down and did not come back.
    pub(super) broken: BTreeSet<LinkEnds>,
    /// The links that flows from the store rely on and that are not confirmed
    /// yet, with the time since when they could have been.
    pub(super) expected: BTreeMap<LinkEnds, Option<Instant>>,
    /// The network as the searches for intents see it, by this metric.
    pub(super) atlas: Option<(Metric, Atlas)>,
    /// What the store knows of the network.
    pub(super) inventory: Inventory,
}

impl Topology {
    /// Starts with the hosts and the switches that are configured.
    ///
    /// # Panics
    ///
    /// If two hosts share a name or an address.
    pub(super) fn new(
        hosts: Vec<HostParameters>,
        switches: impl IntoIterator<Item = DatapathId>,
        (probe_key, seed): (Option<[u8; 16]>, u64),
    ) -> Self {
        let mut view = View::default();
        Self {
            hosts: Hosts::new(hosts, &mut view),
            view,
            contests: Contests::default(),
            unplugged: Unplugged::default(),
            strangers: Strangers::new(switches),
            prober: Prober::new(probe_key, seed),
            link_trust: LinkTrust::default(),
            echoes: Echoes::default(),
            suspects: 0,
            others: BTreeSet::new(),
            broken: BTreeSet::new(),
            expected: BTreeMap::new(),
            atlas: None,
            inventory: Inventory::default(),
        }
    }
}
